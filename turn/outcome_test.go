package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// Every way out writes one ending, by the table; the retry point follows from
// it.
//
// proves TRN-05, INT-13, INT-48, INT-49, LOG-13
func TestEveryWayOutWritesItsEnding(t *testing.T) {
	stop := func(r interrupt.Reason, who string) func(d *desk) {
		return func(d *desk) {
			d.trip(r, who)
			d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
		}
	}
	for name, c := range map[string]struct {
		opts   turn.Options
		play   func(d *desk)
		want   event.TurnOutcome
		reason string
		who    string
		code   event.FailureCode
		retry  bool
	}{
		"a person":                 {play: stop(interrupt.UserSIGINT, "me"), want: event.TurnAborted, reason: "USER_SIGINT", who: "me", retry: true},
		"an urgent input":          {play: stop(interrupt.NowPriorityInput, ""), want: event.TurnAborted, reason: "NOW_PRIORITY_INPUT", retry: true},
		"the caller":               {play: stop(interrupt.ParentCancelled, "caller"), want: event.TurnAborted, reason: "PARENT_CANCELLED", who: "caller", retry: true},
		"the task's owner":         {play: stop(interrupt.TaskCancelled, "o"), want: event.TurnAborted, reason: "TASK_CANCELLED", who: "o", retry: true},
		"shutdown":                 {play: stop(interrupt.SystemShutdown, "close"), want: event.TurnAborted, reason: "SYSTEM_SHUTDOWN", who: "close", retry: true},
		"release":                  {play: stop(interrupt.SessionReleased, "close"), want: event.TurnAborted, reason: "SESSION_RELEASED", who: "close", retry: true},
		"the command's time limit": {play: stop(interrupt.BudgetExceeded, "timeout"), want: event.TurnAborted, reason: "BUDGET_EXCEEDED", who: "timeout", retry: true},
		"the turn's time":          {play: stop(interrupt.BudgetExceeded, "wall"), want: event.TurnBudget, reason: "wall", retry: true},
		"an ordinary end": {play: func(d *desk) {
			d.stream(event.TextDelta{Text: "done"})
			d.finish(event.FinishStop)
		}, want: event.TurnCompleted},
		"the token limit": {play: func(d *desk) {
			d.stream(event.TextDelta{Text: "do"})
			d.finish(event.FinishLength)
		}, want: event.TurnTruncated, reason: "length"},
		"a filter": {play: func(d *desk) {
			d.stream(event.TextDelta{Text: "do"})
			d.finish(event.FinishFilter)
		}, want: event.TurnTruncated, reason: "filter"},
		"an error for good": {play: func(d *desk) { d.fail(event.Failure{Code: event.FailAuth, Message: "no key"}) }, want: event.TurnFailed, code: event.FailAuth, retry: true},
		"nobody to ask": {play: func(d *desk) {
			d.calls("c1", "bash")
			d.tell(turn.Judged{Call: "c1", Verdict: turn.VerdictBlock, By: "policy:headless", Why: "nobody is there"})
		}, want: event.TurnBlocked, reason: "policy:headless"},
		"a fatal tool": {play: func(d *desk) {
			d.calls("c1", "bash")
			d.allow("c1")
			_ = d.begin("c1")
			_ = d.endOf(turn.End{Turn: 1, Call: "c1", Ended: ended(event.CallFatal), Fatal: "Fatal error: broken"})
		}, want: event.TurnFailed, code: event.FailTool, retry: true},
		"the budget": {opts: turn.Options{Budget: guard.Budget{Steps: 1}}, play: func(d *desk) {
			d.calls("c1", "bash")
			d.ran("c1")
		}, want: event.TurnBudget, reason: "steps", retry: true},
		"a disk that fails": {play: func(d *desk) {
			d.stream(event.TextDelta{Text: "so far"})
			d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "full"}})
			d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
		}, want: event.TurnFailed, code: event.FailStorage, retry: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.opts)
			d.submit("go")
			at := d.now
			c.play(d)
			end := d.ending()
			if end.Outcome != c.want || end.Reason != c.reason || end.Who != c.who {
				t.Errorf("ended %+v", end)
			}
			if (end.Error != nil) != (c.code != "") || end.Error != nil && end.Error.Code != c.code {
				t.Errorf("error %+v, want %q", end.Error, c.code)
			}
			if (end.Outcome == event.TurnAborted) != (end.At != nil) || end.At != nil && !end.At.Equal(at) {
				t.Errorf("when: %v", end.At)
			}
			if end.Outcome.KeepsRetryPoint() != c.retry {
				t.Errorf("the retry point of %s: %v", end.Outcome, !c.retry)
			}
			if end.Steps != 1 {
				t.Errorf("step %d", end.Steps)
			}
			if d.s.Phase() != turn.PhaseIdle {
				t.Errorf("the machine is %v", d.s.Phase())
			}
			if n := len(all[turn.Ask](d.effects)); n != 1 { // proves INT-03, TOL-04: nothing is asked after the cut
				t.Errorf("the model was asked %d times", n)
			}
			paired(t, d.recs)
			valid(t, d.s.History)
		})
	}
}

