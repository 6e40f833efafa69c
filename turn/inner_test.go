package turn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// replyTo tells the machine in, whose token was d.token, and returns the answer
// and whether one came at once.
func (d *desk) replyTo(in turn.Input) (r turn.Reply, came bool) {
	d.t.Helper()
	for _, e := range all[turn.Reply](d.tell(in)) {
		if e.Token == d.token {
			r, came = e, true
		}
	}
	return r, came
}

func (d *desk) beginInner(call event.CallID, tool string) turn.Reply {
	d.t.Helper()
	d.token++
	r, ok := d.replyTo(turn.BeginInner{Turn: d.s.Turn.Number, Call: call, Started: event.InnerStarted{Tool: tool, Args: []byte("{}"), By: "yes"}, Token: d.token})
	if !ok {
		d.t.Fatal("the start of an inner call was not answered")
	}
	return r
}

func (d *desk) endInner(call event.CallID, n int) turn.Reply {
	d.t.Helper()
	d.token++
	r, _ := d.replyTo(turn.EndInner{Turn: d.s.Turn.Number, Call: call, Ended: event.InnerEnded{N: n, Ended: finished("x")}, Token: d.token})
	return r
}

// askPeople puts a question of a running call; the token is who waits.
func (d *desk) askPeople(call event.CallID, q event.ApprovalAsked) turn.Token {
	d.t.Helper()
	d.token++
	d.tell(turn.AskPeople{Turn: d.s.Turn.Number, Call: call, Asked: q, Token: d.token})
	return d.token
}

// replied returns what token was answered since the last take.
func (d *desk) replied(token turn.Token) (turn.Reply, bool) {
	for _, r := range all[turn.Reply](d.effects) {
		if r.Token == token {
			return r, true
		}
	}
	return turn.Reply{}, false
}

// inCall takes a machine to where call c1 of the tool bash runs.
func inCall(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c1", "bash", "c2", "bash")
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.take()
	return d
}

