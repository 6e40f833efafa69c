package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Where says what becomes of an accepted input.
type Where string

const (
	Running      Where = "running"      // a turn of its own begins
	Steering     Where = "steering"     // it enters the running turn at the end of its step
	Interrupting Where = "interrupting" // the running turn is stopped for it
	Queued       Where = "queued"       // it waits for its turn
	Known        Where = "known"        // its key was accepted before
)

// Taken answers a [Submit].
type Taken struct {
	ID    event.InputID
	Where Where
	Open  int // the turn that was open when it was accepted, 0 if none was or it is Known
}

func (s *State) submit(in Submit) {
	a, open := in.Accepted, s.turn
	if id, known := s.Box.ByKey(a.Key); known {
		s.do(Reply{Token: in.Token, Value: Taken{ID: id, Where: Known}})
		return
	}
	if !s.accepting(in.Token) || !s.carries(a, in.Token) || !s.stillWait(in.Replaces, in.Token) {
		return
	}
	for _, id := range in.Replaces {
		if !slices.Contains(a.Replaces, id) {
			a.Replaces = append(a.Replaces[:len(a.Replaces):len(a.Replaces)], id)
		}
	}
	if s.inbox[a.ID] != inboxUnknown || !s.emit(a, "") {
		s.refuse(in.Token, event.FailUsage, "the input was not accepted: its id is taken", "submit it under a new id")
		return
	}
	s.replaced(a)
	s.do(Sync{})
	s.refused = map[Token]event.InputID{in.Token: a.ID}
	where := s.where(a.Priority)
	switch where {
	case Running:
		s.arm(event.TurnInput, "", a.ID)
	case Interrupting: // the entry stays: the trip stops the turn, the next one takes it (INT-25)
		s.do(Trip{interrupt.Cause{Reason: interrupt.NowPriorityInput, Who: a.By, At: s.now}})
	case Steering, Queued, Known:
	}
	s.do(Reply{Token: in.Token, Value: Taken{a.ID, where, open}})
	s.wake()
}

// carries refuses a picture or file that would steer: what enters a running
// turn is text (TRN-18).
func (s *State) carries(a event.InboxAccepted, t Token) bool {
	if s.phase == PhaseIdle || a.Priority != event.PriorityNext {
		return true
	}
	for _, p := range a.Input.Content {
		if _, ok := p.(event.Text); !ok {
			s.refuse(t, event.FailUnsupported, "a running turn can be steered with text alone, not with pictures or files",
				"send it for the next turn, or as now, which stops this one first")
			return false
		}
	}
	return true
}

// stillWait refuses an input whose words stand for one that a turn has taken
// meanwhile: they would be said twice.
func (s *State) stillWait(ids []event.InputID, t Token) bool {
	for _, id := range ids {
		if !s.waits(id) {
			s.refuse(t, "stale", fmt.Sprintf("input %s, which this one stands for, does not wait any more: a turn has taken it, or it was taken back", id),
				"look at the session's inbox, then send what is left to say")
			return false
		}
	}
	return true
}

func (s *State) where(p event.Priority) Where {
	switch s.phase {
	case PhaseIdle:
		return Running
	case PhaseArmed, PhaseGating, PhaseAsking, PhaseWaiting, PhaseCalling, PhaseCompacting:
		switch {
		case p == event.PriorityNow && s.cause == nil:
			return Interrupting
		case p == event.PriorityNext && s.kind != event.TurnCompact:
			return Steering
		}
	case PhaseUnwinding, PhaseEnding:
	}
	return Queued
}

// replaced accounts for each input whose words are in one that was just
// accepted: the record that accepted it has taken them out.
func (s *State) replaced(a event.InboxAccepted) {
	for _, id := range a.Replaces {
		s.emit(event.InboxDropped{ID: id, Why: event.DroppedReplaced, By: a.By}, "")
		delete(s.held, id)
	}
}

