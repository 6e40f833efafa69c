//go:build linux

package terminal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// early is a host whose commands end by themselves just before they are
// stopped: they wait to be let.
type early struct {
	proc.Host
	t   *testing.T
	let string
}

type earlyTree struct {
	proc.Tree
	host *early
}

func (h *early) Start(ctx context.Context, spec proc.Spec) (proc.Tree, error) {
	tree, err := h.Host.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &earlyTree{tree, h}, nil
}

func (t *earlyTree) Stop(l interrupt.Ladder) proc.Stopped {
	select {
	case <-t.Exited():
	default:
		if err := os.WriteFile(t.host.let, []byte("go\n"), 0); err != nil {
			t.host.t.Error(err)
		}
		<-t.Exited()
	}
	return t.Tree.Stop(l)
}

// A terminal's command that had ended before the stop asked it to is not said
// to have been stopped, neither to the model nor in the record.
//
// proves TOL-07, TOL-22
func TestWhatHadEndedBeforeItWasAskedIsNotStopped(t *testing.T) {
	lanes(t, func(t *testing.T, host proc.Host) {
		for name, wait := range map[string]func(b *bench, command string) tool.Ended{
			"start": func(b *bench, command string) tool.Ended {
				over := b.tripAt("up")
				defer func() { <-over }()
				return b.do("terminal_start", m{"command": command, "wait_ms": 600000, "quiet_ms": 0})
			},
			"poll": func(b *bench, command string) tool.Ended {
				b.open("j_1", command, nil)
				b.ok("terminal_poll", m{"id": "j_1", "wait_ms": 1}) // the first poll; the trip meets the second
				go b.trip()
				return b.do("terminal_poll", m{"id": "j_1", "wait_ms": 600000, "quiet_ms": 0})
			},
		} {
			t.Run(name, func(t *testing.T) {
				h := &early{Host: host, t: t, let: filepath.Join(t.TempDir(), "go")}
				if err := syscall.Mkfifo(h.let, 0o600); err != nil {
					t.Fatal(err)
				}
				b := newBench(t, terminal.Options{Host: h})
				e := wait(b, `echo up; read x <`+h.let+`; exit 3`)
				text := e.Result.Content.Text()
				if e.Outcome != event.CallFinished || e.Result.Stopped || e.Result.ExitCode == nil || *e.Result.ExitCode != 3 || !strings.Contains(text, "exit code 3") {
					t.Errorf("%s %q %+v", e.Outcome, text, e.Result)
				}
				if got := fmt.Sprint(b.kinds()); name == "start" && got != "[ProcessStarted ended exited]" {
					t.Errorf("recorded %s", got)
				}
				if jobs := b.jobs.All(); name == "poll" && jobs[0].Process.(interface{ EndedBy() string }).EndedBy() != "" {
					t.Error("somebody is said to have ended it")
				}
			})
		}
	})
}
