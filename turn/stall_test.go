package turn_test

import (
	"encoding/json"
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

const (
	tFirst = 30 * time.Second
	tIdle  = 20 * time.Second
)

func stalling() turn.Options {
	return turn.Options{Attempts: 3, Guards: turn.Guards{Stall: guard.StallLimits{First: tFirst, Idle: tIdle, Argument: 100}}}
}

// silence lets time pass until the stall timer runs out for good, and ends the
// attempt as the session would.
func (d *desk) silence() {
	d.t.Helper()
	for range 3 {
		set, ok := timerOf(d, turn.TimerStall)
		if !ok {
			d.t.Fatalf("no stall timer is set; %v", d.s.Phase())
		}
		d.pass(set.After)
		d.take()
		d.tell(turn.Fired{Timer: turn.TimerStall})
		if b, ok := last[turn.Break](d); ok {
			d.tell(turn.Answered{Ticket: b.Ticket})
			return
		}
	}
	d.t.Fatal("the attempt is not ended")
}

// timerOf is the newest setting of a timer since the last take.
func timerOf(d *desk, t turn.Timer) (turn.SetTimer, bool) {
	for _, e := range slices.Backward(d.effects) {
		if s, ok := e.(turn.SetTimer); ok && s.Timer == t {
			return s, true
		}
	}
	return turn.SetTimer{}, false
}

type facts struct {
	Cut      guard.Cut
	Place    guard.Place
	Limit    string
	LimitMS  int64 `json:"limit_ms"`
	Wake     *guard.WakeFacts
	Decision guard.WakeDecision
	Same     *guard.Place `json:"same_place"`
	Limits   *guard.Thresholds
}

// verdicts are what the stall guard judged, oldest first.
func (d *desk) verdicts() (names []string, all []facts) {
	d.t.Helper()
	for _, p := range payloads[event.GuardVerdict](d.t, d.recs) {
		if p.Guard != "stall" {
			continue
		}
		var f facts
		if err := json.Unmarshal(p.Facts, &f); err != nil {
			d.t.Fatal(err)
		}
		names, all = append(names, p.Verdict), append(all, f)
	}
	return names, all
}

// cutArgument streams a call whose arguments are cut behind n characters.
func (d *desk) cutArgument(salt string, n int) {
	d.t.Helper()
	d.stream(event.CallStart{Block: 1, ID: "c" + salt + fmt.Sprint(len(d.recs)), Name: "write"}, event.ArgsDelta{Block: 1, Text: `{"content":"` + varied(n, salt)})
}

// proves GRD-01, B054, B057: two limits, one for the first event and one between
// events, each named with its number; one timer a limit and not one an event
func TestSilenceIsMeasuredFromTheLastUsefulEvent(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	if s, _ := timerOf(d, turn.TimerStall); s.After != tFirst {
		t.Errorf("the first limit is %v", s.After)
	}
	d.pass(tFirst - time.Second)
	d.stream(event.TextDelta{Text: "abc"})
	if s, _ := timerOf(d, turn.TimerStall); s.After != tIdle {
		t.Errorf("the limit between events is %v", s.After)
	}
	ask := must[turn.Ask](d)
	say := func(deltas ...event.Delta) (set int) {
		for _, delta := range deltas {
			for _, s := range all[turn.SetTimer](d.tell(turn.Streamed{Ticket: ask.Ticket, Delta: delta})) {
				if s.Timer == turn.TimerStall {
					set++
				}
			}
		}
		return set
	}
	d.pass(tIdle - time.Second) // reasoning, fragments and usage are life (B056)
	n := int64(1)
	if set := say(event.ReasoningDelta{Block: 1, Text: "x"}, event.CallStart{Block: 2, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 2, Text: "{"}, event.UsageDelta{Usage: event.Tokens{Output: &n}}); set != 0 {
		t.Errorf("the timer was set %d times for four events", set)
	}
	d.pass(time.Second)
	if set := all[turn.SetTimer](d.tell(turn.Fired{Timer: turn.TimerStall})); len(set) != 1 || set[0].After != tIdle-time.Second {
		t.Errorf("set again for what is left: %+v", set)
	}
	say(event.TextDelta{}, event.ArgsDelta{Block: 2}, event.ReasoningDelta{Block: 1}) // empty ones are none
	d.pass(tIdle - time.Second)
	d.take()
	d.tell(turn.Fired{Timer: turn.TimerStall})
	d.tell(turn.Answered{Ticket: must[turn.Break](d).Ticket})
	names, fs := d.verdicts()
	if len(fs) != 1 || names[0] != string(guard.ArgTooSmall) || fs[0].Limit != "idle" || fs[0].LimitMS != tIdle.Milliseconds() || fs[0].Cut.Silence != tIdle.Milliseconds() {
		t.Errorf("%v %+v", names, fs)
	}
	failed := payloads[event.AttemptFailed](t, d.recs)
	if len(failed) != 1 || failed[0].Error.Code != event.FailStall || !strings.Contains(failed[0].Error.Message, "20s") || failed[0].RetryIn <= 0 {
		t.Errorf("%+v", failed)
	}
}

// proves B054, B061, GRD-01: an attempt that never says anything is asked again
// so often, then the turn ends stalled with the first event's limit in its words
func TestAProviderThatNeverAnswersEndsTheTurnStalled(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	for range 3 {
		d.silence()
		if d.s.Phase() == turn.PhaseWaiting {
			d.tell(turn.Fired{Timer: turn.TimerBackoff})
		}
	}
	end := d.s.Turn.End
	if end == nil || end.Outcome != event.TurnStalled || !strings.Contains(end.Error.Message, "no first event") || !strings.Contains(end.Error.Message, "30s") {
		t.Fatalf("%+v", end)
	}
	if !end.Outcome.KeepsRetryPoint() || d.s.RetryPoint() != 1 || d.s.Turn.Asked != 3 {
		t.Errorf("%d requests", d.s.Turn.Asked)
	}
}

// proves B057, GRD-09: each limit can be switched off, and the guard with both
func TestAStallLimitCanBeSwitchedOff(t *testing.T) {
	o := stalling()
	o.Guards.Stall.First = -1
	d := newDesk(t, o)
	d.submit("go")
	if s, set := timerOf(d, turn.TimerStall); set {
		t.Errorf("without a first limit: %+v", s)
	}
	d.stream(event.TextDelta{Text: "a"})
	if s, _ := timerOf(d, turn.TimerStall); s.After != tIdle {
		t.Errorf("%+v", s)
	}
	o = stalling()
	o.Guards.OnStall = guard.Off
	d = newDesk(t, o)
	d.submit("go")
	d.stream(event.TextDelta{Text: "a"})
	d.tell(turn.Fired{Timer: turn.TimerStall})
	d.trip(interrupt.UserSIGINT, "me")
	d.cut()
	if _, set := timerOf(d, turn.TimerStall); set || len(payloads[event.GuardVerdict](t, d.recs)) > 0 {
		t.Error("a guard that is off measures")
	}
	o.Guards.OnStall = guard.Warn
	d = newDesk(t, o)
	d.submit("go")
	for range 3 {
		d.pass(time.Minute)
		d.tell(turn.Fired{Timer: turn.TimerStall})
	}
	if n := len(payloads[event.GuardVerdict](t, d.recs)); n != 3 || len(all[turn.Break](d.effects)) > 0 {
		t.Errorf("%d verdicts", n)
	}
}

// proves GRD-01: a clock that jumps back is no silence and no promise of one; a
// timer that is late by much ends no attempt that has spoken since
func TestAClockThatJumpsIsNoStall(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.TextDelta{Text: "a"})
	d.pass(-time.Hour)
	d.take()
	d.tell(turn.Fired{Timer: turn.TimerStall})
	if s, _ := timerOf(d, turn.TimerStall); s.After != tIdle {
		t.Errorf("the timer is set for %v", s.After)
	}
	d.pass(tIdle)
	d.tell(turn.Fired{Timer: turn.TimerStall})
	if _, ok := last[turn.Break](d); !ok {
		t.Error("the silence behind the jump is not seen")
	}
}

