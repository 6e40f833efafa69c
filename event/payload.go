package event

import (
	"encoding/json"
	"time"
)

// Payload is what a record says. The set is closed; [Types] lists it.
type Payload interface{ Type() Type }

// SessionOpened is a journal's first record. Requires lists features without
// which a reader must refuse the file (LOG-05).
type SessionOpened struct {
	ID       SessionID `json:"id"`
	Cwd      string    `json:"cwd,omitempty"`
	Title    string    `json:"title,omitempty"`
	Product  string    `json:"product,omitempty"` // name and version of the writer
	Requires []string  `json:"requires,omitempty"`
	Parent   SessionID `json:"parent,omitempty"` // sub-agents
}

// SessionForked says that this journal begins with a copy of another's prefix.
type SessionForked struct {
	From   SessionID `json:"from"`
	Upto   Seq       `json:"upto"`
	Reason string    `json:"reason,omitempty"`
}

// LeaseTaken is the first record of each epoch: who writes from here on.
type LeaseTaken struct {
	Owner Owner `json:"owner"`
}

// Owner names a process so that another can tell whether it still lives.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, as in /proc/PID/stat; 0 where unknown
	Boot  string `json:"boot,omitempty"`
	Host  string `json:"host,omitempty"`
}

// InboxAccepted is durable before the submit is acknowledged.
type InboxAccepted struct {
	ID       InputID       `json:"id"`
	Input    UserInput     `json:"input"`
	Priority Priority      `json:"priority"`
	Key      string        `json:"key,omitempty"` // idempotency key: the same key is accepted once
	Options  SubmitOptions `json:"options,omitzero"`
	By       string        `json:"by,omitempty"`
	Kind     TurnKind      `json:"turn_kind,omitempty"` // empty means input
	// Replaces are waiting inputs whose words are in this one: they wait no
	// longer. A record that drops each of them follows for those who count, but
	// this one record is the change: no cut leaves the words in both places, or
	// in none. If this input is dropped as refused they wait again.
	Replaces []InputID `json:"replaces,omitempty"`
}

// SubmitOptions are kept word for word beside the input, so that a retry is
// the same request (INT-75). Unset stays unset.
type SubmitOptions struct {
	Principal  string                     `json:"principal,omitempty"`
	Variables  map[string]json.RawMessage `json:"variables,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	MaxSteps   *int                       `json:"max_steps,omitempty"`
}

// InboxClaimed takes an input out of the inbox and puts it into the history:
// it is the user message of its step. One record, so that no cut can leave the
// text in neither place.
type InboxClaimed struct {
	ID    InputID `json:"id"`
	Steer bool    `json:"steer,omitempty"` // entered at a running step's end: wrapped as a reminder
}

// InboxEdited replaces the content of a waiting input.
type InboxEdited struct {
	ID    InputID   `json:"id"`
	Input UserInput `json:"input"`
	By    string    `json:"by,omitempty"`
}

// InboxDropped is the only account of an input that never ran.
type InboxDropped struct {
	ID  InputID `json:"id"`
	Why string  `json:"why"` // "canceled", "removed", "rewound", [DroppedReplaced] or [DroppedRefused]
	By  string  `json:"by,omitempty"`
}

// Returned is a part of [Rewound]: it puts an input that a hidden turn had
// processed back into the inbox, under its own id: it is asked again, not
// written again. Options, if set, stand for those that it was accepted with.
type Returned struct {
	ID       InputID        `json:"id"`
	Priority Priority       `json:"priority"`
	Options  *SubmitOptions `json:"options,omitempty"`
	By       string         `json:"by,omitempty"`
}

// DroppedReplaced is why an input was dropped whose words are in one that was
// accepted in its place.
const DroppedReplaced = "replaced"

// DroppedRefused is why an input was dropped that nobody was told is accepted:
// its idempotency key is free again.
const DroppedRefused = "refused: it could not be stored"

// TurnStarted opens turn number Record.Turn.
type TurnStarted struct {
	Kind    TurnKind `json:"turn_kind"`
	Input   InputID  `json:"input,omitempty"`
	RetryOf int      `json:"retry_of,omitempty"` // the hidden turn that this one repeats
}

// TurnEnded is the last record of a turn. Reason, Who and At are for people and
// billing; no fold that feeds a model reads them (LOG-06).
type TurnEnded struct {
	Outcome TurnOutcome `json:"outcome"`
	Reason  string      `json:"reason,omitempty"` // one of interrupt's reasons, or what blocked, or which budget
	Who     string      `json:"who,omitempty"`
	At      *time.Time  `json:"at,omitempty"` // when the interrupt was asked for
	Error   *Failure    `json:"error,omitempty"`
	Usage   Tokens      `json:"usage"`
	Whole   bool        `json:"usage_complete,omitempty"`
	Steps   int         `json:"steps"`
	Text    string      `json:"text,omitempty"` // the turn's last assistant text, whole or partial
}

// StepStarted opens step number Record.Step of the turn.
type StepStarted struct{}

// StepEnded closes it; no call of it may be unanswered.
type StepEnded struct{}

// UserMessage is a user-role message that did not come through the inbox.
type UserMessage struct {
	Content Content `json:"content"`
	Origin  string  `json:"origin,omitempty"` // "context", "reminder"
}

// ModelConfig is written when anything of it changes, so that every request
// can be rebuilt from the journal.
type ModelConfig struct {
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Params   ModelParams  `json:"params"`
	System   string       `json:"system,omitempty"`
	Tools    []ToolSchema `json:"tools,omitempty"`
}

// ModelParams tune sampling; nil leaves the provider's default.
type ModelParams struct {
	MaxTokens   *int     `json:"max_tokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Effort      string   `json:"effort,omitempty"`
}

