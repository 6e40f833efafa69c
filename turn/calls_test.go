package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// judged lists which calls the machine has taken up, in order.
func judged(effects []turn.Effect) (out []event.CallID) {
	for _, j := range all[turn.Judge](effects) {
		out = append(out, j.Call.ID)
	}
	return out
}

// proves TOL-09, INT-08, INT-28, B014
func TestDispatchTakesUpCallsByTheirKindAndTheCap(t *testing.T) {
	for name, c := range map[string]struct {
		cap   int
		names []string
		order []string // taken up at first, then after each end of the oldest one that runs
	}{
		"one by one":                      {8, []string{"bash", "bash", "bash"}, []string{"c0", "c1", "c2"}},
		"side by side":                    {8, []string{"read", "read", "read"}, []string{"c0 c1 c2", "", ""}},
		"at most two":                     {2, []string{"read", "read", "read", "read"}, []string{"c0 c1", "c2", "c3", ""}},
		"an exclusive one waits":          {8, []string{"read", "read", "bash", "read"}, []string{"c0 c1", "", "c2", "c3"}},
		"nothing overtakes an exclusive":  {8, []string{"bash", "read", "read"}, []string{"c0", "c1 c2", ""}},
		"nothing overtakes while waiting": {8, []string{"read", "bash", "read", "bash"}, []string{"c0", "c1", "c2", "c3"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{Parallel: c.cap})
			d.submit("go")
			var asks []string
			for i, n := range c.names {
				asks = append(asks, fmt.Sprintf("c%d", i), n)
			}
			d.calls(asks...)
			var runs []event.CallID
			for i, want := range c.order {
				got := judged(d.effects)
				d.effects = slices.DeleteFunc(d.effects, func(e turn.Effect) bool { _, is := e.(turn.Judge); return is })
				if s := strings.Trim(fmt.Sprint(got), "[]"); s != want {
					t.Fatalf("round %d takes up %q, want %q", i, s, want)
				}
				d.allow(got...)
				for _, id := range got {
					if err := d.begin(id); err != nil {
						t.Fatal(err)
					}
				}
				runs = append(runs, got...)
				if err := d.end(runs[0], finished("did "+string(runs[0]))); err != nil {
					t.Fatal(err)
				}
				runs = runs[1:]
			}
			for _, id := range runs {
				if err := d.end(id, finished("did "+string(id))); err != nil {
					t.Fatal(err)
				}
			}
			inOrder(t, d, len(c.names))
		})
	}
}

// inOrder holds the history to n results in the order of the calls.
func inOrder(t *testing.T, d *desk, n int) {
	t.Helper()
	var got []event.CallID
	for _, m := range d.s.History {
		if m.Role == event.RoleTool {
			got = append(got, m.Call)
		}
	}
	var want []event.CallID
	for i := range n {
		want = append(want, event.CallID(fmt.Sprintf("c%d", i)))
	}
	same(t, want, got)
	paired(t, d.recs)
	valid(t, d.s.History)
}

// proves TOL-09, B014: results stand in request order, whoever ended first
func TestResultsStandInRequestOrderWhoeverEndedFirst(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c0", "read", "c1", "read", "c2", "read")
	d.allow("c2", "c0", "c1")
	for _, id := range []event.CallID{"c2", "c1", "c0"} {
		if err := errors.Join(d.begin(id), d.end(id, finished("did "+string(id)))); err != nil {
			t.Fatal(err)
		}
	}
	inOrder(t, d, 3)
}

// proves INT-40, TOL-09, TRN-20: a failing sibling cancels nobody
func TestACallThatFailsReachesNoSibling(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c0", "read", "c1", "read")
	d.allow("c0", "c1")
	if err := errors.Join(d.begin("c0"), d.begin("c1")); err != nil {
		t.Fatal(err)
	}
	bad := finished("no such file")
	*bad.Success = false
	if err := d.end("c0", bad); err != nil {
		t.Fatal(err)
	}
	if len(all[turn.Trip](d.effects)) > 0 || d.s.Stopping() {
		t.Fatal("a failed call stops the turn")
	}
	if err := d.end("c1", finished("did it")); err != nil {
		t.Fatal(err)
	}
	if d.s.Phase() != turn.PhaseAsking || must[turn.Ask](d).Step != 2 {
		t.Errorf("the machine is %v", d.s.Phase())
	}
	if got := results(t, d.recs); got["c0"].Success == nil || *got["c0"].Success || !got["c0"].Error || got["c1"].Error {
		t.Errorf("results %+v", got)
	}
}

