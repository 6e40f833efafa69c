package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
)

func newHost(o Options) (Host, error) {
	if o.Group || mainCalled.Load() == nil {
		why := "proc.Main is not called in this program's main, so that nothing can be re-executed as a guardian; daemons can escape"
		if o.Group {
			why = "process groups were asked for; daemons can escape"
		}
		return newGroupHost(o, why), nil
	}
	h := &guardianHost{opts: o, closing: make(chan struct{}), trees: map[*tree]struct{}{}}
	h.info = Info{Lane: LaneGuardian, Why: "cgroups are switched off; a guardian ends each tree by looking for its processes"}
	if o.Cgroup == CgroupAuto {
		h.findCgroup()
	}
	for range h.wanted() {
		h.prestart()
	}
	return h, nil
}

// guardianHost gives each tree a guardian. It owns a goroutine for each
// guardian, one more for each live stream, and one while a guardian is
// pre-started; Close waits for all of them.
type guardianHost struct {
	opts    Options
	info    Info
	closing chan struct{}
	wg      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	ready  []*tree
	trees  map[*tree]struct{}
}

func (h *guardianHost) findCgroup() {
	root, err := cgroupRoot()
	if err == nil {
		h.info.Cgroup = root
		err = probeCgroup(root, strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		h.info.Why = fmt.Sprintf("no cgroup can be made here (%v); a guardian ends each tree by looking for its processes", err)
		return
	}
	tidyCgroups(h.info.Cgroup)
	h.info.Lane, h.info.Why = LaneCgroup, "a guardian for each tree, and a cgroup that ends it at one stroke"
}

func (h *guardianHost) wanted() int {
	if h.opts.Prestart == 0 {
		return 1
	}
	return max(0, h.opts.Prestart)
}

func (h *guardianHost) Lane() Lane     { return h.info.Lane }
func (h *guardianHost) describe() Info { return h.info }

// prestart makes a guardian ready in the background.
func (h *guardianHost) prestart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.wg.Go(func() {
		t, err := h.spawn()
		if err != nil {
			h.opts.Log.Warn("no guardian could be made ready", "error", err)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.closed {
			t.ctl.Close()
			return
		}
		h.ready = append(h.ready, t)
	})
}

// spawn starts a guardian and its goroutine.
func (h *guardianHost) spawn() (*tree, error) {
	ctl, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	live, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		unix.Close(ctl[0])
		unix.Close(ctl[1])
		return nil, err
	}
	theirs := []*os.File{os.NewFile(uintptr(ctl[1]), "control"), os.NewFile(uintptr(live[1]), "live")}
	defer theirs[0].Close()
	defer theirs[1].Close()
	if err := unix.SetNonblock(live[0], true); err != nil {
		return nil, err
	}
	ours := os.NewFile(uintptr(live[0]), "live")
	c, err := socketOf(ctl[0], "control")
	if err != nil {
		ours.Close()
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		c.Close()
		return nil, err
	}
	defer null.Close()
	// The file that runs now, even if another stands at its path meanwhile.
	p, err := os.StartProcess("/proc/self/exe", []string{guardianName}, &os.ProcAttr{
		Dir: "/", Env: guardianEnviron(), Files: []*os.File{null, null, null, theirs[0], theirs[1]},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		ours.Close()
		c.Close()
		return nil, fmt.Errorf("start a guardian: %w", err)
	}
	t := newTree(h, c)
	t.proc, t.live = p, ours
	h.wg.Go(t.serve)
	return t, nil
}

func guardianEnviron() []string {
	env := []string{guardianEnv + "=" + strconv.Itoa(os.Getpid()), "GOMAXPROCS=2", "GOTRACEBACK=none"}
	if race, ok := os.LookupEnv("GORACE"); ok { // a guardian that is built with the race detector waits 1 s at its exit unless told
		env = append(env, "GORACE="+race)
	}
	return env
}

// take gives a guardian that waits for an order, and has the next one made
// ready.
func (h *guardianHost) take(ctx context.Context) (*tree, error) {
	for {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return nil, errClosed
		}
		var t *tree
		if n := len(h.ready); n > 0 {
			t, h.ready = h.ready[0], h.ready[1:]
		}
		h.mu.Unlock()
		fresh := t == nil
		if fresh {
			var err error
			if t, err = h.spawn(); err != nil {
				return nil, err
			}
		} else {
			h.prestart()
		}
		select {
		case <-t.ready:
		case <-ctx.Done():
			t.discard()
			return nil, context.Cause(ctx)
		}
		if !t.state().dead {
			return t, nil
		}
		t.discard()
		if fresh {
			return nil, errors.New("a guardian ended at its start: is proc.Main the first line of main?")
		}
	}
}

