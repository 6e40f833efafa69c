package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Whatever a hook before a compaction says that is no allowance keeps the
// context as it is; one that hangs is left at a stop, and counts as a block.
//
// proves HOK-01, HOK-02, TRN-12, INT-36
func TestAHookBeforeASummaryFailsClosed(t *testing.T) {
	hang := func(ctx context.Context, _ gate.Moment) gate.Verdict {
		<-ctx.Done()
		return gate.Verdict{Decision: gate.Allow, By: "hook:mine"} // too late to be one
	}
	deaf := make(chan struct{})
	t.Cleanup(func() { close(deaf) })
	for name, c := range map[string]struct {
		hook func(context.Context, gate.Moment) gate.Verdict
		stop bool
		want event.TurnOutcome
		code event.FailureCode
	}{
		"it blocks": {vetoes, false, event.TurnFailed, event.FailCompaction},
		"it asks": {func(context.Context, gate.Moment) gate.Verdict {
			return gate.Verdict{Decision: gate.Ask, By: "hook:mine"}
		}, false, event.TurnFailed, event.FailCompaction},
		"it breaks down":            {func(context.Context, gate.Moment) gate.Verdict { panic("oops") }, false, event.TurnFailed, event.FailCompaction},
		"it hangs and is stopped":   {hang, true, event.TurnAborted, ""},
		"it is deaf and is stopped": {func(context.Context, gate.Moment) gate.Verdict { <-deaf; return gate.Verdict{Decision: gate.Allow} }, true, event.TurnAborted, ""},
		"it lets it, and is stopped": {func(ctx context.Context, m gate.Moment) gate.Verdict {
			return gate.Verdict{Decision: gate.Allow, By: "hook:mine"}
		}, true, event.TurnAborted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := gated(gate.PreCompact, c.hook)
			grace := bound
			if strings.HasPrefix(name, "it is deaf") {
				grace = 20 * time.Millisecond
			}
			r := newRig(t, plan{hooks: h, turn: turn.Options{Grace: grace}, talks: []talk{summarizer(hangs("a sum"))}})
			r.run("remember")
			before := contextOf(r.holds())
			id, err := r.live.Compact(r.ctx, "me")
			if err != nil {
				t.Fatal(err)
			}
			if c.stop {
				r.until("the hook was asked", func() bool { return len(h.at(gate.PreCompact)) == 1 })
				if strings.HasPrefix(name, "it lets") {
					r.until("the summary is asked for", func() bool { return r.model.count() == 2 })
				}
				r.stop(session.Address{Input: id})
			}
			sum := r.wait(id)
			if sum.Outcome != c.want || c.code != "" && (sum.Error == nil || sum.Error.Code != c.code) {
				t.Errorf("%+v, %v", sum, sum.Error)
			}
			if name == "it blocks" && !strings.HasSuffix(sum.Error.Message, "hook:mine did not let the context be summarized: not today") {
				t.Errorf("told %q", sum.Error.Message)
			}
			if m := h.at(gate.PreCompact); len(m) != 1 || m[0].Reason != "command" || m[0].Turn != 2 {
				t.Errorf("told %+v", m)
			}
			if !strings.HasPrefix(name, "it lets") && r.model.count() != 1 {
				t.Errorf("%d requests were sent", r.model.count())
			}
			if name == "it hangs and is stopped" {
				if v := payloads[event.HookVerdict](t, r.records()); len(v) != 1 || v[0].Verdict != "no-answer" {
					t.Errorf("recorded %+v", v)
				}
			}
			if got := contextOf(r.holds()); !strings.HasPrefix(got, before) || strings.Contains(got, "conversation_summary") {
				t.Errorf("the context is\n%s", got)
			}
		})
	}
}

// moment is a state of a session that closings, crashes and faults are tried in.
type moment struct {
	name  string
	plan  func() plan
	reach func(r *rig, here <-chan struct{}) // has the session come there
}

