package workflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

func hostOf(t *testing.T, o proc.Options) proc.Host {
	t.Helper()
	h, err := proc.NewHost(o)
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

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// dead waits until none of pids runs any more.
func dead(t *testing.T, pids ...int) {
	t.Helper()
	ctx := within(t)
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
		return os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

// caller makes inner calls as a session does: by the runner of a call, on the
// turn's signal, one number each.
type caller struct {
	c     *interrupt.Coordinator
	tools []tool.Tool
	deny  string // the name of a tool that the gate refuses
	begun chan string

	mu     sync.Mutex
	n      int
	facts  []string
	active int
	most   int
}

func (c *caller) note(s string) { c.mu.Lock(); defer c.mu.Unlock(); c.facts = append(c.facts, s) }

func (c *caller) seen() []string { c.mu.Lock(); defer c.mu.Unlock(); return slices.Clone(c.facts) }

func (c *caller) Call(ctx context.Context, name string, args json.RawMessage) (tool.Inner, error) {
	if c.c.Signal().Cancelled() {
		return tool.Inner{}, tool.ErrSkipped
	}
	c.mu.Lock()
	c.n++
	n := c.n
	c.active++
	c.most = max(c.most, c.active)
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.active--; c.mu.Unlock() }()
	c.note(fmt.Sprintf("%d %s", n, name))
	if c.begun != nil {
		c.begun <- name
	}
	if name == c.deny {
		return tool.Inner{Denied: "the rules forbid it", Ended: tool.Ended{Outcome: event.CallWasDenied}}, nil
	}
	r := &tool.Run{Call: &tool.Call{ID: tool.InnerID("c_1", n), Name: name, Args: args, Turn: 1, Step: 1},
		Signal: c.c.Signal(), Book: &tooltest.Book{}, Names: []string{"one", "two"}}
	for _, t := range c.tools {
		if t.Spec().Name == name {
			r.Tool = t
		}
	}
	if r.Tool != nil && interrupt.BehaviourOf(r.Tool).HasRegistrar() {
		reg, err := c.c.Registrar()
		if err != nil {
			return tool.Inner{}, err
		}
		r.Registrar = reg
	}
	e, left := r.Do(ctx)
	if left != nil {
		<-left
	}
	switch e.Outcome {
	case event.CallSkipped:
		return tool.Inner{}, tool.ErrSkipped
	case event.CallFatal:
		return tool.Inner{}, tool.Fatalf("%s", strings.TrimPrefix(e.Err, "Fatal error: "))
	}
	return tool.Inner{N: n, Ended: e}, nil
}

// rig is one call of a script on real processes.
type rig struct {
	c        *interrupt.Coordinator
	caller   *caller
	book     tooltest.Book
	recorder tooltest.Recorder
	blobs    tooltest.Blobs
	live     tooltest.Live
	args     any
	timeout  float64
	bare     bool // the call has no caller
	spool    string
}

func newRig(tools ...tool.Tool) *rig {
	c := interrupt.New(interrupt.Options{})
	return &rig{c: c, caller: &caller{c: c, tools: tools}}
}

func (r *rig) trip(t *testing.T) {
	t.Helper()
	if _, err := r.c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		t.Error(err)
	}
}

// run runs script to its end.
func (r *rig) run(t *testing.T, o workflow.Options, script string) tool.Ended {
	t.Helper()
	if o.Host == nil {
		o.Host = hostOf(t, proc.Options{})
	}
	raw := map[string]any{"script": script}
	if r.args != nil {
		raw["args"] = r.args
	}
	if r.timeout != 0 {
		raw["timeout_seconds"] = r.timeout
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(raw); err != nil {
		t.Fatal(err)
	}
	args := b.Bytes()
	call := &tool.Call{ID: "c_1", Name: workflow.Name, Args: args, Dir: t.TempDir(), Turn: 1, Step: 1, Spool: r.spool}
	if !r.bare {
		call = tool.WithCaller(call, r.caller)
	}
	e, left := (&tool.Run{Tool: workflow.New(o), Call: call, Signal: r.c.Signal(), Book: &r.book, Blobs: &r.blobs,
		Recorder: &r.recorder, Live: &r.live, Forced: patience}).Do(t.Context())
	if left != nil {
		t.Error("the call was quarantined")
		<-left
	}
	dead(t, r.pids()...)
	return e
}

// pids lists the engines that were started.
func (r *rig) pids() (out []int) {
	for _, p := range r.recorder.Payloads() {
		if s, ok := p.(event.ProcessStarted); ok {
			out = append(out, s.PID)
		}
	}
	return out
}

// kinds lists what was recorded.
func (r *rig) kinds() (out []string) {
	for _, p := range r.recorder.Payloads() {
		s := string(p.Type())
		if e, ok := p.(event.ProcessEnded); ok {
			s += " " + e.How
		}
		out = append(out, s)
	}
	return out
}

// want fails unless e finished and its text has every part.
func want(t *testing.T, e tool.Ended, parts ...string) {
	t.Helper()
	text := e.Result.Content.Text()
	if e.Outcome != event.CallFinished || !e.Result.Success || e.Err != "" {
		t.Errorf("%s, success %v, %q", e.Outcome, e.Result.Success, e.Err)
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in %q", p, text)
		}
	}
}

// echo is a tool that says its argument.
func echo(name string) tool.Tool {
	return tooltest.Func{Is: tool.Spec{Name: name}, Do: func(_ context.Context, call *tool.Call) (tool.Result, error) {
		var a struct{ Say string }
		if err := json.Unmarshal(call.Args, &a); err != nil {
			return tool.Result{}, err
		}
		return tool.Text(name + " " + a.Say), nil
	}}
}
