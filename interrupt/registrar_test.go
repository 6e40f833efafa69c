package interrupt_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord/interrupt"
)

func registrar(t *testing.T, c *interrupt.Coordinator) interrupt.Registrar {
	t.Helper()
	r, err := c.Registrar()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func register(t *testing.T, r interrupt.Registrar, f func()) int {
	t.Helper()
	id, err := r.Register(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// proves INT-17
func TestARegistrarLivesAsLongAsItsCall(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	var ended, running, removed int
	over := registrar(t, c)
	register(t, over, func() { ended++ })
	over.Close()
	over.Close()
	if _, err := over.Register(func() { ended++ }); !errors.Is(err, interrupt.ErrClosed) {
		t.Errorf("Register after Close = %v, want ErrClosed", err)
	}
	over.Unregister(12345)

	r := registrar(t, c)
	register(t, r, func() { running++ })
	id := register(t, r, func() { removed++ })
	r.Unregister(id)
	r.Unregister(id)
	r.Unregister(12345)
	if _, n := c.Live(); n != 1 {
		t.Errorf("%d terminators wait, want 1", n)
	}
	ask(t, c)
	if ended != 0 || removed != 0 || running != 1 {
		t.Errorf("ran: of the ended call %d, removed %d, of the running call %d; want 0, 0, 1", ended, removed, running)
	}
}

// proves INT-17
func TestATerminatorOfATrippedTurnRunsAtOnceAndOnce(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	before := registrar(t, c)
	ask(t, c)
	for _, r := range []interrupt.Registrar{before, registrar(t, c)} {
		ran := 0
		register(t, r, func() { ran++ })
		if ran != 1 {
			t.Errorf("ran %d times before Register returned, want 1", ran)
		}
		if first, err := c.Request(interrupt.Cause{Reason: interrupt.LeaseLost}); first || err != nil {
			t.Errorf("Request = %v, %v", first, err)
		}
		if ran != 1 {
			t.Errorf("a second request ran it again: %d", ran)
		}
	}
}

// proves INT-16, INT-17
func TestAClosedTurnTakesNoRegistrarAndNoTerminator(t *testing.T) {
	for _, tripped := range []bool{false, true} {
		c := interrupt.New(interrupt.Options{})
		r := registrar(t, c)
		ran := 0
		register(t, r, func() { ran++ })
		if tripped {
			ask(t, c)
			ran = 0
		}
		c.Close()
		if _, err := c.Registrar(); !errors.Is(err, interrupt.ErrClosed) {
			t.Errorf("Registrar = %v, want ErrClosed", err)
		}
		if _, err := r.Register(func() { ran++ }); !errors.Is(err, interrupt.ErrClosed) {
			t.Errorf("Register = %v, want ErrClosed", err)
		}
		if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}); err != nil {
			t.Error(err)
		}
		if ran != 0 {
			t.Errorf("tripped %v: a terminator of a closed turn ran", tripped)
		}
		r.Close()
	}
}

// However a registration falls against the trip, the terminator runs exactly
// once: the order "start the work, then register" is safe.
//
// proves INT-17, INT-54
func TestRegistrationThatRacesWithTheTripRunsOnce(t *testing.T) {
	for range 500 {
		c := interrupt.New(interrupt.Options{})
		r := registrar(t, c)
		var terminated, listened atomic.Int32
		var wg sync.WaitGroup
		wg.Go(func() { register(t, r, func() { terminated.Add(1) }) })
		wg.Go(func() { c.Signal().OnCancel(func() { listened.Add(1) }) })
		wg.Go(func() { ask(t, c) })
		wg.Wait()
		if terminated.Load() != 1 || listened.Load() != 1 {
			t.Fatalf("terminator ran %d times, listener %d, want once each", terminated.Load(), listened.Load())
		}
	}
}

// What a trip runs first may take its time; a call that ends meanwhile takes
// its terminators along, for what they would end may be a stranger by then.
//
// proves INT-17, INT-47
func TestACallThatEndsDuringTheTripIsNotTerminated(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ended, running := registrar(t, c), registrar(t, c)
	var ran []string
	id := 0
	c.Signal().OnCancel(func() { ended.Close(); running.Unregister(id) })
	register(t, ended, func() { ran = append(ran, "ended") })
	id = register(t, running, func() { ran = append(ran, "unregistered") })
	register(t, running, func() { ran = append(ran, "running") })
	ask(t, c)
	if len(ran) != 1 || ran[0] != "running" {
		t.Errorf("ran %v, want the running call's alone", ran)
	}
}
