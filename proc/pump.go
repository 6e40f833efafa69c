//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pump carries what comes through a pipe to sink, on a goroutine of its own
// (run), whoever holds the other end. Only one other goroutine may call flush
// and cut.
type pump struct {
	r    outlet
	sink func([]byte)
	tty  bool // r is a terminal's master
	reqs chan pumpRequest
	done chan struct{} // closed when run has returned and will not call sink again
}

// outlet is what a pump reads: a file, but for tests.
type outlet interface {
	io.ReadCloser
	SetReadDeadline(t time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

type pumpRequest struct {
	last bool
	done chan struct{}
}

const pumpBuffer = 64 << 10

func newPump(r outlet, sink func([]byte)) *pump {
	return &pump{r: r, sink: sink, reqs: make(chan pumpRequest, 1), done: make(chan struct{})}
}

func (p *pump) run() {
	defer close(p.done)
	defer p.r.Close()
	buf := make([]byte, pumpBuffer)
	for {
		n, err := p.r.Read(buf)
		if n > 0 {
			p.sink(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = p.r.SetReadDeadline(time.Time{})
		}
		if p.answer(buf) || err != nil {
			return
		}
	}
}

// answer does what was asked for; last says that the pump is to end. Whoever
// asks leaves word first and wakes the reader then. So each time that the wake
// is taken back, here by drain, the requests are looked at once more: the wake
// may have been another's.
func (p *pump) answer(buf []byte) (last bool) {
	for {
		select {
		case req := <-p.reqs:
			p.drain(buf)
			close(req.done)
			if req.last {
				return true
			}
		default:
			return false
		}
	}
}

// terminalMost is what one look takes of a terminal: more than the kernel keeps
// for it, less than what a writer that never stops could hold us with.
const terminalMost = 1 << 20

// drain reads what is there now and no more: a writer that never stops cannot
// hold it. How much a terminal's master has cannot be asked: the line discipline
// takes it over only when somebody reads. It reads past the runtime's poller,
// because the deadline that wakes the pump may come while it is here already,
// and is no reason to leave anything behind.
func (p *pump) drain(buf []byte) {
	if p.r.SetReadDeadline(time.Time{}) != nil {
		return // a file whose reads wait
	}
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		left := terminalMost
		if !p.tty {
			left, _ = unix.IoctlGetInt(int(fd), inputQueued)
		}
		for left > 0 {
			n, err := unix.Read(int(fd), buf[:min(left, len(buf))])
			switch {
			case n > 0:
				p.sink(buf[:n])
				left -= n
			case !errors.Is(err, unix.EINTR):
				return // EAGAIN: nothing more; EIO or the end: nor will there be
			}
		}
	})
}

// flush returns once what was in the pipe at the call has reached sink.
func (p *pump) flush(bound time.Duration) { p.request(false, bound) }

// cut is flush, and the end: a holder of the pipe's other end is left alone
// with it.
func (p *pump) cut(bound time.Duration) { p.request(true, bound) }

func (p *pump) request(last bool, bound time.Duration) {
	req := pumpRequest{last: last, done: make(chan struct{})}
	limit := time.NewTimer(bound)
	defer limit.Stop()
	select {
	case p.reqs <- req:
	case <-p.done:
		return
	case <-limit.C:
		return
	}
	_ = p.r.SetReadDeadline(time.Unix(1, 0)) // wakes a reader that waits
	heard := req.done
	if last {
		heard = p.done
	}
	select {
	case <-heard:
	case <-p.done:
	case <-limit.C:
		if last {
			p.r.Close()
		}
	}
}