// proves TRN-05: the outcome of a crash is recovery's alone
func TestNoWayThroughTheMachineWritesInterrupted(t *testing.T) {
	for seed := range uint64(300) {
		for _, e := range payloads[event.TurnEnded](t, played(t, seed)) {
			if e.Outcome == event.TurnInterrupted {
				t.Fatalf("seed %d: %+v", seed, e)
			}
		}
	}
}

// proves TRN-11
func TestABudgetEndsTheTurnBetweenStepsAndSaysWhich(t *testing.T) {
	for name, c := range map[string]struct {
		budget guard.Budget
		steps  int // that run before the budget ends the turn
	}{
		"steps":  {guard.Budget{Steps: 2}, 2},
		"calls":  {guard.Budget{Calls: 3}, 3},
		"tokens": {guard.Budget{Tokens: 250}, 3},
		"wall":   {guard.Budget{Wall: 35 * time.Second}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{Budget: c.budget})
			d.submit("go")
			for step := 1; step <= c.steps; step++ {
				if d.s.Phase() != turn.PhaseAsking {
					t.Fatalf("step %d: the turn is over: %v", step, d.s.Phase())
				}
				d.pass(10 * time.Second)
				in, out := int64(90), int64(10)
				d.stream(event.UsageDelta{Usage: event.Tokens{Input: &in, Output: &out}})
				id := fmt.Sprintf("c%d", step)
				d.calls(id, "bash")
				d.ran(event.CallID(id))
			}
			if end := d.ending(); end.Outcome != event.TurnBudget || end.Reason != name {
				t.Errorf("ended %+v", end)
			}
			paired(t, d.recs) // the last step's calls were run and answered
		})
	}
}

// proves TRN-11, TOL-08: a call over the bound is not even judged; those within
// it come to their own end, and the others are answered by what is true of them
func TestACallOverTheBudgetIsNeverStarted(t *testing.T) {
	for name, c := range map[string]struct {
		opts   turn.Options
		before []string // ids and names of an answer before it
		calls  []string
		run    string // what is judged, by when nothing more may be
		reason string
	}{
		"one by one":       {opts: turn.Options{Budget: guard.Budget{Calls: 2}}, calls: []string{"c1", "bash", "c2", "bash", "c3", "bash", "c4", "bash"}, run: "c1 c2", reason: "calls"},
		"side by side":     {opts: turn.Options{Budget: guard.Budget{Calls: 2}, NoEager: true}, calls: []string{"c1", "read", "c2", "read", "c3", "read", "c4", "bash"}, run: "c1 c2", reason: "calls"},
		"ahead":            {opts: turn.Options{Budget: guard.Budget{Calls: 2}}, calls: []string{"c1", "read", "c2", "read", "c3", "read"}, run: "c1 c2", reason: "calls"},
		"of a later step":  {opts: turn.Options{Budget: guard.Budget{Calls: 2}}, before: []string{"b1", "bash"}, calls: []string{"c1", "bash", "c2", "bash"}, run: "b1 c1", reason: "calls"},
		"of the session":   {opts: turn.Options{Session: guard.Budget{Calls: 2}, Budget: guard.Budget{Calls: 9}}, before: []string{"b1", "bash"}, calls: []string{"c1", "bash", "c2", "bash"}, run: "b1 c1", reason: "session_calls"},
		"an unknown first": {opts: turn.Options{Budget: guard.Budget{Calls: 2}}, calls: []string{"c1", "nosuch", "c2", "bash", "c3", "bash"}, run: "c2", reason: "calls"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.opts)
			d.submit("go")
			var run []string
			serve := func() {
				for n := -1; n != len(run); {
					n = len(run)
					for _, j := range all[turn.Judge](d.effects)[n:] {
						run = append(run, string(j.Call.ID))
					}
					for _, id := range run[n:] { // it fails where the turn is over before
						d.ran(event.CallID(id))
					}
				}
			}
			if c.before != nil {
				d.calls(c.before...)
				serve()
			}
			d.calls(c.calls...)
			serve()
			if got := strings.Join(run, " "); got != c.run {
				t.Errorf("%q were judged, want %q", got, c.run)
			}
			if end := d.ending(); end.Outcome != event.TurnBudget || end.Reason != c.reason {
				t.Errorf("ended %+v", end)
			}
			for id, e := range results(t, d.recs) {
				switch ran := slices.Contains(run, string(id)); {
				case ran && e.Outcome == event.CallFinished, e.Outcome == event.CallInvalid:
				case ran || e.Outcome != event.CallSkipped || e.Content.Text() != turn.TextOverBudget || !e.Synthetic || e.Cause != "budget":
					t.Errorf("%s: %+v", id, e)
				}
			}
			paired(t, d.recs)
			d.valid()
		})
	}
}

