package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

// keepable starts a command that can be kept; what is
// left of it is ended with the test.
func keepable(t *testing.T, h proc.Host, script string) (proc.Tree, proc.Spec, proctest.Mark) {
	t.Helper()
	s, m := keepSpec(t, script)
	tree, err := h.Start(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.End(tree.Started(), interrupt.Ladder{Bound: time.Minute}) })
	proctest.Until(t, time.Minute, "it runs", func() bool { return len(m.Alive()) == 1 })
	return tree, s, m
}

func keepSpec(t *testing.T, script string) (proc.Spec, proctest.Mark) {
	m := new(proctest.Marks).New("keep")
	return proc.Spec{Owner: "call", ID: "call/keep", Argv: []string{"sh", "-c", script}, Dir: t.TempDir(),
		Env: append(proc.Environ(os.Environ(), nil), m.Env()), Spool: filepath.Join(t.TempDir(), "spool")}, m
}

// A wish to keep a tree that was given up because its guardian did not answer is
// not in force when the guardian hears of it at last, though its runtime is dead
// by then.
//
// proves PRC-01, PRC-04
func TestAKeepThatWasGivenUpIsNotInForce(t *testing.T) {
	s, m := keepSpec(t, "exec sleep 1000")
	r := proctest.StartUnheard(t, guardianLane(), s)
	t.Cleanup(func() { proc.End(r.Tree, interrupt.Ladder{Bound: time.Minute}) })
	r.Kill()
	_ = syscall.Kill(r.Tree.Guardian.PID, syscall.SIGCONT)
	proctest.Until(t, time.Minute, "the tree's end", m.None)
	proctest.Until(t, time.Minute, "the guardian's end", func() bool { return !proc.Alive(*r.Tree.Guardian) })
}

// Wishes to keep a tree and not to, at once: what is said last to have been done
// is what is in force, and no answer is taken for another's.
//
// proves PRC-01
func TestWishesToKeepDoNotCross(t *testing.T) {
	h := guardianLane().Host(t)
	defer h.Close()
	tree, s, _ := keepable(t, h, "exec sleep 1000")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if err := tree.Keep(i%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(s.Spool + ".sock"); tree.Started().Keep != (err == nil) {
		t.Errorf("said to be kept %v, the guardian's door: %v", tree.Started().Keep, err)
	}
	tree.Stop(interrupt.Ladder{Bound: time.Minute})
}

// A tree that is adopted at the moment that its host closes is left to its
// guardian, if it is kept.
//
// proves PRC-01, REC-07
func TestAKeptTreeThatIsAdoptedAsItsHostClosesLivesOn(t *testing.T) {
	h := guardianLane().Host(t)
	tree, _, m := keepable(t, h, "exec sleep 1000")
	if err := tree.Keep(true); err != nil {
		t.Fatal(err)
	}
	proctest.Within(t, time.Minute, "that the host lets go of it", proc.AdoptAsItCloses(h, tree))
	if len(m.Alive()) != 1 || !proc.Find(tree.Started()).Guardian {
		t.Errorf("alive: %v, found %+v", m.Alive(), proc.Find(tree.Started()))
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A kept tree that was let go of can be had by another host while the first one
// lives, which sees no more of it than that its guardian is buried.
//
// proves PRC-01, REC-07
func TestAKeptTreeThatWasLeftIsAdoptedWhileItsRuntimeLives(t *testing.T) {
	one, two := guardianLane().Host(t), guardianLane().Host(t)
	defer one.Close()
	defer two.Close()
	tree, s, m := keepable(t, one, "exec sleep 1000")
	if err := tree.Keep(true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rec := tree.Started()
	if same, err := one.Adopt(ctx, rec, s.Spool); err != nil || same != tree {
		t.Errorf("what a host has is had from it: %v, %v", same, err)
	}
	proc.Leave(tree)
	for i, h := range []proc.Host{one, two} { // its own host can have it again, too
		got, err := h.Adopt(ctx, rec, s.Spool)
		for err != nil && ctx.Err() == nil { // a host's own patience is for a machine that is less busy
			got, err = h.Adopt(ctx, rec, s.Spool)
		}
		if err != nil || got == tree || len(m.Alive()) != 1 {
			t.Fatalf("host %d: %v, %v, alive %v", i, got, err, m.Alive())
		}
		if i == 0 {
			proc.Leave(got)
			continue
		}
		if st := got.Stop(interrupt.Ladder{Bound: time.Minute}); !st.Gone || !m.None() {
			t.Errorf("%+v, alive %v", st, m.Alive())
		}
	}
	proctest.Until(t, time.Minute, "the guardian is buried", func() bool { return errors.Is(syscall.Kill(rec.Guardian.PID, 0), syscall.ESRCH) })
}

// What is not kept is not let go of.
//
// proves PRC-01
func TestWhatIsNotKeptIsNotLeft(t *testing.T) {
	h := guardianLane().Host(t)
	defer h.Close()
	tree, _, m := keepable(t, h, "exec sleep 1000")
	proc.Leave(tree)
	if st := tree.Stop(interrupt.Ladder{Bound: time.Minute}); !st.Gone || !m.None() {
		t.Errorf("%+v, alive %v", st, m.Alive())
	}
}
