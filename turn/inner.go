package turn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// ErrVoided is the answer to a running call's question that was withdrawn
// before a person answered: it is no refusal (TOL-27).
var ErrVoided = errors.New("the question was withdrawn before an answer came")

// asker is who waits for a person.
type asker struct {
	token Token
	ref   uint64
}

// runs returns the call id if it runs and may do something new in its turn's
// name: it has started, has no end, and the turn goes on.
func (s *State) runs(turn int, id event.CallID) *Call {
	c := s.open.Call(id)
	if turn != s.turn || c == nil || !c.Started || c.Ended != nil || !s.working() || s.broken != nil {
		return nil
	}
	return c
}

// beginInner records an inner call's start, or refuses it: the same line as
// for an outer call.
func (s *State) beginInner(in BeginInner) {
	c := s.runs(in.Turn, in.Call)
	if c == nil {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	in.Started.N = len(c.Inner) + 1
	if !s.emit(in.Started, c.ID) {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	s.inner = begunInner{in.Token, c.ID, in.Started.N, in.Started.Tool}
	s.do(Sync{}, Reply{Token: in.Token, Value: in.Started.N})
}

// begunInner is the inner call that began last: its start may not be durable yet.
type begunInner struct {
	token Token
	call  event.CallID
	n     int
	tool  string
}

// neverRan ends an inner call whose start was refused: what may not be durable
// is not run.
func (s *State) neverRan(refused []Token) {
	b := s.inner
	if b.n > 0 && slices.Contains(refused, b.token) {
		s.emit(event.InnerEnded{N: b.n, Tool: b.tool, Ended: event.CallEnded{Outcome: event.CallSkipped, Error: true,
			Synthetic: true, Cause: "storage", Content: event.TextOf(TextNotDurable)}}, b.call)
	}
	s.inner = begunInner{}
}

// endInner records an inner call's one end. It is taken while its outer call
// has none, also when the turn is being cut: a finished result is a fact.
func (s *State) endInner(in EndInner) {
	c := s.open.Call(in.Call)
	n := in.Ended.N
	if in.Turn != s.turn || c == nil || c.Ended != nil || n < 1 || n > len(c.Inner) || c.Inner[n-1].Ended != nil ||
		!s.emit(in.Ended, c.ID) {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	if in.Fatal != "" && s.fatal == nil {
		s.fatal = &event.Failure{Code: event.FailTool, Message: in.Fatal}
	}
	s.do(Reply{Token: in.Token})
}

// veto ends the turn: an inner call was refused where nobody can be asked.
func (s *State) veto(in Veto) {
	if s.runs(in.Turn, in.Call) != nil {
		s.cut(&How{Outcome: event.TurnBlocked, Reason: in.By})
	}
}

// askPeople puts a running call's question. It is durable before it is shown;
// whoever asked waits for a person, without a timer.
func (s *State) askPeople(in AskPeople) {
	c := s.runs(in.Turn, in.Call)
	if c == nil {
		s.do(Reply{Token: in.Token, Err: ErrVoided})
		return
	}
	in.Asked.ID = event.ApprovalID(fmt.Sprintf("a_%s.q%d", c.ID, c.asks+1))
	if !s.emit(in.Asked, c.ID) {
		s.do(Reply{Token: in.Token, Err: ErrVoided})
		return
	}
	s.waiting[in.Asked.ID] = asker{in.Token, in.Ref}
	s.do(Sync{}, Question{c, in.Asked})
}

// takeBack withdraws one question whose asker waits no longer.
func (s *State) takeBack(in TakeBack) {
	for id, a := range s.waiting {
		if a.ref != in.Ref || in.Ref == 0 {
			continue
		}
		if c, _ := s.questioned(id); c != nil {
			s.emit(event.ApprovalVoided{ID: id, Why: in.Why}, c.ID)
			s.do(Show{State: "running"})
		}
		s.told(id, nil, ErrVoided)
		return
	}
}

// told answers the running call that waits for id.
func (s *State) told(id event.ApprovalID, v any, err error) {
	a, ok := s.waiting[id]
	if !ok {
		return
	}
	delete(s.waiting, id)
	s.do(Reply{Token: a.token, Value: v, Err: err})
}

// void withdraws what a running call asked and nobody answered.
func (s *State) void(c *Call, why string) {
	for _, q := range c.Questions {
		s.emit(event.ApprovalVoided{ID: q.ID, Why: why}, c.ID)
		s.told(q.ID, nil, ErrVoided)
	}
}

// voidAll does so for every call of the open step: the turn was cut.
func (s *State) voidAll(why string) {
	if s.open == nil {
		return
	}
	for _, c := range s.open.Calls {
		s.void(c, why)
	}
}

// questioned returns the call whose question id is open, and whether the call asks
// while it runs.
func (s *State) questioned(id event.ApprovalID) (c *Call, runs bool) {
	if s.open == nil || id == "" || !s.working() {
		return nil, false
	}
	for _, c := range s.open.Calls {
		if c.Approval == id {
			return c, false
		}
		for _, q := range c.Questions {
			if q.ID == id {
				return c, true
			}
		}
	}
	return nil, false
}

// answer takes a person's answer to a running call's question. "Abort" answers
// nothing: it stops the turn, and the call hears that its question is void.
func (s *State) answer(c *Call, in Decided) {
	d := event.ApprovalDecided{ID: in.ID, Decision: in.Decision, By: in.By, Why: in.Why}
	s.emit(d, c.ID)
	if in.Decision == event.Abort {
		s.do(Trip{interrupt.Cause{Reason: interrupt.UserSIGINT, Who: in.By, At: s.now}}, Sync{}, Reply{Token: in.Token})
		s.told(in.ID, nil, ErrVoided)
		return
	}
	s.do(Sync{}, Reply{Token: in.Token}, Show{State: "running"})
	s.told(in.ID, d, nil)
}
