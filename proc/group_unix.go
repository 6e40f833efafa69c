//go:build unix

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// groupHost makes each tree a session and process group of its own and ends it
// by its group. What leaves the group (setsid) escapes, and nobody ends a tree
// whose runtime is killed. It owns two goroutines for each tree, and one more
// while a time-out is being enforced; Close waits for all of them.
type groupHost struct {
	opts Options
	why  string
	wg   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	trees  map[*groupTree]struct{}
}

func newGroupHost(o Options, why string) *groupHost {
	return &groupHost{opts: o, why: why, trees: map[*groupTree]struct{}{}}
}

func (h *groupHost) Lane() Lane     { return LaneGroup }
func (h *groupHost) describe() Info { return Info{Lane: LaneGroup, Why: h.why} }

func (h *groupHost) Adopt(context.Context, event.ProcessStarted, string) (Tree, error) {
	return nil, errors.New("a tree without a guardian cannot be adopted")
}

func (h *groupHost) Close() error {
	h.mu.Lock()
	h.closed = true
	var trees []*groupTree
	for t := range h.trees {
		trees = append(trees, t)
	}
	h.mu.Unlock()
	for _, t := range trees {
		t.Stop(interrupt.Ladder{Bound: 5 * time.Second})
	}
	return waitAll(&h.wg)
}

// groupTree is one process group. watch, on a goroutine of its own, waits for
// the leader and then for the rest; the leader stays unreaped until nothing of
// the group is left, so that the group's number cannot be anybody else's while
// we signal it.
type groupTree struct {
	host    *groupHost
	spec    Spec
	started event.ProcessStarted
	spool   *spool
	file    *os.File // a temporary spool
	pump    *pump
	begun   time.Time
	held    *held    // nil: its input is not ours
	slave   *os.File // of a terminal that we hold, so that it is open whatever the command closes

	live         chan []byte // nil: nobody looks; closed by watch after the pump's end
	exited, gone chan struct{}
	fed          chan struct{} // closed: no live output will come
	writes       writes        // the feed's
	poke         chan struct{} // look now

	mu     sync.Mutex
	exit   Exit
	how    How
	asked  bool
	forced bool
	reaped bool
}

func (h *groupHost) Start(ctx context.Context, s Spec) (Tree, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	path, err := check(&s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.ID, err)
	}
	t := &groupTree{host: h, spec: s, how: HowExited,
		exited: make(chan struct{}), gone: make(chan struct{}), fed: make(chan struct{}), poke: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	if t.held, err = holdOf(s); err == nil {
		if err = t.launch(path); err != nil {
			t.letGo()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.ID, err)
	}
	h.trees[t] = struct{}{}
	if s.Live != nil {
		t.live = make(chan []byte, liveQueue)
		h.wg.Go(t.feed)
	} else {
		close(t.fed)
	}
	h.wg.Go(t.pump.run)
	h.wg.Go(t.watch)
	return t, nil
}

