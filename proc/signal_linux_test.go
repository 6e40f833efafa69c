package proc_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/proc"
)

// stranger starts a process that leads a group of its own; ended is closed once
// it has ended.
func stranger(t *testing.T) (pid int, ended <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // killed: its error says so
	}()
	t.Cleanup(func() {
		_ = unix.Kill(cmd.Process.Pid, unix.SIGKILL)
		<-done
	})
	return cmd.Process.Pid, done
}

// lives reports whether what ended stands for takes more than a moment to end.
func lives(ended <-chan struct{}) bool {
	moment := time.NewTimer(100 * time.Millisecond)
	defer moment.Stop()
	select {
	case <-ended:
		return false
	case <-moment.C:
		return true
	}
}

// ends waits for what ended stands for.
func ends(ended <-chan struct{}) bool {
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	select {
	case <-ended:
		return true
	case <-bound.C:
		return false
	}
}

// A number and a start name one process; a stranger that has the number now
// has another start.
//
// proves PRC-03, B008
func TestTheSignalGoesToTheProcessThatWasSeenAndToNoOther(t *testing.T) {
	pid, ended := stranger(t)
	start := proc.StartOf(pid)
	if proc.SignalExactly(pid, start+1, unix.SIGKILL) || !lives(ended) {
		t.Fatal("a process that started at another time was signalled")
	}
	if !proc.SignalExactly(pid, start, unix.SIGKILL) || !ends(ended) {
		t.Error("the process itself was not signalled")
	}
	if proc.SignalExactly(pid, start, unix.SIGKILL) {
		t.Error("a process that is gone was signalled")
	}
}

// The group's number is its leader's: once the leader is reaped the system may
// give it to anybody.
//
// proves PRC-03
func TestAGroupIsSignalledOnlyWhileItsLeaderIsUnreaped(t *testing.T) {
	pid, ended := stranger(t)
	if proc.SignalGroup(pid, true, unix.SIGKILL) || !lives(ended) {
		t.Fatal("a group whose leader was reaped was signalled")
	}
	if !proc.SignalGroup(pid, false, unix.SIGKILL) || !ends(ended) {
		t.Error("the group of an unreaped leader was not signalled")
	}
}
