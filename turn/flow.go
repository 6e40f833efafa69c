package turn

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
)

// TextContinue opens a turn without input when the context would otherwise end
// with the model's own words.
const TextContinue = "Go on from where you stopped."

// woken begins the armed turn, or looks for the next one once the last one's
// ending is durable and published.
func (s *State) woken() {
	switch {
	case s.phase == PhaseEnding && s.turn == 0:
		s.to(PhaseIdle)
		s.watch = watch{} // a session that waits holds no guards' windows
		s.after()
	case s.phase == PhaseArmed:
		s.start()
	}
}

func (s *State) start() {
	first := s.address
	if len(s.armed) > 0 {
		first = s.armed[0]
	}
	s.started = s.now
	s.emit(event.TurnStarted{Kind: s.kind, Input: first, RetryOf: s.retryOf}, "")
	if s.address != "" {
		s.TurnOf[s.address] = s.turn
	}
	s.emit(event.StepStarted{}, "")
	s.budget, s.options = s.opts.Budget, event.SubmitOptions{}
	var prompt []string
	for i, id := range s.armed {
		if e, ok := s.Box.Get(id); ok {
			if i == 0 {
				s.options = e.Options
			}
			s.budget = s.budget.Within(e.Options.MaxSteps)
			prompt = append(prompt, e.Input.Content.Text())
		}
		delete(s.held, id)
		s.emit(event.InboxClaimed{ID: id}, "")
	}
	if s.kind == event.TurnContinue && s.endsWithModel() {
		s.emit(event.UserMessage{Content: event.TextOf(TextContinue), Origin: "continue"}, "")
	}
	if s.cause != nil {
		s.cut(s.abort(*s.cause))
		return
	}
	if which := s.opts.Session.Exceeded(s.spentInAll()); which != "" {
		s.cut(&How{Outcome: event.TurnBudget, Reason: sessionBudget + which})
		return
	}
	if _, after := s.wall(); after > 0 {
		s.do(SetTimer{TimerWall, after})
	}
	if s.opts.TurnGate { // that the turn has begun is durable before a hook runs
		s.to(PhaseGating)
		s.do(Sync{}, JudgeTurn{s.turn, strings.Join(prompt, "\n\n")})
		return
	}
	s.begun()
}

// wall is the time that the turn may take as it begins, and whose bound that is:
// its own, or what is left of the session's. 0 is for ever.
func (s *State) wall() (who string, after time.Duration) {
	who, after = string(TimerWall), s.opts.Budget.Wall
	if all := s.opts.Session.Wall; all > 0 {
		if left := max(all-s.Ledger.Spent.Wall, time.Millisecond); after == 0 || left < after {
			return sessionBudget + string(TimerWall), left
		}
	}
	return who, after
}

// ofWall reports whether who is one of the two.
func ofWall(who string) bool {
	return who == string(TimerWall) || who == sessionBudget+string(TimerWall)
}

// begun sends the first request of a turn that may go on.
func (s *State) begun() {
	s.configure()
	if s.kind == event.TurnCompact {
		s.compact("command")
		return
	}
	s.request()
}

// turnJudged lets the turn go on, or ends it. A trip that came first has cut it.
func (s *State) turnJudged(in TurnJudged) {
	switch {
	case s.phase != PhaseGating || in.Turn != s.turn:
	case in.Blocked:
		s.cut(&How{Outcome: event.TurnBlocked, Reason: in.By, Error: blocked(in)})
	default:
		s.begun()
	}
}

// blocked says to people why a turn was not let go on.
func blocked(in TurnJudged) *event.Failure {
	f := &event.Failure{Code: event.FailBlocked, Message: in.By + " did not let the turn begin", Hint: "`ripcord config show --origin` says where the hook is set up"}
	if in.Why != "" {
		f.Message += ": " + in.Why
	}
	return f
}

func (s *State) endsWithModel() bool {
	n := len(s.History)
	return n > 0 && s.History[n-1].Role == event.RoleAssistant
}