// proves TOL-24's records, TOL-08: each inner call's intent is durable before
// whoever asked may run it, and its number is its place
func TestAnInnerCallIsRecordedBeforeItRunsAndEndsOnce(t *testing.T) {
	d := inCall(t)
	for n := 1; n <= 2; n++ {
		d.take()
		if r := d.beginInner("c1", "read"); r.Err != nil || r.Value != n {
			t.Fatalf("start %d: %+v", n, r)
		}
		if kinds := order(d.take()); kinds != "append sync reply" {
			t.Errorf("effects: %s", kinds)
		}
	}
	if r := d.endInner("c1", 2); r.Err != nil {
		t.Error(r.Err)
	}
	for name, r := range map[string]turn.Reply{"a second end": d.endInner("c1", 2), "an end without a start": d.endInner("c1", 3),
		"one of no call": d.endInner("c9", 1), "one in a call that has not started": d.beginInner("c2", "read")} {
		if !errors.Is(r.Err, turn.ErrNotNow) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if err := d.end("c1", finished("script done")); err != nil {
		t.Fatal(err)
	}
	if r := d.beginInner("c1", "read"); !errors.Is(r.Err, turn.ErrNotNow) {
		t.Errorf("an inner call starts after its outer's end: %+v", r)
	}
	text := results(t, d.recs)["c1"].Content.Text()
	if !strings.HasPrefix(text, "script done") || !strings.Contains(text, "Inner call 1 (read) had started; its outcome is unknown.") {
		t.Errorf("the end of a call that left an inner one open says: %q", text)
	}
	if _, err := turn.Fold(d.recs); err != nil {
		t.Error(err)
	}
}

func order(effects []turn.Effect) string {
	var out []string
	for _, e := range effects {
		switch e.(type) {
		case turn.Append:
			out = append(out, "append")
		case turn.Sync:
			out = append(out, "sync")
		case turn.Reply:
			out = append(out, "reply")
		case turn.Question:
			out = append(out, "question")
		case turn.RunCall:
			out = append(out, "run")
		}
	}
	return strings.Join(out, " ")
}

// proves TOL-07: what is said of inner calls stands on a line of its own behind
// what the call itself had said
func TestWhatIsSaidOfInnerCallsIsALineBehindTheOutput(t *testing.T) {
	for _, printed := range []string{"a line", "a line\n"} {
		for _, o := range []event.CallOutcome{event.CallStopped, event.CallFinished} {
			d := inCall(t)
			d.beginInner("c1", "read")
			d.beginInner("c1", "bash")
			d.endInner("c1", 1)
			d.trip(interrupt.UserSIGINT, "p")
			e := ended(o)
			e.Content = event.TextOf(printed)
			if err := d.end("c1", e); err != nil {
				t.Fatal(err)
			}
			text := results(t, d.recs)["c1"].Content.Text()
			if !strings.HasSuffix(text, "a line\n1 call of its own had ended.\nInner call 2 (bash) had started; its outcome is unknown.") {
				t.Errorf("%s: %q", o, text)
			}
		}
	}
}

// proves TOL-07, TRN-06: what a stopped or abandoned call had begun is named
func TestACutCallNamesTheInnerCallsThatItLeavesOpen(t *testing.T) {
	for _, o := range []event.CallOutcome{event.CallStopped, event.CallQuarantined} {
		d := inCall(t)
		d.beginInner("c1", "read")
		d.beginInner("c1", "bash")
		d.endInner("c1", 1)
		d.trip(interrupt.UserSIGINT, "p")
		if r := d.beginInner("c1", "bash"); !errors.Is(r.Err, turn.ErrNotNow) {
			t.Errorf("%s: an inner call starts after the trip: %+v", o, r)
		}
		if err := d.end("c1", ended(o)); err != nil {
			t.Fatal(err)
		}
		text := results(t, d.recs)["c1"].Content.Text()
		for _, want := range []string{" 1 call of its own had ended.", "\nInner call 2 (bash) had started; its outcome is unknown."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", o, text, want)
			}
		}
		d.ending()
	}
}

