package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// proves IFC-07, INT-20, INT-21, TRN-14
func TestAStopThatMeetsNothingSaysSoAndLeavesNothingArmed(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("a"), says("b")}})
	for name, a := range map[string]session.Address{"anything": {}, "an input": {Input: "i_1"}, "a turn": {Turn: 1}} {
		if s := r.stop(a); s != session.StopIdle {
			t.Errorf("%s, idle: %v", name, s)
		}
	}
	id := r.submit("one")
	r.until("the answer begins", func() bool { return r.written(`"text":"a"`) })
	for name, a := range map[string]session.Address{"another input": {Input: "i_other"}, "another turn": {Turn: 2}, "the wrong pair": {Input: id, Turn: 9}} {
		if s := r.stop(a); s != session.StopMismatch {
			t.Errorf("%s: %v", name, s)
		}
	}
	if _, err := r.live.Interrupt(session.Address{}, interrupt.Cause{Reason: interrupt.Unknown}, false); err == nil {
		t.Error("a reason that only a newer peer knows stops a turn")
	}
	if r.live.Status().Stopping {
		t.Fatal("a stop for another turn stops this one")
	}
	if s := r.stop(session.Address{Input: id, Turn: 1}); s != session.Stopping {
		t.Errorf("the right one: %v", s)
	}
	if s := r.stop(session.Address{}); s != session.StopAlready && s != session.StopIdle {
		t.Errorf("once more: %v", s)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Who != "me" || sum.Step != 1 || sum.Text != "a" {
		t.Errorf("%+v", sum)
	}
	if s := r.stop(session.Address{Input: id}); s != session.StopIdle {
		t.Errorf("after the end: %v", s)
	}
	if sum := r.run("two"); sum.Outcome != event.TurnCompleted {
		t.Errorf("a stop that met nothing waited for this turn: %+v", sum)
	}
}

// A prompt may stop waiting; the session is busy until its turn has really
// ended, and new input waits behind it.
//
// proves INT-23, INT-03, TRN-01, B047
func TestWhoStopsWaitingLeavesTheSessionBusyUntilTheTurnHasEnded(t *testing.T) {
	release := make(chan struct{})
	slow := deed("slow", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		<-release
		return tool.Text("real"), nil
	})
	r := newRig(t, plan{tools: []tool.Tool{slow}, talks: []talk{calls("c1", "slow"), says("next")}})
	id := r.submit("go")
	r.until("the call has started", func() bool { return strings.Contains(r.types(), "call/started") })
	if s := r.stop(session.Address{Input: id}); s != session.Stopping { // first the signal
		t.Fatal(s)
	}
	gone, cancel := context.WithCancel(r.ctx) // then the prompt is let go
	cancel()
	if _, err := r.live.Wait(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("the prompt waits on: %v", err)
	}
	next := r.submit("hello")
	r.until("it is unwinding", func() bool { st := r.live.Status(); return st.Running && st.Stopping })
	if n := r.model.count(); n != 1 {
		t.Errorf("%d requests: the next input runs on top", n)
	}
	close(release)
	sum := r.wait(id)
	if sum.Outcome != event.TurnAborted || sum.Calls[0].End.Outcome != event.CallFinished || sum.Calls[0].End.Content.Text() != "real" {
		t.Errorf("%+v", sum)
	}
	if two := r.wait(next); two.Outcome != event.TurnCompleted || two.Turn != 2 {
		t.Errorf("what was offered meanwhile: %+v", two)
	}
	r.holds()
}