// configure records the request's shape when it has changed.
func (s *State) configure() {
	if s.shape == nil {
		if r, err := event.New(s.opts.Config, s.now); err == nil {
			s.shape = r.Data
		}
	}
	if s.Config == nil || !bytes.Equal(s.shape, s.config) {
		s.emit(s.opts.Config, "")
	}
}

// request sends one attempt of the open step: the intent is durable first.
func (s *State) request() {
	if s.full() {
		s.compact("limit")
		return
	}
	s.to(PhaseAsking)
	s.tickets++
	s.attempt, s.pack = attempt{ticket: s.tickets, running: true}, pack{}
	n := s.open.Attempt + 1
	s.emit(event.ModelRequest{Attempt: n, Config: s.ConfigAt, Messages: len(s.History)}, "")
	s.do(Sync{}, Ask{Ticket: s.tickets, Turn: s.turn, Step: s.step, Attempt: n, Config: *s.Config,
		Messages: s.History[:len(s.History):len(s.History)]})
	s.watchAttempt()
}

// answered is the end of an attempt.
func (s *State) answered(in Answered) {
	if s.open == nil || in.Ticket != s.attempt.ticket || !s.attempt.running {
		return
	}
	s.attempt.running, s.watch.streams = false, nil
	s.do(StopTimer{TimerStall})
	broke := s.attempt.broke
	switch {
	case s.phase == PhaseUnwinding:
		s.settle()
	case s.phase != PhaseAsking:
	case in.Cut: // the signal tripped: its own input is on the way
	case broke.loops():
		s.do(StopTimer{TimerGrace})
		s.repeated(broke.loop)
	case broke != nil && broke.stall != nil:
		s.do(StopTimer{TimerGrace})
		s.stalled(broke.stall)
	case broke != nil: // it was whole
		s.do(StopTimer{TimerGrace})
		s.flush()
		s.message()
	case in.Failure != nil && in.Failure.Code == event.FailStall && s.opts.Guards.OnStall != guard.Off:
		at := s.cutHere("connection", 0, "") // the socket's timer ran out, not ours
		at.said = in.Failure.Message
		s.stalled(at)
	case in.Failure != nil:
		s.flush()
		s.failed(*in.Failure)
	case s.attempt.finish == "":
		s.flush()
		s.failed(event.Failure{Code: event.FailProtocol, Message: "the model's stream ended without its finish"})
	default:
		s.flush()
		s.message()
	}
}

// failed decides whether another attempt follows a failed one.
func (s *State) failed(f event.Failure) {
	n := s.open.Attempt
	tries := n + s.failures
	wait := s.opts.Backoff << min(tries-1, 20)
	wait = min(wait, s.opts.BackoffMax)
	asked := time.Duration(f.RetryAfter) * time.Millisecond
	again := f.Code.Retryable() && tries < s.opts.Attempts && asked <= s.opts.RetryAfter
	if !again {
		s.emit(event.AttemptFailed{Attempt: n, Error: f, RetryIn: -1}, "")
		s.count(false)
		if f.Code == event.FailContext && s.roomMade() {
			return
		}
		how := &How{Outcome: event.TurnFailed, Error: &f}
		if f.Code == event.FailStall { // the guard gives up
			how.Outcome, how.Reason = event.TurnStalled, "attempts"
		}
		s.cut(how)
		return
	}
	wait = max(wait, asked)
	s.emit(event.AttemptFailed{Attempt: n, Error: f, RetryIn: wait.Milliseconds()}, "")
	s.count(false)
	if len(s.open.Calls) > 0 {
		s.failures = tries
		s.brokeOff(wait)
		return
	}
	s.to(PhaseWaiting)
	s.do(SetTimer{TimerBackoff, wait}, Show{"retrying", fmt.Sprintf("in %v: %s", wait, f.Message)})
}

// roomMade asks for a summary where the provider says that the context does not
// fit: once, and not where a call of the step has started.
func (s *State) roomMade() bool {
	if s.watch.compact.tried || len(s.open.Calls) > 0 || s.kept() >= len(s.History) {
		return false
	}
	s.compact("overflow")
	return true
}