// proves TRN-10, GRD-01, GRD-02: an answer that is whole is an answer, also where
// its connection stays open behind it
func TestAWholeAnswerIsNoStall(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.TextDelta{Text: "all of it"}, event.Finish{Reason: event.FinishStop})
	d.silence()
	if end := d.s.Turn.End; end == nil || end.Outcome != event.TurnCompleted || end.Text != "all of it" {
		t.Errorf("%v: %+v", d.s.Phase(), end)
	}
	if n, _ := d.verdicts(); len(n) > 0 {
		t.Errorf("judged %v", n)
	}
}

// proves B059, GRD-01, TRN-10: what a silent attempt had said is in the journal
// and not in the answer that replaces it, nor is its half call
func TestASilentAttemptIsReplacedByTheNextOne(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.TextDelta{Text: "Hello wor"}, event.CallStart{Block: 1, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 1, Text: `{"cm`})
	d.silence()
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	d.say("Hello world")
	same(t, event.Message{Role: event.RoleAssistant, Content: event.TextOf("Hello world")}, d.s.History[1])
	if n := len(payloads[event.CallRequested](t, d.recs)); n > 0 || len(d.s.History) != 2 {
		t.Errorf("%d calls, %+v", n, d.s.History)
	}
}

// proves B061, GRD-04: the same words cut at the same place twice are not asked
// for a third time, and the error says where; other words there, or the same
// further on, are another cut
func TestTheSamePlaceTwiceIsNotAskedForAgain(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		same          bool
	}{
		"the same":          {varied(40, "s"), varied(40, "s"), true},
		"as long, not same": {varied(40, "s"), varied(40, "o"), false},
		"a little further":  {varied(1185, "s"), varied(1187, "s"), true},
		"the same, further": {varied(40, "s"), varied(4000, "s"), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, stalling())
			d.submit("go")
			d.stream(event.TextDelta{Text: c.first})
			d.silence()
			d.tell(turn.Fired{Timer: turn.TimerBackoff})
			d.stream(event.TextDelta{Text: c.second})
			d.silence()
			end := d.s.Turn.End
			if (end != nil) != c.same {
				t.Fatalf("%v: %+v", d.s.Phase(), end)
			}
			if c.same && (end.Outcome != event.TurnStalled || !strings.Contains(end.Error.Message, "same place")) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// proves GRD-04: where a person stopped an answer is no place where a stream is
// cut
func TestWhereAPersonStoppedIsNoPlaceOfAStall(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.TextDelta{Text: varied(40, "s")})
	d.trip(interrupt.UserSIGINT, "me")
	d.cut()
	if _, err := d.rewind(turn.Rewind{Retry: true}); err != nil {
		t.Fatal(err)
	}
	d.stream(event.TextDelta{Text: varied(40, "s")})
	d.silence()
	if d.s.Phase() != turn.PhaseWaiting {
		t.Errorf("%v: %+v", d.s.Phase(), d.s.Turn.End)
	}
}

