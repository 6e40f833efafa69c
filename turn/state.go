package turn

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/inbox"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Phase is where a session stands. It changes in [State.to] alone.
//
//	idle ──Submit, Go, Rewind, Compact──▶ armed ──Woken──▶ gating
//	 ▲ ▲                                  │   │              │ hooks let it
//	 │ └── the disk fails ────────────────┘   ▼              ▼
//	 │                                      ( the next request ) ◀─────────────┐
//	 │                                         │           │                   │
//	 │                    the context is full, │           │ there is room     │ next step
//	 │                 or is to be summarized  ▼           ▼                   │
//	 │                                   compacting ───▶ asking ◀──▶ waiting   │
//	 │                                         │         │  │  a failure ▲     │
//	 │                        the turn was for │         │  │ calls      │     │
//	 │                            this alone   │         │  └─▶ calling ─┴─────┤
//	 │                                         ▼         ▼       │             │
//	 │        no calls, a budget, a loop:    ending ◀────┴───────┘             │
//	 │                                       │ ▲                               │
//	 └────── terminal event ─────────────────┘ │                               │
//	                                           │                               │
//	  armed, gating, asking, waiting,          │ settled, books closed         │
//	  calling, compacting ──── cut ───▶ unwinding                              │
//	                                                                           │
//	  asking ── an answer without calls, and a text that steers it came ───────┘
//
// A turn is cut by a trip, a failure, a block, a stall, a loop or the disk. An
// attempt that fails because the context is too long goes from asking to
// compacting. A guard ends an attempt within asking: its one answer follows.
// Calls may start while the phase is asking, see [State.eager].
type Phase int

const (
	PhaseIdle       Phase = iota // no turn
	PhaseArmed                   // a turn can be stopped and has not begun
	PhaseGating                  // it has begun; hooks say whether it goes on
	PhaseAsking                  // an attempt is under way
	PhaseWaiting                 // between two attempts
	PhaseCalling                 // calls are judged and run
	PhaseCompacting              // a summary is made of what stands before
	PhaseUnwinding               // the turn was cut; what runs settles
	PhaseEnding                  // books are closed; hooks run, then turn/end
)

func (p Phase) String() string {
	return [...]string{"idle", "armed", "gating", "asking", "waiting", "calling", "compacting", "unwinding", "ending"}[p]
}

var arrows = map[Phase][]Phase{
	PhaseIdle:       {PhaseArmed},
	PhaseArmed:      {PhaseGating, PhaseAsking, PhaseCompacting, PhaseUnwinding, PhaseIdle},
	PhaseGating:     {PhaseAsking, PhaseCompacting, PhaseUnwinding},
	PhaseAsking:     {PhaseAsking, PhaseWaiting, PhaseCalling, PhaseCompacting, PhaseUnwinding, PhaseEnding},
	PhaseWaiting:    {PhaseAsking, PhaseCompacting, PhaseUnwinding},
	PhaseCalling:    {PhaseAsking, PhaseWaiting, PhaseCompacting, PhaseUnwinding, PhaseEnding},
	PhaseCompacting: {PhaseAsking, PhaseUnwinding, PhaseEnding},
	PhaseUnwinding:  {PhaseEnding},
	PhaseEnding:     {PhaseIdle},
}

