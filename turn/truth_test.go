package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// proves REC-06, LOG-12: an idempotency key whose input could not be stored is
// free again: a repeated submit is a submit, not the echo of what was refused
func TestARefusedInputGivesItsKeyBack(t *testing.T) {
	d := newDesk(t, turn.Options{})
	offer := func(id event.InputID) turn.Reply {
		d.token++
		d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: id, Key: "k", Input: event.UserInput{Content: event.TextOf("do it")}, Priority: event.PriorityLater}})
		return must[turn.Reply](d)
	}
	d.token++
	d.s.Step(d.now, turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_1", Key: "k", Input: event.UserInput{Content: event.TextOf("do it")}, Priority: event.PriorityLater}})
	d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "full"}, Refused: []turn.Token{d.token}})
	if r := offer("i_2"); r.Err == nil {
		t.Errorf("while the disk is full the key is answered with %v", r.Value)
	}
	d.tell(turn.StorageWorks{})
	if r := offer("i_2"); r.Err != nil || r.Value != (turn.Taken{ID: "i_2", Where: turn.Running}) || d.s.Turn == nil || d.s.Turn.Inputs[0] != "i_2" {
		t.Errorf("the repeated submit is answered %v, %v", r.Value, r.Err)
	}
	if r := offer("i_3"); r.Value != (turn.Taken{ID: "i_2", Where: turn.Known}) {
		t.Errorf("the key is used and yet answered with %v", r.Value)
	}
}

// proves LOG-12, HOK-04: a person's answer is told as taken once it is durable
func TestAnAnswerIsDurableBeforeItIsAcknowledged(t *testing.T) {
	for _, decision := range []event.Decision{event.Allow, event.Deny, event.Abort} {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.calls("c1", "bash")
		d.tell(turn.Judged{Call: "c1", Verdict: turn.VerdictAsk, By: "test"})
		ask := must[turn.Question](d)
		d.take()
		effects := d.tell(turn.Decided{ID: ask.Asked.ID, Decision: decision, By: "me", Token: 77})
		index := func(is func(turn.Effect) bool) int { return slices.IndexFunc(effects, is) }
		written := index(func(e turn.Effect) bool {
			a, ok := e.(turn.Append)
			return ok && slices.ContainsFunc(a.Records, func(r event.Record) bool { return r.Type == event.TypeApprovalDecided })
		})
		synced := index(func(e turn.Effect) bool { _, ok := e.(turn.Sync); return ok })
		told := index(func(e turn.Effect) bool { r, ok := e.(turn.Reply); return ok && r.Token == 77 })
		if written < 0 || !(written < synced && synced < told) {
			t.Errorf("%s: written at %d, synced at %d, told at %d", decision, written, synced, told)
		}
	}
}

// proves REC-05, PRC-04: what a command left running did not end when the
// command did: its exit code is no job's, and what recovery killed was killed
func TestALeftoverDoesNotInheritItsCommandsEnd(t *testing.T) {
	zero := 0
	for name, c := range map[string]struct {
		alive []int
		state event.JobState
	}{
		"found alive and ended": {[]int{80}, event.JobKilled},
		"not found":             {nil, event.JobLost},
	} {
		recs := journal(t, join(opened,
			[]line{{p: event.ProcessStarted{Owner: "call", ID: "c9", PID: 80}}, {p: event.JobStarted{ID: "j1", Call: "c9", PIDs: []int{80}}}})...)
		_, added := recovered(t, recs, event.Evidence{Call: "c9", Job: "j1", Alive: c.alive, Ended: true, ExitCode: &zero})
		ends := payloads[event.JobEnded](t, added)
		if len(ends) != 1 || ends[0].State != c.state || ends[0].ExitCode != nil {
			t.Errorf("%s: %+v", name, ends)
		}
	}
}

// proves TRN-05, INT-51: a turn whose journal went to another writer is aborted
// for those who wait here, whatever it was at; nothing is taken any more
func TestAJournalThatIsLostAbortsTheTurnForItsWaiters(t *testing.T) {
	gone := turn.StorageFailed{Failure: event.Failure{Code: event.FailBusy, Message: "another process writes this session"}, Lost: true}
	for name, play := range map[string]func(d *desk){
		"while it streams":     func(d *desk) { d.stream(say("half")) },
		"while a call runs":    func(d *desk) { d.calls("c1", "bash"); d.allow("c1"); _ = d.begin("c1") },
		"while it is stopping": func(d *desk) { d.trip(interrupt.UserSIGINT, "me") },
	} {
		d := newDesk(t, turn.Options{})
		d.noHooks = true
		d.submit("go")
		play(d)
		trips := all[turn.Trip](d.tell(gone))
		if name != "while it is stopping" && (len(trips) != 1 || trips[0].Cause.Reason != interrupt.LeaseLost) {
			t.Errorf("%s: %+v", name, trips)
		}
		if ask, ok := last[turn.Ask](d); ok {
			d.tell(turn.Answered{Ticket: ask.Ticket, Cut: true})
		}
		d.endOf(turn.End{Turn: 1, Call: "c1", Ended: ended(event.CallStopped)})
		d.s.Step(d.now, turn.Hooked{}) // its checkpoint fails as the others do
		d.take()
		d.tell(gone)
		sum := must[turn.Publish](d).Summary
		if sum.Outcome != event.TurnAborted || sum.Reason != "LEASE_LOST" || !sum.Unsaved || sum.Error == nil {
			t.Errorf("%s: %+v", name, sum)
		}
		for _, s := range all[turn.SetTimer](d.effects) {
			t.Errorf("%s: it will look at %s again", name, s.Timer)
		}
		d.submit("more")
		var refused *turn.RefusedError
		if err := must[turn.Reply](d).Err; !errors.As(err, &refused) || refused.Failure.Code != event.FailBusy {
			t.Errorf("%s: more is answered %v", name, err)
		}
	}
}

