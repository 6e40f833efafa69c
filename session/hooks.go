package session

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// reportBound is for hooks whose own time limit does not end them.
const reportBound = 10 * time.Minute

// errands counts what was begun for a turn and is waited for before its end is
// recorded.
type errands struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed at the next zero; nil if nobody waits
}

func (e *errands) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
}

func (e *errands) done() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n--; e.n == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// wait returns once nothing is under way.
func (e *errands) wait() {
	e.mu.Lock()
	if e.n == 0 {
		e.mu.Unlock()
		return
	}
	if e.idle == nil {
		e.idle = make(chan struct{})
	}
	idle := e.idle
	e.mu.Unlock()
	<-idle
}

// note records what hooks came to, before whoever waits for them goes on. A
// turn that is over takes no record any more.
func (l *Live) note(ctx context.Context, m gate.Moment, ran []gate.Ran) {
	books, stop := interrupt.CallContext(ctx) // an interrupt does not undo that they ran
	defer stop()
	for _, r := range ran {
		for _, p := range []event.Payload{event.HookInvoked{Hook: r.Hook, On: string(m.Point)},
			event.HookVerdict{Hook: r.Hook, On: string(m.Point), Verdict: r.Verdict, Why: r.Why}} {
			_, err := l.ask(books, func(t turn.Token) turn.Input {
				return turn.Fact{Turn: m.Turn, Call: m.Call, Payload: p, Token: t}
			})
			if err != nil {
				l.log.Warn("a hook is not recorded", "hook", r.Hook, "on", string(m.Point), "verdict", r.Verdict, "error", err)
				return
			}
		}
	}
}

// process records what a hook starts and ends. It is the session's fact: a hook
// that was cut may end behind its turn.
func (l *Live) process(ctx context.Context, p event.Payload) error {
	books, stop := interrupt.CallContext(ctx)
	defer stop()
	_, err := l.ask(books, func(t turn.Token) turn.Input { return turn.Fact{Payload: p, Token: t} })
	return err
}

// moment fills in what all moments of the session have in common.
func (l *Live) moment(p gate.Point, turn int) gate.Moment {
	return gate.Moment{Point: p, Session: l.cfg.ID, Dir: l.state.Header.Cwd, Turn: turn, Options: l.optionsOf(turn)}
}

// report runs the hooks of a report point to their end, here. No interrupt
// reaches them, and no caller's end.
func (l *Live) report(m gate.Moment) {
	if l.cfg.Hooks == nil || !l.cfg.Hooks.Any(m.Point, m.Tool) {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("hooks panicked", "on", string(m.Point), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	ctx, stop := interrupt.Report(l.ctx, reportBound)
	defer stop()
	l.note(ctx, m, l.cfg.Hooks.Report(ctx, m))
}

// afterTool tells the hooks of a call's recorded end, beside the turn, as the
// errand that was begun before the end was recorded.
func (l *Live) afterTool(act *active, m gate.Moment) {
	l.work.Go(func() {
		defer act.errands.done()
		l.report(m)
	})
}

// turnGate is the turn-start hooks as a gate, so that they fail closed as every
// gate does.
type turnGate struct {
	l *Live
	m gate.Moment
}

// Judge implements [gate.Gate].
func (g turnGate) Judge(ctx context.Context, _ *tool.Call, _ tool.Spec) (gate.Verdict, error) {
	v, ran := g.l.cfg.Hooks.Judge(ctx, g.m)
	g.l.note(ctx, g.m, ran)
	return v, nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Reporting begins a report of what happens beside the session's calls, such as
// in a sub-agent, and returns what runs its hooks to their end, which is to be
// called once, on a goroutine of the caller's. If m names the turn that runs, the
// turn's end waits for them; the session's does in any case. m's session and
// workspace are filled in; a turn that is over, and its call, are left out.
func (l *Live) Reporting(m gate.Moment) (run func()) {
	if l.cfg.Hooks == nil || !l.cfg.Hooks.Any(m.Point, m.Tool) {
		return func() {}
	}
	of := l.moment(m.Point, m.Turn)
	m.Session, m.Dir, m.Options = of.Session, of.Dir, of.Options
	act := l.current()
	if act != nil && act.turn != m.Turn {
		act = nil
	}
	if act == nil {
		m.Turn, m.Step, m.Call = 0, 0, ""
	} else {
		act.errands.begin()
	}
	l.own.begin()
	return func() {
		defer l.own.done()
		if act != nil {
			defer act.errands.done()
		}
		l.report(m)
	}
}

// judgeTurn has the turn-start hooks say whether the turn goes on, once those of
// the session's start have ended: a stop waits for neither. Nobody can be asked
// about a turn: "ask" is no permission.
func (l *Live) judgeTurn(e turn.JudgeTurn) {
	act, judges := l.current(), l.cfg.Hooks.Any(gate.TurnStart, "")
	if act == nil || !judges && closed(l.greeted) {
		l.queue = append(l.queue, turn.TurnJudged{Turn: e.Turn})
		return
	}
	m := l.moment(gate.TurnStart, e.Turn)
	m.Step, m.Prompt = 1, e.Prompt
	act.errands.begin()
	l.work.Go(func() {
		defer act.errands.done()
		ctx, stop := interrupt.ContextOf(l.ctx, act.coord.Signal())
		defer stop()
		select { // the session has begun for its hooks before its first turn has
		case <-l.greeted:
		case <-ctx.Done():
		}
		if !judges {
			l.tell(turn.TurnJudged{Turn: e.Turn})
			return
		}
		v, _ := gate.Closed(turnGate{l, m}).Judge(ctx, nil, tool.Spec{}) // a closed gate has no error
		l.tell(turn.TurnJudged{Turn: e.Turn, Blocked: v.Decision != gate.Allow, By: v.By, Why: v.Why})
	})
}

// runHooks runs the reports of the turn's end: those of its calls first, then
// that it was cut, then that it stops.
func (l *Live) runHooks(e turn.RunHooks) {
	act := l.current()
	if l.cfg.Hooks == nil || act == nil {
		l.queue = append(l.queue, turn.Hooked{Turn: e.Turn})
		return
	}
	m := l.moment(gate.TurnStop, e.Turn)
	m.Outcome, m.Reason = e.Outcome, e.Reason
	l.work.Go(func() {
		act.errands.wait()
		if e.Cut {
			cut := m
			cut.Point = gate.Interrupted
			l.report(cut)
		}
		l.report(m)
		l.tell(turn.Hooked{Turn: e.Turn})
	})
}

// began tells the hooks that the session is here; farewell that it goes, once.
func (l *Live) began(how string) {
	defer close(l.greeted)
	m := l.moment(gate.SessionStart, 0)
	m.Reason = how
	l.report(m)
}

// farewell waits until ctx ends; the hooks themselves run to their end.
func (l *Live) farewell(ctx context.Context, why interrupt.Reason) error {
	l.parting.Do(func() {
		l.work.Go(func() {
			defer close(l.parted)
			<-l.greeted
			l.own.wait()
			m := l.moment(gate.SessionEnd, 0)
			m.Reason = string(why)
			l.report(m)
		})
	})
	select {
	case <-l.parted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
