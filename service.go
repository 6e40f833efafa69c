package ripcord

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// Open implements [api.Service].
func (r *Runtime) Open(ctx context.Context, req api.OpenRequest) (api.SessionState, error) {
	cwd, err := workspace(req.Cwd)
	if err != nil {
		return api.SessionState{}, &api.Error{Code: event.FailUsage, Message: "the workspace can't be used: " + err.Error(), Hint: "name an existing folder", Err: err}
	}
	if req.Latest {
		id, err := r.latest(ctx, cwd)
		if err != nil {
			return api.SessionState{}, err
		}
		req.ID = id
	}
	l, err := r.open(ctx, req.ID, event.SessionOpened{Cwd: cwd, Title: req.Title, Product: "ripcord " + Version})
	if err != nil {
		return api.SessionState{}, toError(err)
	}
	return r.stateOf(l), nil
}

// open returns the live session id, taking it if nobody here has it. Two
// callers at once get the same one; one that is being closed is waited for.
func (r *Runtime) open(ctx context.Context, id event.SessionID, header event.SessionOpened) (*session.Live, error) {
	fresh := id == ""
	if fresh {
		id = session.NewSessionID(time.Now())
	}
	header.ID = id // also for a journal whose creator died before its first record
	done, err := r.hold(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	r.mu.Lock()
	l, closed := r.live[id], r.closed
	r.mu.Unlock()
	switch {
	case closed:
		return nil, closing()
	case l != nil:
		return l, nil
	}
	if l, err = r.take(ctx, id, fresh, header, nil); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.live[id] = l
	r.mu.Unlock()
	return l, nil
}

// take takes session id and has it live; change, if not nil, makes it another
// session than a person's. The books of its sub-agents are closed first.
func (r *Runtime) take(ctx context.Context, id event.SessionID, fresh bool, header event.SessionOpened, change func(*session.Config)) (*session.Live, error) {
	var w journal.Writer
	var err error
	if fresh {
		w, err = r.cfg.Store.Create(ctx, id)
	} else {
		w, err = r.cfg.Store.Acquire(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	n := &lineage{r: r, id: id}
	cfg := r.sessionConfig(id, w, header)
	from, err := n.begin(&cfg, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	cfg.Records, cfg.Observe = n.noting(r.cfg.Store.Read(ctx, id, from)), n.observe
	if change != nil {
		change(&cfg)
	}
	l, err := session.Open(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if !n.seen { // nothing of its own was open
		n.children(ctx, turn.NewLedger(), false)
	}
	r.agents.linked(id, n.links...)
	r.opened(ctx, l, id, cfg.Dir)
	if cfg.Snapshot != nil {
		l.Verify(func(ctx context.Context) (bool, error) {
			rep, err := r.cfg.Store.Verify(ctx, id)
			return !rep.OK, err
		})
	}
	return l, nil
}

// Release implements [api.Service].
func (r *Runtime) Release(ctx context.Context, id event.SessionID) error {
	if _, err := r.get(id); err != nil {
		return err
	}
	return toError(r.release(ctx, id, interrupt.SessionReleased))
}

// release closes session id if it is live. One whose journal could not be given
// up stays, so that it can be released again.
func (r *Runtime) release(ctx context.Context, id event.SessionID, reason interrupt.Reason) error {
	done, err := r.hold(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	r.mu.Lock()
	l := r.live[id]
	r.mu.Unlock()
	if l == nil {
		return nil
	}
	return r.giveUp(ctx, l, id, reason)
}

// giveUp closes l for who holds its id.
func (r *Runtime) giveUp(ctx context.Context, l *session.Live, id event.SessionID, reason interrupt.Reason) error {
	err := r.dismiss(ctx, l, id, reason)
	if err == nil {
		err = l.Close(ctx, reason)
	}
	closed := l.Closed()
	r.mu.Lock()
	if closed {
		delete(r.live, id)
	} else {
		r.live[id] = l
	}
	r.mu.Unlock()
	if closed {
		r.agents.drop(id)
		r.forgotten(id)
	} else {
		r.agents.reopen(id)
	}
	return err
}

// borrow has f do something with session id: with the live one, which stays
// open, or else with one that is taken for as long as f runs. That one is nobody
// else's: who wants to open it waits until it was given up. A sub-agent is
// recovered for its parent even in a runtime that closes: the parent's books are
// closed for good with what it says.
func (r *Runtime) borrow(ctx context.Context, id event.SessionID, header event.SessionOpened, f func(*session.Live) error) error {
	done, err := r.hold(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	r.mu.Lock()
	l, closed := r.live[id], r.closed
	r.mu.Unlock()
	switch {
	case l != nil:
		return f(l)
	case closed && header.Parent == "":
		return closing()
	}
	header.ID, header.Product = id, "ripcord "+Version
	if l, err = r.take(ctx, id, false, header, nil); err != nil {
		return err
	}
	return errors.Join(f(l), r.giveUp(ctx, l, id, interrupt.SessionReleased))
}

// closing refuses to open a session.
func closing() error {
	return &api.Error{Code: event.FailUsage, Message: "the runtime is closing", Hint: "start a new one"}
}

// Status implements [api.Service].
func (r *Runtime) Status(_ context.Context, id event.SessionID) (api.SessionState, error) {
	l, err := r.get(id)
	if err != nil {
		return api.SessionState{}, err
	}
	return r.stateOf(l), nil
}

// Submit implements [api.Service].
func (r *Runtime) Submit(ctx context.Context, req api.SubmitRequest) (api.Submitted, error) {
	l, err := r.get(req.Session)
	if err != nil {
		return api.Submitted{}, err
	}
	switch req.Priority {
	case "", event.PriorityLater, event.PriorityNow, event.PriorityNext:
	default:
		return api.Submitted{}, &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("priority %q is not known", req.Priority), Hint: "use now, next or later"}
	}
	if err := fits(req.Input.Content); err != nil {
		return api.Submitted{}, err
	}
	decided := r.offered(ctx, req.Session, req.Options)
	taken, err := l.Offer(ctx, session.Input{Input: req.Input, Priority: req.Priority, Replaces: req.Replaces, Key: req.Key, Options: req.Options, By: req.By})
	decided(err == nil && taken.Where != turn.Known, taken.Open)
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	if taken.Where == turn.Known {
		taken.Where = turn.Queued
		if l.Runs(taken.ID) {
			taken.Where = turn.Running
		}
	}
	return api.Submitted{Input: taken.ID, State: string(taken.Where)}, nil
}

// fits says whether content can be somebody's input.
func fits(c event.Content) error {
	switch {
	case len(c) == 0:
		return &api.Error{Code: event.FailUsage, Message: "the input is empty", Hint: "give a prompt"}
	case len(c) > event.MaxParts:
		return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("the input has %d parts, %d at most can be kept", len(c), event.MaxParts), Hint: "join its texts"}
	}
	return nil
}

// Continue implements [api.Service].
func (r *Runtime) Continue(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Submitted{}, err
	}
	input, err := l.Continue(ctx, "", false)
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	return api.Submitted{Input: input, State: "running"}, nil
}

// RunHeld implements [api.Service].
func (r *Runtime) RunHeld(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Submitted{}, err
	}
	input, err := l.Continue(ctx, "", true)
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	return api.Submitted{Input: input, State: "running"}, nil
}

// RunNext implements [api.Service].
func (r *Runtime) RunNext(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Submitted{}, err
	}
	input, err := l.RunNext(ctx)
	if err != nil {
		return api.Submitted{}, toError(err)
	}
	return api.Submitted{Input: input, State: string(turn.Running)}, nil
}

// Wait implements [api.Service].
func (r *Runtime) Wait(ctx context.Context, id event.SessionID, input event.InputID) (api.Result, error) {
	l, err := r.get(id)
	if err != nil {
		return api.Result{}, err
	}
	sum, err := l.Wait(ctx, input)
	if err != nil {
		return api.Result{}, toError(err)
	}
	return resultOf(id, sum), nil
}

// Interrupt implements [api.Service].
func (r *Runtime) Interrupt(ctx context.Context, req api.InterruptRequest) (api.Interrupted, error) {
	l, err := r.get(req.Session)
	if err != nil {
		return api.Interrupted{}, err
	}
	reason := interrupt.UserSIGINT
	if req.Reason != "" {
		reason = interrupt.ParseReason(req.Reason)
	}
	cause := interrupt.Cause{Reason: reason, Who: req.Who, At: time.Now()}
	addr := session.Address{Input: req.Input, Turn: req.Turn}
	var stop session.Stop
	if req.KeepInbox {
		stop, err = l.Interrupt(addr, cause, req.Force)
	} else {
		stop, err = l.InterruptAndClear(ctx, addr, cause, req.Force)
	}
	var refused *interrupt.RefusedError
	switch {
	case errors.As(err, &refused):
		return api.Interrupted{}, &api.Error{Code: event.FailUsage, Message: err.Error(), Err: err}
	case err != nil:
		return api.Interrupted{}, toError(err)
	}
	switch stop {
	case session.Stopping:
		return api.Interrupted{State: "stopping"}, nil
	case session.StopIdle:
		return api.Interrupted{Noop: "idle"}, nil
	case session.StopMismatch:
		return api.Interrupted{Noop: "turn_mismatch"}, nil
	case session.StopAlready:
		return api.Interrupted{Noop: "already_stopping"}, nil
	}
	return api.Interrupted{Noop: "idle"}, nil
}

// Decide implements [api.Service].
func (r *Runtime) Decide(ctx context.Context, req api.DecideRequest) error {
	l, err := r.get(req.Session)
	if err != nil {
		return err
	}
	switch req.Decision {
	case event.Allow, event.Deny, event.Abort:
	default:
		return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("decision %q is not known", req.Decision), Hint: "use allow, deny or abort"}
	}
	return toError(l.Decide(ctx, req.Approval, req.Decision, req.By, req.Why))
}

// Records implements [api.Service].
func (r *Runtime) Records(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		for rec, err := range r.cfg.Store.Read(ctx, id, from) {
			if !yield(frameOf(rec, err)) {
				return
			}
		}
	}
}

