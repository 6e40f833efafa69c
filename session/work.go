package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// errSilent is the cause with which an attempt is cut when nothing came.
var errSilent = errors.New("the model was silent for too long")

// forcedLadder is what a call that ends its own work may still take once every
// grace is gone: the last rung and the proof that nothing is left.
const forcedLadder = 3 * time.Second

// attempt asks the model, on a goroutine of its own. Both sources of
// cancellation are looked at once more before the first byte.
func (l *Live) attempt(e turn.Ask) {
	act := l.current()
	if act == nil || interrupt.Tripped(act.coord, act.caller) {
		l.queue = append(l.queue, turn.Answered{Ticket: e.Ticket, Cut: true})
		return
	}
	l.offs = map[int]int{}
	sig := act.coord.Signal()
	turnCtx, stop := interrupt.ContextOf(l.ctx, sig)
	ctx, sever := context.WithCancelCause(turnCtx)
	l.asking, l.sever = e.Ticket, sever
	l.work.Go(func() {
		defer stop()
		defer sever(nil)
		in := turn.Answered{Ticket: e.Ticket}
		in.Failure, in.Cut = l.listen(ctx, sig, e, func(d event.Delta) bool {
			select {
			case l.posts <- post{make: func(turn.Token) turn.Input { return turn.Streamed{Ticket: e.Ticket, Delta: d} }}:
				return true
			case <-ctx.Done():
				return false
			case <-l.gone:
				return false
			}
		})
		l.tell(in)
	})
}

// broken ends the attempt that is under way, for a guard.
func (l *Live) broken(e turn.Break) {
	if l.asking == e.Ticket && l.sever != nil {
		l.broke = e.Ticket
		l.sever(errSevered)
	}
}

// listen has each delta of the answer taken and returns how it ended. What is
// not taken ends it.
func (l *Live) listen(turnCtx context.Context, sig interrupt.Signal, e turn.Ask, take func(event.Delta) bool) (failure *event.Failure, cut bool) {
	ctx, silence := context.WithCancelCause(turnCtx)
	defer silence(nil)
	limit := l.cfg.Limits.Idle
	idle := time.AfterFunc(limit, func() { silence(errSilent) })
	defer idle.Stop()
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("model driver panicked", "turn", e.Turn, "step", e.Step, "panic", p, "stack", string(debug.Stack()))
			failure = &event.Failure{Code: event.FailInternal, Message: fmt.Sprintf("the model driver panicked: %v", p)}
		}
	}()
	req := model.Request{System: e.Config.System, Messages: e.Messages, Tools: e.Config.Tools, Params: e.Config.Params,
		Activity: func(int) { idle.Reset(limit) }}
	if l.cfg.Blobs != nil {
		req.Blob = l.cfg.Blobs.Get
	}
	for d, err := range l.cfg.Model.Stream(ctx, req) {
		if err != nil {
			return l.attemptFailure(ctx, sig, e, err)
		}
		if !take(d) {
			return nil, !errors.Is(context.Cause(ctx), errSevered)
		}
	}
	return nil, false
}

// attemptFailure maps what the driver returned: cancellation is terminal and
// never a failure of the model (TRN-19).
func (l *Live) attemptFailure(ctx context.Context, sig interrupt.Signal, e turn.Ask, err error) (*event.Failure, bool) {
	var me *model.Error
	switch {
	case sig.Cancelled() || l.ctx.Err() != nil:
		return nil, true
	case errors.Is(context.Cause(ctx), errSevered): // the machine knows why
		return nil, false
	case errors.Is(context.Cause(ctx), errSilent):
		return &event.Failure{Code: event.FailStall, Message: fmt.Sprintf("nothing came from the model for %v", l.cfg.Limits.Idle),
			Hint: "the provider may be overloaded; try again or another model"}, false
	case errors.As(err, &me):
		l.log.Warn("model", "turn", e.Turn, "step", e.Step, "attempt", e.Attempt, "error", err, "below", me.Err)
		f := me.Failure
		return &f, false
	default:
		return &event.Failure{Code: event.FailTransport, Message: err.Error()}, false
	}
}

