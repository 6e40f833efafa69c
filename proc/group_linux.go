package proc

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inputQueued asks how many bytes wait in a pipe.
const inputQueued = unix.TIOCINQ

// waitUnreaped waits for a child's end and leaves it to be reaped.
func waitUnreaped(pid int) (ws syscall.WaitStatus, known bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, false
		}
	}
	// The union begins at the first word boundary after three ints; its third
	// int is the status.
	const union = (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), union+8))
	const exited = 1 // CLD_EXITED
	if info.Code == exited {
		return syscall.WaitStatus(status << 8), true
	}
	return syscall.WaitStatus(status & 0x7f), true
}

// hasEnded reports whether a child has ended that was not reaped.
func hasEnded(pid int) bool {
	p, ok := look(pid)
	return ok && !p.alive()
}

// groupMembers lists the living members of a group, the leader first.
func groupMembers(pgid int) (pids []int) {
	for _, pid := range allPIDs() {
		if p, ok := look(pid); ok && p.pgrp == pgid && p.alive() {
			if pid == pgid {
				pids = append([]int{pid}, pids...)
			} else {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func startOf(pid int) uint64 {
	p, _ := look(pid)
	return p.start
}
