package ripcord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

const (
	childClose  = 10 * time.Second       // for a sub-agent's session to be given up
	childHurry  = 100 * time.Millisecond // of it, once the stop was forced
	toolBound   = 30 * time.Second       // a session's own, where none is set
	childDecide = 30 * time.Second       // for an answer to be recorded in the child's journal
)

// agents are the sub-agents of this runtime: those that work now, whom each
// live session has started, and what each root session may still start.
type agents struct {
	mu    sync.Mutex
	run   map[event.SessionID]*agent // they work now, or are being opened or closed
	links map[event.SessionID][]link // by the live session that started them, in order
	trees map[event.SessionID]*tree  // by root session
	shut  map[event.SessionID]bool   // sessions that are being closed: they start nothing
	work  sync.WaitGroup             // the watchers
}

// link is a child as its parent's journal names it.
type link struct {
	child      event.SessionID
	call       event.CallID
	background bool
}

// tree counts what a root session has started, at whatever depth.
type tree struct {
	live  int
	turn  int // of the root session
	total int // started since that turn began
}

// agent is a child session at work.
//
//	admitted ──open, submit──▶ working ──no input left, or stopped──▶ leaving ──▶ done
//
// stop may come at any time; what comes before the child can be interrupted is
// kept and delivered.
type agent struct {
	id, parent, root event.SessionID
	title            string
	depth            int // 1: started by the root session
	background       bool
	alone            bool // nobody can be asked in its name
	done             chan struct{}
	hurry            chan struct{} // closed when it is forced
	told             chan struct{} // closed once the hooks of its start have ended

	sending sync.Mutex // keeps it from leaving while input is being accepted

	mu      sync.Mutex
	live    *session.Live // nil until it has a turn
	inputs  []event.InputID
	cause   *interrupt.Cause
	force   bool
	leaving bool

	by origin // set before its watcher begins

	// Set before done is closed.
	sum  *turn.Summary
	note string
}

// origin is the call that has started a sub-agent, and its session.
type origin struct {
	turn, step int
	call       event.CallID
	live       *session.Live
}

func newAgents() agents {
	return agents{run: map[event.SessionID]*agent{}, links: map[event.SessionID][]link{},
		trees: map[event.SessionID]*tree{}, shut: map[event.SessionID]bool{}}
}

// admit takes a new sub-agent in, or says why there are no more.
func (as *agents) admit(l Limits, call *tool.Call, a *agent) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.shut[call.Session] {
		return tool.Replyf("no more sub-agents: this session is being closed")
	}
	a.parent, a.root, a.depth, a.alone = call.Session, call.Session, 1, a.alone || a.background
	if p := as.run[call.Session]; p != nil {
		a.root, a.depth, a.alone = p.root, p.depth+1, a.alone || p.alone
	}
	t := as.trees[a.root]
	if t == nil {
		t = &tree{}
		as.trees[a.root] = t
	}
	if a.root == call.Session && t.turn != call.Turn {
		t.turn, t.total = call.Turn, 0
	}
	switch {
	case a.depth > l.AgentDepth:
		return tool.Replyf("no more sub-agents: they may be %d levels deep and this would be level %d; do the work yourself", l.AgentDepth, a.depth)
	case t.live >= l.Agents:
		return tool.Replyf("no more sub-agents: %d are at work, which is the most; wait for one of them or do the work yourself", t.live)
	case t.total >= l.AgentsTotal:
		return tool.Replyf("no more sub-agents in this turn: %d were started, which is the most; do the work yourself", t.total)
	}
	a.done, a.hurry = make(chan struct{}), make(chan struct{})
	t.live, t.total = t.live+1, t.total+1
	as.run[a.id] = a
	return nil
}

// forget is the end of a: whoever waits for it goes on.
func (as *agents) forget(a *agent) {
	as.mu.Lock()
	delete(as.run, a.id)
	if t := as.trees[a.root]; t != nil {
		t.live--
	}
	as.mu.Unlock()
	close(a.done)
}

func (as *agents) find(id event.SessionID) *agent {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.run[id]
}

func (as *agents) linked(parent event.SessionID, ls ...link) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.links[parent] = append(as.links[parent], ls...)
}