// State is one session's state machine: the ledger of what is recorded, and
// what is under way. [State.Step] is the only function that changes it. It does
// no input or output and reads no clock, so that a run of it can be repeated
// from its inputs.
type State struct {
	*Ledger
	opts       Options
	shape      []byte // of opts.Config, as a record holds it; made when it is first needed
	writeEpoch event.Epoch

	phase   Phase
	how     *How // why the open turn is being closed; nil while it goes on
	ending  Closing
	armed   []event.InputID // what the armed turn will claim
	kind    event.TurnKind
	retryOf int           // the hidden turn that the armed one repeats
	address event.InputID // of a turn without input
	cause   *interrupt.Cause
	stopped interrupt.Reason // of a trip that is not the machine's own; empty: none
	stopAt  event.Seq        // last record when cause came
	started time.Time
	options event.SubmitOptions // of the open turn's first input: what goes on with its work has them, too
	budget  guard.Budget        // of the turn: the session's, or less where its input says so

	attempt   attempt
	tickets   Ticket // given out so far
	pack      pack
	live      map[event.CallID]stageOf
	fatal     *event.Failure
	failures  int       // attempts of earlier steps that failed, with no whole answer since
	notBefore time.Time // of the next step's first request
	truncated string    // why the answer was cut, sticky over later steps
	watch     watch     // what the guards know of the turn
	ratio     float64   // tokens a byte of a request, as last counted; 0: unknown

	held    map[event.InputID]bool // waiting input that no turn takes by itself
	dropped []string               // thrown away unrun while the turn ran
	refused map[Token]event.InputID
	inner   begunInner
	waiting map[event.ApprovalID]asker // running calls that wait for a person
	broken  *event.Failure
	lost    bool // broken for good: another process writes the journal
	closed  bool

	now time.Time
	out []Effect
}

// attempt is the model attempt under way.
type attempt struct {
	ticket  Ticket
	running bool
	broke   *breakage // why we end it
	asked   int       // bytes of its request
	bytes   int       // streamed so far
	block   int       // that the last piece was of
	changes int       // from one block to another
	finish  event.FinishReason
	tokens  event.Tokens
	counted bool
	given   map[event.CallID]string // ids that the provider gave, where ours are others
}

// stageOf is what is under way for a call that has not ended.
type stageOf int

const (
	notYet stageOf = iota
	judging
	asking
	running
)

// NewState returns the machine of a session whose journal folded to l. Records
// are written under epoch. What waits in the inbox is held: nothing restarts by
// itself.
func NewState(l *Ledger, epoch event.Epoch, opts Options) *State {
	s := &State{Ledger: l, opts: opts.withDefaults(), writeEpoch: epoch,
		live: map[event.CallID]stageOf{}, held: map[event.InputID]bool{}, refused: map[Token]event.InputID{},
		waiting: map[event.ApprovalID]asker{}}
	s.hold()
	return s
}

// Phase returns where the session stands.
func (s *State) Phase() Phase { return s.phase }

// Parallel returns how many calls may run side by side.
func (s *State) Parallel() int { return s.opts.Parallel }

// Broken returns why the session refuses turns, nil if it does not.
func (s *State) Broken() *event.Failure { return s.broken }

// Hears reports whether deltas of the attempt t are still taken.
func (s *State) Hears(t Ticket) bool {
	return s.phase == PhaseAsking && s.attempt.running && s.attempt.broke == nil && t == s.attempt.ticket
}

// Busy reports whether a turn is under way: one whose end was published is not.
func (s *State) Busy() bool {
	return s.phase != PhaseIdle && (s.phase != PhaseEnding || s.turn != 0)
}

// Stopping reports whether the open turn is being closed before its own end.
func (s *State) Stopping() bool { return s.how != nil && s.Busy() }

