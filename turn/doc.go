// Package turn is what a session decides: what is recorded, what is asked of
// the model, which call may run, how a turn ends. It is pure. [State.Step]
// takes what happened and returns records and effects; package session
// performs them. The same inputs give the same records, on any machine.
//
//	Input ─▶ State.Step ─▶ []Effect: Append, Sync, Ask, RunCall, …, Publish
//	             │
//	             └─ Ledger: the fold of all records, judged by Checker (LOG-04)
//
// The effects of one Step are an ordered list, and an effect behind a [Sync]
// that fails does not happen: that is how the intent comes before the effect.
//
// [Close] ends a turn's books, for an abort, a failure and a crash alike;
// [Recover] wraps it into the group of records that recovery appends. The words
// a model reads about what did not happen stand in one place, the Text
// constants.
//
// A call whose arguments are whole may start while its answer still streams
// ([State.Step] on the end of its arguments): its request stands in the journal
// before the message that lists it. What a running call does in its own name,
// inner calls and questions to people, are facts of that call.
//
// # What it never does
//
// It reads no clock, waits for nothing, does no input or output and starts no
// goroutine. It knows neither models nor tools nor files. A [State] and a
// [Ledger] belong to one goroutine.
package turn
