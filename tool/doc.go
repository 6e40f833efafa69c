// Package tool is what a model may ask for: the contract of a tool, the typed
// values that travel with a call, the set of tools a session has, and the
// runner that takes one call from its gate to its one recorded end.
//
// # A tool
//
// A [Tool] has a [Spec] and an Execute. What it may declare beyond that is
// optional: a behaviour ([interrupt.Behaviourer]; without it nothing reaches
// the tool before its own end) and whether a call needs approval
// ([Spec.Asks]). Signal, registrar, recorder, jobs, live output and fence
// travel in the [Call] as typed keys; a tool that looks at none of them is
// correct.
//
// # Three layers of failure
//
//	it ran              Result, Success true; the facts are in the body
//	it could not        error (plain, or *Error of kind Reply): Success false
//	it broke the engine *Error of kind Fatal, or a panic: the turn ends
//
// # A run
//
// [Run.Do] is one call:
//
//	        gate: tripped              Book.Start refuses
//	waiting ─────────────▶ skipped ◀──────────────┐
//	   │ bad arguments                            │
//	   ├─────────────▶ invalid                    │
//	   └──────────────────────▶ starting ─────────┘
//	                               │ acknowledged
//	                               ▼       tool returns first
//	                            running ───────────────────▶ finished, finished_late,
//	                               │                         stopped, fatal
//	                               │ bound after the trip is first
//	                               ▼                tool returns
//	                           quarantined ───────────────────▶ one late result
//
// running has two ways out, and one latch decides between them: whoever
// claims it first wins, and what the tool returned is looked at once more when
// the bound has passed. A result that exists is never replaced by a stop.
//
// # Who owns which goroutine
//
// Do starts one goroutine a call, for Execute, and waits for it. After a
// quarantine that goroutine is the caller's: Do returns a channel that is closed
// when it has ended. No other goroutine is started here.
//
// # What it never does
//
// It asks nobody for permission (package gate judges before), writes no
// journal (the [Book] does), starts no process, and makes no words for an
// interrupted call (package turn does). It knows no provider and no session.
//
// The suite that holds a tool to what it declares is tooltest; the tools that
// we ship are in builtin.
package tool
