package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Tool is something a model can ask for. A tool written without knowing about
// interruption is correct as it is: what it may declare is optional
// ([interrupt.Behaviourer]).
type Tool interface {
	Spec() Spec
	// Execute runs one call. The context is cut only for tools that declare
	// THREAD_INTERRUPT; the signal is [SignalOf]. An error is a reply with
	// success false (a plain error, an [*Error] of kind [Reply]) or ends the
	// turn (kind [Fatal], or a panic).
	Execute(ctx context.Context, call *Call) (Result, error)
}

// Spec describes a tool to models, gates and the dispatcher.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Effect      Effect
	Concurrent  bool // may run beside others; honoured only if the behaviour is pooled
	// Waits says that the tool is there to be asked again and again, such as
	// for news of a job: equal calls of it with equal results are no loop.
	Waits bool
	// Forced is what a call may take once every grace is gone, before it is
	// given up: for a tool whose last rung takes a moment. 0: the runner's.
	Forced time.Duration
	// Asks says that the call needs approval unless a policy allows it.
	Asks func(args json.RawMessage) (prompt string, ask bool)
	// AsksCall is Asks for a tool whose answer depends on more than the
	// arguments, such as where the workspace is. It stands before Asks.
	AsksCall func(call *Call) (prompt string, ask bool)
	// Touches lists the files that the call names, absolute and with every
	// link followed, for rules about paths; ok is false if that is not known.
	// nil: the tool is not about files.
	Touches func(call *Call) (paths []string, ok bool)
}

// Asking says whether call needs approval, with one line for the person who
// is asked. A tool that says nothing about it needs none.
func (s Spec) Asking(call *Call) (prompt string, ask bool) {
	switch {
	case s.AsksCall != nil:
		return s.AsksCall(call)
	case s.Asks != nil:
		return s.Asks(call.Args)
	}
	return "", false
}

// Effect is what running a call twice would mean.
type Effect int

const (
	Unsafe     Effect = iota // twice is twice
	Idempotent               // the call's id is its key: twice is once
	Pure                     // changes nothing
)

func (e Effect) String() string {
	switch e {
	case Unsafe:
		return "unsafe"
	case Idempotent:
		return "idempotent"
	case Pure:
		return "pure"
	}
	return "unsafe"
}

// Call is one run of a tool. ID is also the idempotency key.
type Call struct {
	ID event.CallID
	// Asked is the name that the call is judged under where it gets its ID only
	// when it starts; no other call of the session has it. Empty: it is ID.
	Asked   event.CallID
	Name    string
	Args    json.RawMessage
	Session event.SessionID
	Turn    int
	Step    int
	Dir     string // the workspace, absolute and resolved
	Spool   string // base path for what the call leaves beside the journal

	values map[any]any // see [WithValue]
}

// Result is what a call that ran came to. Success true means that the tool
// ran, whatever the command itself said (TOL-02).
type Result struct {
	Content  event.Content
	Success  bool
	ExitCode *int
	Signal   string
	TimedOut *bool
	Output   *event.Output
	// Lacks is how many bytes longer the text of Content would be if the tool had
	// not left out its middle; 0: it is whole. It goes into no record: it makes
	// the count true of what is left out once the text is cut again.
	Lacks int64
	Diff  string
	// Stopped says that the tool ended because of the interrupt and Content is
	// what it had so far; Survivors are pids that outlived the stop.
	Stopped   bool
	Survivors []int
}

// Recorder lets a running call put process and job facts into the session's
// journal. It refuses once the call's turn is over.
type Recorder interface {
	Record(ctx context.Context, p event.Payload) error
}

// Process is a tree as a job's owner needs it; proc.Tree is one, adapted.
type Process interface {
	PIDs() []int
	Gone() <-chan struct{}
	Exit() (code *int, signal string)
	Output(limit int) (text string, bytes int64)
	Stop(l interrupt.Ladder) (survivors []int)
	Keep(keep bool) error
}

// Jobs takes over what outlives its call: visible, killable, ended when the
// session closes unless kept.
type Jobs interface {
	Adopt(ctx context.Context, j Job) (event.JobID, error)
}

// Job is a process handed over.
type Job struct {
	Call    event.CallID
	Command string
	Process Process
	Keep    bool
	Spool   string
}

// Blobs keeps what does not fit into a record; journal.Blobs is one.
type Blobs interface {
	Put(ctx context.Context, data []byte) (event.BlobRef, error)
}

// Live gets a running call's output for the surfaces; it never blocks.
type Live interface{ Output(text string) }