// show sends a delta to the surfaces before it is recorded.
func (l *Live) show(s turn.Streamed) {
	st := l.state.OpenStep()
	f := LiveFrame{Turn: l.state.Turn.Number, Step: st.Number}
	switch d := s.Delta.(type) {
	case event.TextDelta:
		f.Kind, f.Block, f.Text = LiveText, d.Block, d.Text
	case event.ReasoningDelta:
		f.Kind, f.Block, f.Text = LiveReasoning, d.Block, d.Text
	case event.CallStart, event.ArgsDelta, event.CallEnd, event.UsageDelta, event.Finish:
		return
	}
	f.Off = l.offs[f.Block]
	l.offs[f.Block] += len(f.Text)
	l.hub.live(f)
}

// showArgs sends a call's start and arguments to the surfaces, under the id that
// the call now has.
func (l *Live) showArgs(s turn.Streamed) {
	f := LiveFrame{Kind: LiveTool, Turn: l.state.Turn.Number, Step: l.state.OpenStep().Number}
	switch d := s.Delta.(type) {
	case event.CallStart:
		f.Block, f.Name = d.Block, d.Name
	case event.ArgsDelta:
		f.Block, f.Text = d.Block, d.Text
	case event.TextDelta, event.ReasoningDelta, event.CallEnd, event.UsageDelta, event.Finish:
		return
	}
	f.Call = l.state.CallIn(f.Block)
	f.Off = l.offs[f.Block]
	l.offs[f.Block] += len(f.Text)
	l.hub.live(f)
}

// judge has the gate judge a call. No verdict is no permission: an error, a
// panic and an interrupted wait deny.
func (l *Live) judge(c *turn.Call) {
	act := l.current()
	spec, known := l.cfg.Tools.Spec(c.Name)
	if act == nil || !known {
		l.queue = append(l.queue, turn.Judged{Call: c.ID, By: "session", Why: "the turn is over"})
		return
	}
	call := l.callFor(c)
	act.errands.begin()
	l.work.Go(func() {
		defer act.errands.done()
		ctx, stop := interrupt.ContextOf(l.ctx, act.coord.Signal())
		defer stop()
		l.tell(l.verdict(ctx, call, spec))
	})
}

func (l *Live) verdict(ctx context.Context, call *tool.Call, spec tool.Spec) (in turn.Judged) {
	in = turn.Judged{Call: call.ID, By: "gate"}
	if l.cfg.Gate == nil {
		in.Why = "no gate is configured"
		return in
	}
	v, err := gate.Closed(l.cfg.Gate).Judge(ctx, call, spec)
	if err != nil {
		in.Why = "the gate gave no verdict: " + err.Error()
		return in
	}
	in.By, in.Why, in.Prompt = v.By, v.Why, v.Prompt
	switch {
	case v.Decision == gate.Allow:
		in.Verdict = turn.VerdictAllow
	case v.Decision == gate.Ask && l.cfg.Alone: // asked by a hook, say: no verdict is no permission
		in.Verdict, in.By, in.Why = turn.VerdictBlock, "policy:headless", "it needs approval and nobody is there to give it"
	case v.Decision == gate.Ask:
		in.Verdict = turn.VerdictAsk
	case v.Final:
		in.Verdict = turn.VerdictBlock
	default:
		in.Verdict = turn.VerdictDeny
	}
	return in
}

// callFor is the call as tools and gates see it.
func (l *Live) callFor(c *turn.Call) *tool.Call {
	call := &tool.Call{ID: c.ID, Name: c.Name, Args: c.Args, Session: l.cfg.ID, Turn: c.Turn, Step: c.Step,
		Dir: l.state.Header.Cwd, Spool: l.spool(c.ID)}
	return tool.WithOptions(call, l.optionsOf(c.Turn))
}

// optionsOf are those of the turn, while it runs.
func (l *Live) optionsOf(turn int) (o event.SubmitOptions) {
	if act := l.current(); act != nil && act.turn == turn {
		o = act.options
	}
	return o
}

// Spool is the base path of what a call leaves beside the journal of the session
// whose folder is dir; "" if it has none. A call's id may be a provider's: only
// what is safe in a file name is used as it is.
func Spool(dir string, id event.CallID) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "spool", fileName(string(id)))
}

func (l *Live) spool(id event.CallID) string { return Spool(l.cfg.Dir, id) }