func (t *groupTree) launch(path string) error {
	r, w, err := t.outlet()
	if err != nil {
		return err
	}
	defer w.Close()
	in, err := os.Open(os.DevNull)
	if t.spec.Stdin != nil {
		in, err = t.stdin()
	}
	if err == nil {
		defer in.Close()
		err = t.openSpool()
	}
	if err != nil {
		r.Close()
		return err
	}
	stdio := [3]*os.File{in, w, w}
	for i, f := range t.spec.Files {
		if f != nil {
			stdio[i] = f
			if err := unix.SetNonblock(int(f.Fd()), false); err != nil { // as commands expect it
				r.Close()
				return err
			}
		}
	}
	pid, err := syscall.ForkExec(path, t.spec.Argv, &syscall.ProcAttr{
		Dir: t.spec.Dir, Env: withPWD(t.spec.Env, t.spec.Dir),
		Files: []uintptr{stdio[0].Fd(), stdio[1].Fd(), stdio[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: t.spec.TTY, Ctty: 0},
	})
	if err != nil {
		r.Close()
		return err
	}
	t.begun = time.Now()
	self := Self()
	t.started = event.ProcessStarted{
		Owner: t.spec.Owner, ID: t.spec.ID, PID: pid, PGID: pid, Start: startOf(pid), Boot: self.Boot,
		Lane: string(LaneGroup), Command: strings.Join(t.spec.Argv, " "), Spool: t.spec.Spool,
	}
	t.pump = newPump(r, t.caught)
	t.pump.tty = t.slave != nil
	return nil
}

// outlet makes what the command's output comes out of, and what it is given as
// its end: a pipe, or the terminal that is held.
func (t *groupTree) outlet() (r, w *os.File, err error) {
	if t.held == nil || !t.held.tty {
		return os.Pipe()
	}
	if r, err = duplicate(t.held.f); err != nil {
		return nil, nil, err
	}
	if w, err = duplicate(t.spec.Files[0]); err == nil {
		t.slave, err = duplicate(t.spec.Files[0])
	}
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, w, nil
}

// stdin gives the bytes as a file that has no name.
func (t *groupTree) stdin() (*os.File, error) {
	f, err := os.CreateTemp(t.host.opts.Scratch, "ripcord-stdin-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(t.spec.Stdin); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
	}
	return f, err
}

func (t *groupTree) openSpool() error {
	if t.spec.Spool == "" {
		base, f, err := temporarySpool(t.host.opts.Scratch)
		if err != nil {
			return err
		}
		os.Remove(base + ".out")
		t.file, t.spool = f, newSpool(f, t.spec.Limit)
		return nil
	}
	if err := os.Remove(t.spec.Spool + ".exit"); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(t.spec.Spool+".out", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		t.spool = newSpool(f, t.spec.Limit)
	}
	return err
}

// caught runs on the pump's goroutine. A live writer that is behind loses this
// piece: it is in the spool.
func (t *groupTree) caught(b []byte) {
	t.spool.write(b)
	if t.live == nil {
		return
	}
	select {
	case t.live <- slices.Clone(b):
	default:
	}
}

// feed hands live output on. It runs on a goroutine of its own, because the
// writer may be slow, and ends when the pump has and the writer lets it.
func (t *groupTree) feed() {
	defer close(t.fed)
	w := t.spec.Live
	for b := range t.live {
		if w == nil || closed(t.gone) {
			continue
		}
		if t.writes.write(w, b) != nil {
			w = nil
		}
	}
}

// liveQueue is how many pieces a live writer may be behind.
const liveQueue = 32

const (
	groupLook = 2 * time.Millisecond
	groupRest = 50 * time.Millisecond
)

func (t *groupTree) watch() {
	leader := make(chan Exit, 1)
	t.host.wg.Go(func() { leader <- exitOf(waitUnreaped(t.started.PID)) })
	limit := make(<-chan time.Time)
	if t.spec.Timeout > 0 {
		timer := time.NewTimer(t.spec.Timeout)
		defer timer.Stop()
		limit = timer.C
	}
	var e Exit
	for running := true; running; {
		select {
		case e = <-leader:
			running = false
		case <-limit:
			if hasEnded(t.started.PID) {
				continue
			}
			t.mu.Lock()
			t.how = firstHow(t.how, HowTimedOut)
			t.mu.Unlock()
			t.host.wg.Go(func() { t.Stop(t.spec.Ladder) })
		}
	}
	t.leaderEnded(e)
	for pause := groupLook; len(t.PIDs()) > 0; pause = min(2*pause, groupRest) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-t.poke:
			next.Stop()
			pause = groupLook / 2
		}
	}
	t.finish()
}

func exitOf(ws syscall.WaitStatus, known bool) (e Exit) {
	switch code := ws.ExitStatus(); {
	case !known:
		e.Lost = "this system did not say how the command ended"
	case ws.Signaled():
		e.Signal = unix.SignalName(ws.Signal())
	default:
		e.Code = &code
	}
	return e
}

func (t *groupTree) leaderEnded(e Exit) {
	e.Ran = time.Since(t.begun)
	t.pump.flush(time.Second)
	t.mu.Lock()
	e.TimedOut, e.Own = t.how == HowTimedOut, t.how == HowExited
	t.exit = e
	t.mu.Unlock()
	t.record(false)
	close(t.exited)
}

func (t *groupTree) finish() {
	t.mu.Lock()
	t.reaped = true
	_, _ = syscall.Wait4(t.started.PID, nil, 0, nil)
	t.mu.Unlock()
	t.pump.cut(time.Second)
	t.letGo()
	t.endLive()
	t.record(true)
	if t.spec.Spool != "" {
		_ = syncExit(t.spec.Spool)
	}
	t.host.mu.Lock()
	delete(t.host.trees, t)
	t.host.mu.Unlock()
	close(t.gone)
}

