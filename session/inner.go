package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// innerBound is the part of a call's bounds after a trip that its inner calls
// get: they are given up before it is, so that it can still tell of them.
const innerBound = 0.9

// caller is one running call's way to other tools.
type caller struct {
	book  *callBook // of the outer call
	outer *turn.Call
	act   *active
	rooms rooms
	asked atomic.Int64 // judgements so far
}

var _ tool.Caller = (*caller)(nil)

// Call implements [tool.Caller]. It runs on the outer call's goroutines.
func (k *caller) Call(ctx context.Context, name string, args json.RawMessage) (tool.Inner, error) {
	l := k.book.l
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.book.life, func() { cancel(tool.ErrOver) })()
	t, known := l.cfg.Tools.Lookup(name)
	spec, _ := l.cfg.Tools.Spec(name)
	call := l.callFor(k.outer) // an inner call has its own id from its start on
	call.Name, call.Args, call.Asked = name, args, k.judgement()
	if known {
		if err := tool.CheckArgs(spec.Schema, args); err != nil {
			return refusedInner(event.CallInvalid, err.Error(), ""), nil
		}
		by, no, err := k.judge(ctx, call, spec)
		if err != nil || no != nil {
			return deref(no), err
		}
		leave, err := k.rooms.enter(ctx, k.act.coord.Signal(), !tool.Parallel(t))
		if err != nil {
			return tool.Inner{}, skipped(err)
		}
		defer leave()
		return k.run(ctx, t, spec, call, by)
	}
	return refusedInner(event.CallInvalid, fmt.Sprintf("there is no tool %q; the tools are %v", name, l.cfg.Tools.Names()), ""), nil
}

// judgement makes the name that one inner call is judged under. No call has it as
// its id, nor as its name another judgement: a provider's id that ends in a dot
// and digits is not kept.
func (k *caller) judgement() event.CallID {
	return tool.InnerID(k.outer.ID+"?", int(k.asked.Add(1)))
}

func deref(in *tool.Inner) tool.Inner {
	if in == nil {
		return tool.Inner{}
	}
	return *in
}

func refusedInner(o event.CallOutcome, text, denied string) tool.Inner {
	return tool.Inner{Ended: tool.Ended{Outcome: o, Err: text}, Denied: denied}
}

func skipped(err error) error {
	if err == nil || errors.Is(err, tool.ErrSkipped) {
		return tool.ErrSkipped
	}
	return fmt.Errorf("%w: %w", tool.ErrSkipped, err)
}

// judge has the session's gate judge an inner call; where the gate asks, a
// person is asked in the outer call's name. It returns who allowed the call, or
// the refusal.
func (k *caller) judge(ctx context.Context, call *tool.Call, spec tool.Spec) (by string, no *tool.Inner, err error) {
	l := k.book.l
	own, stop := interrupt.ContextOf(ctx, k.act.coord.Signal())
	defer stop()
	if k.tripped() {
		return "", nil, tool.ErrSkipped
	}
	v := l.verdict(own, call, spec)
	by, why, allowed := v.By, v.Why, v.Verdict == turn.VerdictAllow
	switch v.Verdict {
	case turn.VerdictAllow, turn.VerdictDeny:
	case turn.VerdictBlock:
		l.tell(turn.Veto{Turn: k.outer.Turn, Call: k.outer.ID, By: v.By})
	case turn.VerdictAsk:
		d, err := k.book.question(ctx, event.ApprovalAsked{Tool: call.Name, Prompt: v.Prompt, Why: v.Why})
		if err != nil {
			return "", nil, skipped(err)
		}
		by, why, allowed = d.By, d.Why, d.Decision == event.Allow
	}
	if allowed {
		return by, nil, nil
	}
	if k.tripped() { // the gate was cut, or the turn was: nobody refused
		return "", nil, tool.ErrSkipped
	}
	denied := "it was denied by " + by
	if why != "" {
		denied += ": " + why
	}
	in := refusedInner(event.CallWasDenied, denied, denied)
	return "", &in, nil
}

func (k *caller) tripped() bool {
	return interrupt.Tripped(k.act.coord, k.act.caller) || k.book.life.Err() != nil
}

