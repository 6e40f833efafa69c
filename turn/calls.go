package turn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// working reports whether calls of the open step may start and ask.
func (s *State) working() bool { return s.phase == PhaseCalling || s.phase == PhaseAsking }

func (s *State) toolNames() string {
	return strings.Join(slices.Sorted(maps.Keys(s.opts.Tools)), ", ")
}

// dispatch starts every call that may start now: in request order, an
// exclusive one alone, concurrent ones side by side up to the cap. It serves
// sequential, parallel and eager dispatch alike. At a call over the budget of
// calls the turn ends, once those before it have ended.
func (s *State) dispatch() {
	busy, exclusive := 0, false
	for _, c := range s.open.Calls {
		if c.Ended == nil && s.live[c.ID] != notYet {
			busy++
			exclusive = exclusive || !s.opts.Tools[c.Name].Concurrent
		}
	}
	for i, c := range s.open.Calls {
		if c.Ended != nil || s.live[c.ID] != notYet {
			continue
		}
		if which := s.tooMany(i); which != "" {
			if busy == 0 && s.phase == PhaseCalling {
				s.cut(&How{Outcome: event.TurnBudget, Reason: which})
			}
			return
		}
		concurrent := s.opts.Tools[c.Name].Concurrent
		if exclusive || busy >= s.opts.Parallel || (busy > 0 && !concurrent) {
			return
		}
		s.live[c.ID] = judging
		busy, exclusive = busy+1, !concurrent
		s.do(Judge{c})
	}
}

// budgetCalls is the budget of tool calls, as [guard.Budget.Exceeded] calls it.
const budgetCalls = "calls"

// tooMany names the budget that the open step's call i is over, "" if none.
// Calls count in the order in which they were requested, whatever came of them.
func (s *State) tooMany(i int) string {
	before := i - len(s.open.Calls) // all of the step's are requested by now
	switch turn, session := s.budget.Calls, s.opts.Session.Calls; {
	case turn > 0 && len(s.Turn.Calls)+before >= turn:
		return budgetCalls
	case session > 0 && s.Spent.Calls+before >= session:
		return sessionBudget + budgetCalls
	}
	return ""
}

// judged takes a gate's verdict on a call that waits for it.
func (s *State) judged(in Judged) {
	c := s.open.Call(in.Call)
	if c == nil || s.live[in.Call] != judging || !s.working() {
		return
	}
	switch in.Verdict {
	case VerdictAllow:
		s.approve(c, in.By)
	case VerdictAsk:
		s.live[c.ID] = asking
		ask := event.ApprovalAsked{ID: event.ApprovalID("a_" + string(c.ID)), Tool: c.Name, Prompt: in.Prompt, Why: in.Why}
		s.emit(ask, c.ID)
		s.do(Sync{}, Question{c, ask})
	case VerdictDeny:
		s.deny(c, in.By, in.Why)
		s.progress()
	case VerdictBlock:
		s.deny(c, in.By, in.Why)
		s.cut(&How{Outcome: event.TurnBlocked, Reason: in.By})
	}
}

func (s *State) approve(c *Call, by string) {
	s.emit(event.CallApproved{By: by}, c.ID)
	s.live[c.ID] = running
	s.do(RunCall{c})
}

func (s *State) deny(c *Call, by, why string) {
	s.emit(event.CallDenied{By: by, Why: why}, c.ID)
	s.emit(event.CallEnded{Outcome: event.CallWasDenied, Success: new(bool), Error: true, Content: event.TextOf(deniedText(by, why))}, c.ID)
	delete(s.live, c.ID)
}

