//go:build unix

package tui

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspender stops this process group, as Ctrl+Z does in a cooked terminal. The
// program runs it with the terminal given back, and takes it again after.
type suspender struct{}

func (suspender) SetStdin(io.Reader)  {}
func (suspender) SetStdout(io.Writer) {}
func (suspender) SetStderr(io.Writer) {}

// Run returns when the process was continued. A process that nobody could
// continue (an orphaned group: no shell above it) is not stopped by the system;
// that is told from the missing SIGCONT.
func (suspender) Run() error {
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	defer signal.Stop(cont)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return errors.New("cannot suspend: " + err.Error())
	}
	select {
	case <-cont:
		return nil
	case <-time.After(300 * time.Millisecond):
		return errors.New("cannot suspend: no shell above to continue from")
	}
}
