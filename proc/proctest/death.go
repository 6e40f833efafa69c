package proctest

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// reusedPID shows records of trees whose pids belong to somebody else now.
func reusedPID(b *bench) {
	pid := b.bystander
	self := proc.Self()
	start := startTime(b, pid)
	for what, rec := range map[string]event.ProcessStarted{
		"another start": {PID: pid, PGID: pid, Start: start - 1, Boot: self.Boot},
		"another boot":  {PID: pid, PGID: pid, Start: start, Boot: "another"},
		"no start":      {PID: pid, PGID: pid, Boot: self.Boot},
		"guardian's pid": {PID: 1 << 30, Start: 5, Boot: self.Boot,
			Guardian: &event.Owner{PID: os.Getpid(), Start: self.Start - 1, Boot: self.Boot}},
		"somebody's cgroup": {PID: 1 << 30, Start: 5, Boot: self.Boot, Cgroup: "/sys/fs/cgroup",
			Guardian: &event.Owner{PID: 1 << 30, Start: 5, Boot: self.Boot}},
	} {
		if f := proc.Find(rec); len(f.PIDs) > 0 || f.Leader || f.Guardian {
			b.Errorf("%s: found %+v", what, f)
		}
		if s := proc.End(rec, interrupt.Ladder{Bound: second}); !s.Gone || s.Forced {
			b.Errorf("%s: end saw %+v", what, s)
		}
	}
	if o := (event.Owner{PID: pid, Start: start - 1, Boot: self.Boot}); proc.Alive(o) {
		b.Error("a pid with another start is alive")
	}
	if !proc.Alive(self) {
		b.Error("we are not alive")
	}
}

func startTime(b *bench, pid int) uint64 {

	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var n uint64
	for _, c := range f[19] {
		n = n*10 + uint64(c-'0')
	}
	return n
}

func closingHost(b *bench) {
	_, m1 := b.run(`trap '' TERM; sleep 1000 & exec sleep 1000`, 2)
	_, m2 := b.run(`exec sleep 1000`, 1)
	if err := b.host.Close(); err != nil {
		b.Error(err)
	}
	if !m1.None() || !m2.None() {
		b.Errorf("alive: %v %v", m1.Alive(), m2.Alive())
	}
	if _, err := b.host.Start(context.Background(), first(b.spec("true"))); err == nil {
		b.Error("a closed host started something")
	}
}

// closingKept closes a host beside a kept command that somebody reads: it is
// left alone, and nobody waits for the end of its output.
func closingKept(b *bench) {
	s, m := b.spec(`echo begun; exec sleep 1000`)
	c := &collector{}
	s.Live = c
	tree, err := b.host.Start(context.Background(), s)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = syscall.Kill(tree.Started().PID, syscall.SIGKILL) }()
	Until(b, 20*second, "live output", func() bool { return c.String() == "begun\n" })
	if err := tree.Keep(true); err != nil {
		b.Fatal(err)
	}
	if err := b.host.Close(); err != nil {
		b.Error(err)
	}
	if len(m.Alive()) != 1 {
		b.Errorf("alive: %v", m.Alive())
	}
	_ = syscall.Kill(tree.Started().PID, syscall.SIGKILL)
	Until(b, 20*second, "its end", m.None)
}

func runtimeDeath(b *bench) {
	s, m := b.spec(`trap '' TERM HUP; echo begun; setsid sh -c 'trap "" TERM; sleep 1000 & exec sleep 1000' & (sleep 1000 &); exec sleep 1000`)
	s.Ladder = interrupt.Ladder{Grace: 2 * second, Bound: second}
	r := StartRuntime(b, b.Driver, s, false)
	Until(b, 30*second, "the tree stands", func() bool { return len(m.Alive()) == 4 })
	r.Kill()
	if !eventually(5*second, m.None) { // a second is promised; how long it takes is a figure of the bench
		b.Errorf("after the runtime's death alive: %v", m.Alive())
	}
	if out, err := proc.ReadOutput(s.Spool, 0); err != nil || out.Text != "begun\n" {
		b.Errorf("captured output: %q, %v", out.Text, err)
	}
	Until(b, 30*second, "the record of the end", func() bool {
		rec, err := proc.ReadExit(s.Spool)
		return err == nil && rec.Gone && rec.How == proc.HowRuntimeDied && rec.Signal == "SIGKILL" && rec.PID == r.Tree.PID
	})
	if f := proc.Find(r.Tree); len(f.PIDs) > 0 {
		b.Errorf("found %+v", f)
	}
}

