package proc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// tree is the runtime's side of one guardian: first of one that waits for an
// order, then of its command. Its goroutine (serve) reads what the guardian
// says; change is the one function that writes its state.
type tree struct {
	host *guardianHost
	proc *os.Process // nil for an adopted guardian, which is not our child
	ctl  *net.UnixConn
	live *os.File // nil for an adopted guardian

	ready  chan struct{} // closed: the guardian waits, or is dead
	begun  chan struct{} // closed: the command runs, or failed to start
	exited chan struct{}
	gone   chan struct{}
	fed    chan struct{}   // closed: no live output will come
	writes writes          // the feed's
	over   chan struct{}   // closed: serve has returned
	kept   chan keepAnswer // the latest

	keeping sync.Mutex // one Keep at a time
	wishes  int        // of Keep, so far; keeping's

	mu sync.Mutex
	st treeState
}

type treeState struct {
	ready, dead, begun, exited, gone bool

	failed  string // why nothing was started
	started event.ProcessStarted
	exit    Exit
	forced  bool
	asked   bool
	leaving bool // the host is closing and leaves the tree to its guardian

	spool string   // base path; empty when temporary
	file  *os.File // a temporary spool
	held  *held    // nil: its input is not ours
}

// change applies f to the state and opens the doors that it unlocked.
func (t *tree) change(f func(*treeState)) treeState {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.st
	f(&t.st)
	for _, d := range []struct {
		was, is bool
		door    chan struct{}
	}{
		{was.ready, t.st.ready, t.ready},
		{was.begun, t.st.begun, t.begun},
		{was.exited, t.st.exited, t.exited},
		{was.gone, t.st.gone, t.gone},
	} {
		if !d.was && d.is {
			close(d.door)
		}
	}
	if t.st.gone || t.st.dead {
		t.st.held.close()
	}
	return t.st
}

// hold takes the runtime's end of the command's input, before anybody else has
// t or h.
func (t *tree) hold(h *held) {
	if h != nil {
		h.end = func() error { return send(t.ctl, kindEnd, nil) }
	}
	t.change(func(s *treeState) { s.held = h })
}

func (t *tree) state() treeState { return t.change(func(*treeState) {}) }

func newTree(h *guardianHost, ctl *net.UnixConn) *tree {
	return &tree{
		host: h, ctl: ctl,
		ready: make(chan struct{}), begun: make(chan struct{}), exited: make(chan struct{}),
		gone: make(chan struct{}), fed: make(chan struct{}), over: make(chan struct{}), kept: make(chan keepAnswer, 1),
	}
}

// serve reads what the guardian says until its end, and sees to it that
// nothing of the tree is left if that came too early.
func (t *tree) serve() {
	defer close(t.over)
	for {
		f, err := receive(t.ctl)
		if err != nil {
			break
		}
		t.hear(f)
	}
	t.ctl.Close()
	st := t.change(func(s *treeState) { s.ready, s.dead = true, true })
	if st.leaving && t.keeps() {
		if t.live != nil {
			_ = t.live.SetReadDeadline(time.Now()) // its command writes on, and nobody waits for that
		}
		t.release()
		return
	}
	if t.proc != nil {
		_, _ = t.proc.Wait() // its connection ends with it
	}
	if st.started.PID != 0 && !st.gone {
		t.lost()
	}
	t.change(func(s *treeState) { s.begun = true })
}

// leave lets go of the guardian: it ends the tree, or keeps it for whoever
// adopts it.
func (t *tree) leave() {
	t.change(func(s *treeState) { s.leaving = true })
	t.wake()
	t.ctl.Close()
}

// letGo is [Leave].
func (t *tree) letGo() {
	if st := t.state(); st.started.Keep && !st.dead {
		t.leave()
	}
}

func (t *tree) keeps() bool { return t.state().started.Keep }

