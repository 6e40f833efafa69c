package ripcord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// company is what calls are given by the runtime: their way to sub-agents.
type company struct{ r *Runtime }

var _ tool.Agents = company{}

// Run implements [tool.Agents].
func (c company) Run(ctx context.Context, call *tool.Call, t tool.Task) (tool.AgentReport, error) {
	a := &agent{id: session.NewSessionID(time.Now()), title: t.Title}
	if err := c.r.agents.admit(c.r.cfg.Limits, call, a); err != nil {
		return tool.AgentReport{}, err
	}
	release := bindStop(call, func() { a.stop(cancelled(call.Session), false) })
	defer release()
	if err := c.r.employ(ctx, call, a, t, true); err != nil {
		return tool.AgentReport{}, err
	}
	stop := c.r.forward(ctx, call, a)
	defer stop()
	forced := tool.SignalOf(call).Forced()
	for {
		select {
		case <-a.done:
			return a.report(), nil
		case <-forced:
			forced = nil
			a.stop(cancelled(call.Session), true)
		}
	}
}

// bindStop has f run when the call is stopped, on the goroutine that stops it;
// at once if it has been. release takes it back.
func bindStop(call *tool.Call, f func()) (release func()) {
	if reg, ok := tool.RegistrarOf(call); ok {
		id, err := reg.Register(f)
		if err != nil { // the call is over
			f()
		}
		return func() { reg.Unregister(id) }
	}
	off := tool.SignalOf(call).OnCancel(f)
	return func() { off() }
}

// Spawn implements [tool.Agents].
func (c company) Spawn(ctx context.Context, call *tool.Call, t tool.Task) (event.SessionID, error) {
	a := &agent{id: session.NewSessionID(time.Now()), title: t.Title, background: true}
	if err := c.r.agents.admit(c.r.cfg.Limits, call, a); err != nil {
		return "", err
	}
	return a.id, c.r.employ(ctx, call, a, t, true)
}

// Send implements [tool.Agents].
func (c company) Send(ctx context.Context, call *tool.Call, id event.SessionID, text string) error {
	by := "task_send of " + string(call.Session)
	for {
		a, l, err := c.known(ctx, call, id)
		if err != nil {
			return err
		}
		if a != nil {
			ok, err := a.send(ctx, text, by)
			if err != nil {
				return tool.Replyf("the sub-agent did not take it: %w", err)
			}
			if ok {
				return nil
			}
			if err := attend(ctx, call, a, nil); err != nil {
				return err
			}
			continue // it has ended: it is opened again
		}
		a = &agent{id: id, title: l.Header.Title, background: true}
		if err := c.r.agents.admit(c.r.cfg.Limits, call, a); err != nil {
			return err
		}
		return c.r.employ(ctx, call, a, tool.Task{Prompt: text}, false)
	}
}

