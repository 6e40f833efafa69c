package turn_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// rewind tells the machine and returns its answer.
func (d *desk) rewind(in turn.Rewind) (turn.Returned, error) {
	d.t.Helper()
	d.token++
	in.Token = d.token
	for _, r := range all[turn.Reply](d.tell(in)) {
		if r.Token == d.token {
			out, _ := r.Value.(turn.Returned)
			return out, r.Err
		}
	}
	d.t.Fatal("not answered")
	return turn.Returned{}, nil
}

// refusedFor says why a wish was refused, "" if it was not.
func refusedFor(err error) string {
	var r *turn.RefusedError
	if errors.As(err, &r) {
		return r.Failure.Message
	}
	return ""
}

// proves INT-66, INT-67, INT-70, INT-75, B134: a retry hides the turn with all of
// its trail and asks again with its own input and options, once, under its id;
// what is shorter is durable before the new turn is armed
func TestARetryIsTheTurnAsIfItHadNeverBeen(t *testing.T) {
	steps := 2
	options := event.SubmitOptions{Principal: "ann", Variables: map[string]json.RawMessage{"x": []byte("1")}, MaxSteps: &steps}
	d := newDesk(t, turn.Options{})
	d.submit("first")
	d.say("ok")
	d.tell(turn.Submit{Accepted: event.InboxAccepted{ID: "i_q", Input: event.UserInput{Content: event.Content{event.Text{Text: "look"}, event.Image{MediaType: "image/png", Data: []byte{7}}}}, Priority: event.PriorityLater, Options: options}})
	before := slices.Clone(must[turn.Ask](d).Messages)
	for range 3 {
		d.stream(event.TextDelta{Text: "trail"})
		d.calls("c"+string(rune('0'+d.s.Turn.Number)), "bash")
		d.allow(event.CallID("c" + string(rune('0'+d.s.Turn.Number))))
		d.trip(interrupt.UserSIGINT, "me")
		_ = d.end(event.CallID("c"+string(rune('0'+d.s.Turn.Number))), ended(event.CallSkipped))
		failed := d.s.Turn.Number
		d.take()
		back, err := d.rewind(turn.Rewind{Retry: true, ID: "g_1"})
		if err != nil || back.Turn != "i_q" || back.From != failed {
			t.Fatalf("%+v %v", back, err)
		}
		order := ""
		for _, e := range d.effects {
			switch e.(type) {
			case turn.Append:
				order += "w"
			case turn.Sync:
				order += "s"
			case turn.Arm:
				order += "a"
			}
		}
		if !strings.HasPrefix(order, "wsa") {
			t.Errorf("written, durable, armed: %q", order)
		}
		same(t, before, must[turn.Ask](d).Messages)
		if d.s.Turn.RetryOf != failed {
			t.Errorf("turn %d repeats %d, want %d", d.s.Turn.Number, d.s.Turn.RetryOf, failed)
		}
	}
	d.say("at last")
	same(t, append(before, event.Message{Role: event.RoleAssistant, Content: event.TextOf("at last")}), d.s.History)
	if n := len(payloads[event.InboxAccepted](t, d.recs)); n != 2 {
		t.Errorf("%d inputs accepted", n)
	}
	for _, r := range payloads[event.Rewound](t, d.recs) {
		if len(r.Returns) != 1 || r.Returns[0].ID != "i_q" || r.Returns[0].Options != nil {
			t.Errorf("%+v", r)
		}
	}
	if _, err := d.rewind(turn.Rewind{Retry: true}); refusedFor(err) == "" {
		t.Errorf("a turn that completed is retried: %v", err)
	}
}

// proves INT-69, INT-70, RTY-10, TRN-05: turns of every kind are asked again as
// what they were
func TestATurnIsAskedAgainAsWhatItWas(t *testing.T) {
	fail := func(d *desk) { d.fail(event.Failure{Code: event.FailAuth, Message: "no"}) }
	for name, c := range map[string]struct {
		play func(d *desk)
		want string // last message of the request
		kind event.TurnKind
	}{
		"an input": {play: func(d *desk) { d.submit("go"); fail(d) }, want: "go", kind: event.TurnInput},
		"going on": {play: func(d *desk) {
			d.submit("go")
			d.say("ok")
			d.tell(turn.Go{ID: "g_0"})
			fail(d)
		}, want: turn.TextContinue, kind: event.TurnContinue},
		"several held inputs": {play: func(d *desk) {
			d.submit("go")
			d.submit("one")
			d.submit("two")
			d.trip(interrupt.UserSIGINT, "me")
			d.cut()
			d.tell(turn.Go{ID: "g_0", Held: true})
			fail(d)
		}, want: "two", kind: event.TurnInput},
		"one with a steered text": {play: func(d *desk) {
			d.submit("go")
			d.calls("c1", "bash")
			d.offer("mind", event.PriorityNext)
			d.ran("c1")
			fail(d)
		}, want: "go", kind: event.TurnInput},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			c.play(d)
			if d.s.RetryPoint() == 0 {
				t.Fatalf("%+v", d.s.Turn.End)
			}
			claims := len(d.s.Turn.Inputs)
			back, err := d.rewind(turn.Rewind{Retry: true, ID: "g_9"})
			if err != nil {
				t.Fatal(err)
			}
			got := d.texts()
			if got[len(got)-1] != "user: "+c.want || d.s.Turn.Kind != c.kind {
				t.Errorf("%s turn: %q", d.s.Turn.Kind, got)
			}
			if len(back.Inputs) != claims {
				t.Errorf("%d of %d inputs came back: %+v", len(back.Inputs), claims, back)
			}
			if strings.Contains(name, "steered") {
				if got := d.waitingIDs(); len(got) != 1 {
					t.Fatalf("waiting: %v", got)
				}
				d.calls("c2", "bash")
				d.ran("c2")
				if got := d.texts(); !strings.Contains(got[len(got)-1], "mind") {
					t.Errorf("it steers no more: %q", got)
				}
			}
			d.say("done")
		})
	}
}

