package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// Bounds of what is kept of a hook's output, bytes. What is over the first
// cannot be read as an answer.
const (
	mostAnswer = 1 << 20
	mostReason = 4 << 10
)

// whyClosed is what is said of a hook that [Hooks.Close] ended or kept away.
const whyClosed = "hooks are closed"

// run is one hook at one moment.
type run struct {
	h      *Hooks
	hook   *Hook
	result chan ending   // gets one
	cut    chan struct{} // closed when nobody waits any more

	mu   sync.Mutex
	tree proc.Tree // nil before it runs
}

// begin runs k in a goroutine of its own.
func (h *Hooks) begin(ctx context.Context, k *Hook, m gate.Moment) *run {
	r := &run{h: h, hook: k, result: make(chan ending, 1), cut: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		r.result <- ending{how: notRun, why: whyClosed}
		return r
	}
	h.wg.Go(func() { r.perform(ctx, m) })
	return r
}

// wait returns the hook's ending, or that the wait was cut. An ending that had
// arrived is kept, and so is that of a hook that had exited: only what is truly
// pending is cut (INT-44). It is called once.
func (r *run) wait(ctx context.Context) ending {
	select {
	case e := <-r.result:
		return e
	default:
	}
	select {
	case e := <-r.result:
		return e
	case <-ctx.Done():
	}
	if r.exited() {
		late := time.NewTimer(lastWords)
		defer late.Stop()
		select {
		case e := <-r.result:
			return e
		case <-late.C:
		}
	}
	select {
	case e := <-r.result:
		return e
	default:
		close(r.cut)
		return cutOff(ctx)
	}
}

func (r *run) exited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tree == nil {
		return false
	}
	_, ended := r.tree.Exit()
	return ended
}

// perform starts the hook, waits for its end and ends whatever it leaves.
func (r *run) perform(ctx context.Context, m gate.Moment) {
	tree, out, err := r.start(ctx, m)
	if err != nil {
		e := ending{how: notRun, why: err.Error()}
		if ctx.Err() != nil {
			e = cutOff(ctx)
		}
		r.result <- e
		return
	}
	r.mu.Lock()
	r.tree = tree
	r.mu.Unlock()
	if err := r.recordStart(ctx, tree); err != nil {
		tree.Stop(interrupt.Ladder{Bound: reap})
		out.read()
		r.result <- ending{how: notRun, why: "its start could not be recorded: " + err.Error()}
		return
	}
	limit := time.NewTimer(r.hook.Timeout)
	defer limit.Stop()
	overdue := false
	select {
	case <-tree.Exited():
	case <-limit.C:
		overdue = true
	case <-r.cut:
	case <-r.h.closing:
	}
	exit, ended := tree.Exit()
	ladder := interrupt.Ladder{Bound: reap}
	if !ended {
		ladder.Grace = r.h.o.Grace
	}
	stopped := tree.Stop(ladder) // its leftovers too: a hook leaves nothing running
	stdout, stderr := out.read()
	r.recordEnd(ctx, tree, ended, stopped.Survivors)
	e := ending{how: cut, why: whyClosed} // or nobody listens
	switch {
	case !ended && !overdue:
	case !ended || exit.TimedOut:
		e = ending{how: timedOut, why: fmt.Sprintf("it gave no verdict within its time limit of %s", r.hook.Timeout)}
	default:
		e = read(exit, stdout, stderr)
	}
	if len(stopped.Survivors) > 0 {
		e.why += fmt.Sprintf(" (pids %v outlived it)", stopped.Survivors)
	}
	r.result <- e
}

// recordStart has it in the journal that the hook's tree is there, so that
// whoever comes after a crash knows of it.
func (r *run) recordStart(ctx context.Context, tree proc.Tree) error {
	started := tree.Started()
	started.Command = "hook " + r.hook.Name + ": " + started.Command
	return gate.RecorderOf(ctx)(ctx, started)
}