// proves GRD-02: for every message that is cut both answers are in the journal,
// with all that they depend on, whoever cut it
func TestEveryCutMessageIsJudgedWithItsNumbers(t *testing.T) {
	word := func(d *desk) { d.stream(event.TextDelta{Text: "word"}) }
	long := func(d *desk) { d.cutArgument("w", 500) }
	for name, c := range map[string]struct {
		opts     func(o *turn.Options)
		play     func(d *desk)
		end      func(d *desk)
		verdict  guard.StallVerdict
		decision guard.WakeDecision
		limit    string
	}{
		"words, our timer": {play: word, end: (*desk).silence, verdict: guard.NoToolCall, limit: "idle"},
		"a short argument": {play: func(d *desk) { d.cutArgument("w", 50) }, end: (*desk).silence, verdict: guard.ArgTooSmall, limit: "idle"},
		"a long argument":  {play: long, end: (*desk).silence, verdict: guard.Stalled, decision: guard.Wake, limit: "idle"},
		"the socket's timer": {play: long, end: func(d *desk) {
			d.pass(16 * time.Second)
			d.fail(event.Failure{Code: event.FailStall, Message: "silent"})
		}, verdict: guard.Stalled, decision: guard.Wake, limit: "connection"},
		"the socket's, active": {play: long, end: func(d *desk) {
			d.pass(time.Second)
			d.fail(event.Failure{Code: event.FailStall, Message: "silent"})
		}, verdict: guard.StreamActive, limit: "connection"},
		"a person":     {play: long, end: func(d *desk) { d.pass(18 * time.Second); d.trip(interrupt.UserSIGINT, "me"); d.cut() }, verdict: guard.Stalled, decision: guard.WakeByPerson},
		"a quick one":  {play: long, end: func(d *desk) { d.pass(time.Second); d.trip(interrupt.UserSIGINT, "me"); d.cut() }, verdict: guard.StreamActive},
		"the shutdown": {play: long, end: func(d *desk) { d.pass(18 * time.Second); d.trip(interrupt.SystemShutdown, "close"); d.cut() }, verdict: guard.Stalled, decision: guard.WakeStopped},
		"the budget":   {play: long, end: func(d *desk) { d.pass(18 * time.Second); d.trip(interrupt.BudgetExceeded, "wall"); d.cut() }, verdict: guard.Stalled, decision: guard.WakeStopped},
		"switched off": {opts: func(o *turn.Options) { o.Guards.NoWake = true }, play: long, end: (*desk).silence, verdict: guard.Stalled, decision: guard.WakeOff, limit: "idle"},
		"the limit":    {opts: func(o *turn.Options) { o.Guards.Stall.InRow = -1 }, play: long, end: (*desk).silence, verdict: guard.Stalled, decision: guard.WakeLimit, limit: "idle"},
		"a guard that warns": {opts: func(o *turn.Options) { o.Guards.OnStall = guard.Warn }, play: long, end: func(d *desk) {
			d.pass(18 * time.Second)
			d.fail(event.Failure{Code: event.FailStall, Message: "silent"})
		}, verdict: guard.Stalled, decision: guard.WakeOff, limit: "connection"},
		"an error stop": {play: long, end: func(d *desk) { d.pass(18 * time.Second); d.fail(event.Failure{Code: event.FailOverloaded}) }},
	} {
		t.Run(name, func(t *testing.T) {
			o := stalling()
			if c.opts != nil {
				c.opts(&o)
			}
			d := newDesk(t, o)
			d.submit("go")
			c.play(d)
			c.end(d)
			names, fs := d.verdicts()
			if c.verdict == "" { // retries own it
				if len(names) > 0 {
					t.Errorf("%v", names)
				}
				return
			}
			if len(names) != 1 || names[0] != string(c.verdict) || fs[0].Decision != c.decision || fs[0].Limit != c.limit {
				t.Fatalf("%v %+v", names, fs)
			}
			if f := fs[0]; !f.Cut.Assistant || !f.Cut.Aborted || f.Place.Provider != "sim" || f.Place.Model != "m" || f.Place.Prefix == "" || (f.Wake != nil) != (c.verdict == guard.Stalled) {
				t.Errorf("an input is missing: %+v", f)
			}
			repeats(t, names[0], fs[0])
			woken := len(payloads[event.GuardWake](t, d.recs))
			if (woken == 1) != (c.decision == guard.Wake) {
				t.Errorf("%d wakes", woken)
			}
		})
	}
}

