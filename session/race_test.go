package session_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
)

// rounds is how often a race is run: the number that the requirements name,
// fewer where everything is slow.
func rounds() int {
	if detected || testing.Short() {
		return 200
	}
	return 1000
}

// A stop that names a turn and comes late, early or twice ends that turn or
// nothing. The one behind it never notices.
//
// proves INT-16, INT-20, INT-22, TRN-02, B036
func TestALateStopNeverReachesTheNextTurn(t *testing.T) {
	r := newRig(t, plan{})
	stopped := 0
	for i := range rounds() / 2 {
		first := r.submit("first")
		second := r.submit("second")
		var late sync.WaitGroup
		for range 2 {
			late.Go(func() {
				jitter(r.ctx, 300*time.Microsecond)
				if r.stop(session.Address{Input: first}) == session.Stopping {
					stopped++ // by one of the two at most
				}
			})
		}
		one := r.wait(first)
		late.Wait()
		_ = r.live.Remove(r.ctx, "i_none", "me") // it is answered behind whatever the driver had to do by then
		if len(r.live.Status().Held) > 0 {       // it was stopped, if at its very end: what waited runs when told to
			if _, err := r.live.Continue(r.ctx, "me", true); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		two := r.wait(second)
		if two.Outcome != event.TurnCompleted {
			t.Fatalf("round %d: the second turn ended %s, the first %s", i, two.Outcome, one.Outcome)
		}
		if s := r.stop(session.Address{Turn: one.Turn}); s == session.Stopping {
			t.Fatalf("round %d: turn %d can still be stopped", i, one.Turn)
		}
	}
	t.Logf("%d of the stops came in time", stopped)
	r.holds()
}

// From the moment an input is acknowledged its turn can be stopped, and a stop
// that was answered is obeyed: nothing is asked of the model after it.
//
// proves INT-21, TRN-02, TRN-04, B040
func TestAStopRightAfterTheAcceptanceIsObeyed(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("")}})
	asked := 0
	for i := range rounds() {
		r.model.stopped.Store(false)
		before := r.model.count()
		id := r.submit(fmt.Sprintf("prompt %d", i))
		if i%4 > 0 {
			jitter(r.ctx, 150*time.Microsecond)
		}
		if s := r.stop(session.Address{Input: id}); s != session.Stopping {
			t.Fatalf("round %d: a turn that was accepted can't be stopped: %v\n%s", i, s, r.types())
		}
		r.model.stopped.Store(true)
		sum := r.wait(id)
		if sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.UserSIGINT) {
			t.Fatalf("round %d: %+v", i, sum)
		}
		asked += r.model.count() - before
	}
	if n := r.model.late.Load(); n > 0 {
		t.Errorf("the model was asked %d times after the stop was answered", n)
	}
	t.Logf("%d of %d were stopped before a request", rounds()-asked, rounds())
	if l := r.holds(); len(l.TurnOf) != rounds() { // each prompt is in the log
		t.Errorf("%d prompts have a turn", len(l.TurnOf))
	}
}

// A call's own end and the stop race: whoever is first, there is one end, and
// what the tool returned as its result is the result.
//
// proves TOL-07, TOL-08, INT-29, INT-44, TRN-19
func TestAResultIsNeverLostInARaceWithTheStop(t *testing.T) {
	type fate struct{ started, produced atomic.Bool }
	var now atomic.Pointer[fate]
	work := func(b interrupt.Behaviour) func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			f := now.Load()
			f.started.Store(true)
			sig := tool.SignalOf(c)
			if b == interrupt.NonInterruptible {
				sig = interrupt.Never()
			}
			wait, cancel := context.WithTimeout(context.Background(), 100*time.Microsecond)
			defer cancel()
			select {
			case <-sig.Done():
				return tool.Result{}, sig.Checkpoint()
			case <-wait.Done():
			}
			f.produced.Store(true)
			return tool.Text("real"), nil
		}
	}
	kinds := []interrupt.Behaviour{interrupt.NonInterruptible, interrupt.Cooperative, interrupt.ContextInterruptible}
	var tools []tool.Tool
	for _, k := range kinds {
		tools = append(tools, deed(k.String(), k, work(k)))
	}
	var n atomic.Int64
	r := newRig(t, plan{tools: tools, talks: []talk{func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		if last := req.Messages[len(req.Messages)-1]; last.Role == event.RoleTool {
			return says("done")(ctx, req, say)
		}
		i := n.Add(1)
		return calls(fmt.Sprintf("c%d", i), kinds[i%3].String())(ctx, req, say)
	}}})
	seen := map[event.CallOutcome]int{}
	for i := range rounds() {
		f := &fate{}
		now.Store(f)
		id := r.submit("go")
		if i%8 > 0 {
			r.untilStarted(func() bool { return f.started.Load() })
		}
		jitter(r.ctx, 200*time.Microsecond)
		r.stop(session.Address{Input: id})
		sum := r.wait(id)
		for _, c := range sum.Calls {
			seen[c.End.Outcome]++
			text := c.End.Content.Text()
			switch c.End.Outcome {
			case event.CallFinished:
				if !f.produced.Load() || text != "real" || c.End.Success == nil || !*c.End.Success {
					t.Fatalf("round %d: %+v", i, c.End)
				}
			case event.CallStopped:
				if f.produced.Load() {
					t.Fatalf("round %d: a result was lost: %+v", i, c.End)
				}
			case event.CallSkipped:
				if f.started.Load() {
					t.Fatalf("round %d: it ran and is called skipped: %+v", i, c.End)
				}
			default:
				t.Fatalf("round %d: %+v", i, c.End)
			}
		}
		if f.started.Load() && len(sum.Calls) != 1 {
			t.Fatalf("round %d: %d ends", i, len(sum.Calls))
		}
	}
	t.Logf("ends: %v", seen)
	if seen[event.CallFinished] == 0 || seen[event.CallStopped] == 0 {
		t.Errorf("the race was never close: %v", seen)
	}
	r.holds()
}

