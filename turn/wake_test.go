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

// stall brings the machine to the end of a turn that asks for a wake, in front of
// its hooks.
func stall(t *testing.T, o turn.Options) *desk {
	t.Helper()
	d := newDesk(t, o)
	d.noHooks = true
	d.submit("go")
	d.cutArgument("w", 500)
	d.silence()
	if d.s.Phase() != turn.PhaseEnding {
		t.Fatalf("%v", d.s.Phase())
	}
	return d
}

// proves GRD-03, TRN-05: the notice is in the inbox in one write with the turn's
// end, says its three parts with numbers, and its turn begins at once
func TestAWakeIsWrittenWithTheEndOfItsTurn(t *testing.T) {
	d := stall(t, stalling())
	d.submit("later")
	d.noHooks = false
	d.take()
	d.tell(turn.Hooked{})
	var write []event.Record
	for _, a := range all[turn.Append](d.effects) {
		if len(payloads[event.TurnEnded](t, a.Records)) > 0 {
			write = a.Records
		}
	}
	if len(payloads[event.GuardWake](t, write)) != 1 || len(payloads[event.InboxAccepted](t, write)) != 1 {
		t.Fatalf("written with the end: %+v", write)
	}
	got := d.texts()
	notice := got[len(got)-1]
	for _, part := range []string{"arguments of write: 500 characters", "nothing came for 20.0 s", "provider", "skeleton"} {
		if !strings.Contains(notice, part) {
			t.Errorf("the notice does not say %q: %s", part, notice)
		}
	}
	if d.s.Turn.Kind != event.TurnWake || d.s.Turn.Number != 2 {
		t.Errorf("turn %d is a %s", d.s.Turn.Number, d.s.Turn.Kind)
	}
	d.say("ok")
	if got := d.texts(); got[len(got)-1] != "user: later" {
		t.Errorf("what waited: %q", got)
	}
	d.say("ok")
	if n := len(payloads[event.GuardWake](t, d.recs)); n != 1 {
		t.Errorf("%d wakes", n)
	}
}

// proves GRD-03, INT-75, TRN-11: who wakes goes on in the name and within the
// bounds of whoever asked
func TestAWakeKeepsTheOptionsOfItsTurn(t *testing.T) {
	d := newDesk(t, stalling())
	one := 1
	options := event.SubmitOptions{Principal: "ann", MaxSteps: &one}
	d.tell(turn.Submit{Accepted: event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("go")}, Priority: event.PriorityLater, Options: options}})
	d.cutArgument("w", 500)
	d.silence()
	if d.s.Turn.Kind != event.TurnWake {
		t.Fatalf("%+v", d.s.Turn)
	}
	accepted := payloads[event.InboxAccepted](t, d.recs)
	if got := accepted[len(accepted)-1].Options; got.Principal != "ann" || got.MaxSteps == nil || *got.MaxSteps != 1 {
		t.Errorf("it wakes with %+v", got)
	}
	d.calls("c1", "read")
	d.ran("c1")
	if end := d.s.Turn.End; end == nil || end.Outcome != event.TurnBudget || end.Reason != "steps" {
		t.Errorf("%+v", end)
	}
}

