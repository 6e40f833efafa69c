package main

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// queue is a service whose turns end by a test's word, with inputs that wait.
type queue struct {
	*fake
	mu      sync.Mutex
	waiting []event.InputID
	waited  []event.InputID // who was waited for, in order
	gone    event.InputID   // taken back meanwhile
}

func (q *queue) RunNext(context.Context, event.SessionID) (api.Submitted, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return api.Submitted{}, usagef("", "nothing is held")
	}
	id := q.waiting[0]
	q.waiting = q.waiting[1:]
	return api.Submitted{Input: id}, nil
}

func (q *queue) Wait(ctx context.Context, id event.SessionID, input event.InputID) (api.Result, error) {
	q.mu.Lock()
	q.waited = append(q.waited, input)
	gone := input == q.gone
	q.mu.Unlock()
	if gone {
		return api.Result{}, &api.Error{Code: "dropped", Message: "it was dropped"}
	}
	return q.fake.Wait(ctx, id, input)
}

func ended(n int, out event.TurnOutcome, next event.InputID) api.Result {
	return api.Result{Turn: &n, Outcome: &out, Next: next}
}

// proves GRD-03: what a stall guard starts by itself is announced on stderr, by
// the turn's number, before that turn
func TestAWakeIsAnnounced(t *testing.T) {
	var errs bytes.Buffer
	a := &app{stderr: &errs, stops: newStops()}
	show := a.warner(3)
	for _, p := range []event.Payload{event.TurnEnded{Outcome: event.TurnStalled}, event.GuardWake{Count: 2, Notice: "x"}} {
		r, err := event.New(p, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == event.TypeTurnEnded {
			r.Turn = 4
		}
		show(api.Frame{Record: &r})
	}
	want := "ripcord: the stall guard goes on by itself in turn 5, with another strategy, 2 of 3; RIPCORD_STALL_GUARD=0 switches it off\n"
	if errs.String() != want {
		t.Errorf("%q", errs.String())
	}
}

// proves IFC-06, TRN-13, TRN-14: what a turn made way for is followed; what
// waits is run with --drain alone, turn after turn, while turns complete.
func TestTheTurnsBehindATurn(t *testing.T) {
	defer goleak.VerifyNone(t)
	done, failed := event.TurnCompleted, event.TurnFailed
	for what, c := range map[string]struct {
		drain   bool
		waiting []event.InputID
		gone    event.InputID
		ends    []api.Result
		want    []event.InputID
		last    int
	}{
		"what waits is left":                {ends: []api.Result{ended(1, done, "")}, waiting: []event.InputID{"i_2"}, want: []event.InputID{"i_1"}, last: 1},
		"drained in order":                  {drain: true, waiting: []event.InputID{"i_2", "i_3"}, ends: []api.Result{ended(1, done, ""), ended(2, done, ""), ended(3, done, "")}, want: []event.InputID{"i_1", "i_2", "i_3"}, last: 3},
		"not behind a failure":              {drain: true, waiting: []event.InputID{"i_2"}, ends: []api.Result{ended(1, failed, "")}, want: []event.InputID{"i_1"}, last: 1},
		"made way for":                      {ends: []api.Result{ended(1, event.TurnAborted, "i_now"), ended(2, done, "")}, want: []event.InputID{"i_1", "i_now"}, last: 2},
		"woken by a guard":                  {ends: []api.Result{ended(1, event.TurnStalled, "i_wake"), ended(2, event.TurnStalled, "")}, want: []event.InputID{"i_1", "i_wake"}, last: 2},
		"made way for, then taken back":     {gone: "i_now", ends: []api.Result{ended(1, event.TurnAborted, "i_now")}, want: []event.InputID{"i_1", "i_now"}, last: 1},
		"made way for, then what was there": {drain: true, waiting: []event.InputID{"i_2"}, ends: []api.Result{ended(1, event.TurnAborted, "i_now"), ended(2, done, ""), ended(3, done, "")}, want: []event.InputID{"i_1", "i_now", "i_2"}, last: 3},
	} {
		q := &queue{fake: newFake(), waiting: c.waiting, gone: c.gone}
		q.result = make(chan api.Result, len(c.ends))
		for _, r := range c.ends {
			q.result <- r
		}
		d := q.driver(newStops(), long())
		d.svc, d.drain = q, c.drain
		var passed []int
		d.passed = func(r api.Result) { passed = append(passed, *r.Turn) }
		o := await(t, start(t, d))
		if o.err != nil || o.result == nil || *o.result.Turn != c.last || !slices.Equal(q.waited, c.want) {
			t.Errorf("%s: %+v, waited for %v, want turn %d after %v", what, o, q.waited, c.last, c.want)
		}
		if c.gone == "" && len(passed) != len(c.ends)-1 {
			t.Errorf("%s: passed %v", what, passed)
		}
	}
}

// proves IFC-05, IFC-07: a stop means the turn that runs by then, and nothing is
// begun behind it.
func TestAStopMeansTheTurnThatRunsByThen(t *testing.T) {
	defer goleak.VerifyNone(t)
	q, s := &queue{fake: newFake(), waiting: []event.InputID{"i_2", "i_3"}}, newStops()
	q.result = make(chan api.Result, 2)
	d := q.driver(s, long())
	d.svc, d.drain = q, true
	second := make(chan struct{})
	d.passed = func(api.Result) { close(second) }
	q.onAsk = func(r api.InterruptRequest) {
		if r.Input == "i_2" {
			q.result <- ended(2, event.TurnAborted, "")
		}
	}
	got := start(t, d)
	q.result <- ended(1, event.TurnCompleted, "")
	<-second
	s.note(causeINT)
	o := await(t, got)
	if o.result == nil || *o.result.Turn != 2 || o.stop != causeINT || len(q.waited) != 2 {
		t.Errorf("it came to %+v, waited for %v", o, q.waited)
	}
}

// proves IFC-04, IFC-05, B149: a reader that does not take what is shown of a turn
// does not hide the turn behind it from a stop.
func TestAStuckReaderDoesNotHideTheNextTurnFromAStop(t *testing.T) {
	defer goleak.VerifyNone(t)
	q, s := &queue{fake: newFake(), waiting: []event.InputID{"i_2", "i_3"}}, newStops()
	q.result = make(chan api.Result, 2)
	d := q.driver(s, long())
	d.svc, d.drain = q, true
	stuck, read := make(chan struct{}), make(chan struct{})
	defer close(read)
	d.passed = func(api.Result) {
		close(stuck)
		<-read
	}
	q.onAsk = func(r api.InterruptRequest) {
		if r.Input == "i_2" {
			q.result <- ended(2, event.TurnAborted, "")
		}
	}
	got := start(t, d)
	q.result <- ended(1, event.TurnCompleted, "")
	<-stuck
	s.note(causeINT)
	o := await(t, got)
	second := func(r api.InterruptRequest) bool { return r.Input == "i_2" }
	if asked := q.requests(); !slices.ContainsFunc(asked, second) || o.leftOpen || o.result == nil || *o.result.Turn != 2 || o.stop != causeINT {
		t.Errorf("it came to %+v, asked %+v: want the second turn to be stopped", o, asked)
	}
}