// Step tells the machine what happened at now and returns what is to be done,
// in order.
func (s *State) Step(now time.Time, in Input) []Effect {
	s.now, s.out = now, nil
	switch in := in.(type) {
	case Submit, Go, Clear, Remove, Edit, Rewind, Compact:
		s.wished(in)
	case Summarized:
		s.summarized(in)
	case Woken:
		s.woken()
	case Tripped:
		s.tripped(in)
	case Streamed:
		s.streamed(in)
	case Answered:
		s.answered(in)
	case Judged:
		s.judged(in)
	case Decided:
		s.decided(in)
	case Begin:
		s.begin(in)
	case End:
		s.end(in)
	case BeginInner:
		s.beginInner(in)
	case EndInner:
		s.endInner(in)
	case Veto:
		s.veto(in)
	case AskPeople:
		s.askPeople(in)
	case TakeBack:
		s.takeBack(in)
	case Late:
		s.late(in)
	case Fact:
		s.fact(in)
	case Fired:
		s.fired(in.Timer)
	case TurnJudged:
		s.turnJudged(in)
	case Hooked:
		s.hooked(in)
	case StorageFailed:
		s.storageFailed(in)
	case StorageWorks:
		s.broken = nil
		s.do(Show{State: "storage_ok"})
		if s.phase == PhaseIdle { // what waits behind a turn that ended well, and could not begin
			s.after()
		}
	case CloseSession:
		s.closed = true
		s.do(Reply{Token: in.Token})
	}
	if s.fatal != nil && s.how == nil {
		switch s.phase {
		case PhaseGating, PhaseAsking, PhaseWaiting, PhaseCalling, PhaseCompacting:
			s.cut(&How{Outcome: event.TurnFailed, Error: s.fatal})
		case PhaseIdle, PhaseArmed, PhaseUnwinding, PhaseEnding:
		}
	}
	out := s.out
	s.out = nil
	return out
}

// wished does what people ask of the session beside its turn.
func (s *State) wished(in Input) {
	switch in := in.(type) {
	case Submit:
		s.submit(in)
	case Go:
		s.goOn(in)
	case Clear:
		s.clear(in)
	case Remove:
		s.remove(in)
	case Edit:
		s.edit(in)
	case Rewind:
		s.rewind(in)
	case Compact:
		s.compactNow(in)
	}
}

func (s *State) do(e ...Effect) { s.out = append(s.out, e...) }

// to changes the phase; a change that is no arrow of the picture is a bug and
// panics with its name.
func (s *State) to(p Phase) {
	for _, ok := range arrows[s.phase] {
		if ok == p {
			s.phase = p
			return
		}
	}
	panic(fmt.Sprintf("turn: no arrow leads from %v to %v", s.phase, p))
}

// emit records a fact: it is folded at once and written by the next effect. A
// fact that the order forbids is a bug of ours: it is not recorded, and the
// turn fails.
func (s *State) emit(p event.Payload, call event.CallID) bool {
	r, err := event.New(p, s.now)
	if err != nil {
		s.bug(err)
		return false
	}
	r.Call = call
	s.place(&r)
	return s.write(r)
}

// emitAt is emit for a fact about a closed turn.
func (s *State) emitAt(p event.Payload, turn int, call event.CallID) {
	r, err := event.New(p, s.now)
	if err != nil {
		s.bug(err)
		return
	}
	r.Turn, r.Call = turn, call
	s.write(r)
}

// write numbers r, folds it and hands it to the next Append.
func (s *State) write(r event.Record) bool {
	r.Seq, r.Epoch, r.Batch = s.next, s.writeEpoch, s.batch
	if err := s.Apply(&r); err != nil {
		s.bug(err)
		return false
	}
	if n := len(s.out); n > 0 {
		if a, ok := s.out[n-1].(Append); ok {
			s.out[n-1] = Append{append(a.Records, r)}
			return true
		}
	}
	s.do(Append{[]event.Record{r}})
	return true
}

// place fills in turn and step by the scope of r's type.
func (s *State) place(r *event.Record) {
	switch r.Type {
	case event.TypeTurnStarted:
		r.Turn = s.turns + 1
		return
	case event.TypeStepStarted:
		r.Turn, r.Step = s.turn, s.steps+1
		return
	}
	k, _ := event.KindOf(r.Type)
	switch k.Scope {
	case event.ScopeStep:
		r.Turn, r.Step = s.turn, s.step
	case event.ScopeTurn:
		r.Turn = s.turn
	case event.ScopeSession:
		switch {
		case r.Call != "":
			r.Turn, r.Step = s.turn, s.step
		case r.Type == event.TypeUsageCounted, r.Type == event.TypeGuardVerdict,
			r.Type == event.TypeCompactionStarted, r.Type == event.TypeCompactionSummary, r.Type == event.TypeCompactionEnded:
			r.Turn, r.Step = s.turn, s.step
		}
	}
}

