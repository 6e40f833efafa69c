package session

import (
	"context"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// drive is the session's one goroutine.
func (l *Live) drive() {
	defer close(l.gone)
	defer l.abandon()
	l.keepSnapshot()
	for {
		in, ok := l.next()
		if !ok {
			return
		}
		l.step(in)
	}
}

// next returns what happened next. A trip comes before everything else, what
// the machine asked to hear back from comes before what others post.
func (l *Live) next() (turn.Input, bool) {
	if in, ok := l.trip(); ok {
		return in, true
	}
	if len(l.queue) > 0 {
		in := l.queue[0]
		l.queue = l.queue[1:]
		return in, true
	}
	var tripped <-chan struct{}
	if act := l.current(); act != nil && act != l.told {
		tripped = act.coord.Signal().Done()
	}
	select {
	case <-tripped:
		in, _ := l.trip()
		return in, true
	case p := <-l.posts:
		in := l.open(p)
		if first, ok := l.trip(); ok { // it came while both were there to be taken
			l.queue = append([]turn.Input{in}, l.queue...)
			return first, true
		}
		return in, true
	case <-l.quit:
		select { // what was posted before is still taken
		case p := <-l.posts:
			return l.open(p), true
		default:
			return nil, false
		}
	}
}

// trip returns the active turn's trip once.
func (l *Live) trip() (turn.Input, bool) {
	act := l.current()
	if act == nil {
		return nil, false
	}
	if act == l.told {
		l.mu.Lock()
		defer l.mu.Unlock()
		in, ok := act.heard()
		return in, ok
	}
	if act.caller != nil {
		interrupt.Tripped(act.coord, act.caller)
	}
	cause, ok := act.coord.Cause()
	if !ok {
		return nil, false
	}
	l.told = act
	l.log.Info(cause.Reason.String(), "turn", act.turn, "who", cause.Who)
	if cause.Reason == interrupt.LeaseLost || cause.Reason == interrupt.HolderLost {
		l.book.lose() // whoever holds the session now writes this turn's end
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return act.tripped(cause), true
}

func (l *Live) open(p post) turn.Input {
	if p.answer == nil {
		return p.make(0)
	}
	l.token++
	l.tokens[l.token] = p.answer
	return p.make(l.token)
}

func (l *Live) reply(t turn.Token, a answer) {
	if ch, ok := l.tokens[t]; ok {
		delete(l.tokens, t)
		ch <- a
	}
}

// abandon answers whoever still waits when the driver ends.
func (l *Live) abandon() {
	for t := range l.tokens {
		l.reply(t, answer{err: ErrClosed})
	}
	for _, t := range l.timers {
		t.Stop()
	}
	l.hub.close()
}

// step tells the machine and performs what it answers.
func (l *Live) step(in turn.Input) {
	if f, ok := in.(turn.Fired); ok && f.Timer == turn.TimerStorage {
		in = l.retryStorage()
	}
	if s, ok := in.(turn.Streamed); ok && l.state.Hears(s.Ticket) {
		l.show(s)
	}
	l.watchAttempt(in)
	before := l.state.Phase()
	effects := l.state.Step(time.Now(), in)
	if s, ok := in.(turn.Streamed); ok && l.state.Hears(s.Ticket) {
		l.showArgs(s)
	}
	l.perform(effects)
	l.refresh(before)
	if before != turn.PhaseIdle && l.state.Phase() == turn.PhaseIdle {
		l.keepSnapshot()
	}
}

// retryStorage looks whether the disk takes again what it refused.
func (l *Live) retryStorage() turn.Input {
	if f := l.book.sync(l.ctx); f != nil {
		if !l.book.lost {
			l.setTimer(turn.TimerStorage, l.cfg.Limits.StoreWait)
		}
		return turn.Fired{Timer: turn.TimerStorage}
	}
	l.log.Info("storage works again")
	return turn.StorageWorks{}
}

// perform does the effects in order. Behind a checkpoint that failed nothing
// happens any more but what the records and their readers need; the machine is
// told what was left undone.
func (l *Live) perform(effects []turn.Effect) {
	var failed *event.Failure
	var refused []turn.Token
	var undone []turn.Input
	for _, e := range effects {
		switch e := e.(type) {
		case turn.Sync:
			if failed == nil {
				failed = l.book.sync(l.ctx)
			}
		case turn.Append:
			if f := l.record(e.Records); failed == nil {
				failed = f
			}
		case turn.Reply:
			if failed != nil && e.Err == nil {
				refused = append(refused, e.Token)
				e.Err, e.Value = &turn.RefusedError{Failure: *failed}, nil
			}
			l.mu.Lock() // who is answered may look at once
			l.showInbox(false)
			l.mu.Unlock()
			l.showRecords()
			l.reply(e.Token, answer{e.Value, e.Err})
		default:
			if failed != nil {
				undone = append(undone, l.withhold(e)...)
			} else {
				l.do(e)
			}
		}
	}
	if failed != nil {
		l.log.Error("storage failed", "error", failed.Message)
		l.queue = append(append([]turn.Input{turn.StorageFailed{Failure: *failed, Refused: refused, Lost: l.book.lost}}, undone...), l.queue...)
	}
	l.showRecords()
}

// showRecords gives followers what was recorded since they were given the last.
func (l *Live) showRecords() {
	if !l.book.clean() {
		return
	}
	l.hub.push(l.book.shown()...)
	// Who waits for an input that was dropped is told once that is durable, and
	// not at all where it waits again because what stood for it was refused.
	for _, id := range l.dropped {
		if _, waits := l.state.Box.Get(id); !waits {
			l.release(id, outcome{err: ErrDropped})
		}
	}
	l.dropped = nil
}

// withhold does what must be done of e although its checkpoint failed, and
// returns what the machine has to hear about the rest.
func (l *Live) withhold(e turn.Effect) []turn.Input {
	switch e := e.(type) {
	case turn.Retire, turn.SetTimer, turn.StopTimer, turn.Show, turn.Break, turn.Join:
		l.do(e)
	case turn.Trip:
		if e.Cause.Reason != interrupt.NowPriorityInput { // that input is not accepted: nothing is stopped for it
			l.do(e)
		}
	case turn.Ask:
		return []turn.Input{turn.Answered{Ticket: e.Ticket, Cut: true}}
	case turn.AskSummary:
		return []turn.Input{turn.Summarized{Ticket: e.Ticket, Cut: true}}
	case turn.RunCall:
		return []turn.Input{turn.End{Turn: e.Call.Turn, Call: e.Call.ID, Ended: event.CallEnded{Outcome: event.CallSkipped}}}
	case turn.RunHooks: // they tell of an end; it is one, written or not
		l.do(e)
	case turn.Arm, turn.Judge, turn.JudgeTurn, turn.Question, turn.Publish, turn.Wake, turn.Append, turn.Sync, turn.Reply:
	}
	return nil
}

func (l *Live) do(e turn.Effect) {
	switch e := e.(type) {
	case turn.Arm:
		l.arm(e)
	case turn.Join:
		l.join(e)
	case turn.Retire:
		l.retire(e.Turn)
	case turn.Ask:
		l.attempt(e)
	case turn.AskSummary:
		l.summarize(e)
	case turn.Break:
		l.broken(e)
	case turn.Judge:
		l.judge(e.Call)
	case turn.RunCall:
		l.run(e.Call)
	case turn.Question:
		l.hub.live(LiveFrame{Kind: LiveState, Turn: e.Call.Turn, Call: e.Call.ID, State: "waiting", Text: e.Asked.Prompt})
	case turn.SetTimer:
		l.setTimer(e.Timer, e.After)
	case turn.StopTimer:
		if t := l.timers[e.Timer]; t != nil {
			t.Stop()
			delete(l.timers, e.Timer)
		}
	case turn.JudgeTurn:
		l.judgeTurn(e)
	case turn.RunHooks:
		l.runHooks(e)
	case turn.Publish:
		l.publish(e.Summary)
	case turn.Trip:
		if act := l.current(); act != nil {
			l.mu.Lock()
			act.own = true // before the request: who comes behind it is heard, see said
			l.mu.Unlock()
			_, _ = act.coord.Request(e.Cause) // the machine gives requestable reasons only
		}
	case turn.Wake:
		l.queue = append(l.queue, turn.Woken{})
	case turn.Show:
		f := LiveFrame{Kind: LiveState, State: e.State, Text: e.Text}
		if l.state.Turn != nil {
			f.Turn = l.state.Turn.Number
		}
		if e.State == "bug" {
			l.log.Error("internal error", "error", e.Text)
		}
		l.hub.live(f)
	case turn.Append, turn.Sync, turn.Reply: // performed in perform
	}
}

// record writes records and remembers which inputs can be waited for, and which
// were dropped. It returns why the turn cannot go on.
func (l *Live) record(recs []event.Record) *event.Failure {
	failed := l.book.append(l.ctx, recs)
	for i := range recs {
		switch p, _ := recs[i].Body(); p := p.(type) { // our own: it decodes
		case event.InboxAccepted:
			l.expect(p.ID)
		case event.Rewound:
			for _, r := range p.Returns {
				l.expect(r.ID)
			}
		case event.InboxDropped:
			l.dropped = append(l.dropped, p.ID)
		}
	}
	return failed
}

func (l *Live) arm(e turn.Arm) {
	coord := interrupt.New(interrupt.Options{Fault: func(err error) { l.log.Error("interrupt", "error", err) }})
	act := &active{turn: e.Turn, inputs: e.Inputs, coord: coord}
	if len(e.Inputs) > 0 {
		first, _ := l.state.Box.Get(e.Inputs[0]) // it waits still; a turn of no input has no options
		act.options = first.Options
	}
	l.expect(e.Inputs...)
	l.mu.Lock()
	for _, id := range e.Inputs {
		if c := l.callers[id]; c != nil {
			act.caller = c
			delete(l.callers, id)
		}
	}
	l.active = act
	l.mu.Unlock()
	if act.caller != nil {
		act.unbind = context.AfterFunc(act.caller, func() { interrupt.Tripped(coord, act.caller) })
	}
	l.hub.live(LiveFrame{Kind: LiveState, Turn: e.Turn, State: "running"})
}

// retire closes the turn's coordinator under the mutex that guards finding it:
// from here on nothing can stop that turn. A stop that was asked for before is
// told, also where the turn has reached its end meanwhile.
func (l *Live) retire(n int) {
	l.mu.Lock()
	act := l.active
	var word turn.Tripped
	var said bool
	if act != nil && act.turn == n {
		l.active = nil
		act.coord.Close()
		word, said = act.heard()
	}
	l.mu.Unlock()
	if act != nil && act.unbind != nil {
		act.unbind()
	}
	if act == nil || act.turn != n {
		return
	}
	if cause, ok := act.coord.Cause(); ok && act != l.told {
		l.told = act
		l.queue = append(l.queue, act.tripped(cause))
	}
	if said {
		l.queue = append(l.queue, word)
	}
}

func (l *Live) setTimer(name turn.Timer, after time.Duration) {
	if t := l.timers[name]; t != nil {
		t.Stop()
	}
	if name == turn.TimerStorage {
		after = l.cfg.Limits.StoreWait
	}
	l.timing++
	set := timer{number: l.timing}
	set.Timer = time.AfterFunc(after, func() {
		select {
		case l.posts <- post{make: func(turn.Token) turn.Input { return l.fired(name, set.number) }}:
		case <-l.gone:
		}
	})
	l.timers[name] = &set
}

// timer is a timer of the machine's, told from those that had its name before.
type timer struct {
	*time.Timer
	number uint64
}

// fired is what a timer says when the driver gets to it. One that was stopped or
// set anew meanwhile says nothing: it belongs to what is over, such as the turn
// before this one.
func (l *Live) fired(name turn.Timer, number uint64) turn.Input {
	if t := l.timers[name]; t != nil && t.number == number {
		delete(l.timers, name)
		return turn.Fired{Timer: name}
	}
	return turn.Fired{}
}

func (l *Live) publish(sum turn.Summary) {
	l.hub.push(l.book.shown()...)
	l.mu.Lock()
	l.status.Last = &sum
	l.status.Running, l.status.Stopping = false, false
	l.status.Retryable = l.state.RetryPoint() != 0
	l.status.Storage = l.storage() // who hears of the end may look at once
	l.mu.Unlock()
	l.hub.live(LiveFrame{Kind: LiveState, Turn: sum.Turn, State: "ended", Summary: &sum})
	for _, id := range sum.Inputs {
		l.release(id, outcome{sum: sum})
	}
}

// storage says that the disk refuses what is written, "" if it does not.
func (l *Live) storage() string {
	if f := l.state.Broken(); f != nil {
		return "storage failed: " + f.Message
	}
	return ""
}

// refresh renews the status after a step.
func (l *Live) refresh(before turn.Phase) {
	s := l.state
	var qs []Question
	if st := s.OpenStep(); st != nil && (s.Phase() == turn.PhaseCalling || s.Phase() == turn.PhaseAsking) {
		for _, c := range st.Calls {
			if c.Approval != "" {
				qs = append(qs, Question{c.ID, event.ApprovalAsked{ID: c.Approval, Tool: c.Name, Prompt: c.Prompt}})
			}
			for _, q := range c.Questions {
				qs = append(qs, Question{c.ID, q})
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Running = s.Busy()
	l.status.Stopping = s.Stopping()
	l.status.Approvals = qs
	l.status.Seq = s.Last()
	l.showInbox(before != s.Phase())
	l.status.Storage = l.storage()
	l.status.Retryable = !s.Busy() && s.RetryPoint() != 0
	if s.Turn != nil {
		l.status.Turn = s.Turn.Number
	}
	if before != s.Phase() && s.Phase() == turn.PhaseIdle {
		l.hub.wakeAll()
	}
}

// showInbox renews what is shown of the inbox if it has changed, or may have; mu
// is held.
func (l *Live) showInbox(anyway bool) {
	s := l.state
	n := s.Box.Changes()
	if n == l.shownAt && !anyway {
		return
	}
	l.shownAt = n
	l.waiting, l.heldIDs = s.Waits()
	l.status.Held = s.Held()
}
