package interrupt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

func ask(t *testing.T, c *interrupt.Coordinator) {
	t.Helper()
	first, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "test"})
	if !first || err != nil {
		t.Fatalf("Request = %v, %v; want the first", first, err)
	}
}

// proves INT-12, INT-14
func TestFirstReasonWinsAmongAHundredRequests(t *testing.T) {
	for range 20 {
		c := interrupt.New(interrupt.Options{})
		var ran, firsts atomic.Int32
		var winner atomic.Value
		c.Signal().OnCancel(func() { ran.Add(1) })
		reg, err := c.Registrar()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reg.Register(func() { ran.Add(1) }); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 100 {
			reason := interrupt.Reasons()[i%9]
			wg.Go(func() {
				first, err := c.Request(interrupt.Cause{Reason: reason, Who: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
				if first {
					firsts.Add(1)
					winner.Store(fmt.Sprint(i))
				}
			})
		}
		wg.Wait()
		cause, ok := c.Cause()
		if !ok || firsts.Load() != 1 || cause.Who != winner.Load() {
			t.Errorf("%d requests were the first; the cause is of %q, the first of %v", firsts.Load(), cause.Who, winner.Load())
		}
		if reason, _ := c.Signal().Reason(); reason != cause.Reason {
			t.Errorf("the signal says %v, the coordinator %v", reason, cause.Reason)
		}
		if ran.Load() != 2 {
			t.Errorf("listener and terminator ran %d times together, want 2", ran.Load())
		}
	}
}

// proves INT-11, INT-14
func TestListenersRunFirstThenTerminatorsEachInOrder(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	var ran []string
	note := func(s string) func() { return func() { ran = append(ran, s) } }
	one, _ := c.Registrar()
	two, _ := c.Registrar()
	_, _ = two.Register(note("two/a"))
	c.Signal().OnCancel(note("first"))
	_, _ = one.Register(note("one/a"))
	gone, _ := one.Register(note("one/gone"))
	_, _ = one.Register(note("one/b"))
	off := c.Signal().OnCancel(note("removed"))
	c.Signal().OnCancel(note("second"))
	_, _ = two.Register(note("two/b"))
	one.Unregister(gone)
	if !off() {
		t.Error("removing a listener before the trip reports that it may run")
	}
	if off() {
		t.Error("removing it again reports that it was there")
	}
	ask(t, c)
	want := []string{"first", "second", "one/a", "one/b", "two/a", "two/b"}
	if !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

// proves INT-11
func TestAListenerOfATrippedSignalRunsAtOnceOnTheRegisteringGoroutine(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ask(t, c)
	name := func() string {
		b := make([]byte, 64)
		return strings.Fields(string(b[:runtime.Stack(b, false)]))[1]
	}
	done := make(chan string, 2)
	go func() {
		c.Signal().OnCancel(func() { done <- name() })
		done <- name()
	}()
	if listener, registering := <-done, <-done; listener != registering {
		t.Errorf("the listener ran on goroutine %s, registered on %s", listener, registering)
	}
	if c.Signal().OnCancel(func() {})() {
		t.Error("stop reports that it kept from running what has run")
	}
}

// proves INT-11
func TestListenersMayUseTheCoordinator(t *testing.T) {
	c := interrupt.New(interrupt.Options{Fault: func(err error) { t.Error(err) }})
	var stop func() bool
	nested := false
	stop = c.Signal().OnCancel(func() {
		stop()
		c.Signal().OnCancel(func() { nested = true })
		if first, err := c.Request(interrupt.Cause{Reason: interrupt.LeaseLost}); first || err != nil {
			t.Errorf("a request from a listener = %v, %v", first, err)
		}
		if !c.Force() {
			t.Error("a listener cannot force")
		}
		if reg, err := c.Registrar(); err != nil {
			t.Error(err)
		} else {
			reg.Close()
		}
		c.Close()
	})
	ask(t, c)
	if !nested {
		t.Error("a listener registered by a listener did not run")
	}
}

// proves INT-15
func TestAPanicOfOneTerminatorIsReportedAndTheRestRuns(t *testing.T) {
	var faults []string
	c := interrupt.New(interrupt.Options{Fault: func(err error) { faults = append(faults, err.Error()) }})
	ran := 0
	c.Signal().OnCancel(func() { panic("listener") })
	c.Signal().OnCancel(func() { ran++ })
	reg, _ := c.Registrar()
	_, _ = reg.Register(func() { panic(io.ErrUnexpectedEOF) })
	_, _ = reg.Register(nil)
	_, _ = reg.Register(func() { ran++ })
	ask(t, c)
	if ran != 2 || len(faults) != 3 {
		t.Fatalf("%d ran, faults %q", ran, faults)
	}
	if !strings.Contains(faults[0], "panicked: listener") || !strings.Contains(faults[1], "unexpected EOF") {
		t.Errorf("faults %q do not name their panic", faults)
	}
	// What runs at once, because the trip was before, is isolated too.
	c.Signal().OnCancel(func() { panic("late") })
	_, _ = reg.Register(func() { panic("late") })
	if len(faults) != 5 {
		t.Errorf("%d faults, want 5", len(faults))
	}
}

// proves INT-15
func TestAFaultThatPanicsHurtsNobody(t *testing.T) {
	c := interrupt.New(interrupt.Options{Fault: func(error) { panic("the report itself") }})
	ran := false
	c.Signal().OnCancel(func() { panic("x") })
	c.Signal().OnCancel(func() { ran = true })
	ask(t, c)
	if !ran {
		t.Error("the next listener did not run")
	}
}

// proves INT-15
func TestTheRestRunsThoughOneEndsItsGoroutine(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	var ran []string
	c.Signal().OnCancel(func() { runtime.Goexit() })
	c.Signal().OnCancel(func() { ran = append(ran, "listener"); runtime.Goexit() })
	reg, _ := c.Registrar()
	_, _ = reg.Register(func() { ran = append(ran, "terminator") })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
	}()
	<-ended
	if !slices.Equal(ran, []string{"listener", "terminator"}) {
		t.Errorf("ran %v", ran)
	}
}

// proves INT-15
func TestABlockedListenerIsReportedWhileItBlocks(t *testing.T) {
	for _, limit := range []time.Duration{0, 3 * time.Second} {
		want := limit
		if want == 0 {
			want = time.Second
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var reported []time.Duration
			c := interrupt.New(interrupt.Options{BlockedAfter: limit, Fault: func(err error) {
				reported = append(reported, time.Since(start))
				if !strings.Contains(err.Error(), want.String()) {
					t.Errorf("the report %q does not say how long", err)
				}
			}})
			release := make(chan struct{})
			c.Signal().OnCancel(func() { <-release })
			c.Signal().OnCancel(func() { time.Sleep(want - 1) }) // long, but in time
			time.AfterFunc(5*want, func() { close(release) })
			ask(t, c)
			synctest.Wait()
			if len(reported) != 1 || reported[0] != want {
				t.Errorf("reported at %v, want once, at %v", reported, want)
			}
		})
	}
}

// proves INT-12
func TestUnknownIsForReadingOnly(t *testing.T) {
	for _, reason := range []interrupt.Reason{interrupt.Unknown, "", "user_sigint", "USER_SIGINT ", "SUSPENDED"} {
		c := interrupt.New(interrupt.Options{})
		first, err := c.Request(interrupt.Cause{Reason: reason})
		var refused *interrupt.RefusedError
		if first || !errors.As(err, &refused) || refused.Reason != reason {
			t.Errorf("Request(%q) = %v, %v; want it refused", string(reason), first, err)
		}
		if c.Signal().Cancelled() {
			t.Errorf("Request(%q) tripped", string(reason))
		}
		c.Close()
		if _, err := c.Request(interrupt.Cause{Reason: reason}); !errors.As(err, &refused) {
			t.Errorf("on a closed coordinator Request(%q) is not refused: %v", string(reason), err)
		}
	}
}

// proves INT-16, INT-22, TRN-02
func TestAnInterruptKeptFromOneTurnDoesNotReachTheNext(t *testing.T) {
	var kept []*interrupt.Coordinator
	for turn := range 3 {
		c := interrupt.New(interrupt.Options{})
		stray := false
		c.Signal().OnCancel(func() { stray = true })
		for _, old := range kept {
			if first, err := old.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}); first || err != nil {
				t.Errorf("turn %d: a request to a closed coordinator = %v, %v", turn, first, err)
			}
			if old.Force() || old.Signal().Cancelled() || !old.IsClosed() {
				t.Errorf("turn %d: a closed coordinator moved", turn)
			}
		}
		if stray || c.Signal().Cancelled() {
			t.Errorf("turn %d was stopped by a handle of an earlier one", turn)
		}
		c.Close()
		c.Close()
		kept = append(kept, c)
	}
}

