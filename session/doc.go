// Package session is the live session: the one goroutine that owns a
// session's state and the one writer of its journal. It feeds package turn
// with what happens and performs the effects that come back; it decides
// nothing that turn can decide.
//
//	callers ──post──▶ ┌────────┐ Input  ┌───────────┐
//	runners ──post──▶ │ driver │ ─────▶ │ turn.Step │
//	signal  ──trip──▶ │        │ ◀───── └───────────┘
//	timers  ──fire──▶ └───┬────┘ effects
//	                      ├─ Append, Sync ─▶ journal
//	                      ├─ Ask, RunCall, Judge ─▶ one goroutine each, counted
//	                      └─ frames ─▶ subscribers
//
// An interrupt does not go through the driver: [Live.Interrupt] trips the
// turn's coordinator on the caller's goroutine, which closes the model's
// connection and runs the terminators at once, even while the driver waits for
// the disk. The driver then sees the signal and unwinds.
//
// # Goroutines
//
// The driver is started by [Open] and ends in [Live.Close]. Attempts, gates and
// runners are started by the driver and counted in Live.work, which Close waits
// for; a tool that was quarantined is counted apart, named in the status, and
// fenced. Inner calls run on their outer call's goroutines. Hooks of a turn's
// start and reports are counted in Live.work as well; a turn's end waits for
// those that were begun in its name (active.errands), and the session's end for
// those of [Live.Reporting], which run on goroutines of their callers. Each job has one watcher,
// counted in Live.work. A subscriber's queue has no goroutine of its own.
//
// # What it never does
//
// It speaks no protocol, draws nothing, reads no environment, picks no model
// and knows no file format.
package session
