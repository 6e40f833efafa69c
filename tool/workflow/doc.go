// Package workflow is the tool that runs a script: JavaScript whose only way
// to the world is to call the session's other tools.
//
//	runtime                                  engine, a process of its own
//	┌───────────────┐ run, result, stop     ┌──────────────────┐
//	│ workflow call │ ────────────────────▶ │ script           │
//	│   │ Caller    │ ◀──────────────────── │ tool() parallel()│
//	└───┼───────────┘ call, end             └────────┬─────────┘
//	    ▼                                            │ log(), what it returned
//	gate, journal, other tools                       ▼
//	                                           the call's spool
//
// The engine is a re-execution of the same binary ([Role]) in a tree like any
// command's: it can be killed whatever the script does, dies with the runtime,
// and has bounded memory. It opens nothing: no file, no network, no
// environment. Math.random and Date are the real ones.
//
//	           the engine says its end           its tree is gone
//	running ───────────────────────────▶ leaving ──────────────────▶ over
//	   │ trip, limit, fatal                                            ▲
//	   ▼                                                               │
//	settling ──no step runs──▶ stopping ──────────its tree is gone─────┤
//	   │ grace is over             │ grace is over                     │
//	   └────────────────────▶ killed ──────────────its tree is gone───┘
//
// In settling no further step starts and those that run end by their own rule;
// in stopping the engine was interrupted. The call is over when the tree is
// gone and every step has ended.
//
// # Goroutines
//
// A call has, beside its own: one that writes to the engine, one that reads from
// it, and one for each step that runs; Execute waits for all of them. An engine
// has one that runs the script, one that reads, and a timer's for each sleep;
// they end with their process.
//
// # What it never does
//
// It judges no step, records none (the [tool.Caller] does), gives a script no
// other effect than the calls it asks for, runs no step twice, and starts no
// script from a script.
package workflow