// attend waits for the child's end, for limit to fire, or for the call to be
// stopped, which is an interrupted error.
func attend(ctx context.Context, call *tool.Call, a *agent, limit <-chan time.Time) error {
	sig := tool.SignalOf(call)
	var err error
	select {
	case <-a.done:
	case <-limit:
	case <-sig.Done():
		err = sig.Checkpoint()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select { // its end is taken where it is there, whatever else is (TRN-19)
	case <-a.done:
		return nil
	default:
		return err
	}
}

// known finds a sub-agent that the call's session has started: at work, or as
// its journal says it.
func (c company) known(ctx context.Context, call *tool.Call, id event.SessionID) (*agent, *turn.Ledger, error) {
	none := tool.Replyf("this session has started no sub-agent %q; task_status without an id lists those in the background", id)
	mine := false
	for _, l := range c.r.agents.children(call.Session) {
		mine = mine || l.child == id
	}
	if !mine { // also what is no session's id at all: it came from a model
		return nil, nil, none
	}
	if a := c.r.agents.find(id); a != nil {
		return a, nil, nil
	}
	l, _, err := c.r.fold(ctx, id)
	switch {
	case err != nil:
		return nil, nil, tool.Replyf("the journal of sub-agent %s can't be read: %w", id, err)
	case l.Header.Parent != call.Session:
		return nil, nil, none
	}
	return nil, l, nil
}

// Status implements [tool.Agents].
func (c company) Status(ctx context.Context, call *tool.Call, id event.SessionID, wait time.Duration) (tool.AgentReport, error) {
	a, l, err := c.known(ctx, call, id)
	switch {
	case err != nil:
		return tool.AgentReport{}, err
	case a == nil:
		return reportOf(l), nil
	}
	if wait > 0 {
		limit := time.NewTimer(wait)
		defer limit.Stop()
		if err := attend(ctx, call, a, limit.C); err != nil && !errors.Is(err, interrupt.ErrInterrupted) {
			return tool.AgentReport{}, err
		}
	}
	return c.now(ctx, a)
}

// now says how a child stands at this moment.
func (c company) now(ctx context.Context, a *agent) (tool.AgentReport, error) {
	select {
	case <-a.done:
		return a.report(), nil
	default:
	}
	l, _, err := c.r.fold(ctx, a.id)
	if err != nil {
		return tool.AgentReport{}, tool.Replyf("the journal of sub-agent %s can't be read: %w", a.id, err)
	}
	rep := reportOf(l)
	rep.Running = true // also between two turns, and while it is being closed
	if cause := a.stopped(); cause != nil {
		rep.Note = "it is being stopped: " + string(cause.Reason)
	}
	return rep, nil
}

// List implements [tool.Agents].
func (c company) List(ctx context.Context, call *tool.Call) ([]tool.AgentReport, error) {
	var out []tool.AgentReport
	for _, l := range c.r.agents.children(call.Session) {
		if !l.background {
			continue
		}
		rep, err := c.Status(ctx, call, l.child, 0)
		if err != nil {
			rep = tool.AgentReport{Session: l.child, Note: err.Error()}
		}
		out = append(out, rep)
	}
	return out, nil
}

// Stop implements [tool.Agents].
func (c company) Stop(ctx context.Context, call *tool.Call, id event.SessionID) (tool.AgentReport, error) {
	a, l, err := c.known(ctx, call, id)
	switch {
	case err != nil:
		return tool.AgentReport{}, err
	case a == nil:
		return reportOf(l), nil
	}
	a.stop(interrupt.Cause{Reason: interrupt.TaskCancelled, Who: "session " + string(call.Session), At: time.Now()}, false)
	if err := attend(ctx, call, a, nil); err != nil && !errors.Is(err, interrupt.ErrInterrupted) {
		return tool.AgentReport{}, err
	}
	return c.now(ctx, a)
}

// report is the child's account once it is done.
func (a *agent) report() tool.AgentReport {
	rep := tool.AgentReport{Session: a.id, Title: a.title, Note: a.note}
	if a.sum != nil {
		rep = summed(rep, *a.sum)
	}
	return rep
}

// reportOf is the account that a journal gives of its last turn.
func reportOf(l *turn.Ledger) tool.AgentReport {
	rep := tool.AgentReport{Session: l.Header.ID, Title: l.Header.Title}
	if l.Turn == nil {
		return rep
	}
	sum := turn.Summarize(l)
	rep = summed(rep, sum)
	rep.Held = len(l.Box.Waiting())
	if l.OpenTurn() != 0 {
		rep.Running = true
		for _, c := range l.Turn.Calls {
			if c.Ended == nil {
				rep.Calls = append(rep.Calls, tool.AgentCall{ID: c.ID, Name: c.Name})
			}
		}
	}
	return rep
}

func summed(rep tool.AgentReport, sum turn.Summary) tool.AgentReport {
	rep.Outcome, rep.Reason, rep.Who, rep.Steps = sum.Outcome, sum.Reason, sum.Who, sum.Step
	rep.Usage, rep.Text, rep.Held, rep.Error = sum.Usage, sum.Text, len(sum.Held), sum.Error
	for _, c := range sum.Calls {
		rep.Calls = append(rep.Calls, tool.AgentCall{ID: c.ID, Name: c.Name, Outcome: c.End.Outcome,
			Text: c.End.Content.Text(), Survivors: c.End.Survivors})
	}
	return rep
}

// forwarder puts what a foreground child asks to the people of the call that
// waits for it, and shows them what it does. One goroutine follows the child;
// each open question has another. stop waits for all.
type forwarder struct {
	a    *agent
	call *tool.Call
	ctx  context.Context
	wg   sync.WaitGroup
	open map[event.ApprovalID]context.CancelFunc // of the follower alone
}

func (r *Runtime) forward(ctx context.Context, call *tool.Call, a *agent) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	f := &forwarder{a: a, call: call, ctx: ctx, open: map[event.ApprovalID]context.CancelFunc{}}
	sub, _ := a.live.Subscribe()
	f.wg.Go(func() {
		defer sub.Close()
		f.follow(sub)
	})
	return func() { cancel(); f.wg.Wait() }
}

