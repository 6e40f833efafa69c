package tool_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// proves TOL-07: one latch a call; the end of the handler and the bound race
// 1,000 times and exactly one wins, in the book as in what Do returns.
func TestTheEndOfTheHandlerAndTheBoundRaceAndExactlyOneWins(t *testing.T) {
	wins := map[event.CallOutcome]int{}
	for i := range 1000 {
		c := interrupt.New(interrupt.Options{})
		book := &tooltest.Book{}
		release := make(chan struct{})
		r := does(c, book, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			trip(t, c)
			<-release
			return tool.Text("real"), nil
		})
		r.Bound = time.Duration(1+i%40) * 5 * time.Microsecond
		time.AfterFunc(r.Bound, func() { close(release) })
		e, left := r.Do(t.Context())
		if left != nil {
			<-left
		}
		wins[e.Outcome]++
		facts := book.Facts()
		switch {
		case e.Outcome == event.CallFinished && slices.Equal(facts, []string{"started", "finished"}) && left == nil:
		case e.Outcome == event.CallQuarantined && slices.Equal(facts, []string{"started", "quarantined", "late finished"}) && left != nil:
		default:
			t.Fatalf("outcome %s, recorded %v", e.Outcome, facts)
		}
	}
	if wins[event.CallFinished] == 0 || wins[event.CallQuarantined] == 0 {
		t.Logf("one side never won: %v", wins)
	}
}

// proves TOL-07, decision 6: a result that is there when the bound has passed
// and the trip is forced is the end; the bound is not.
func TestFinishedBeatsTheStopWhenBothAreReady(t *testing.T) {
	for range 1000 {
		s := &ready{Signal: interrupt.Never(), landed: make(chan struct{}), closed: make(chan struct{})}
		close(s.closed)
		r := does(nil, &tooltest.Book{}, interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("real"), nil
		})
		r.Signal, r.Tripped, r.Bound, r.Forced = s, func() bool { return false }, time.Nanosecond, time.Nanosecond
		e, left := r.Do(t.Context())
		if left != nil || e.Outcome != event.CallFinished || e.Result.Content.Text() != "real" {
			t.Fatalf("%+v", e)
		}
	}
}

// ready is a signal that has tripped and is forced as soon as the tool's
// return has been handed over: the context that its call was given is released
// after that.
type ready struct {
	interrupt.Signal
	landed, closed chan struct{}
	listeners      int
}

func (r *ready) Done() <-chan struct{}   { return r.closed }
func (r *ready) Forced() <-chan struct{} { <-r.landed; return r.closed }
func (r *ready) OnCancel(func()) func() bool {
	r.listeners++ // the run's own first, then the context's
	if r.listeners == 2 {
		return func() bool { close(r.landed); return true }
	}
	return func() bool { return true }
}

// proves TOL-10, B037: after the bound the call is answered, the tool's late
// return is recorded once as late, and whatever it still tries is refused.
func TestAnUncooperativeToolIsQuarantinedAndFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		book, rec, jobs, live := &tooltest.Book{}, &tooltest.Recorder{}, &tooltest.Jobs{}, &tooltest.Live{}
		var errs []error
		r := does(c, book, interrupt.NonInterruptible, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			tool.LiveOf(call).Output("before")
			time.Sleep(40 * time.Second)
			_, adopt := tool.JobsOf(call).Adopt(ctx, tool.Job{})
			errs = append(errs, tool.FenceOf(call).Check(), adopt,
				tool.FenceOf(call).Pass(func() error { t.Error("a late effect passed the fence"); return nil }),
				tool.RecorderOf(call).Record(ctx, event.CallOutput{}))
			tool.LiveOf(call).Output("after")
			return tool.Text("too late"), nil
		})
		r.Recorder, r.Jobs, r.Live = rec, jobs, live
		time.AfterFunc(time.Second, func() { trip(t, c) })
		start := time.Now()
		e, left := r.Do(t.Context())
		if e.Outcome != event.CallQuarantined || left == nil || time.Since(start) != 31*time.Second {
			t.Fatalf("%s after %v", e.Outcome, time.Since(start))
		}
		if len(book.Lates()) != 0 {
			t.Error("a late result before there is one")
		}
		<-left
		late := book.Lates()
		if len(late) != 1 || late[0].Outcome != event.CallFinishedLate || late[0].Result.Content.Text() != "too late" || late[0].Ran != 40*time.Second {
			t.Errorf("late results: %+v", late)
		}
		for i, err := range errs {
			if !errors.Is(err, tool.ErrOver) {
				t.Errorf("late effect %d: %v", i, err)
			}
		}
		if live.Text() != "before" || len(rec.Payloads()) != 0 || len(jobs.All()) != 0 {
			t.Error("a fenced call reached its session")
		}
		if got := book.Facts(); !slices.Equal(got, []string{"started", "quarantined", "late finished_late"}) {
			t.Errorf("recorded %v", got)
		}
	})
}

