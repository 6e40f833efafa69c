//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// inputQueued asks how many bytes wait in a pipe.
const inputQueued = 0x4004667f

// waitUnreaped waits for a child's end and leaves it to be reaped.
func waitUnreaped(pid int) (ws syscall.WaitStatus, known bool) {
	kq, err := unix.Kqueue()
	if err != nil {
		return 0, false
	}
	defer unix.Close(kq)
	var ev unix.Kevent_t
	unix.SetKevent(&ev, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	ev.Fflags = unix.NOTE_EXIT | noteStatus
	got := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(kq, []unix.Kevent_t{ev}, got, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return 0, false // it had ended before we looked
		}
		return syscall.WaitStatus(got[0].Data), true
	}
}

// hasEnded is for Linux: here an end is known when it was waited for.
func hasEnded(int) bool { return false }

// groupMembers lists the living members of a group, the leader first.
func groupMembers(pgid int) (pids []int) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "pgid=", "-o", "stat=").Output()
	if err != nil {
		if unix.Kill(-pgid, 0) == nil {
			return []int{pgid} // cannot tell: say the worse
		}
		return nil
	}
	for line := range bytes.Lines(out) {
		f := bytes.Fields(line)
		if len(f) < 3 || string(f[1]) != strconv.Itoa(pgid) || f[2][0] == 'Z' {
			continue
		}
		pid, _ := strconv.Atoi(string(f[0]))
		if pid == pgid {
			pids = append([]int{pid}, pids...)
		} else {
			pids = append(pids, pid)
		}
	}
	return pids
}

func startOf(int) uint64 { return 0 }
