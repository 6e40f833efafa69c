//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// held is the runtime's end of a command's input. The file description is
// shared with whoever else holds it; everybody keeps it non-blocking. A nil
// held is none.
type held struct {
	f   *os.File
	tty bool
	end func() error // lets go of every other holder's

	writing sync.Mutex // one writer has the deadline
}

// holdOf takes the other end of what s gives its command, nil if nothing is to
// be held.
func holdOf(s Spec) (*held, error) {
	switch {
	case s.Hold == nil:
		return nil, nil
	case s.Files[0] == nil:
		return nil, errors.New("what is held is the other end of Files[0], which is not given")
	case s.TTY && (s.Files[1] == nil || s.Files[2] == nil):
		return nil, errors.New("a terminal that is held must be all three Files")
	}
	f, err := duplicate(s.Hold)
	if err != nil {
		return nil, fmt.Errorf("duplicate what is to be held: %w", err)
	}
	return &held{f: f, tty: s.TTY}, nil
}

// heldOf takes what an adopted tree's guardian passed on.
func heldOf(files []*os.File, tty bool) *held {
	if len(files) == 0 {
		return nil
	}
	closeAll(files[1:])
	return &held{f: files[0], tty: tty}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// duplicate returns another descriptor of f's file description, non-blocking.
func duplicate(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) })
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "held"), nil
}

// blocking makes files as commands expect them.
func blocking(files ...*os.File) error {
	for _, f := range files {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		failed := error(nil)
		err = raw.Control(func(fd uintptr) { failed = unix.SetNonblock(int(fd), false) })
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) close() {
	if h != nil {
		_ = h.f.Close() // also for whoever writes just now
	}
}

func (h *held) Terminal() bool { return h.tty }

func (h *held) Write(p []byte, bound time.Duration) (n int, err error) {
	h.writing.Lock()
	defer h.writing.Unlock()
	if err := h.f.SetWriteDeadline(time.Now().Add(bound)); errors.Is(err, os.ErrNoDeadline) {
		return 0, err // without one a command that does not read would hold us
	} else if err != nil {
		return 0, os.ErrClosed
	}
	return h.f.Write(p)
}

func (h *held) Resize(rows, cols int) error {
	if !h.tty {
		return errors.New("resize: it has no terminal")
	}
	raw, err := h.f.SyscallConn()
	if err != nil {
		return err
	}
	failed := error(nil)
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	})
	return errors.Join(err, failed)
}

func (h *held) End() error {
	if h.tty {
		return errors.New("a terminal's input has no end: write it a Ctrl-D")
	}
	if h.end != nil {
		if err := h.end(); err != nil {
			return err
		}
	}
	return h.f.Close()
}