// moments are those that steering adds. Whoever is in one closes the channel
// that it is given.
func moments(here chan struct{}) []moment {
	var once sync.Once
	arrive := func() { once.Do(func() { close(here) }) }
	block := func(text string) talk {
		return func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
			if text != "" {
				say(event.TextDelta{Text: text})
			}
			arrive()
			<-ctx.Done()
			return context.Cause(ctx)
		}
	}
	busy := func() []tool.Tool {
		return []tool.Tool{deed("t", interrupt.ContextInterruptible, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			arrive()
			<-ctx.Done()
			return tool.Text("part"), context.Cause(ctx)
		})}
	}
	return []moment{
		{"a text waits to steer", func() plan { return plan{tools: busy(), talks: []talk{calls("c1", "t"), says("fine")}} },
			func(r *rig, here <-chan struct{}) { r.submit("go"); <-here; r.offer("steer", event.PriorityNext) }},
		{"a NOW stops a turn", func() plan { return plan{tools: busy(), talks: []talk{calls("c1", "t"), says("fine")}} },
			func(r *rig, here <-chan struct{}) { r.submit("go"); <-here; r.offer("now", event.PriorityNow) }},
		{"a summary is made", func() plan { return plan{talks: []talk{summarizer(block("half a sum"))}} },
			func(r *rig, here <-chan struct{}) {
				r.run("remember")
				if _, err := r.live.Compact(r.ctx, "me"); err != nil {
					r.Fatal(err)
				}
				<-here
			}},
		{"a hook judges a summary", func() plan {
			return plan{hooks: gated(gate.PreCompact, func(ctx context.Context, _ gate.Moment) gate.Verdict {
				arrive()
				<-ctx.Done()
				return gate.Verdict{Decision: gate.Block, By: "hook:mine"}
			})}
		}, func(r *rig, here <-chan struct{}) {
			r.run("remember")
			if _, err := r.live.Compact(r.ctx, "me"); err != nil {
				r.Fatal(err)
			}
			<-here
		}},
		{"a retried turn runs", func() plan {
			return plan{talks: []talk{func(context.Context, model.Request, func(event.Delta) bool) error { return errGone }, block("again")}, turn: turn.Options{Attempts: 1}}
		},
			func(r *rig, here <-chan struct{}) {
				r.run("go")
				if _, err := r.live.Retry(r.ctx, "me", nil); err != nil {
					r.Fatal(err)
				}
				<-here
			}},
		{"a guard ends an attempt of a deaf model", func() plan {
			return plan{turn: turn.Options{Grace: 20 * time.Millisecond, Guards: turn.Guards{Stall: guard.StallLimits{First: time.Millisecond}}},
				talks: []talk{func(ctx context.Context, _ model.Request, _ func(event.Delta) bool) error {
					<-ctx.Done()
					arrive()
					return context.Cause(ctx)
				}}}
		}, func(r *rig, here <-chan struct{}) { r.submit("go"); <-here }},
	}
}

// A close, at each of these moments, leaves closed books and every accepted
// input in its one place; a process that dies there leaves what recovery closes;
// and the next turn just works.
//
// proves TRN-05, TRN-12, TRN-16, REC-03, REC-05, LOG-13, INT-18
func TestAnEndAtEachMomentOfSteeringLeavesTheTruth(t *testing.T) {
	for i := range moments(nil) {
		for _, end := range []string{"close", "crash", "crash that loses what was not synced", "a disk that fails"} {
			here := make(chan struct{})
			m := moments(here)[i]
			t.Run(m.name+", "+end, func(t *testing.T) {
				var bad atomic.Bool
				p := m.plan()
				p.store.Fault = func(op string) error {
					if bad.Load() && (op == "append" || op == "sync") {
						return errors.New("no space")
					}
					return nil
				}
				r := newRig(t, p)
				m.reach(r, here)
				accepted := payloads[event.InboxAccepted](t, r.records())
				switch end {
				case "close":
					r.close()
				case "crash", "crash that loses what was not synced":
					r.store.Crash(end == "crash")
					_ = r.live.Close(r.ctx, interrupt.SystemShutdown) // it has lost its journal
				case "a disk that fails":
					bad.Store(true)
					r.stop(session.Address{})
					r.until("it is said", func() bool { return r.live.Status().Storage != "" || !r.live.Status().Running })
					bad.Store(false)
					r.until("it is idle and the disk works", func() bool { s := r.live.Status(); return !s.Running && s.Storage == "" })
					r.close()
				}
				r.model.talks = []talk{says("fine")}
				r.cfg.Hooks = nil
				r.reopen()
				if sum := r.run("and now?"); sum.Outcome != event.TurnCompleted {
					t.Errorf("%+v", sum)
				}
				l := r.holds()
				dropped := payloads[event.InboxDropped](t, r.records())
				for _, a := range accepted {
					_, claimed := l.TurnOf[a.ID]
					_, waits := l.Box.Get(a.ID)
					if !claimed && !waits && !strings.Contains(fmt.Sprint(dropped), string(a.ID)) {
						t.Errorf("%s is lost\n%s", a.ID, r.types())
					}
				}
			})
		}
	}
}

// A clock that runs out while its turn ends, and is only seen when the next turn
// runs, ends nothing.
//
// proves INT-16, TRN-02, TRN-11
func TestTheClockOfATurnThatIsOverEndsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, held, goOn := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		var on atomic.Bool
		r := newRig(t, plan{turn: turn.Options{Budget: guard.Budget{Wall: 50 * time.Millisecond}},
			talks: []talk{func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
				<-both
				on.Store(true)
				return says("one")(ctx, req, say)
			}, says("two")},
			store: mem.Options{Fault: func(op string) error {
				if op == "append" && on.CompareAndSwap(true, false) { // the driver writes the answer, with the turn's end behind it
					held <- struct{}{}
					<-goOn
				}
				return nil
			}}})
		first, second := r.submit("first"), r.submit("second")
		close(both)
		<-held
		late, cancel := context.WithTimeout(r.ctx, 80*time.Millisecond)
		<-late.Done() // its clock has run out by now
		cancel()
		close(goOn)
		if one, two := r.wait(first), r.wait(second); one.Outcome != event.TurnCompleted || two.Outcome != event.TurnCompleted {
			t.Errorf("%s, %s: %+v", one.Outcome, two.Outcome, two)
		}
		r.holds()
	})
}
