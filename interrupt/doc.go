// Package interrupt is about asking work to end and learning that it was
// asked: who may ask, how the word travels, and what each kind of work does
// with it.
//
//	host ──Request(cause)──▶ Coordinator ──trips──▶ Signal ──read by──▶ loop, tools
//	                             │
//	                             └─runs──▶ listeners (order of registration)
//	                                       terminators (registrars, then order of registration)
//
// A [Coordinator] belongs to one execution, a turn as a rule. It alone can
// trip its [Signal]; whoever holds a signal can only read it. The first
// [Cause] wins and nothing clears it. [Coordinator.Close] retires the
// coordinator: from then on a request does nothing, so that an interrupt kept
// from turn N cannot reach turn N+1.
//
// What a piece of work does with a trip is its [Behaviour]. The default is
// [NonInterruptible]: nothing reaches it and the boundary waits for its end.
//
// # Concurrency
//
// Everything here may be used from any goroutine. Listeners and terminators run
// on the goroutine that makes the request, or on the registering one if the
// signal has tripped before; never under a lock. They must not block: one
// that does is reported to [Options.Fault]. The package starts no goroutine of
// its own; only that report comes on the goroutine of a timer, which is stopped
// when the listener returns.
//
// The suite for whatever is ended by a [Ladder], and a signal that counts its
// listeners, are in package interrupttest.
//
// # What it never does
//
// It knows of no model, session, file, process or network, stores and sends
// nothing, and imports nothing of ours. How a process tree is ended is proc's
// affair; when, the host's.
package interrupt