// decided takes a person's answer. An answer to a question that is no longer
// open is stale and changes nothing.
func (s *State) decided(in Decided) {
	c, runs := s.questioned(in.ID)
	if c == nil {
		s.refuse(in.Token, "stale", "this question is no longer open", "look at the session's state")
		return
	}
	if runs {
		s.answer(c, in)
		return
	}
	s.emit(event.ApprovalDecided{ID: in.ID, Decision: in.Decision, By: in.By, Why: in.Why}, c.ID)
	switch in.Decision {
	case event.Allow:
		s.do(Sync{}, Reply{Token: in.Token}, Show{State: "running"})
		s.approve(c, in.By)
	case event.Deny:
		s.deny(c, in.By, in.Why)
		s.do(Sync{}, Reply{Token: in.Token}, Show{State: "running"})
		s.progress()
	case event.Abort: // an interrupt, and no refusal: the closing answers the call
		s.do(Trip{interrupt.Cause{Reason: interrupt.UserSIGINT, Who: in.By, At: s.now}}, Sync{}, Reply{Token: in.Token})
	}
}

// begin records a call's start, or refuses it: the line between "never
// started" and "may have done something".
func (s *State) begin(in Begin) {
	c := s.open.Call(in.Call)
	if in.Turn != s.turn || c == nil || c.Ended != nil || s.live[in.Call] != running || !s.working() || s.broken != nil {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	if !s.emit(event.CallStarted{Behaviour: in.Behaviour, Effect: in.Effect}, c.ID) {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	s.do(Sync{}, Reply{Token: in.Token})
}

// end records a call's one end. One that names a closed turn or a call that
// has its end is refused: it can never change what comes later.
func (s *State) end(in End) {
	c := s.open.Call(in.Call)
	if in.Turn != s.turn || c == nil || c.Ended != nil {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	s.void(c, "the call ended")
	ended := s.words(c, in.Ended)
	if !s.emit(ended, c.ID) {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	delete(s.live, c.ID)
	if in.Fatal != "" && s.fatal == nil {
		s.fatal = &event.Failure{Code: event.FailTool, Message: in.Fatal}
	}
	s.do(Reply{Token: in.Token, Value: ended})
	if s.fatal == nil || s.how != nil { // else Step cuts the turn: no next step begins
		s.progress()
	}
}

// words gives an end what the model is to read of it, where that is ours to
// say.
func (s *State) words(c *Call, e event.CallEnded) event.CallEnded {
	switch e.Outcome {
	case event.CallSkipped:
		e.Success, e.Error = nil, true
		e.Content = event.TextOf(TextSkipped)
		if c.Started {
			e.Content, e.Synthetic, e.Cause = event.TextOf(TextNotDurable), true, "storage"
		}
	case event.CallStopped:
		var ran time.Duration
		if e.RanMS != nil {
			ran = time.Duration(*e.RanMS) * time.Millisecond
		}
		e.Success, e.Error = nil, true
		e.Content = withText(e.Content, stoppedText(s.cause, ran, e.Survivors, e.Content.Text(), innerText(c, nil)))
	case event.CallQuarantined:
		e.Success, e.Error = nil, true
		e.Content = withText(e.Content, TextQuarantined+innerText(c, nil))
	case event.CallFinished, event.CallFinishedLate, event.CallInvalid, event.CallFatal,
		event.CallWasDenied, event.CallUnknown:
		e.Error = e.Success == nil || !*e.Success
		if c.openInner() > 0 { // it did not wait for what it had begun
			e.Content = append(e.Content[:len(e.Content):len(e.Content)], event.Text{Text: apart(e.Content.Text(), innerText(c, nil))})
		}
	}
	return e
}

// withText replaces the words of c and keeps its other parts.
func withText(c event.Content, text string) event.Content {
	out := event.TextOf(text)
	for _, p := range c {
		if _, ok := p.(event.Text); !ok {
			out = append(out, p)
		}
	}
	return out
}

// late keeps what a quarantined call came to. It changes nothing else.
func (s *State) late(in Late) {
	if may := s.seen[in.Call]; !may {
		return
	}
	s.emitAt(event.LateResult{Ended: in.Ended}, in.Turn, in.Call)
	s.do(Sync{})
}
