package file

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func datasync(fd int) error { return unix.Fdatasync(fd) }

func allocate(fd int, n int64) error { return unix.Fallocate(fd, 0, 0, n) }

// bootID names this boot of the machine.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// startTime returns when a process started, in clock ticks since boot; 0 if
// there is none or it cannot be known.
func startTime(pid int) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	const startField, firstBehindName = 22, 3
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // a name may hold spaces
	if len(fields) <= startField-firstBehindName {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[startField-firstBehindName]), 10, 64)
	return n
}