// proves TRN-11: a turn whose answer needs no calls is not cut at its budget
func TestTheBudgetsLastStepMayBeTheAnswer(t *testing.T) {
	d := newDesk(t, turn.Options{Budget: guard.Budget{Steps: 1}})
	d.submit("go")
	d.stream(event.TextDelta{Text: "done"})
	d.finish(event.FinishStop)
	if end := d.ending(); end.Outcome != event.TurnCompleted {
		t.Errorf("ended %+v", end)
	}
}

// proves TRN-11, INT-14: the wall clock trips the turn like anybody else
func TestTheTimeBudgetTripsTheTurn(t *testing.T) {
	d := newDesk(t, turn.Options{Budget: guard.Budget{Wall: time.Minute}})
	d.submit("go")
	var set bool
	for _, s := range all[turn.SetTimer](d.effects) {
		set = set || s.Timer == turn.TimerWall && s.After == time.Minute
	}
	if !set {
		t.Fatal("no timer was set")
	}
	trips := all[turn.Trip](d.tell(turn.Fired{Timer: turn.TimerWall}))
	if len(trips) != 1 || trips[0].Cause.Reason != interrupt.BudgetExceeded || trips[0].Cause.Who != "wall" {
		t.Fatalf("%+v", trips)
	}
	d.tell(turn.Tripped{Cause: trips[0].Cause})
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	if end := d.ending(); end.Outcome != event.TurnBudget || end.Reason != "wall" {
		t.Errorf("ended %+v", end)
	}
	if late := all[turn.Trip](d.tell(turn.Fired{Timer: turn.TimerWall})); len(late) > 0 {
		t.Error("a timer that fires late trips again")
	}
}

// The claim is the record that enters the step, and nothing is asked before it.
//
// proves TRN-16, INT-25, LOG-12
func TestAnInputIsClaimedAsItEntersItsStep(t *testing.T) {
	d := newDesk(t, turn.Options{})
	id := d.submit("go")
	at := map[event.Type]int{}
	for i := range d.recs {
		at[d.recs[i].Type] = i
	}
	claim := d.recs[at[event.TypeInboxClaimed]]
	if claim.Turn != 1 || claim.Step != 1 || body(t, &claim).(event.InboxClaimed).ID != id {
		t.Errorf("claimed as %+v", claim)
	}
	if at[event.TypeInboxClaimed] != at[event.TypeStepStarted]+1 || at[event.TypeModelRequest] < at[event.TypeInboxClaimed] {
		t.Errorf("order %s", d.types())
	}
	for n := at[event.TypeInboxAccepted] + 1; n <= len(d.recs); n++ { // in the inbox or in the history, at every cut
		l, err := turn.Fold(d.recs[:n])
		if err != nil {
			t.Fatal(err)
		}
		_, waits := l.Box.Get(id)
		said := slices.ContainsFunc(l.History, func(m event.Message) bool { return m.Content.Text() == "go" })
		if waits == said {
			t.Errorf("cut at %d: waits %v, in the history %v", n, waits, said)
		}
	}
	// What stands before the first effect of each kind is durable first.
	var synced bool
	for _, e := range d.effects {
		switch e := e.(type) {
		case turn.Append:
			synced = false
		case turn.Sync:
			synced = true
		case turn.Ask, turn.Reply, turn.Wake:
			if !synced {
				t.Errorf("%T before its records are durable", e)
			}
		}
	}
}