// recordEnd says that the tree is gone, or what outlived it. Where that is
// refused the session is over: who opens it next finds out.
func (r *run) recordEnd(ctx context.Context, tree proc.Tree, byItself bool, survivors []int) {
	s := tree.Started()
	if len(survivors) > 0 {
		_ = gate.RecorderOf(ctx)(ctx, event.ProcessSurvived{Owner: s.Owner, ID: s.ID, PIDs: survivors, Why: "alive after KILL"})
		return
	}
	exit, _ := tree.Exit()
	how := "stopped"
	if byItself {
		how = "exited"
	}
	_ = gate.RecorderOf(ctx)(ctx, event.ProcessEnded{Owner: s.Owner, ID: s.ID, PID: s.PID, ExitCode: exit.Code, Signal: exit.Signal, How: how})
}

// start runs the hook's command with m on its stdin.
func (r *run) start(ctx context.Context, m gate.Moment) (proc.Tree, *output, error) {
	in, err := r.stdin(m)
	if err != nil {
		return nil, nil, fmt.Errorf("its input could not be written: %w", err)
	}
	defer in.Close()
	out, err := newOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("its pipes could not be made: %w", err)
	}
	argv := r.hook.Argv
	if r.hook.Line != "" {
		argv = []string{r.h.o.Shell, "-c", r.hook.Line}
	}
	env := slices.Concat(r.h.o.Env, []string{"RIPCORD_PROJECT_DIR=" + m.Dir}, r.hook.Env)
	tree, err := r.h.o.Host.Start(ctx, proc.Spec{
		Owner: "hook", ID: fmt.Sprintf("hook_%s_%d", r.hook.Name, r.h.id.Add(1)), Argv: argv, Dir: m.Dir, Env: env,
		Files:   [3]*os.File{in, out.theirs[0], out.theirs[1]},
		Timeout: r.hook.Timeout + time.Second, // for the case that we do not hold it
		Ladder:  interrupt.Ladder{Grace: r.h.o.Grace, Bound: reap},
	})
	out.closeTheirs()
	if err != nil {
		out.read()
		return nil, nil, err
	}
	return tree, out, nil
}

// stdin is a file that has m and no name: a hook that does not read it holds
// nobody up.
func (r *run) stdin(m gate.Moment) (*os.File, error) {
	data, err := input(m)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(r.h.o.Scratch, "ripcord-hook-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(f.Name()); err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// caught is a stream's head; over says that there was more.
type caught struct {
	b    []byte
	over bool
}

// output reads a hook's two streams, bounded, to their end.
type output struct {
	ours, theirs [2]*os.File
	got          [2]caught
	wg           sync.WaitGroup
}

func newOutput() (*output, error) {
	o := &output{}
	for i := range o.ours {
		var err error
		if o.ours[i], o.theirs[i], err = os.Pipe(); err != nil {
			if i == 1 {
				_ = o.ours[0].Close()
			}
			o.closeTheirs()
			return nil, err
		}
	}
	for i, most := range []int64{mostAnswer, mostReason} {
		o.wg.Go(func() {
			b, err := io.ReadAll(io.LimitReader(o.ours[i], most+1))
			o.got[i] = caught{b, int64(len(b)) > most}
			if err == nil {
				_, _ = io.Copy(io.Discard, o.ours[i]) // a hook is not held up by what it prints
			}
		})
	}
	return o, nil
}

func (o *output) closeTheirs() {
	for _, f := range o.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
}

// read returns what was printed. The tree is gone: who still holds a pipe is a
// stranger, and is not waited for (PRC-06).
func (o *output) read() (stdout, stderr caught) {
	soon := time.Now().Add(time.Second)
	for _, f := range o.ours {
		_ = f.SetReadDeadline(soon) // a pipe that has none ends with its writers
	}
	o.wg.Wait()
	for _, f := range o.ours {
		_ = f.Close()
	}
	return o.got[0], o.got[1]
}