// untilStarted waits without looking at the session, for the sake of speed.
func (r *rig) untilStarted(ok func() bool) {
	r.Helper()
	for deadline := time.Now().Add(bound); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			r.Fatal("the call never started")
		}
	}
}

// Nothing is left behind by a turn: no goroutine, no registration with the
// context of whoever drives the turns.
//
// proves INT-33, INT-47, TRN-04
func TestAThousandTurnsLeaveNothingBehind(t *testing.T) {
	r := newRig(t, plan{tools: []tool.Tool{deed("t", interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil })},
		talks: []talk{func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
			if req.Messages[len(req.Messages)-1].Role == event.RoleTool {
				return says("done")(ctx, req, say)
			}
			return calls("", "t")(ctx, req, say)
		}}})
	caller := &counted{Context: context.Background(), done: make(chan struct{})}
	turnOf := func() {
		id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("go")}, Caller: caller})
		if err != nil {
			t.Fatal(err)
		}
		if sum := r.wait(id); sum.Outcome != event.TurnCompleted {
			t.Fatalf("%+v", sum)
		}
	}
	turnOf()
	before := runtime.NumGoroutine()
	for range rounds() {
		turnOf()
	}
	r.until("as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before+2 })
	if n := caller.live.Load(); n != 0 {
		t.Errorf("%d registrations with the caller's context are left", n)
	}
	if n := caller.most.Load(); n != 1 {
		t.Errorf("%d registrations at once", n)
	}
}

// counted is a context that counts who waits for its end.
type counted struct {
	context.Context
	done       chan struct{} // never closed
	live, most atomic.Int64
}

func (c *counted) Done() <-chan struct{} { return c.done }

// AfterFunc is what package context asks for before it starts a goroutine.
func (c *counted) AfterFunc(func()) func() bool {
	n := c.live.Add(1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	var once sync.Once
	return func() bool {
		done := false
		once.Do(func() { c.live.Add(-1); done = true })
		return done
	}
}

// Input that is offered while a turn ends runs: in no gap can it be parked
// unseen.
//
// proves TRN-13, TRN-17, TRN-06, B048
func TestInputOfferedAtATurnsEndAlwaysRuns(t *testing.T) {
	r := newRig(t, plan{})
	var ids []event.InputID
	var offered sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		offered.Go(func() {
			for range rounds() / 4 {
				jitter(r.ctx, 200*time.Microsecond)
				id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("more")}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	offered.Wait()
	turns := map[int]bool{}
	for _, id := range ids[len(ids)-100:] { // older results may be forgotten
		sum := r.wait(id)
		if sum.Outcome != event.TurnCompleted || turns[sum.Turn] {
			t.Fatalf("%+v", sum)
		}
		turns[sum.Turn] = true
	}
	l := r.holds()
	if l.Box.Len() != 0 || len(l.TurnOf) != len(ids) || r.model.count() != len(ids) {
		t.Errorf("%d accepted, %d ran, %d requests, %d wait", len(ids), len(l.TurnOf), r.model.count(), l.Box.Len())
	}
}
