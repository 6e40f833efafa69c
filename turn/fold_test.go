package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// played is the journal of a simulated session that ended at rest.
func played(t *testing.T, seed uint64) []event.Record {
	t.Helper()
	w := newWorld(seed, wild(seed))
	if why := w.simulated(func() { w.live(60) }); why != "" {
		t.Fatalf("seed %d: %s", seed, why)
	}
	return w.recs
}

// again is recs with each payload changed by f and encoded anew.
func again(t *testing.T, recs []event.Record, f func(event.Payload) event.Payload) []event.Record {
	t.Helper()
	out := make([]event.Record, 0, len(recs))
	for i := range recs {
		r, err := event.New(f(body(t, &recs[i])), recs[i].Time)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Epoch, r.Batch, r.Turn, r.Step, r.Call, r.Span = recs[i].Seq, recs[i].Epoch, recs[i].Batch, recs[i].Turn, recs[i].Step, recs[i].Call, recs[i].Span
		out = append(out, r)
	}
	return out
}

// proves LOG-06
func TestWhoEndedATurnAndWhenIsNotSeenByTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recs := played(t, rapid.Uint64().Draw(rt, "seed"))
		who := rapid.SampledFrom([]string{"", "somebody", "timeout", "close"}).Draw(rt, "who")
		reason := rapid.SampledFrom([]string{"", "USER_SIGINT", "SYSTEM_SHUTDOWN", "steps"}).Draw(rt, "reason")
		at := time.Unix(rapid.Int64Range(0, 1<<36).Draw(rt, "at"), 0).UTC()
		other := again(t, recs, func(p event.Payload) event.Payload {
			switch p := p.(type) {
			case event.TurnEnded:
				p.Who, p.At, p.Reason = who, &at, reason
				return p
			case event.ApprovalDecided:
				p.By = who
				return p
			case event.CallApproved:
				p.By = who
				return p
			case event.InboxDropped:
				p.By = who
				return p
			}
			return p
		})
		a, err := turn.Fold(recs)
		if err != nil {
			rt.Fatal(err)
		}
		b, err := turn.Fold(other)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(a.History, b.History); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// For whom and how long a stream was silent is for people: a judgement's numbers
// change nothing that the model reads.
//
// proves LOG-06, GRD-02
func TestWhatAStallWasJudgedByIsNotSeenByTheModel(t *testing.T) {
	changed := 0
	for seed := range uint64(60) {
		recs := played(t, seed)
		other := again(t, recs, func(p event.Payload) event.Payload {
			switch p := p.(type) {
			case event.GuardVerdict:
				if p.Guard == "stall" {
					changed++
					p.Verdict = "ok"
					p.Facts = []byte(`{"cut":{"silence_ms":99999},"place":{"provider":"x","stream":7},"limit":"idle","wake":{"by_person":true},"decision":"by-person"}`)
				}
				return p
			case event.GuardWake:
				p.Count += 5
				return p
			}
			return p
		})
		a, err := turn.Fold(recs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := turn.Fold(other)
		if err != nil {
			t.Fatal(err)
		}
		same(t, a.History, b.History)
	}
	if changed == 0 {
		t.Error("nothing was judged: nothing was shown")
	}
}

// proves LOG-06, TRN-08
func TestTwoTurnsThatDifferInWhoStoppedThemLeaveOneContext(t *testing.T) {
	context := func(reason interrupt.Reason, who string, later time.Duration) []event.Message {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.stream(event.TextDelta{Text: "half a sent"})
		d.pass(later)
		d.trip(reason, who)
		d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
		d.ending()
		return d.s.History
	}
	want := context(interrupt.UserSIGINT, "me", 0)
	for _, r := range []interrupt.Reason{interrupt.UserSIGINT, interrupt.NowPriorityInput, interrupt.ParentCancelled,
		interrupt.TaskCancelled, interrupt.SystemShutdown, interrupt.SessionReleased} {
		same(t, want, context(r, "another", time.Hour))
	}
}

// The fold takes its records one by one: at each of them it is what a fold of
// the records so far would be, and it needs nothing but their bytes.
//
// proves LOG-06
func TestAFoldIsAFunctionOfTheBytesAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recs := played(t, rapid.Uint64().Draw(rt, "seed"))
		n := rapid.IntRange(2, len(recs)).Draw(rt, "cut")
		grown := turn.NewLedger()
		for i := range recs[:n] {
			if err := grown.Apply(&recs[i]); err != nil {
				rt.Fatal(err)
			}
		}
		var sum event.Sum
		var read []event.Record
		for i := range recs[:n] {
			r := recs[i]
			r.Line = nil
			line, next, err := event.Encode(nil, sum, &r)
			if err != nil {
				rt.Fatal(err)
			}
			back, err := event.Parse(line)
			if err != nil {
				rt.Fatalf("%v: %s", err, line)
			}
			sum, read = next, append(read, back)
		}
		folded, err := turn.Fold(read)
		if err != nil {
			rt.Fatal(err)
		}
		for name, pair := range map[string][2]any{
			"history": {grown.History, folded.History}, "usage": {grown.Usage, folded.Usage}, "waiting": {grown.Box.Waiting(), folded.Box.Waiting()},
			"turns of inputs": {grown.TurnOf, folded.TurnOf}, "open turn": {grown.OpenTurn(), folded.OpenTurn()}, "needs recovery": {turn.NeedsRecovery(grown), turn.NeedsRecovery(folded)},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				rt.Fatalf("%s: %s", name, diff)
			}
		}
	})
}