// proves INT-29, INT-30, INT-31, TRN-06, TOL-05, B014, B095
func TestAStopSkipsWhatHasNotStartedAndKeepsWhatHas(t *testing.T) {
	d := newDesk(t, turn.Options{Parallel: 3})
	d.submit("go")
	d.calls("c0", "read", "c1", "read", "c2", "read", "c3", "read", "c4", "bash")
	d.allow("c0", "c1", "c2") // c3 waits for a slot
	if err := errors.Join(d.begin("c0"), d.end("c0", finished("real"))); err != nil {
		t.Fatal(err)
	}
	d.allow("c3")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.effects = nil
	d.trip(interrupt.UserSIGINT, "me")
	// c2 was handed to its runner, c3 too: both ask after the trip and may not.
	for _, id := range []event.CallID{"c2", "c3"} {
		if err := d.begin(id); !errors.Is(err, turn.ErrNotNow) {
			t.Errorf("%s starts after the trip: %v", id, err)
		}
	}
	if n := len(judged(d.effects)); n > 0 {
		t.Errorf("%d calls are taken up after the trip", n)
	}
	part := ended(event.CallStopped)
	part.Content = event.TextOf("part")
	if err := errors.Join(d.end("c2", ended(event.CallSkipped)), d.end("c1", part), d.end("c3", ended(event.CallSkipped))); err != nil {
		t.Fatal(err)
	}
	if end := d.ending(); end.Outcome != event.TurnAborted {
		t.Errorf("ended %+v", end)
	}
	got := results(t, d.recs)
	if e := got["c0"]; e.Outcome != event.CallFinished || e.Content.Text() != "real" || e.Error {
		t.Errorf("what had finished is %+v", e)
	}
	if e := got["c1"]; e.Outcome != event.CallStopped || e.Success != nil || !e.Error || !strings.HasPrefix(e.Content.Text(), "aborted by user after 3.2s") ||
		!strings.Contains(e.Content.Text(), "effects may be partial") || !strings.HasSuffix(e.Content.Text(), "part") {
		t.Errorf("what was stopped is %+v", e)
	}
	for _, id := range []event.CallID{"c2", "c3", "c4"} {
		if e := got[id]; e.Outcome != event.CallSkipped || e.Success != nil || !e.Error ||
			e.Content.Text() != "Interrupted \u2014 skipped: the turn was cancelled before this tool started" {
			t.Errorf("%s: %+v", id, e)
		}
	}
	inOrder(t, d, 5)
	if n := strings.Count(d.types(), "call/started"); n != 2 {
		t.Errorf("%d calls started", n)
	}
}

// proves TOL-07
func TestAStoppedCallSaysHowLongItRanAndWhatItHad(t *testing.T) {
	for name, c := range map[string]struct {
		reason interrupt.Reason
		ran    time.Duration
		had    string
		left   []int
		begins string
		holds  []string
	}{
		"by a person":   {interrupt.UserSIGINT, 3200 * time.Millisecond, "line 1\n", nil, "aborted by user after 3.2s", []string{"Output so far:\nline 1"}},
		"by another":    {interrupt.NowPriorityInput, 3200 * time.Millisecond, "", nil, "aborted after 3.2s (NOW_PRIORITY_INPUT)", []string{"printed nothing"}},
		"by a budget":   {interrupt.BudgetExceeded, 61 * time.Second, "x", nil, "aborted after 61.0s (BUDGET_EXCEEDED)", nil},
		"at once":       {interrupt.UserSIGINT, 0, "", nil, "aborted by user after 0.1s", nil},
		"with the dead": {interrupt.SystemShutdown, 2 * time.Second, "x", []int{7, 8}, "aborted after 2.0s (SYSTEM_SHUTDOWN)", []string{"Still alive", "7 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.calls("c0", "bash")
			d.allow("c0")
			if err := d.begin("c0"); err != nil {
				t.Fatal(err)
			}
			d.trip(c.reason, "me")
			ms := c.ran.Milliseconds()
			if err := d.end("c0", event.CallEnded{Outcome: event.CallStopped, RanMS: &ms, Content: event.TextOf(c.had), Survivors: c.left}); err != nil {
				t.Fatal(err)
			}
			text := results(t, d.recs)["c0"].Content.Text()
			if !strings.HasPrefix(text, c.begins+". Its effects may be partial") {
				t.Errorf("%q", text)
			}
			for _, s := range c.holds {
				if !strings.Contains(text, s) {
					t.Errorf("%q lacks %q", text, s)
				}
			}
		})
	}
}

