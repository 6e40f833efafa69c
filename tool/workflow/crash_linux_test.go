package workflow_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// runtime is the life of a process that a test kills: one script, whose
// processes are named on standard output as they start.
func runtime(kind string) int {
	if kind == "session" {
		return session(os.Getenv("RIPCORD_TEST_SPOOL"))
	}
	host, err := proc.NewHost(proc.Options{Group: kind == "group"})
	if err != nil {
		return 1
	}
	said := func(p event.Payload) {
		if s, ok := p.(event.ProcessStarted); ok {
			fmt.Println("pid", s.PID)
		}
	}
	recorder := &tooltest.Recorder{OnRecord: said}
	c := interrupt.New(interrupt.Options{})
	var bash tool.Tool
	for _, t := range builtin.Tools(builtin.Options{Host: host}) {
		if t.Spec().Name == "bash" {
			bash = t
		}
	}
	inner := &caller{c: c, tools: []tool.Tool{tool.Decorate(bash, func(ctx context.Context, call *tool.Call, next tool.Tool) (tool.Result, error) {
		return next.Execute(ctx, recording(call, recorder))
	})}}
	script := `log("up"); for (;;);`
	if kind == "step" {
		script = `log("up"); await tool("bash", {command: "setsid sleep 300 & echo pid $!; sleep 300"})`
	}
	args, _ := json.Marshal(map[string]string{"script": script})
	call := tool.WithCaller(&tool.Call{ID: "c_1", Name: workflow.Name, Args: args, Dir: os.TempDir(), Turn: 1, Step: 1, Spool: os.Getenv("RIPCORD_TEST_SPOOL")}, inner)
	r := &tool.Run{Tool: workflow.New(workflow.Options{Host: host}), Call: call, Signal: c.Signal(), Book: &tooltest.Book{}, Recorder: recorder, Live: printing{}}
	r.Do(context.Background())
	return 0
}

// recording is call with where its process facts go.
func recording(call *tool.Call, r tool.Recorder) *tool.Call {
	call = tool.WithValue(call, tool.Key[tool.Recorder]("tool.recorder"), r)
	call.Dir = os.TempDir()
	return tool.WithValue(call, tool.Key[tool.Live]("tool.live"), tool.Live(printing{}))
}

type printing struct{}

func (printing) Output(text string) { fmt.Print(text) }

// recorded waits until a guardian that nobody listens to has written the end of
// its tree.
func recorded(t *testing.T, spool string) proc.ExitRecord {
	t.Helper()
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		x, err := proc.ReadExit(spool)
		if err == nil && x.Gone {
			return x
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no end is written: %+v, %v", x, err)
		}
	}
}

// proves PRC-04, TOL-24: kill -9 of the runtime leaves no engine and nothing of
// a step, and no exit record says that the script reached an end.
func TestAKilledRuntimeLeavesNothingOfAScript(t *testing.T) {
	for _, kind := range []string{"loop", "step", "group"} {
		t.Run(kind, func(t *testing.T) {
			spool := t.TempDir() + "/c_1"
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), runtimeEnv+"="+kind, "RIPCORD_TEST_SPOOL="+spool)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			want := map[string]int{"loop": 1, "group": 1, "step": 3}[kind]
			var pids []int
			up := false
			for lines := bufio.NewScanner(out); (len(pids) < want || !up) && lines.Scan(); {
				if n, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
					pid, err := strconv.Atoi(n)
					if err != nil {
						t.Error(err)
					}
					pids = append(pids, pid)
				}
				up = up || lines.Text() == "up"
			}
			if len(pids) != want || !up {
				t.Fatalf("pids %v, up %v", pids, up)
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
			dead(t, pids...)
			if kind == "group" {
				return // nobody is left who could write one
			}
			x := recorded(t, spool)
			if x.How == proc.HowExited {
				t.Errorf("the exit record says that the script ended by itself: %+v", x)
			}
			if o, err := proc.ReadOutput(spool, 1<<10); err != nil || !strings.Contains(o.Text, "up\n") {
				t.Errorf("what it had said is lost: %q %v", o.Text, err)
			}
		})
	}
}

// proves PRC-04, TOL-24: what recovery reads in the spool of a call whose end
// was not recorded is what the result would have shown.
func TestTheSpoolHoldsWhatTheResultShows(t *testing.T) {
	r := newRig()
	r.spool = t.TempDir() + "/c_1"
	e := r.run(t, workflow.Options{}, `log("so far"); return {a: 1}`)
	if x := recorded(t, r.spool); x.How != proc.HowExited || x.Exit.Code == nil || *x.Exit.Code != 0 {
		t.Errorf("%+v", x)
	}
	o, err := proc.ReadOutput(r.spool, 1<<10)
	// An engine that is built to be counted says behind it that it has no place for its counts.
	said, _, _ := strings.Cut(o.Text, "warning: GOCOVERDIR")
	if err != nil || said != "so far\nit returned:\n{\"a\":1}\n" || !strings.HasSuffix(e.Result.Content.Text(), o.Text) {
		t.Errorf("%q %v, result %q", o.Text, err, e.Result.Content.Text())
	}
}

// proves TOL-24, PRC-02: the tool keeps the contract of every tool, also where
// there is no guardian.
func TestItKeepsItsWord(t *testing.T) {
	for lane, o := range map[string]proc.Options{"guardian": {}, "group": {Group: true}} {
		t.Run(lane, func(t *testing.T) {
			h := hostOf(t, o)
			tooltest.Run(t, tooltest.Driver{
				New: func(t *testing.T) (tool.Tool, string) { return workflow.New(workflow.Options{Host: h}), t.TempDir() },
				Args: func(_ string, n int) string {
					return fmt.Sprintf(`{"script":"log('hi'); return args + 1","args":%d}`, n)
				},
				Long:     func(string) string { return `{"script":"log('going'); for (;;);"}` },
				Underway: "going",
				Check: func(t *testing.T, _ string, e tool.Ended) {
					if text := e.Result.Content.Text(); !strings.Contains(text, "hi\nit returned:\n1") {
						t.Errorf("%q", text)
					}
				},
			})
		})
	}
}