// release leaves a guardian to itself. It is our child all the same, if we
// started it: as long as the host stands its end is waited for, so that no
// zombie of it is left.
func (t *tree) release() {
	if t.proc == nil {
		return
	}
	fd, err := -1, errClosed
	if !closed(t.host.closing) {
		fd, err = unix.PidfdOpen(t.proc.Pid, unix.PIDFD_NONBLOCK)
	}
	if err != nil {
		_ = t.proc.Release()
		return
	}
	f := os.NewFile(uintptr(fd), "guardian")
	ended := make(chan struct{})
	t.host.wg.Go(func() {
		defer close(ended)
		if awaitEnd(f) == nil {
			_, _ = t.proc.Wait()
			return
		}
		_ = t.proc.Release()
	})
	t.host.wg.Go(func() {
		select {
		case <-ended:
		case <-t.host.closing:
		}
		f.Close()
	})
}

// awaitEnd waits until the process of a non-blocking pidfd has ended; the error
// says that the file was closed before.
func awaitEnd(pidfd *os.File) error {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return err
	}
	asked := false
	return raw.Read(func(uintptr) bool { was := asked; asked = true; return was })
}

func (t *tree) hear(f frame) {
	switch f.kind {
	case kindReady:
		t.change(func(s *treeState) { s.ready = true })
	case kindFailed:
		why, _ := decode[string](f)
		t.change(func(s *treeState) { s.failed, s.begun = why, true })
	case kindStarted:
		st, err := decode[event.ProcessStarted](f)
		t.change(func(s *treeState) {
			if err != nil {
				s.failed = err.Error()
			}
			st.Spool = s.spool
			s.started, s.begun = st, true
		})
	case kindExited, kindGone:
		r, err := decode[ExitRecord](f)
		if err != nil {
			r.Lost = err.Error()
		}
		if f.kind == kindGone {
			t.endLive()
		}
		t.change(func(s *treeState) {
			if !s.exited {
				s.exit, s.exited = r.seen(), true
				if s.forced && r.Signal == "SIGKILL" {
					s.exit.Own = false // its cgroup may have been emptied before its guardian was told
				}
			}
			s.gone = s.gone || f.kind == kindGone
		})
	case kindKept:
		a, _ := decode[keepAnswer](f)
		select {
		case <-t.kept: // one that nobody waited for
		default:
		}
		t.kept <- a // there is room: nobody else puts anything in
	}
}

// lost ends what a guardian left behind that died before its tree.
func (t *tree) lost() {
	st := t.state()
	t.host.opts.Log.Warn("guardian died before its tree", "pid", st.started.Guardian.PID, "owner", st.started.ID)
	exit := Exit{Lost: "its guardian was killed; the rest of the tree was ended"}
	if r, err := ReadExit(st.spool); st.spool != "" && err == nil && r.PID == st.started.PID && r.Start == st.started.Start {
		exit = r.seen() // it had got that far
	}
	endRemains(st.started, interrupt.Ladder{Bound: time.Second}, t.host.closing)
	t.endLive()
	t.change(func(s *treeState) {
		if !s.exited {
			s.exit, s.exited = exit, true
		}
	})
	for len(remains(st.started)) > 0 {
		if !endRemains(st.started, interrupt.Ladder{Bound: time.Second}, t.host.closing).Gone && closed(t.host.closing) {
			return // recovery will meet them
		}
	}
	if st.started.Cgroup != "" {
		_ = removeCgroup(st.started.Cgroup)
	}
	t.change(func(s *treeState) { s.gone = true })
}

// feed copies the live stream to w until its end or the tree's. It runs on a
// goroutine of its own, because w may be slow.
func (t *tree) feed(w io.Writer) {
	buf := make([]byte, 32<<10)
	for w != nil {
		n, err := t.live.Read(buf)
		if n > 0 && !closed(t.gone) {
			if t.writes.write(w, buf[:n]) != nil {
				w = nil
			}
		}
		if err != nil {
			break
		}
	}
	t.live.Close()
	close(t.fed)
}

// endLive lets a feed that is not behind deliver what there is: the guardian
// closed the stream before it spoke.
func (t *tree) endLive() {
	if t.live == nil {
		return
	}
	_ = t.live.SetReadDeadline(time.Now().Add(feedBound))
	awaitFeed(t.fed, &t.writes)
}

func (t *tree) Started() event.ProcessStarted { return t.state().started }
func (t *tree) Exited() <-chan struct{}       { return t.exited }
func (t *tree) Gone() <-chan struct{}         { return t.gone }

func (t *tree) Exit() (Exit, bool) {
	st := t.state()
	return st.exit, st.exited
}