// proves TRN-14: what is cleared with a stop is what waited when the stop came,
// also when it came in the turn's last moment
func TestWhatIsAcceptedAfterAStopIsNotClearedWithIt(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.noHooks = true
	d.submit("first")
	d.submit("second")
	d.stream(say("done"))
	d.finish(event.FinishStop)
	d.trip(interrupt.UserSIGINT, "me")
	d.submit("third")
	d.tell(turn.Clear{By: "me", Stop: true, Token: 99})
	d.tell(turn.Hooked{})
	sum := must[turn.Publish](d).Summary
	if sum.Outcome != event.TurnCompleted || !slices.Equal(sum.Dropped, []string{"second"}) {
		t.Errorf("%s, dropped %v", sum.Outcome, sum.Dropped)
	}
	if d.s.Turn.Number != 2 || d.s.Turn.Inputs[0] != "i_3" {
		t.Errorf("what came after the stop does not run: turn %+v", d.s.Turn)
	}
}

// proves TRN-05: a budget is the machine's own; whoever else gives that reason
// is somebody who asked
func TestOnlyTheTurnsOwnClockEndsItByBudget(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.trip(interrupt.BudgetExceeded, "billing")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	if end := d.ending(); end.Outcome != event.TurnAborted || end.Who != "billing" {
		t.Errorf("%+v", end)
	}
}

// proves LOG-12, PRC-04: that a process runs is durable before its runner is told
func TestThatSomethingRunsIsDurableBeforeItsRunnerGoesOn(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c1", "bash")
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []event.Payload{event.ProcessStarted{Owner: "call", ID: "c1", PID: 9}, event.JobStarted{ID: "j1", Call: "c1"}, event.JobKept{ID: "j1", Keep: true}} {
		effects := d.tell(turn.Fact{Turn: 1, Call: "c1", Payload: p, Token: 55})
		if len(all[turn.Sync](effects)) != 1 {
			t.Errorf("%s is told as recorded without a sync", p.Type())
		}
		if _, ok := effects[len(effects)-1].(turn.Reply); !ok {
			t.Errorf("%s: %T stands last", p.Type(), effects[len(effects)-1])
		}
	}
}

// proves REC-07, PRC-03, invariant 10: what recovery could not end is said and
// not written off
func TestWhatRecoveryCouldNotEndIsNotWrittenOff(t *testing.T) {
	recs := journal(t, join(opened,
		[]line{{p: event.ProcessStarted{Owner: "call", ID: "c8", PID: 79}}, {p: event.ProcessStarted{Owner: "call", ID: "c9", PID: 80}},
			{p: event.JobStarted{ID: "j1", Call: "c9", PIDs: []int{80}}}})...)
	l, added := recovered(t, recs, event.Evidence{Call: "c8", Alive: []int{79}, Survivors: []int{79}},
		event.Evidence{Call: "c9", Job: "j1", Alive: []int{80, 81}, Survivors: []int{81}})
	if n := len(payloads[event.ProcessSurvived](t, added)); n != 2 || len(payloads[event.ProcessEnded](t, added))+len(payloads[event.JobEnded](t, added)) > 0 {
		t.Errorf("%s", named(added))
	}
	if len(l.Procs) != 2 || len(l.OpenJobs()) != 1 || !turn.NeedsRecovery(l) {
		t.Error("the next recovery does not look for them")
	}
}

// proves TRN-11, INT-75: an input's own bound on steps is obeyed, and cannot
// widen the session's
func TestAnInputsOwnBoundOnStepsIsObeyed(t *testing.T) {
	for own, want := range map[int]int{1: 1, 9: 2} {
		d := newDesk(t, turn.Options{Budget: guard.Budget{Steps: 2}})
		d.token++
		d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_1", Priority: event.PriorityLater,
			Input: event.UserInput{Content: event.TextOf("go")}, Options: event.SubmitOptions{MaxSteps: &own}}})
		for n := 1; d.s.Phase() == turn.PhaseAsking; n++ {
			id := fmt.Sprintf("c%d", n)
			d.calls(id, "bash")
			d.ran(event.CallID(id))
		}
		if end := d.ending(); end.Outcome != event.TurnBudget || end.Reason != "steps" || end.Steps != want {
			t.Errorf("bound %d: %+v", own, end)
		}
	}
}

// proves TRN-08: who wants no marker gets none from recovery either
func TestRecoveryObeysTheMarkersSetting(t *testing.T) {
	for want, opts := range map[string]turn.Options{"": {NoMarker: true}, turn.TextAbortedTurn: {}, "cut": {MarkerText: "cut"}} {
		l, err := turn.Fold(wreck(t))
		if err != nil {
			t.Fatal(err)
		}
		added, err := turn.Recover(l, 2, nil, opts)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range payloads[event.TurnMarked](t, added) {
			got += m.Text
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
