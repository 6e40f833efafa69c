package main

import (
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Exit codes (IFC-04).
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitConfig  = 3
	exitLimit   = 4
	exitBlocked = 5
	exitBusy    = 6
	exitDamaged = 7
	exitUnsure  = 8 // in place of 1 or 4: what some calls did is not known
	exitTimeout = 124
	exitHUP     = 129
	exitINT     = 130
	exitTERM    = 143
)

// cause is what made this process ask for an end.
type cause int

const (
	noCause cause = iota
	causeINT
	causeTERM
	causeHUP
	causeTimeout
)

// exit is the code of a process that ended because of c. Without a cause of
// our own somebody elsewhere asked.
func (c cause) exit() int {
	switch c {
	case causeTERM:
		return exitTERM
	case causeHUP:
		return exitHUP
	case causeTimeout:
		return exitTimeout
	case noCause, causeINT:
		return exitINT
	}
	return exitINT
}

// ending is everything that an exit code depends on.
type ending struct {
	outcome event.TurnOutcome // empty: no turn came to an end
	code    event.FailureCode // of the error, empty if none
	unsure  bool              // a call is unknown or quarantined
	stop    cause             // the request of ours that was the first to arrive
}

// exitCode is the one place where an ending becomes a number.
func exitCode(e ending) int {
	switch e.outcome {
	case event.TurnCompleted:
		return exitDone
	case event.TurnAborted:
		return e.stop.exit()
	case event.TurnBlocked:
		return exitBlocked
	case event.TurnFailed, event.TurnStalled, event.TurnInterrupted:
		if e.outcome == event.TurnFailed && (e.code == event.FailAuth || e.code == event.FailConfig) {
			return exitConfig // 8 stands in place of 1 and 4 alone
		}
		if e.unsure {
			return exitUnsure
		}
		return exitFailed
	case event.TurnBudget, event.TurnTruncated, event.TurnLooped:
		if e.unsure {
			return exitUnsure
		}
		return exitLimit
	}
	if e.stop != noCause {
		return e.stop.exit()
	}
	return refusalCode(e.code)
}

// refusalCode is for what was refused before a turn began.
func refusalCode(code event.FailureCode) int {
	switch code {
	case "":
		return exitDone
	case event.FailUsage, codeNotFound, codeUnsupported:
		return exitUsage
	case event.FailConfig, event.FailAuth:
		return exitConfig
	case event.FailBusy:
		return exitBusy
	case event.FailDamaged, codeFuture:
		return exitDamaged
	case event.FailRequest, event.FailContext, event.FailRateLimit, event.FailOverloaded,
		event.FailTransport, event.FailProtocol, event.FailEmpty, event.FailStall,
		event.FailStorage, event.FailTool, event.FailInternal, codeStale:
		return exitFailed
	}
	return exitFailed
}

// Codes that the api adds to the engine's.
const (
	codeNotFound    event.FailureCode = "not_found"
	codeUnsupported event.FailureCode = "unsupported"
	codeStale       event.FailureCode = "stale"
	codeFuture      event.FailureCode = "future" // a journal that this version cannot read
)

// unsure reports whether what some call did is not known.
func unsure(r *api.Result) bool {
	if r.UnknownEffects {
		return true
	}
	for _, c := range r.Calls {
		if c.Outcome == event.CallUnknown || c.Outcome == event.CallQuarantined {
			return true
		}
	}
	return false
}