// A request that races with Close either trips the turn, and then the closed
// turn says so for ever, or does nothing.
//
// proves TRN-02, INT-16
func TestRequestAndCloseAreOneAfterTheOther(t *testing.T) {
	for range 500 {
		c := interrupt.New(interrupt.Options{})
		var first bool
		var wg sync.WaitGroup
		wg.Go(func() { first, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}) })
		wg.Go(c.Close)
		wg.Wait()
		if first != c.Signal().Cancelled() {
			t.Fatalf("the request says %v, the signal %v", first, c.Signal().Cancelled())
		}
	}
}

// proves INT-34, INT-35
func TestBothSourcesAreLookedAtAndTheCallerIsPromoted(t *testing.T) {
	alive, cancel := context.WithCancel(t.Context())
	dead, kill := context.WithCancelCause(t.Context())
	kill(errors.New("the client hung up"))
	defer cancel()
	for _, c := range []struct {
		name    string
		asked   bool
		closed  bool
		caller  context.Context
		tripped bool
		reason  interrupt.Reason
	}{
		{"neither", false, false, alive, false, ""},
		{"no caller", false, false, nil, false, ""},
		{"the signal", true, false, alive, true, interrupt.UserSIGINT},
		{"the caller", false, false, dead, true, interrupt.ParentCancelled},
		{"both", true, false, dead, true, interrupt.UserSIGINT},
		{"a closed turn", false, true, alive, false, ""},
		{"a closed turn's caller", false, true, dead, true, ""},
		{"a closed and tripped turn", true, true, alive, true, interrupt.UserSIGINT},
	} {
		co := interrupt.New(interrupt.Options{})
		told := 0
		co.Signal().OnCancel(func() { told++ })
		if c.asked {
			ask(t, co)
		}
		if c.closed {
			co.Close()
		}
		for range 2 { // the second look sees what the first did
			if got := interrupt.Tripped(co, c.caller); got != c.tripped {
				t.Errorf("%s: Tripped = %v, want %v", c.name, got, c.tripped)
			}
		}
		if reason, _ := co.Signal().Reason(); reason != c.reason {
			t.Errorf("%s: reason %q, want %q", c.name, string(reason), string(c.reason))
		}
		if want := c.reason != ""; (told == 1) != want {
			t.Errorf("%s: the listener ran %d times", c.name, told)
		}
	}
}

