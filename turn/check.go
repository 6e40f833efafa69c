package turn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ripcord-go/ripcord/event"
)

// Checker is the one judge of a journal's order (LOG-04). The writer refuses a
// record that it refuses, the reader reports it. It reads the scope table of
// package event and keeps only what the rules need. The zero value stands
// before the first record.
type Checker struct {
	next  event.Seq
	batch int64
	epoch event.Epoch

	turns   int // last turn that started
	turn    int // open turn, 0 if none
	steps   int // last step of the open turn
	step    int // open step, 0 if none
	attempt int // last attempt of the open step
	message bool
	calls   map[event.CallID]*stage // of the open step
	seen    map[event.CallID]bool   // every call of the session; true: may still report late
	asked   map[event.ApprovalID]event.CallID
	jobs    map[event.JobID]bool
	inbox   map[event.InputID]inboxStage
	keys    map[string]event.InputID          // idempotency keys that were accepted
	stood   map[event.InputID][]event.InputID // for those that a waiting input replaced
	compact bool
	summed  bool // the summary of the open compaction stands
	repair  bool
}

type stage struct {
	approved, denied, started, ended bool
	inner                            []bool // by number: whether it has its end
}

type inboxStage int

const (
	inboxUnknown inboxStage = iota
	inboxWaiting
	inboxTaken
	inboxGone
	inboxReplaced // gone; the record that says so is to come
)

// Check returns a checker that stands before the first record.
func Check() *Checker { return &Checker{} }

// OpenTurn returns the number of the open turn, 0 if none.
func (c *Checker) OpenTurn() int { return c.turn }

// compactOpen reports whether a compaction is under way.
func (c *Checker) compactOpen() bool { return c.compact }

// InRepair reports whether a group of closers is open.
func (c *Checker) InRepair() bool { return c.repair }

// Next judges the next record. After an error the checker stands where it
// stood.
func (c *Checker) Next(r *event.Record) error {
	if err := c.scoped(r); err != nil {
		return c.fail(r, err)
	}
	p, err := r.Body()
	if err != nil {
		return c.fail(r, err)
	}
	if err := c.rules(r, p); err != nil {
		return c.fail(r, err)
	}
	c.next, c.batch, c.epoch = r.Seq+1, r.Batch, r.Epoch
	return nil
}

func (c *Checker) fail(r *event.Record, err error) error {
	return fmt.Errorf("record %d (%s): %w", r.Seq, r.Type, err)
}

// scoped judges the envelope: position, epoch, and scope by the table.
func (c *Checker) scoped(r *event.Record) error {
	switch {
	case r.Seq != c.next:
		return fmt.Errorf("seq %d expected", c.next)
	case r.Epoch < c.epoch:
		return fmt.Errorf("epoch %d after %d", r.Epoch, c.epoch)
	case r.Batch < c.batch:
		return fmt.Errorf("batch %d after %d", r.Batch, c.batch)
	case r.Seq == 0 && r.Type != event.TypeSessionOpened:
		return fmt.Errorf("a journal begins with %s", event.TypeSessionOpened)
	}
	k, known := event.KindOf(r.Type)
	if !known || r.Type == event.TypeTurnStarted || r.Type == event.TypeStepStarted {
		return nil // a type we do not know, and the two that open a scope
	}
	switch k.Scope {
	case event.ScopeSession:
	case event.ScopeTurn:
		if c.turn == 0 || r.Turn != c.turn {
			return fmt.Errorf("names turn %d, open is %d", r.Turn, c.turn)
		}
	case event.ScopeStep:
		if c.turn == 0 || c.step == 0 || r.Turn != c.turn || r.Step != c.step {
			return fmt.Errorf("names turn %d step %d, open are %d and %d", r.Turn, r.Step, c.turn, c.step)
		}
	}
	return nil
}

