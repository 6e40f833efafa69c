//go:build linux

package terminal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

const runtimeVar = "TERMINAL_TEST_RUNTIME"

// runtimeJob is what a runtime that is to be killed starts.
type runtimeJob struct {
	Cgroup proc.CgroupUse
	Dir    string
	Args   m
}

// beRuntime starts a terminal as a model would, tells of its process and waits
// for its own end.
func beRuntime(job string) error {
	var j runtimeJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		return err
	}
	h, err := proc.NewHost(proc.Options{Cgroup: j.Cgroup})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	start := terminal.New(terminal.Options{Host: h}).Tools()[0]
	told := make(chan event.ProcessStarted, 1)
	rec := &tooltest.Recorder{OnRecord: func(p event.Payload) { told <- p.(event.ProcessStarted) }}
	jobs := &tooltest.Jobs{}
	r := &tool.Run{Tool: start, Book: &tooltest.Book{}, Recorder: rec, Jobs: jobs,
		Call: &tool.Call{ID: "c_1", Name: "terminal_start", Args: raw, Session: "s_1", Turn: 1, Dir: j.Dir, Spool: filepath.Join(j.Dir, "spool")}}
	if j.Args["quiet_ms"] == 0.0 { // it is killed while the call waits
		go r.Do(context.Background())
	} else if e, _ := r.Do(context.Background()); len(jobs.All()) != 1 {
		return fmt.Errorf("no job: %s %s", e.Err, e.Result.Content.Text())
	}
	if err := json.NewEncoder(os.Stdout).Encode(<-told); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startRuntime runs this test binary again with one terminal; kill ends it with
// SIGKILL.
func startRuntime(t *testing.T, j runtimeJob) (started event.ProcessStarted, kill func()) {
	t.Helper()
	raw, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), runtimeVar+"="+string(raw))
	cmd.Stderr = os.Stderr
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
	kill = func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			in.Close()
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &started)
	}
	if err != nil {
		t.Fatalf("runtime said %q: %v", line, err)
	}
	return started, kill
}

func deathLanes(t *testing.T, f func(t *testing.T, h proc.Host, use proc.CgroupUse)) {
	lanes(t, func(t *testing.T, h proc.Host) {
		use := proc.CgroupAuto
		if h.Lane() == proc.LaneGuardian {
			use = proc.CgroupOff
		}
		f(t, h, use)
	})
}

// proves TOL-22, PRC-04, REC-07: after kill -9 of the runtime a kept terminal was
// not hung up; the next runtime reads it, writes to it, resizes and ends it.
func TestAKeptTerminalIsTalkedToByTheNextRuntime(t *testing.T) {
	deathLanes(t, func(t *testing.T, h proc.Host, use proc.CgroupUse) {
		for what, tty := range map[string]bool{"terminal": true, "pipe": false} {
			t.Run(what, func(t *testing.T) {
				b := newBench(t, terminal.Options{Host: h})
				started, kill := startRuntime(t, runtimeJob{use, b.dir, m{"wait_ms": 60000, "quiet_ms": 50, "keep": true, "tty": tty,
					"command": `trap 'echo HUNGUP' HUP; echo up; while read x; do echo "got $x"; [ -t 0 ] && stty size; done; echo EOF`}})
				kill()
				found := proc.Find(started)
				if !found.Leader || !found.Guardian {
					t.Fatalf("found %+v", found)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				tree, err := h.Adopt(ctx, started, filepath.Join(b.dir, "spool"))
				if err != nil {
					t.Fatal(err)
				}
				b.terms.Readopt("s_1", "j4", tree)
				if text := b.ok("terminal_list", m{}); !strings.HasPrefix(text, "j4: running, pids ") || !strings.Contains(text, "kept, ") || !strings.Contains(text, ": trap 'echo HUNGUP' HUP") {
					t.Errorf("%q", text)
				}
				all := b.until("j4", "up")
				if tty {
					b.say("j4", m{"rows": 7, "cols": 9}, "")
				}
				all += b.say("j4", m{"input": "again\n"}, "got again")
				if tty {
					all = b.until("j4", "7 9", all)
				}
				// It is no terminal of this turn: a trip ends the waiting only.
				go b.trip()
				if e := b.do("terminal_poll", m{"id": "j4", "wait_ms": 600000, "quiet_ms": 0}); e.Outcome != event.CallStopped || len(tree.PIDs()) == 0 {
					t.Errorf("%s %q, alive %v", e.Outcome, e.Result.Content.Text(), tree.PIDs())
				}
				b.nextTurn()
				if !tty {
					if text := b.ok("terminal_write", m{"id": "j4", "eof": true, "wait_ms": 60000, "quiet_ms": 0}); !strings.Contains(text, "has ended: exit code 0") || !strings.Contains(text, "EOF\n") {
						t.Errorf("%q", text)
					}
				} else if text := b.ok("terminal_kill", m{"id": "j4"}); !strings.Contains(text, "terminal j4 was closed") {
					t.Errorf("%q", text)
				}
				if strings.Contains(all, "HUNGUP") || strings.Contains(all, "EOF") || len(proc.Find(started).PIDs) > 0 {
					t.Errorf("printed %q, left %v", all, proc.Find(started).PIDs)
				}
			})
		}
	})
}

// proves TOL-22, PRC-04, B002: what is not kept goes with the runtime, and so
// does what is to be kept, as long as its first call waits.
func TestTheRuntimesDeathEndsTerminals(t *testing.T) {
	const deaf = `trap '' HUP TERM INT; (setsid sh -c 'trap "" HUP TERM; sleep 300' &) ; echo up; while :; do sleep 300; done`
	deathLanes(t, func(t *testing.T, _ proc.Host, use proc.CgroupUse) {
		for what, args := range map[string]m{
			"a job":           {"wait_ms": 60000, "quiet_ms": 50},
			"in the wait":     {"wait_ms": 600000, "quiet_ms": 0},
			"kept, the same":  {"wait_ms": 600000, "quiet_ms": 0, "keep": true},
			"a job with pipe": {"wait_ms": 60000, "quiet_ms": 50, "tty": false},
		} {
			t.Run(what, func(t *testing.T) {
				args["command"] = deaf
				dir := t.TempDir()
				started, kill := startRuntime(t, runtimeJob{use, dir, args})
				eventually(t, "the tree stands and was heard", func() bool {
					out, err := proc.ReadOutput(filepath.Join(dir, "spool"), 0)
					return len(proc.Find(started).PIDs) >= 4 && err == nil && strings.HasPrefix(out.Text, "up")
				})
				kill()
				eventually(t, "the tree's end", func() bool { return len(proc.Find(started).PIDs) == 0 })
				eventually(t, "the record of it", func() bool {
					rec, err := proc.ReadExit(filepath.Join(dir, "spool"))
					return err == nil && rec.Gone && rec.How == proc.HowRuntimeDied
				})
				if out, err := proc.ReadOutput(filepath.Join(dir, "spool"), 0); err != nil || !strings.HasPrefix(out.Text, "up") {
					t.Errorf("%q, %v", out.Text, err)
				}
			})
		}
	})
}
