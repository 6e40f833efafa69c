package forensics

import (
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// Kind is what a file was found to be, by its content.
type Kind string

const (
	Ripcord Kind = "ripcord" // a journal of ours
	Codex   Kind = "codex"   // a rollout
	Pi      Kind = "pi"      // a session
	Claude  Kind = "claude"  // a Claude Code transcript
	Text    Kind = "text"    // anything else: one artifact
)

// String is the kind for people.
func (k Kind) String() string {
	switch k {
	case Ripcord:
		return "a journal of ripcord"
	case Codex:
		return "a Codex rollout"
	case Pi:
		return "a pi session"
	case Claude:
		return "a Claude Code transcript"
	case Text:
		return "plain text"
	}
	return string(k)
}

// unit is what the tool that wrote it counts texts in.
func (k Kind) unit() string {
	switch k {
	case Pi, Claude:
		return "UTF-16 units"
	case Ripcord, Codex, Text:
		return "bytes"
	}
	return "bytes"
}

// Report is what a replay found.
type Report struct {
	Kind     Kind           `json:"kind"`
	Lines    int64          `json:"lines"`
	Bytes    int64          `json:"bytes"`
	Messages int            `json:"messages"` // answers of a model
	Found    int            `json:"aborts_found"`
	Aborts   []Abort        `json:"aborts"` // the first [MaxAborts]
	Loops    []LoopOfCalls  `json:"call_loops"`
	Artifact *Artifact      `json:"artifact,omitempty"` // of [Text] only
	Largest  []Largest      `json:"largest"`
	Notes    []string       `json:"notes"` // what could not be read, a sentence each
	LeftOut  int            `json:"notes_left_out,omitempty"`
	Limits   LimitsInForce  `json:"limits"`
	cuts     map[int]script // by the abort's number
}

// LimitsInForce are the thresholds that were measured against.
type LimitsInForce struct {
	Argument  int   `json:"argument"`
	SilenceMS int64 `json:"silence_ms"`
	InRow     int   `json:"in_a_row"`
	CoolMS    int64 `json:"cooldown_ms"`
	Probe     int   `json:"probe"`
	Same      int   `json:"same"`
	Cycle     int   `json:"cycle"`
	Failing   int   `json:"failing"`
	Burst     int   `json:"burst"`
}

// Bounds of what is kept of a file, whatever its size.
const (
	MaxLine   = 64 << 20 // bytes; a longer line is skipped, and said
	MaxAborts = 1000
	maxNotes  = 100
	maxLoops  = 100
	maxModels = 100
)

// Abort is one message that was cut, and what each guard makes of it.
type Abort struct {
	N        int        `json:"n"`
	Line     int64      `json:"line"` // of the record that tells of it
	Time     *time.Time `json:"time"`
	Provider string     `json:"provider,omitempty"`
	Model    string     `json:"model,omitempty"`
	How      string     `json:"how"`       // in the transcript's own word
	ByPerson bool       `json:"by_person"` // the transcript says so; false: it does not say
	Kept     bool       `json:"kept"`      // the transcript holds what was cut
	Cut      guard.Cut  `json:"cut"`
	Unit     string     `json:"unit"`           // the transcript's own
	Argument int        `json:"argument_units"` // Cut.Argument in Unit
	Stream   int        `json:"stream_units"`   // Cut.Stream in Unit
	Silence  *Silence   `json:"silence"`        // null: unknown
	Timer    *Timer     `json:"timer"`
	// Limits are the thresholds that the journal's own guard judged by; null:
	// no such record, those of the report hold.
	Limits *guard.Thresholds `json:"limits,omitempty"`

	Stall    guard.StallVerdict `json:"stall"`
	Sure     bool               `json:"stall_sure"` // it does not hang on how long the silence was
	Wake     guard.WakeDecision `json:"wake,omitempty"`
	Facts    *guard.WakeFacts   `json:"wake_facts,omitempty"`
	Channels []Channel          `json:"channels"`
	Calls    guard.Standing     `json:"calls"`
	Usage    Usage              `json:"usage"`
	SameAs   int                `json:"same_place_as,omitempty"` // an earlier abort's number
	SameAt   *guard.Place       `json:"same_place,omitempty"`
	Place    guard.Place        `json:"place"`
	Recorded []Recorded         `json:"recorded,omitempty"` // what the journal's own guards said then
}

// Silence is the time from the last sign of the stream to its end.
type Silence struct {
	MS    int64  `json:"ms"`
	Exact bool   `json:"exact"`           // false: it was this long at most
	About bool   `json:"about,omitempty"` // not even that: by the times of records, which are near those of the events
	Since string `json:"since"`
}

// Timer is an idle limit that a silence is within 1 % of, or that is known to
// have run out.
type Timer struct {
	LimitMS int64  `json:"limit_ms"`
	Whose   string `json:"whose"`
	Fired   bool   `json:"fired,omitempty"` // the journal says that this one cut it
}

// Channel is what the stream guards measured over one channel of the message.
type Channel struct {
	Name   string             `json:"name"` // "argument": the longest string; "arguments": what it streamed in; "text", "reasoning"
	Runes  int                `json:"code_points"`
	Repeat *guard.Repeat      `json:"repeat"`
	Probe  guard.ProbeReading `json:"probe"`
}

// Usage is what was recorded, which of a message that was cut is no count.
type Usage struct {
	Input    *int64 `json:"recorded_input_tokens"`
	Output   *int64 `json:"recorded_output_tokens"`
	Complete bool   `json:"complete"`
	Known    string `json:"known"` // "whole", "at least", "unknown"
}

// Recorded is a verdict that stands in the journal itself.
type Recorded struct {
	Guard    string `json:"guard"`
	Verdict  string `json:"verdict"`
	Decision string `json:"decision,omitempty"`
}

// LoopOfCalls is where the calls of a turn went round in circles.
type LoopOfCalls struct {
	Line int64 `json:"line"`
	guard.CallLoop
}

// Largest is the longest argument that came through whole from a model.
type Largest struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Argument int    `json:"argument"`
}

// Artifact is what was measured of one text.
type Artifact struct {
	Runes   int64   `json:"code_points"`
	UTF16   int64   `json:"utf16_units"`
	Channel Channel `json:"channel"`
	NULs    int64   `json:"nul_bytes,omitempty"`
	Invalid int64   `json:"invalid_utf8_bytes,omitempty"`
}
