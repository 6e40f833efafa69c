package modeltest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// seenWithin is MOD-03's bound: so soon the server sees the connection go.
// It is asked of the best of three, since a busy machine delays whoever
// watches; none may take longer than seenAtAll.
const (
	seenWithin = 100 * time.Millisecond
	seenAtAll  = 2 * time.Second
)

var errStop = errors.New("stopped by the test")

// cancel proves MOD-03, INT-45, the driver's part of B039 and B054.
func (d Driver) cancel(t *testing.T) {
	for name, script := range map[string]string{
		"before the headers": "answer\n hold 1h\n",
		"before the words":   "answer\n headers\n hang\n",
		"between words":      "T'abc' HANG",
		"in words":           "(T'word ' W(1ms)) x 100000",
		"in reasoning":       "(R'word ' W(1ms)) x 100000",
		"in arguments":       "C(1,write) (A'word ' W(1ms)) x 100000",
		"in keep-alives":     "(P W(1ms)) x 100000",
		"in half an event":   "answer\n raw \"data: {\\\"choices\\\"\"\n hang\n",
	} {
		t.Run(name, func(t *testing.T) {
			best := seenAtAll
			for i := range 3 {
				srv := Serve(t, script)
				best = min(best, d.cancelOnce(t, d.open(t, srv.URL()), srv, time.Duration(i*7)*time.Millisecond))
			}
			if best > seenWithin {
				t.Errorf("the server saw the client leave after %v, want %v at most", best, seenWithin)
			}
		})
	}
}

func (d Driver) cancelOnce(t *testing.T, m model.Model, srv *scripted.Server, after time.Duration) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var at atomic.Int64
	watched := make(chan struct{})
	go func() { // ends once the request came, or with the test
		defer close(watched)
		for len(srv.Requests()) == 0 && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		<-time.After(20*time.Millisecond + after)
		at.Store(time.Now().UnixNano())
		stop(errStop)
	}()
	defer func() { <-watched }()
	late := 0
	var last error
	for delta, err := range m.Stream(ctx, Say("go")) {
		if last = err; err == nil && ctx.Err() != nil {
			late++
			_ = delta
		}
	}
	if last != errStop { //nolint:errorlint // the cause is handed on bare
		t.Errorf("got %v, want the context's cause, bare", last)
	}
	if late > 1 { // one may be on its way while the context ends
		t.Errorf("%d deltas came after the end of the context", late)
	}
	if back := time.Since(time.Unix(0, at.Load())); back > seenAtAll {
		t.Errorf("Stream returned %v after the context's end", back)
	}
	return checkGone(t, srv, time.Unix(0, at.Load()))
}

func (d Driver) endedBefore(t *testing.T) {
	srv := Serve(t, "T'hi' F(stop)")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	a := Ask(ctx, d.open(t, srv.URL()), Say("go"))
	if a.Err != errStop || len(a.Deltas) > 0 || len(srv.Requests()) > 0 { //nolint:errorlint // bare
		t.Errorf("got %+v after %d requests", a, len(srv.Requests()))
	}
}

func (d Driver) breakOff(t *testing.T) {
	srv := Serve(t, "(T'word ' W(1ms)) x 100000")
	for delta := range d.open(t, srv.URL()).Stream(t.Context(), Say("go")) {
		if _, ok := delta.(event.TextDelta); ok {
			break
		}
	}
	checkGone(t, srv, time.Now())
}

// countingContext never ends by itself and counts who waits for it to: the
// context package registers every child of a foreign context with AfterFunc.
type countingContext struct {
	done        chan struct{}
	live, total atomic.Int64
}

func (c *countingContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *countingContext) Done() <-chan struct{}       { return c.done }
func (c *countingContext) Err() error                  { return nil }
func (c *countingContext) Value(any) any               { return nil }

func (c *countingContext) AfterFunc(func()) func() bool {
	c.live.Add(1)
	c.total.Add(1)
	var stopped atomic.Bool
	return func() bool {
		first := stopped.CompareAndSwap(false, true)
		if first {
			c.live.Add(-1)
		}
		return first
	}
}

// checkGone returns how long after at the server saw its last client leave.
func checkGone(t *testing.T, srv *scripted.Server, at time.Time) time.Duration {
	t.Helper()
	list := srv.Requests()
	if len(list) == 0 {
		t.Error("no request came")
		return 0
	}
	last := list[len(list)-1]
	select {
	case <-last.Done():
	case <-time.After(5 * time.Second):
		t.Error("the connection stayed open")
		return 0
	}
	seen, ok := last.Gone()
	if !ok {
		t.Error("the server did not see the client leave")
		return 0
	}
	late := seen.Sub(at)
	if late > seenAtAll {
		t.Errorf("the server saw the client leave only after %v", late)
	}
	return late
}