// children lists whom a live session has started, each once.
func (as *agents) children(parent event.SessionID) (out []link) {
	as.mu.Lock()
	defer as.mu.Unlock()
	at := map[event.SessionID]int{}
	for _, l := range as.links[parent] {
		if i, twice := at[l.child]; twice {
			out[i].background = out[i].background || l.background
			continue
		}
		at[l.child] = len(out)
		out = append(out, l)
	}
	return out
}

// close keeps a session from starting more and returns the children that work.
func (as *agents) close(parent event.SessionID) (out []*agent) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.shut[parent] = true
	for _, a := range as.run {
		if a.parent == parent {
			out = append(out, a)
		}
	}
	return out
}

// reopen lets a session start more again: it could not be closed.
func (as *agents) reopen(id event.SessionID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.shut, id)
}

// drop forgets a session that was given up.
func (as *agents) drop(id event.SessionID) {
	as.mu.Lock()
	defer as.mu.Unlock()
	delete(as.links, id)
	delete(as.trees, id)
	delete(as.shut, id)
}

// stop interrupts the child, on the caller's goroutine and all the way down. The
// first cause stays.
func (a *agent) stop(cause interrupt.Cause, force bool) {
	a.mu.Lock()
	if a.cause == nil {
		a.cause = &cause
	}
	if force && !a.force {
		a.force = true
		close(a.hurry)
	}
	l := a.live
	a.mu.Unlock()
	if l != nil {
		_, _ = l.Interrupt(session.Address{}, cause, force) // a requestable reason; one that has ended is fine
	}
}

// begin makes the child one that can be stopped; a stop that came before is
// delivered.
func (a *agent) begin(l *session.Live, input event.InputID) {
	a.mu.Lock()
	a.live, a.inputs = l, append(a.inputs, input)
	cause, force := a.cause, a.force
	a.mu.Unlock()
	if cause != nil {
		_, _ = l.Interrupt(session.Address{}, *cause, force)
	}
}

// stopped returns why the child was asked to end, nil if it was not.
func (a *agent) stopped() *interrupt.Cause {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cause
}

// next returns the input whose turn is to be waited for; without one the child
// is leaving and takes no more.
func (a *agent) next() event.InputID {
	a.sending.Lock()
	defer a.sending.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause != nil && a.sum != nil || len(a.inputs) == 0 {
		a.leaving = true
		return ""
	}
	id := a.inputs[0]
	a.inputs = a.inputs[1:]
	return id
}

// took keeps what came of a turn. What begins by itself behind it, a guard's
// wake and what the turn made way for among it, is the child's work like the
// rest.
func (a *agent) took(sum *turn.Summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum = sum
	if id := sum.Next; id != "" {
		a.inputs = slices.DeleteFunc(a.inputs, func(other event.InputID) bool { return other == id })
		a.inputs = slices.Insert(a.inputs, 0, id)
	}
}

// send gives a working child more input. ok is false if it is leaving.
func (a *agent) send(ctx context.Context, text, by string) (ok bool, err error) {
	a.sending.Lock()
	defer a.sending.Unlock()
	a.mu.Lock()
	l, gone := a.live, a.leaving || a.cause != nil
	a.mu.Unlock()
	if l == nil || gone {
		return false, nil
	}
	id, err := l.Submit(ctx, session.Input{Input: event.UserInput{Content: event.TextOf(text)}, By: by})
	if err != nil {
		return true, err
	}
	a.mu.Lock()
	a.inputs = append(a.inputs, id)
	a.mu.Unlock()
	return true, nil
}

