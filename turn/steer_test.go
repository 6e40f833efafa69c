package turn_test

import (
	"errors"
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

// offer submits text under a priority and returns its id and the answer.
func (d *desk) offer(text string, p event.Priority) (event.InputID, turn.Reply) {
	d.t.Helper()
	d.inputs++
	d.token++
	id := event.InputID(fmt.Sprintf("i_%d", d.inputs))
	for _, r := range all[turn.Reply](d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf(text)}, Priority: p}})) {
		if r.Token == d.token {
			return id, r
		}
	}
	d.t.Fatalf("input %s was not answered", id)
	return "", turn.Reply{}
}

// tripFor tells the machine the trip that it asked for itself.
func (d *desk) tripFor() {
	d.t.Helper()
	d.tell(turn.Tripped{Cause: must[turn.Trip](d).Cause})
}

func (d *desk) cut() {
	d.t.Helper()
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
}

// say gives the running attempt a whole answer without calls.
func (d *desk) say(text string) {
	d.t.Helper()
	d.stream(event.TextDelta{Text: text})
	d.finish(event.FinishStop)
}

// texts are the words of each message of the last request, by role.
func (d *desk) texts() (out []string) {
	d.t.Helper()
	for _, m := range must[turn.Ask](d).Messages {
		out = append(out, string(m.Role)+": "+m.Content.Text())
	}
	return out
}

func (d *desk) waitingIDs() (out []event.InputID) {
	for _, e := range d.s.Box.Waiting() {
		out = append(out, e.ID)
	}
	return out
}

// proves INT-24, INT-25, TRN-13: an urgent input is accepted and durable before
// it stops anything; it stays in the inbox and stands first for the next turn
func TestAnUrgentInputStopsTheTurnAndRunsNext(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.submit("later")
	d.stream(event.TextDelta{Text: "so far"})
	d.take()
	now, r := d.offer("stop that", event.PriorityNow)
	if r.Value.(turn.Taken).Where != turn.Interrupting {
		t.Fatalf("%+v", r)
	}
	order := ""
	for _, e := range d.effects {
		switch e.(type) {
		case turn.Append:
			order += "a"
		case turn.Sync:
			order += "s"
		case turn.Trip:
			order += "t"
		}
	}
	if !strings.HasPrefix(order, "ast") {
		t.Errorf("written, durable, tripped: %q", order)
	}
	if _, there := d.s.Box.Get(now); !there {
		t.Error("tripping takes it out of the inbox")
	}
	d.tripFor()
	d.tell(turn.Answered{Ticket: 1, Cut: true})
	ends := payloads[event.TurnEnded](t, d.recs)
	if len(ends) != 1 || ends[0].Reason != "NOW_PRIORITY_INPUT" {
		t.Fatalf("%+v", ends)
	}
	if got := d.texts(); got[len(got)-1] != "user: stop that" || !slices.Contains(got, "assistant: so far") {
		t.Errorf("it is asked %q", got)
	}
	d.say("stopped")
	if got := d.texts(); got[len(got)-1] != "user: later" {
		t.Errorf("what waited is asked then: %q", got)
	}
	d.say("done")
}

