package proc_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

// More waits in a terminal than its line discipline counts: all of it is taken,
// and a terminal whose other end is closed gives what it has, which is no error.
//
// proves PRC-06, TOL-22
func TestATerminalsLastWordsAreTaken(t *testing.T) {
	for _, closed := range []bool{false, true} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		const size = 7000 // what the kernel holds for nobody who reads
		if n, err := slave.WriteString(strings.Repeat("x", size)); n != size || err != nil {
			t.Fatal(n, err)
		}
		if closed {
			slave.Close()
		}
		if got, err := proc.DrainTerminal(master); got != size || err != nil {
			t.Errorf("%d of %d bytes, %v", got, size, err)
		}
		if got, err := proc.DrainTerminal(master); got != 0 || err != nil {
			t.Errorf("then %d bytes, %v", got, err)
		}
		slave.Close()
		master.Close()
	}
}

// Who asks for the last words first leaves word and then wakes the reader, who
// may be up already: the wake cuts nothing.
//
// proves PRC-05, PRC-06
func TestAWakeThatComesLateCutsNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const size = 256 << 10 // more than a pump takes at a time
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if n, err := w.WriteString(strings.Repeat("x", size)); n != size || err != nil {
		t.Fatal(n, err)
	}
	for _, closed := range []bool{false, true} {
		if closed {
			if _, err := w.WriteString(strings.Repeat("x", size)); err != nil {
				t.Fatal(err)
			}
			w.Close()
		}
		got, parts, err := proc.DrainWoken(r)
		if got != size || parts < 2 || err != nil {
			t.Fatalf("%d of %d bytes in %d parts, %v", got, size, parts, err)
		}
	}
}

// A request that comes while the wake of an earlier one is being taken back is
// seen: its own wake may have been the one that was taken back.
//
// proves PRC-05, PRC-06
func TestARequestThatComesWithAnothersWakeIsSeen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // held, so that nothing but the request ends the pump
	proctest.Within(t, time.Minute, "the pump's end", proc.CutAfterAWake(r))
}

// A holder of the pipe's other end holds up nobody, however long the end may be
// waited for.
//
// proves PRC-06
func TestAPumpIsCutFromAHeldPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	proctest.Within(t, time.Minute, "the pump's end", proc.CutHeld(r, time.Hour))
}