// employ has an admitted sub-agent begin: the link is durable in the parent's
// journal, then the child's session is opened, then its input is accepted. The
// error is a reply; the sub-agent is then gone.
func (r *Runtime) employ(ctx context.Context, call *tool.Call, a *agent, t tool.Task, fresh bool) (err error) {
	defer func() {
		if err != nil {
			r.agents.forget(a)
		}
	}()
	set, err := r.subset(t.Tools)
	if err != nil {
		return err
	}
	if err := tool.SignalOf(call).Checkpoint(); err != nil {
		return err
	}
	if err := tool.RecorderOf(call).Record(ctx, event.SubAgentLinked{Child: a.id, Background: a.background}); err != nil {
		return tool.Replyf("the sub-agent was not started, for that could not be recorded: %w", err)
	}
	r.agents.linked(call.Session, link{a.id, call.ID, a.background})
	l, err := r.openChild(ctx, call, a, set, fresh)
	if err != nil {
		return tool.Replyf("the sub-agent was not started, its session could not be opened: %w", err)
	}
	input, err := event.InputID(""), error(nil)
	if c := a.stopped(); c != nil { // before it had begun
		err = &interrupt.InterruptedError{Cause: *c}
	} else {
		input, err = l.Submit(ctx, session.Input{Input: event.UserInput{Content: event.TextOf(t.Prompt)}, By: "task of " + string(call.Session)})
	}
	if err != nil {
		_ = r.letGo(ctx, a) // what it had not begun needs no end
		return fmt.Errorf("the sub-agent was not started: %w", err)
	}
	a.begin(l, input)
	r.tellStart(a, call)
	life, end := interrupt.Lifetime(ctx) // the turn of this call is not the child's life
	r.agents.work.Go(func() {
		defer end(nil)
		r.watch(life, a)
	})
	return nil
}

// watch waits for the end of the child's work and gives its session up.
func (r *Runtime) watch(ctx context.Context, a *agent) {
	defer r.agents.forget(a)
	for id := a.next(); id != ""; id = a.next() {
		sum, err := a.live.Wait(ctx, id)
		if errors.Is(err, session.ErrDropped) && a.stopped() == nil {
			continue // one input was taken back: what else it was given is still its work
		}
		if err != nil { // it was closed by hand
			break
		}
		a.took(&sum)
		if sum.Next == "" && sum.Outcome != event.TurnCompleted && sum.Outcome != event.TurnTruncated {
			break // what waits is held: nothing runs it by itself
		}
	}
	a.sending.Lock() // an acceptance that is under way is in the journal before it is given up
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	a.sending.Unlock()
	if err := r.letGo(ctx, a); err != nil {
		a.note = "its session could not be closed: " + err.Error()
	}
	if last := a.live.Status().Last; last != nil {
		a.sum = last
	}
	r.tellStop(a)
}

// moment is what the hooks of a's parent are told of it.
func (a *agent) moment(p gate.Point) gate.Moment {
	return gate.Moment{Point: p, Turn: a.by.turn, Step: a.by.step, Call: a.by.call, Child: a.id}
}

// tellStart tells the parent's hooks that a has begun. They run beside it, and
// no stop cuts them.
func (r *Runtime) tellStart(a *agent, call *tool.Call) {
	a.told = make(chan struct{})
	a.by = origin{turn: call.Turn, step: call.Step, call: call.ID}
	parent, err := r.get(a.parent)
	if err != nil { // it is always there: one of its calls runs
		close(a.told)
		return
	}
	a.by.live = parent
	run := parent.Reporting(a.moment(gate.SubAgentStart))
	r.agents.work.Go(func() { defer close(a.told); run() })
}

// tellStop tells them that a has ended, behind what they were told of its start.
// The report is under way before anybody hears of the end: the turn that a worked
// for waits for it, and the parent's end.
func (r *Runtime) tellStop(a *agent) {
	if a.by.live == nil {
		return
	}
	m := a.moment(gate.SubAgentStop)
	if a.sum != nil {
		m.Outcome, m.Reason = a.sum.Outcome, a.sum.Reason
	}
	run := a.by.live.Reporting(m)
	r.agents.work.Go(func() { <-a.told; run() })
}

// letGo gives the child's session up, with what it left running. A forced stop
// leaves its jobs no grace.
func (r *Runtime) letGo(ctx context.Context, a *agent) error {
	reason := interrupt.SessionReleased
	if c := a.stopped(); c != nil {
		reason = c.Reason
	}
	bound, cancel := interrupt.Cleanup(ctx, childClose)
	defer cancel()
	first, cut := context.WithCancel(bound)
	var hurry sync.WaitGroup
	hurry.Go(func() {
		select {
		case <-a.hurry:
			late := time.AfterFunc(childHurry, cut)
			<-first.Done()
			late.Stop()
		case <-first.Done():
		}
	})
	err := r.release(first, a.id, reason)
	cut()
	hurry.Wait()
	if err != nil && bound.Err() == nil {
		err = r.release(bound, a.id, reason)
	}
	return err
}