// runner is a call's run, but for its books.
func (l *Live) runner(act *active, t tool.Tool, call *tool.Call) *tool.Run {
	r := &tool.Run{Tool: t, Call: call, Signal: act.coord.Signal(), Bound: l.cfg.Limits.Tool, Inline: l.cfg.Limits.Inline,
		Names: l.cfg.Tools.Names()}
	if l.cfg.Blobs != nil {
		r.Blobs = l.cfg.Blobs
	}
	spec, _ := l.cfg.Tools.Spec(call.Name)
	r.Forced = spec.Forced
	if interrupt.BehaviourOf(t).HasRegistrar() {
		if r.Forced == 0 {
			r.Forced = forcedLadder // it climbs its own ladder, whose last rung takes a moment
		}
		if reg, err := act.coord.Registrar(); err == nil {
			r.Registrar = reg
		}
	}
	return r
}

// run starts a call's runner. It journals start and end itself; what is
// quarantined lives on, named and fenced.
func (l *Live) run(c *turn.Call) {
	act := l.current()
	t, _ := l.cfg.Tools.Lookup(c.Name)
	spec, _ := l.cfg.Tools.Spec(c.Name)
	if act == nil {
		l.queue = append(l.queue, turn.End{Turn: c.Turn, Call: c.ID, Ended: event.CallEnded{Outcome: event.CallSkipped}})
		return
	}
	b := &callBook{l: l, act: act, args: c.Args, step: c.Step, turn: c.Turn, call: c.ID, name: c.Name, behaviour: interrupt.BehaviourOf(t).String(), effect: spec.Effect.String()}
	b.life, b.over = interrupt.CallContext(l.ctx)
	call := tool.WithPeople(l.callFor(c), &people{b, c.Name})
	call = tool.WithCaller(call, &caller{book: b, outer: c, act: act, rooms: newRooms(l.state.Parallel())})
	r := l.runner(act, t, call)
	r.Tripped = func() bool { return interrupt.Tripped(act.coord, act.caller) }
	r.Fence = func() error { return l.fence(act) }
	r.Book, r.Recorder, r.Jobs, r.Live = b, b, b, b
	l.work.Go(func() {
		defer b.over()
		r.Call = l.equip(r.Call)
		e, left := r.Do(l.ctx)
		if e.Stack != "" {
			l.log.Error("tool panicked", "turn", c.Turn, "tool", c.Name, "call", c.ID, "stack", e.Stack)
		}
		if left != nil {
			l.drift(c.ID, c.Name, c.Turn, left)
		}
	})
}

// equip gives a call what the rooms above offer to it.
func (l *Live) equip(call *tool.Call) (out *tool.Call) {
	if l.cfg.Equip == nil {
		return call
	}
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("equipping a call panicked", "call", call.ID, "panic", p, "stack", string(debug.Stack()))
			out = call // it goes without
		}
	}()
	return l.cfg.Equip(call)
}

// drift waits for the end of a quarantined call, which is named until then.
func (l *Live) drift(id event.CallID, name string, turn int, left <-chan struct{}) {
	l.log.Warn("call quarantined", "tool", name, "call", id, "turn", turn)
	l.adrift.Go(func() {
		<-left
		l.back(string(id))
	})
}

// name says in the status what was cut off and runs on, until it is back.
func (l *Live) name(key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stray[key] = what
}

func (l *Live) back(key string) {
	l.mu.Lock()
	_, named := l.stray[key]
	delete(l.stray, key)
	l.mu.Unlock()
	if named {
		l.hub.wakeAll()
	}
}

// watchAttempt names an attempt that did not end within its grace.
func (l *Live) watchAttempt(in turn.Input) {
	over := func(t turn.Ticket) {
		if t == l.asking {
			l.asking = 0
		}
		l.back(attemptKey(t))
	}
	switch in := in.(type) {
	case turn.Answered:
		over(in.Ticket)
	case turn.Summarized:
		over(in.Ticket)
	case turn.Fired:
		if in.Timer == turn.TimerGrace && l.asking != 0 && (l.state.Phase() == turn.PhaseUnwinding || l.broke == l.asking) {
			l.name(attemptKey(l.asking), fmt.Sprintf("the model's stream of turn %d", l.state.Turn.Number))
			l.log.Warn("the model's stream ignores its end and was cut off", "turn", l.state.Turn.Number)
		}
	}
}

func attemptKey(t turn.Ticket) string { return fmt.Sprintf("attempt %d", t) }

// fence refuses what names a closed turn.
func (l *Live) fence(act *active) error {
	if l.current() != act {
		return turn.ErrNotNow
	}
	return nil
}

// callBook is the journal as the runner of one call sees it.
type callBook struct {
	l         *Live
	act       *active
	args      json.RawMessage
	step      int
	turn      int
	call      event.CallID
	name      string // of the tool
	behaviour string
	effect    string
	life      context.Context // ends with the call: nothing starts in its name any more
	over      context.CancelFunc
}