// proves B114, TRN-06 (what is not known is nil, never zero)
func TestUsageIsAddedUpByRequestAndUnknownStaysUnknown(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	count := func(in, out *int64, whole bool) line {
		return line{p: event.UsageCounted{Attempt: 1, Tokens: event.Tokens{Input: in, Output: out}, Complete: whole}, turn: 1, step: 1}
	}
	for _, c := range []struct {
		name  string
		lines []line
		want  turn.Usage
	}{
		{"nothing counted", nil, turn.Usage{Complete: true}},
		{"one", []line{count(n(500), n(20), true)}, turn.Usage{Tokens: event.Tokens{Input: n(500), Output: n(20)}, Complete: true}},
		{"two", []line{count(n(500), n(20), true), count(n(1), n(2), true)}, turn.Usage{Tokens: event.Tokens{Input: n(501), Output: n(22)}, Complete: true}},
		{"a cut one", []line{count(n(500), n(20), true), count(n(7), nil, false)}, turn.Usage{Tokens: event.Tokens{Input: n(507), Output: n(20)}}},
		{"an unknown one", []line{count(nil, nil, false)}, turn.Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := turn.Fold(journal(t, join(opened, inTurn, inStep, asked, c.lines)...))
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.want, l.Usage)
			same(t, c.want, l.Turn.Usage)
		})
	}
}

// proves LOG-06
func TestARewindHidesItsTurnsAndRemovesNothing(t *testing.T) {
	said := func(n int) []line {
		at := func(p event.Payload) line { return line{p: p, turn: n, step: 1} }
		id := event.InputID(fmt.Sprintf("i_%d", n))
		return []line{{p: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf("ask " + string(id))}}},
			{p: event.TurnStarted{Kind: event.TurnInput}, turn: n}, at(event.StepStarted{}), at(event.InboxClaimed{ID: id}), at(event.ModelRequest{Attempt: 1}),
			at(event.AssistantMessage{Attempt: 1, Content: event.TextOf(strings.Repeat("a", n))}), at(event.StepEnded{}), {p: event.TurnEnded{Outcome: event.TurnFailed}, turn: n}}
	}
	before, err := turn.Fold(journal(t, join(opened, said(1))...))
	if err != nil {
		t.Fatal(err)
	}
	after, err := turn.Fold(journal(t, join(opened, said(1), said(2), said(3), []line{{p: event.Rewound{From: 2, Why: "retry"}}})...))
	if err != nil {
		t.Fatal(err)
	}
	same(t, before.History, after.History)
	if after.Turn.Number != 3 {
		t.Errorf("the last turn is %d", after.Turn.Number)
	}
}
