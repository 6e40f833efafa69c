package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/turn"
)

// script is a tool that makes calls of its own.
func script(do func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error)) tool.Tool {
	return deed("script", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		caller, ok := tool.CallerOf(c)
		if !ok {
			return tool.Result{}, tool.Fatalf("the call has no way to other tools")
		}
		return do(ctx, c, caller)
	})
}

func empty() json.RawMessage { return json.RawMessage(`{}`) }

// proves TOL-24's records, TOL-08, TOL-01: each inner call's start is durable
// before its tool runs, under a name of its own, with its own company
func TestAnInnerCallIsDurableBeforeItRunsAndIsTheOuterCallsFact(t *testing.T) {
	var r *rig
	var mu sync.Mutex
	var equipped, ids []string
	step := deed("step", interrupt.NonInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		mu.Lock()
		ids = append(ids, string(c.ID))
		mu.Unlock()
		if !r.durable(`"n":` + strings.TrimPrefix(string(c.ID), "c1.")) {
			t.Errorf("call %s runs before its start is durable", c.ID)
		}
		if _, nested := tool.CallerOf(c); nested {
			t.Error("an inner call can make calls")
		}
		err := tool.RecorderOf(c).Record(ctx, event.ProcessStarted{Owner: "call", ID: string(c.ID), PID: 1})
		return tool.Text("did " + string(c.ID)), err
	})
	var got []tool.Inner
	r = newRig(t, plan{tools: []tool.Tool{step, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		for range 2 {
			in, err := caller.Call(ctx, "step", empty())
			if err != nil {
				return tool.Result{}, err
			}
			got = append(got, in)
		}
		for name, args := range map[string]string{"nosuch": `{}`, "step": `[1]`} {
			if in, err := caller.Call(ctx, name, json.RawMessage(args)); err != nil || in.Ended.Outcome != event.CallInvalid || in.Ended.Err == "" || in.N != 0 {
				t.Errorf("%s %s: %+v, %v", name, args, in, err)
			}
		}
		return tool.Text("all done"), nil
	})}, talks: []talk{calls("c1", "script"), says("fine")}, equip: func(c *tool.Call) *tool.Call {
		mu.Lock()
		defer mu.Unlock()
		equipped = append(equipped, string(c.ID))
		return c
	}})
	sum := r.run("go")
	if sum.Outcome != event.TurnCompleted || sum.Calls[0].End.Content.Text() != "all done" || len(sum.Calls) != 1 {
		t.Fatalf("%+v", sum)
	}
	want := []string{string(tool.InnerID("c1", 1)), string(tool.InnerID("c1", 2))}
	if !slices.Equal(ids, want) || !slices.Equal(equipped, append([]string{"c1"}, want...)) {
		t.Errorf("ran as %v, equipped %v", ids, equipped)
	}
	for i, in := range got {
		if in.N != i+1 || in.Ended.Outcome != event.CallFinished || in.Ended.Result.Content.Text() != "did "+want[i] {
			t.Errorf("%+v", in)
		}
	}
	starts, ends := payloads[event.InnerStarted](t, r.records()), payloads[event.InnerEnded](t, r.records())
	if len(starts) != 2 || len(ends) != 2 || starts[1].N != 2 || starts[0].By != "rule:no-approval-needed" || !*ends[0].Ended.Success {
		t.Errorf("%+v\n%+v", starts, ends)
	}
	for _, rec := range r.records() {
		if strings.HasPrefix(string(rec.Type), "inner/") || rec.Type == event.TypeProcessStarted {
			if rec.Call != "c1" {
				t.Errorf("%s names call %q", rec.Type, rec.Call)
			}
		}
	}
	if l := r.holds(); len(l.Turn.Calls[0].Inner) != 2 || string(l.Turn.Calls[0].Inner[1].ID) != want[1] {
		t.Errorf("folded: %+v", l.Turn.Calls[0].Inner)
	}
}