// ModelRequest is durable before the request's first byte. Attempt counts from
// 1 within its step; Config is the seq of the ModelConfig in force and
// Messages how many messages of the folded context it sends.
type ModelRequest struct {
	Attempt  int `json:"attempt"`
	Config   Seq `json:"config"`
	Messages int `json:"messages"`
}

// AttemptFailed says why an attempt ended without an answer. RetryIn is the
// wait that follows, in milliseconds, -1 when none does; it is written before
// the wait.
type AttemptFailed struct {
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
	RetryIn int64   `json:"retry_in_ms"`
}

// ChunkKind is what a chunk is a piece of.
type ChunkKind string

const (
	ChunkText      ChunkKind = "text"
	ChunkReasoning ChunkKind = "reasoning"
	ChunkArgs      ChunkKind = "args"
)

// Chunk is a run of deltas of one block, packed into one record; where each
// began is in the envelope's span. Open names the call that an args block
// belongs to; Signature and Data end a reasoning block; Done says that the
// block is complete.
type Chunk struct {
	Attempt   int       `json:"attempt"`
	Block     int       `json:"block"`
	Kind      ChunkKind `json:"chunk_kind"`
	Text      string    `json:"text,omitempty"`
	Call      CallID    `json:"call,omitempty"`
	Name      string    `json:"name,omitempty"`
	Signature string    `json:"signature,omitempty"`
	Data      string    `json:"data,omitempty"`
	Provider  string    `json:"provider,omitempty"`
	Done      bool      `json:"done,omitempty"`
}

// AssistantMessage is an attempt's answer. Partial says that it was cut: by an
// interrupt, a crash or a failure after a call had started.
type AssistantMessage struct {
	Attempt int          `json:"attempt"`
	Content Content      `json:"content"`
	Finish  FinishReason `json:"finish,omitempty"`
	Partial bool         `json:"partial,omitempty"`
	Made    bool         `json:"synthetic,omitempty"` // salvaged by recovery
}

// UsageCounted is one model call's tokens, written at its end. Estimate holds
// our guess of what the provider did not count; the two are never added up to
// one number that looks known. Cost is of both, in US dollars, nil where no
// price is set.
type UsageCounted struct {
	Attempt  int      `json:"attempt"` // 0: a summary's call
	Tokens   Tokens   `json:"tokens"`
	Complete bool     `json:"complete"` // the provider's last word
	Estimate *Tokens  `json:"estimate,omitempty"`
	Cost     *float64 `json:"cost_usd,omitempty"`
}

// CallRequested is a call the model asked for. Index is its place among the
// step's calls; BadArgs holds arguments that are not a JSON object, verbatim.
type CallRequested struct {
	Name       string          `json:"name"`
	Args       json.RawMessage `json:"args"`
	Index      int             `json:"index"`
	ProviderID string          `json:"provider_id,omitempty"` // when it differs from the call's id
	BadArgs    string          `json:"bad_args,omitempty"`
}

// CallApproved says who allowed the call.
type CallApproved struct {
	By string `json:"by"` // "rule:…", "yes", a person
}

// CallDenied says who refused it and why; its CallEnded follows.
type CallDenied struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

// CallStarted is durable before the tool's first side effect.
type CallStarted struct {
	Behaviour string `json:"behaviour"` // interrupt's names
	Effect    string `json:"effect"`    // pure, idempotent, unsafe
}