// emitAll records drafts whose place was worked out by [Close].
func (s *State) emitAll(ds []Draft) {
	for _, d := range ds {
		s.emit(d.Payload, d.Call)
	}
}

func (s *State) bug(err error) {
	f := &event.Failure{Code: event.FailInternal, Message: "internal error: " + err.Error(), Hint: "please report it with `ripcord log show`"}
	if s.how == nil && s.turn != 0 {
		s.fatal = f
	}
	s.do(Show{"bug", err.Error()})
}

// ErrNotNow is returned to a runner or caller whose turn is over, was cut, or
// never was.
var ErrNotNow = errors.New("the turn is over or was stopped")

// RefusedError says why input was not taken.
type RefusedError struct{ Failure event.Failure }

func (e *RefusedError) Error() string { return e.Failure.Error() }

func (s *State) refuse(t Token, code event.FailureCode, msg, hint string) {
	s.do(Reply{Token: t, Err: &RefusedError{event.Failure{Code: code, Message: msg, Hint: hint}}})
}

// accepting refuses what can't be taken now; it reports whether it can.
func (s *State) accepting(t Token) bool {
	switch {
	case s.closed:
		s.refuse(t, event.FailUsage, "the session is closing", "open it again")
	case s.lost:
		s.do(Reply{Token: t, Err: &RefusedError{*s.broken}})
	case s.broken != nil:
		s.refuse(t, event.FailStorage, "storage failed: "+s.broken.Message, "make room or mend the disk; the session goes on by itself once it can write")
	default:
		return true
	}
	return false
}

// arm makes the next turn stoppable before whoever asked for it is answered.
func (s *State) arm(kind event.TurnKind, address event.InputID, inputs ...event.InputID) {
	s.to(PhaseArmed)
	s.kind, s.address, s.armed = kind, address, inputs
	s.how, s.cause, s.fatal, s.truncated, s.dropped = nil, nil, nil, "", nil
	s.failures, s.notBefore, s.retryOf, s.stopped = 0, time.Time{}, 0, ""
	s.watch = newWatch(s.opts)
	named := inputs
	if address != "" {
		named = append(named[:len(named):len(named)], address)
	}
	s.do(Arm{Turn: s.turns + 1, Inputs: named})
}

func (s *State) wake() {
	if s.phase == PhaseArmed {
		s.do(Wake{})
	}
}

func (s *State) goOn(in Go) {
	switch {
	case !s.accepting(in.Token):
		return
	case s.phase != PhaseIdle:
		s.refuse(in.Token, event.FailUsage, "a turn is running", "interrupt it first, or wait for its end")
		return
	case (in.Held || in.First) && s.Box.Len() == 0:
		s.refuse(in.Token, event.FailUsage, "nothing is held", "send a prompt")
		return
	case in.First:
		e := s.Box.Waiting()[0]
		s.arm(kindOf(e), "", e.ID)
		s.do(Reply{Token: in.Token, Value: e.ID})
		s.wake()
		return
	case !in.Held && len(s.History) == 0:
		s.refuse(in.Token, event.FailUsage, "there is nothing to continue: the session has no turn yet", "send it a prompt")
		return
	}
	kind, ids := event.TurnContinue, []event.InputID{}
	if in.Held {
		kind = event.TurnInput
		for _, e := range s.Box.Waiting() {
			ids = append(ids, e.ID)
		}
	}
	s.arm(kind, in.ID, ids...)
	s.do(Reply{Token: in.Token, Value: in.ID})
	s.wake()
}

// runsJob reports whether a job has no end yet.
func (s *State) runsJob(id event.JobID) bool {
	return slices.ContainsFunc(s.OpenJobs(), func(j *Job) bool { return j.ID == id })
}

