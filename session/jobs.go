package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// jobs are the processes that outlive their calls. The session owns their ends.
type jobs struct {
	mu      sync.Mutex
	next    int
	running map[event.JobID]*job
}

type job struct {
	id      event.JobID
	process tool.Process
	keep    bool
	keeping sync.Mutex    // one Keep at a time, so that deeds and records are of one order
	by      string        // who ended it
	done    chan struct{} // closed when its watcher has ended: its end is recorded, or left to recovery
}

// endedBy is what a process says that was ended by a tool and not here.
type endedBy interface{ EndedBy() string }

// leaver is a process that can be let go of: see [proc.Leave].
type leaver interface{ Leave() }

// ErrNoJob is returned for a job that does not run here.
var ErrNoJob = errors.New("no such job runs in this session")

// Adopt takes a process over from its call. The record is durable with the
// next checkpoint; the job is visible at once.
func (b *callBook) Adopt(ctx context.Context, j tool.Job) (event.JobID, error) {
	return b.l.adopt(ctx, j, 0)
}

// adopt does so for a call, or for its inner call of that number.
func (l *Live) adopt(ctx context.Context, j tool.Job, inner int) (event.JobID, error) {
	l.jobs.mu.Lock()
	l.jobs.next++
	id := event.JobID(fmt.Sprintf("j%d", l.jobs.next))
	l.jobs.mu.Unlock()
	p := l.relative(event.JobStarted{ID: id, Call: j.Call, Command: j.Command, PIDs: j.Process.PIDs(), Keep: j.Keep, Spool: j.Spool, Inner: inner})
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Fact{Payload: p, Token: t} })
	var refused *turn.RefusedError
	if err == nil || errors.As(err, &refused) { // refused by the disk alone: it is a job, and whoever asked ends it
		l.watch(&job{id: id, process: j.Process, keep: j.Keep})
	}
	if err != nil {
		return "", err
	}
	return id, nil
}

// watch follows a job to its end on a goroutine of its own.
func (l *Live) watch(j *job) {
	j.done = make(chan struct{})
	l.jobs.mu.Lock()
	if l.jobs.running == nil {
		l.jobs.running = map[event.JobID]*job{}
	}
	l.jobs.running[j.id] = j
	l.jobs.mu.Unlock()
	l.work.Go(func() {
		defer close(j.done)
		select {
		case <-j.process.Gone():
		case <-l.ctx.Done():
			return // kept: it lives on
		}
		l.jobs.mu.Lock()
		delete(l.jobs.running, j.id)
		by := j.by
		l.jobs.mu.Unlock()
		if p, ok := j.process.(endedBy); ok && by == "" {
			by = p.EndedBy()
		}
		end := event.JobEnded{ID: j.id, State: event.JobExited, By: by}
		code, sig := j.process.Exit()
		switch {
		case by != "" || sig != "":
			end.State, end.Signal, end.ExitCode = event.JobKilled, sig, code
		default:
			end.ExitCode = code // nil when nobody saw it: never invented
		}
		_, _ = l.ask(l.ctx, func(t turn.Token) turn.Input { return turn.Fact{Payload: end, Token: t} }) // a closed session leaves it to recovery
		l.hub.wakeAll()
	})
}

// stopAll ends every job that is not kept and waits for their records. When ctx
// ends, nothing is asked any more: what is left is forced. The error names what
// could not be ended.
func (js *jobs) stopAll(ctx context.Context, l Limits) error {
	js.mu.Lock()
	var stop []*job
	for _, j := range js.running {
		if !j.keep {
			j.by = "session close"
			stop = append(stop, j)
		}
	}
	js.mu.Unlock()
	var wg sync.WaitGroup
	left := make([]error, len(stop))
	for i, j := range stop {
		wg.Go(func() {
			hurry := context.AfterFunc(ctx, func() { j.process.Stop(interrupt.Ladder{}) })
			defer hurry()
			if left[i] = j.stop(l); left[i] == nil {
				<-j.done // the driver is there to record it
			}
		})
	}
	if err := wait(ctx, &wg); err != nil {
		return err
	}
	return errors.Join(left...)
}

// leave lets go of what is kept, so that whoever opens the session next can have
// it, also while this process lives on.
func (js *jobs) leave() {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.running {
		if p, ok := j.process.(leaver); ok && j.keep {
			p.Leave()
		}
	}
}

// stop climbs the ladder; the error names what outlived it.
func (j *job) stop(l Limits) error {
	if pids := j.process.Stop(interrupt.Ladder{Grace: l.JobGrace, Bound: l.JobBound}); len(pids) > 0 {
		return fmt.Errorf("job %s: processes %v could not be ended", j.id, pids)
	}
	return nil
}

// Kill ends a job by hand. The error names what outlived it.
func (l *Live) Kill(id event.JobID, by string) error {
	l.jobs.mu.Lock()
	j := l.jobs.running[id]
	if j != nil {
		j.by = by
	}
	l.jobs.mu.Unlock()
	if j == nil {
		return ErrNoJob
	}
	if err := j.stop(l.cfg.Limits); err != nil {
		return err
	}
	select { // who is told that it ended finds its end written
	case <-j.done:
	case <-l.gone:
	}
	return nil
}

// Keep says whether a job outlives the session and the runtime.
func (l *Live) Keep(ctx context.Context, id event.JobID, keep bool) error {
	l.jobs.mu.Lock()
	j := l.jobs.running[id]
	l.jobs.mu.Unlock()
	if j == nil {
		return ErrNoJob
	}
	j.keeping.Lock()
	defer j.keeping.Unlock()
	l.jobs.mu.Lock()
	was := j.keep
	l.jobs.mu.Unlock()
	if err := j.process.Keep(keep); err != nil {
		return err
	}
	_, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Fact{Payload: event.JobKept{ID: id, Keep: keep}, Token: t}
	})
	if err != nil { // as it was: nothing lives on that no record keeps
		return errors.Join(err, j.process.Keep(was))
	}
	l.jobs.mu.Lock()
	j.keep = keep
	l.jobs.mu.Unlock()
	return nil
}

// Tree is a process tree as the owner of a job sees it.
type Tree struct{ proc.Tree }

// Exit returns the end of the tree's leader.
func (t Tree) Exit() (code *int, signal string) {
	e, _ := t.Tree.Exit()
	return e.Code, e.Signal
}

// Output returns what was caught, head and tail within limit bytes.
func (t Tree) Output(limit int) (text string, bytes int64) {
	o := t.Tree.Output(limit)
	return o.Text, o.Bytes
}

// Leave lets go of the tree if it is kept.
func (t Tree) Leave() { proc.Leave(t.Tree) }

// Stop ends the tree and returns the pids that outlived it.
func (t Tree) Stop(l interrupt.Ladder) (survivors []int) { return t.Tree.Stop(l).Survivors }

var _ tool.Process = Tree{}

// Output returns what a running job has printed.
func (l *Live) Output(id event.JobID, limit int) (string, error) {
	l.jobs.mu.Lock()
	j := l.jobs.running[id]
	l.jobs.mu.Unlock()
	if j == nil {
		return "", ErrNoJob
	}
	text, _ := j.process.Output(limit)
	return text, nil
}
