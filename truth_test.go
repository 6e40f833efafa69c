package ripcord_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
)

// proves TRN-04, PRC-08: a session that is being opened when the runtime closes
// is closed with it; nobody holds it afterwards
func TestClosingWaitsForWhatIsBeingOpened(t *testing.T) {
	opening, goOn := make(chan struct{}), make(chan struct{})
	store := mem.New(mem.Options{Check: check, Fault: func(op string) error {
		if op == "create" {
			close(opening)
			<-goOn
		}
		return nil
	}})
	rt, err := ripcord.New(ripcord.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	opened := make(chan api.SessionState, 1)
	go func() {
		s, err := rt.Open(ctx, api.OpenRequest{})
		if err != nil {
			t.Errorf("open: %v", err)
		}
		opened <- s
	}()
	<-opening
	closed := make(chan error, 1)
	go func() { closed <- rt.Close(ctx) }()
	var refused *api.Error
	for { // until it closes: nothing else is opened then
		if _, err := rt.Open(ctx, api.OpenRequest{ID: "s_none"}); errors.As(err, &refused) && refused.Code == event.FailUsage {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("it does not begin to close")
		}
	}
	close(goOn)
	s := <-opened
	if err := <-closed; err != nil {
		t.Error(err)
	}
	w, err := store.Acquire(ctx, s.ID)
	if err != nil {
		t.Fatalf("somebody holds it: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := rt.Open(ctx, api.OpenRequest{}); !errors.As(err, &refused) || refused.Code != event.FailUsage {
		t.Errorf("a closed runtime opens: %v", err)
	}
}

// proves LOG-11, TRN-04: who opens a session while it is released gets one that
// takes input; a second release finds nothing to do
func TestOpeningWaitsForTheRelease(t *testing.T) {
	b := newBench(t, answers("text \"fine\"\nfinish stop"))
	for range 20 {
		released := make(chan error, 2)
		for range 2 {
			go func() { released <- b.rt.Release(b.ctx, b.id) }()
		}
		b.open(b.id)
		for range 2 {
			var e *api.Error
			if err := <-released; err != nil && (!errors.As(err, &e) || e.Code != "not_found") {
				t.Errorf("release: %v", err)
			}
		}
		s := b.open(b.id) // it may have been released behind the first opening
		if _, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf("go")}}); err != nil {
			t.Fatalf("submit: %v", err)
		}
	}
}

// proves REC-07, PRC-04, invariant 10: a kept job is found again by whoever opens
// the session next, also in the same process; its session is not deleted over
// it, and it can be ended without opening anything
func TestAKeptJobIsUnderSomebodysCareUntilItEnds(t *testing.T) {
	b := newBench(t, answers(bash("c1", "sleep 300 & echo $! >pids")+"finish tool", "text \"fine\"\nfinish stop"), withBash(t))
	b.outcome(b.run("go"), event.TurnCompleted)
	pids := b.pids("pids")
	jobs, err := b.rt.Jobs(b.ctx, b.id)
	if err != nil || len(jobs) != 1 || len(alive(pids...)) != 1 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	if err := b.rt.KeepJob(b.ctx, b.id, jobs[0].ID, true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := b.rt.Release(ctx, b.id); err != nil {
		t.Fatal(err)
	}
	s, err := b.rt.Open(ctx, api.OpenRequest{ID: b.id, Cwd: b.cwd})
	if err != nil || s.Recovered == nil || len(s.Recovered.Adopted) != 1 {
		t.Fatalf("%+v, %v", s.Recovered, err)
	}
	if _, err := b.rt.JobLog(ctx, b.id, jobs[0].ID); err != nil {
		t.Error(err)
	}
	if err := b.rt.Release(ctx, b.id); err != nil {
		t.Fatal(err)
	}
	if err := b.rt.Delete(ctx, b.id); err == nil {
		t.Error("its session was deleted over it")
	}
	if len(alive(pids...)) != 1 {
		t.Fatal("it does not live on")
	}
	if err := b.rt.KillJob(ctx, b.id, jobs[0].ID); err != nil {
		t.Error(err)
	}
	if left := alive(pids...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	if err := b.rt.Delete(ctx, b.id); err != nil {
		t.Error(err)
	}
}