// flipping is a caller that goes away between two looks at it.
type flipping struct {
	context.Context
	looks int
}

func (f *flipping) Err() error {
	f.looks++
	if f.looks > 1 {
		return context.Canceled
	}
	return nil
}

// proves INT-36
func TestTrippedLooksOnceAtEachSource(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	caller := &flipping{Context: t.Context()}
	if interrupt.Tripped(c, caller) {
		t.Error("tripped, though the caller was there at the one look")
	}
	if caller.looks != 1 {
		t.Errorf("the caller was looked at %d times for one decision", caller.looks)
	}
	if !interrupt.Tripped(c, caller) || caller.looks != 2 {
		t.Errorf("the next decision did not see it: %d looks", caller.looks)
	}
}

// A call that fails or is cut on its own is not the turn's end, nor its
// sibling's.
//
// proves INT-40, INT-33, TRN-20
func TestACallsOwnEndReachesNeitherTurnNorSibling(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	turn, end := context.WithCancel(t.Context())
	defer end()
	one, stopOne := c.Context(turn)
	two, stopTwo := c.Context(turn)
	defer stopTwo()
	stopOne()
	if one.Err() == nil {
		t.Error("stop did not release the context")
	}
	if two.Err() != nil || turn.Err() != nil || c.Signal().Cancelled() || interrupt.Tripped(c, turn) {
		t.Error("the end of one call reached its sibling or its turn")
	}
	ask(t, c)
	var asked *interrupt.InterruptedError
	if err := context.Cause(two); !errors.As(err, &asked) || asked.Cause.Who != "test" {
		t.Errorf("the cause of the other call is %v", err)
	}
	if turn.Err() != nil {
		t.Error("the trip ended the caller's own context")
	}
	if !errors.Is(context.Cause(one), context.Canceled) || errors.Is(context.Cause(one), interrupt.ErrInterrupted) {
		t.Errorf("a call that ended before the trip has the cause %v", context.Cause(one))
	}
}

// proves INT-45, INT-05
func TestAContextOfATrippedSignalIsBornCut(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ask(t, c)
	ctx, stop := c.Context(t.Context())
	defer stop()
	if ctx.Err() == nil || !errors.Is(context.Cause(ctx), interrupt.ErrInterrupted) {
		t.Errorf("Err %v, cause %v", ctx.Err(), context.Cause(ctx))
	}
}

// proves INT-47
func TestAThousandContextsLeaveNoListenerBehind(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	for range 1000 {
		ctx, stop := c.Context(t.Context())
		if n, _ := c.Live(); n != 1 {
			t.Fatalf("%d listeners while one call runs", n)
		}
		stop()
		if ctx.Err() == nil {
			t.Fatal("a released context lives")
		}
	}
	if n, m := c.Live(); n+m != 0 {
		t.Errorf("%d listeners and %d terminators are left", n, m)
	}
}
