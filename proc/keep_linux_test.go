package proc_test

import (
	"context"
	"os"
	"path/filepath"
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
	m := new(proctest.Marks).New("keep")
	s := proc.Spec{Owner: "call", ID: "call/keep", Argv: []string{"sh", "-c", script}, Dir: t.TempDir(),
		Env: append(proc.Environ(os.Environ(), nil), m.Env()), Spool: filepath.Join(t.TempDir(), "spool")}
	tree, err := h.Start(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.End(tree.Started(), interrupt.Ladder{Bound: time.Minute}) })
	proctest.Until(t, time.Minute, "it runs", func() bool { return len(m.Alive()) == 1 })
	return tree, s, m
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