// proves TOL-07, INT-44, TRN-06: law 6, at every moment of the unwinding
func TestAFinishedResultIsAFactWheneverTheStopComes(t *testing.T) {
	for name, play := range map[string]func(d *desk){
		"before the stop": func(d *desk) {
			_ = d.end("c0", finished("real"))
			d.trip(interrupt.UserSIGINT, "me")
			_ = d.end("c1", ended(event.CallStopped))
		},
		"after the stop": func(d *desk) {
			d.trip(interrupt.UserSIGINT, "me")
			_ = d.end("c1", ended(event.CallStopped))
			_ = d.end("c0", finished("real"))
		},
		"late": func(d *desk) {
			d.trip(interrupt.UserSIGINT, "me")
			e := finished("real")
			e.Outcome = event.CallFinishedLate
			_ = d.end("c1", ended(event.CallStopped))
			_ = d.end("c0", e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.calls("c0", "read", "c1", "read")
			d.allow("c0", "c1")
			if err := errors.Join(d.begin("c0"), d.begin("c1")); err != nil {
				t.Fatal(err)
			}
			play(d)
			e := results(t, d.recs)["c0"]
			if e.Content.Text() != "real" || e.Success == nil || !*e.Success || e.Error {
				t.Errorf("%+v", e)
			}
			// A second end, whoever sends it, changes nothing.
			before := len(d.recs)
			if err := d.endOf(turn.End{Turn: 1, Call: "c0", Ended: ended(event.CallStopped)}); !errors.Is(err, turn.ErrNotNow) {
				t.Errorf("a second end is taken: %v", err)
			}
			if len(d.recs) != before || d.ending().Outcome != event.TurnAborted {
				t.Errorf("after a second end: %s", d.types())
			}
		})
	}
}

// proves IFC-11, HOK-02, TOL-03, B015
func TestWhatNobodyCanApproveBlocksTheTurnAndNothingRuns(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c0", "bash", "c1", "bash")
	d.tell(turn.Judged{Call: "c0", Verdict: turn.VerdictBlock, By: "policy:headless", Why: "nobody is there"})
	if end := d.ending(); end.Outcome != event.TurnBlocked || end.Reason != "policy:headless" {
		t.Errorf("ended %+v", end)
	}
	got := results(t, d.recs)
	if e := got["c0"]; e.Outcome != event.CallWasDenied || e.Success == nil || *e.Success || !strings.Contains(e.Content.Text(), "denied by policy:headless: nobody is there") || !strings.Contains(e.Content.Text(), "Nothing of it happened") {
		t.Errorf("denied: %+v", e)
	}
	if e := got["c1"]; e.Outcome != event.CallSkipped {
		t.Errorf("the other: %+v", e)
	}
	if n := len(all[turn.RunCall](d.effects)); n > 0 {
		t.Errorf("%d calls ran", n)
	}
	if d.s.Turn.Marked {
		t.Error("a blocked turn was not aborted and has the marker")
	}
	inOrder(t, d, 2)
}

