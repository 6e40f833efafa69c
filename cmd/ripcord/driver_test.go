package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// fake is a service with one turn that a test ends.
type fake struct {
	api.Service
	mu       sync.Mutex
	asked    []api.InterruptRequest
	answer   api.Interrupted
	onAsk    func(api.InterruptRequest) // nil: nothing happens
	result   chan api.Result
	opening  chan struct{} // nil: opens at once
	began    chan struct{}
	beginErr error
}

func newFake() *fake {
	return &fake{result: make(chan api.Result, 1), began: make(chan struct{}), answer: api.Interrupted{State: "stopping"}}
}

func (f *fake) Interrupt(_ context.Context, r api.InterruptRequest) (api.Interrupted, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	answer, on := f.answer, f.onAsk
	f.mu.Unlock()
	if on != nil {
		on(r)
	}
	return answer, nil
}

func (f *fake) Wait(ctx context.Context, _ event.SessionID, _ event.InputID) (api.Result, error) {
	select {
	case r := <-f.result:
		return r, nil
	case <-ctx.Done():
		return api.Result{}, context.Cause(ctx)
	}
}

func (f *fake) driver(s *stops, b bounds) *driver {
	return &driver{svc: f, stops: s, bounds: b, keepInbox: true,
		open: func(ctx context.Context) (api.SessionState, error) {
			if f.opening != nil {
				select {
				case <-f.opening:
				case <-ctx.Done():
					return api.SessionState{}, context.Cause(ctx)
				}
			}
			return api.SessionState{ID: "s_1"}, nil
		},
		begin: func(context.Context, api.SessionState) (api.Submitted, error) {
			close(f.began)
			return api.Submitted{Input: "i_1", State: "running"}, f.beginErr
		}}
}

func (f *fake) requests() []api.InterruptRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]api.InterruptRequest(nil), f.asked...)
}

func turnResult(out event.TurnOutcome, who string) api.Result {
	turn := 1
	return api.Result{Turn: &turn, Outcome: &out, Who: who}
}

func long() bounds { return bounds{ladder: time.Minute, store: time.Minute} }

// start runs d in its own goroutine.
func start(t *testing.T, d *driver) <-chan outcome {
	t.Helper()
	got := make(chan outcome, 1)
	go func() { got <- d.run(context.Background()) }()
	return got
}

func await(t *testing.T, got <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-got:
		return o
	case <-time.After(time.Minute):
		t.Fatal("the driver did not come to an end")
		return outcome{}
	}
}

// proves IFC-05, PRC-08, TRN-14: each cause asks in its own words, for exactly
// its turn, and holds the queue.
func TestEachStopAsksInItsOwnWords(t *testing.T) {
	defer goleak.VerifyNone(t)
	for c, want := range map[cause]struct {
		reason, who string
		exit        int
	}{
		causeINT:     {"USER_SIGINT", "SIGINT", 130},
		causeTERM:    {"SYSTEM_SHUTDOWN", "SIGTERM", 143},
		causeHUP:     {"SYSTEM_SHUTDOWN", "SIGHUP", 129},
		causeTimeout: {"BUDGET_EXCEEDED", "timeout", 124},
	} {
		f, s := newFake(), newStops()
		f.onAsk = func(r api.InterruptRequest) { f.result <- turnResult(event.TurnAborted, r.Who) }
		got := start(t, f.driver(s, long()))
		<-f.began
		s.note(c)
		r := resultOf(await(t, got))
		asked := f.requests()
		if len(asked) != 1 || asked[0].Reason != want.reason || asked[0].Who != want.who || asked[0].Input != "i_1" ||
			asked[0].Session != "s_1" || asked[0].Force || !asked[0].KeepInbox {
			t.Errorf("cause %d asked %+v", c, asked)
		}
		if r.ExitCode != want.exit {
			t.Errorf("cause %d: exit %d, want %d", c, r.ExitCode, want.exit)
		}
	}
}

// proves PRC-08, B148: nothing starts after the first signal.
func TestNothingStartsAfterTheFirstSignal(t *testing.T) {
	defer goleak.VerifyNone(t)
	before := newFake()
	s := newStops()
	s.note(causeTERM)
	o := await(t, start(t, before.driver(s, long())))
	opening := newFake()
	opening.opening = make(chan struct{})
	s2 := newStops()
	got := start(t, opening.driver(s2, long()))
	s2.note(causeINT)
	o2 := await(t, got)
	for _, c := range []struct {
		f    *fake
		o    outcome
		exit int
	}{{before, o, 143}, {opening, o2, 130}} {
		select {
		case <-c.f.began:
			t.Error("input was handed over after the signal")
		default:
		}
		r := resultOf(c.o)
		if r.ExitCode != c.exit || r.Turn != nil || *r.Outcome != event.TurnAborted || r.Reason == nil || r.Error != nil {
			t.Errorf("result %+v, want exit %d and no turn", r, c.exit)
		}
	}
}

