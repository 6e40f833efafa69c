//go:build linux

package terminal_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// unseenHost starts one command that has ended at once and leaves something
// behind that no look finds: it goes, with a last word, or shows, a little later.
type unseenHost struct {
	proc.Host
	tree *unseenTree
}

func (h *unseenHost) Start(_ context.Context, s proc.Spec) (proc.Tree, error) {
	h.tree.spec = s
	time.AfterFunc(300*time.Millisecond, h.tree.later)
	return h.tree, nil
}

type unseenTree struct {
	spec         proc.Spec
	shows        bool
	exited, gone chan struct{}
	over         chan struct{} // closed: it has come to later
}

func (t *unseenTree) later() {
	close(t.over)
	if !t.shows {
		close(t.gone)
	}
}

func (t *unseenTree) Started() event.ProcessStarted {
	return event.ProcessStarted{Owner: t.spec.Owner, ID: t.spec.ID, PID: 4711}
}

func (t *unseenTree) PIDs() []int {
	select {
	case <-t.over:
		if t.shows {
			return []int{42}
		}
	default:
	}
	return nil
}

func (t *unseenTree) Output(int) proc.Output {
	select {
	case <-t.over:
		return proc.Output{Text: "last", Bytes: 4}
	default:
		return proc.Output{}
	}
}

func (t *unseenTree) Exited() <-chan struct{}            { return t.exited }
func (t *unseenTree) Gone() <-chan struct{}              { return t.gone }
func (t *unseenTree) Exit() (proc.Exit, bool)            { return proc.Exit{Code: new(int), Own: true}, true }
func (t *unseenTree) Stop(interrupt.Ladder) proc.Stopped { return proc.Stopped{} }
func (t *unseenTree) Keep(bool) error                    { return os.ErrInvalid }

// A terminal of which nobody is seen is not taken for gone before it says so:
// its last words are waited for, and who was overlooked is owned.
//
// proves PRC-05, PRC-06, TOL-22
func TestATreeOfWhichNobodyIsSeenIsNotTakenForGone(t *testing.T) {
	for name, shows := range map[string]bool{"the last words are on their way": false, "one was overlooked": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := &unseenTree{shows: shows, exited: make(chan struct{}), gone: make(chan struct{}), over: make(chan struct{})}
				close(tree.exited)
				b := newBench(t, terminal.Options{Host: &unseenHost{tree: tree}})
				text := b.ok("terminal_start", m{"command": "x", "tty": false})
				if !strings.HasSuffix(text, "output:\nlast") || strings.Contains(text, "left running: pids 42, as terminal j_1") != shows || (len(b.jobs.All()) == 1) != shows {
					t.Errorf("%q, jobs %v", text, b.jobs.All())
				}
			})
		})
	}
}
