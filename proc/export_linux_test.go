package proc

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
)

// StartOf returns when pid started, zero if there is no such process.
func StartOf(pid int) uint64 {
	p, _ := look(pid)
	return p.start
}

// SignalExactly signals the process that pid and start name.
func SignalExactly(pid int, start uint64, sig unix.Signal) bool {
	return signalExactly(process{pid: pid, start: start}, sig)
}

// SignalGroup lets a guardian whose command led the group pgid signal it.
func SignalGroup(pgid int, reaped bool, sig unix.Signal) bool {
	g := &guardian{started: event.ProcessStarted{PID: pgid}}
	if reaped {
		g.record = &ExitRecord{}
	}
	return g.group(sig)
}

// SyncExit makes a command's output and exit record durable.
func SyncExit(spool string) error { return syncExit(spool) }

// DrainTerminal takes what waits in a terminal's master, as a pump does at the
// end of a tree.
func DrainTerminal(master *os.File) (got int, err error) {
	f, err := duplicate(master)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	p := newPump(f, func(b []byte) { got += len(b) })
	p.tty = true
	p.drain(make([]byte, pumpBuffer))
	return got, nil
}

// DrainWoken takes what waits in a pipe and is woken once more while it does,
// after the first part.
func DrainWoken(r *os.File) (got, parts int, err error) {
	p := newPump(r, func(b []byte) {
		got += len(b)
		if parts++; parts == 1 {
			err = r.SetReadDeadline(time.Unix(1, 0))
		}
	})
	p.drain(make([]byte, pumpBuffer))
	return got, parts, err
}

// wokenLate is a pump's end of a pipe to which somebody comes with a request at
// the moment that an earlier one's wake is taken back.
type wokenLate struct {
	*os.File
	come func()
}

func (w *wokenLate) SetReadDeadline(t time.Time) error {
	if t.IsZero() && w.come != nil {
		come := w.come
		w.come = nil
		come()
	}
	return w.File.SetReadDeadline(t)
}

// CutAfterAWake runs a pump that is woken for nothing, and cuts it as it goes
// back to its reading; ended is closed when it has ended.
func CutAfterAWake(r *os.File) (ended <-chan struct{}) {
	w := &wokenLate{File: r}
	p := newPump(w, func([]byte) {})
	w.come = func() {
		p.reqs <- pumpRequest{last: true, done: make(chan struct{})}
		_ = r.SetReadDeadline(time.Unix(1, 0))
	}
	_ = r.SetReadDeadline(time.Unix(1, 0))
	go p.run()
	return p.done
}

// CutHeld runs a pump and cuts it while somebody else holds the pipe's other
// end and prints nothing; it returns when the pump has ended, or after bound.
func CutHeld(r *os.File, bound time.Duration) (ended <-chan struct{}) {
	p := newPump(r, func([]byte) {})
	go p.run()
	go p.cut(bound)
	return p.done
}

// AdoptAsItCloses has h, which closes at this moment, count t among its trees;
// over is closed when h has nothing to do with t any more.
func AdoptAsItCloses(h Host, t Tree) (over <-chan struct{}) {
	g, own := h.(*guardianHost), t.(*tree)
	g.mu.Lock()
	delete(g.trees, own)
	g.closed = true
	close(g.closing)
	g.mu.Unlock()
	g.adopt(own)
	return own.over
}
