package proctest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const markVar = "PROCTEST_MARK"

// Mark is a name that processes of one test carry in their environment.
type Mark string

// Marks makes marks that nobody else has; the zero value is ready.
type Marks struct{ n atomic.Int64 }

// New returns the next mark.
func (m *Marks) New(what string) Mark {
	return Mark(fmt.Sprintf("%s-%d-%d-%d", what, os.Getpid(), time.Now().UnixNano(), m.n.Add(1)))
}

// Env is the mark as a variable.
func (m Mark) Env() string { return markVar + "=" + string(m) }

// Alive lists who carries the mark and can still run, from the process table.
func (m Mark) Alive() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic("proctest needs /proc: " + err.Error())
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte(m.Env()+"\x00")) {
			continue
		}
		if runs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// runs reads the word that the kernel has for a process's state.
func runs(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// stateOf is a process's state, one letter; 0 if there is no such process.
func stateOf(pid int) byte {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if state, ok := strings.CutPrefix(line, "State:"); ok {
			return strings.TrimSpace(state)[0]
		}
	}
	return 0
}

// None reports whether nobody carries the mark: two looks, because a process
// that is just being replaced by another program shows no environment.
func (m Mark) None() bool {
	for range 2 {
		if len(m.Alive()) > 0 {
			return false
		}
	}
	return true
}

// Until waits for a condition.
func Until(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !eventually(limit, holds) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

func eventually(limit time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			return holds()
		case <-tick.C:
		}
	}
	return true
}

// Within waits for a channel to be closed.
func Within(t testing.TB, limit time.Duration, what string, c <-chan struct{}) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// Bystander starts a process that no host knows, and checks at the test's end
// that it still lives. It returns its pid.
func Bystander(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		if !runs(pid) {
			t.Errorf("bystander %d was killed", pid)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return pid
}