// discard ends a guardian whose command nobody wants.
func (t *tree) discard() {
	t.ctl.Close()
	if t.live != nil {
		t.live.Close()
	}
}

func (h *guardianHost) Start(ctx context.Context, s Spec) (Tree, error) {
	held, err := holdOf(s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.ID, err)
	}
	t, err := h.startWith(ctx, s, held)
	if err != nil {
		held.close()
		return nil, fmt.Errorf("start %s: %w", s.ID, err)
	}
	return t, nil
}

// startWith starts s; the tree that it returns owns held.
func (h *guardianHost) startWith(ctx context.Context, s Spec, held *held) (Tree, error) {
	path, err := check(&s)
	if err != nil {
		return nil, err
	}
	o, files := h.order(s, path)
	var spool *os.File
	if s.Spool == "" {
		base, f, err := temporarySpool(h.opts.Scratch)
		if err != nil {
			return nil, fmt.Errorf("temporary spool: %w", err)
		}
		defer os.Remove(base + ".out") // both sides have it open by then
		o.Spool, o.Temporary, spool = []byte(base), true, f
	}
	t, err := h.take(ctx)
	if err != nil {
		return nil, err
	}
	t.change(func(st *treeState) { st.spool, st.file = s.Spool, spool })
	t.hold(held)
	if err := t.launch(ctx, o, files); err != nil {
		t.discard()
		<-t.over // nothing runs once the guardian is gone
		return nil, err
	}
	h.adopt(t)
	if s.Live != nil {
		h.wg.Go(func() { t.feed(s.Live) })
	} else {
		t.live.Close()
		close(t.fed)
	}
	return t, nil
}

func (h *guardianHost) order(s Spec, path string) (o order, files []*os.File) {
	o = order{
		Owner: s.Owner, ID: s.ID, Path: []byte(path), Argv: bytesOf(s.Argv), Env: bytesOf(withPWD(s.Env, s.Dir)),
		Dir: []byte(s.Dir), Stdin: s.Stdin, Given: s.Stdin != nil, Spool: []byte(s.Spool), Limit: s.Limit,
		Timeout: s.Timeout, Ask: s.Ask, Ladder: s.Ladder, Live: s.Live != nil, TTY: s.TTY,
		Hold: s.Hold != nil,
	}
	if h.info.Lane == LaneCgroup {
		o.Cgroup = h.info.Cgroup
	}
	for i, f := range s.Files {
		if f != nil {
			o.Files[i] = true
			files = append(files, f)
		}
	}
	if s.Hold != nil {
		files = append(files, s.Hold)
	}
	return o, files
}

// beginBound is how long an ordered command is waited for once its caller's
// context has ended.
const beginBound = 2 * time.Second

// launch gives the order and waits for the command to run.
func (t *tree) launch(ctx context.Context, o order, files []*os.File) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // nothing was ordered: nothing ran
	}
	if err := send(t.ctl, kindOrder, o, files...); err != nil {
		return fmt.Errorf("the guardian does not listen: %w", err)
	}
	select {
	case <-t.begun:
	case <-ctx.Done():
		// What was ordered may have run and printed: whoever stops it has to
		// have it in hand.
		late := time.NewTimer(beginBound)
		defer late.Stop()
		select {
		case <-t.begun:
		case <-late.C:
			return fmt.Errorf("%w: %w", context.Cause(ctx), ErrUncertain)
		}
	}
	switch st := t.state(); {
	case st.failed != "":
		return errors.New(st.failed)
	case st.started.PID == 0:
		return fmt.Errorf("its guardian was killed as it began: %w", ErrUncertain)
	}
	return nil
}