// proves TOL-07, TOL-10, INT-17, TRN-06: a stop reaches what a script runs; the
// rest of the script's calls never start
func TestAStopReachesWhatAScriptRuns(t *testing.T) {
	var after error
	slow := deed("slow", interrupt.ExternallyTerminated, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		reg, ok := tool.RegistrarOf(c)
		if !ok {
			t.Error("an inner call has no registrar of its own")
		}
		gone := make(chan struct{})
		if _, err := reg.Register(sync.OnceFunc(func() { close(gone) })); err != nil {
			return tool.Result{}, err
		}
		<-gone
		res := tool.Text("half")
		res.Stopped = true
		return res, nil
	})
	r := newRig(t, plan{tools: []tool.Tool{slow, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		in, err := caller.Call(ctx, "slow", empty())
		if err != nil || in.Ended.Outcome != event.CallStopped {
			t.Errorf("%+v, %v", in, err)
		}
		_, after = caller.Call(ctx, "slow", empty())
		return tool.Result{}, tool.SignalOf(c).Checkpoint()
	})}, talks: []talk{calls("c1", "script")}})
	id := r.submit("go")
	r.until("the inner call runs", func() bool { return strings.Contains(r.types(), "inner/started") })
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if sum.Outcome != event.TurnAborted || sum.Calls[0].End.Outcome != event.CallStopped || !strings.Contains(sum.Calls[0].End.Content.Text(), "1 call of its own had ended") {
		t.Errorf("%+v", sum)
	}
	if !errors.Is(after, tool.ErrSkipped) {
		t.Errorf("a call after the stop: %v", after)
	}
	if n := len(payloads[event.InnerStarted](t, r.records())); n != 1 {
		t.Errorf("%d inner calls started", n)
	}
	r.holds()
}

// proves TOL-04, TOL-10: an inner call that is left running is named, fenced
// and cut; it records nothing any more
func TestWhatAScriptLeavesRunningIsNamedAndCut(t *testing.T) {
	began, tried := make(chan struct{}), make(chan error, 1)
	slow := deed("slow", interrupt.ContextInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		close(began)
		<-ctx.Done() // the outer call has ended
		tried <- tool.RecorderOf(c).Record(context.WithoutCancel(ctx), event.ProcessStarted{Owner: "call", ID: string(c.ID), PID: 1})
		return tool.Result{}, context.Cause(ctx)
	})
	var left sync.WaitGroup
	r := newRig(t, plan{tools: []tool.Tool{slow, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		left.Go(func() { _, _ = caller.Call(context.WithoutCancel(ctx), "slow", empty()) })
		<-began
		return tool.Text("I do not wait"), nil
	})}, talks: []talk{calls("c1", "script"), says("fine")}})
	sum := r.run("go")
	left.Wait()
	if text := sum.Calls[0].End.Content.Text(); !strings.HasPrefix(text, "I do not wait") || !strings.Contains(text, "Inner call 1 (slow) had started; its outcome is unknown.") {
		t.Errorf("%q", text)
	}
	if err := <-tried; err == nil {
		t.Error("a process of an ended call is recorded")
	}
	r.holds()
}

// asks is a gate that asks about one tool.
type asks string

func (a asks) Judge(_ context.Context, c *tool.Call, _ tool.Spec) (gate.Verdict, error) {
	if c.Name == string(a) {
		return gate.Verdict{Decision: gate.Ask, By: "policy:ask", Prompt: "run " + c.Name}, nil
	}
	return gate.Verdict{Decision: gate.Allow, By: "test"}, nil
}