// message records a whole answer and goes on with its calls or ends the turn.
func (s *State) message() {
	answer := assemble(s.open, false)
	content, calls := answer.content(), answer.calls()
	if !speaks(content) {
		s.failed(event.Failure{Code: event.FailEmpty, Message: "the model gave an empty answer"})
		return
	}
	s.count(true)
	s.failures, s.watch.last, s.watch.compact.tried = 0, nil, false
	switch s.attempt.finish {
	case event.FinishLength:
		s.truncated = "length"
	case event.FinishFilter:
		s.truncated = "filter"
	case event.FinishStop, event.FinishTools:
	}
	s.emit(event.AssistantMessage{Attempt: s.open.Attempt, Content: content, Finish: s.attempt.finish}, "")
	for i, c := range calls {
		if s.open.Call(c.ID) == nil { // else it went ahead
			s.emit(event.CallRequested{Name: c.Name, Args: c.Args, Index: i, BadArgs: c.Bad, ProviderID: s.attempt.given[c.ID]}, c.ID)
		}
	}
	if len(calls) == 0 {
		s.emit(event.StepEnded{}, "")
		if s.truncated == "" && len(s.steers()) > 0 && s.spentUp() == "" {
			s.nextStep() // what came to steer the turn is answered in it
			return
		}
		s.finish()
		return
	}
	s.to(PhaseCalling)
	for i, c := range calls {
		if text := s.unfit(c, i == len(calls)-1); text != "" {
			s.emit(event.CallEnded{Outcome: event.CallInvalid, Success: new(bool), Error: true, Content: event.TextOf(text)}, c.ID)
		}
	}
	s.progress()
}

// unfit says why a call can't be made at all, "" if it can.
func (s *State) unfit(c asked, last bool) string {
	_, known := s.opts.Tools[c.Name]
	switch {
	case c.Bad != "" && last && s.attempt.finish == event.FinishLength:
		return "This call was cut at the output limit before its arguments were complete. Nothing of it ran. Send it again in smaller pieces."
	case c.Bad != "":
		return "The arguments of this call are not a JSON object. Nothing of it ran. Send it again with valid arguments."
	case !known:
		return fmt.Sprintf("There is no tool named %q. Use one of: %s.", c.Name, s.toolNames())
	}
	return ""
}

// progress looks at the calls after one of them moved.
func (s *State) progress() {
	switch {
	case s.phase == PhaseUnwinding:
		s.settle()
	case s.phase == PhaseAsking:
		s.dispatch()
	case s.phase != PhaseCalling:
	case !s.open.answered():
		s.dispatch()
	default:
		loop := s.circling()
		s.emit(event.StepEnded{}, "")
		if loop != nil && !s.tellOnce(loop.text(), false) {
			f := event.Failure{Code: event.FailLoop, Message: loop.text(), Hint: "`guards.calls` switches the guard or sets its numbers"}
			s.wind(&How{Outcome: event.TurnLooped, Reason: loop.Calls.Kind, Error: &f})
			return
		}
		s.nextStep()
	}
}

func (s *Step) answered() bool {
	for _, c := range s.Calls {
		if c.Ended == nil {
			return false
		}
	}
	return true
}

func (s *State) nextStep() {
	if which := s.spentUp(); which != "" {
		s.wind(&How{Outcome: event.TurnBudget, Reason: which})
		return
	}
	s.emit(event.StepStarted{}, "")
	for _, text := range s.watch.notices {
		s.emit(event.UserMessage{Content: event.TextOf(text), Origin: "guard"}, "")
	}
	s.watch.notices, s.watch.last = nil, nil
	s.drain()
	s.configure()
	s.askNext()
}

// spentUp names the first budget that leaves no room for another step, of the
// turn or of the session; "" if all have room.
func (s *State) spentUp() string {
	if which := s.budget.Exceeded(s.spent()); which != "" {
		return which
	}
	if which := s.opts.Session.Exceeded(s.spentInAll()); which != "" {
		return sessionBudget + which
	}
	return ""
}

