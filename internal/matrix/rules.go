package main

import (
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// rule says what the five accounts of one end must be.
type rule struct {
	how     string // how a call is brought to this end
	success string // of call/ended: "true", "false", "null"
	isError bool   // of call/ended, and on a wire that has the flag
	made    bool   // the end is ours and says so (synthetic), with its cause
	cause   string
	text    string              // stands in what the model reads
	card    string              // stands in what the chat prints of the call
	turns   []event.TurnOutcome // how the turn may end
	started int                 // call/started records
	done    string              // what was really done
	unsure  bool                // the result object says that effects are not known
}

// column is an end, and for the one that has two ways which it is.
type column struct {
	o      event.CallOutcome
	before bool // quarantined before it did anything: what it does then is to have no effect
}

func (c column) String() string {
	if c.before {
		return string(c.o) + "*"
	}
	return string(c.o)
}

// columns are those of the matrix.
var columns = []column{{o: event.CallFinished}, {o: event.CallFinishedLate}, {o: event.CallStopped}, {o: event.CallSkipped}, {o: event.CallWasDenied},
	{o: event.CallInvalid}, {o: event.CallUnknown}, {o: event.CallQuarantined}, {o: event.CallQuarantined, before: true}, {o: event.CallFatal}}

// rules are the law that every cell is held to.
var rules = map[event.CallOutcome]rule{
	event.CallFinished: {how: "let run", success: "true", card: "finished",
		turns: []event.TurnOutcome{event.TurnCompleted}, started: 1, done: whole},
	event.CallFinishedLate: {how: "its result held back until long after Esc", success: "true", card: "finished while it was being stopped",
		turns: []event.TurnOutcome{event.TurnAborted}, started: 1, done: whole},
	event.CallStopped: {how: "Esc while it works", success: "null", isError: true, text: "aborted by user after", card: "stopped",
		turns: []event.TurnOutcome{event.TurnAborted}, started: 1, done: begun},
	event.CallSkipped: {how: "Esc while the call before it works", success: "null", isError: true, made: true, cause: "interrupt", text: turn.TextSkipped, card: "never ran (skipped)",
		turns: []event.TurnOutcome{event.TurnAborted}, done: none},
	event.CallWasDenied: {how: "a rule, or the hook, forbids it", success: "false", isError: true, text: "Nothing of it happened.", card: "refused; it did not run",
		turns: []event.TurnOutcome{event.TurnCompleted, event.TurnBlocked}, done: none},
	event.CallInvalid: {how: "arguments that do not fit", success: "false", isError: true, text: "correct the arguments", card: "not run: the arguments do not fit",
		turns: []event.TurnOutcome{event.TurnCompleted}, done: none},
	event.CallUnknown: {how: "kill -9 of the runtime while it works", success: "null", isError: true, made: true, cause: "crash", text: turn.TextUnknown, card: "outcome unknown: check before it is run again",
		turns: []event.TurnOutcome{event.TurnInterrupted}, started: 1, done: begun, unsure: true},
	event.CallQuarantined: {how: "Esc, and its result held back beyond the bound", success: "null", isError: true, text: turn.TextQuarantined, card: "did not stop and is still unwinding",
		turns: []event.TurnOutcome{event.TurnAborted}, started: 1, done: whole, unsure: true},
	event.CallFatal: {how: "the tool panics, or says that the engine is broken, after its effect", success: "null", isError: true, text: "Fatal error: ", card: "the tool itself failed",
		turns: []event.TurnOutcome{event.TurnFailed}, started: 1, done: whole},
}