func (b *callBook) Start(ctx context.Context) error {
	_, err := b.l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Begin{Turn: b.turn, Call: b.call, Behaviour: b.behaviour, Effect: b.effect, Token: t}
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", tool.ErrSkipped, err)
}

func (b *callBook) End(ctx context.Context, e tool.Ended) error {
	b.over() // its inner calls end with it
	fatal := ""
	if e.Outcome == event.CallFatal {
		fatal = e.Err
	}
	if e.Outcome == event.CallQuarantined { // named before anybody can read of it
		b.l.name(string(b.call), fmt.Sprintf("%s (%s) of turn %d", b.name, b.call, b.turn))
	}
	b.act.errands.begin()
	v, err := b.l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.End{Turn: b.turn, Call: b.call, Ended: ended(e), Fatal: fatal, Token: t}
	})
	end, _ := v.(event.CallEnded)
	b.told(gate.Moment{Call: b.call, Tool: b.name, Args: b.args, Ended: &end}, err == nil && end.RanMS != nil)
	return err
}

// told has the hooks hear of an end if it was recorded and the call ran. The
// errand was begun before, so that the turn's end waits for it.
func (b *callBook) told(m gate.Moment, ran bool) {
	if !ran || b.l.cfg.Hooks == nil || !b.l.cfg.Hooks.Any(gate.PostTool, m.Tool) {
		b.act.errands.done()
		return
	}
	of := b.l.moment(gate.PostTool, b.turn)
	of.Step, of.Call, of.Tool, of.Args, of.Ended = b.step, m.Call, m.Tool, m.Args, m.Ended
	b.l.afterTool(b.act, of)
}

func (b *callBook) Late(e tool.Ended) {
	b.l.tell(turn.Late{Turn: b.turn, Call: b.call, Ended: ended(e)})
}

// ended puts a runner's facts into the record's shape.
func ended(e tool.Ended) event.CallEnded {
	out := event.CallEnded{Outcome: e.Outcome, Content: e.Result.Content, ExitCode: e.Result.ExitCode, Signal: e.Result.Signal,
		TimedOut: e.Result.TimedOut, Output: e.Result.Output, Survivors: e.Result.Survivors, Diff: e.Result.Diff}
	if e.Outcome != event.CallSkipped && e.Outcome != event.CallInvalid {
		ms := e.Ran.Milliseconds()
		out.RanMS = &ms
	}
	switch e.Outcome {
	case event.CallFinished, event.CallFinishedLate:
		ok := e.Result.Success
		out.Success = &ok
	case event.CallInvalid:
		out.Success = new(bool)
	case event.CallFatal, event.CallStopped, event.CallSkipped, event.CallWasDenied, event.CallUnknown, event.CallQuarantined:
	}
	if e.Err != "" {
		out.Content = headed(e.Err, out.Content)
	}
	return out
}

// headed puts a sentence above what a tool had, as one text: whoever reads the
// text in one piece finds the two on lines of their own.
func headed(sentence string, c event.Content) event.Content {
	if len(c) > 0 {
		if t, ok := c[0].(event.Text); ok {
			return append(event.TextOf(sentence+"\n"+t.Text), c[1:]...)
		}
	}
	return append(event.TextOf(sentence), c...)
}

// Record puts a process or job fact into the journal, for the call's turn.
func (b *callBook) Record(ctx context.Context, p event.Payload) error {
	p = b.l.relative(p)
	_, err := b.l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Fact{Turn: b.turn, Call: b.call, Payload: p, Token: t}
	})
	return err
}

// Output shows a running call's output.
func (b *callBook) Output(text string) {
	b.l.hub.live(LiveFrame{Kind: LiveTool, Turn: b.turn, Call: b.call, Text: text})
}

// relative turns spool paths into paths below the session's folder, so that a
// data root can be moved.
func (l *Live) relative(p event.Payload) event.Payload {
	rel := func(path string) string {
		if r, err := filepath.Rel(l.cfg.Dir, path); err == nil && path != "" && l.cfg.Dir != "" && !strings.HasPrefix(r, "..") {
			return r
		}
		return path
	}
	switch p := p.(type) {
	case event.ProcessStarted:
		p.Spool = rel(p.Spool)
		return p
	case event.JobStarted:
		p.Spool = rel(p.Spool)
		return p
	}
	return p
}
