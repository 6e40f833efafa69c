package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/ripcord-go/ripcord/event"
)

// People puts a running call's question to whoever watches the session.
type People interface {
	// Ask records q, shows it and waits. It returns the answer; [ErrVoided]
	// when the turn was stopped first, which is no refusal; [ErrNobody] when
	// nobody is there who could answer.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is what a person reads. Options, if any, are the answers offered;
// another text may be given all the same.
type Question struct {
	Prompt  string
	Options []string
}

// Answer is what a person said. Refused says that they would not answer.
type Answer struct {
	Text    string
	By      string
	Refused bool
}

// Caller runs other tools in the name of a running call, as a script's steps.
type Caller interface {
	// Call is one inner call: judged by the session's gate, its intent durable
	// before it starts, its end recorded by its runner, stopped with the turn.
	// The error is ErrSkipped when the turn was stopped before it started, an
	// [*Error] of kind Fatal when the turn is to end; whatever else keeps it
	// from running (no such tool, bad arguments, a refusal) is an Inner with
	// its outcome. Inner calls of one call may run side by side.
	Call(ctx context.Context, name string, args json.RawMessage) (Inner, error)
}

// Inner is an inner call's end.
type Inner struct {
	N      int // 1, 2, … in the order of their start within the call
	Ended  Ended
	Denied string // why the gate refused it; "" if it did not
}

// ErrVoided and ErrNobody are what [People] may answer.
var (
	ErrVoided = errors.New("the question was withdrawn: the turn was stopped before an answer came")
	ErrNobody = errors.New("nobody is there to answer")
)

const (
	peopleKey Key[People] = "tool.people"
	callerKey Key[Caller] = "tool.caller"
)

// PeopleOf returns who can be asked, somebody who says [ErrNobody] if the call
// carries none. It is never nil.
func PeopleOf(call *Call) People {
	if p, ok := ValueOf(call, peopleKey); ok {
		return p
	}
	return nowhere{}
}

// CallerOf returns the call's way to other tools; ok is false if it has none.
func CallerOf(call *Call) (Caller, bool) { return ValueOf(call, callerKey) }

// WithPeople and WithCaller give a call its company; a session does, and tests.
func WithPeople(call *Call, p People) *Call { return WithValue(call, peopleKey, p) }

// WithCaller is documented at [WithPeople].
func WithCaller(call *Call, c Caller) *Call { return WithValue(call, callerKey, c) }

func (nowhere) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobody }

// InnerID names the n-th inner call of call, for processes and spools.
func InnerID(call event.CallID, n int) event.CallID {
	return call + event.CallID(innerSuffix(n))
}

func innerSuffix(n int) string { return "." + strconv.Itoa(n) }
