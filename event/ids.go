package event

// SessionID names a session; it starts with "s_" and is safe as a file name.
type SessionID string

// InputID names one submitted input from its acceptance on; it starts with
// "i_". A turn that is not yet numbered is addressed by it.
type InputID string

// CallID names one tool call. It is unique in its session: a provider's own id
// is kept when it is usable, else one is made before anything is recorded.
type CallID string

// JobID names a background process of a session.
type JobID string

// ApprovalID names one question put to a person.
type ApprovalID string

// Seq is a record's place in its journal: 0-based, contiguous, never reused.
type Seq int64

// Epoch is raised each time a writer takes a session. A write that names an
// older epoch is refused.
type Epoch uint64
