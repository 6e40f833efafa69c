package turn

import (
	"fmt"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// eager requests the calls that may go ahead of the rest of their answer, and
// starts what may start (TOL-09). They are a prefix of the answer's calls: each
// is complete, known, may run beside others, and so is every call before it,
// whose order with it does not matter then. The index and the id are those that
// the whole message will give.
func (s *State) eager() {
	if s.opts.NoEager || s.phase != PhaseAsking || s.broken != nil || s.attempt.broke != nil {
		return
	}
	i := 0
	for _, b := range s.open.Blocks {
		if b.Kind != event.ChunkArgs {
			continue
		}
		if s.open.Call(b.Call) == nil {
			args, bad := arguments(b)
			if !b.Done || bad != "" || !s.opts.Tools[b.Name].Concurrent || !s.room() {
				break
			}
			s.emit(event.CallRequested{Name: b.Name, Args: args, Index: i, ProviderID: s.attempt.given[b.Call]}, b.Call)
		}
		i++
	}
	s.dispatch()
}

// room reports whether the budgets have room for a call more. That of
// steps was looked at when the step began.
func (s *State) room() bool {
	spent, all := s.spent(), s.spentInAll()
	spent.Steps, all.Steps = 0, 0
	return s.budget.Exceeded(spent) == "" && s.opts.Session.Exceeded(all) == ""
}

// ahead reports whether block is a call that was requested already: nothing
// that still comes for it changes what runs.
func (s *State) ahead(block int) bool {
	b := s.open.block(block)
	return b != nil && b.Call != "" && s.open.Call(b.Call) != nil
}

// brokeOff goes on from an attempt that failed behind a requested call. It is
// not asked again as if nothing had happened: what streamed up to the last
// requested call is the step's message, and the next step goes on with the
// results, not before the wait is over.
func (s *State) brokeOff(wait time.Duration) {
	answer := assemble(s.open, true)
	n := 0
	for i, p := range answer {
		if c, ok := p.Part.(event.ToolCall); ok && s.open.Call(c.ID) != nil {
			n = i + 1
		}
	}
	s.notBefore = s.now.Add(wait)
	s.emit(event.AssistantMessage{Attempt: s.open.Attempt, Content: answer[:n].content(), Partial: true}, "")
	s.to(PhaseCalling)
	s.progress()
}

// askNext sends the first request of a step, after the wait that a failure
// before it asks for.
func (s *State) askNext() {
	wait := s.notBefore.Sub(s.now)
	s.notBefore = time.Time{}
	if wait <= 0 {
		s.request()
		return
	}
	s.to(PhaseWaiting)
	s.do(SetTimer{TimerBackoff, wait}, Show{"retrying", fmt.Sprintf("in %v", wait)})
}
