package proctest

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// TreeCount is how many random trees a test is to end: the variable
// RIPCORD_TREES, or n.
func TreeCount(n int) int {
	if v, err := strconv.Atoi(os.Getenv("RIPCORD_TREES")); err == nil && v > 0 {
		return v
	}
	return n
}

// trialTrees is from how many trees on a test is a trial that has the machine.
const trialTrees = 1000

// TreeSeed is where the seeds of random trees begin: the variable
// RIPCORD_TREE_SEED, or 1.
func TreeSeed() uint64 {
	if v, err := strconv.ParseUint(os.Getenv("RIPCORD_TREE_SEED"), 10, 64); err == nil {
		return v
	}
	return 1
}

// ending is a way for a tree to be ended.
type ending int

const (
	byStop ending = iota
	byTimeout
	byClose
	byDeath // of the runtime
	endings
)

func (e ending) String() string {
	return [...]string{"interrupt", "timeout", "close", "SIGKILL of the runtime"}[e]
}

// Trees ends n random trees at random moments, in each of the four ways, and
// counts who survived. Seeds run from seed on.
func Trees(t *testing.T, d Driver, n int, seed uint64) {
	Bystander(t)
	marks := &Marks{}
	host := d.Host(t)
	defer host.Close()
	var count, survivors [endings]int
	processes, slowest := 0, time.Duration(0)
	began := time.Now()
	for i := range n {
		s := seed + uint64(i)
		r := rand.New(rand.NewPCG(s, 42))
		how := byStop
		switch k := r.IntN(10); {
		case k == 9:
			how = byDeath
		case k == 8:
			how = byClose
		case k >= 6:
			how = byTimeout
		}
		plan := Tree(s)
		m := marks.New("random")
		t0 := time.Now()
		saw, left := endTree(t, d, host, plan, how, r, m)
		processes += saw
		slowest = max(slowest, time.Since(t0))
		count[how]++
		survivors[how] += left
		if left > 0 {
			t.Errorf("seed %d (RIPCORD_TREE_SEED=%d RIPCORD_TREES=1), ended by %v with %d of %d processes up: %d survivors\n%s",
				s, s, how, saw, plan.Nodes, left, plan.Text)
		}
	}
	for e := range endings {
		t.Logf("%s: %d trees by %v: %d survivors", d.Lane, count[e], e, survivors[e])
	}
	t.Logf("%s: %d trees, %d processes seen, seeds from %d, %v, slowest %v, %d cores", d.Lane, n, processes, seed, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond), runtime.NumCPU())
}

// endTree starts a plan, ends it at a random moment and returns how many
// processes it saw and how many were left.
func endTree(t *testing.T, d Driver, host proc.Host, plan Plan, how ending, r *rand.Rand, m Mark) (saw, left int) {
	dir, err := os.MkdirTemp("", "tree")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	spec := proc.Spec{
		Owner: "call", ID: string(m), Argv: plan.Argv(), Dir: dir,
		Env:    append(append(proc.Environ(os.Environ(), nil), m.Env()), plan.Env()...),
		Spool:  filepath.Join(dir, "spool"),
		Ladder: interrupt.Ladder{Grace: time.Duration(r.IntN(20)) * time.Millisecond, Bound: 10 * time.Second},
	}
	if how == byTimeout {
		spec.Timeout = time.Duration(1+r.IntN(60)) * time.Millisecond
	}
	if how == byDeath {
		rt := StartRuntime(t, d, spec, false)
		saw = grown(m, plan, r)
		rt.Kill()
		bound := 20 * time.Second
		if TreeCount(0) >= trialTrees {
			bound = time.Second // which is promised, and is measured where nothing else runs
		}
		eventually(bound, m.None)
		return saw, len(m.Alive())
	}
	if how == byClose {
		host = d.Host(t)
		defer host.Close()
	}
	tree, err := host.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	switch how {
	case byStop, byDeath:
		saw = grown(m, plan, r)
		tree.Stop(spec.Ladder)
	case byTimeout:
		eventually(10*time.Second, func() bool { saw = max(saw, len(m.Alive())); return closed(tree.Exited()) })
		if e, ok := tree.Exit(); ok && !e.TimedOut {
			tree.Stop(spec.Ladder) // a leader that ended in time leaves its children to us
		}
		eventually(10*time.Second, func() bool { return closed(tree.Gone()) })
	case byClose, endings:
		saw = grown(m, plan, r)
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
	if left = len(m.Alive()); left > 0 || !closed(tree.Gone()) && how != byClose {
		t.Logf("seed %d by %v: alive %v, host says %v, gone %v", plan.Seed, how, m.Alive(), tree.PIDs(), closed(tree.Gone()))
	}
	tree.Stop(interrupt.Ladder{Bound: 5 * time.Second})
	return saw, left
}

// grown waits until a random part of the tree stands, or a while has passed.
func grown(m Mark, plan Plan, r *rand.Rand) (saw int) {
	want := r.IntN(plan.Nodes + 1)
	eventually(300*time.Millisecond, func() bool { saw = len(m.Alive()); return saw >= want })
	return saw
}