// proves TOL-07, TRN-19: a tool that wakes before the listeners ran is stopped
// all the same.
func TestAToolThatIsFasterThanTheListenersIsStopped(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	trip(t, c)
	s := &deaf{c.Signal()}
	r := does(nil, &tooltest.Book{}, interrupt.Cooperative, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		return tool.Result{}, tool.SignalOf(call).Checkpoint()
	})
	r.Signal, r.Tripped = s, func() bool { return false }
	if e, _ := r.Do(t.Context()); e.Outcome != event.CallStopped {
		t.Errorf("%s %s", e.Outcome, e.Err)
	}
}

// deaf is a tripped signal whose listeners have not run yet.
type deaf struct{ interrupt.Signal }

func (deaf) OnCancel(func()) func() bool { return func() bool { return true } }

// proves TOL-10: the late result is recorded behind the end that it names,
// however long that one takes.
func TestTheLateResultComesAfterTheRecordedQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		book := &tooltest.Book{OnEnd: func(context.Context, tool.Ended) error { time.Sleep(time.Minute); return nil }}
		_, left := does(c, book, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			trip(t, c)
			time.Sleep(40 * time.Second) // returns while the end is being recorded
			return tool.Text("late"), nil
		}).Do(t.Context())
		<-left
		if got := book.Facts(); !slices.Equal(got, []string{"started", "quarantined", "late finished_late"}) {
			t.Errorf("recorded %v", got)
		}
	})
}

// proves TOL-10: the second request ends the bound after 100 ms.
func TestForceEndsTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		release := make(chan struct{})
		r := does(c, &tooltest.Book{}, interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			<-release
			return tool.Result{}, nil
		})
		time.AfterFunc(time.Second, func() { trip(t, c) })
		time.AfterFunc(2*time.Second, func() { c.Force() })
		start := time.Now()
		e, left := r.Do(t.Context())
		if took := time.Since(start); e.Outcome != event.CallQuarantined || took != 2100*time.Millisecond {
			t.Errorf("%s after %v", e.Outcome, took)
		}
		close(release)
		<-left
	})
}

// proves TOL-10: "quarantined" is not answered while an effect that passed the
// fence is under way.
func TestAnEffectThatPassedTheFenceEndsBeforeTheQuarantineIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		var effect, answered time.Time
		book := &tooltest.Book{OnEnd: func(context.Context, tool.Ended) error { answered = time.Now(); return nil }}
		r := does(c, book, interrupt.NonInterruptible, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			trip(t, c)
			err := tool.FenceOf(call).Pass(func() error { time.Sleep(1500 * time.Millisecond); effect = time.Now(); return nil })
			time.Sleep(time.Minute)
			return tool.Text("late"), err
		})
		r.Bound = time.Second
		e, left := r.Do(t.Context())
		if e.Outcome != event.CallQuarantined || effect.IsZero() || answered.Before(effect) {
			t.Errorf("%s: effect at %v, answered at %v", e.Outcome, effect, answered)
		}
		<-left
	})
}