// CallOutput points at the place where a running call's output is caught.
type CallOutput struct {
	Spool string `json:"spool,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// CallEnded is a call's one result, as the model reads it and as data. Success
// is set only on a call that reached its own end; Error is the wire's flag.
// Synthetic ends were made by us and name their Cause.
type CallEnded struct {
	Outcome   CallOutcome `json:"outcome"`
	Success   *bool       `json:"success"`
	Error     bool        `json:"error"`
	Content   Content     `json:"content"`
	ExitCode  *int        `json:"exit_code"`
	Signal    string      `json:"signal,omitempty"`
	TimedOut  *bool       `json:"timed_out"`
	RanMS     *int64      `json:"ran_ms"`
	Output    *Output     `json:"output,omitempty"`
	Survivors []int       `json:"survivors,omitempty"` // pids that outlived the stop
	Synthetic bool        `json:"synthetic,omitempty"`
	Cause     string      `json:"cause,omitempty"`
	Diff      string      `json:"diff,omitempty"` // what a writing tool changed, for people
}

// Output describes a tool's output that did not fit in the record.
type Output struct {
	Bytes     int64 `json:"bytes"`             // in all, as produced
	Truncated bool  `json:"truncated"`         // the content holds head and tail only
	Dropped   int64 `json:"dropped,omitempty"` // bytes kept nowhere
	Binary    bool  `json:"binary,omitempty"`
	// Blob holds the text as the tool gave it. A tool that printed more than it
	// gives leaves the middle out there too, and says in it how much.
	Blob *BlobRef `json:"blob,omitempty"`
}

// LateResult is what a quarantined call returned after its turn was closed. It
// names a closed call and changes nothing.
type LateResult struct {
	Ended CallEnded `json:"ended"`
}

// ApprovalAsked puts a question to a person; it is bound to its call.
type ApprovalAsked struct {
	ID     ApprovalID `json:"id"`
	Tool   string     `json:"tool"`
	Prompt string     `json:"prompt"` // one line for people
	Why    string     `json:"why,omitempty"`
	// Question says that a running tool asks for words, not for permission:
	// the answer is ApprovalDecided.Why, one of Options or any other text.
	Question bool     `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// ApprovalDecided is the answer.
type ApprovalDecided struct {
	ID       ApprovalID `json:"id"`
	Decision Decision   `json:"decision"`
	By       string     `json:"by"`
	Why      string     `json:"why,omitempty"`
}

// ApprovalVoided closes a question that nobody answered; it is no refusal.
type ApprovalVoided struct {
	ID  ApprovalID `json:"id"`
	Why string     `json:"why"`
}

// InnerStarted is durable before the first effect of a call that a running call
// makes, such as a script's step. Record.Call is the outer call.
type InnerStarted struct {
	N         int             `json:"n"` // 1, 2, … within the outer call
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
	By        string          `json:"by"` // who allowed it
	Behaviour string          `json:"behaviour"`
	Effect    string          `json:"effect"`
}

// InnerEnded is its one end. What the outer call made of it is in that call's
// own result.
type InnerEnded struct {
	N     int       `json:"n"`
	Tool  string    `json:"tool"`
	Ended CallEnded `json:"ended"`
}

// HookInvoked and HookVerdict record a hook and what came of it.
type HookInvoked struct {
	Hook string `json:"hook"`
	On   string `json:"on"`
}

// HookVerdict is a hook's end. Verdict is "allow", "block", "report" or
// "no-answer".
type HookVerdict struct {
	Hook    string `json:"hook"`
	On      string `json:"on"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

// ProcessStarted identifies a process tree well enough to find it after a
// crash and never to touch a stranger: pid, start time and boot id together.
type ProcessStarted struct {
	Owner    string `json:"owner"` // "call", "job", "hook", "mcp"
	ID       string `json:"id"`    // the owner's id
	PID      int    `json:"pid"`
	PGID     int    `json:"pgid,omitempty"`
	Start    uint64 `json:"start"`
	Boot     string `json:"boot,omitempty"`
	Lane     string `json:"lane"` // "cgroup", "guardian", "group"
	Cgroup   string `json:"cgroup,omitempty"`
	Guardian *Owner `json:"guardian,omitempty"`
	Command  string `json:"command,omitempty"`
	Spool    string `json:"spool,omitempty"` // relative to the session's folder
	Keep     bool   `json:"keep,omitempty"`
}

// ProcessEnded says that a tree is gone.
type ProcessEnded struct {
	Owner    string `json:"owner"`
	ID       string `json:"id"`
	PID      int    `json:"pid"`
	ExitCode *int   `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	How      string `json:"how"` // "exited", "stopped", "reaped" by recovery, "lost"
}

// ProcessSurvived names what could not be ended.
type ProcessSurvived struct {
	Owner string `json:"owner"`
	ID    string `json:"id"`
	PIDs  []int  `json:"pids"`
	Why   string `json:"why"`
}

// TurnMarked is the message that tells the model that its turn was cut
// (TRN-08). Its text is one constant, whoever asked.
type TurnMarked struct {
	Text string `json:"text"`
}

// Rewound hides the turns from From on, up to where this record stands;
// nothing is removed. Returns are their inputs that wait again from here on: one
// record, so that no cut can leave an input hidden that was to be asked again.
type Rewound struct {
	From    int        `json:"from_turn"`
	Why     string     `json:"why"` // "retry", "rewind"
	By      string     `json:"by,omitempty"`
	Returns []Returned `json:"returns,omitempty"`
}

// CompactionStarted, CompactionSummary and CompactionEnded bracket a summary
// that replaces what stands before it in the model's context.
type CompactionStarted struct {
	Upto Seq    `json:"upto"`
	Why  string `json:"why,omitempty"` // "limit", "overflow", "command"
}

// CompactionSummary is the text that stands for what went before, but for the
// last Kept messages of the context, which stay as they are.
type CompactionSummary struct {
	Upto    Seq     `json:"upto"`
	Content Content `json:"content"`
	Kept    int     `json:"kept,omitempty"`
}

// CompactionEnded says whether the summary was installed.
type CompactionEnded struct {
	Installed bool     `json:"installed"`
	Error     *Failure `json:"error,omitempty"`
}

// GuardVerdict is a guard's judgement with its numbers.
type GuardVerdict struct {
	Guard   string          `json:"guard"`
	Verdict string          `json:"verdict"`
	Facts   json.RawMessage `json:"facts,omitempty"`
}

// GuardWake announces a turn that a guard will start.
type GuardWake struct {
	Count  int    `json:"count"`
	Notice string `json:"notice"`
}

// JobStarted is a process that outlives the call it came from.
type JobStarted struct {
	ID      JobID  `json:"id"`
	Call    CallID `json:"from_call,omitempty"`
	Command string `json:"command"`
	PIDs    []int  `json:"pids"`
	Keep    bool   `json:"keep,omitempty"`
	Spool   string `json:"spool,omitempty"`
	Inner   int    `json:"inner,omitempty"` // which inner call of Call it came from; 0: from Call itself
}

// JobEnded says how a job ended; an exit code is never invented.
type JobEnded struct {
	ID       JobID    `json:"id"`
	State    JobState `json:"state"`
	ExitCode *int     `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	By       string   `json:"by,omitempty"`
}

// JobAdopted says that a kept job was found alive after a crash.
type JobAdopted struct {
	ID   JobID `json:"id"`
	PIDs []int `json:"pids"`
}

// JobKept says whether a job outlives session and runtime from here on.
type JobKept struct {
	ID   JobID `json:"id"`
	Keep bool  `json:"keep"`
}

// SubAgentLinked joins a call to the child session that works on it.
type SubAgentLinked struct {
	Child      SessionID `json:"child"`
	Background bool      `json:"background,omitempty"`
}

// RepairBegun opens a group of closers. A group without its RepairCommitted is
// ignored and treated as torn.
type RepairBegun struct {
	Why      string     `json:"why"`
	Upto     Seq        `json:"upto"` // last record of the valid prefix
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is what recovery could find out about a started call or a job.
type Evidence struct {
	Call  CallID `json:"call,omitempty"`
	Job   JobID  `json:"job,omitempty"`
	Alive []int  `json:"alive,omitempty"` // pids found and ended, or left
	// Survivors are those of them that could not be ended.
	Survivors []int  `json:"survivors,omitempty"`
	Ended     bool   `json:"ended,omitempty"` // the guardian wrote an exit record
	ExitCode  *int   `json:"exit_code,omitempty"`
	Signal    string `json:"signal,omitempty"`
	TimedOut  *bool  `json:"timed_out,omitempty"`
	RanMS     *int64 `json:"ran_ms,omitempty"`
	Output    string `json:"output,omitempty"` // head and tail of what was caught
	Bytes     int64  `json:"bytes,omitempty"`
	Note      string `json:"note,omitempty"` // e.g. that a file did or did not change
	Kept      bool   `json:"kept,omitempty"` // a kept job, alive and re-adopted
	// Child is the sub-agent that the call had started: Output is what its
	// journal says, Ended that it had an answer.
	Child SessionID `json:"child,omitempty"`
}

// RepairCommitted closes the group.
type RepairCommitted struct {
	Records int `json:"records"` // in the group, begin and commit included
}

// TornSaved says that bytes after the last whole record were set aside.
type TornSaved struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	File   string `json:"file"`
}

// Unknown is a record of a type this build does not know.
type Unknown struct {
	Name Type
	Data json.RawMessage
}
