package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// jobs are the processes that outlive their calls. The session owns their ends.
type jobs struct {
	mu       sync.Mutex
	next     int
	running  map[event.JobID]*job
	watchers sync.WaitGroup
}

type job struct {
	id      event.JobID
	process tool.Process
	keep    bool
	by      string // who ended it
}

// ErrNoJob is returned for a job that does not run here.
var ErrNoJob = errors.New("no such job runs in this session")

// Adopt takes a process over from its call. The record is durable with the
// next checkpoint; the job is visible at once.
func (b *callBook) Adopt(ctx context.Context, j tool.Job) (event.JobID, error) {
	return b.l.adopt(ctx, j)
}

func (l *Live) adopt(ctx context.Context, j tool.Job) (event.JobID, error) {
	l.jobs.mu.Lock()
	l.jobs.next++
	id := event.JobID(fmt.Sprintf("j%d", l.jobs.next))
	l.jobs.mu.Unlock()
	p := l.relative(event.JobStarted{ID: id, Call: j.Call, Command: j.Command, PIDs: j.Process.PIDs(), Keep: j.Keep, Spool: j.Spool})
	if _, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Fact{Payload: p, Token: t} }); err != nil {
		return "", err
	}
	l.watch(&job{id: id, process: j.Process, keep: j.Keep})
	return id, nil
}

// watch follows a job to its end on a goroutine of its own.
func (l *Live) watch(j *job) {
	l.jobs.mu.Lock()
	if l.jobs.running == nil {
		l.jobs.running = map[event.JobID]*job{}
	}
	l.jobs.running[j.id] = j
	l.jobs.mu.Unlock()
	l.jobs.watchers.Go(func() {
		select {
		case <-j.process.Gone():
		case <-l.ctx.Done():
			return // kept: it lives on
		}
		l.jobs.mu.Lock()
		delete(l.jobs.running, j.id)
		by := j.by
		l.jobs.mu.Unlock()
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

// stopAll ends every job that is not kept and waits for their records.
func (js *jobs) stopAll(l Limits) {
	js.mu.Lock()
	var stop []*job
	for _, j := range js.running {
		if !j.keep {
			j.by = "session close"
			stop = append(stop, j)
		}
	}
	kept := len(js.running) > len(stop)
	js.mu.Unlock()
	var wg sync.WaitGroup
	for _, j := range stop {
		wg.Go(func() { j.process.Stop(interrupt.Ladder{Grace: l.JobGrace, Bound: l.JobBound}) })
	}
	wg.Wait()
	if !kept {
		waitFor(&js.watchers, l.JobBound)
	}
}

// waitFor waits for wg, for d at most.
func waitFor(wg *sync.WaitGroup, d time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }() // ends when what it waits for does
	select {
	case <-done:
	case <-time.After(d):
	}
}

// Kill ends a job by hand.
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
	j.process.Stop(interrupt.Ladder{Grace: l.cfg.Limits.JobGrace, Bound: l.cfg.Limits.JobBound})
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
	if err := j.process.Keep(keep); err != nil {
		return err
	}
	l.jobs.mu.Lock()
	j.keep = keep
	l.jobs.mu.Unlock()
	_, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Fact{Payload: event.JobKept{ID: id, Keep: keep}, Token: t}
	})
	return err
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