func runtimeDeathAfterEnd(b *bench) {
	s, m := b.spec(`sleep 1000 & echo done; exit 4`)
	r := StartRuntime(b, b.Driver, s, false)
	Until(b, 30*second, "the leader's end", func() bool { _, err := proc.ReadExit(s.Spool); return err == nil })
	r.Kill()
	Until(b, 20*second, "the leftover's end", m.None)
	Until(b, 30*second, "the record of the whole", func() bool { rec, err := proc.ReadExit(s.Spool); return err == nil && rec.Gone })
	rec, _ := proc.ReadExit(s.Spool)
	if rec.Code == nil || *rec.Code != 4 || rec.How != proc.HowExited {
		b.Errorf("record %+v", rec)
	}
}

func adoption(b *bench) {
	s, m := b.spec(`echo $$; trap '' HUP; while :; do echo tick; sleep 0.02; done`)
	s.Spool += strings.Repeat("-long", 30) // longer than a socket's path may be
	r := StartRuntime(b, b.Driver, s, true)
	Until(b, 30*second, "it runs", func() bool { return len(m.Alive()) > 0 })
	rival, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if tree, err := b.host.Adopt(rival, r.Tree, s.Spool); err == nil {
		b.Errorf("a tree with a runtime was adopted: %v", tree.Started())
	}
	r.Kill()
	if f := proc.Find(r.Tree); !f.Leader || !f.Guardian {
		b.Errorf("found %+v", f)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*second)
	defer cancel()
	tree, err := b.host.Adopt(ctx, r.Tree, s.Spool)
	if err != nil {
		b.Fatal(err)
	}
	if got := tree.Started(); got.PID != r.Tree.PID || !got.Keep || closed(tree.Exited()) || len(tree.PIDs()) == 0 || tree.PIDs()[0] != got.PID {
		b.Errorf("adopted %+v, alive %v", got, tree.PIDs())
	}
	had := tree.Output(0).Bytes
	Until(b, 30*second, "output goes on", func() bool { return tree.Output(0).Bytes > had })
	b.stop(tree, m, 0)
	if e, ok := tree.Exit(); !ok || e.Signal != "SIGKILL" {
		b.Errorf("exit %+v", e)
	}
}

// keptHoldsNothing passes a pipe down to a runtime, under more than one number,
// for the guardian has two of its own: the pipe's end comes with the runtime's.
func keptHoldsNothing(b *bench) {
	s, m := b.spec(`exec sleep 1000`)
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	rt := startRuntime(b, b.Driver, runtimeJob{Spec: s, Keep: true}, w, w, w, w)
	w.Close()
	b.Cleanup(func() { proc.End(rt.Tree, interrupt.Ladder{Bound: time.Minute}) })
	rt.Kill()
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		b.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		b.Errorf("%d bytes, %v: somebody holds the pipe", n, err)
	}
	if len(m.Alive()) != 1 {
		b.Errorf("alive: %v", m.Alive())
	}
}

func adoptionAfterEnd(b *bench) {
	s, _ := b.spec(`read x < fifo; exit 6`)
	if err := syscall.Mkfifo(b.dir+"/fifo", 0o600); err != nil {
		b.Fatal(err)
	}
	r := StartRuntime(b, b.Driver, s, true)
	r.Kill()
	if err := os.WriteFile(b.dir+"/fifo", []byte("go\n"), 0); err != nil {
		b.Fatal(err)
	}
	Until(b, 30*second, "the record", func() bool { rec, err := proc.ReadExit(s.Spool); return err == nil && rec.Gone })
	ctx, cancel := context.WithTimeout(context.Background(), 30*second)
	defer cancel()
	tree, err := b.host.Adopt(ctx, r.Tree, s.Spool)
	if err != nil {
		b.Fatal(err)
	}
	Within(b, 20*second, "the adopted tree is known to be gone", tree.Gone())
	if e, ok := tree.Exit(); !ok || e.Code == nil || *e.Code != 6 {
		b.Errorf("exit %+v", e)
	}
	if s := tree.Stop(interrupt.Ladder{}); !s.Gone {
		b.Errorf("stop saw %+v", s)
	}
	Until(b, 30*second, "the socket is removed", func() bool { _, err := os.Stat(s.Spool + ".sock"); return os.IsNotExist(err) })
}