func frameOf(rec event.Record, err error) (api.Frame, error) {
	if err != nil {
		return api.Frame{}, toError(err)
	}
	return api.Frame{Line: rec.Line, Record: &rec}, nil
}

// Follow implements [api.Service].
func (r *Runtime) Follow(ctx context.Context, id event.SessionID, from event.Seq, live bool) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		l, err := r.get(id)
		if err != nil || !live {
			for rec, err := range r.cfg.Store.Follow(ctx, id, from) {
				if !yield(frameOf(rec, err)) {
					return
				}
			}
			return
		}
		f := follower{r: r, ctx: ctx, id: id, next: from, yield: yield}
		f.follow(l)
	}
}

// follower joins what is in the journal with what is handed out live: no record
// is left out or given twice.
type follower struct {
	r     *Runtime
	ctx   context.Context
	id    event.SessionID
	next  event.Seq
	yield func(api.Frame, error) bool
}

func (f *follower) follow(l *session.Live) {
	sub, upto := l.Subscribe()
	defer sub.Close()
	if !f.read(upto) {
		return
	}
	for {
		select {
		case <-sub.Wake():
		case <-f.ctx.Done():
			return
		}
		frames, lagged, ended := sub.Take()
		if lagged && !f.read(sub.Shown()) { // what was dropped is in the journal
			return
		}
		for _, fr := range frames {
			if !f.give(fr) {
				return
			}
		}
		if ended {
			return
		}
	}
}

// read gives what the journal holds up to upto.
func (f *follower) read(upto event.Seq) bool {
	if f.next > upto {
		return true
	}
	for rec, err := range f.r.cfg.Store.Read(f.ctx, f.id, f.next) {
		if err == nil && rec.Seq > upto {
			return true
		}
		if !f.yield(frameOf(rec, err)) {
			return false
		}
		if err == nil {
			f.next = rec.Seq + 1
		}
	}
	return true
}

func (f *follower) give(fr session.Frame) bool {
	if fr.Live != nil {
		return f.yield(api.Frame{Live: liveOf(f.id, fr.Live)}, nil)
	}
	switch seq := fr.Record.Seq; {
	case seq < f.next:
		return true
	case seq > f.next:
		if !f.read(seq - 1) {
			return false
		}
	}
	f.next = fr.Record.Seq + 1
	return f.yield(api.Frame{Line: fr.Record.Line, Record: fr.Record}, nil)
}
