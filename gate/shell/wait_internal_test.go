package shell

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/proc"
)

// exitedTree is a tree whose leader has ended.
type exitedTree struct{ proc.Tree }

func (exitedTree) Exit() (proc.Exit, bool) { return proc.Exit{}, true }

// proves HOK-02, INT-44, T-22: a verdict that had arrived is kept though the
// wait was cut at the same time, a thousand times out of a thousand.
func TestAVerdictThatHadArrivedIsKept(t *testing.T) {
	d := gate.Ask
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		r := &run{result: make(chan ending, 1), cut: make(chan struct{})}
		r.result <- ending{how: answered, said: &d}
		cancel()
		if e := r.wait(ctx); e.how != answered {
			t.Fatalf("%+v", e)
		}
	}
}

// proves INT-42, INT-44: one that had exited is read, within a bound; one that
// is pending is cut.
func TestAHookThatHadExitedIsReadWithinABound(t *testing.T) {
	d := gate.Ask
	for _, c := range []struct {
		tree  proc.Tree
		after time.Duration
		want  how
		took  time.Duration
	}{
		{exitedTree{}, lastWords - time.Millisecond, answered, lastWords - time.Millisecond},
		{exitedTree{}, time.Hour, cut, lastWords},
		{nil, time.Millisecond, cut, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r := &run{result: make(chan ending, 1), cut: make(chan struct{}), tree: c.tree}
			time.AfterFunc(c.after, func() { r.result <- ending{how: answered, said: &d} })
			start := time.Now()
			if e := r.wait(ctx); e.how != c.want || time.Since(start) != c.took {
				t.Errorf("%+v after %v, want %v after %v", e, time.Since(start), c.want, c.took)
			}
		})
	}
}