func (s *State) spent() guard.Spent {
	t := s.Turn
	return guard.Spent{Steps: t.Step, Calls: len(t.Calls), Wall: s.now.Sub(s.started), Tokens: t.Usage.All(), Cost: t.Usage.Cost}
}

// spentInAll is what the session's turns used together, the open one included.
func (s *State) spentInAll() guard.Spent {
	l := s.Ledger
	wall := l.Spent.Wall
	if s.turn != 0 {
		wall += s.now.Sub(s.started)
	}
	steps := l.Spent.Steps
	if s.phase == PhaseArmed { // the step that is asking whether it may
		steps--
	}
	return guard.Spent{Steps: steps, Calls: l.Spent.Calls, Wall: wall, Tokens: l.Usage.All(), Cost: l.Usage.Cost}
}

// finish is the ordinary end: the step is closed and asked for no calls.
func (s *State) finish() {
	if s.truncated != "" {
		s.wind(&How{Outcome: event.TurnTruncated, Reason: s.truncated})
		return
	}
	s.wind(&How{Outcome: event.TurnCompleted})
}

// abort turns a cause into the ending of TRN-05's table.
func (s *State) abort(c interrupt.Cause) *How {
	if c.Reason == interrupt.BudgetExceeded && ofWall(c.Who) {
		return &How{Outcome: event.TurnBudget, Reason: c.Who, Marker: !s.opts.NoMarker, Text: s.opts.MarkerText, Cause: nil}
	}
	return &How{Outcome: event.TurnAborted, Cause: &c, Marker: !s.opts.NoMarker, Text: s.opts.MarkerText}
}

// tripped cuts the turn, whatever it is at. A turn whose books are closed has
// reached its end: a finished result is a fact.
func (s *State) tripped(in Tripped) {
	c := in.Cause
	if s.cause == nil {
		s.cause, s.stopAt = &c, s.Last()
	}
	wish := c.Reason != interrupt.NowPriorityInput && !s.ownStop(c) // somebody wants it to stop, and nothing to go on by itself
	if wish {
		s.stopAt = s.Last()
	}
	if in.Drop && s.broken == nil && (s.turn != 0 || s.phase == PhaseArmed) { // else the end is written, and can say nothing of it
		s.drop(c.Who, true)
	}
	if !s.ownStop(c) {
		first := s.stopped == ""
		if first {
			s.stopped = c.Reason
		}
		if first && s.phase == PhaseEnding && s.turn == 0 && s.how.wake != "" {
			s.stayAsleep() // it came as the turn ended
		}
	}
	switch s.phase {
	case PhaseEnding, PhaseUnwinding: // its end is a fact, or about to be one
		if wish {
			s.hold()
		}
	case PhaseIdle, PhaseArmed:
	case PhaseGating, PhaseAsking, PhaseWaiting, PhaseCalling, PhaseCompacting:
		s.cut(s.abort(c))
	}
}

// ownStop reports whether a stop was asked for by the machine itself.
func (s *State) ownStop(c interrupt.Cause) bool {
	return s.how != nil && c.Reason == interrupt.ParentCancelled && c.Who == s.own()
}

// cut begins the unwinding: nothing new starts, what runs settles.
func (s *State) cut(how *How) {
	s.flush()
	s.judgeCut()
	if s.how == nil {
		s.how = how
		s.holdFor(how) // what waits by now; what is accepted later runs after the turn
	}
	s.to(PhaseUnwinding)
	s.voidAll("the turn was stopped")
	s.do(StopTimer{TimerBackoff}, StopTimer{TimerWall}, StopTimer{TimerStall})
	if s.attempt.running {
		s.do(SetTimer{TimerGrace, s.opts.Grace})
	}
	switch {
	case s.cause != nil:
	case s.lost:
		s.do(Trip{*s.how.Cause})
	case s.how.Outcome == event.TurnFailed, s.how.Outcome == event.TurnBlocked, len(s.live) > 0: // what runs beside it is asked to stop
		s.do(Trip{interrupt.Cause{Reason: interrupt.ParentCancelled, Who: s.own(), At: s.now}})
	}
	s.do(Show{State: "stopping"})
	s.settle()
}