func (t *tree) PIDs() []int {
	st := t.state()
	if st.gone {
		return nil
	}
	if st.dead {
		return pidsOf(st.started, remains(st.started))
	}
	list := descendants(st.started.Guardian.PID, false)
	if st.started.Cgroup != "" {
		for _, p := range inCgroup(st.started.Cgroup) {
			if !slices.ContainsFunc(list, func(q process) bool { return q.pid == p.pid }) {
				list = append(list, p)
			}
		}
	}
	return pidsOf(st.started, list)
}

// pidsOf lists pids, the leader's first.
func pidsOf(rec event.ProcessStarted, list []process) []int {
	var pids []int
	for _, p := range list {
		if p.pid == rec.PID && p.start == rec.Start {
			pids = slices.Insert(pids, 0, p.pid)
		} else {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func (t *tree) Output(limit int) Output {
	out, _ := t.read(func(f *os.File) (Output, int64, error) {
		out, err := readOutput(f, limit)
		return out, 0, err
	})
	return out
}

func (t *tree) since(from int64, limit int) (Output, int64) {
	gone := t.state().gone
	return t.read(func(f *os.File) (Output, int64, error) { return readSince(f, from, limit, gone) })
}

func (t *tree) printed() int64 {
	out, _ := t.read(printedIn)
	return out.Bytes
}

func (t *tree) input() (Input, bool) {
	h := t.state().held
	return h, h != nil
}

// read looks into the spool.
func (t *tree) read(look func(*os.File) (Output, int64, error)) (out Output, next int64) {
	st := t.state()
	out, next, err := withSpool(st.file, st.spool, look)
	if err != nil {
		t.host.opts.Log.Warn("captured output cannot be read", "owner", st.started.ID, "error", err)
	}
	return out, next
}

func (t *tree) Stop(l interrupt.Ladder) Stopped {
	c := l.Climb(interrupt.Rungs{
		Ask: func() {
			if l.Grace > 0 && !t.change(func(s *treeState) { s.asked = true }).dead {
				_ = send(t.ctl, kindAsk, nil) // a dead guardian's tree is being ended by serve
				t.wake()
			}
		},
		Force: func() {
			if st := t.change(func(s *treeState) { s.forced = true }); !st.dead {
				_ = send(t.ctl, kindForce, nil)
				if st.started.Cgroup != "" {
					_ = killCgroup(st.started.Cgroup) // the guardian does, too, when it has woken up
				}
				t.wake()
			}
		},
		Gone: t.gone,
	}, nil)
	st := t.state()
	c.Forced = st.forced
	s := Stopped{Climbed: c}
	if !c.Gone {
		s.Survivors = t.PIDs()
	}
	return s
}

// wake undoes a SIGSTOP that somebody sent to the guardian.
func (t *tree) wake() {
	if g := t.state().started.Guardian; g != nil {
		signalExactly(process{pid: g.PID, start: g.Start}, unix.SIGCONT)
	}
}

func (t *tree) Keep(keep bool) error {
	t.keeping.Lock()
	defer t.keeping.Unlock()
	st := t.state()
	if st.gone || st.dead {
		return errors.New("keep: the tree is gone")
	}
	if err := t.wish(keep); err != nil {
		return fmt.Errorf("keep: the guardian does not answer: %w", err)
	}
	limit := time.NewTimer(keepBound)
	defer limit.Stop()
	for {
		select {
		case a := <-t.kept:
			switch {
			case a.N != t.wishes:
				continue // to a wish that was given up
			case a.Why != "":
				return fmt.Errorf("keep: %s", a.Why)
			}
			t.change(func(s *treeState) { s.started.Keep = keep })
			return nil
		case <-t.gone:
			return errors.New("keep: the tree is gone")
		case <-limit.C:
			// It will hear of both: what nobody knows of must not be in force.
			_ = t.wish(st.started.Keep)
			return errors.New("keep: the guardian does not answer")
		}
	}
}

// keepBound is how long a guardian may take to answer.
const keepBound = 2 * time.Second

func (t *tree) wish(keep bool) error {
	t.wishes++
	return send(t.ctl, kindKeep, keepWish{t.wishes, keep})
}
