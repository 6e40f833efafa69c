package proctest

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// Rounds of a race: each of them shows a guardian that asks who had ended only
// after it was told why, more often than not.
const (
	unaskedRounds = 16
	unheardRounds = 8
	inTimeTrees   = 8
)

// late starts what ends when it is told to (let), by itself.
func (b *bench) late() (s proc.Spec, let func()) {
	s, _ = b.spec(`read x <"$GO"; exit 0`)
	name := filepath.Join(b.TempDir(), "go")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		b.Fatal(err)
	}
	s.Env = append(s.Env, "GO="+name)
	return s, func() {
		b.Helper()
		if err := os.WriteFile(name, []byte("go\n"), 0); err != nil {
			b.Fatal(err)
		}
	}
}

// endUnseen has a command end while its guardian is stopped and sees nothing.
func (b *bench) endUnseen(rec event.ProcessStarted, let func()) {
	b.Helper()
	if err := syscall.Kill(rec.Guardian.PID, syscall.SIGSTOP); err != nil {
		b.Fatal(err)
	}
	Until(b, time.Minute, "the guardian is stopped", func() bool { return stateOf(rec.Guardian.PID) == 'T' })
	let()
	Until(b, time.Minute, "the leader has ended", func() bool { return stateOf(rec.PID) == 'Z' })
}

func endedUnasked(b *bench) {
	for i := range unaskedRounds {
		s, let := b.late()
		tree := b.start(s)
		b.endUnseen(tree.Started(), let)
		l := interrupt.Ladder{Bound: time.Minute}
		if i%2 == 0 {
			l.Grace = time.Minute
		}
		tree.Stop(l) // wakes the guardian
		e, _ := tree.Exit()
		if e.Code == nil || *e.Code != 0 || !e.Own {
			b.Fatalf("round %d: exit %+v", i, e)
		}
		if r, err := proc.ReadExit(s.Spool); err != nil || r.How != proc.HowExited {
			b.Fatalf("round %d: record %+v, %v", i, r, err)
		}
	}
	// What ends because it was asked has not, whatever it says.
	tree, m := b.run(`trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done`, 1)
	Until(b, time.Minute, "it is up", func() bool { return tree.Output(0).Bytes > 0 })
	b.stop(tree, m, 20*second)
	if e, _ := tree.Exit(); e.Own {
		b.Errorf("asked: exit %+v", e)
	}
	tree, m = b.run(`exec sleep 1000`, 1)
	b.stop(tree, m, 0)
	if e, _ := tree.Exit(); e.Own {
		b.Errorf("forced: exit %+v", e)
	}
}

func endedUnheard(b *bench) {
	for i := range unheardRounds {
		s, let := b.late()
		r := StartRuntime(b, b.Driver, s, false)
		b.endUnseen(r.Tree, let)
		r.Kill()
		_ = syscall.Kill(r.Tree.Guardian.PID, syscall.SIGCONT)
		Until(b, time.Minute, "the record of the end", func() bool { rec, err := proc.ReadExit(s.Spool); return err == nil && rec.Gone })
		if rec, _ := proc.ReadExit(s.Spool); rec.How != proc.HowExited || rec.Code == nil || *rec.Code != 0 {
			b.Fatalf("round %d: record %+v", i, rec)
		}
	}
}

// endedInTime has commands end within their limit and their guardians see it
// after it, all at once.
func endedInTime(b *bench) {
	const limit = 500 * time.Millisecond
	var trees []proc.Tree
	last := time.Now()
	for range inTimeTrees {
		s, let := b.late()
		s.Timeout, s.Ladder = limit, interrupt.Ladder{Bound: time.Minute}
		before := time.Now()
		tree := b.start(s)
		b.endUnseen(tree.Started(), let)
		if last = time.Now(); last.Sub(before) < limit { // else it had its time, on a machine that is busy
			trees = append(trees, tree)
			continue
		}
		tree.Stop(interrupt.Ladder{Bound: time.Minute})
	}
	Until(b, time.Minute, "the limits have passed", func() bool { return time.Since(last) > limit })
	for _, tree := range trees {
		_ = syscall.Kill(tree.Started().Guardian.PID, syscall.SIGCONT)
		Within(b, time.Minute, "its end", tree.Gone())
		if e, _ := tree.Exit(); e.TimedOut || !e.Own || e.Code == nil {
			b.Errorf("exit %+v", e)
		}
	}
}

// deafDisk has the making durable of the leader's end stick: what is to be
// synced became a FIFO, which nobody opens for writing.
func deafDisk(b *bench) {
	s, let := b.late()
	s.Argv[2] = "sleep 1000 & " + s.Argv[2]
	tree := b.start(s)
	out := s.Spool + ".out"
	if err := os.Remove(out); err != nil {
		b.Fatal(err)
	}
	if err := syscall.Mkfifo(out, 0o600); err != nil {
		b.Fatal(err)
	}
	defer func() {
		f, err := os.OpenFile(out, os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		Until(b, time.Minute, "the guardian's end", func() bool { return !proc.Alive(*tree.Started().Guardian) })
		f.Close()
	}()
	let()
	Within(b, time.Minute, "the leader's end", tree.Exited())
	if st := tree.Stop(interrupt.Ladder{Bound: time.Minute}); !st.Gone || len(st.Survivors) > 0 {
		b.Errorf("stop saw %+v", st)
	}
}