// proves TRN-13, INT-24: a NOW in each phase ends in its own turn, once, and a
// turn that is ending is not stopped for it
func TestAnUrgentInputFindsItsTurnInEveryPhase(t *testing.T) {
	for name, c := range map[string]struct {
		opts turn.Options
		play func(d *desk)
		want turn.Where
	}{
		"idle":   {play: func(*desk) {}, want: turn.Running},
		"gating": {opts: turn.Options{TurnGate: true}, play: func(d *desk) { d.submit("go") }, want: turn.Interrupting},
		"asking": {play: func(d *desk) { d.submit("go") }, want: turn.Interrupting},
		"waiting": {play: func(d *desk) {
			d.submit("go")
			d.fail(event.Failure{Code: event.FailTransport})
		}, want: turn.Interrupting},
		"calling": {play: func(d *desk) {
			d.submit("go")
			d.calls("c1", "bash")
		}, want: turn.Interrupting},
		"compacting": {play: func(d *desk) {
			d.submit("go")
			d.say("ok")
			d.tell(turn.Compact{ID: "g_1"})
		}, want: turn.Interrupting},
		"unwinding": {play: func(d *desk) {
			d.submit("go")
			d.trip(interrupt.UserSIGINT, "me")
		}, want: turn.Queued},
		"ending": {play: func(d *desk) {
			d.noHooks = true
			d.submit("go")
			d.say("done")
		}, want: turn.Queued},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.opts)
			c.play(d)
			now, r := d.offer("now", event.PriorityNow)
			if got := r.Value.(turn.Taken).Where; got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			if c.want == turn.Interrupting {
				d.tripFor()
				if a, ok := last[turn.Ask](d); ok {
					d.tell(turn.Answered{Ticket: a.Ticket, Cut: true})
				}
				if a, ok := last[turn.AskSummary](d); ok {
					d.tell(turn.Summarized{Ticket: a.Ticket, Cut: true, Text: "half"})
				}
			} else if d.s.Phase() == turn.PhaseUnwinding {
				d.cut()
			}
			d.noHooks = false
			d.tell(turn.Hooked{})
			if d.s.Phase() == turn.PhaseGating {
				d.tell(turn.TurnJudged{Turn: d.s.Turn.Number})
			}
			if got := d.texts(); got[len(got)-1] != "user: now" {
				t.Errorf("%q", got)
			}
			d.say("ok")
			claims := 0
			for _, p := range payloads[event.InboxClaimed](t, d.recs) {
				if p.ID == now {
					claims++
				}
			}
			if claims != 1 || len(payloads[event.CompactionSummary](t, d.recs)) > 0 {
				t.Errorf("claimed %d times: %s", claims, d.types())
			}
		})
	}
}

// proves INT-26, TRN-15, TRN-16, B048: what steers enters as one batch behind the
// step's results, wrapped, in order; at a tool boundary nothing is drained
func TestWhatSteersEntersBehindTheStepsResultsAsOneBatch(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c1", "bash", "c2", "bash")
	d.ran("c1")
	one, r := d.offer("mind the style", event.PriorityNext)
	if r.Value.(turn.Taken).Where != turn.Steering {
		t.Errorf("%+v", r)
	}
	two, _ := d.offer("and the tests", event.PriorityNext)
	d.submit("later")
	if len(d.waitingIDs()) != 3 {
		t.Errorf("drained at a tool boundary: %v", d.waitingIDs())
	}
	d.take()
	d.ran("c2")
	want := []string{"user: go", "assistant: ", "tool: did c1", "tool: did c2",
		"user: <system-reminder>\nmind the style\n</system-reminder>", "user: <system-reminder>\nand the tests\n</system-reminder>"}
	if got := d.texts(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if j := must[turn.Join](d); !slices.Equal(j.Inputs, []event.InputID{one, two}) {
		t.Errorf("the turn can be stopped by %v", j.Inputs)
	}
	writes := 0
	for _, a := range all[turn.Append](d.effects) {
		if n := len(payloads[event.InboxClaimed](t, a.Records)); n > 0 {
			writes += n*10 + 1
		}
	}
	if writes != 21 {
		t.Errorf("two claims are not one write: %d", writes)
	}
	d.say("done")
	d.say("later done")
}

// proves B048, TRN-13: a text that came while a plain answer streamed, or between
// its end and the turn's, is in a request, once
func TestSteeringAPlainAnswerIsNeverStranded(t *testing.T) {
	for name, c := range map[string]struct {
		opts  turn.Options
		when  func(d *desk, steer func())
		turns int
	}{
		"while it streams": {when: func(d *desk, steer func()) { steer(); d.say("answer") }, turns: 1},
		"as the turn ends": {when: func(d *desk, steer func()) {
			d.noHooks = true
			d.say("answer")
			steer()
			d.noHooks = false
			d.tell(turn.Hooked{})
		}, turns: 2},
		"when it has ended":     {when: func(d *desk, steer func()) { d.say("answer"); steer() }, turns: 2},
		"with no step left":     {opts: turn.Options{Budget: guard.Budget{Steps: 1}}, when: func(d *desk, steer func()) { steer(); d.say("answer") }, turns: 2},
		"in the session's last": {opts: turn.Options{Session: guard.Budget{Steps: 1}}, when: func(d *desk, steer func()) { steer(); d.say("answer") }, turns: 2},
		"in an answer that was cut off": {when: func(d *desk, steer func()) {
			steer()
			d.stream(event.TextDelta{Text: "answer"})
			d.finish(event.FinishLength)
		}, turns: 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.opts)
			d.submit("go")
			c.when(d, func() { d.offer("mind the style", event.PriorityNext) })
			if first := payloads[event.TurnEnded](t, d.recs); len(first) > 0 && first[0].Outcome != event.TurnCompleted && first[0].Outcome != event.TurnTruncated {
				t.Errorf("the answer was whole, and its turn ended %s", first[0].Outcome)
			}
			if c.opts.Session.Steps > 0 { // no turn may ask any more: it says so
				if ends := payloads[event.TurnEnded](t, d.recs); len(ends) != 2 || ends[1].Reason != "session_steps" {
					t.Errorf("%+v", ends)
				}
				return
			}
			got := d.texts()
			if !strings.Contains(got[len(got)-1], "mind the style") {
				t.Fatalf("%q", got)
			}
			d.say("done")
			if d.s.Turn.Number != c.turns || len(payloads[event.InboxClaimed](t, d.recs)) != 2 {
				t.Errorf("%d turns, %v", d.s.Turn.Number, payloads[event.InboxClaimed](t, d.recs))
			}
		})
	}
}