// proves GRD-03: a person's stop before, while and as the turn converges wins:
// nothing starts by itself; the notice is not lost where it was there already
func TestAPersonsStopWinsOverAWake(t *testing.T) {
	for name, c := range map[string]struct {
		play   func(d *desk)
		notice int
	}{
		"before the attempt has ended": {func(d *desk) {
			d.submit("go")
			d.cutArgument("w", 500)
			d.pass(tIdle)
			d.tell(turn.Fired{Timer: turn.TimerStall})
			d.trip(interrupt.UserSIGINT, "me")
			d.cut()
			d.tell(turn.Hooked{})
		}, 0},
		"while its end is made": {func(d *desk) {
			d.submit("go")
			d.cutArgument("w", 500)
			d.silence()
			d.trip(interrupt.UserSIGINT, "me")
			d.tell(turn.Hooked{})
		}, 0},
		"as it ended": {func(d *desk) {
			d.submit("go")
			d.cutArgument("w", 500)
			d.silence()
			for _, e := range d.s.Step(d.now, turn.Hooked{}) {
				if a, ok := e.(turn.Append); ok {
					d.recs = append(d.recs, a.Records...)
				}
			}
			d.trip(interrupt.UserSIGINT, "me") // its coordinator had it before it was retired
			d.tell(turn.Woken{})
		}, 1},
		"when the next turn is armed": {func(d *desk) {
			d.submit("go")
			d.cutArgument("w", 500)
			d.silence()
			for _, in := range []turn.Input{turn.Hooked{}, turn.Woken{}} {
				for _, e := range d.s.Step(d.now, in) {
					if a, ok := e.(turn.Append); ok {
						d.recs = append(d.recs, a.Records...)
					}
				}
			}
			d.trip(interrupt.UserSIGINT, "me")
			d.tell(turn.Woken{})
			d.tell(turn.Hooked{})
		}, 0},
		"behind the machine's own": {func(d *desk) {
			d.submit("go")
			d.stream(event.CallStart{Block: 5, ID: "c9", Name: "read"}, event.ArgsDelta{Block: 5, Text: "{}"}, event.CallEnd{Block: 5})
			d.allow("c9")
			_ = d.begin("c9")
			d.stream(event.CallStart{Block: 6, ID: "c10", Name: "read"}, event.ArgsDelta{Block: 6, Text: `{"content":"` + varied(500, "w")})
			d.silence()
			d.tripFor()
			d.trip(interrupt.UserSIGINT, "me")
			_ = d.end("c9", ended(event.CallStopped))
			d.tell(turn.Hooked{})
		}, 0},
		"clearing what waits": {func(d *desk) {
			d.submit("go")
			d.cutArgument("w", 500)
			d.silence()
			for _, e := range d.s.Step(d.now, turn.Hooked{}) {
				if a, ok := e.(turn.Append); ok {
					d.recs = append(d.recs, a.Records...)
				}
			}
			d.tell(turn.Clear{By: "me"})
			d.tell(turn.Woken{})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, stalling())
			d.noHooks = true
			c.play(d)
			if d.s.Phase() != turn.PhaseIdle {
				t.Fatalf("%v after %s", d.s.Phase(), d.types())
			}
			if n := len(d.waitingIDs()); n != c.notice || len(d.s.Held()) != n {
				t.Errorf("%d notices wait, held %v", n, d.s.Held())
			}
			if n := d.s.Turn.Number; n > 1 && name != "when the next turn is armed" {
				t.Errorf("%d turns", n)
			}
			if d.s.Turn.Asked > 1 {
				t.Errorf("asked again")
			}
		})
	}
}

// proves GRD-03, TRN-20: the machine's own stop of what ran beside a silent stream
// is no person's: the wake follows
func TestAStallBesideARunningCallStillWakes(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.CallStart{Block: 5, ID: "c9", Name: "read"}, event.ArgsDelta{Block: 5, Text: "{}"}, event.CallEnd{Block: 5})
	d.allow("c9")
	_ = d.begin("c9")
	d.stream(event.CallStart{Block: 6, ID: "c10", Name: "read"}, event.ArgsDelta{Block: 6, Text: `{"content":"` + varied(500, "w")})
	d.silence()
	d.tripFor()
	if err := d.end("c9", ended(event.CallStopped)); err != nil {
		t.Fatal(err)
	}
	if d.s.Turn.Kind != event.TurnWake {
		t.Errorf("%v: %s", d.s.Phase(), d.types())
	}
	valid(t, must[turn.Ask](d).Messages)
}

// proves GRD-03: nothing is woken on a session that closes
func TestAClosingSessionIsNotWoken(t *testing.T) {
	d := stall(t, stalling())
	d.tell(turn.CloseSession{})
	d.noHooks = false
	d.tell(turn.Hooked{})
	if d.s.Phase() != turn.PhaseIdle || len(payloads[event.GuardWake](t, d.recs)) > 0 {
		t.Errorf("%v: %s", d.s.Phase(), d.types())
	}
}