// proves IFC-05: the second signal forces.
func TestASecondSignalForces(t *testing.T) {
	defer goleak.VerifyNone(t)
	f, s := newFake(), newStops()
	first := make(chan struct{}, 1)
	f.onAsk = func(r api.InterruptRequest) {
		if r.Force {
			f.result <- turnResult(event.TurnAborted, "SIGINT")
			return
		}
		first <- struct{}{}
	}
	got := start(t, f.driver(s, long()))
	<-f.began
	s.note(causeINT)
	<-first
	s.note(causeTimeout) // no signal: hastens nothing
	s.note(causeTERM)
	r := resultOf(await(t, got))
	asked := f.requests()
	if len(asked) != 2 || asked[0].Force || !asked[1].Force || asked[1].Who != "SIGINT" {
		t.Errorf("asked %+v, want one request and one that forces", asked)
	}
	if r.ExitCode != 130 {
		t.Errorf("exit %d, want the first signal's 130", r.ExitCode)
	}
}

// proves IFC-05: the ladder is bounded, then it is forced, and only a store
// that does not answer leaves the turn open.
func TestTheLadderIsBoundedAndThenTheTurnIsLeftOpen(t *testing.T) {
	defer goleak.VerifyNone(t)
	synctest.Test(t, func(t *testing.T) {
		f, s, b := newFake(), newStops(), usualBounds()
		got := start(t, f.driver(s, b))
		<-f.began
		from := time.Now()
		s.note(causeHUP)
		o := await(t, got)
		if took := time.Since(from); took != b.ladder+b.store {
			t.Errorf("it took %v, want %v and %v", took, b.ladder, b.store)
		}
		asked := f.requests()
		if len(asked) != 2 || asked[0].Force || !asked[1].Force {
			t.Errorf("asked %+v, want a forced request after the bound", asked)
		}
		r := resultOf(o)
		if !o.leftOpen || r.ExitCode != 129 || r.Error == nil || r.Error.Code != "storage" || !r.UnknownEffects || r.Session == nil {
			t.Errorf("result %+v (left open %v)", r, o.leftOpen)
		}
	})
}

// proves IFC-04: a signal after the end does not change the outcome.
func TestASignalAfterTheEndChangesNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	f, s := newFake(), newStops()
	f.answer = api.Interrupted{Noop: "idle"}
	f.onAsk = func(api.InterruptRequest) { f.result <- turnResult(event.TurnCompleted, "") }
	got := start(t, f.driver(s, long()))
	<-f.began
	s.note(causeINT)
	if r := resultOf(await(t, got)); r.ExitCode != 0 || *r.Outcome != event.TurnCompleted {
		t.Errorf("result %+v, want a completed turn to exit 0", r)
	}
}

// proves IFC-04: an interrupt from elsewhere that came first is the turn's.
func TestAnInterruptFromElsewhereComesFirst(t *testing.T) {
	defer goleak.VerifyNone(t)
	f, s := newFake(), newStops()
	f.answer = api.Interrupted{Noop: "already_stopping"}
	f.onAsk = func(api.InterruptRequest) { f.result <- turnResult(event.TurnAborted, "somebody") }
	got := start(t, f.driver(s, long()))
	<-f.began
	s.note(causeTERM)
	if r := resultOf(await(t, got)); r.ExitCode != 130 {
		t.Errorf("exit %d, want 130", r.ExitCode)
	}
}

// proves IFC-04, IFC-05, INT-24: a signal that finds its turn being stopped for
// an urgent input ends the run, and is what it exits by.
func TestASignalBehindAnUrgentInputIsWhatTheRunExitsBy(t *testing.T) {
	defer goleak.VerifyNone(t)
	for c, want := range map[cause]int{causeTERM: 143, causeHUP: 129, causeINT: 130} {
		f, s := newFake(), newStops()
		f.answer = api.Interrupted{Noop: "already_stopping"}
		f.onAsk = func(api.InterruptRequest) {
			r, reason := turnResult(event.TurnAborted, "somebody"), "NOW_PRIORITY_INPUT"
			r.Reason = &reason
			f.result <- r
		}
		got := start(t, f.driver(s, long()))
		<-f.began
		s.note(c)
		if r := resultOf(await(t, got)); r.ExitCode != want {
			t.Errorf("exit %d, want %d", r.ExitCode, want)
		}
	}
}

// proves IFC-04, B103: a refusal before the turn has its code and a result.
func TestARefusalBeforeTheTurnHasAResult(t *testing.T) {
	f := newFake()
	d := f.driver(newStops(), long())
	d.open = func(context.Context) (api.SessionState, error) {
		return api.SessionState{}, &api.Error{Code: event.FailBusy, Message: "in use by 7", Hint: "wait"}
	}
	r := resultOf(await(t, start(t, d)))
	if r.ExitCode != 6 || r.Error == nil || r.Error.Code != "session_busy" || r.Turn != nil || *r.Outcome != event.TurnFailed {
		t.Errorf("result %+v", r)
	}
	d.open = func(context.Context) (api.SessionState, error) { return api.SessionState{}, errors.New("odd") }
	if r := resultOf(await(t, start(t, d))); r.ExitCode != 1 || r.Error.Code != "internal" {
		t.Errorf("result %+v", r)
	}
}

// proves HOK-03, IFC-05: a turn whose end is told by hooks is given their time
// before it is left open; what is forced is forced as soon as ever.
func TestTheHooksOfATurnsEndGetTheirTime(t *testing.T) {
	b := usualBounds()
	if got := b.with(time.Minute); got.ladder != b.ladder || got.store != b.store+time.Minute {
		t.Errorf("%+v", got)
	}
}