// dismiss ends the sub-agents of a session that is being closed, and waits for
// their ends: the leaves first, the session last.
func (r *Runtime) dismiss(ctx context.Context, l *session.Live, id event.SessionID, reason interrupt.Reason) error {
	children := r.agents.close(id)
	if len(children) == 0 {
		return nil
	}
	_, _ = l.Interrupt(session.Address{}, interrupt.Cause{Reason: reason, Who: "close", At: time.Now()}, false)
	for _, a := range children {
		a.stop(cancelled(id), false)
	}
	for _, a := range children {
		select {
		case <-a.done:
		case <-ctx.Done():
			return fmt.Errorf("sub-agent %s of session %s has not ended: %w", a.id, id, context.Cause(ctx))
		}
	}
	return nil
}

// cancelled is the cause that a parent's end is to its sub-agents.
func cancelled(parent event.SessionID) interrupt.Cause {
	return interrupt.Cause{Reason: interrupt.ParentCancelled, Who: "session " + string(parent), At: time.Now()}
}

// openChild makes the session of a sub-agent live, or takes it up again.
func (r *Runtime) openChild(ctx context.Context, call *tool.Call, a *agent, set *tool.Set, fresh bool) (*session.Live, error) {
	header := event.SessionOpened{ID: a.id, Cwd: call.Dir, Title: a.title, Product: "ripcord " + Version, Parent: a.parent}
	done, err := r.hold(ctx, a.id)
	if err != nil {
		return nil, err
	}
	defer done()
	r.mu.Lock()
	there, closed := r.live[a.id] != nil, r.closed
	r.mu.Unlock()
	switch {
	case closed:
		return nil, closing()
	case there:
		return nil, &api.Error{Code: event.FailBusy, Message: fmt.Sprintf("session %s is open already", a.id), Hint: "release it first"}
	}
	l, err := r.take(ctx, a.id, fresh, header, func(c *session.Config) {
		c.Tools, c.Turn = set, r.options(set)
		c.Limits.Tool = shorter(c.Limits.Tool, a.depth)
		if a.alone || r.cfg.Alone {
			c.Alone, c.Gate = true, nobody{c.Gate}
		}
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.live[a.id] = l
	r.mu.Unlock()
	return l, nil
}

// shorter is the bound of calls at that depth: what does not stop is given up
// where it is before the levels above give up waiting for it.
func shorter(bound time.Duration, depth int) time.Duration {
	if bound == 0 {
		bound = toolBound
	}
	return bound - bound/10*time.Duration(min(depth, 8))
}

// subset is the tools that a sub-agent has.
func (r *Runtime) subset(names []string) (*tool.Set, error) {
	if len(names) == 0 {
		return r.tools, nil
	}
	var tools []tool.Tool
	for _, name := range names {
		t, ok := r.tools.Lookup(name)
		if !ok {
			return nil, tool.Replyf("a sub-agent can't have the tool %q, there is none; leave tools out or name some of %v", name, r.tools.Names())
		}
		tools = append(tools, t)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		return nil, tool.Replyf("the sub-agent can't have these tools: %w", err)
	}
	return set, nil
}

// nobody is the gate of a sub-agent in whose name nobody can be asked: what
// asks is blocked for good, so that its turn ends and says why (IFC-11).
type nobody struct{ gate.Gate }

// Judge implements [gate.Gate].
func (g nobody) Judge(ctx context.Context, call *tool.Call, spec tool.Spec) (gate.Verdict, error) {
	v, err := g.Gate.Judge(ctx, call, spec)
	if err == nil && v.Decision == gate.Ask {
		v.Decision, v.Final, v.Why = gate.Block, true, "it needs approval and nobody can be asked in a sub-agent's name here"
	}
	return v, err
}