// run takes an inner call from its gate to its recorded end.
func (k *caller) run(ctx context.Context, t tool.Tool, spec tool.Spec, call *tool.Call, by string) (tool.Inner, error) {
	l := k.book.l
	behaviour := interrupt.BehaviourOf(t)
	b := &innerBook{caller: k, started: event.InnerStarted{Tool: call.Name, Args: call.Args, By: by,
		Behaviour: behaviour.String(), Effect: spec.Effect.String()}}
	b.run = l.runner(k.act, t, call)
	b.run.Tripped, b.run.Book, b.run.Recorder, b.run.Jobs, b.run.Live = k.tripped, b, b, b, k.book
	b.run.Bound = time.Duration(float64(b.run.Bound) * innerBound)
	b.run.Forced = time.Duration(float64(b.run.Forced) * innerBound)
	b.run.Fence = func() error {
		if k.book.life.Err() != nil {
			return tool.ErrOver
		}
		return l.fence(k.act)
	}
	e, left := b.run.Do(ctx)
	if e.Stack != "" {
		l.log.Error("tool panicked", "turn", k.outer.Turn, "tool", call.Name, "call", b.id(), "stack", e.Stack)
	}
	if left != nil {
		l.drift(b.id(), call.Name, k.outer.Turn, left)
	}
	switch e.Outcome {
	case event.CallSkipped:
		return tool.Inner{}, tool.ErrSkipped
	case event.CallFatal:
		return tool.Inner{N: b.n, Ended: e}, tool.Fatalf("%s", e.Err)
	case event.CallFinished, event.CallFinishedLate, event.CallStopped, event.CallInvalid, event.CallQuarantined,
		event.CallWasDenied, event.CallUnknown:
	}
	return tool.Inner{N: b.n, Ended: e}, nil
}

// innerBook is the journal as the runner of one inner call sees it: facts of
// the outer call, under the inner call's name.
type innerBook struct {
	*caller
	run     *tool.Run
	started event.InnerStarted
	n       int // 0 before the start
}

var _ tool.Book = (*innerBook)(nil)

func (b *innerBook) id() event.CallID { return tool.InnerID(b.outer.ID, b.n) }

// Start records the intent. From then on the call has its number, and so its
// name, and gets its company.
func (b *innerBook) Start(ctx context.Context) error {
	l := b.book.l
	v, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.BeginInner{Turn: b.outer.Turn, Call: b.outer.ID, Started: b.started, Token: t}
	})
	if err != nil {
		return skipped(err)
	}
	b.n, _ = v.(int)
	call := *b.run.Call
	call.ID, call.Spool = b.id(), l.spool(b.id())
	b.run.Call = l.equip(tool.WithPeople(&call, &people{b.book, call.Name}))
	return nil
}

// End records the end of a call that has started; the others left no trace.
func (b *innerBook) End(ctx context.Context, e tool.Ended) error {
	if b.n == 0 {
		return nil
	}
	l, fatal := b.book.l, ""
	if e.Outcome == event.CallFatal {
		fatal = e.Err
	}
	if e.Outcome == event.CallQuarantined {
		l.name(string(b.id()), fmt.Sprintf("%s (%s) of turn %d", b.started.Tool, b.id(), b.outer.Turn))
	}
	end := ended(e)
	end.Error = end.Success == nil || !*end.Success
	b.act.errands.begin()
	_, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.EndInner{Turn: b.outer.Turn, Call: b.outer.ID, Fatal: fatal, Token: t,
			Ended: event.InnerEnded{N: b.n, Tool: b.started.Tool, Ended: end}}
	})
	b.book.told(gate.Moment{Call: b.id(), Tool: b.started.Tool, Args: b.started.Args, Ended: &end}, err == nil)
	return err
}

// Late is not recorded: the outer call's result has said that it is not known.
func (b *innerBook) Late(e tool.Ended) {
	b.book.l.log.Info("an inner call came back after it was given up", "call", b.id(), "outcome", string(e.Outcome))
}

// Record puts a process fact into the journal, in the outer call's name.
func (b *innerBook) Record(ctx context.Context, p event.Payload) error { return b.book.Record(ctx, p) }

// Adopt takes a process over from the inner call.
func (b *innerBook) Adopt(ctx context.Context, j tool.Job) (event.JobID, error) {
	j.Call = b.outer.ID
	return b.book.l.adopt(ctx, j, b.n)
}

// rooms lets inner calls of one outer call run side by side, an exclusive one
// alone, as the session does with the calls of a step.
type rooms struct {
	door  chan struct{} // who holds it is next
	seats chan struct{}
}

func newRooms(n int) rooms { return rooms{make(chan struct{}, 1), make(chan struct{}, n)} }

// enter waits for room until ctx or the turn ends. Whether the call may still
// start is looked at behind it.
func (r rooms) enter(ctx context.Context, sig interrupt.Signal, alone bool) (leave func(), err error) {
	took := 0
	leave = func() {
		for ; took > 0; took-- {
			<-r.seats
		}
	}
	take := func(c chan struct{}) bool {
		select {
		case c <- struct{}{}:
			return true
		case <-sig.Done():
		case <-ctx.Done():
		}
		return false
	}
	if !take(r.door) {
		return nil, outside(ctx)
	}
	defer func() { <-r.door }()
	want := 1
	if alone {
		want = cap(r.seats)
	}
	for took < want {
		if !take(r.seats) {
			leave()
			return nil, outside(ctx)
		}
		took++
	}
	return leave, nil
}

// outside is why there was no room: the end of ctx, or the turn's stop.
func outside(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return tool.ErrSkipped
}
