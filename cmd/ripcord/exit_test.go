package main

import (
	"testing"

	"github.com/ripcord-go/ripcord/event"
)

// Every outcome with every circumstance, against a table written from IFC-04's
// sentence and not from the code.
//
// proves IFC-04, CLI-02, B148
func TestEveryEndingHasItsExitCode(t *testing.T) {
	outcomes := map[event.TurnOutcome]struct{ sure, unsure int }{
		event.TurnCompleted: {0, 0}, event.TurnFailed: {1, 8}, event.TurnStalled: {1, 8},
		event.TurnBudget: {4, 8}, event.TurnTruncated: {4, 8}, event.TurnLooped: {4, 8},
		event.TurnBlocked: {5, 5}, event.TurnInterrupted: {1, 8},
	}
	stops := map[cause]int{noCause: 130, causeINT: 130, causeTERM: 143, causeHUP: 129, causeTimeout: 124}
	for o, want := range outcomes {
		for stop := range stops {
			for _, code := range []event.FailureCode{"", event.FailTransport, event.FailTool} {
				if got := exitCode(ending{o, code, false, stop}); got != want.sure {
					t.Errorf("%s, stop %d, %q: exit %d, want %d: a signal after the end changes nothing", o, stop, code, got, want.sure)
				}
				if got := exitCode(ending{o, code, true, stop}); got != want.unsure {
					t.Errorf("%s with unknown calls: exit %d, want %d", o, got, want.unsure)
				}
			}
		}
	}
	for stop, want := range stops {
		for _, u := range []bool{false, true} {
			if got := exitCode(ending{event.TurnAborted, "", u, stop}); got != want {
				t.Errorf("aborted by %d (unknown calls %v): exit %d, want %d", stop, u, got, want)
			}
		}
		if stop == noCause {
			continue
		}
		if got := exitCode(ending{"", event.FailTransport, false, stop}); got != want {
			t.Errorf("stopped by %d before a turn: exit %d, want %d", stop, got, want)
		}
	}
	for code, want := range map[event.FailureCode]int{
		"": 0, event.FailUsage: 2, "not_found": 2, "unsupported": 2, event.FailConfig: 3, event.FailAuth: 3,
		event.FailBusy: 6, event.FailDamaged: 7, "future": 7, event.FailStorage: 1, event.FailInternal: 1, "stale": 1,
		event.FailTransport: 1, event.FailRequest: 1, event.FailContext: 1, event.FailRateLimit: 1,
		event.FailOverloaded: 1, event.FailProtocol: 1, event.FailEmpty: 1, event.FailStall: 1, event.FailTool: 1,
	} {
		if got := exitCode(ending{code: code}); got != want {
			t.Errorf("refused with %q before a turn: exit %d, want %d", code, got, want)
		}
	}
	for _, code := range []event.FailureCode{event.FailAuth, event.FailConfig} {
		for _, u := range []bool{false, true} {
			if got := exitCode(ending{outcome: event.TurnFailed, code: code, unsure: u}); got != 3 {
				t.Errorf("a turn that failed with %s (unknown calls %v): exit %d, want 3", code, u, got)
			}
		}
	}
}