func (c *Checker) rules(r *event.Record, p event.Payload) error {
	switch p := p.(type) {
	case event.SessionOpened:
		if r.Seq != 0 {
			return fmt.Errorf("only a journal's first record opens it")
		}
	case event.TurnStarted, event.TurnEnded, event.StepStarted, event.StepEnded:
		return c.bracket(r, p)
	case event.InboxAccepted, event.InboxClaimed, event.InboxEdited, event.InboxDropped:
		return c.input(p)
	case event.Rewound:
		if c.turn != 0 || p.From < 1 || p.From > c.turns {
			return fmt.Errorf("turns from %d on are hidden, last was %d, open is %d", p.From, c.turns, c.turn)
		}
		return c.returned(p.Returns)
	case event.ModelRequest, event.Chunk, event.AssistantMessage, event.AttemptFailed:
		return c.model(p)
	case event.CallRequested, event.CallApproved, event.CallDenied, event.CallStarted,
		event.CallOutput, event.CallEnded, event.LateResult, event.InnerStarted, event.InnerEnded:
		return c.call(r, p)
	case event.ApprovalAsked, event.ApprovalDecided, event.ApprovalVoided:
		return c.approval(r, p)
	case event.JobStarted, event.JobEnded, event.JobAdopted, event.JobKept:
		return c.job(p)
	case event.CompactionStarted, event.CompactionSummary, event.CompactionEnded:
		return c.compaction(p)
	case event.RepairBegun:
		return c.set(&c.repair, true, "a repair is open already")
	case event.RepairCommitted:
		return c.set(&c.repair, false, "no repair is open")
	case event.SessionForked, event.LeaseTaken, event.UserMessage, event.ModelConfig, event.UsageCounted,
		event.HookInvoked, event.HookVerdict, event.ProcessStarted, event.ProcessEnded, event.ProcessSurvived,
		event.TurnMarked, event.GuardVerdict, event.GuardWake, event.SubAgentLinked,
		event.TornSaved, event.Unknown:
	}
	return nil
}

func (c *Checker) set(flag *bool, to bool, otherwise string) error {
	if *flag == to {
		return fmt.Errorf("%s", otherwise)
	}
	*flag = to
	return nil
}

// bracket judges what opens and closes turns and steps.
func (c *Checker) bracket(r *event.Record, p event.Payload) error {
	switch p.(type) {
	case event.TurnStarted:
		if c.turn != 0 || r.Turn != c.turns+1 {
			return fmt.Errorf("turn %d starts, last was %d, open is %d", r.Turn, c.turns, c.turn)
		}
		c.turn, c.turns, c.steps = r.Turn, r.Turn, 0
	case event.TurnEnded:
		if c.step != 0 {
			return fmt.Errorf("turn %d ends over open step %d", r.Turn, c.step)
		}
		c.turn = 0
	case event.StepStarted:
		if c.turn == 0 || r.Turn != c.turn || c.step != 0 || r.Step != c.steps+1 {
			return fmt.Errorf("step %d of turn %d starts, last was %d of turn %d, open is %d", r.Step, r.Turn, c.steps, c.turn, c.step)
		}
		c.step, c.steps, c.attempt, c.message, c.calls = r.Step, r.Step, 0, false, map[event.CallID]*stage{}
	case event.StepEnded:
		for id, s := range c.calls {
			if !s.ended {
				return fmt.Errorf("step %d ends over unanswered call %s", r.Step, id)
			}
		}
		if len(c.asked) > 0 {
			return fmt.Errorf("step %d ends over an open approval", r.Step)
		}
		c.step, c.calls = 0, nil
	}
	return nil
}

func (c *Checker) input(p event.Payload) error {
	if c.inbox == nil {
		c.inbox = map[event.InputID]inboxStage{}
	}
	want := func(id event.InputID, is, to inboxStage) error {
		if c.inbox[id] != is {
			return fmt.Errorf("input %s is not in the state that this needs", id)
		}
		c.inbox[id] = to
		return nil
	}
	switch p := p.(type) {
	case event.InboxAccepted:
		return c.accepted(p)
	case event.InboxClaimed:
		delete(c.stood, p.ID)
		return want(p.ID, inboxWaiting, inboxTaken)
	case event.InboxDropped:
		if p.Why == event.DroppedReplaced && c.inbox[p.ID] == inboxReplaced {
			return want(p.ID, inboxReplaced, inboxGone)
		}
		if err := want(p.ID, inboxWaiting, inboxGone); err != nil {
			return err
		}
		if p.Why == event.DroppedRefused {
			maps.DeleteFunc(c.keys, func(_ string, id event.InputID) bool { return id == p.ID })
			for _, id := range c.stood[p.ID] {
				c.inbox[id] = inboxWaiting
			}
		}
		delete(c.stood, p.ID)
	case event.InboxEdited:
		return want(p.ID, inboxWaiting, inboxWaiting)
	}
	return nil
}

