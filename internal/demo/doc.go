// Package demo shows the promise on real processes and checks every word of
// it: a turn stopped by hand, a runtime killed with SIGKILL and opened again,
// and the same crash "recovered" by cutting the turn off, counted side by side.
//
//	[Run] ─▶ scenario ─▶ claims ─▶ asked of the process table and the journal's
//	                              bytes on disk, never of the runtime's own word
//
// The model is the scripted server on loopback, in strict mode; the tools, the
// processes, the files and the signals are real. A claim that does not hold is
// named, and [Run] reports it.
//
// # Goroutines
//
// Those of the runtime, the server and the killed child; all have ended when
// Run returns. Every wait is bounded.
//
// # What it never does
//
// It touches no session but those in its own temporary folder, ends no process
// but those it started, and asserts nothing by asking the code under test
// whether it worked.
package demo