// proves HOK-04, TOL-24, INT-28: an inner call goes through the session's gate,
// and a person is asked in the outer call's name
func TestAnInnerCallGoesThroughTheGate(t *testing.T) {
	for name, c := range map[string]struct {
		decision event.Decision
		ran      bool
		outcome  event.TurnOutcome
	}{
		"allowed": {event.Allow, true, event.TurnCompleted},
		"denied":  {event.Deny, false, event.TurnCompleted},
		"abort":   {event.Abort, false, event.TurnAborted},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Bool
			var in tool.Inner
			var failed error
			step := deed("step", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
				ran.Store(true)
				return tool.Text("did"), nil
			})
			r := newRig(t, plan{gate: asks("step"), tools: []tool.Tool{step, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
				in, failed = caller.Call(ctx, "step", empty())
				return tool.Text("so"), nil
			})}, talks: []talk{calls("c1", "script"), says("fine")}})
			id := r.submit("go")
			r.until("it is asked", func() bool { return len(r.live.Status().Approvals) == 1 })
			q := r.live.Status().Approvals[0]
			if q.Call != "c1" || q.Asked.Tool != "step" || q.Asked.Question || q.Asked.Prompt != "run step" || !r.durable(string(q.Asked.ID)) {
				t.Errorf("%+v", q)
			}
			if err := r.live.Decide(r.ctx, q.Asked.ID, c.decision, "me", "because"); err != nil {
				t.Fatal(err)
			}
			sum := r.wait(id)
			if ran.Load() != c.ran || sum.Outcome != c.outcome {
				t.Errorf("ran %v, %+v", ran.Load(), sum)
			}
			starts := payloads[event.InnerStarted](t, r.records())
			switch c.decision {
			case event.Allow:
				if failed != nil || len(starts) != 1 || starts[0].By != "me" {
					t.Errorf("%v, %+v", failed, starts)
				}
			case event.Deny:
				if failed != nil || in.Ended.Outcome != event.CallWasDenied || !strings.Contains(in.Denied, "because") || len(starts) != 0 {
					t.Errorf("%+v, %v", in, failed)
				}
			case event.Abort:
				if !errors.Is(failed, tool.ErrSkipped) || in.Denied != "" {
					t.Errorf("a stop is a refusal: %+v, %v", in, failed)
				}
			}
			r.holds()
		})
	}
}

// proves HOK-02, TOL-03: a gate's refusal keeps a script's call from running, and
// is told to the script; the turn goes on
func TestAnInnerCallThatTheGateRefusesNeverRuns(t *testing.T) {
	step := deed("step", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("it ran")
		return tool.Result{}, nil
	})
	var in tool.Inner
	r := newRig(t, plan{tools: []tool.Tool{step, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		var err error
		in, err = caller.Call(ctx, "step", empty())
		return tool.Text("so"), err
	})}, talks: []talk{calls("c1", "script"), says("fine")}, gate: gateFunc(func(_ context.Context, c *tool.Call) gate.Verdict {
		if c.Name == "step" {
			return gate.Verdict{Decision: gate.Block, By: "rule:mine", Why: "not here"}
		}
		return gate.Verdict{Decision: gate.Allow, By: "test"}
	})})
	sum := r.run("go")
	if sum.Outcome != event.TurnCompleted || in.Ended.Outcome != event.CallWasDenied || !strings.Contains(in.Denied, "rule:mine: not here") {
		t.Errorf("%+v, %+v", sum, in)
	}
	if strings.Contains(r.types(), "inner/started") {
		t.Error("a refused call is recorded as started")
	}
	r.holds()
}

// proves IFC-11: where nobody can decide the turn ends blocked, for a script's
// call as for any
func TestAnInnerCallThatNobodyCanApproveEndsTheTurnBlocked(t *testing.T) {
	step := tooltest.Func{Is: tool.Spec{Name: "step", Schema: json.RawMessage(`{"type":"object"}`),
		Asks: func(json.RawMessage) (string, bool) { return "step", true }},
		Do: func(context.Context, *tool.Call) (tool.Result, error) {
			t.Error("it ran")
			return tool.Result{}, nil
		}}
	for name, p := range map[string]plan{"headless": {gate: gate.Rules{Policy: gate.DenyAll}}, "a gate that asks nobody": {gate: asks("step"), alone: true}} {
		t.Run(name, func(t *testing.T) {
			p.tools = []tool.Tool{step, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
				if _, err := caller.Call(ctx, "step", empty()); err != nil {
					return tool.Result{}, err
				}
				return tool.Text("so"), nil
			})}
			p.talks = []talk{calls("c1", "script"), says("fine")}
			r := newRig(t, p)
			if sum := r.run("go"); sum.Outcome != event.TurnBlocked || sum.Reason != "policy:headless" || r.model.count() != 1 {
				t.Errorf("%+v", sum)
			}
			r.holds()
		})
	}
}