// accepted judges a new input, and that what it replaces waits.
func (c *Checker) accepted(p event.InboxAccepted) error {
	switch {
	case c.keys[p.Key] != "":
		return fmt.Errorf("idempotency key %q was accepted before", p.Key)
	case c.inbox[p.ID] != inboxUnknown:
		return fmt.Errorf("input %s is not in the state that this needs", p.ID)
	}
	for i, id := range p.Replaces {
		if c.inbox[id] != inboxWaiting || slices.Contains(p.Replaces[:i], id) {
			return fmt.Errorf("input %s replaces %s, which does not wait", p.ID, id)
		}
	}
	c.inbox[p.ID] = inboxWaiting
	for _, id := range p.Replaces {
		c.inbox[id] = inboxReplaced
	}
	if len(p.Replaces) > 0 {
		if c.stood == nil {
			c.stood = map[event.InputID][]event.InputID{}
		}
		c.stood[p.ID] = p.Replaces
	}
	if p.Key != "" {
		if c.keys == nil {
			c.keys = map[string]event.InputID{}
		}
		c.keys[p.Key] = p.ID
	}
	return nil
}

// returned judges what comes back to the inbox: it was in a turn.
func (c *Checker) returned(back []event.Returned) error {
	for i, r := range back {
		if c.inbox[r.ID] != inboxTaken || slices.ContainsFunc(back[:i], func(b event.Returned) bool { return b.ID == r.ID }) {
			return fmt.Errorf("input %s is not in the state that this needs: it is returned, and is in no turn", r.ID)
		}
	}
	for _, r := range back {
		c.inbox[r.ID] = inboxWaiting
	}
	return nil
}

func (c *Checker) model(p event.Payload) error {
	want := c.attempt
	var got int
	switch p := p.(type) {
	case event.ModelRequest:
		want, got = c.attempt+1, p.Attempt
	case event.Chunk:
		got = p.Attempt
	case event.AttemptFailed:
		got = p.Attempt
	case event.AssistantMessage:
		if got = p.Attempt; c.message {
			return fmt.Errorf("the step has its message already")
		}
	}
	if got != want {
		return fmt.Errorf("names attempt %d, expected %d", got, want)
	}
	switch p := p.(type) {
	case event.ModelRequest:
		if c.message || len(c.calls) > 0 {
			return fmt.Errorf("a request after the step's message, or after a call of it")
		}
		c.attempt = got
	case event.AssistantMessage:
		return c.lists(p)
	}
	return nil
}

// lists judges the message of a step: calls that went ahead of it are in it.
func (c *Checker) lists(p event.AssistantMessage) error {
	listed := map[event.CallID]bool{}
	for _, call := range p.Content.Calls() {
		listed[call.ID] = true
	}
	for id := range c.calls {
		if !listed[id] {
			return fmt.Errorf("the message does not list call %s, which was requested before it", id)
		}
	}
	c.message = true
	return nil
}

func (c *Checker) call(r *event.Record, p event.Payload) error {
	if late, ok := p.(event.LateResult); ok {
		return c.late(r, late)
	}
	if p, ok := p.(event.CallRequested); ok {
		return c.requested(r.Call, p)
	}
	s := c.calls[r.Call]
	if s == nil {
		return fmt.Errorf("call %q was not requested in this step", r.Call)
	}
	if s.ended {
		return fmt.Errorf("call %s has its end already", r.Call)
	}
	switch p := p.(type) {
	case event.CallApproved:
		return pass(!s.approved && !s.denied && !s.started, &s.approved, "approved")
	case event.CallDenied:
		return pass(!s.approved && !s.denied && !s.started, &s.denied, "denied")
	case event.CallStarted:
		return pass(s.approved && !s.started, &s.started, "started")
	case event.CallOutput:
		return pass(s.started, new(bool), "output")
	case event.InnerStarted, event.InnerEnded:
		return s.within(p)
	case event.CallEnded:
		if err := endFits(s, p); err != nil {
			return err
		}
		for id, call := range c.asked {
			if call == r.Call && s.started {
				return fmt.Errorf("call %s ends over its open question %s", r.Call, id)
			}
		}
		s.ended = true
		c.seen[r.Call] = p.Outcome == event.CallQuarantined
	}
	return nil
}

// requested judges a call that the model asks for. It may stand before the
// message that will list it.
func (c *Checker) requested(id event.CallID, p event.CallRequested) error {
	_, dup := c.seen[id]
	switch {
	case dup || id == "":
		return fmt.Errorf("call id %q is empty or taken", id)
	case p.Index != len(c.calls):
		return fmt.Errorf("call %s has index %d, expected %d", id, p.Index, len(c.calls))
	}
	if c.seen == nil {
		c.seen = map[event.CallID]bool{}
	}
	c.seen[id], c.calls[id] = false, &stage{}
	return nil
}