// proves GRD-02, GRD-03: three wakes in a row, with a pause between them; a turn
// that completes, or a person's word, counts anew
func TestWakesInARowAreBounded(t *testing.T) {
	o := stalling()
	o.Guards.Stall.Cooldown = time.Nanosecond
	d := newDesk(t, o)
	d.submit("go")
	stallOnce := func(n int) {
		d.cutArgument(fmt.Sprintf("w%d", n), 500)
		d.silence()
	}
	for n := range 3 {
		stallOnce(n)
		if d.s.Turn.Kind != event.TurnWake {
			t.Fatalf("wake %d did not come: %+v", n+1, d.s.Turn)
		}
	}
	stallOnce(3)
	if _, fs := d.verdicts(); fs[len(fs)-1].Decision != guard.WakeLimit || fs[len(fs)-1].Wake.InRow != 3 || d.s.Phase() != turn.PhaseIdle {
		t.Fatalf("%+v", fs[len(fs)-1])
	}
	d.submit("a person's word")
	stallOnce(4)
	if _, fs := d.verdicts(); fs[len(fs)-1].Decision != guard.Wake || d.s.Wakes.InRow != 1 {
		t.Errorf("behind a person's word: %+v", fs[len(fs)-1])
	}
	d.say("done")
	if d.s.Wakes.InRow != 0 {
		t.Errorf("behind a turn that completed: %+v", d.s.Wakes)
	}
}

// proves GRD-02: a wake too soon after the last one is left out, and says so
func TestAWakeTooSoonIsLeftOut(t *testing.T) {
	o := stalling()
	o.Guards.Stall.Cooldown = time.Hour
	d := newDesk(t, o)
	d.submit("go")
	d.cutArgument("a", 500)
	d.silence()
	d.cutArgument("b", 500)
	d.silence()
	if _, fs := d.verdicts(); fs[1].Decision != guard.WakeCooldown || fs[1].Wake.Since != tIdle.Milliseconds() || d.s.Phase() != turn.PhaseIdle {
		t.Errorf("%+v", fs[1])
	}
}

// proves GRD-04: the second cut at one place says so with both numbers, and what
// the longest argument was that ever came through
func TestAWakeSaysWhatIsKnownOfThePlace(t *testing.T) {
	o := stalling()
	o.Guards.Stall.Cooldown = time.Nanosecond
	o.Tools = map[string]turn.Traits{"write": {}}
	d := newDesk(t, o)
	d.submit("go")
	d.stream(event.CallStart{Block: 1, ID: "c1", Name: "write"}, event.ArgsDelta{Block: 1, Text: `{"content":"` + varied(300, "k") + `"}`}, event.CallEnd{Block: 1})
	d.finish(event.FinishTools)
	d.ran("c1")
	for range 2 {
		d.cutArgument("w", 500)
		d.silence()
	}
	got := d.texts()
	notice := got[len(got)-1]
	for _, part := range []string{"second cut at the same place (500 and 500 characters)", "had 300 characters"} {
		if !strings.Contains(notice, part) {
			t.Errorf("%q is not in %s", part, notice)
		}
	}
}

// proves GRD-03, RTY-10: the notice about a turn that is hidden tells nothing
func TestAHiddenTurnsNoticeIsDropped(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.say("ok")
	d.noHooks = true
	d.submit("write it")
	d.cutArgument("w", 500)
	d.silence()
	for _, e := range d.s.Step(d.now, turn.Hooked{}) {
		if a, ok := e.(turn.Append); ok {
			d.recs = append(d.recs, a.Records...)
		}
	}
	d.trip(interrupt.UserSIGINT, "me")
	d.tell(turn.Woken{})
	d.noHooks = false
	if !slices.Equal(d.waitingIDs(), []event.InputID{"i_wake_2"}) {
		t.Fatalf("waiting: %v", d.waitingIDs())
	}
	if _, err := d.rewind(turn.Rewind{Retry: true}); err != nil {
		t.Fatal(err)
	}
	if len(d.waitingIDs()) > 0 {
		t.Errorf("waiting: %v", d.waitingIDs())
	}
	d.say("done")
	if got := fmt.Sprint(d.s.History); strings.Contains(got, "skeleton") {
		t.Error(got)
	}
}
