package event

// Delta is one step of a model's answer as it streams. The set is closed. A
// stream is: any number of deltas, then exactly one [Finish]; an end without
// it is not an answer.
type Delta interface{ delta() }

// TextDelta adds text to block Block.
type TextDelta struct {
	Block int
	Text  string
}

// ReasoningDelta adds thinking to block Block. Signature and Data, when set,
// are complete (not fragments) and end the block.
type ReasoningDelta struct {
	Block     int
	Text      string
	Signature string
	Data      string
	Provider  string
}

// CallStart opens a call in block Block. ID is the provider's and may be
// empty or repeated.
type CallStart struct {
	Block int
	ID    string
	Name  string
}

// ArgsDelta adds a fragment of the call's JSON arguments.
type ArgsDelta struct {
	Block int
	Text  string
}

// CallEnd says that the call's arguments are complete.
type CallEnd struct{ Block int }

// UsageDelta reports token counts so far; nil is unknown, never zero.
type UsageDelta struct{ Usage Tokens }

// Finish ends the stream.
type Finish struct{ Reason FinishReason }

func (TextDelta) delta()      {}
func (ReasoningDelta) delta() {}
func (CallStart) delta()      {}
func (ArgsDelta) delta()      {}
func (CallEnd) delta()        {}
func (UsageDelta) delta()     {}
func (Finish) delta()         {}

// FinishReason is why a model stopped.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"
	FinishTools  FinishReason = "tools"
	FinishLength FinishReason = "length"     // token limit: the turn ends truncated
	FinishFilter FinishReason = "filter"     // the provider withheld the rest
	FinishRepeat FinishReason = "repetition" // our guard stopped it: it went round in circles
)

// Tokens counts what a model call used; a nil count is unknown.
type Tokens struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
}

// Failure is an engine's, model's or store's error as data: a closed code for
// programs, a sentence for people and the next step.
type Failure struct {
	Code       FailureCode `json:"code"`
	Message    string      `json:"message"`
	Hint       string      `json:"hint,omitempty"`
	Status     int         `json:"status,omitempty"`         // HTTP status when a peer gave one
	RetryAfter int64       `json:"retry_after_ms,omitempty"` // as the peer asked, milliseconds
}

func (f *Failure) Error() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + " (" + f.Hint + ")"
}

// FailureCode is the closed set of engine errors (TOL-04).
type FailureCode string

const (
	FailAuth        FailureCode = "auth"           // no or wrong credentials
	FailRequest     FailureCode = "bad_request"    // the provider refused the request for good
	FailContext     FailureCode = "context_length" // the history does not fit the model
	FailRateLimit   FailureCode = "rate_limit"     // 429
	FailOverloaded  FailureCode = "overloaded"     // 5xx, overload
	FailTransport   FailureCode = "transport"      // no route, TLS, cut connection
	FailProtocol    FailureCode = "protocol"       // an answer that is not one: HTML, half a JSON, no terminal event
	FailEmpty       FailureCode = "empty_answer"   // a finished answer with nothing in it
	FailStall       FailureCode = "stall"          // silence past the limit
	FailStorage     FailureCode = "storage"        // the journal could not be written
	FailTool        FailureCode = "tool_fatal"     // a tool's fatal error or panic
	FailInternal    FailureCode = "internal"       // a broken invariant of ours
	FailConfig      FailureCode = "config"         // settings
	FailBusy        FailureCode = "session_busy"   // owned elsewhere
	FailDamaged     FailureCode = "damaged"        // the journal is damaged beyond its tail
	FailUsage       FailureCode = "usage"          // the caller's request is wrong
	FailBlocked     FailureCode = "blocked"        // a hook said that the turn may not go on, or nobody could approve a call
	FailLoop        FailureCode = "loop"           // the model repeats itself
	FailCompaction  FailureCode = "compaction"     // no summary could be made
	FailUnsupported FailureCode = "unsupported"    // this can't be done, here or now
)

// Retryable reports whether another attempt at the same request may help.
func (c FailureCode) Retryable() bool {
	switch c {
	case FailRateLimit, FailOverloaded, FailTransport, FailProtocol, FailEmpty, FailStall:
		return true
	case FailAuth, FailRequest, FailContext, FailStorage, FailTool, FailInternal,
		FailConfig, FailBusy, FailDamaged, FailUsage, FailBlocked, FailLoop, FailCompaction, FailUnsupported:
		return false
	}
	return false
}