// proves TOL-04
func TestAFatalInnerCallEndsTheTurnWhateverTheScriptMakesOfIt(t *testing.T) {
	bad := deed("bad", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { panic("oops") })
	r := newRig(t, plan{tools: []tool.Tool{bad, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		if _, err := caller.Call(ctx, "bad", empty()); !tool.IsFatal(err) {
			t.Errorf("%v", err)
		}
		return tool.Text("never mind"), nil
	})}, talks: []talk{calls("c1", "script"), says("fine")}})
	if sum := r.run("go"); sum.Outcome != event.TurnFailed || !strings.Contains(sum.Error.Message, "panicked") || r.model.count() != 1 {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// proves TOL-09: inner calls run side by side, an exclusive one alone
func TestInnerCallsRunSideBySideAndAnExclusiveOneAlone(t *testing.T) {
	var inside, most atomic.Int32
	both := make(chan struct{})
	work := func(name string, concurrent bool) tool.Tool {
		return tooltest.Func{Is: tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Concurrent: concurrent},
			Do: func(context.Context, *tool.Call) (tool.Result, error) {
				n := inside.Add(1)
				defer inside.Add(-1)
				if !concurrent && n != 1 {
					t.Errorf("an exclusive call runs beside %d", n-1)
				}
				if concurrent && n == 2 {
					most.Store(n)
					close(both)
				}
				if concurrent {
					<-both
				}
				return tool.Text("ok"), nil
			}}
	}
	r := newRig(t, plan{tools: []tool.Tool{work("together", true), work("alone", false), script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		for _, name := range []string{"together", "alone"} {
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if in, err := caller.Call(ctx, name, empty()); err != nil || in.Ended.Outcome != event.CallFinished {
						t.Errorf("%s: %+v, %v", name, in, err)
					}
				})
			}
			wg.Wait()
		}
		return tool.Text("so"), nil
	})}, talks: []talk{calls("c1", "script"), says("fine")}})
	if sum := r.run("go"); sum.Outcome != event.TurnCompleted || most.Load() != 2 {
		t.Errorf("%+v, at most %d at once", sum, most.Load())
	}
	r.holds()
}

// proves REC-07: a job of an inner call is the outer call's, and its tree is
// the inner call's
func TestAJobOfAnInnerCallNamesBoth(t *testing.T) {
	p := newTree()
	step := deed("step", interrupt.NonInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		if err := tool.RecorderOf(c).Record(ctx, event.ProcessStarted{Owner: "call", ID: string(c.ID), PID: 4}); err != nil {
			return tool.Result{}, err
		}
		_, err := tool.JobsOf(c).Adopt(ctx, tool.Job{Call: c.ID, Command: "serve", Process: p})
		return tool.Text("started"), err
	})
	r := newRig(t, plan{tools: []tool.Tool{step, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		_, err := caller.Call(ctx, "step", empty())
		return tool.Text("so"), err
	})}, talks: []talk{calls("c1", "script"), says("fine")}})
	r.run("go")
	js := payloads[event.JobStarted](t, r.records())
	if len(js) != 1 || js[0].Call != "c1" || js[0].Inner != 1 {
		t.Errorf("%+v", js)
	}
	p.Stop(interrupt.Ladder{})
	r.until("its end is recorded", func() bool { return strings.Contains(r.types(), "job/ended") })
	if l := r.holds(); len(l.Procs) != 0 {
		t.Errorf("the tree of an ended job is open: %+v", l.Procs)
	}
}