func (f *forwarder) follow(sub *session.Sub) {
	f.standing()
	for {
		select {
		case <-sub.Wake():
		case <-f.ctx.Done():
			return
		}
		frames, lagged, ended := sub.Take()
		for _, fr := range frames {
			switch {
			case fr.Record != nil:
				f.record(fr.Record)
			case fr.Live.Kind == session.LiveText:
				tool.LiveOf(f.call).Output(fr.Live.Text)
			}
		}
		if lagged {
			f.standing()
		}
		if ended {
			return
		}
	}
}

// standing asks what stood open before anybody followed.
func (f *forwarder) standing() {
	for _, q := range f.a.live.Status().Approvals {
		f.ask(q.Asked)
	}
}

func (f *forwarder) record(rec *event.Record) {
	switch rec.Type {
	case event.TypeCallStarted, event.TypeApprovalAsked, event.TypeApprovalDecided, event.TypeApprovalVoided:
	default:
		return
	}
	p, err := rec.Body()
	if err != nil {
		return
	}
	switch p := p.(type) {
	case event.CallStarted:
		tool.LiveOf(f.call).Output(fmt.Sprintf("\n[%s: call %s]\n", f.a.id, rec.Call))
	case event.ApprovalAsked:
		f.ask(p)
	case event.ApprovalDecided:
		f.closed(p.ID)
	case event.ApprovalVoided:
		f.closed(p.ID)
	}
}

// closed takes a question back that was answered elsewhere, or withdrawn.
func (f *forwarder) closed(id event.ApprovalID) {
	if cancel := f.open[id]; cancel != nil {
		cancel()
	}
}

const allow = "allow" // an offered answer; any other refuses

func (f *forwarder) ask(q event.ApprovalAsked) {
	if _, asked := f.open[q.ID]; asked {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	f.open[q.ID] = cancel
	put := tool.Question{Prompt: "sub-agent " + f.a.name() + ": " + q.Prompt, Options: q.Options}
	if !q.Question {
		put.Options = []string{allow, "deny"}
	}
	f.wg.Go(func() {
		defer cancel()
		answer, err := tool.PeopleOf(f.call).Ask(ctx, put)
		if ctx.Err() != nil || errors.Is(err, tool.ErrVoided) || errors.Is(err, interrupt.ErrInterrupted) {
			return // it is open no more, or the child is being stopped
		}
		d, by, why := event.Deny, answer.By, answer.Text
		switch {
		case err != nil:
			by, why = "session "+string(f.call.Session), err.Error()
		case answer.Refused:
		case q.Question:
			d = event.Allow
		case answer.Text == "" || answer.Text == allow: // a surface may say yes without a word
			d, why = event.Allow, ""
		}
		books, done := interrupt.Cleanup(ctx, childDecide)
		defer done()
		_ = f.a.live.Decide(books, q.ID, d, by, why) // refused: somebody else was first
	})
}

func (a *agent) name() string {
	if a.title != "" {
		return a.title
	}
	return string(a.id)
}