func guardianDeath(b *bench) {
	tree, m := b.run(`setsid sh -c 'trap "" TERM; sleep 1000 & exec sleep 1000' & (setsid sleep 1000 &); exec sleep 1000`, 4)
	_ = syscall.Kill(tree.Started().Guardian.PID, syscall.SIGKILL)
	Within(b, 30*second, "the tree's end", tree.Gone())
	if !m.None() {
		b.Errorf("alive: %v", m.Alive())
	}
	if e, ok := tree.Exit(); !ok || e.Lost == "" || e.Code != nil {
		b.Errorf("exit %+v, %v", e, ok)
	}
	if s := tree.Stop(interrupt.Ladder{Grace: second}); !s.Gone {
		b.Errorf("stop saw %+v", s)
	}
}

func stoppedGuardian(b *bench) {
	tree, m := b.run(`trap '' TERM; exec sleep 1000`, 1)
	_ = syscall.Kill(tree.Started().Guardian.PID, syscall.SIGSTOP)
	b.stop(tree, m, 0)
}

// recovery meets a tree whose runtime and guardian were killed together.
func recovery(b *bench) {
	s, m := b.spec(`trap '' TERM; setsid sh -c 'trap "" TERM; sleep 1000 & exec sleep 1000' & (setsid sleep 1000 &); exec sleep 1000`)
	r := StartRuntime(b, b.Driver, s, false)
	Until(b, 30*second, "the tree stands", func() bool { return len(m.Alive()) == 4 })
	// The shell in between may take a moment to end.
	Until(b, 30*second, "the four are found, leader first", func() bool {
		f := proc.Find(r.Tree)
		return len(f.PIDs) == 4 && f.Leader && f.PIDs[0] == r.Tree.PID
	})
	_ = syscall.Kill(r.Tree.Guardian.PID, syscall.SIGSTOP)
	r.Kill()
	_ = syscall.Kill(r.Tree.Guardian.PID, syscall.SIGKILL)
	Until(b, 30*second, "the leader goes with its guardian", func() bool { return len(m.Alive()) == 3 })
	Until(b, 30*second, "the others are found", func() bool { f := proc.Find(r.Tree); return len(f.PIDs) == 3 && !f.Leader && !f.Guardian })
	ended := proc.End(r.Tree, interrupt.Ladder{Grace: 10 * time.Millisecond, Bound: 5 * second})
	if !ended.Gone || !ended.Forced || !m.None() {
		b.Errorf("end saw %+v, alive: %v", ended, m.Alive())
	}
	if _, err := proc.ReadExit(s.Spool); err == nil {
		b.Error("an end was recorded that nobody saw")
	}
	if r.Tree.Cgroup != "" {
		if _, err := os.Stat(r.Tree.Cgroup); err == nil {
			b.Errorf("cgroup %s is left", r.Tree.Cgroup)
		}
	}
}

func manyAtOnce(b *bench) {
	var wg sync.WaitGroup
	for i := range 20 {
		s, m := b.spec(`echo ` + strconv.Itoa(i) + `; (setsid sleep 1000 &) ; test $(( ` + strconv.Itoa(i) + ` % 2 )) = 0 && exit 0; exec sleep 1000`)
		if !b.whole() {
			s.Argv[2] = strings.Replace(s.Argv[2], "setsid ", "", 1)
		}
		wg.Go(func() {
			tree, err := b.host.Start(context.Background(), s)
			if err != nil {
				b.Error(err)
				return
			}
			if i%2 == 0 {
				<-tree.Exited()
			}
			if st := tree.Stop(interrupt.Ladder{Bound: 10 * second}); !st.Gone || !m.None() {
				b.Errorf("%d: %+v, alive: %v", i, st, m.Alive())
			}
		})
	}
	wg.Wait()
}
