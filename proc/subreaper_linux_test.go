package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

// A program that uses this as a library inherits nobody: what a command leaves
// is its guardian's, and what the program itself starts is left as it was.
//
// proves PRC-02, PRC-05
func TestALibraryInheritsNobody(t *testing.T) {
	h := guardianLane().Host(t)
	defer h.Close()
	s, m := keepSpec(t, `(sleep 1000 &); exec sleep 1000`)
	tree, err := h.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.End(tree.Started(), interrupt.Ladder{Bound: time.Minute})
	proctest.Until(t, time.Minute, "both are their guardian's", func() bool {
		pids := m.Alive()
		for _, pid := range pids {
			if parentOf(pid) != tree.Started().Guardian.PID {
				return false
			}
		}
		return len(pids) == 2
	})
	out, err := exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(stranger, syscall.SIGKILL) }()
	if p := parentOf(stranger); p == os.Getpid() || p == 0 {
		t.Errorf("the parent of a stranger is %d, this process is %d", p, os.Getpid())
	}
}

// parentOf is 0 where it can't be read.
func parentOf(pid int) (parent int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nPPid:")
	_, _ = fmt.Sscan(rest, &parent)
	return parent
}