// proves INT-75, INT-76, INT-65: other options stand in place of the first ones, and
// none leave those as they were
func TestARetrysOptionsAreItsOwnOrTheFirstOnes(t *testing.T) {
	one, two := 1, 2
	for _, c := range []struct {
		given *event.SubmitOptions
		want  int
	}{{nil, 1}, {&event.SubmitOptions{MaxSteps: &two}, 2}} {
		d := newDesk(t, turn.Options{})
		d.tell(turn.Submit{Accepted: event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("go")}, Priority: event.PriorityLater, Options: event.SubmitOptions{MaxSteps: &one}}})
		d.fail(event.Failure{Code: event.FailAuth})
		if _, err := d.rewind(turn.Rewind{Retry: true, Options: c.given}); err != nil {
			t.Fatal(err)
		}
		for i := 1; d.s.Phase() != turn.PhaseIdle; i++ {
			id := event.CallID("c" + string(rune('0'+i)))
			d.calls(string(id), "bash")
			d.ran(id)
		}
		if end := d.s.Turn.End; end.Outcome != event.TurnBudget || end.Steps != c.want {
			t.Errorf("with %+v it ended %s after %d steps", c.given, end.Outcome, end.Steps)
		}
	}
}

// proves RTY-10: a rewind to an earlier turn hides that one and all behind it,
// returns what is asked for, held, and leaves the rest where it is
func TestARewindHidesFromTheChosenTurnOn(t *testing.T) {
	session := func() *desk {
		d := newDesk(t, turn.Options{})
		d.submit("one")
		d.say("1")
		d.submit("two")
		d.calls("c1", "bash")
		d.offer("steer", event.PriorityNext)
		d.ran("c1")
		d.say("2")
		d.submit("three")
		d.say("3")
		return d
	}
	for name, c := range map[string]struct {
		in       turn.Rewind
		messages int
		back     []string
	}{
		"the last one":      {turn.Rewind{}, 7, nil},
		"the second":        {turn.Rewind{From: 2}, 2, []string{"steer"}},
		"the second, back":  {turn.Rewind{From: 2, Restore: true}, 2, []string{"steer", "two"}},
		"all, without more": {turn.Rewind{From: 1, DropSteers: true}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := session()
			back, err := d.rewind(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.s.History) != c.messages {
				t.Errorf("%d messages are left: %+v", len(d.s.History), d.s.History)
			}
			if h := d.s.Held(); !slices.Equal(h, c.back) || len(back.Inputs) != len(c.back) {
				t.Errorf("held %v, told %+v", h, back.Inputs)
			}
			if d.s.Phase() != turn.PhaseIdle {
				t.Errorf("%v", d.s.Phase())
			}
			if again, err := d.rewind(turn.Rewind{From: back.From}); refusedFor(err) == "" {
				t.Errorf("hidden twice: %+v", again)
			}
			d.submit("go on")
			valid(t, d.s.History)
			d.say("done")
		})
	}
}

// proves RTY-10: asked again without a turn, a rewind goes one turn further back
func TestARewindWithoutATurnHidesTheLastThatIsNotHidden(t *testing.T) {
	d := newDesk(t, turn.Options{})
	for _, text := range []string{"one", "two", "three"} {
		d.submit(text)
		d.say("ok")
	}
	for _, want := range []int{3, 2, 1} {
		if back, err := d.rewind(turn.Rewind{}); err != nil || back.From != want {
			t.Errorf("hid from %d on (%v), want %d", back.From, err, want)
		}
	}
	if _, err := d.rewind(turn.Rewind{}); !strings.Contains(refusedFor(err), "hidden already") {
		t.Errorf("a fourth time: %v", err)
	}
}

