package tool

import (
	"errors"
	"fmt"
)

// Kind says what an error of a tool means for its turn. There are two.
type Kind int

const (
	// Reply is an answer to the model; the turn goes on. Every plain error is
	// one.
	Reply Kind = iota
	// Fatal ends the turn: the engine is broken.
	Fatal
)

func (k Kind) String() string {
	switch k {
	case Reply:
		return "reply"
	case Fatal:
		return "fatal"
	}
	return "reply"
}

// Error is a tool's error with its kind. Msg is for the model (Reply) or for
// people (Fatal); Err, which may be nil, is what is below it.
type Error struct {
	Kind Kind
	Msg  string
	Err  error
}

// Error gives the sentence; a fatal one begins with "Fatal error: ".
func (e *Error) Error() string {
	msg := e.Msg
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if e.Kind == Fatal {
		return "Fatal error: " + msg
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// Replyf makes an error of kind Reply: a sentence that says what to do next.
// %w keeps the error below it.
func Replyf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: Reply, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Fatalf makes an error of kind Fatal; %w keeps the error below it.
func Fatalf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: Fatal, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// FatalError makes err end the turn; nil stays nil and what is fatal stays as
// it is.
func FatalError(err error) error {
	if err == nil || IsFatal(err) {
		return err
	}
	return &Error{Kind: Fatal, Err: err}
}

// IsFatal reports whether err ends the turn.
func IsFatal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Fatal
}

// Sentinels.
var (
	// ErrSkipped is returned by [Book.Start] when the turn was tripped or is
	// over: the tool must not run.
	ErrSkipped = errors.New("skipped: the turn was cancelled before this tool started")
	// ErrOver is returned by what travels with a call once the call has its
	// end: whatever it still wants to do belongs to no turn any more.
	ErrOver = errors.New("the call is over: nothing more is done in its name")
	// ErrNoJobs is returned by [Jobs.Adopt] where nobody can own a job.
	ErrNoJobs = errors.New("background jobs are not available here")
)
