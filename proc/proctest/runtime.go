package proctest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
)

const runtimeVar = "PROCTEST_RUNTIME"

// Main begins a test binary's TestMain: it is [proc.Main], and the runtime
// that some tests kill.
func Main() {
	proc.Main()
	if job := os.Getenv(runtimeVar); job != "" {
		if err := beRuntime(job); err != nil {
			fmt.Fprintln(os.Stderr, "runtime:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// runtimeJob is what a runtime to be killed is to start.
type runtimeJob struct {
	Cgroup proc.CgroupUse
	Group  bool
	Spec   proc.Spec
	Keep   bool
	Deaf   bool // its guardian is stopped, and does not hear that it is to keep
	Hold   Hold
}

// beRuntime starts a tree, tells about it and waits for its own end.
func beRuntime(job string) error {
	var j runtimeJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		return err
	}
	h, err := proc.NewHost(proc.Options{Cgroup: j.Cgroup, Group: j.Group, Scratch: os.TempDir()})
	if err != nil {
		return err
	}
	done, err := j.Hold.give(&j.Spec)
	if err != nil {
		return err
	}
	tree, err := h.Start(context.Background(), j.Spec)
	done()
	if err != nil {
		return err
	}
	if j.Deaf {
		if err := syscall.Kill(tree.Started().Guardian.PID, syscall.SIGSTOP); err != nil {
			return err
		}
		if tree.Keep(true) == nil {
			return errors.New("a stopped guardian keeps")
		}
	} else if j.Keep {
		if err := tree.Keep(true); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(tree.Started()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Runtime is another process that runs a tree, made to be killed.
type Runtime struct {
	Tree event.ProcessStarted
	cmd  *exec.Cmd
	in   io.Closer
}

// StartRuntime runs this test binary again as a runtime with one tree.
func StartRuntime(t testing.TB, d Driver, spec proc.Spec, keep bool) *Runtime {
	t.Helper()
	return startRuntime(t, d, runtimeJob{Spec: spec, Keep: keep})
}

// StartUnheard is StartRuntime with a guardian that was stopped and has not
// heard that it is to keep the tree.
func StartUnheard(t testing.TB, d Driver, spec proc.Spec) *Runtime {
	t.Helper()
	return startRuntime(t, d, runtimeJob{Spec: spec, Deaf: true})
}

// startRuntime passes files down to it as its descriptors from 3 on.
func startRuntime(t testing.TB, d Driver, job runtimeJob, files ...*os.File) *Runtime {
	t.Helper()
	job.Cgroup, job.Group = d.Options.Cgroup, d.Options.Group
	j, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), runtimeVar+"="+string(j))
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, files
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &Runtime{cmd: cmd, in: in}
	t.Cleanup(r.Kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r.Tree)
	}
	if err != nil {
		t.Fatalf("runtime said %q: %v", line, err)
	}
	return r
}

// Kill ends the runtime with SIGKILL, once.
func (r *Runtime) Kill() {
	if r.cmd.ProcessState == nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.in.Close()
	}
}

const second = time.Second