// proves INT-71, INT-68, TRN-12: nothing is hidden under a running turn, that is not
// there, or that a summary stands for
func TestWhatCannotBeHiddenIsRefusedAndSaysWhy(t *testing.T) {
	d := newDesk(t, turn.Options{})
	if _, err := d.rewind(turn.Rewind{Retry: true}); !strings.Contains(refusedFor(err), "no turn yet") {
		t.Errorf("%v", err)
	}
	d.submit("go")
	for _, in := range []turn.Rewind{{Retry: true}, {From: 1}} {
		if _, err := d.rewind(in); !strings.Contains(refusedFor(err), "a turn is running") {
			t.Errorf("%+v: %v", in, err)
		}
	}
	d.say("ok")
	if _, err := d.rewind(turn.Rewind{From: 4}); !strings.Contains(refusedFor(err), "there is no turn 4") {
		t.Errorf("%v", err)
	}
	d.submit("again")
	d.fail(event.Failure{Code: event.FailAuth})
	point := d.s.RetryPoint()
	d.tell(turn.Compact{ID: "g_1"})
	d.tell(turn.Summarized{Ticket: must[turn.AskSummary](d).Ticket, Text: "in short"})
	if point != 2 || d.s.RetryPoint() != 0 {
		t.Errorf("the retry point was %d and is %d", point, d.s.RetryPoint())
	}
	for _, in := range []turn.Rewind{{Retry: true}, {From: 2}, {From: 1}} {
		if _, err := d.rewind(in); refusedFor(err) == "" {
			t.Errorf("%+v is done behind a summary: %v", in, err)
		}
	}
	d.submit("and now")
	d.say("ok")
	if _, err := d.rewind(turn.Rewind{}); err != nil {
		t.Errorf("a turn behind the summary is not hidden: %v", err)
	}
}

// proves INT-70, LOG-14: what a rewind hides and what it returns is one record:
// behind any cut an input is in one place
func TestNoCutOfARetryLosesItsInput(t *testing.T) {
	d := newDesk(t, turn.Options{})
	id := d.submit("go")
	d.calls("c1", "bash")
	d.allow("c1")
	steer, _ := d.offer("mind", event.PriorityNext)
	_ = d.begin("c1")
	_ = d.end("c1", finished("x"))
	d.fail(event.Failure{Code: event.FailAuth})
	from := len(d.recs)
	if _, err := d.rewind(turn.Rewind{Retry: true}); err != nil {
		t.Fatal(err)
	}
	for n := from; n <= len(d.recs); n++ {
		l, err := turn.Fold(d.recs[:n])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Recover(l, 2, nil, turn.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []event.InputID{id, steer} {
			said := 0
			for _, m := range l.History {
				if strings.Contains(m.Content.Text(), map[event.InputID]string{"i_1": "go", "i_2": "mind"}[id]) {
					said++
				}
			}
			if _, there := l.Box.Get(id); there == (said == 1) || said > 1 {
				t.Errorf("cut at %d: %s waits: %v, and is said %d times", n, id, there, said)
			}
		}
	}
	d.say("done")
}

// proves INT-66, TRN-07: what the outside did while a hidden turn ran is told
// again, and a late result of one stays a fact
func TestWhatTheOutsideDidIsToldAgain(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c1", "bash")
	d.allow("c1")
	_ = d.begin("c1")
	d.tell(turn.Fact{Payload: event.JobStarted{ID: "j_1", Command: "serve"}})
	d.tell(turn.Fact{Payload: event.JobEnded{ID: "j_1", State: event.JobExited}})
	d.trip(interrupt.UserSIGINT, "me")
	_ = d.end("c1", ended(event.CallQuarantined))
	if _, err := d.rewind(turn.Rewind{Restore: true}); err != nil {
		t.Fatal(err)
	}
	d.tell(turn.Late{Turn: 1, Call: "c1", Ended: finished("after all")})
	d.tell(turn.Go{ID: "g_1", Held: true})
	if got := d.texts(); len(got) != 2 || !strings.Contains(got[0], "Background job j_1") || got[1] != "user: go" {
		t.Errorf("%q", got)
	}
	d.fail(event.Failure{Code: event.FailAuth})
	if _, err := d.rewind(turn.Rewind{Retry: true}); err != nil {
		t.Fatal(err)
	}
	if got := d.texts(); len(got) != 2 || !strings.Contains(got[0], "Background job j_1") {
		t.Errorf("told once, and hidden: %q", got)
	}
	if n := len(payloads[event.LateResult](t, d.recs)); n != 1 {
		t.Errorf("%d late results", n)
	}
	d.say("done")
}

// proves B115, TRN-11: hidden turns have cost what they cost
func TestAHiddenTurnsUseStaysCounted(t *testing.T) {
	in, out := int64(300), int64(100)
	d := newDesk(t, turn.Options{Session: guard.Budget{Tokens: 1000}})
	d.submit("go")
	for n := range 3 {
		d.stream(event.TextDelta{Text: "word"}, event.UsageDelta{Usage: event.Tokens{Input: &in, Output: &out}})
		d.trip(interrupt.UserSIGINT, "me")
		d.cut()
		if sum := turn.Summarize(d.s.Ledger); sum.Usage.Output == nil || *sum.Usage.Output < 100 {
			t.Fatalf("turn %d: %+v", n+1, sum.Usage)
		}
		if _, err := d.rewind(turn.Rewind{Retry: true}); err != nil {
			t.Fatal(err)
		}
	}
	if end := d.s.Turn.End; end == nil || end.Outcome != event.TurnBudget || end.Reason != "session_tokens" {
		t.Errorf("the fourth turn: %+v", end)
	}
}
