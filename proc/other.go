//go:build !linux

package proc

import (
	"os"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// guard is for Linux.
func guard() (int, bool) { return 0, false }

// Self names this process. Start times are not known on this system.
func Self() event.Owner {
	host, _ := os.Hostname()
	return event.Owner{PID: os.Getpid(), Host: host}
}

// Alive reports whether a process with o's pid lives; on this system it may be
// another one that got the pid later, so that true means "perhaps".
func Alive(o event.Owner) bool {
	p, err := os.FindProcess(o.PID)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// Found is what is left of a recorded tree on this system now.
type Found struct {
	PIDs     []int // who is alive, leader first
	Leader   bool  // the command itself is among them
	Guardian bool  // its guardian is alive: a kept tree can be adopted
}

// Find finds nothing on this system: a pid alone does not tell a tree of ours
// from a stranger.
func Find(event.ProcessStarted) Found { return Found{} }

// End touches nothing on this system, see [Find].
func End(event.ProcessStarted, interrupt.Ladder) Stopped {
	began := time.Now()
	return Stopped{Climbed: interrupt.Climbed{Took: time.Since(began)}}
}