// proves HOK-04, TRN-06, B015, B095, B098
func TestAQuestionIsAnsweredOnceOrVoidNeverTakenForARefusal(t *testing.T) {
	ask := func(t *testing.T) (*desk, event.ApprovalID) {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.calls("c0", "bash", "c1", "bash")
		d.tell(turn.Judged{Call: "c0", Verdict: turn.VerdictAsk, By: "policy:ask", Prompt: "run it"})
		q := must[turn.Question](d)
		if q.Asked.Prompt != "run it" || q.Call.ID != "c0" {
			t.Fatalf("asked %+v", q)
		}
		return d, q.Asked.ID
	}
	decide := func(d *desk, id event.ApprovalID, dec event.Decision) error {
		d.token++
		for _, r := range all[turn.Reply](d.tell(turn.Decided{ID: id, Decision: dec, By: "me", Why: "because", Token: d.token})) {
			if r.Token == d.token {
				return r.Err
			}
		}
		t.Fatal("not answered")
		return nil
	}
	stale := func(t *testing.T, err error) {
		t.Helper()
		var refused *turn.RefusedError
		if !errors.As(err, &refused) || refused.Failure.Code != "stale" {
			t.Errorf("answered %v, want stale", err)
		}
	}
	t.Run("allowed", func(t *testing.T) {
		d, id := ask(t)
		if err := decide(d, id, event.Allow); err != nil {
			t.Fatal(err)
		}
		stale(t, decide(d, id, event.Deny))
		if must[turn.RunCall](d).Call.ID != "c0" {
			t.Error("it does not run")
		}
	})
	t.Run("denied: the turn goes on", func(t *testing.T) {
		d, id := ask(t)
		if err := decide(d, id, event.Deny); err != nil {
			t.Fatal(err)
		}
		e := results(t, d.recs)["c0"]
		if e.Outcome != event.CallWasDenied || !strings.Contains(e.Content.Text(), "denied by me: because") {
			t.Errorf("%+v", e)
		}
		if got := judged(d.effects); got[len(got)-1] != "c1" || d.s.Stopping() {
			t.Errorf("taken up %v, the machine is %v", got, d.s.Phase())
		}
	})
	t.Run("aborted: an interrupt", func(t *testing.T) {
		d, id := ask(t)
		if err := decide(d, id, event.Abort); err != nil {
			t.Fatal(err)
		}
		trip := must[turn.Trip](d)
		if trip.Cause.Reason != interrupt.UserSIGINT || trip.Cause.Who != "me" {
			t.Errorf("trips with %+v", trip.Cause)
		}
		if got := judged(d.effects); got[len(got)-1] != "c0" {
			t.Errorf("the next call is taken up before the trip comes back: %v", got)
		}
		d.tell(turn.Tripped{Cause: trip.Cause})
		if end := d.ending(); end.Outcome != event.TurnAborted || end.Who != "me" {
			t.Errorf("ended %+v", end)
		}
		if e := results(t, d.recs)["c0"]; e.Outcome != event.CallSkipped || e.Content.Text() != turn.TextWaiting {
			t.Errorf("a stop is told as a refusal: %+v", e)
		}
		inOrder(t, d, 2)
	})
	t.Run("void by a stop", func(t *testing.T) {
		d, id := ask(t)
		d.trip(interrupt.UserSIGINT, "me")
		d.ending()
		stale(t, decide(d, id, event.Allow))
		if v := payloads[event.ApprovalVoided](t, d.recs); len(v) != 1 || v[0].ID != id {
			t.Errorf("void %+v", v)
		}
		e := results(t, d.recs)["c0"]
		if e.Outcome != event.CallSkipped || e.Content.Text() != turn.TextWaiting || strings.Contains(e.Content.Text(), "denied") {
			t.Errorf("%+v", e)
		}
		if n := len(all[turn.Question](d.effects)); n != 1 {
			t.Errorf("%d questions were asked", n)
		}
		inOrder(t, d, 2)
	})
}

