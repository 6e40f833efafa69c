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
	var p *pump
	p = newPump(r, func(b []byte) {
		got += len(b)
		if parts++; parts == 1 {
			err = r.SetReadDeadline(time.Unix(1, 0))
		}
	})
	p.drain(make([]byte, pumpBuffer))
	return got, parts, err
}