// proves TRN-14, TRN-09, INT-64, B049: what waits is held after a stop and runs when somebody says so
func TestAfterAStopNothingRunsByItself(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("first")
	d.submit("second")
	d.submit("third")
	d.trip(interrupt.UserSIGINT, "me")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	if sum := must[turn.Publish](d).Summary; !slices.Equal(sum.Held, []string{"second", "third"}) {
		t.Errorf("held %v", sum.Held)
	}
	if d.s.Phase() != turn.PhaseIdle {
		t.Fatalf("the machine is %v", d.s.Phase())
	}
	d.take()
	d.token++
	d.tell(turn.Go{Held: true, ID: "g_1", Token: d.token})
	d.stream(event.TextDelta{Text: "both"})
	d.finish(event.FinishStop)
	if sum := must[turn.Publish](d).Summary; sum.Turn != 2 || len(sum.Inputs) != 3 || len(sum.Held) != 0 {
		t.Errorf("one turn takes all that was held, in order: %+v", sum)
	}
	var said []string
	for _, m := range d.s.History[len(d.s.History)-3:] {
		said = append(said, m.Content.Text())
	}
	same(t, []string{"second", "third", "both"}, said)
}

// proves TRN-13, TRN-17: later inputs are turns of their own, in order, without anybody's help
func TestWhatWaitsBehindATurnThatCompletesRunsNext(t *testing.T) {
	d := newDesk(t, turn.Options{})
	for i := range 3 {
		d.submit(fmt.Sprint(i))
	}
	for i := range 3 {
		d.stream(event.TextDelta{Text: "re " + fmt.Sprint(i)})
		d.finish(event.FinishStop)
		if sum := must[turn.Publish](d).Summary; sum.Turn != i+1 || sum.Text != "re "+fmt.Sprint(i) || len(sum.Held) != 0 {
			t.Fatalf("turn %d: %+v", i+1, sum)
		}
	}
	if d.s.Phase() != turn.PhaseIdle {
		t.Errorf("the machine is %v", d.s.Phase())
	}
}

// proves TRN-14, TRN-17, B047: clearing drops what waits, never the turn's own, and
// says what; what comes later runs once the turn has ended
func TestClearingDropsWhatWaitsAndSaysSo(t *testing.T) {
	for _, with := range []bool{false, true} { // the stop, or behind it
		clearing(t, with)
	}
}

func clearing(t *testing.T, withTheStop bool) {
	t.Helper()
	d := newDesk(t, turn.Options{})
	d.submit("first")
	d.submit("second")
	d.tell(turn.Tripped{Cause: interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "me", At: d.now}, Drop: withTheStop})
	if !withTheStop {
		d.tell(turn.Clear{By: "me", Token: 99})
	}
	d.submit("third")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	sum := must[turn.Publish](d).Summary
	if !slices.Equal(sum.Dropped, []string{"second"}) || len(sum.Held) > 0 {
		t.Errorf("dropped %v, held %v", sum.Dropped, sum.Held)
	}
	if d.s.Phase() != turn.PhaseAsking || d.s.Turn.Number != 2 {
		t.Errorf("turn %d, the machine is %v", d.s.Turn.Number, d.s.Phase())
	}
	drops := payloads[event.InboxDropped](t, d.recs)
	if len(drops) != 1 || drops[0].Why != "canceled" || drops[0].By != "me" {
		t.Errorf("recorded %+v", drops)
	}
	if strings.Count(d.types(), "turn/start") != 2 {
		t.Errorf("a dropped input has a turn: %s", d.types())
	}
}

// proves B047, B134-like idempotency: one key is one turn
func TestOneKeyIsOneTurnHoweverOftenItIsSent(t *testing.T) {
	d := newDesk(t, turn.Options{})
	for n := range 3 {
		d.token++
		d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: event.InputID(fmt.Sprintf("i_%d", n)), Key: "k", Input: event.UserInput{Content: event.TextOf("go")}}})
	}
	for _, r := range all[turn.Reply](d.effects) {
		if got, ok := r.Value.(turn.Taken); r.Err != nil || !ok || got.ID != "i_0" {
			t.Errorf("answered %+v", r)
		}
	}
	if n := strings.Count(d.types(), "inbox/accepted"); n != 1 {
		t.Errorf("accepted %d times", n)
	}
}
