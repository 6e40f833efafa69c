package interrupt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

type key struct{}

// helper is one of the four detachers; bound 0 has no deadline of its own.
type helper struct {
	name  string
	bound time.Duration
	call  func(context.Context, time.Duration) (context.Context, func())
}

func helpers() []helper {
	return []helper{
		{"Lifetime", 0, func(ctx context.Context, _ time.Duration) (context.Context, func()) {
			d, cancel := interrupt.Lifetime(ctx)
			return d, func() { cancel(errClosed) }
		}},
		{"CallContext", 0, func(ctx context.Context, _ time.Duration) (context.Context, func()) {
			return interrupt.CallContext(ctx)
		}},
		{"Cleanup", 5 * time.Second, func(ctx context.Context, d time.Duration) (context.Context, func()) {
			return interrupt.Cleanup(ctx, d)
		}},
		{"Report", 5 * time.Second, func(ctx context.Context, d time.Duration) (context.Context, func()) {
			return interrupt.Report(ctx, d)
		}},
	}
}

var errClosed = errors.New("the session was closed")

// proves TRN-03, INT-33, INT-37
func TestADetachedContextOutlivesItsParentAndKeepsWhatItKnew(t *testing.T) {
	gone := errors.New("the terminal went away")
	for _, h := range helpers() {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "kept"))
				before, stopBefore := h.call(parent, h.bound)
				defer stopBefore()
				cancel(gone)
				after, stopAfter := h.call(parent, h.bound)
				defer stopAfter()
				for _, ctx := range []context.Context{before, after} {
					if ctx.Err() != nil {
						t.Errorf("the parent's end reached it: %v", ctx.Err())
					}
					if ctx.Value(key{}) != "kept" {
						t.Error("the values are lost")
					}
				}
				if interrupt.CallerCause(before) != nil || !errors.Is(interrupt.CallerCause(after), gone) {
					t.Errorf("the caller's cause: before %v, after %v", interrupt.CallerCause(before), interrupt.CallerCause(after))
				}
				deadline, ok := after.Deadline()
				if ok != (h.bound > 0) || ok && time.Until(deadline) != h.bound {
					t.Errorf("deadline in %v, %v; want %v", time.Until(deadline), ok, h.bound)
				}
				if h.bound > 0 {
					time.Sleep(h.bound)
					synctest.Wait()
					if !errors.Is(after.Err(), context.DeadlineExceeded) {
						t.Errorf("after its bound: %v", after.Err())
					}
				}
			})
		})
	}
}

// proves TRN-03
func TestADetachedContextEndsWhenItsOwnerSays(t *testing.T) {
	for _, h := range helpers() {
		ctx, stop := h.call(t.Context(), time.Hour)
		stop()
		if ctx.Err() == nil {
			t.Errorf("%s: it lives on", h.name)
		}
		if h.name == "Lifetime" && !errors.Is(context.Cause(ctx), errClosed) {
			t.Errorf("the cause of its end is %v", context.Cause(ctx))
		}
	}
}

// A write that did not opt in to being cut is finished, whatever trips.
//
// proves INT-02, TRN-03
func TestTheContextOfACallThatDidNotOptInIsNotCutByTheTurn(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	turn, stopTurn := c.Context(t.Context())
	call, stopCall := interrupt.CallContext(turn)
	defer stopCall()
	ask(t, c)
	stopTurn()
	if turn.Err() == nil || call.Err() != nil {
		t.Errorf("turn %v, call %v", turn.Err(), call.Err())
	}
	late, stopLate := interrupt.Cleanup(turn, time.Minute)
	defer stopLate()
	if !errors.Is(interrupt.CallerCause(late), interrupt.ErrInterrupted) {
		t.Errorf("the clean-up does not know why: %v", interrupt.CallerCause(late))
	}
}

func TestACauseThatIsNoneIsNil(t *testing.T) {
	if err := interrupt.CallerCause(t.Context()); err != nil {
		t.Errorf("CallerCause of a context that was not detached = %v", err)
	}
}
