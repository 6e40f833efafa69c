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

// bound is how long a condition may take on a machine that is busy with other
// things. How long a stop takes is measured by [BenchmarkStop], not here.
const bound = 30 * time.Second

var errStop = errors.New("stopped by the test")

// cancel proves MOD-03, INT-45, the driver's part of B039 and B054.
func (d Driver) cancel(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		reads  int // pieces of the body that come before the stop
	}{
		"before the headers": {"answer\n hold 1h\n", 0},
		"before the words":   {"answer\n headers\n hang\n", 0},
		"between words":      {"T'abc' HANG", 1},
		"in words":           {"(T'word ' W(1ms)) x 100000", 9},
		"in reasoning":       {"(R'word ' W(1ms)) x 100000", 9},
		"in arguments":       {"C(1,write) (A'word ' W(1ms)) x 100000", 9},
		"in keep-alives":     {"(P W(1ms)) x 100000", 9},
		"in half an event":   {"answer\n raw \"data: {\\\"choices\\\"\"\n hang\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			srv := Serve(t, c.script)
			d.stop(t, d.open(t, srv.URL()), srv, c.reads)
		})
	}
}

// stop asks, ends the context once the request came and the body was read so
// many times, and returns how long after that the server saw it.
func (d Driver) stop(t testing.TB, m model.Model, srv *scripted.Server, reads int) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var at atomic.Int64
	var seen atomic.Int64
	before := len(srv.Requests())
	watched := make(chan struct{})
	go func() { // ends once what it waits for is there, or with the stream
		defer close(watched)
		for (len(srv.Requests()) == before || int(seen.Load()) < reads) && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		at.Store(time.Now().UnixNano())
		stop(errStop)
	}()
	req := Say("go")
	req.Activity = func(int) { seen.Add(1) }
	late := 0
	var last error
	for _, err := range m.Stream(ctx, req) {
		if last = err; err == nil && ctx.Err() != nil {
			late++
		}
	}
	stop(nil)
	<-watched
	if last != errStop { //nolint:errorlint // the cause is handed on bare
		t.Errorf("got %v, want the context's cause, bare", last)
	}
	if late > 1 { // one may be on its way while the context ends
		t.Errorf("%d deltas came after the end of the context", late)
	}
	return checkGone(t, srv).Sub(time.Unix(0, at.Load()))
}

// BenchmarkStop measures MOD-03: from the end of the context until the server
// sees the connection go, in the middle of words.
func BenchmarkStop(b *testing.B, d Driver) {
	srv := Serve(b, "answer always\n repeat 100000 type 1ms \"word \"\n")
	m := d.open(b, srv.URL())
	var all, worst time.Duration
	n := 0
	for b.Loop() {
		took := d.stop(b, m, srv, 1)
		all += took
		worst = max(worst, took)
		n++
	}
	b.ReportMetric(float64(all.Microseconds())/float64(n)/1000, "ms/seen")
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms/worst")
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
	checkGone(t, srv)
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

// checkGone returns when the server saw its last client leave.
func checkGone(t testing.TB, srv *scripted.Server) time.Time {
	t.Helper()
	list := srv.Requests()
	if len(list) == 0 {
		t.Error("no request came")
		return time.Time{}
	}
	last := list[len(list)-1]
	select {
	case <-last.Done():
	case <-time.After(bound):
		t.Error("the connection stayed open")
		return time.Time{}
	}
	seen, ok := last.Gone()
	if !ok {
		t.Error("the server did not see the client leave")
	}
	return seen
}