// Held returns the texts that wait and that no turn takes by itself, in order.
func (s *State) Held() []string {
	var out []string
	if len(s.held) == 0 {
		return nil
	}
	for _, e := range s.Box.Waiting() {
		if s.held[e.ID] {
			out = append(out, e.Input.Content.Text())
		}
	}
	return out
}

// Waits returns what waits, in order, and which of it is held.
func (s *State) Waits() (waiting inbox.View, held map[event.InputID]bool) {
	for id, is := range s.held {
		if _, waits := s.Box.Get(id); is && waits {
			if held == nil {
				held = make(map[event.InputID]bool, len(s.held))
			}
			held[id] = true
		}
	}
	return s.Box.View(), held
}

// after looks for the next turn once one has ended.
func (s *State) after() {
	if e, ok := s.following(); ok {
		s.arm(kindOf(e), "", e.ID)
		s.wake()
	}
}

// following is the input whose turn begins by itself once no turn is open.
func (s *State) following() (inbox.Entry, bool) {
	if s.closed || s.broken != nil {
		return inbox.Entry{}, false
	}
	for e := range s.Box.All() {
		if !s.held[e.ID] {
			return e, true
		}
	}
	return inbox.Entry{}, false
}

func kindOf(e inbox.Entry) event.TurnKind {
	if e.Kind != "" {
		return e.Kind
	}
	return event.TurnInput
}

// holdBack holds what waits behind a turn where one turn at a time is wanted.
// What the turn made way for, and a guard's wake, go on with its work.
func (s *State) holdBack() {
	if !s.opts.Hold {
		return
	}
	for _, e := range s.Box.Waiting() {
		if e.Priority != event.PriorityNow && e.Kind != event.TurnWake {
			s.held[e.ID] = true
		}
	}
}

// fact records what a runner or a watcher saw. That something runs, or is to
// live on, is durable before whoever started it goes on: what nobody knows of
// must not run.
func (s *State) fact(in Fact) {
	switch in.Payload.(type) {
	case event.HookInvoked, event.HookVerdict: // of a turn, or of none; its call may be a step ago
		if s.lost || in.Turn != 0 && in.Turn != s.turn {
			s.do(Reply{Token: in.Token, Err: ErrNotNow})
			return
		}
		s.emitAt(in.Payload, in.Turn, in.Call)
		s.do(Reply{Token: in.Token})
		return
	}
	if k, keep := in.Payload.(event.JobKept); keep && !s.runsJob(k.ID) { // it has ended meanwhile
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	c := s.open.Call(in.Call)
	over := in.Turn != 0 && (in.Turn != s.turn || (in.Call != "" && c == nil))
	_, starts := in.Payload.(event.ProcessStarted)
	if over || s.lost || starts && c != nil && c.Ended != nil {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	if !s.emit(in.Payload, in.Call) {
		s.do(Reply{Token: in.Token, Err: ErrNotNow})
		return
	}
	switch in.Payload.(type) {
	case event.ProcessStarted, event.JobStarted, event.JobKept, event.SubAgentLinked:
		s.do(Sync{})
	}
	s.do(Reply{Token: in.Token})
}

func (s *State) fired(t Timer) {
	switch t {
	case TimerPack:
		s.flush()
	case TimerBackoff:
		if s.phase == PhaseWaiting {
			s.request()
		}
	case TimerGrace:
		switch {
		case s.phase == PhaseUnwinding:
			s.attempt.running = false // fenced: its late answer names a dead attempt
			s.settle()
		case s.phase == PhaseAsking && s.attempt.running && s.attempt.broke != nil:
			s.answered(Answered{Ticket: s.attempt.ticket})
		}
	case TimerStall:
		s.silent()
	case TimerWall:
		if s.turn != 0 && s.how == nil && s.phase != PhaseEnding {
			who, _ := s.wall()
			s.do(Trip{interrupt.Cause{Reason: interrupt.BudgetExceeded, Who: who, At: s.now}})
		}
	case TimerStorage:
	}
}
