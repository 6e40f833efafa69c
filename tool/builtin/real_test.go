//go:build linux

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

func realHost(t *testing.T) proc.Host {
	t.Helper()
	h, err := proc.NewHost(proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dead waits until none of pids runs any more.
func dead(t *testing.T, pids ...int) {
	t.Helper()
	ctx := within(t, time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !zombie(pid) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("process %d is alive", pid)
			}
		}
	}
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

func pidsIn(t *testing.T, text string) (pids []int) {
	t.Helper()
	for _, f := range strings.Fields(text) {
		if n, err := strconv.Atoi(f); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// proves TOL-21, PRC-02, INT-07: bash keeps its word on real processes.
func TestBashKeepsItsWord(t *testing.T) {
	h := realHost(t)
	tooltest.Run(t, tooltest.Driver{
		New:      func(t *testing.T) (tool.Tool, string) { return bashOf(t, builtin.Options{Host: h}), t.TempDir() },
		Args:     func(string, int) string { return command("echo hello >made; cat made; printf '\\xff'; exit 3") },
		Long:     func(string) string { return command("trap '' TERM; (sleep 300 &) ; echo going; sleep 300 & sleep 300") },
		Underway: "going",
		Check: func(t *testing.T, _ string, e tool.Ended) {
			if text := e.Result.Content.Text(); *e.Result.ExitCode != 3 || !strings.Contains(text, "exit code 3") || !strings.Contains(text, "hello\n\uFFFD") {
				t.Errorf("%q", text)
			}
		},
	})
}

// proves B001, PRC-02: a trip ends everything that the command started.
func TestATripEndsTheWholeTree(t *testing.T) {
	b := newBench()
	dir := t.TempDir()
	go func() {
		if err := b.live.Await(within(t, time.Minute), "up"); err != nil {
			t.Error(err)
		}
		b.trip(t)
	}()
	start := time.Now()
	e := b.do(t, bashOf(t, builtin.Options{Host: realHost(t)}), dir,
		command(`(while :; do date >>M; sleep 0.05; done) & echo $!; setsid sleep 300 & echo $!; echo up; wait`))
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	text := e.Result.Content.Text()
	if e.Outcome != event.CallStopped || !strings.Contains(text, "up") || len(e.Result.Survivors) > 0 {
		t.Errorf("%s %q %v", e.Outcome, text, e.Result.Survivors)
	}
	dead(t, pidsIn(t, text)...)
	before, _ := os.Stat(filepath.Join(dir, "M"))
	if got := kinds(&b.recorder); len(got) != 2 || !strings.HasSuffix(got[1], "stopped") {
		t.Errorf("recorded %v", got)
	}
	if after, _ := os.Stat(filepath.Join(dir, "M")); before != nil && after.Size() != before.Size() {
		t.Error("the file still grows")
	}
}

// proves B003, TOL-02: the deadline holds though a pipe stays open.
func TestATimeOutEndsWriterAndReaderAndTheNextCallWorks(t *testing.T) {
	b := newBench()
	bash := bashOf(t, builtin.Options{Host: realHost(t), Grace: 200 * time.Millisecond})
	dir := t.TempDir()
	var e tool.Ended
	var text string
	for limit := 1; ; limit *= 4 { // on a busy machine nothing may have been said within the first limit
		raw, _ := json.Marshal(m{"timeout_seconds": limit, "command": `rm -f f; mkfifo f; (while :; do echo tick; sleep 0.1; done >f) & echo $!; tee /dev/null <f`})
		start := time.Now()
		e = b.do(t, bash, dir, string(raw))
		if took := time.Since(start); took > time.Duration(limit)*time.Second+30*time.Second {
			t.Errorf("it took %v", took)
		}
		text = e.Result.Content.Text()
		if e.Outcome != event.CallFinished || !e.Result.Success || !*e.Result.TimedOut || !strings.Contains(text, fmt.Sprintf("timed out after %d s and was ended", limit)) {
			t.Fatalf("%s %q %s", e.Outcome, text, e.Err)
		}
		if strings.Contains(text, "tick") {
			break
		}
		if limit > 10 {
			t.Fatalf("no tick in %q", text)
		}
	}
	_, out, _ := strings.Cut(text, "output:")
	dead(t, pidsIn(t, out)...)
	if e = newBench().do(t, bash, dir, command("echo next")); !strings.HasSuffix(e.Result.Content.Text(), "output:\nnext\n") {
		t.Errorf("%q", e.Result.Content.Text())
	}
}

// proves B005, B010, PRC-05, PRC-06: what is left behind delays nothing, is a
// job each, and ends with the session.
func TestLeftoversDelayNothingAndEachIsAJob(t *testing.T) {
	b := newBench()
	bash := bashOf(t, builtin.Options{Host: realHost(t)})
	var lists [][]int
	for i, cmd := range []string{`(tail -f /dev/null &); printf done`, `tail -f /dev/null & kill %1 2>/dev/null; (setsid tail -f /dev/null &) ; true`} {
		start := time.Now()
		e := b.do(t, bash, t.TempDir(), command(cmd))
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if text := e.Result.Content.Text(); e.Outcome != event.CallFinished || !strings.Contains(text, fmt.Sprintf("left running: job j_%d, pids ", i+1)) {
			t.Fatalf("%s %q", e.Outcome, text)
		} else if i == 0 && !strings.HasSuffix(text, "output:\ndone") {
			t.Errorf("output %q", text)
		}
		pids := b.jobs.All()[i].Process.PIDs()
		if len(pids) == 0 {
			t.Error("a job without processes")
		}
		lists = append(lists, pids)
	}
	if left := b.jobs.StopAll(); len(left) > 0 {
		t.Errorf("%v outlived the session", left)
	}
	for _, pids := range lists {
		dead(t, pids...)
	}
}

// proves TOL-02, TOL-06, PRC-07: signals are named, stdin is closed, there is no TTY.
func TestFactsOfRealCommands(t *testing.T) {
	bash := bashOf(t, builtin.Options{Host: realHost(t), Env: append(os.Environ(), "MY_API_KEY=sesame")})
	for cmd, want := range map[string]string{
		"kill -SEGV $$":                 "ended by signal",
		"cat; echo \"<$?>\"":            "<0>",
		"tty; true":                     "not a tty",
		"echo \"[$MY_API_KEY] $PAGER\"": "[] cat",
		"pwd -P":                        "output:\n/",
		"exit 7":                        "exit code 7",
		"echo 'HTTP 403 from the proxy' >&2; exit 22": "exit code 22\n", // TOL-06: the child received it
		"nosuchcommand":                                    "exit code 127",
		"head -c 100000 /dev/urandom":                      "binary",
		"yes | head -c 300000 | tr -d '\\n'; echo; echo E": "bytes are left out here",
	} {
		b := newBench()
		e := b.do(t, bash, t.TempDir(), command(cmd))
		if text := e.Result.Content.Text(); e.Outcome != event.CallFinished || !e.Result.Success || !strings.Contains(text, want) {
			t.Errorf("%s: %s %q %s", cmd, e.Outcome, text[:min(len(text), 300)], e.Err)
		}
	}
}

// proves TOL-03: a folder that is not there is a reply, nothing ran.
func TestACommandInAFolderThatIsNotThereIsAReply(t *testing.T) {
	e := newBench().do(t, bashOf(t, builtin.Options{Host: realHost(t)}), filepath.Join(t.TempDir(), "gone"), command("echo x"))
	if e.Outcome != event.CallFinished || e.Result.Success || !strings.Contains(e.Err, "did not start") {
		t.Errorf("%s %q %q", e.Outcome, e.Err, e.Result.Content.Text())
	}
}

// proves PRC-03: the second request does not wait for the grace.
func TestTheSecondRequestKillsAtOnce(t *testing.T) {
	b := newBench()
	bash := bashOf(t, builtin.Options{Host: realHost(t), Grace: time.Minute})
	go func() {
		if err := b.live.Await(within(t, time.Minute), "up"); err != nil {
			t.Error(err)
		}
		b.trip(t)
		b.c.Force()
	}()
	start := time.Now()
	r := &tool.Run{Tool: bash, Call: &tool.Call{ID: "c_1", Name: "bash", Args: json.RawMessage(command("trap '' TERM; echo up; while :; do sleep 1; done")), Dir: t.TempDir()},
		Signal: b.c.Signal(), Book: &b.book, Live: &b.live, Recorder: &b.recorder, Forced: time.Minute}
	e, left := r.Do(t.Context())
	if took := time.Since(start); left != nil || e.Outcome != event.CallStopped || took > 30*time.Second {
		t.Errorf("%s after %v", e.Outcome, took)
	}
}

// proves B168, TOL-21: output is bounded from the first byte, a stop comes
// through a flood, and what is dropped is said.
func TestAFloodIsBoundedAndStops(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes for a while")
	}
	b := newBench()
	go func() {
		if err := b.live.Await(within(t, time.Minute), "y\ny\ny"); err != nil {
			t.Error(err)
		}
		b.trip(t)
	}()
	e := b.do(t, bashOf(t, builtin.Options{Host: realHost(t)}), t.TempDir(), command("yes"))
	if e.Outcome != event.CallStopped || len(e.Result.Content.Text()) > 33<<10 || e.Result.Output == nil {
		t.Errorf("%s, %d bytes, %+v", e.Outcome, len(e.Result.Content.Text()), e.Result.Output)
	}
	e = newBench().do(t, bashOf(t, builtin.Options{Host: realHost(t)}), t.TempDir(), command("yes | head -c 30000000"))
	if o := e.Result.Output; o.Bytes != 30000000 || o.Dropped == 0 || !strings.Contains(e.Result.Content.Text(), "were not kept") {
		t.Errorf("%+v", o)
	}
}