// waits reports whether id waits and is no turn's yet.
func (s *State) waits(id event.InputID) bool {
	_, waits := s.Box.Get(id)
	return waits && !(s.phase == PhaseArmed && slices.Contains(s.armed, id))
}

// remove drops one input that waits and is no turn's yet.
func (s *State) remove(in Remove) {
	if s.broken != nil && !s.accepting(in.Token) {
		return
	}
	if !s.waits(in.ID) || !s.emit(event.InboxDropped{ID: in.ID, Why: "removed", By: in.By}, "") {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	delete(s.held, in.ID)
	s.do(Sync{}, Reply{Token: in.Token})
}

// clear drops what waits. Nothing is dropped while it could not be written: it
// would be gone from here and, after a crash, there again.
func (s *State) clear(in Clear) {
	if s.broken == nil || s.accepting(in.Token) {
		s.do(Reply{Token: in.Token, Value: s.drop(in.By, in.Stop)})
	}
}

// drop takes what waits out of the inbox and returns the texts. What belongs to
// a stop spares what was accepted after it.
func (s *State) drop(by string, ofStop bool) (texts []string) {
	stopping := ofStop && s.phase != PhaseIdle && s.cause != nil
	for _, e := range s.Box.Waiting() {
		switch {
		case s.phase == PhaseArmed && slices.Contains(s.armed, e.ID):
			continue // it is the turn's own
		case stopping && e.Seq > s.stopAt:
			continue // accepted after the stop that this belongs to
		}
		if s.emit(event.InboxDropped{ID: e.ID, Why: "canceled", By: by}, "") {
			texts = append(texts, e.Input.Content.Text())
			delete(s.held, e.ID)
		}
	}
	if len(texts) > 0 {
		s.do(Sync{})
	}
	s.dropped = append(s.dropped, texts...)
	return texts
}

// edit gives a waiting input other words. One that is a turn's keeps those it
// was claimed with.
func (s *State) edit(in Edit) {
	e, _ := s.Box.Get(in.ID)
	switch {
	case !s.accepting(in.Token):
		return
	case !s.waits(in.ID):
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	e.Input = in.Input
	if !s.carries(e.InboxAccepted, in.Token) {
		return
	}
	if !s.emit(event.InboxEdited{ID: in.ID, Input: in.Input, By: in.By}, "") {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	s.do(Sync{}, Reply{Token: in.Token})
}

// steers returns what waits to enter the running turn, in order.
func (s *State) steers() (ids []event.InputID) {
	for e := range s.Box.All() {
		if e.Priority == event.PriorityLater {
			break
		}
		if e.Priority == event.PriorityNext && !s.held[e.ID] {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// drain lets it enter: one batch, behind the step's results and before the next
// request (TRN-15).
func (s *State) drain() {
	ids := s.steers()
	for _, id := range ids {
		s.emit(event.InboxClaimed{ID: id, Steer: true}, "")
	}
	if len(ids) > 0 {
		s.do(Join{s.turn, ids})
	}
}

// hold sets aside what waits: it runs when somebody says so.
func (s *State) hold() {
	for e := range s.Box.All() {
		s.held[e.ID] = true
	}
}

// holdFor sets aside what waits behind a turn that ended so. What a turn made
// way for runs next; a text that was to steer a turn which had no step left for
// it becomes the next turn, unless the session's own budget is spent: that one
// would end as it begins; a wake goes on with the work, so that nothing is set
// aside for it.
func (s *State) holdFor(how *How) {
	switch {
	case how.Cause != nil && how.Cause.Reason == interrupt.NowPriorityInput, how.wake != "":
	case how.Outcome == event.TurnBudget && how.Cause == nil && !ofSession(how.Reason):
		for e := range s.Box.All() {
			if e.Priority == event.PriorityLater {
				s.held[e.ID] = true
			}
		}
	default:
		s.hold()
	}
}

// ofSession reports whether a budget that ended a turn is the session's: no
// turn begins before it is raised.
func ofSession(reason string) bool { return strings.HasPrefix(reason, sessionBudget) }

const sessionBudget = "session_"
