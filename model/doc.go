// Package model turns one request to a language model into one ordered stream
// of deltas. It is the contract, the words for what can go wrong on the way,
// and the choice of whom to ask.
//
//	Request ──▶ Model.Stream ──▶ delta, delta, … ─┬─▶ Finish
//	                                              ├─▶ *Error            (typed, see [Peer])
//	                                              └─▶ context.Cause     (ctx ended: bare, never wrapped)
//
// Drivers live one level below: openai speaks chat completions and responses,
// anthropic speaks messages; scripted is a server of our own that speaks all
// three, whose every event and fault is written in a text file, and which is
// asked over loopback like any other provider. The suite that every driver passes
// is in modeltest.
//
// What drivers of HTTP providers have in common stands here: [Wire] posts and
// reads events, [Scan] walks their JSON, [Blocks] makes deltas of what a
// [Decoder] understood, [Exchanges] puts a history into the form of wires whose
// roles alternate. A driver is then a body and a decoder.
//
// # What a driver owes
//
//   - One stream a request, deltas in the order they came, cut only between
//     runes. The last thing yielded is one Finish or one error.
//   - An end of the connection without the wire's own terminal event is an
//     error of code protocol or transport, never an answer.
//   - The wire's terminal event is obeyed at once, even if the peer keeps the
//     connection open.
//   - A call's id is passed through as the provider sent it, empty and
//     repeated ones too: the turn gives usable ids.
//   - A count that was not given is nil, never zero.
//   - When ctx ends the connection is closed at once, nothing more is yielded
//     but the cause.
//
// # What it never does
//
// It keeps no history, retries nothing (the turn does, by the error's code),
// knows of no interrupt (INT-46: the token is the context), and starts no
// goroutine that outlives Stream, save the idle connections of a driver's own
// HTTP transport, which the driver's Close ends.
package model