// A tool that says so is waited for behind a forced stop, as an outer call and
// as an inner one; others have the runner's moment.
//
// proves INT-08, TOL-05, TOL-07
func TestAForcedStopWaitsForAToolsLastRung(t *testing.T) {
	for name, c := range map[string]struct {
		forced time.Duration
		inner  bool
		want   event.CallOutcome
	}{
		"outer":      {bound, false, event.CallStopped},
		"inner":      {bound, true, event.CallStopped},
		"the others": {0, false, event.CallQuarantined},
	} {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}), make(chan struct{})
			last := tooltest.Func{Is: tool.Spec{Name: "last", Schema: empty(), Forced: c.forced}, Declared: interrupt.Cooperative,
				Do: func(ctx context.Context, call *tool.Call) (tool.Result, error) {
					close(begun)
					<-tool.SignalOf(call).Forced()
					if c.forced == 0 {
						<-ended
					} else { // longer than the runner's own moment
						work := time.NewTimer(400 * time.Millisecond)
						<-work.C
					}
					return tool.Result{}, tool.SignalOf(call).Checkpoint()
				}}
			outer := tooltest.Func{Is: tool.Spec{Name: "script", Schema: empty(), Forced: bound}, Declared: interrupt.Cooperative,
				Do: func(ctx context.Context, call *tool.Call) (tool.Result, error) {
					caller, _ := tool.CallerOf(call)
					in, err := caller.Call(ctx, "last", empty())
					if err == nil && in.Ended.Outcome != event.CallStopped {
						t.Errorf("the inner call: %s", in.Ended.Outcome)
					}
					return tool.Result{}, tool.SignalOf(call).Checkpoint()
				}}
			name := map[bool]string{false: "last", true: "script"}[c.inner]
			r := newRig(t, plan{tools: []tool.Tool{last, outer}, talks: []talk{calls("c1", name), says("fine")}})
			id := r.submit("go")
			<-begun
			for range 2 { // the second press is by force
				if _, err := r.live.Interrupt(session.Address{Input: id}, byMe(), true); err != nil {
					t.Error(err)
				}
			}
			sum := r.wait(id)
			close(ended)
			if sum.Outcome != event.TurnAborted || len(sum.Calls) != 1 || sum.Calls[0].End.Outcome != c.want {
				t.Errorf("%+v", sum)
			}
			r.holds()
		})
	}
}

// asker is a tool that asks a person.
func asker(got *tool.Answer, failed *error) tool.Tool {
	return deed("ask", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		*got, *failed = tool.PeopleOf(c).Ask(ctx, tool.Question{Prompt: "which?", Options: []string{"a", "b"}})
		if *failed != nil {
			return tool.Result{}, *failed
		}
		return tool.Text("they said " + got.Text), nil
	})
}