// proves REC-04, REC-07: recovery says of each open inner call what its
// evidence tells, and what the outer left is not taken for its end
func TestRecoveryTellsOfInnerCallsInTheOuterCallsResult(t *testing.T) {
	d := inCall(t)
	d.beginInner("c1", "read")
	d.endInner("c1", 1)
	d.beginInner("c1", "bash")
	d.beginInner("c1", "bash")
	d.tell(turn.Fact{Turn: 1, Call: "c1", Payload: event.ProcessStarted{Owner: "call", ID: "c1.2", PID: 7, Spool: "s"}})
	d.tell(turn.Fact{Turn: 1, Call: "c1", Payload: event.ProcessStarted{Owner: "call", ID: "c1.3", PID: 8}})
	d.tell(turn.Fact{Payload: event.JobStarted{ID: "j1", Call: "c1", Inner: 3, PIDs: []int{8}}})
	l, err := turn.Fold(d.recs)
	if err != nil {
		t.Fatal(err)
	}
	if c := l.OpenStep().Call("c1"); len(c.Inner) != 3 || c.Inner[1].Spool != "s" || l.Jobs[0].Tree() != "c1.3" {
		t.Fatalf("folded %+v", c.Inner)
	}
	code := 3
	added, err := turn.Recover(l, 2, []event.Evidence{
		{Call: "c1.2", Alive: []int{7}, Output: "half a line", Bytes: 11},
		{Call: "c1.3", Job: "j1", Ended: true, ExitCode: &code, Output: "whole", Bytes: 5}}, turn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := results(t, added)["c1"]
	for _, want := range []string{turn.TextUnknown, "1 call of its own had ended", "Inner call 2 (bash) had started; its outcome is unknown. Its processes [7] were found alive and were ended. Output that was caught (11 bytes in all):\nhalf a line",
		"Inner call 3 (bash) finished; its result was not recorded. Exit code 3. Output (5 bytes in all):\nwhole"} {
		if !strings.Contains(e.Content.Text(), want) {
			t.Errorf("%q\nlacks %q", e.Content.Text(), want)
		}
	}
	if e.Outcome != event.CallUnknown || len(l.Procs) > 0 || len(l.OpenJobs()) > 0 {
		t.Errorf("%s; processes %v, jobs %v", e.Outcome, l.Procs, l.OpenJobs())
	}
	if again, err := turn.Recover(l, 3, nil, turn.Options{}); err != nil || len(again) > 0 {
		t.Errorf("recovering again: %v, %v", again, err)
	}
}

// proves TOL-27, HOK-04: asked durably before it is shown, waited for without a
// timer, answered once, with the person's own words
func TestARunningCallsQuestionIsDurableAndItsAnswerReachesIt(t *testing.T) {
	d := inCall(t)
	token := d.askPeople("c1", event.ApprovalAsked{Tool: "bash", Prompt: "which?", Question: true, Options: []string{"a", "b"}})
	if kinds := order(d.effects); kinds != "append sync question" {
		t.Errorf("effects: %s", kinds)
	}
	if timers := all[turn.SetTimer](d.effects); len(timers) > 0 {
		t.Errorf("waiting for a person has timers: %+v", timers)
	}
	q := must[turn.Question](d).Asked
	if _, early := d.replied(token); early || q.ID == "" {
		t.Fatal("answered before anybody did")
	}
	d.tell(turn.Decided{ID: q.ID, Decision: event.Allow, By: "me", Why: "neither"})
	r, ok := d.replied(token)
	if got, _ := r.Value.(event.ApprovalDecided); !ok || r.Err != nil || got.Why != "neither" || got.By != "me" {
		t.Errorf("%+v", r)
	}
	d.take()
	d.tell(turn.Decided{ID: q.ID, Decision: event.Allow, By: "me", Token: 99})
	if r, _ := d.replied(99); r.Err == nil {
		t.Error("a question is answered twice")
	}
	second := d.askPeople("c1", event.ApprovalAsked{Tool: "bash", Prompt: "again?", Question: true})
	if id := must[turn.Question](d).Asked.ID; id == q.ID {
		t.Error("two questions have one id")
	} else {
		d.tell(turn.Decided{ID: id, Decision: event.Deny, By: "me"})
	}
	if r, _ := d.replied(second); r.Value.(event.ApprovalDecided).Decision != event.Deny {
		t.Errorf("%+v", r)
	}
	if err := d.end("c1", finished("ok")); err != nil {
		t.Fatal(err)
	}
	if e := results(t, d.recs)["c1"]; e.Outcome != event.CallFinished {
		t.Errorf("who would not answer has denied the call: %+v", e)
	}
}

// proves TOL-27, HOK-04, TRN-06: a stop voids the question and is no refusal,
// as is the end of the call, and so is an answer that stops the turn
func TestAStopVoidsARunningCallsQuestion(t *testing.T) {
	for name, end := range map[string]func(d *desk, id event.ApprovalID){
		"a trip":  func(d *desk, _ event.ApprovalID) { d.trip(interrupt.UserSIGINT, "p") },
		"an end":  func(d *desk, _ event.ApprovalID) { _ = d.end("c1", finished("gave up")) },
		"a disk":  func(d *desk, _ event.ApprovalID) { d.tell(turn.StorageFailed{Failure: event.Failure{Message: "full"}}) },
		"a block": func(d *desk, _ event.ApprovalID) { d.tell(turn.Veto{Turn: 1, Call: "c1", By: "policy:headless"}) },
		"abort":   func(d *desk, id event.ApprovalID) { d.tell(turn.Decided{ID: id, Decision: event.Abort, By: "p"}) },
	} {
		d := inCall(t)
		token := d.askPeople("c1", event.ApprovalAsked{Prompt: "which?", Question: true})
		end(d, must[turn.Question](d).Asked.ID)
		if r, ok := d.replied(token); !ok || !errors.Is(r.Err, turn.ErrVoided) {
			t.Errorf("%s: answered %v, %+v", name, ok, r)
		}
		voids, decided := payloads[event.ApprovalVoided](t, d.recs), payloads[event.ApprovalDecided](t, d.recs)
		if len(voids)+len(decided) != 1 || len(decided) == 1 && (name != "abort" || decided[0].Decision != event.Abort) {
			t.Errorf("%s: voids %v, decided %v", name, voids, decided)
		}
		if denied := payloads[event.CallDenied](t, d.recs); len(denied) > 0 {
			t.Errorf("%s: the call was denied: %v", name, denied)
		}
		if r := d.s.OpenStep().Call("c1"); r != nil && len(r.Questions) > 0 {
			t.Errorf("%s: the question is still open", name)
		}
	}
	d := inCall(t)
	d.trip(interrupt.UserSIGINT, "p")
	if token := d.askPeople("c1", event.ApprovalAsked{Question: true}); true {
		if r, ok := d.replied(token); !ok || !errors.Is(r.Err, turn.ErrVoided) {
			t.Errorf("asked after the stop: %+v", r)
		}
	}
	if asked := payloads[event.ApprovalAsked](t, d.recs); len(asked) > 0 {
		t.Error("a question was put after the stop")
	}
}

// proves REC-03, HOK-04: a crash at a running call's question voids it
func TestACrashAtARunningCallsQuestionVoidsIt(t *testing.T) {
	d := inCall(t)
	d.askPeople("c1", event.ApprovalAsked{Prompt: "which?", Question: true})
	l, err := turn.Fold(d.recs)
	if err != nil {
		t.Fatal(err)
	}
	added, err := turn.Recover(l, 2, nil, turn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if voids := payloads[event.ApprovalVoided](t, added); len(voids) != 1 || results(t, added)["c1"].Outcome != event.CallUnknown {
		t.Errorf("voids %v, results %v", voids, results(t, added))
	}
}

// proves TOL-04: a fatal inner end is the turn's, whatever the outer makes of it
func TestAFatalInnerCallEndsTheTurn(t *testing.T) {
	d := inCall(t)
	d.beginInner("c1", "bash")
	d.tell(turn.EndInner{Turn: 1, Call: "c1", Ended: event.InnerEnded{N: 1, Ended: ended(event.CallFatal)}, Fatal: "Fatal error: broken"})
	if err := d.end("c1", finished("never mind")); err != nil {
		t.Fatal(err)
	}
	if e := d.ending(); e.Outcome != event.TurnFailed || e.Error.Message != "Fatal error: broken" {
		t.Errorf("%+v", e)
	}
}

// proves IFC-11, TOL-09: a gate that can ask nobody ends the turn, and what
// runs beside the call is asked to stop
func TestABlockAsksWhatRunsBesideItToStop(t *testing.T) {
	d := newDesk(t, turn.Options{NoEager: true})
	d.submit("go")
	d.calls("c1", "read", "c2", "read")
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.tell(turn.Judged{Call: "c2", Verdict: turn.VerdictBlock, By: "policy:headless"})
	if trip, ok := last[turn.Trip](d); !ok || trip.Cause.Reason != interrupt.ParentCancelled {
		t.Fatalf("nothing asks the sibling to stop: %+v", trip)
	}
	d.trip(interrupt.ParentCancelled, "the turn was blocked")
	if err := d.end("c1", ended(event.CallStopped)); err != nil {
		t.Fatal(err)
	}
	if e := d.ending(); e.Outcome != event.TurnBlocked || e.Reason != "policy:headless" {
		t.Errorf("%+v", e)
	}
	if got := results(t, d.recs)["c1"]; !strings.HasPrefix(got.Content.Text(), "aborted after") {
		t.Errorf("%+v", got)
	}
}
