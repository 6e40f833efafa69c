package turn

import (
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Input is what can happen to a session, as [State.Step] is told of it. The
// set is closed.
type Input interface{ input() }

// Token names somebody who waits for an answer; the zero token nobody.
type Token uint64

// Submit offers input. It is answered once the input is durable.
type Submit struct {
	Accepted event.InboxAccepted
	Replaces []event.InputID // waiting inputs whose words are in it: dropped in the same batch
	Token    Token
}

// Edit gives one waiting input other words. It is refused with [ErrNotNow] once
// the input is a turn's.
type Edit struct {
	ID    event.InputID
	Input event.UserInput
	By    string
	Token Token
}

// Rewind hides turns from From on, 0 for the last one alone; nothing is removed.
// Retry asks the hidden turn again, with its own input and options: it needs a
// turn that ended so that it can be (TRN-05). Restore returns the input of the
// first hidden turn to the inbox, held, to be edited. What had steered the
// hidden turns returns as NEXT unless DropSteers is set. It is answered with a
// [Returned], and refused while a turn runs.
type Rewind struct {
	From       int
	Retry      bool
	Restore    bool
	DropSteers bool
	Options    *event.SubmitOptions // of the retried input; nil: those it had
	ID         event.InputID        // address of a retried turn that had no input
	By         string
	Token      Token
}

// Compact asks for a summary of the context, as a turn that can be stopped.
type Compact struct {
	ID    event.InputID // address of the turn
	By    string
	Token Token
}

// Summarized is the one end of an [AskSummary]. Blocked says that a hook did not
// let it be made.
type Summarized struct {
	Ticket  Ticket
	Text    string
	Tokens  event.Tokens
	Bytes   int // of the text as it came
	Failure *event.Failure
	Blocked string // who blocked it
	Why     string // in its words
	Cut     bool
}

// Go starts a turn without new input: on nothing, or, with Held set, on all
// that waits in the inbox, in order.
type Go struct {
	ID    event.InputID // address of the turn
	Held  bool
	First bool // only on the first that waits, which is the turn's address: answered with it
	By    string
	Token Token
}

// Clear drops what waits in the inbox, as somebody asked; with Stop set it
// belongs to a stop, and what was accepted after that stays.
type Clear struct {
	By    string
	Stop  bool
	Token Token
}

// Remove takes one waiting input back. It is refused with [ErrNotNow] once the
// input is a turn's.
type Remove struct {
	ID    event.InputID
	By    string
	Token Token
}

// Tripped says that the turn's signal tripped; with Drop set what waits goes
// with the stop, as who stopped it wished.
type Tripped struct {
	Cause interrupt.Cause
	Drop  bool
}

// Ticket names one attempt for good: what comes late names a dead one.
type Ticket uint64

// Streamed is one delta of an attempt.
type Streamed struct {
	Ticket Ticket
	Delta  event.Delta
}

// Answered is an attempt's one end. Failure is nil when the stream ended with
// its finish; Cut says that the interrupt ended it.
type Answered struct {
	Ticket  Ticket
	Failure *event.Failure
	Cut     bool
}

// Judged is a gate's verdict on a call.
type Judged struct {
	Call    event.CallID
	Verdict Verdict
	By      string
	Why     string
	Prompt  string
}

// Verdict is a gate's answer; the zero value blocks.
type Verdict int

const (
	VerdictDeny  Verdict = iota // the call is denied, the turn goes on
	VerdictAllow                //
	VerdictAsk                  // a person decides
	VerdictBlock                // nobody can decide: the call is denied and the turn ends blocked
)

// Decided is a person's answer to an approval.
type Decided struct {
	ID       event.ApprovalID
	Decision event.Decision
	By       string
	Why      string
	Token    Token
}

// Begin is a call's runner asking to record its start. It is answered once the
// start is durable; a refusal means that the tool must not run.
type Begin struct {
	Turn      int
	Call      event.CallID
	Behaviour string
	Effect    string
	Token     Token
}

// End is a call's one end, from its runner.
type End struct {
	Turn  int
	Call  event.CallID
	Ended event.CallEnded // Content is the tool's own; the words for the model are made here
	Fatal string          // a fatal error: the turn fails
	Token Token
}

// BeginInner is a running call that asks to record the start of a call of its
// own. It is answered with the inner call's number once the start is durable; a
// refusal means that the tool must not run.
type BeginInner struct {
	Turn    int
	Call    event.CallID       // the outer call
	Started event.InnerStarted // without its number
	Token   Token
}

// EndInner is an inner call's one end, from its runner.
type EndInner struct {
	Turn  int
	Call  event.CallID
	Ended event.InnerEnded
	Fatal string // a fatal error: the turn fails, whatever the outer call makes of it
	Token Token
}

// Veto is a gate that refused an inner call and can ask nobody: the turn ends
// blocked.
type Veto struct {
	Turn int
	Call event.CallID
	By   string
}

// AskPeople is a running call that asks a person: for words, or whether an
// inner call may run. It is answered with an [event.ApprovalDecided], or with
// [ErrVoided] once the turn was stopped or the call has its end.
type AskPeople struct {
	Turn  int
	Call  event.CallID
	Asked event.ApprovalAsked // without its id
	Ref   uint64              // the asker's own name for it, for [TakeBack]; 0: none
	Token Token
}

// TakeBack is an asker that waits no longer: its question is void, and it is
// answered so. One that was answered already stays answered.
type TakeBack struct {
	Ref uint64
	Why string
}

// Late is what a quarantined call came to after all.
type Late struct {
	Turn  int
	Call  event.CallID
	Ended event.CallEnded
}

// Fact is a process or job record from a runner or a job's watcher. Turn is 0
// for facts that belong to the session.
type Fact struct {
	Turn    int
	Call    event.CallID
	Payload event.Payload
	Token   Token
}

// Fired says that a timer ran out.
type Fired struct{ Timer Timer }

// TurnJudged is the verdict of the turn-start hooks.
type TurnJudged struct {
	Turn    int
	Blocked bool
	By      string // the hook that blocked
	Why     string // in its words
}

// Hooked says that the turn-end hooks have ended. Turn 0 is the open one.
type Hooked struct{ Turn int }

// Woken is the answer to [Wake].
type Woken struct{}

// StorageFailed says that a checkpoint could not be made durable: the effects
// behind it did not happen, and who held one of the Refused tokens was told so.
type StorageFailed struct {
	Failure event.Failure
	Refused []Token
	Lost    bool // the journal has another writer: nothing is ever written here again
}

// StorageWorks says that everything recorded is durable again.
type StorageWorks struct{}

// CloseSession says that the session ends: nothing new is accepted or started.
type CloseSession struct{ Token Token }

func (Submit) input()        {}
func (Go) input()            {}
func (Clear) input()         {}
func (Remove) input()        {}
func (Edit) input()          {}
func (Rewind) input()        {}
func (Compact) input()       {}
func (Summarized) input()    {}
func (Tripped) input()       {}
func (Streamed) input()      {}
func (Answered) input()      {}
func (Judged) input()        {}
func (Decided) input()       {}
func (Begin) input()         {}
func (End) input()           {}
func (BeginInner) input()    {}
func (EndInner) input()      {}
func (Veto) input()          {}
func (AskPeople) input()     {}
func (TakeBack) input()      {}
func (Late) input()          {}
func (Fact) input()          {}
func (Fired) input()         {}
func (TurnJudged) input()    {}
func (Hooked) input()        {}
func (Woken) input()         {}
func (StorageFailed) input() {}
func (StorageWorks) input()  {}
func (CloseSession) input()  {}

// Effect is what the session has to do, in order. An effect behind a [Sync]
// that fails does not happen (LOG-13). The set is closed.
type Effect interface{ effect() }

// Append writes records; they are numbered already.
type Append struct{ Records []event.Record }

// Sync makes everything appended durable.
type Sync struct{}

// Arm makes the new turn's coordinator: from here on the turn can be stopped
// by its number and by the inputs it processes.
type Arm struct {
	Turn   int
	Inputs []event.InputID
}

// Join makes the open turn stoppable by inputs that have entered it, too.
type Join struct {
	Turn   int
	Inputs []event.InputID
}

// Break ends an attempt from our side: a guard did it. Its [Answered] follows
// as ever.
type Break struct{ Ticket Ticket }

// AskSummary asks the model for a summary of Messages, once the hooks before a
// compaction have let it. One [Summarized] follows.
type AskSummary struct {
	Ticket   Ticket
	Turn     int
	Why      string
	Config   event.ModelConfig
	Messages []event.Message // read only; the last one asks for the summary
}

// Retire closes the turn's coordinator: from here on nothing can stop it.
type Retire struct{ Turn int }

// Ask sends the request of one attempt. Exactly one [Answered] follows.
type Ask struct {
	Ticket              Ticket
	Turn, Step, Attempt int
	Config              event.ModelConfig
	Messages            []event.Message // read only
}

// Judge has the gate judge a call. One [Judged] follows.
type Judge struct{ Call *Call }

// RunCall starts a call's runner. One [Begin] or none, then one [End] follows.
type RunCall struct{ Call *Call }

// Question shows an approval to people.
type Question struct {
	Call  *Call
	Asked event.ApprovalAsked
}

// Reply answers whoever holds the token: Err is nil when it was done.
type Reply struct {
	Token Token
	Value any
	Err   error
}

// SetTimer starts or restarts a timer, StopTimer ends it.
type SetTimer struct {
	Timer Timer
	After time.Duration
}

// StopTimer ends a timer.
type StopTimer struct{ Timer Timer }

// JudgeTurn has the turn-start hooks judge the turn, which has begun and has
// asked nothing yet. One [TurnJudged] follows.
type JudgeTurn struct {
	Turn   int
	Prompt string // what the turn processes
}

// RunHooks runs the hooks of the turn's end, on books that are closed; one
// [Hooked] follows. Cut says that an interrupt ended the turn.
type RunHooks struct {
	Turn    int
	Outcome event.TurnOutcome
	Reason  string
	Cut     bool
}

// Publish shows the turn's one terminal event and releases its waiters.
type Publish struct{ Summary Summary }

// Trip asks the turn's own coordinator to trip: a budget or an "abort" on an
// approval did it.
type Trip struct{ Cause interrupt.Cause }

// Wake comes back as [Woken]: the turn that was armed begins, unless the
// checkpoint before it failed.
type Wake struct{}

// Show tells the surfaces of a change that no record says. State is one of
// "running", "stopping", "waiting", "retrying", "compacting", "warning",
// "storage_failed", "storage_ok", "bug"; Text says more.
type Show struct{ State, Text string }

func (Append) effect()     {}
func (Sync) effect()       {}
func (Arm) effect()        {}
func (Join) effect()       {}
func (Break) effect()      {}
func (AskSummary) effect() {}
func (Retire) effect()     {}
func (Ask) effect()        {}
func (Judge) effect()      {}
func (RunCall) effect()    {}
func (Question) effect()   {}
func (Reply) effect()      {}
func (SetTimer) effect()   {}
func (StopTimer) effect()  {}
func (JudgeTurn) effect()  {}
func (RunHooks) effect()   {}
func (Publish) effect()    {}
func (Trip) effect()       {}
func (Wake) effect()       {}
func (Show) effect()       {}

// Timer names a timer of the session.
type Timer string

const (
	TimerPack    Timer = "pack"    // write what streamed
	TimerBackoff Timer = "backoff" // next attempt
	TimerGrace   Timer = "grace"   // the turn's own goroutines are cut
	TimerWall    Timer = "wall"    // the turn's time budget
	TimerStall   Timer = "stall"   // nothing useful came from the model
	TimerStorage Timer = "storage" // try the disk again
)

// Traits is what the dispatcher and the guards need to know of a tool.
type Traits struct {
	Concurrent bool // may run beside other concurrent calls
	Waits      bool // is there to be asked again: equal calls of it are no loop
}

// Guards configures what judges a turn's progress (GRD-09). The zero value has
// every guard at work with its defaults.
type Guards struct {
	Stall guard.StallLimits
	Loop  guard.LoopLimits
	Calls guard.CallLimits
	OnStall,
	OnLoop,
	OnCalls guard.Mode
	NoWake bool // a stall ends the turn, nothing starts another
}

// Price is what a model's tokens cost, in US dollars a million.
type Price struct{ Input, Output float64 }

// Options shape a session's turns. The zero value gets the defaults named here.
type Options struct {
	Config     event.ModelConfig
	Tools      map[string]Traits
	Budget     guard.Budget // of each turn
	Session    guard.Budget // of all turns of the session together
	Price      Price        // zero: no cost is counted
	Context    int          // tokens that the model takes; 0: not known, and no summary is made ahead
	CompactAt  float64      // part of Context from which on a summary is made; 0 means 0.8
	Guards     Guards
	Attempts   int           // per step; 0 means 4
	Backoff    time.Duration // first wait, doubled each time; 0 means 500 ms
	BackoffMax time.Duration // 0 means 30 s
	RetryAfter time.Duration // longest wait that a provider may ask for; 0 means 2 min
	Grace      time.Duration // for the turn's own goroutines; 0 means 100 ms
	Parallel   int           // calls side by side; 0 means 8
	PackBytes  int           // 0 means 4 KiB
	Answer     int           // bytes of one answer, then the attempt fails for good; 0 means 32 MiB
	PackTime   time.Duration // 0 means 50 ms
	TurnGate   bool          // hooks judge each turn before its first request
	NoEager    bool          // calls start once the whole answer is there
	NoMarker   bool          // leave out the aborted marker
	Hold       bool          // what waits behind a turn is held, but for what the turn made way for: one turn at a time
	MarkerText string        // empty: TextAbortedTurn
}

func (o Options) withDefaults() Options {
	or := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	or(&o.Backoff, 500*time.Millisecond)
	or(&o.BackoffMax, 30*time.Second)
	or(&o.RetryAfter, 2*time.Minute)
	or(&o.Grace, 100*time.Millisecond)
	or(&o.PackTime, 50*time.Millisecond)
	ori := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	ori(&o.Attempts, 4)
	ori(&o.Parallel, 8)
	ori(&o.PackBytes, 4<<10)
	ori(&o.Answer, 32<<20)
	if o.CompactAt == 0 {
		o.CompactAt = 0.8
	}
	return o
}
