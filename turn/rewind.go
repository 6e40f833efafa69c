package turn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// Returned answers a [Rewind]: what came back to the inbox.
type Returned struct {
	From   int // first turn that is hidden now
	Turn   event.InputID
	Inputs []event.InboxAccepted // as they wait now, in order
}

// rewind hides turns, and asks the last one again if that is wanted. The
// shorter history is durable before anything is armed (INT-70).
func (s *State) rewind(in Rewind) {
	if !s.accepting(in.Token) {
		return
	}
	from, ok := s.rewindable(in)
	if !ok {
		return
	}
	kind, why := s.Turn.Kind, "rewind"
	if in.Retry {
		why = "retry"
	}
	back, first := s.returns(in, from)
	if !s.emit(event.Rewound{From: from, Why: why, By: in.By, Returns: back}, "") {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	s.dropNotices(from, in.By)
	out := Returned{From: from}
	for _, r := range back {
		if e, ok := s.Box.Get(r.ID); ok {
			out.Inputs = append(out.Inputs, e.InboxAccepted)
		}
		if !in.Retry {
			s.held[r.ID] = true
		}
	}
	s.do(Sync{})
	if in.Retry {
		out.Turn = in.ID
		if len(first) > 0 {
			out.Turn = first[0]
			s.arm(kind, "", first...)
		} else {
			s.arm(kind, in.ID)
		}
		s.retryOf = from
	}
	s.do(Reply{Token: in.Token, Value: out})
	s.wake()
}

// dropNotices drops the guard's notices that wait about turns which are hidden
// now: they would tell the model of what it has never said.
func (s *State) dropNotices(from int, by string) {
	var gone []event.InputID
	for e := range s.Box.All() {
		if n, err := strconv.Atoi(strings.TrimPrefix(string(e.ID), wakePrefix)); err == nil && e.Kind == event.TurnWake && n >= from {
			gone = append(gone, e.ID)
		}
	}
	for _, id := range gone {
		s.emit(event.InboxDropped{ID: id, Why: "rewound", By: by}, "")
		delete(s.held, id)
	}
}

// returns lists what waits again once the turns from `from` on are hidden, and
// what of it a retry begins with.
func (s *State) returns(in Rewind, from int) (back []event.Returned, first []event.InputID) {
	for _, c := range s.claimedIn(from) {
		r := event.Returned{ID: c.ID, Priority: event.PriorityNext, By: in.By}
		switch {
		case c.Steer && in.DropSteers:
			continue
		case c.Steer:
		case in.Retry:
			r.Priority, r.Options = event.PriorityLater, in.Options
			first = append(first, c.ID)
		case in.Restore && s.TurnOf[c.ID] == from:
			r.Priority = event.PriorityLater
		default:
			continue
		}
		back = append(back, r)
	}
	return back, first
}

// rewindable judges a wish to rewind and returns the first turn to hide.
func (s *State) rewindable(in Rewind) (from int, ok bool) {
	from = in.From
	if in.Retry {
		from = s.RetryPoint()
	} else if from == 0 {
		from = s.LastHideable()
	}
	switch {
	case s.phase != PhaseIdle:
		s.refuse(in.Token, event.FailUsage, "a turn is running", "interrupt it first: what a running turn writes can't be hidden under it")
	case in.Retry && from == 0:
		s.refuse(in.Token, event.FailUsage, s.noRetry(), "send a new prompt, or `rewind` to an earlier turn")
	case in.Retry && in.From != 0 && in.From != from:
		s.refuse(in.Token, event.FailUsage, fmt.Sprintf("turn %d can't be retried: the last one that can is %d", in.From, from), "rewind to it instead")
	case from < 1 || from > s.turns:
		s.refuse(in.Token, event.FailUsage, fmt.Sprintf("there is no turn %d: the session has %d", in.From, s.turns), "`ripcord sessions show` lists the turns")
	case !s.Hideable(from):
		s.refuse(in.Token, event.FailUsage, fmt.Sprintf("turn %d can't be hidden any more: it is hidden already, or a summary stands for it", from),
			"fork the session before it instead")
	default:
		return from, true
	}
	return 0, false
}

// noRetry says why there is nothing to retry.
func (s *State) noRetry() string {
	switch t := s.Turn; {
	case t == nil:
		return "there is nothing to retry: the session has no turn yet"
	case t.End != nil && !t.End.Outcome.KeepsRetryPoint():
		return fmt.Sprintf("there is nothing to retry: the last turn ended %s", t.End.Outcome)
	default:
		return "there is nothing to retry: the last turn is hidden already, or a summary stands for it"
	}
}
