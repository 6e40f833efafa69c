package session_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/turn"
)

// streams says the deltas and waits for go on; then it ends as it is told.
func streams(on <-chan struct{}, end func(ctx context.Context, say func(event.Delta) bool) error, deltas ...event.Delta) talk {
	return func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
		for _, d := range deltas {
			if !say(d) {
				return nil
			}
		}
		select {
		case <-on:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return end(ctx, say)
	}
}

func oneCall(block int, id, name string) []event.Delta {
	return []event.Delta{event.CallStart{Block: block, ID: id, Name: name}, event.ArgsDelta{Block: block, Text: "{}"}, event.CallEnd{Block: block}}
}

func finishes(_ context.Context, say func(event.Delta) bool) error {
	say(event.Finish{Reason: event.FinishTools})
	return nil
}

// proves TOL-09, TOL-08: the tool runs, durably started, before the model has
// finished its answer
func TestAToolRunsWhileTheModelStillStreams(t *testing.T) {
	on := make(chan struct{})
	var r *rig
	mine := deed("look", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		if !r.durable("call/started") || strings.Contains(r.types(), "message/assistant") {
			t.Errorf("journal when it runs:\n%s", r.types())
		}
		close(on) // only now the answer goes on
		return tool.Text("seen"), nil
	})
	r = newRig(t, plan{tools: []tool.Tool{mine}, talks: []talk{streams(on, finishes, oneCall(0, "c1", "look")...), says("fine")}})
	if sum := r.run("go"); sum.Outcome != event.TurnCompleted || sum.Text != "fine" || sum.Calls[0].End.Content.Text() != "seen" {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// An attempt that breaks off behind a call that ran is not asked again: the next
// request shows the call and its result.
//
// proves TOL-09, B059, REC-08
func TestAStreamThatBreaksBehindACallThatRanIsGoneOnFrom(t *testing.T) {
	on := make(chan struct{})
	var ran atomic.Int32
	mine := deed("look", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		ran.Add(1)
		close(on)
		return tool.Text("seen"), nil
	})
	var second model.Request
	drops := func(context.Context, func(event.Delta) bool) error {
		return &model.Error{Failure: event.Failure{Code: event.FailTransport, Message: "dropped"}}
	}
	r := newRig(t, plan{tools: []tool.Tool{mine}, talks: []talk{streams(on, drops, oneCall(0, "c1", "look")...),
		func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
			second = req
			return says("fine")(ctx, req, say)
		}}})
	sum := r.run("go")
	if sum.Outcome != event.TurnCompleted || ran.Load() != 1 || r.model.count() != 2 || sum.Step != 2 {
		t.Errorf("%+v, ran %d times, %d requests", sum, ran.Load(), r.model.count())
	}
	if n := len(second.Messages); n != 3 || second.Messages[2].Call != "c1" || second.Messages[2].Content.Text() != "seen" || !second.Messages[1].Partial {
		t.Errorf("the next request holds %+v", second.Messages)
	}
	r.holds()
}

// One gate in front of each start serves all shapes of dispatch: a stop that
// comes while calls are judged or wait for room lets none of them start.
//
// proves INT-28, INT-29, INT-36, TOL-09
func TestAStopSkipsWhatHasNotStartedInEachShapeOfDispatch(t *testing.T) {
	for name, c := range map[string]struct {
		concurrent bool
		eager      bool
		cap        int
	}{
		"sequential": {false, false, 0}, "parallel": {true, false, 2}, "eager": {true, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var ran []event.CallID
			began, stopped, on := make(chan struct{}), make(chan struct{}), make(chan struct{})
			mine := tooltest.Func{Is: tool.Spec{Name: "work", Schema: []byte(`{"type":"object"}`), Concurrent: c.concurrent}, Declared: interrupt.NonInterruptible,
				Do: func(_ context.Context, call *tool.Call) (tool.Result, error) {
					mu.Lock()
					ran = append(ran, call.ID)
					mu.Unlock()
					close(began)
					<-stopped
					return tool.Text("real"), nil
				}}
			first := make(chan struct{})
			held := gateFunc(func(ctx context.Context, call *tool.Call) gate.Verdict {
				if call.ID != "c1" { // it allows what was stopped meanwhile
					<-first
					<-ctx.Done()
				}
				return gate.Verdict{Decision: gate.Allow, By: "test"}
			})
			var deltas []event.Delta
			for i, id := range []string{"c1", "c2", "c3"} {
				deltas = append(deltas, oneCall(i, id, "work")...)
			}
			if !c.eager {
				close(on)
			}
			r := newRig(t, plan{gate: held, tools: []tool.Tool{mine}, talks: []talk{streams(on, finishes, deltas...)},
				turn: turn.Options{Parallel: c.cap, NoEager: !c.eager}})
			id := r.submit("go")
			<-began
			close(first)
			if early := !strings.Contains(r.types(), "message/assistant"); early != c.eager {
				t.Errorf("before the message: %v", early)
			}
			r.stop(session.Address{Input: id})
			close(stopped)
			sum := r.wait(id)
			if sum.Outcome != event.TurnAborted || !slices.Equal(ran, []event.CallID{"c1"}) || len(sum.Calls) != 3 {
				t.Fatalf("%+v, ran %v", sum, ran)
			}
			for i, call := range sum.Calls {
				want := event.CallSkipped
				if i == 0 {
					want = event.CallFinished
				}
				if call.End.Outcome != want {
					t.Errorf("%s: %+v", call.ID, call.End)
				}
			}
			r.holds()
		})
	}
}

type gateFunc func(ctx context.Context, call *tool.Call) gate.Verdict

func (f gateFunc) Judge(ctx context.Context, call *tool.Call, _ tool.Spec) (gate.Verdict, error) {
	return f(ctx, call), nil
}

// proves INT-40, TOL-09: a sibling that fails or is refused trips nothing, in
// none of the shapes
func TestASiblingThatFailsCancelsNobody(t *testing.T) {
	for _, eager := range []bool{true, false} {
		both := make(chan struct{})
		var ok atomic.Bool
		bad := deed("bad", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, errGone })
		good := deed("good", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			<-both
			ok.Store(!tool.SignalOf(c).Cancelled())
			return tool.Text("done"), nil
		})
		r := newRig(t, plan{tools: []tool.Tool{bad, good}, talks: []talk{calls("c1", "good", "c2", "bad"), says("fine")}, turn: turn.Options{NoEager: !eager}})
		id := r.submit("go")
		r.until("the other has failed", func() bool { return strings.Contains(r.types(), "call/ended turn 1 c2") })
		close(both)
		if sum := r.wait(id); !ok.Load() || sum.Outcome != event.TurnCompleted || sum.Calls[0].End.Outcome != event.CallFinished {
			t.Errorf("%+v", sum)
		}
		r.holds()
	}
}
