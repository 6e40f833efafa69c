package ripcord_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
)

// reports are hooks at report points; what a point has none of is not set up.
type reports struct {
	do map[gate.Point]func(ctx context.Context, m gate.Moment)

	mu   sync.Mutex
	told []gate.Moment
}

func (r *reports) Any(p gate.Point, _ string) bool { return r.do[p] != nil }

func (r *reports) Judge(context.Context, gate.Moment) (gate.Verdict, []gate.Ran) {
	return gate.Verdict{Decision: gate.Block}, nil
}

func (r *reports) Report(ctx context.Context, m gate.Moment) []gate.Ran {
	r.mu.Lock()
	r.told = append(r.told, m)
	r.mu.Unlock()
	r.do[m.Point](ctx, m)
	return []gate.Ran{{Hook: "mine", Verdict: "report"}}
}

func (r *reports) of(p gate.Point) (out []gate.Moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.told {
		if m.Point == p {
			out = append(out, m)
		}
	}
	return out
}

// verdicts lists the records of hooks, with where they stand.
func (b *bench) verdicts() (out []string) {
	b.Helper()
	for _, rec := range b.records() {
		p, err := rec.Body()
		if err != nil {
			b.Fatal(err)
		}
		if v, ok := p.(event.HookVerdict); ok {
			out = append(out, fmt.Sprintf("%s %d %s", v.On, rec.Turn, rec.Call))
		}
	}
	return out
}

// The hooks of a sub-agent's start and end are run beside it, recorded in the
// journal of who started it, and awaited by its turn; no stop cuts them.
//
// proves HOK-01, HOK-03, TOL-23
func TestTheHooksOfASubAgentsLifeAreRecordedAndAwaited(t *testing.T) {
	on := make(chan struct{})
	h := &reports{do: map[gate.Point]func(context.Context, gate.Moment){
		gate.SubAgentStart: func(ctx context.Context, _ gate.Moment) {
			<-on
			if ctx.Err() != nil {
				t.Error("a report was cut")
			}
		},
		gate.SubAgentStop: func(context.Context, gate.Moment) {},
	}}
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "sleep now"})+"finish tool")+
		said("sleep now", bash("c1", "touch up; sleep 300")+"finish tool")+"default\ntext Hello.\nfinish stop\n",
		withBash(t), withAgents, func(c *ripcord.Config) { c.Hooks = h })
	id := b.submit("please go")
	b.up(0)
	kid := b.kids()[0]
	b.esc(id)
	b.until("the call has its end", func() bool { return b.recorded(event.TypeCallEnded) == 1 })
	if b.recorded(event.TypeTurnEnded) != 0 || len(h.of(gate.SubAgentStop)) != 0 {
		t.Errorf("it did not wait for the start's hook\n%s", b.types())
	}
	close(on)
	b.outcome(b.wait(id), event.TurnAborted)
	want := []string{"subagent_start 1 t1", "subagent_stop 1 t1"}
	if got := b.verdicts(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
	if got := kid.verdicts(); len(got) != 0 {
		t.Errorf("recorded in the child's journal: %v", got)
	}
	start, stop := h.of(gate.SubAgentStart)[0], h.of(gate.SubAgentStop)[0]
	if start.Session != b.id || start.Child != kid.id || start.Outcome != "" || stop.Child != kid.id || stop.Outcome != event.TurnAborted || stop.Reason != "PARENT_CANCELLED" {
		t.Errorf("told %+v and %+v", start, stop)
	}
	_ = b.fold()
}

// Those of a sub-agent in the background belong to the session once the turn
// that started it is over, and its close waits for them.
//
// proves HOK-01, HOK-03, TOL-23
func TestASessionWaitsForTheHooksOfItsSubAgentsInTheBackground(t *testing.T) {
	h := &reports{do: map[gate.Point]func(context.Context, gate.Moment){
		gate.SubAgentStart: func(context.Context, gate.Moment) {}, gate.SubAgentStop: func(context.Context, gate.Moment) {},
	}}
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "sleep now", "background": true})+"finish tool")+
		said("sleep now", bash("c1", "touch up; sleep 300")+"finish tool")+"default\ntext Hello.\nfinish stop\n",
		withBash(t), withAgents, func(c *ripcord.Config) { c.Hooks = h })
	b.outcome(b.run("please go"), event.TurnCompleted)
	b.up(0)
	b.again()
	want := []string{"subagent_start 1 t1", "subagent_stop 0 "}
	if got := b.verdicts(); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
	_ = b.fold()
}

// Calls wait for the whole answer where a program wants that.
//
// proves TOL-09
func TestEagerCallsCanBeSwitchedOff(t *testing.T) {
	for _, off := range []bool{false, true} {
		e := &echo{}
		b := newBench(t, "C(c1,echo) A'{}' E T'and more' HANG\nT'Hello.' F(stop)\n", with(e), func(c *ripcord.Config) { c.Limits.NoEager = off })
		id := b.submit("go")
		b.streams(event.ChunkText)
		if !off {
			b.until("it has run", func() bool { return b.recorded(event.TypeCallEnded) == 1 })
		}
		b.esc(id)
		b.outcome(b.wait(id), event.TurnAborted)
		if ran := e.runs.Load() == 1; ran == off {
			t.Errorf("switched off: %v; it ran: %v\n%s", off, ran, strings.TrimSpace(b.types()))
		}
	}
}