// within judges what a running call did in its own name.
func (s *stage) within(p event.Payload) error {
	if !s.started {
		return fmt.Errorf("an inner call of a call that has not started")
	}
	switch p := p.(type) {
	case event.InnerStarted:
		if p.N != len(s.inner)+1 {
			return fmt.Errorf("inner call %d starts, expected %d", p.N, len(s.inner)+1)
		}
		s.inner = append(s.inner, false)
	case event.InnerEnded:
		if p.N < 1 || p.N > len(s.inner) || s.inner[p.N-1] {
			return fmt.Errorf("inner call %d has not started, or has its end already", p.N)
		}
		s.inner[p.N-1] = true
	}
	return nil
}

func pass(ok bool, flag *bool, what string) error {
	if !ok {
		return fmt.Errorf("the call can't be %s now", what)
	}
	*flag = true
	return nil
}

// endFits says whether an outcome is possible for a call that came so far. A
// start whose record could not be made durable never led to an effect: its
// call may still be skipped.
func endFits(s *stage, p event.CallEnded) error {
	ok := true
	switch p.Outcome {
	case event.CallFinished, event.CallFinishedLate, event.CallStopped, event.CallUnknown, event.CallQuarantined:
		ok = s.started
	case event.CallWasDenied:
		ok = s.denied && !s.started
	case event.CallSkipped:
		ok = !s.started || p.Synthetic
	case event.CallInvalid, event.CallFatal:
	default:
		return fmt.Errorf("outcome %q is not known", p.Outcome)
	}
	if !ok {
		return fmt.Errorf("a call that came so far can't end %s", p.Outcome)
	}
	return nil
}

func (c *Checker) late(r *event.Record, _ event.LateResult) error {
	if may, known := c.seen[r.Call]; !known || !may {
		return fmt.Errorf("late result names call %q, which is not quarantined", r.Call)
	}
	c.seen[r.Call] = false
	return nil
}

func (c *Checker) approval(r *event.Record, p event.Payload) error {
	switch p := p.(type) {
	case event.ApprovalAsked:
		s := c.calls[r.Call]
		if s == nil || s.ended || s.denied || (s.approved && !s.started) {
			return fmt.Errorf("approval for call %q, which can't be asked about", r.Call)
		}
		if _, open := c.asked[p.ID]; open {
			return fmt.Errorf("approval %s is open already", p.ID)
		}
		if c.asked == nil {
			c.asked = map[event.ApprovalID]event.CallID{}
		}
		c.asked[p.ID] = r.Call
	case event.ApprovalDecided:
		return c.answer(p.ID)
	case event.ApprovalVoided:
		return c.answer(p.ID)
	}
	return nil
}

func (c *Checker) answer(id event.ApprovalID) error {
	if _, open := c.asked[id]; !open {
		return fmt.Errorf("approval %s is not open", id)
	}
	delete(c.asked, id)
	return nil
}

func (c *Checker) job(p event.Payload) error {
	switch p := p.(type) {
	case event.JobStarted:
		if c.jobs[p.ID] {
			return fmt.Errorf("job %s runs already", p.ID)
		}
		if c.jobs == nil {
			c.jobs = map[event.JobID]bool{}
		}
		c.jobs[p.ID] = true
	case event.JobEnded:
		if !c.jobs[p.ID] {
			return fmt.Errorf("job %s does not run", p.ID)
		}
		delete(c.jobs, p.ID)
	case event.JobAdopted:
		if !c.jobs[p.ID] {
			return fmt.Errorf("job %s does not run", p.ID)
		}
	case event.JobKept:
		if !c.jobs[p.ID] {
			return fmt.Errorf("job %s does not run", p.ID)
		}
	}
	return nil
}

func (c *Checker) compaction(p event.Payload) error {
	switch p := p.(type) {
	case event.CompactionStarted:
		return c.set(&c.compact, true, "a compaction is open already")
	case event.CompactionEnded:
		if p.Installed != c.summed {
			return fmt.Errorf("a compaction ends with installed %v, and its summary stands: %v", p.Installed, c.summed)
		}
		if err := c.set(&c.compact, false, "no compaction is open"); err != nil {
			return err
		}
		c.summed = false
	case event.CompactionSummary:
		if !c.compact || c.summed {
			return fmt.Errorf("a summary outside of a compaction, or its second one")
		}
		c.summed = true
	}
	return nil
}