// A question whose asker waits no longer is withdrawn in the journal, while the
// call runs on: nobody is asked what nobody waits for.
//
// proves TOL-27, HOK-04
func TestAQuestionThatNobodyWaitsForIsWithdrawn(t *testing.T) {
	errEnough := errors.New("enough")
	gaveUp, on := make(chan error, 1), make(chan struct{})
	ask := deed("ask", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		own, stop := context.WithCancelCause(ctx)
		go func() { <-on; stop(errEnough) }()
		_, err := tool.PeopleOf(c).Ask(own, tool.Question{Prompt: "which?"})
		gaveUp <- err
		got, err := tool.PeopleOf(c).Ask(ctx, tool.Question{Prompt: "and which now?"})
		if err != nil {
			return tool.Result{}, err
		}
		if _, err := tool.PeopleOf(c).Ask(own, tool.Question{Prompt: "one more?"}); !errors.Is(err, errEnough) {
			t.Errorf("asked with a context that has ended: %v", err)
		}
		return tool.Text(got.Text), nil
	})
	r := newRig(t, plan{tools: []tool.Tool{ask}, talks: []talk{calls("c1", "ask"), says("fine")}})
	id := r.submit("go")
	r.until("it is asked", func() bool { return len(r.live.Status().Approvals) == 1 })
	first := r.live.Status().Approvals[0].Asked.ID
	close(on)
	r.until("the next is asked", func() bool {
		qs := r.live.Status().Approvals
		return len(qs) == 1 && qs[0].Asked.ID != first
	})
	if err := <-gaveUp; !errors.Is(err, errEnough) {
		t.Errorf("%v", err)
	}
	if v := payloads[event.ApprovalVoided](t, r.records()); len(v) != 1 || v[0].ID != first {
		t.Errorf("voided %+v", v)
	}
	var stale *turn.RefusedError
	if err := r.live.Decide(r.ctx, first, event.Allow, "me", "a"); !errors.As(err, &stale) {
		t.Errorf("a late answer: %v", err)
	}
	if err := r.live.Decide(r.ctx, r.live.Status().Approvals[0].Asked.ID, event.Allow, "me", "b"); err != nil {
		t.Error(err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnCompleted || !strings.HasSuffix(sum.Calls[0].End.Content.Text(), "b") {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// proves TOL-27, HOK-04
func TestAToolsQuestionReachesAPersonAndTheAnswerTheTool(t *testing.T) {
	var got tool.Answer
	var failed error
	r := newRig(t, plan{tools: []tool.Tool{asker(&got, &failed)}, talks: []talk{calls("c1", "ask"), says("fine")}})
	id := r.submit("go")
	r.until("it is asked", func() bool { return len(r.live.Status().Approvals) == 1 })
	q := r.live.Status().Approvals[0]
	if q.Call != "c1" || !q.Asked.Question || !slices.Equal(q.Asked.Options, []string{"a", "b"}) || !r.durable(string(q.Asked.ID)) {
		t.Errorf("%+v", q)
	}
	if err := r.live.Decide(r.ctx, q.Asked.ID, event.Allow, "me", "neither"); err != nil {
		t.Fatal(err)
	}
	sum := r.wait(id)
	if failed != nil || got != (tool.Answer{Text: "neither", By: "me"}) || sum.Calls[0].End.Content.Text() != "they said neither" {
		t.Errorf("%+v, %v, %+v", got, failed, sum)
	}
	if len(r.live.Status().Approvals) != 0 {
		t.Error("it is still asked")
	}
	r.holds()
}

// proves TOL-27, HOK-04, B091: a stop withdraws the question; nobody refused
func TestAStopAtAToolsQuestionIsNoRefusal(t *testing.T) {
	var got tool.Answer
	var failed error
	r := newRig(t, plan{tools: []tool.Tool{asker(&got, &failed)}, talks: []talk{calls("c1", "ask")}})
	id := r.submit("go")
	r.until("it is asked", func() bool { return len(r.live.Status().Approvals) == 1 })
	q := r.live.Status().Approvals[0]
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if !errors.Is(failed, tool.ErrVoided) || got.Refused || sum.Outcome != event.TurnAborted {
		t.Errorf("%+v, %v, %+v", got, failed, sum)
	}
	if len(payloads[event.ApprovalVoided](t, r.records())) != 1 || strings.Contains(r.types(), "call/denied") || strings.Contains(r.types(), "approval/decided") {
		t.Errorf("journal:\n%s", r.types())
	}
	var stale *turn.RefusedError
	if err := r.live.Decide(r.ctx, q.Asked.ID, event.Allow, "me", "a"); !errors.As(err, &stale) || stale.Failure.Code != "stale" {
		t.Errorf("a late answer: %v", err)
	}
	r.holds()
}

// proves TOL-27, IFC-11: alone means at once, and without a trace
func TestWhereNobodyIsThereAQuestionIsAnsweredAtOnce(t *testing.T) {
	var got tool.Answer
	var failed error
	r := newRig(t, plan{alone: true, tools: []tool.Tool{asker(&got, &failed)}, talks: []talk{calls("c1", "ask"), says("fine")}})
	if sum := r.run("go"); !errors.Is(failed, tool.ErrNobody) || sum.Outcome != event.TurnCompleted {
		t.Errorf("%v, %+v", failed, sum)
	}
	if strings.Contains(r.types(), "approval/") {
		t.Errorf("journal:\n%s", r.types())
	}
}

// proves REC-03, REC-04: what a crash leaves of a script is told in its result
func TestARuntimeThatDiesInsideAScriptLeavesItsInnerCallNamed(t *testing.T) {
	release := make(chan struct{})
	slow := deed("slow", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		<-release
		return tool.Text("late"), nil
	})
	r := newRig(t, plan{limits: session.Limits{Tool: 50 * time.Millisecond}, tools: []tool.Tool{slow, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		_, err := caller.Call(ctx, "slow", empty())
		return tool.Text("so"), err
	})}, talks: []talk{calls("c1", "script")}})
	r.submit("go")
	r.until("the inner call runs", func() bool { return r.durable("inner/started") })
	l, err := turn.Fold(r.records()) // as the next process would find it
	if err != nil {
		t.Fatal(err)
	}
	added, err := turn.Recover(l, 9, nil, turn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range payloads[event.CallEnded](t, added) {
		found = e.Outcome == event.CallUnknown && strings.Contains(e.Content.Text(), "Inner call 1 (slow) had started; its outcome is unknown.")
	}
	if !found {
		t.Errorf("recovery adds %+v", payloads[event.CallEnded](t, added))
	}
	close(release)
}
