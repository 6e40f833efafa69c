package workflow

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// restrict has the kernel hold what the engine holds too: address space beyond
// what the program has now, processor time, and no byte in a file: it prints into a pipe.
func restrict(l limits) error {
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(stat, []byte(" "))
	pages, err := strconv.ParseUint(string(first), 10, 64)
	if err != nil {
		return err
	}
	// The collector needs room beside what lives; the address space is taken
	// in arenas of 64 MiB.
	space := pages*uint64(os.Getpagesize()) + 2*uint64(l.Memory) + 256<<20
	seconds := uint64(l.CPU / time.Second)
	for which, limit := range map[int]uint64{syscall.RLIMIT_AS: space, syscall.RLIMIT_CPU: seconds, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0} {
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// named gives the process its name in lists.
func named() { _ = os.WriteFile("/proc/self/comm", []byte("ripcord-script"), 0) }

// brokenPipe is the signal that a write to nobody raises.
var brokenPipe = []os.Signal{syscall.SIGPIPE}
