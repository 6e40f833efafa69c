package proc

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Lane is the means by which a tree is held together.
type Lane string

const (
	LaneCgroup   Lane = "cgroup"   // a guardian with a cgroup of its own: cgroup.kill
	LaneGuardian Lane = "guardian" // a guardian that sweeps its descendants until none is left
	LaneGroup    Lane = "group"    // a process group only: daemons can escape
)

// Host starts process trees. It is safe for concurrent use.
type Host interface {
	// Start runs spec as a new tree. An error means that nothing runs. The
	// context bounds the starting only; the tree is ended by [Tree.Stop].
	Start(ctx context.Context, spec Spec) (Tree, error)
	// Adopt finds the tree of a kept job that outlived its runtime.
	Adopt(ctx context.Context, rec event.ProcessStarted, spool string) (Tree, error)
	// Lane is what new trees get.
	Lane() Lane
	// Close stops pre-started guardians. Trees must have been stopped or kept.
	Close() error
}

// Spec says what to run. Argv is never rendered into a shell by this package.
type Spec struct {
	Owner   string // "call", "job", "hook", "mcp"
	ID      string // the owner's id; names cgroup and spool
	Argv    []string
	Dir     string
	Env     []string         // complete; see [Environ]
	Stdin   []byte           // nil: closed
	Spool   string           // base path: output in Spool+".out", exit record in Spool+".exit", both replaced if there; empty: a temporary one
	Limit   int64            // bytes of spool kept (head and tail); 0 means 8 MiB
	Timeout time.Duration    // 0: none; the tree is ended by its guardian even if the runtime hangs
	Ask     Signal           // first rung; 0 means SIGTERM
	Ladder  interrupt.Ladder // used at time-out and when the runtime dies
	Live    io.Writer        // gets output as it comes; a slow or failing writer loses output, never delays

	// Files, where not nil, are the command's descriptors 0, 1 and 2 instead of
	// [Spec.Stdin] and the spool: for terminals and for servers that speak over
	// pipes. Start duplicates them; the caller closes its own.
	Files [3]*os.File
	// TTY makes Files[0] the controlling terminal of the command's session.
	TTY bool
	// Hold, where not nil, is the other end of Files[0]: with TTY the master of
	// a pseudo-terminal whose slave is all three Files, else the write end of a
	// pipe. Who keeps the tree holds it until nothing of the tree is left, so
	// that the runtime's death neither hangs up nor closes what is kept, and
	// hands it to a runtime that adopts the tree. What a master says is caught
	// in the spool. Start duplicates it and makes it non-blocking; the caller
	// closes its own. [InputOf] is the way to it.
	Hold *os.File
}

// Signal is a signal number of this system.
type Signal int

// Tree is a running command and all that it started. Methods may be called
// from any goroutine, repeatedly.
type Tree interface {
	// Started identifies the tree for the journal.
	Started() event.ProcessStarted
	// PIDs lists who is alive now, leader first. Zombies are not alive.
	PIDs() []int
	// Exited is closed when the leader has ended; children may live on.
	Exited() <-chan struct{}
	// Gone is closed when nothing of the tree is alive and its output is
	// complete.
	Gone() <-chan struct{}
	// Exit is the leader's end; ok is false before Exited is closed.
	Exit() (e Exit, ok bool)
	// Output returns what was caught so far: head and tail within limit bytes.
	Output(limit int) Output
	// Stop climbs the ladder and returns when the tree is gone or the ladder's
	// bound has passed. A later Stop with a shorter ladder hastens an earlier
	// one.
	Stop(l interrupt.Ladder) Stopped
	// Keep says whether the tree lives on when the runtime dies.
	Keep(keep bool) error
}

// Exit is how a leader ended. Code is nil when a signal ended it.
type Exit struct {
	Code     *int          `json:"exit_code"`
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out"`
	Ran      time.Duration `json:"ran_ns"`
	Lost     string        `json:"lost,omitempty"` // why the end is not known
	Own      bool          `json:"-"`              // it had ended before anybody asked it to; false also where nobody can tell
}

// Output is caught output; Text is valid UTF-8 whatever the command printed.
type Output struct {
	Text      string
	Bytes     int64 // produced in all
	Dropped   int64 // kept nowhere
	Truncated bool  // Text is not all of it
	Binary    bool
	File      string // the spool file
}

// Stopped is what a Stop saw.
type Stopped struct {
	interrupt.Climbed
	Survivors []int // still alive when it gave up
}