// A tool that ignores everything holds its turn for a bound, is named while it
// runs on, and what it does later reaches no other turn.
//
// proves TOL-10, TOL-05, TRN-04, TRN-06, B037
func TestAToolThatIgnoresEverythingIsCutOffNamedAndFenced(t *testing.T) {
	release, tried := make(chan struct{}), make(chan error, 3)
	deaf := deed("deaf", interrupt.NonInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		<-release
		tried <- tool.FenceOf(c).Pass(func() error { return nil })
		tried <- tool.RecorderOf(c).Record(ctx, event.ProcessStarted{Owner: "call", ID: string(c.ID), PID: 1})
		_, err := tool.JobsOf(c).Adopt(ctx, tool.Job{Call: c.ID})
		tried <- err
		return tool.Text("late words"), nil
	})
	r := newRig(t, plan{tools: []tool.Tool{deaf}, limits: session.Limits{Tool: 50 * time.Millisecond},
		talks: []talk{calls("c1", "deaf"), hangs("second")}})
	id := r.submit("go")
	r.until("the call has started", func() bool { return strings.Contains(r.types(), "call/started") })
	began := time.Now()
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the turn took %v to end", took)
	}
	e := sum.Calls[0].End
	if sum.Outcome != event.TurnAborted || !sum.Unclear() || e.Outcome != event.CallQuarantined || e.Success != nil || !e.Error || e.Content.Text() != turn.TextQuarantined {
		t.Errorf("%+v", sum)
	}
	if u := r.live.Status().Unwinding; len(u) != 1 || !strings.Contains(u[0], "deaf") || !strings.Contains(u[0], "turn 1") {
		t.Errorf("unwinding: %v", u)
	}
	second := r.submit("and now?")
	r.until("the second turn streams", func() bool { return r.written(`"text":"second"`) })
	close(release)
	for _, what := range []string{"an effect", "a process record", "a job"} {
		if err := <-tried; err == nil {
			t.Errorf("%s of a closed turn is let through", what)
		}
	}
	r.until("it has ended", func() bool { return len(r.live.Status().Unwinding) == 0 })
	r.until("its late result is recorded", func() bool { return strings.Contains(r.types(), "call/late turn 1 c1") })
	if st := r.live.Status(); !st.Running || st.Stopping || st.Turn != 2 {
		t.Errorf("the late tool moved the second turn: %+v", st)
	}
	r.stop(session.Address{Input: second})
	if two := r.wait(second); two.Text != "second" || len(two.Calls) > 0 {
		t.Errorf("%+v", two)
	}
	for _, m := range r.holds().History {
		if strings.Contains(m.Content.Text(), "late words") {
			t.Error("the late result is in the model's context")
		}
	}
	if strings.Contains(r.types(), "process/started") || strings.Contains(r.types(), "job/started") {
		t.Errorf("facts of a closed turn are recorded\n%s", r.types())
	}
}

// proves TOL-04, TOL-05, INT-15, INT-31, TRN-05
func TestAPanicEndsItsTurnNotTheProcessAndEveryCallIsAnswered(t *testing.T) {
	for name, do := range map[string]func() (tool.Result, error){
		"panic":         func() (tool.Result, error) { panic("oops") },
		"a nil pointer": func() (tool.Result, error) { var r *tool.Result; return *r, nil },
		"fatal":         func() (tool.Result, error) { return tool.Result{}, tool.Fatalf("the engine broke") },
		"wrapped and fatal": func() (tool.Result, error) {
			return tool.Result{}, fmt.Errorf("step 2: %w", tool.Fatalf("the engine broke"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var others sync.WaitGroup
			others.Add(1)
			r := newRig(t, plan{tools: []tool.Tool{
				deed("bad", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { others.Wait(); return do() }),
				deed("wait", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
					others.Done()
					<-tool.SignalOf(c).Done()
					return tool.Result{}, tool.SignalOf(c).Checkpoint()
				}),
				deed("never", interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
					t.Error("a call runs after the fatal one")
					return tool.Result{}, nil
				}),
			}, talks: []talk{calls("c1", "bad", "c2", "wait", "c3", "never"), says("fine")}})
			sum := r.run("go")
			if sum.Outcome != event.TurnFailed || sum.Error == nil || sum.Error.Code != event.FailTool || !strings.Contains(sum.Error.Message, "Fatal error: ") {
				t.Errorf("%+v, %+v", sum, sum.Error)
			}
			var got []event.CallOutcome
			for _, c := range sum.Calls {
				got = append(got, c.End.Outcome)
			}
			if !slices.Equal(got, []event.CallOutcome{event.CallFatal, event.CallStopped, event.CallSkipped}) {
				t.Errorf("ends %v", got)
			}
			if n := r.model.count(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if two := r.run("again"); two.Outcome != event.TurnCompleted {
				t.Errorf("the session does not go on: %+v", two)
			}
			r.holds()
		})
	}
}

// proves TOL-04, TRN-05: a driver of models that panics fails its turn, no more
func TestAModelThatPanicsFailsItsTurn(t *testing.T) {
	r := newRig(t, plan{talks: []talk{func(context.Context, model.Request, func(event.Delta) bool) error { panic("oops") }, says("fine")}})
	if sum := r.run("go"); sum.Outcome != event.TurnFailed || sum.Error.Code != event.FailInternal {
		t.Errorf("%+v", sum)
	}
	if sum := r.run("again"); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// What cuts an attempt is the signal: how the driver words it, and what it had
// asked for before, makes no retry and no failure of it.
//
// proves TRN-19, TRN-10, INT-45, INT-56
func TestAStopIsNeverTakenForAFailureOfTheModel(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context) error{
		"its cause":      context.Cause,
		"a plain cancel": func(context.Context) error { return context.Canceled },
		"a deadline":     func(context.Context) error { return context.DeadlineExceeded },
		"a broken pipe":  func(context.Context) error { return errors.New("read: connection reset") },
		"a retryable error": func(context.Context) error {
			return &model.Error{Failure: event.Failure{Code: event.FailOverloaded, Message: "busy"}}
		},
		"a permanent error": func(context.Context) error {
			return &model.Error{Failure: event.Failure{Code: event.FailRequest, Message: "no"}}
		},
		"no error, no end":   func(context.Context) error { return nil },
		"a panic on its way": func(context.Context) error { panic("closed under me") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plan{talks: []talk{func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
				say(event.TextDelta{Text: "half"})
				<-ctx.Done()
				return end(ctx)
			}}})
			id := r.submit("go")
			r.until("it streams", func() bool { return r.model.count() == 1 })
			r.stop(session.Address{Input: id})
			sum := r.wait(id)
			if sum.Outcome != event.TurnAborted || sum.Error != nil {
				t.Errorf("%+v", sum)
			}
			if n := r.model.count(); n != 1 || strings.Contains(r.types(), "model/failed") {
				t.Errorf("%d requests\n%s", n, r.types())
			}
		})
	}
}

