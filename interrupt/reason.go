package interrupt

import (
	"fmt"
	"strings"
	"time"
)

// Reason says why work was asked to end. Names are as on the wire.
type Reason string

const (
	UserSIGINT       Reason = "USER_SIGINT"
	NowPriorityInput Reason = "NOW_PRIORITY_INPUT"
	BudgetExceeded   Reason = "BUDGET_EXCEEDED"
	ParentCancelled  Reason = "PARENT_CANCELLED"
	TaskCancelled    Reason = "TASK_CANCELLED" // the owner cancelled the task or stopped its run; not a cascade
	SystemShutdown   Reason = "SYSTEM_SHUTDOWN"
	LeaseLost        Reason = "LEASE_LOST"
	SessionReleased  Reason = "SESSION_RELEASED"
	HolderLost       Reason = "HOLDER_LOST"

	// Unknown stands for a name written by a newer peer. It is for reading
	// only: a request that gives it is refused.
	Unknown Reason = "UNKNOWN"
)

// Reasons lists what a request may give.
func Reasons() []Reason {
	return []Reason{UserSIGINT, NowPriorityInput, BudgetExceeded, ParentCancelled, TaskCancelled,
		SystemShutdown, LeaseLost, SessionReleased, HolderLost}
}

// ParseReason reads a name exactly as written; any other is [Unknown].
func ParseReason(s string) Reason {
	for _, r := range Reasons() {
		if s == string(r) {
			return r
		}
	}
	return Unknown
}

// Requestable reports whether a request may give r.
func (r Reason) Requestable() bool { return ParseReason(string(r)) != Unknown }

// String is the standard form for logs and events: "Interrupted: " and the name.
func (r Reason) String() string { return "Interrupted: " + string(r) }

// Cause is who asked for what and when. Only Reason ever decides anything.
type Cause struct {
	Reason Reason
	Who    string    // a person, a program, "timeout"; empty when not known
	At     time.Time // when it was asked for
}

// InterruptedError is what a checkpoint and an abandoned wait return, and the
// cause that contexts derived from a coordinator carry.
type InterruptedError struct{ Cause Cause }

func (e *InterruptedError) Error() string { return e.Cause.Reason.String() }

// Is makes errors.Is match any interrupted error with any other.
func (e *InterruptedError) Is(target error) bool {
	_, ok := target.(*InterruptedError)
	return ok
}

// ErrInterrupted matches every [*InterruptedError] with errors.Is.
var ErrInterrupted error = &InterruptedError{Cause{Reason: Unknown}}

// RefusedError is returned for a request that names no reason a request may
// give.
type RefusedError struct{ Reason Reason }

func (e *RefusedError) Error() string {
	var names []string
	for _, r := range Reasons() {
		names = append(names, string(r))
	}
	return fmt.Sprintf("interrupt refused: %q is no reason that a request may give; use one of %s", string(e.Reason), strings.Join(names, ", "))
}