// proves TOL-10, B037
func TestWhatWasCutOffReachesOnlyItsOwnTurn(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c0", "bash")
	d.allow("c0")
	if err := d.begin("c0"); err != nil {
		t.Fatal(err)
	}
	d.trip(interrupt.UserSIGINT, "me")
	if err := d.end("c0", ended(event.CallQuarantined)); err != nil {
		t.Fatal(err)
	}
	if sum := must[turn.Publish](d).Summary; !sum.Unclear() || sum.Outcome != event.TurnAborted {
		t.Errorf("published %+v", sum)
	}
	d.take()
	d.submit("and now?")
	history := slices.Clone(d.s.History)
	// Whatever the stray tool still tries names a closed turn.
	d.token++
	for _, in := range []turn.Input{
		turn.Begin{Turn: 1, Call: "c0", Token: d.token},
		turn.End{Turn: 1, Call: "c0", Ended: finished("late"), Token: d.token},
		turn.Fact{Turn: 1, Call: "c0", Payload: event.ProcessStarted{ID: "c0"}, Token: d.token},
	} {
		before := len(d.recs)
		for _, r := range all[turn.Reply](d.tell(in)) {
			if !errors.Is(r.Err, turn.ErrNotNow) {
				t.Errorf("%T is taken: %v", in, r.Err)
			}
		}
		if len(d.recs) != before {
			t.Errorf("%T is recorded", in)
		}
	}
	d.tell(turn.Late{Turn: 1, Call: "c0", Ended: finished("late words")})
	d.tell(turn.Late{Turn: 1, Call: "c0", Ended: finished("once more")})
	late := payloads[event.LateResult](t, d.recs)
	if len(late) != 1 || late[0].Ended.Content.Text() != "late words" {
		t.Errorf("late results %+v", late)
	}
	if r := d.recs[slices.IndexFunc(d.recs, func(r event.Record) bool { return r.Type == event.TypeLateResult })]; r.Turn != 1 || r.Call != "c0" {
		t.Errorf("the late result names turn %d, call %s", r.Turn, r.Call)
	}
	same(t, history, d.s.History)
	d.stream(say("fine"))
	d.finish(event.FinishStop)
	if sum := must[turn.Publish](d).Summary; sum.Turn != 2 || sum.Outcome != event.TurnCompleted || sum.Unclear() || len(sum.Calls) > 0 {
		t.Errorf("the second turn: %+v", sum)
	}
}

// proves LOG-13, TOL-08: what could not be written down was not begun
func TestWithoutADurableStartNothingRuns(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c0", "read", "c1", "read")
	d.allow("c0", "c1")
	d.token++
	effects := d.tell(turn.Begin{Turn: 1, Call: "c0", Token: d.token})
	var before []string
	for _, e := range effects {
		before = append(before, fmt.Sprintf("%T", e))
	}
	same(t, []string{"turn.Append", "turn.Sync", "turn.Reply"}, before) // the answer is behind the checkpoint
	d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "full"}})
	if err := d.begin("c1"); !errors.Is(err, turn.ErrNotNow) {
		t.Errorf("another call starts on a broken disk: %v", err)
	}
	if err := errors.Join(d.end("c0", ended(event.CallSkipped)), d.end("c1", ended(event.CallSkipped))); err != nil {
		t.Fatal(err)
	}
	got := results(t, d.recs)
	if e := got["c0"]; e.Outcome != event.CallSkipped || !e.Synthetic || e.Cause != "storage" || e.Content.Text() != turn.TextNotDurable || !e.Error {
		t.Errorf("%+v", e)
	}
	if e := got["c1"]; e.Outcome != event.CallSkipped || e.Content.Text() != turn.TextSkipped {
		t.Errorf("%+v", e)
	}
	if end := d.ending(); end.Outcome != event.TurnFailed || end.Error.Code != event.FailStorage {
		t.Errorf("ended %+v", end)
	}
	// Nothing new is taken until the store works again, and then it is.
	d.token++
	var refused *turn.RefusedError
	for _, r := range all[turn.Reply](d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_9"}})) {
		if !errors.As(r.Err, &refused) || refused.Failure.Code != event.FailStorage || refused.Failure.Hint == "" {
			t.Errorf("answered %v", r.Err)
		}
	}
	d.tell(turn.StorageWorks{})
	d.submit("again")
	if d.s.Phase() != turn.PhaseAsking {
		t.Errorf("the machine is %v", d.s.Phase())
	}
}
