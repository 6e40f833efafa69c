package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// Service is everything that an edge can ask of a runtime. The runtime itself
// is one, package remote makes another over HTTP or a control socket, and one
// suite (apitest) holds both to this page. Errors are [*Error].
type Service interface {
	// Open makes a new session (ID empty) or takes an existing one, recovers
	// it if a turn was left open, and keeps it live until Release or the
	// runtime's end.
	Open(ctx context.Context, req OpenRequest) (SessionState, error)
	// Release ends the live session: its turn is interrupted with
	// SESSION_RELEASED, its jobs end unless kept.
	Release(ctx context.Context, id event.SessionID) error
	// Status is for display; nothing may depend on it.
	Status(ctx context.Context, id event.SessionID) (SessionState, error)

	// Submit accepts input durably and returns its address. It does not wait
	// for the turn.
	Submit(ctx context.Context, req SubmitRequest) (Submitted, error)
	// Continue starts a turn without new input; what is held stays held.
	Continue(ctx context.Context, id event.SessionID) (Submitted, error)
	// RunHeld starts one turn on everything that is held, in order. With
	// nothing held it is an error with code "usage".
	RunHeld(ctx context.Context, id event.SessionID) (Submitted, error)
	// RunNext starts one turn on the first that waits, held or not, as it was
	// submitted. With nothing waiting it is an error with code "usage".
	RunNext(ctx context.Context, id event.SessionID) (Submitted, error)
	// Inbox returns what waits, in the order in which it will be taken.
	Inbox(ctx context.Context, id event.SessionID) ([]Waiting, error)
	// EditInput gives a waiting input other words, RemoveInput takes it back.
	// Once a turn has claimed it both are an error with code "stale".
	EditInput(ctx context.Context, req EditRequest) error
	RemoveInput(ctx context.Context, req RemoveRequest) error
	// ClearInbox drops all that waits, as a recorded act, and returns it.
	ClearInbox(ctx context.Context, req ClearRequest) ([]string, error)
	// Retry hides the last turn and asks again with its own input and options,
	// as if it had never been. It is an error with code "usage" while a turn
	// runs, and where the last turn did not end so that it can be retried.
	Retry(ctx context.Context, req RetryRequest) (Submitted, error)
	// Rewind hides the turns from one on. Nothing is removed from the journal
	// and no file is touched.
	Rewind(ctx context.Context, req RewindRequest) (Rewound, error)
	// Fork makes a new session that begins with a copy of this one's journal
	// up to the end of a turn. No file is touched.
	Fork(ctx context.Context, req ForkRequest) (event.SessionID, error)
	// Compact starts a turn that has the model summarize the context.
	Compact(ctx context.Context, id event.SessionID) (Submitted, error)
	// Wait returns the result of the turn that processed input.
	Wait(ctx context.Context, id event.SessionID, input event.InputID) (Result, error)
	// Interrupt stops what runs; see [InterruptRequest] for its address.
	Interrupt(ctx context.Context, req InterruptRequest) (Interrupted, error)
	// Decide answers an open approval; a stale one is an error with code
	// "stale".
	Decide(ctx context.Context, req DecideRequest) error

	// Follow yields frames: the journal's records from seq on and, when live
	// is set, live frames of a session that is live here by then. It ends when
	// ctx does, or when that session is released. A reader that falls behind
	// loses live frames, never records.
	Follow(ctx context.Context, id event.SessionID, from event.Seq, live bool) iter.Seq2[Frame, error]
	// Records yields the journal as it stands and ends.
	Records(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[Frame, error]

	Sessions(ctx context.Context) ([]SessionInfo, error)
	Delete(ctx context.Context, id event.SessionID) error
	Verify(ctx context.Context, id event.SessionID) (VerifyReport, error)
	// PreviewRepair says what recovery would add and what cutting would bury.
	PreviewRepair(ctx context.Context, id event.SessionID) (RepairPreview, error)

	Jobs(ctx context.Context, id event.SessionID) ([]JobInfo, error)
	JobLog(ctx context.Context, id event.SessionID, job event.JobID) (string, error)
	KillJob(ctx context.Context, id event.SessionID, job event.JobID) error
	// KeepJob says whether a job outlives the session.
	KeepJob(ctx context.Context, id event.SessionID, job event.JobID, keep bool) error
}

// OpenRequest names a session to open. With Latest set, ID is ignored and the
// newest session recorded for Cwd is taken; none is an error with code
// "usage".
type OpenRequest struct {
	ID     event.SessionID `json:"id,omitempty"`
	Latest bool            `json:"latest,omitempty"`
	Cwd    string          `json:"cwd"`
	Title  string          `json:"title,omitempty"`
}

// SessionState is a live session as seen from outside.
type SessionState struct {
	ID        event.SessionID `json:"id"`
	Cwd       string          `json:"cwd"`
	Running   bool            `json:"running"`
	Stopping  bool            `json:"stopping"`
	Turn      int             `json:"turn"`                // current or last
	Last      *Result         `json:"last"`                // how the last turn ended; nil if none
	Recovered *Recovery       `json:"recovered,omitempty"` // what opening had to close
	Approvals []Approval      `json:"approvals,omitempty"`
	Held      []string        `json:"held,omitempty"`      // waiting input, in order
	Retryable bool            `json:"retryable,omitempty"` // the last turn can be asked again
	Seq       event.Seq       `json:"seq"`                 // last record
	// Verified is how much of the journal was read since it was opened: "full",
	// "tail", or "damaged" once damage was found in what stood before the tail.
	Verified  string    `json:"verified,omitempty"`
	Model     ModelInfo `json:"model"`
	Storage   string    `json:"storage,omitempty"`   // non-empty: "storage failed: …"
	Unwinding []string  `json:"unwinding,omitempty"` // quarantined calls still running
}

// ModelInfo is which model answers and why it was chosen.
type ModelInfo struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Why      string `json:"why,omitempty"`
}

