package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Who waits for an input is told that it was dropped once that is durable. Where
// what stood for it was refused it waits again, and so do they.
//
// proves LOG-13, TRN-13
func TestWhoWaitsHearsOfADropOnceItIsDurable(t *testing.T) {
	var disk faults
	r := newRig(t, plan{store: mem.Options{Fault: disk.fault}, talks: []talk{hangs("half"), says("fine")}})
	first := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	old := r.submit("old words")
	heard := make(chan error, 1)
	go func() { _, err := r.live.Wait(r.ctx, old); heard <- err }()
	r.until("somebody waits", func() bool { return r.live.Waits(old) == 1 })
	disk.fail(0)
	if _, err := r.live.Offer(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("new words")}, Priority: event.PriorityLater, Replaces: []event.InputID{old}}); err == nil {
		t.Fatal("accepted on a full disk")
	}
	r.wait(first)
	disk.on.Store(false)
	r.until("it works again", func() bool { return r.live.Status().Storage == "" })
	select {
	case err := <-heard:
		t.Fatalf("who waits for what waits was told %v", err)
	default:
	}
	if r.live.Runs(old) {
		t.Error("it runs, they say")
	}
	if _, err := r.live.Continue(r.ctx, "me", true); err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(old); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	if err := <-heard; err != nil {
		t.Error(err)
	}
}

// slowEnd is a tree whose end takes a while to be looked at.
type slowEnd struct{ *tree }

func (p slowEnd) Exit() (*int, string) { <-time.After(time.Second); return nil, "" }

// proves PRC-05, IFC-12: who is told that a job was ended finds its end written
func TestAJobThatWasKilledHasItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slowEnd{newTree()}
		r := newRig(t, plan{tools: []tool.Tool{leaves(p)}, talks: []talk{calls("c1", "leaves"), says("fine")}})
		r.run("go")
		if err := r.live.Keep(r.ctx, "j1", true); err != nil {
			t.Fatal(err)
		}
		if err := r.live.Kill("j1", "me"); err != nil {
			t.Fatal(err)
		}
		if ends := payloads[event.JobEnded](t, r.records()); len(ends) != 1 || ends[0].By != "me" {
			t.Errorf("its ends: %+v", ends)
		}
		r.close()
	})
}

// proves PRC-05, LOG-14: a wish that could not be written leaves a job as it was
func TestAKeptJobStaysKeptWhereKeepingItAgainFails(t *testing.T) {
	var disk faults
	p := newTree()
	r := newRig(t, plan{store: mem.Options{Fault: disk.fault}, tools: []tool.Tool{leaves(p)}, talks: []talk{calls("c1", "leaves"), says("fine")}})
	r.run("go")
	if err := r.live.Keep(r.ctx, "j1", true); err != nil {
		t.Fatal(err)
	}
	disk.fail(0)
	var no *turn.RefusedError
	if err := r.live.Keep(context.WithoutCancel(r.ctx), "j1", true); !errors.As(err, &no) || !p.isKept() {
		t.Errorf("kept %v, %v", p.isKept(), err)
	}
	disk.on.Store(false)
	r.until("it works again", func() bool { return r.live.Status().Storage == "" })
	p.once.Do(func() { close(p.gone) })
}

// A stop that comes while an urgent input makes its turn unwind stops that, too:
// nothing runs by itself behind it.
//
// proves TRN-14, INT-24, IFC-06
func TestAStopBehindAnUrgentInputIsObeyed(t *testing.T) {
	for _, clear := range []bool{false, true} {
		release := make(chan struct{})
		r := newRig(t, plan{tools: []tool.Tool{waits(release)}, talks: []talk{calls("c1", "slow"), says("fine")}})
		first := r.submit("first")
		r.until("the call has started", func() bool { return strings.Contains(r.types(), "call/started") })
		taken, err := r.live.Offer(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("urgent")}, Priority: event.PriorityNow})
		if err != nil {
			t.Fatal(err)
		}
		if clear {
			_, err = r.live.InterruptAndClear(r.ctx, session.Address{}, byMe(), false)
		} else {
			_, err = r.live.Interrupt(session.Address{}, byMe(), false)
			_ = r.live.Remove(r.ctx, "i_none", "me") // it is answered behind whatever the driver had to do by then
		}
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		sum := r.wait(first)
		if sum.Outcome != event.TurnAborted || sum.Next != "" || clear != slices.Equal(sum.Dropped, []string{"urgent"}) || clear == slices.Equal(sum.Held, []string{"urgent"}) {
			t.Errorf("clear %v: %s, next %q, dropped %q, held %q", clear, sum.Outcome, sum.Next, sum.Dropped, sum.Held)
		}
		if st := r.live.Status(); st.Running || !clear && r.live.Runs(taken.ID) {
			t.Errorf("clear %v: it runs by itself: %+v", clear, st)
		}
		r.holds()
	}
}

// proves TRN-14: a second stop that wants nothing of what waits gets its wish
func TestAStopThatComesSecondClearsAllTheSame(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, plan{tools: []tool.Tool{waits(release)}, talks: []talk{calls("c1", "slow"), says("fine")}})
	first := r.submit("first")
	r.submit("second")
	r.until("the call has started", func() bool { return strings.Contains(r.types(), "call/started") })
	r.stop(session.Address{})
	r.submit("third")
	if s, err := r.live.InterruptAndClear(r.ctx, session.Address{}, byMe(), false); err != nil || s != session.StopAlready {
		t.Errorf("%v, %v", s, err)
	}
	close(release)
	if sum := r.wait(first); !slices.Equal(sum.Dropped, []string{"second", "third"}) || len(sum.Held) > 0 {
		t.Errorf("dropped %q, held %q", sum.Dropped, sum.Held)
	}
	r.holds()
}
