package interrupt_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

// With both ready, a plain select picks the trip half the time and throws the
// value away.
//
// proves TRN-19, INT-44
func TestWaitPrefersTheValueThatIsThere(t *testing.T) {
	for range 1000 {
		c := interrupt.New(interrupt.Options{})
		ask(t, c)
		verdict := make(chan string, 1)
		verdict <- "allow"
		if v, ok, err := interrupt.Wait(c.Signal(), verdict); v != "allow" || !ok || err != nil {
			t.Fatalf("Wait = %q, %v, %v", v, ok, err)
		}
	}
}

// The value arrives, and only then the trip: whoever waits gets the value.
//
// proves TRN-19, INT-44
func TestWaitPrefersTheValueThatCameBeforeTheTrip(t *testing.T) {
	for range 1000 {
		c := interrupt.New(interrupt.Options{})
		verdict := make(chan int, 1)
		go func() {
			verdict <- 7
			_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
		}()
		if v, ok, err := interrupt.Wait(c.Signal(), verdict); v != 7 || !ok || err != nil {
			t.Fatalf("Wait = %d, %v, %v", v, ok, err)
		}
	}
}

// Value and trip both come between the first look and the wait: a select then
// picks either, so the value is looked for once more.
//
// proves TRN-19
func TestWaitLooksAgainAfterTheTrip(t *testing.T) {
	for range 100 {
		c := interrupt.New(interrupt.Options{})
		ask(t, c)
		both := lateSignal{c.Signal(), make(chan int, 1)}
		if v, ok, err := interrupt.Wait[int](both, both.ch); v != 1 || !ok || err != nil {
			t.Fatalf("Wait = %d, %v, %v", v, ok, err)
		}
	}
}

// lateSignal is a tripped signal whose value arrives when the wait begins.
type lateSignal struct {
	interrupt.Signal
	ch chan int
}

func (l lateSignal) Done() <-chan struct{} {
	l.ch <- 1
	return l.Signal.Done()
}

// proves TRN-19, TRN-04
func TestWaitGivesTheOneErrorOnceTripped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		time.AfterFunc(time.Minute, func() { _, _ = c.Request(interrupt.Cause{Reason: interrupt.LeaseLost}) })
		start := time.Now()
		v, ok, err := interrupt.Wait(c.Signal(), make(chan int))
		var asked *interrupt.InterruptedError
		if v != 0 || ok || !errors.As(err, &asked) || asked.Cause.Reason != interrupt.LeaseLost {
			t.Errorf("Wait = %d, %v, %v", v, ok, err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// proves TRN-19
func TestAClosedChannelIsNoInterrupt(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ask(t, c)
	shut := make(chan int)
	close(shut)
	for _, sig := range []interrupt.Signal{c.Signal(), interrupt.Never()} {
		if v, ok, err := interrupt.Wait(sig, shut); v != 0 || ok || err != nil {
			t.Errorf("Wait = %d, %v, %v", v, ok, err)
		}
	}
}