// Recovery is what was done when a session was opened.
type Recovery struct {
	Turn    int      `json:"turn"`  // the turn closed as interrupted, 0 if none
	Added   int      `json:"added"` // records added
	Torn    int64    `json:"torn"`  // bytes set aside
	File    string   `json:"file,omitempty"`
	Adopted []string `json:"adopted,omitempty"` // kept jobs found alive
}

// Approval is an open question.
type Approval struct {
	ID     event.ApprovalID `json:"id"`
	Call   event.CallID     `json:"call"`
	Tool   string           `json:"tool"`
	Prompt string           `json:"prompt"`
	// Question says that a running tool asks for words: they are the Why of a
	// decision to allow, one of Options or others.
	Question bool     `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// SubmitRequest carries input. Key makes a repeated submit harmless.
type SubmitRequest struct {
	Session  event.SessionID `json:"session"`
	Input    event.UserInput `json:"input"`
	Priority event.Priority  `json:"priority,omitempty"` // empty means later
	// Replaces are waiting inputs whose words are in this one: they leave the
	// inbox in the same write.
	Replaces []event.InputID     `json:"replaces,omitempty"`
	Key      string              `json:"key,omitempty"`
	Options  event.SubmitOptions `json:"options,omitzero"`
	By       string              `json:"by,omitempty"`
}

// Submitted is an accepted input's address, and where it went.
type Submitted struct {
	Input event.InputID `json:"input"`
	State string        `json:"state"` // "running", "steering", "interrupting", "queued"
}

// Waiting is one input of the inbox.
type Waiting struct {
	ID       event.InputID   `json:"id"`
	Priority event.Priority  `json:"priority"`
	Input    event.UserInput `json:"input"`
	Held     bool            `json:"held"` // no turn takes it by itself
	By       string          `json:"by,omitempty"`
}

// EditRequest gives a waiting input other words.
type EditRequest struct {
	Session event.SessionID `json:"session"`
	ID      event.InputID   `json:"id"`
	Input   event.UserInput `json:"input"`
	By      string          `json:"by,omitempty"`
}

// RemoveRequest takes a waiting input back.
type RemoveRequest struct {
	Session event.SessionID `json:"session"`
	ID      event.InputID   `json:"id"`
	By      string          `json:"by,omitempty"`
}

// ClearRequest drops all that waits.
type ClearRequest struct {
	Session event.SessionID `json:"session"`
	By      string          `json:"by,omitempty"`
}

// RetryRequest asks the last turn again. Options, if set, stand for those that
// it had.
type RetryRequest struct {
	Session event.SessionID      `json:"session"`
	Options *event.SubmitOptions `json:"options,omitempty"`
	By      string               `json:"by,omitempty"`
}

// RewindRequest hides the turns from Turn on; 0 is the last one that can be
// hidden. With Restore the first hidden turn's input waits again, held, to be
// edited and sent. What had been steered into the hidden turns waits again, too,
// unless DropSteers is set.
type RewindRequest struct {
	Session    event.SessionID `json:"session"`
	Turn       int             `json:"turn,omitempty"`
	Restore    bool            `json:"restore,omitempty"`
	DropSteers bool            `json:"drop_steers,omitempty"`
	By         string          `json:"by,omitempty"`
}

// Rewound answers it.
type Rewound struct {
	Turn     int       `json:"turn"`     // first turn that is hidden
	Returned []Waiting `json:"returned"` // what waits again
}

// ForkRequest copies a session up to the end of Turn; 0 is its last turn that
// has ended.
type ForkRequest struct {
	Session event.SessionID `json:"session"`
	Turn    int             `json:"turn,omitempty"`
	Title   string          `json:"title,omitempty"`
}

// InterruptRequest stops a turn: the active one, or exactly the one that Input
// or Turn names. Force also skips every grace. KeepInbox keeps waiting input.
type InterruptRequest struct {
	Session   event.SessionID `json:"session"`
	Input     event.InputID   `json:"input,omitempty"`
	Turn      int             `json:"turn,omitempty"`
	Reason    string          `json:"reason,omitempty"` // empty means USER_SIGINT
	Who       string          `json:"who,omitempty"`
	Force     bool            `json:"force,omitempty"`
	KeepInbox bool            `json:"keep_inbox,omitempty"`
}

// Interrupted answers it (IFC-07): exactly one of the two is set.
type Interrupted struct {
	State string `json:"state,omitempty"` // "stopping"
	Noop  string `json:"noop,omitempty"`  // "idle", "turn_mismatch", "already_stopping"
}

// DecideRequest answers an approval.
type DecideRequest struct {
	Session  event.SessionID  `json:"session"`
	Approval event.ApprovalID `json:"approval"`
	Decision event.Decision   `json:"decision"`
	By       string           `json:"by,omitempty"`
	Why      string           `json:"why,omitempty"`
}

// Frame is a journal record or a live frame; exactly one is set.
type Frame struct {
	Line   json.RawMessage `json:"line,omitempty"` // a record's canonical bytes
	Record *event.Record   `json:"-"`              // the same, parsed
	Live   *Live           `json:"live,omitempty"`
}

// Live is what happens now and is not (yet) in the journal. It has no seq;
// text is addressed by turn, step, block and byte offset.
type Live struct {
	Kind   LiveKind     `json:"live"`
	Turn   int          `json:"turn,omitempty"`
	Step   int          `json:"step,omitempty"`
	Block  int          `json:"block,omitempty"`
	Off    int          `json:"off,omitempty"`
	Call   event.CallID `json:"call,omitempty"`
	Name   string       `json:"name,omitempty"`
	Text   string       `json:"text,omitempty"`
	State  string       `json:"state,omitempty"`  // state frames: "running", "stopping", "waiting", "retrying", "compacting", "warning", "storage_failed", "storage_ok", "ended"
	Result *Result      `json:"result,omitempty"` // with state "ended": the turn's terminal event
}

// LiveKind is a live frame's kind.
type LiveKind string

const (
	LiveText      LiveKind = "text"
	LiveReasoning LiveKind = "reasoning"
	LiveTool      LiveKind = "tool" // a running call's output, or its arguments as they arrive
	LiveState     LiveKind = "state"
)

// Result is IFC-01's result object, and the one shape of a turn's terminal
// event. Unknown is null, never 0 or missing.
type Result struct {
	Kind           string             `json:"type"`   // "result"
	Schema         int                `json:"schema"` // 1
	Session        *event.SessionID   `json:"session"`
	Turn           *int               `json:"turn"`
	Outcome        *event.TurnOutcome `json:"outcome"`
	Reason         *string            `json:"reason"`
	ExitCode       int                `json:"exit_code"`
	Text           string             `json:"text"`
	Usage          *Usage             `json:"usage"`
	Calls          []CallResult       `json:"calls"`
	DroppedUnrun   []string           `json:"dropped_unrun"`
	Held           []string           `json:"held"`
	Jobs           []event.JobID      `json:"jobs"`
	UnknownEffects bool               `json:"unknown_effects"`
	Error          *ErrorInfo         `json:"error"`

	// Not on the wire of IFC-01; for the terminal event and the card.
	Who  string `json:"-"`
	Step int    `json:"-"`
	// Next is the input whose turn begins by itself behind this one, such as
	// what it made way for; empty if none does.
	Next event.InputID `json:"-"`
}

// Usage is what is known of a turn's tokens.
type Usage struct {
	Input    *int64 `json:"input_tokens"`
	Output   *int64 `json:"output_tokens"`
	Complete bool   `json:"complete"`
	// Estimated is our guess of what the provider did not count, beside what it
	// did; nil where everything is counted.
	Estimated *Estimated `json:"estimated,omitempty"`
	Cost      *float64   `json:"cost_usd,omitempty"` // of both; nil where no price is set
}

// Estimated is a guess at tokens that nobody counted.
type Estimated struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
}

// CallResult is one call of the turn.
type CallResult struct {
	ID       event.CallID      `json:"id"`
	Name     string            `json:"name"`
	Outcome  event.CallOutcome `json:"outcome"`
	ExitCode *int              `json:"exit_code"`
	Signal   *string           `json:"signal"`
	TimedOut *bool             `json:"timed_out"`
	RanMS    *int64            `json:"ran_ms"`
}

// ErrorInfo is a failure for programs and people.
type ErrorInfo struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// SessionInfo is a line of IFC-12's list.
type SessionInfo struct {
	ID      event.SessionID `json:"id"`
	Title   string          `json:"title"`
	Cwd     string          `json:"cwd"`
	Turns   int             `json:"turns"`
	State   string          `json:"state"`
	Owner   *OwnerInfo      `json:"owner"`
	Updated *time.Time      `json:"updated"`
	Bytes   int64           `json:"bytes"`
	Parent  event.SessionID `json:"parent,omitempty"` // of a sub-agent: who started it
}

// OwnerInfo is who holds a session.
type OwnerInfo struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// JobInfo is a line of IFC-12's list: a job, or another process while it runs.
type JobInfo struct {
	ID       event.JobID     `json:"id"`
	Session  event.SessionID `json:"session"`
	Owner    string          `json:"owner"` // "job", "call", "hook", "mcp": as the journal names it
	Call     event.CallID    `json:"call"`  // where it came from; null in JSON, if from no call
	Command  string          `json:"command"`
	PIDs     []int           `json:"pids"`
	State    event.JobState  `json:"state"`
	ExitCode *int            `json:"exit_code"`
	Signal   *string         `json:"signal"`
	Started  time.Time       `json:"started"`
	Keep     bool            `json:"keep"`
}

// MarshalJSON writes what there is none of as null.
func (j JobInfo) MarshalJSON() ([]byte, error) {
	type plain JobInfo
	out := struct {
		plain
		Call *event.CallID `json:"call"`
	}{plain: plain(j)}
	if j.Call != "" {
		out.Call = &j.Call
	}
	return json.Marshal(out)
}

// VerifyReport is IFC-12's `log verify`.
type VerifyReport struct {
	OK       bool         `json:"ok"`
	Records  int64        `json:"records"`
	Bytes    int64        `json:"bytes"`
	Torn     *TornInfo    `json:"torn"`
	Damage   []DamageInfo `json:"damage"`
	OpenTurn *int         `json:"open_turn"`
	Verified string       `json:"verified"`
	// Unknown counts the records of types that this version does not know, by
	// type; absent if there are none.
	Unknown map[event.Type]int64 `json:"unknown,omitempty"`
}

// TornInfo is a tail that is not a record.
type TornInfo struct {
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// DamageInfo is a range that is not what was written.
type DamageInfo struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Why  string `json:"why"`
}

// RepairPreview compares the two ways out of an open turn (REC-09). Without one
// there may be records to add all the same, for work that outlived its process.
type RepairPreview struct {
	Turn    int               `json:"turn"`            // the open turn, 0 if there is none
	Owner   *OwnerInfo        `json:"owner,omitempty"` // who works in the session now: nothing is left open, nothing is added
	Adds    []json.RawMessage `json:"adds"`            // the records that recovery would append
	Why     []string          `json:"why"`             // one line for each of them
	Cutting Buried            `json:"cutting"`
}

// Buried is what cutting the turn off would lose.
type Buried struct {
	Records int   `json:"records"`
	Results int   `json:"results"`
	Bytes   int64 `json:"bytes"`
}

// Error is a refused or failed request.
type Error struct {
	Code    event.FailureCode `json:"code"` // or "stale", "not_found", "unsupported", "dropped"
	Message string            `json:"message"`
	Hint    string            `json:"hint,omitempty"`
	Owner   *OwnerInfo        `json:"owner,omitempty"` // with code session_busy
	Err     error             `json:"-"`
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func (e *Error) Unwrap() error { return e.Err }