// Nothing of a stream is acted on once its turn was stopped, though the driver
// hands it over all the same.
//
// proves B039, TRN-06, INT-03
func TestACallThatArrivesAfterTheStopIsNeverTakenUp(t *testing.T) {
	var ran atomic.Bool
	mine := deed("touch", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { ran.Store(true); return tool.Result{}, nil })
	r := newRig(t, plan{tools: []tool.Tool{mine}, talks: []talk{func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		<-ctx.Done()
		return calls("c1", "touch")(ctx, req, say) // a driver that does not look
	}}})
	id := r.submit("go")
	r.until("it was asked", func() bool { return r.model.count() == 1 })
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if ran.Load() || len(sum.Calls) > 0 || r.model.count() != 1 || strings.Contains(r.types(), "call/requested") {
		t.Errorf("ran %v, %+v\n%s", ran.Load(), sum, r.types())
	}
}

// proves B054, B056, B061, TRN-10, MOD-01
func TestSilenceEndsAnAttemptAndActivityDoesNot(t *testing.T) {
	const idle = 150 * time.Millisecond
	pause := func(ctx context.Context) bool {
		t := time.NewTimer(idle / 5)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	drip := func(deltas ...event.Delta) talk {
		return func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
			for _, d := range deltas {
				if !pause(ctx) {
					return context.Cause(ctx)
				}
				req.Activity(1)
				if d != nil && !say(d) {
					return nil
				}
			}
			return says("done")(ctx, req, say)
		}
	}
	reasoning := slices.Repeat([]event.Delta{event.ReasoningDelta{Block: 5, Text: "x"}}, 12)
	args := append([]event.Delta{event.CallStart{Block: 5, ID: "c1", Name: "t"}}, slices.Repeat([]event.Delta{event.ArgsDelta{Block: 5, Text: " "}}, 12)...)
	for name, c := range map[string]struct {
		talks []talk
		asked int
		text  string
		code  event.FailureCode
	}{
		"nothing":        {[]talk{hangs("")}, 2, "", event.FailStall},
		"half a word":    {[]talk{hangs("abc")}, 2, "", event.FailStall},
		"better later":   {[]talk{hangs("abc"), says("done")}, 2, "done", ""},
		"thinking":       {[]talk{drip(reasoning...)}, 1, "done", ""},
		"arguments":      {[]talk{drip(args...), says("done")}, 2, "done", ""}, // the second step answers
		"pings are life": {[]talk{drip(make([]event.Delta, 12)...)}, 1, "done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mine := deed("t", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil })
				r := newRig(t, plan{talks: c.talks, tools: []tool.Tool{mine}, limits: session.Limits{Idle: idle}, turn: turn.Options{Attempts: 2}})
				sum := r.run("go")
				if r.model.count() != c.asked || (sum.Error == nil) != (c.code == "") {
					t.Errorf("%d requests, %+v %+v", r.model.count(), sum, sum.Error)
				}
				if c.code == "" {
					if sum.Outcome != event.TurnCompleted || sum.Text != c.text {
						t.Errorf("%+v", sum)
					}
					return
				}
				if sum.Outcome != event.TurnStalled || sum.Error.Code != c.code || !strings.Contains(sum.Error.Message, idle.String()) {
					t.Errorf("%+v %+v", sum, sum.Error)
				}
				if f := payloads[event.AttemptFailed](t, r.records()); len(f) != 2 || f[0].RetryIn < 0 || f[1].RetryIn != -1 {
					t.Errorf("recorded %+v", f)
				}
				if chunks := payloads[event.Chunk](t, r.records()); name == "half a word" && (len(chunks) != 2 || chunks[0].Text != "abc") {
					t.Errorf("chunks %+v", chunks)
				}
				r.holds()
			})
		})
	}
}