// proves B050: a text that came in the last step that the budget has is the next
// turn's, and the limit holds for the loop of tools
func TestSteeringAtTheLastStepBecomesTheNextTurn(t *testing.T) {
	d := newDesk(t, turn.Options{Budget: guard.Budget{Steps: 1}})
	d.submit("go")
	d.calls("c1", "bash")
	d.allow("c1")
	_ = d.begin("c1")
	d.offer("mind the style", event.PriorityNext)
	d.submit("later")
	if err := d.end("c1", finished("x")); err != nil {
		t.Fatal(err)
	}
	if ends := payloads[event.TurnEnded](t, d.recs); len(ends) != 1 || ends[0].Outcome != event.TurnBudget || ends[0].Reason != "steps" {
		t.Fatalf("%+v", ends)
	}
	if got := d.texts(); got[len(got)-1] != "user: mind the style" {
		t.Errorf("%q", got)
	}
	d.say("ok")
	if h := d.s.Held(); !slices.Equal(h, []string{"later"}) {
		t.Errorf("held: %v", h)
	}
}

// proves TRN-18, INT-73: pictures and files do not steer, they wait or interrupt
func TestOnlyTextSteers(t *testing.T) {
	picture := event.Content{event.Text{Text: "look"}, event.Image{MediaType: "image/png", Data: []byte{1}}}
	offer := func(d *desk, p event.Priority) turn.Reply {
		d.inputs++
		d.token++
		return all[turn.Reply](d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: event.InputID(fmt.Sprintf("i_%d", d.inputs)), Input: event.UserInput{Content: picture}, Priority: p}}))[0]
	}
	d := newDesk(t, turn.Options{})
	d.submit("go")
	var refused *turn.RefusedError
	if r := offer(d, event.PriorityNext); !errors.As(r.Err, &refused) || refused.Failure.Code != event.FailUnsupported {
		t.Errorf("a picture steers: %+v", r)
	}
	text, _ := d.offer("look", event.PriorityNext)
	d.token++
	if r := all[turn.Reply](d.tell(turn.Edit{ID: text, Input: event.UserInput{Content: picture}, Token: d.token}))[0]; !errors.As(r.Err, &refused) {
		t.Errorf("a text is edited into a picture that steers: %+v", r)
	}
	if r := offer(d, event.PriorityLater); r.Err != nil {
		t.Errorf("a picture can't wait: %v", r.Err)
	}
	if r := offer(d, event.PriorityNow); r.Err != nil || r.Value.(turn.Taken).Where != turn.Interrupting {
		t.Errorf("a picture can't interrupt: %+v", r)
	}
}