// adopt counts t among the trees until its guardian's end.
func (h *guardianHost) adopt(t *tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trees[t] = struct{}{}
	if h.closed {
		t.leave()
	}
	h.wg.Go(func() {
		<-t.over
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.trees, t)
	})
}

// adoptPatience is how long a guardian that does not let us in is asked again.
const adoptPatience = 2 * time.Second

// held returns the tree if this host has it already, and has not let go of it.
func (h *guardianHost) held(rec event.ProcessStarted) *tree {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.trees {
		st := t.state()
		if s := st.started; !st.leaving && s.PID == rec.PID && s.Start == rec.Start && s.Boot == rec.Boot {
			return t
		}
	}
	return nil
}

func (h *guardianHost) Adopt(ctx context.Context, rec event.ProcessStarted, spool string) (Tree, error) {
	spool, err := filepath.Abs(spool)
	if err != nil {
		return nil, err
	}
	rec.Spool = spool
	if t := h.held(rec); t != nil {
		return t, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, adoptPatience, errors.New("another runtime holds it"))
	defer cancel()
	for rec.Guardian != nil && Alive(*rec.Guardian) {
		t, err := h.greet(rec, spool)
		if err == nil {
			return t, nil
		}
		// The guardian may not have seen yet that its runtime is gone, or may
		// be about to leave.
		pause := time.NewTimer(10 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, fmt.Errorf("adopt %s: %w (%w)", rec.ID, err, context.Cause(ctx))
		case <-pause.C:
		}
	}
	r, err := ReadExit(spool)
	if err != nil || r.PID != rec.PID || r.Start != rec.Start || r.Boot != rec.Boot {
		return nil, fmt.Errorf("adopt %s: its guardian is gone and left no record of its end", rec.ID)
	}
	if left := remains(rec); len(left) > 0 {
		return nil, fmt.Errorf("adopt %s: its guardian is gone and %d of its processes are not: end them", rec.ID, len(left))
	}
	t := newTree(h, nil)
	close(t.over)
	t.change(func(s *treeState) {
		*s = treeState{ready: true, dead: true, begun: true, exited: true, gone: true, started: rec, exit: r.seen(), spool: spool}
	})
	return t, nil
}

func (h *guardianHost) greet(rec event.ProcessStarted, spool string) (*tree, error) {
	c, err := dialGuardian(spool, rec.Guardian.PID)
	if err != nil {
		return nil, err
	}
	if err = send(c, kindHello, nil); err == nil {
		err = c.SetReadDeadline(time.Now().Add(time.Second))
	}
	var f frame
	if err == nil {
		f, err = receive(c)
	}
	if err == nil && f.kind != kindHello {
		err = errors.New("another runtime holds it")
	}
	var said hello
	if err == nil {
		said, err = decode[hello](f)
	}
	if err == nil && (said.Started.PID != rec.PID || said.Started.Start != rec.Start) {
		err = errors.New("its guardian keeps another command")
	}
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err != nil {
		c.Close()
		closeAll(f.files)
		return nil, err
	}
	return h.welcome(c, said, spool, heldOf(f.files, said.TTY))
}

func (h *guardianHost) welcome(c *net.UnixConn, said hello, spool string, held *held) (*tree, error) {
	t := newTree(h, c)
	said.Started.Spool = spool
	t.hold(held)
	t.change(func(s *treeState) {
		s.ready, s.begun, s.started, s.spool = true, true, said.Started, spool
		if said.Exit != nil {
			s.exit, s.exited = said.Exit.seen(), true
		}
	})
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		c.Close()
		held.close()
		return nil, errClosed
	}
	h.wg.Go(t.serve)
	h.mu.Unlock()
	h.adopt(t)
	return t, nil
}

func (h *guardianHost) Close() error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
	for _, t := range h.ready {
		t.discard()
	}
	h.ready = nil
	for t := range h.trees {
		t.leave()
	}
	h.mu.Unlock()
	return waitAll(&h.wg)
}