// letGo closes what was held for the command.
func (t *groupTree) letGo() {
	t.held.close()
	if t.slave != nil {
		t.slave.Close()
	}
}

// endLive lets a feed that is not behind deliver what there is, and closes what
// the pump used.
func (t *groupTree) endLive() {
	select {
	case <-t.pump.done:
	default:
		return // a disk that does not answer: the pump still holds it all
	}
	if t.live != nil {
		close(t.live)
	}
	awaitFeed(t.fed, &t.writes)
	if t.file == nil {
		t.spool.f.Close()
	}
}

func (t *groupTree) record(gone bool) {
	if t.spec.Spool == "" {
		return
	}
	t.mu.Lock()
	r := ExitRecord{Exit: t.exit, Owner: t.spec.Owner, ID: t.spec.ID, PID: t.started.PID, Start: t.started.Start,
		Boot: t.started.Boot, How: t.how, Gone: gone, Ended: time.Now().UTC()}
	t.mu.Unlock()
	if gone {
		select {
		case <-t.pump.done:
			r.Bytes, r.Dropped = t.spool.total, t.spool.dropped()
		default:
		}
	}
	if err := writeExit(t.spec.Spool, r); err != nil {
		t.host.opts.Log.Warn("exit record cannot be written", "owner", t.spec.ID, "error", err)
	}
}

func (t *groupTree) Started() event.ProcessStarted { return t.started }
func (t *groupTree) Exited() <-chan struct{}       { return t.exited }
func (t *groupTree) Gone() <-chan struct{}         { return t.gone }
func (t *groupTree) Keep(keep bool) error {
	if !keep {
		return nil
	}
	return errors.New("keep: without a guardian nobody can find this tree again")
}

func (t *groupTree) Exit() (Exit, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.exited:
		return t.exit, true
	default:
		return Exit{}, false
	}
}

func (t *groupTree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return nil
	}
	return groupMembers(t.started.PID)
}

func (t *groupTree) Output(limit int) Output {
	out, _ := t.read(func(f *os.File) (Output, int64, error) {
		out, err := readOutput(f, limit)
		return out, 0, err
	})
	return out
}

func (t *groupTree) since(from int64, limit int) (Output, int64) {
	gone := closed(t.gone)
	return t.read(func(f *os.File) (Output, int64, error) { return readSince(f, from, limit, gone) })
}

func (t *groupTree) printed() int64 {
	out, _ := t.read(printedIn)
	return out.Bytes
}

func (t *groupTree) input() (Input, bool) { return t.held, t.held != nil }

// read looks into the spool.
func (t *groupTree) read(look func(*os.File) (Output, int64, error)) (out Output, next int64) {
	out, next, err := withSpool(t.file, t.spec.Spool, look)
	if err != nil {
		t.host.opts.Log.Warn("captured output cannot be read", "owner", t.spec.ID, "error", err)
	}
	return out, next
}

// signal reaches the whole group while its number is ours.
func (t *groupTree) signal(sigs ...unix.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		for _, sig := range sigs {
			_ = unix.Kill(-t.started.PID, sig)
		}
	}
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

func (t *groupTree) Stop(l interrupt.Ladder) Stopped {
	sig := unix.Signal(t.spec.Ask)
	if sig == 0 {
		sig = unix.SIGTERM
	}
	c := l.Climb(interrupt.Rungs{
		Ask: func() {
			t.mu.Lock()
			if !hasEnded(t.started.PID) {
				t.how = firstHow(t.how, HowStopped)
			}
			ask := l.Grace > 0 && !t.asked
			t.asked = true
			t.mu.Unlock()
			if ask {
				t.signal(sig, unix.SIGCONT)
			}
		},
		Force: func() {
			t.mu.Lock()
			t.forced = true
			t.mu.Unlock()
			t.signal(unix.SIGKILL)
		},
		Gone: t.gone,
	}, nil)
	t.mu.Lock()
	c.Forced = t.forced
	t.mu.Unlock()
	s := Stopped{Climbed: c}
	if !c.Gone {
		s.Survivors = t.PIDs()
	}
	return s
}