// proves TRN-13, TRN-16: an input can be edited and taken back until a turn has
// it, and not from the moment on that it is one's
func TestAnInputIsItsTurnsFromTheMomentItIsArmed(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	id := d.submit("later")
	change := func(in turn.Input) error {
		for _, r := range all[turn.Reply](d.tell(in)) {
			if r.Token == d.token {
				return r.Err
			}
		}
		t.Fatal("not answered")
		return nil
	}
	d.token++
	if err := change(turn.Edit{ID: id, Input: event.UserInput{Content: event.TextOf("otherwise")}, Token: d.token}); err != nil {
		t.Fatal(err)
	}
	d.noHooks = true
	d.say("done")
	d.s.Step(d.now, turn.Hooked{})
	for _, e := range d.s.Step(d.now, turn.Woken{}) { // armed, and not begun
		if _, ok := e.(turn.Append); ok {
			t.Error("something is written before the turn begins")
		}
	}
	if d.s.Phase() != turn.PhaseArmed {
		t.Fatalf("%v", d.s.Phase())
	}
	for what, in := range map[string]turn.Input{
		"an edit":      turn.Edit{ID: id, Input: event.UserInput{Content: event.TextOf("too late")}, Token: 99},
		"taking back":  turn.Remove{ID: id, Token: 99},
		"its stand-in": turn.Submit{Accepted: event.InboxAccepted{ID: "i_9", Input: event.UserInput{Content: event.TextOf("too late")}, Priority: event.PriorityNow}, Replaces: []event.InputID{id}, Token: 99},
	} {
		if r := all[turn.Reply](d.s.Step(d.now, in)); len(r) != 1 || r[0].Err == nil {
			t.Errorf("%s while it is being taken: %+v", what, r)
		}
	}
	if r := all[turn.Reply](d.s.Step(d.now, turn.Clear{Token: 98})); r[0].Value.([]string) != nil {
		t.Errorf("cleared: %+v", r)
	}
	asks := all[turn.Ask](d.s.Step(d.now, turn.Woken{}))
	if len(asks) != 1 || asks[0].Messages[len(asks[0].Messages)-1].Content.Text() != "otherwise" {
		t.Errorf("%+v", asks)
	}
}

// proves TRN-13, LOG-14: what a new input stands for leaves the inbox with the
// one record that accepts it, and waits again if that could not be stored
func TestAStandInTakesItsPlaceInOneRecord(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	old := d.submit("a")
	d.token++
	d.tell(turn.Submit{Token: d.token, Replaces: []event.InputID{old, old}, Accepted: event.InboxAccepted{ID: "i_new", Input: event.UserInput{Content: event.TextOf("a and b")}, Priority: event.PriorityLater}})
	at := slices.IndexFunc(d.recs, func(r event.Record) bool { p, ok := body(t, &r).(event.InboxAccepted); return ok && p.ID == "i_new" })
	l, err := turn.Fold(d.recs[:at+1]) // a crash right behind it
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Box.Waiting(); len(w) != 1 || w[0].ID != "i_new" {
		t.Errorf("behind the cut there wait %+v", w)
	}
	d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "disk"}, Refused: []turn.Token{d.token}})
	if !slices.Equal(d.waitingIDs(), []event.InputID{old}) || !slices.Equal(d.s.Held(), []string{"a"}) {
		t.Errorf("waiting %v, held %v", d.waitingIDs(), d.s.Held())
	}
	d.cut()
}

