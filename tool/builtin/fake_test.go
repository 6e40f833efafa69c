package builtin_test

import (
	"context"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// fakeHost starts trees that a test moves by hand.
type fakeHost struct {
	err   error
	begin func(*fakeTree) // called with each new tree before Start returns

	mu    sync.Mutex
	specs []proc.Spec
}

func (h *fakeHost) Start(_ context.Context, spec proc.Spec) (proc.Tree, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.specs = append(h.specs, spec)
	if h.err != nil {
		return nil, h.err
	}
	t := &fakeTree{spec: spec, exited: make(chan struct{}), gone: make(chan struct{}), dies: true}
	if h.begin != nil {
		h.begin(t)
	}
	return t, nil
}

func (h *fakeHost) Adopt(context.Context, event.ProcessStarted, string) (proc.Tree, error) {
	return nil, context.Canceled
}
func (h *fakeHost) Lane() proc.Lane { return proc.LaneGroup }
func (h *fakeHost) Close() error    { return nil }

// fakeTree is a command that ends when it is told to.
type fakeTree struct {
	spec proc.Spec
	out  proc.Output
	pids []int
	dies bool // a stop ends it

	mu           sync.Mutex
	exit         *proc.Exit
	exited, gone chan struct{}
	stops        []interrupt.Ladder
	onStop       func(interrupt.Ladder)
}

func (t *fakeTree) end(e proc.Exit, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exit == nil {
		t.exit = &e
		close(t.exited)
	}
	if gone {
		t.pids = nil
		close(t.gone)
	}
}

func (t *fakeTree) Started() event.ProcessStarted {
	return event.ProcessStarted{Owner: t.spec.Owner, ID: t.spec.ID, PID: 4711, Lane: string(proc.LaneGroup)}
}
func (t *fakeTree) PIDs() []int             { t.mu.Lock(); defer t.mu.Unlock(); return t.pids }
func (t *fakeTree) Exited() <-chan struct{} { return t.exited }
func (t *fakeTree) Gone() <-chan struct{}   { return t.gone }
func (t *fakeTree) Output(int) proc.Output  { t.mu.Lock(); defer t.mu.Unlock(); return t.out }
func (t *fakeTree) Keep(bool) error         { return nil }

func (t *fakeTree) Exit() (proc.Exit, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exit == nil {
		return proc.Exit{}, false
	}
	return *t.exit, true
}

func (t *fakeTree) Stop(l interrupt.Ladder) proc.Stopped {
	t.mu.Lock()
	t.stops = append(t.stops, l)
	again := t.exit != nil
	t.mu.Unlock()
	if t.onStop != nil {
		t.onStop(l)
	}
	if !t.dies {
		return proc.Stopped{Survivors: t.PIDs()}
	}
	select {
	case <-t.gone:
	default:
		if !again || len(t.PIDs()) > 0 {
			t.end(proc.Exit{Signal: "KILL"}, true)
		}
	}
	return proc.Stopped{Climbed: interrupt.Climbed{Gone: true}}
}

func (t *fakeTree) ladders() []interrupt.Ladder { t.mu.Lock(); defer t.mu.Unlock(); return t.stops }
