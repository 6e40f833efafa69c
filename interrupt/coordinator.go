package interrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Coordinator turns a host's wish into a trip, once, for one execution.
//
//	        Request(cause)            Force
//	open ──────────────────▶ tripped ───────▶ forced
//	  │                         │               │
//	  └────────── Close ────────┴─────Close─────┴──▶ closed
//
// closed is terminal: Request after it does nothing and the signal stays as
// it was. Only update changes the state, one arrow at a time.
type Coordinator struct {
	opts Options
	sig  *view

	mu    sync.Mutex
	state state // changed only in update

	tripped chan struct{}
	forced  chan struct{}
}

type state struct {
	cause      *Cause // nil: open
	forced     bool
	closed     bool
	nextID     int
	listeners  []listener
	registrars []*registrar
}

type listener struct {
	id int
	f  func()
}

// Options tune a coordinator. The zero value is useful.
type Options struct {
	// Fault is told of a listener or terminator that panicked or blocks, on any
	// goroutine; its own panic is dropped. nil drops the report.
	Fault func(error)
	// BlockedAfter is how long one may run before it is reported; 0 means 1 s.
	BlockedAfter time.Duration
}

// New returns an open coordinator.
func New(opts Options) *Coordinator {
	if opts.Fault == nil {
		opts.Fault = func(error) {}
	}
	if opts.BlockedAfter == 0 {
		opts.BlockedAfter = time.Second
	}
	c := &Coordinator{opts: opts, tripped: make(chan struct{}), forced: make(chan struct{})}
	c.sig = &view{c.tripped, c.forced, c.Cause, c.listen}
	return c
}

// update is the only place where the state changes. It checks that the change
// is an arrow of the picture on [Coordinator] and closes the channels that it
// calls for.
func (c *Coordinator) update(f func(*state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.state
	f(&c.state)
	if err := arrow(was, c.state); err != nil {
		c.state = was
		panic(err)
	}
	if was.cause == nil && c.state.cause != nil {
		close(c.tripped)
	}
	if !was.forced && c.state.forced {
		close(c.forced)
	}
}

// arrow returns an error unless from → to is one arrow of the picture on
// [Coordinator], or leads nowhere.
func arrow(from, to state) error {
	trips, forces, closes := to.cause != from.cause, to.forced != from.forced, to.closed != from.closed
	switch {
	case from.closed && (trips || forces || closes):
		return errors.New("interrupt: a closed coordinator changed")
	case trips && from.cause != nil:
		return errors.New("interrupt: a cause was replaced")
	case forces && (from.forced || from.cause == nil):
		return errors.New("interrupt: forced though nobody asked, or no longer forced")
	case trips && (forces || closes) || forces && closes:
		return errors.New("interrupt: two arrows at once")
	}
	return nil
}

// Signal returns the execution's one signal, always the same.
func (c *Coordinator) Signal() Signal { return c.sig }

// Cause returns the first request's cause; ok is false before the trip.
func (c *Coordinator) Cause() (cause Cause, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.cause == nil {
		return Cause{}, false
	}
	return *c.state.cause, true
}

// Request trips the signal, then runs the listeners, then the terminators,
// each to its end before it returns. It reports whether this request was the
// one that tripped: a later one, or one after Close, changes nothing. A reason
// that no request may give is a [*RefusedError].
func (c *Coordinator) Request(cause Cause) (first bool, err error) {
	if !cause.Reason.Requestable() {
		return false, &RefusedError{cause.Reason}
	}
	var run []func()
	c.update(func(s *state) {
		if s.closed || s.cause != nil {
			return
		}
		first, s.cause = true, &cause
		for _, l := range s.listeners {
			run = append(run, l.f)
		}
		for _, r := range s.registrars {
			for _, t := range r.terminators {
				run = append(run, func() {
					if r.holds(t.id) { // its call may have ended meanwhile
						t.f()
					}
				})
			}
		}
		s.listeners = nil
	})
	c.runAll(run)
	return first, nil
}

// runAll runs each of fs; the rest runs even if one ends its goroutine
// (runtime.Goexit) instead of returning.
func (c *Coordinator) runAll(fs []func()) {
	defer func() {
		if len(fs) > 0 {
			c.runAll(fs)
		}
	}()
	for len(fs) > 0 {
		f := fs[0]
		fs = fs[1:]
		c.isolate(f)
	}
}

// Force says that whoever asked waits no longer. It does nothing before a
// request, after Close, or twice.
func (c *Coordinator) Force() (forced bool) {
	c.update(func(s *state) {
		if s.cause != nil && !s.closed {
			forced, s.forced = !s.forced, true
		}
	})
	return forced
}

// Close retires the coordinator and drops its listeners and terminators. It is
// idempotent.
func (c *Coordinator) Close() {
	c.update(func(s *state) { s.closed, s.listeners, s.registrars = true, nil, nil })
}

// IsClosed reports whether the coordinator was retired.
func (c *Coordinator) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.closed
}

// isolate runs f; its panic or its blocking is reported and goes no further.
func (c *Coordinator) isolate(f func()) {
	late := time.AfterFunc(c.opts.BlockedAfter, func() {
		c.report(fmt.Errorf("interrupt: a listener or terminator has not returned after %v", c.opts.BlockedAfter))
	})
	defer late.Stop()
	defer func() {
		if p := recover(); p != nil {
			c.report(fmt.Errorf("interrupt: a listener or terminator panicked: %v", p))
		}
	}()
	f()
}

// report tells the host; a Fault that panics takes neither the rest of the
// trip nor the timer's goroutine with it.
func (c *Coordinator) report(err error) {
	defer func() { _ = recover() }()
	c.opts.Fault(err)
}

func (c *Coordinator) listen(f func()) (stop func() bool) {
	id, now := 0, false
	c.update(func(s *state) {
		s.nextID++
		id = s.nextID
		switch {
		case s.cause != nil:
			now = true
		case !s.closed:
			s.listeners = append(s.listeners, listener{id, f})
		}
	})
	if now {
		c.isolate(f)
		return func() bool { return false }
	}
	return func() (removed bool) {
		c.update(func(s *state) {
			n := len(s.listeners)
			s.listeners = slices.DeleteFunc(s.listeners, func(l listener) bool { return l.id == id })
			removed = len(s.listeners) < n
		})
		return removed
	}
}

// Context returns a child of parent that is cancelled with an
// [*InterruptedError] as its cause when the signal trips. stop releases it and
// must be called.
func (c *Coordinator) Context(parent context.Context) (ctx context.Context, stop func()) {
	return ContextOf(parent, c.sig)
}

// ContextOf is [Coordinator.Context] for whoever holds only a signal.
func ContextOf(parent context.Context, sig Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	off := sig.OnCancel(func() { cancel(sig.Checkpoint()) })
	return ctx, func() { off(); cancel(context.Canceled) }
}

// Tripped is the one place where both sources of cancellation are looked at:
// the signal and the caller's context. A caller that gave up is promoted into
// the signal as [ParentCancelled], so that every later decision reads one
// source. A closed coordinator takes no promotion, yet the answer for a caller
// that is gone is true all the same. Call it once a decision point and keep the
// answer.
func Tripped(c *Coordinator, caller context.Context) bool {
	_, tripped := c.Cause()
	gone := caller != nil && caller.Err() != nil
	if gone && !tripped {
		_, _ = c.Request(Cause{Reason: ParentCancelled, Who: "caller", At: time.Now()}) // a constant, requestable reason
	}
	return tripped || gone
}

// ErrClosed is returned when a terminator or registrar is added to a
// coordinator or registrar that was closed.
var ErrClosed = errors.New("interrupt: closed")
