package proctest

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// Driver is a kind of host to be tested.
type Driver struct {
	Lane proc.Lane
	// Host makes one; the suite closes it.
	Host func(t testing.TB) proc.Host
	// Options make the same kind of host in another process.
	Options proc.Options
}

// New is a driver for hosts made by [proc.NewHost] with o, in lane.
func New(lane proc.Lane, o proc.Options) Driver {
	return Driver{Lane: lane, Options: o, Host: func(t testing.TB) proc.Host {
		t.Helper()
		h, err := proc.NewHost(o)
		if err != nil {
			t.Fatal(err)
		}
		if h.Lane() != lane {
			t.Fatalf("host is of lane %s (%s), want %s", h.Lane(), proc.Describe(h).Why, lane)
		}
		return h
	}}
}

// whole reports whether the lane promises the whole tree, daemons included.
func (d Driver) whole() bool { return d.Lane != proc.LaneGroup }

// guarded reports whether somebody acts when the runtime is killed.
func (d Driver) guarded() bool { return d.Lane != proc.LaneGroup }

// bench is what one test works with.
type bench struct {
	*testing.T
	Driver
	host  proc.Host
	marks *Marks
	dir   string

	bystander int // a process that no host knows
}

// Run runs every test of the suite.
func Run(t *testing.T, d Driver) {
	marks := &Marks{}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if c.needs != nil && !c.needs(d) {
				t.Skipf("lane %s does not promise this", d.Lane)
			}
			bystander := Bystander(t)
			goroutines, files := runtime.NumGoroutine(), openFiles(t)
			b := &bench{T: t, Driver: d, host: d.Host(t), marks: marks, dir: t.TempDir(), bystander: bystander}
			c.test(b)
			if err := b.host.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if !eventually(20*second, func() bool { return runtime.NumGoroutine() <= goroutines }) {
				buf := make([]byte, 1<<16)
				t.Errorf("%d goroutines, were %d\n%s", runtime.NumGoroutine(), goroutines, buf[:runtime.Stack(buf, true)])
			}
			runtime.GC() // temporary spools are closed with their trees
			if !eventually(20*second, func() bool { runtime.GC(); return openFiles(t) <= files }) {
				t.Errorf("%d open files, were %d", openFiles(t), files)
			}
		})
	}
}

func openFiles(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// spec makes a spec of a shell script with a mark of its own.
func (b *bench) spec(script string) (proc.Spec, Mark) {
	m := b.marks.New("tree")
	return proc.Spec{
		Owner: "call", ID: "call/" + string(m), Argv: []string{"sh", "-c", script}, Dir: b.dir,
		Env:   append(proc.Environ(os.Environ(), nil), m.Env()),
		Spool: filepath.Join(b.TempDir(), "spool"),
	}, m
}

func (b *bench) start(s proc.Spec) proc.Tree {
	b.Helper()
	tree, err := b.host.Start(context.Background(), s)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tree.Stop(interrupt.Ladder{Bound: 5 * second}) })
	return tree
}

// run starts a script and waits until n processes of it are alive.
func (b *bench) run(script string, n int) (proc.Tree, Mark) {
	b.Helper()
	s, m := b.spec(script)
	tree := b.start(s)
	Until(b, 20*second, "the tree stands", func() bool { return len(m.Alive()) >= n })
	return tree, m
}

// stop stops a tree and checks that the world agrees with what is said of it.
func (b *bench) stop(tree proc.Tree, m Mark, grace time.Duration) proc.Stopped {
	b.Helper()
	s := tree.Stop(interrupt.Ladder{Grace: grace, Bound: 5 * second})
	alive := m.Alive()
	if !s.Gone || len(s.Survivors) > 0 {
		b.Errorf("stop gave up: %+v; alive: %v", s, alive)
	}
	if len(alive) > 0 {
		b.Errorf("the tree is said to be gone, alive: %v", alive)
	}
	if !closed(tree.Gone()) || !closed(tree.Exited()) {
		b.Error("stop returned before Gone and Exited were closed")
	}
	return s
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