// repeats gives both answers once more, from the record alone.
func repeats(t *testing.T, verdict string, f facts) {
	t.Helper()
	if f.Limits == nil {
		t.Fatalf("the limits are not in the record: %+v", f)
	}
	if got := guard.Evaluate(f.Cut, f.Limits.Limits()); string(got) != verdict {
		t.Errorf("the record says %s, its numbers %s: %+v", verdict, got, f)
	}
	if f.Wake != nil && guard.Decide(*f.Wake, f.Limits.Limits()) != f.Decision {
		t.Errorf("the record says %s, its numbers do not: %+v", f.Decision, f)
	}
}

// proves TRN-06, GRD-01: an attempt that a guard ended and that never answers is
// fenced after the grace; its late words change nothing
func TestABreakWhoseAnswerNeverComesIsFenced(t *testing.T) {
	d := newDesk(t, stalling())
	d.submit("go")
	d.stream(event.TextDelta{Text: "a"})
	d.pass(tIdle)
	d.take()
	d.tell(turn.Fired{Timer: turn.TimerStall})
	dead := must[turn.Break](d).Ticket
	if _, set := timerOf(d, turn.TimerGrace); !set {
		t.Fatal("no grace is set")
	}
	d.tell(turn.Streamed{Ticket: dead, Delta: event.TextDelta{Text: "late"}})
	d.tell(turn.Fired{Timer: turn.TimerGrace})
	if d.s.Phase() != turn.PhaseWaiting {
		t.Fatalf("%v", d.s.Phase())
	}
	d.tell(turn.Answered{Ticket: dead})
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	d.tell(turn.Answered{Ticket: dead, Failure: &event.Failure{Code: event.FailAuth}})
	d.say("done")
	if d.s.Turn.End.Outcome != event.TurnCompleted || d.s.Turn.End.Text != "done" {
		t.Errorf("%+v", d.s.Turn.End)
	}
}

// proves GRD-09: a silence that was only warned of is no place where a stream was
// cut, and a guard that warns ends no turn for one
func TestAGuardThatWarnsEndsNothing(t *testing.T) {
	o := stalling()
	o.Guards.OnStall = guard.Warn
	d := newDesk(t, o)
	d.submit("go")
	for range 2 {
		d.stream(event.TextDelta{Text: varied(40, "s")})
		d.pass(tIdle)
		d.tell(turn.Fired{Timer: turn.TimerStall})
		d.fail(event.Failure{Code: event.FailStall, Message: "the socket was silent"})
		if d.s.Phase() != turn.PhaseWaiting {
			t.Fatalf("%v: %+v", d.s.Phase(), d.s.Turn.End)
		}
		d.tell(turn.Fired{Timer: turn.TimerBackoff})
	}
	d.say("done")
}