// proves TRN-17, TRN-09: what came while a stopped turn unwound runs after it;
// nothing runs once the session closes
func TestWhatComesWhileATurnUnwindsRunsAfterIt(t *testing.T) {
	for _, closing := range []bool{false, true} {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.submit("queued before")
		d.trip(interrupt.UserSIGINT, "me")
		d.submit("after the stop")
		if closing {
			d.tell(turn.CloseSession{})
		}
		d.cut()
		if closing {
			if d.s.Phase() != turn.PhaseIdle || len(d.waitingIDs()) != 2 {
				t.Errorf("closing: %v, %v wait", d.s.Phase(), d.waitingIDs())
			}
			if _, r := d.offer("too late", event.PriorityLater); r.Err == nil {
				t.Error("a closing session takes input")
			}
			continue
		}
		if got := d.texts(); got[len(got)-1] != "user: after the stop" {
			t.Errorf("%q", got)
		}
		if !slices.Equal(d.s.Held(), []string{"queued before"}) {
			t.Errorf("held %v", d.s.Held())
		}
		d.say("ok")
	}
}

// proves TRN-17: what waits behind a turn that ended well begins once the disk
// can be written again, and is not parked unseen
func TestWhatWaitsBeginsOnceTheDiskWorksAgain(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.noHooks = true
	d.submit("go")
	d.say("done")
	d.submit("next")
	d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "disk"}})
	d.tell(turn.Hooked{}) // its ending could be written, as it happens
	if d.s.Phase() != turn.PhaseIdle {
		t.Fatalf("%v", d.s.Phase())
	}
	d.tell(turn.StorageWorks{})
	if got := d.texts(); got[len(got)-1] != "user: next" {
		t.Errorf("%q", got)
	}
}

// proves TRN-13: ten thousand queued inputs cost what they are, each once
func TestTenThousandQueuedInputsAreTakenInOrder(t *testing.T) {
	const n = 10_000
	d := newDesk(t, turn.Options{})
	d.submit("go")
	began := time.Now()
	for i := range n {
		d.s.Step(d.now, turn.Submit{Accepted: event.InboxAccepted{ID: event.InputID(fmt.Sprintf("q_%d", i)), Input: event.UserInput{Content: event.TextOf("q")}, Priority: event.PriorityNext}})
	}
	ask := must[turn.Ask](d)
	d.s.Step(d.now, turn.Streamed{Ticket: ask.Ticket, Delta: event.TextDelta{Text: "a"}})
	d.s.Step(d.now, turn.Streamed{Ticket: ask.Ticket, Delta: event.Finish{Reason: event.FinishStop}})
	effects := d.s.Step(d.now, turn.Answered{Ticket: ask.Ticket})
	joined := all[turn.Join](effects)
	if len(joined) != 1 || len(joined[0].Inputs) != n || joined[0].Inputs[n-1] != "q_9999" || d.s.Box.Len() != 0 {
		t.Fatalf("%d joins, %d wait", len(joined), d.s.Box.Len())
	}
	t.Logf("%d inputs in and out in %v", n, time.Since(began))
}

// proves TOL-27, LOG-12: the answer to an input names the turn that was open when
// it was accepted, not its own, which begins a moment later; a repeat names none
func TestAnAcceptanceNamesTheTurnThatWasOpen(t *testing.T) {
	d := newDesk(t, turn.Options{})
	open := func(key string) turn.Taken {
		t.Helper()
		d.inputs++
		d.token++
		d.take()
		d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: event.InputID(fmt.Sprintf("i_%d", d.inputs)), Key: key,
			Input: event.UserInput{Content: event.TextOf("go")}, Priority: event.PriorityLater}})
		return must[turn.Reply](d).Value.(turn.Taken)
	}
	if got := open("k"); got.Where != turn.Running || got.Open != 0 || d.s.OpenTurn() != 1 {
		t.Errorf("with no turn open: %+v, and turn %d runs", got, d.s.OpenTurn())
	}
	if got := open(""); got.Where != turn.Queued || got.Open != 1 {
		t.Errorf("in turn 1: %+v", got)
	}
	if got := open("k"); got != (turn.Taken{ID: "i_1", Where: turn.Known}) {
		t.Errorf("a repeat: %+v", got)
	}
}