// own is the name that the machine's own trips carry: an end that is no
// person's.
func (s *State) own() string {
	if s.how == nil {
		return ""
	}
	switch s.how.Outcome {
	case event.TurnFailed:
		return "the turn failed"
	case event.TurnBlocked:
		return "the turn was blocked"
	default:
		return "the turn ended " + string(s.how.Outcome)
	}
}

// settle closes the books once nothing of the turn runs any more.
func (s *State) settle() {
	if s.attempt.running {
		return
	}
	for id, st := range s.live {
		if c := s.open.Call(id); st == running && c != nil && c.Ended == nil {
			return
		}
	}
	switch {
	case s.compactOpen():
		s.countSummary(false)
	case s.open != nil && s.open.Attempt > 0:
		s.count(false)
	}
	s.do(StopTimer{TimerGrace})
	s.wind(s.how)
}

// wind closes the books and hands over to the turn-end hooks.
func (s *State) wind(how *How) {
	if s.how == nil && how.Outcome != event.TurnCompleted && how.Outcome != event.TurnTruncated {
		s.holdFor(how)
	}
	s.how = how
	s.ending = Close(s.Ledger, nil, *how)
	s.emitAll(s.ending.Books)
	s.live = map[event.CallID]stageOf{}
	s.to(PhaseEnding)
	cut := how.Cause != nil || how.Outcome == event.TurnBudget && ofWall(how.Reason)
	end, _ := s.ending.End.Payload.(event.TurnEnded)
	s.do(StopTimer{TimerPack}, StopTimer{TimerWall}, RunHooks{s.turn, how.Outcome, end.Reason, cut})
}

// hooked writes the ending: marker, sync, retire, turn/end, sync, terminal
// event, in this order (TRN-06).
func (s *State) hooked(in Hooked) {
	if s.phase != PhaseEnding || s.turn == 0 || in.Turn != 0 && in.Turn != s.turn {
		return
	}
	if len(s.ending.Marker) > 0 {
		s.emitAll(s.ending.Marker)
		s.do(Sync{})
	}
	turn := s.turn
	s.do(Retire{turn})
	s.awake()
	s.emitAll([]Draft{s.ending.End})
	s.holdBack()
	s.do(Sync{}, Publish{s.summary()}, Wake{})
}

// storageFailed: no effect without its durable intent. The turn ends failed,
// and what can't be written is said all the same. With the journal lost to
// another writer it is aborted, and whoever holds the journal writes its end.
func (s *State) storageFailed(in StorageFailed) {
	s.broken, s.lost = &in.Failure, s.lost || in.Lost
	s.do(Show{"storage_failed", in.Failure.Message})
	how := &How{Outcome: event.TurnFailed, Error: s.broken}
	if s.lost {
		how = &How{Outcome: event.TurnAborted, Cause: &interrupt.Cause{Reason: interrupt.LeaseLost, Who: "journal", At: s.now}}
	} else {
		s.do(SetTimer{TimerStorage, time.Second})
	}
	for _, t := range in.Refused {
		if id, ok := s.refused[t]; ok {
			if e, waits := s.Box.Get(id); waits {
				s.emit(event.InboxDropped{ID: id, Why: event.DroppedRefused}, "")
				for _, old := range e.Replaces { // it stood for them: they wait again, for whoever says so
					s.held[old] = true
				}
			}
		}
	}
	s.neverRan(in.Refused)
	s.refused = map[Token]event.InputID{}
	switch s.phase {
	case PhaseIdle, PhaseUnwinding:
	case PhaseArmed:
		s.hold()
		s.do(Retire{s.turns + 1})
		s.to(PhaseIdle)
	case PhaseGating, PhaseAsking, PhaseWaiting, PhaseCalling, PhaseCompacting:
		s.cut(how)
	case PhaseEnding:
		if s.turn == 0 { // the ending is written as far as it can be: say so
			s.hold()
			s.do(Retire{s.Turn.Number}, Publish{s.unsaved()})
			s.to(PhaseIdle)
		}
	}
}
