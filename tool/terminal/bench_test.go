//go:build linux

package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// patience is the bound of whatever a test waits for.
const patience = 60 * time.Second

type m = map[string]any

// lanes runs f where trees have cgroups and where they have not.
func lanes(t *testing.T, f func(t *testing.T, h proc.Host)) {
	for name, use := range map[string]proc.CgroupUse{"cgroup": proc.CgroupAuto, "guardian": proc.CgroupOff} {
		t.Run(name, func(t *testing.T) {
			h := host(t, proc.Options{Cgroup: use})
			if string(h.Lane()) != name {
				t.Skip(proc.Describe(h).Why)
			}
			f(t, h)
		})
	}
}

func host(t *testing.T, o proc.Options) proc.Host {
	t.Helper()
	o.Prestart = -1
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

// bench is a session whose turns are numbered by the test.
type bench struct {
	*testing.T
	terms    *terminal.Terminals
	tools    map[string]tool.Tool
	dir      string
	session  event.SessionID
	turn     int
	c        *interrupt.Coordinator // of the turn
	calls    int
	jobs     tooltest.Jobs
	recorder tooltest.Recorder
	live     tooltest.Live
}

func newBench(t *testing.T, o terminal.Options) *bench {
	t.Helper()
	b := &bench{T: t, session: "s_1", terms: terminal.New(o), tools: map[string]tool.Tool{}, dir: t.TempDir()}
	for _, tl := range b.terms.Tools() {
		b.tools[tl.Spec().Name] = tl
	}
	t.Cleanup(func() {
		if left := b.jobs.StopAll(); len(left) > 0 {
			t.Errorf("jobs outlived their end: %v", left)
		}
		if err := b.terms.Close(); err != nil {
			t.Error(err)
		}
	})
	b.nextTurn()
	return b
}

func (b *bench) nextTurn() {
	if b.c != nil {
		b.c.Close()
	}
	b.turn++
	b.c = interrupt.New(interrupt.Options{})
}

func (b *bench) trip() {
	if _, err := b.c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}); err != nil {
		b.Error(err)
	}
}

// tripAt trips the turn once part was printed.
func (b *bench) tripAt(part string) (done <-chan struct{}) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.live.Await(ctx, part); err != nil {
			b.Error(err)
		}
		b.trip()
	}()
	return over
}

func (b *bench) do(name string, args m) tool.Ended {
	b.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	b.calls++
	id := fmt.Sprintf("c_%d", b.calls)
	tl := b.tools[name]
	r := &tool.Run{Tool: tl, Call: &tool.Call{ID: event.CallID(id), Name: name, Args: raw, Session: b.session, Turn: b.turn, Step: 1,
		Dir: b.dir, Spool: filepath.Join(b.dir, "spool-"+id)}, Signal: b.c.Signal(), Book: &tooltest.Book{}, Bound: patience, Forced: patience,
		Tripped: func() bool { return false }, Recorder: &b.recorder, Jobs: &b.jobs, Live: &b.live, Blobs: &tooltest.Blobs{}}
	if interrupt.BehaviourOf(tl).HasRegistrar() {
		if r.Registrar, err = b.c.Registrar(); err != nil {
			b.Fatal(err)
		}
	}
	e, left := r.Do(b.Context())
	if left != nil {
		b.Fatalf("%s was quarantined", name)
	}
	return e
}

// ok is do for a call that must end well; it returns its text.
func (b *bench) ok(name string, args m) string {
	b.Helper()
	e := b.do(name, args)
	if e.Outcome != event.CallFinished || !e.Result.Success {
		b.Fatalf("%s %v: %s %s %s", name, args, e.Outcome, e.Err, e.Result.Content.Text())
	}
	return e.Result.Content.Text()
}

// refused is do for a call that must be answered with a sentence.
func (b *bench) refused(name string, args m, part string) {
	b.Helper()
	e := b.do(name, args)
	if e.Outcome != event.CallFinished || e.Result.Success || !strings.Contains(e.Err, part) {
		b.Errorf("%s %v: %s, success %v, %q", name, args, e.Outcome, e.Result.Success, e.Err)
	}
}

// open starts a command that goes on as terminal id, and returns what it
// printed; it is up once that contains "up".
func (b *bench) open(id, command string, more m) string {
	b.Helper()
	args := m{"command": command, "wait_ms": patience.Milliseconds(), "quiet_ms": 50}
	for k, v := range more {
		args[k] = v
	}
	text := b.ok("terminal_start", args)
	if !strings.Contains(text, "it goes on as terminal "+id+"\n") {
		b.Fatalf("%q", text)
	}
	_, out, _ := strings.Cut(text, "output:\n")
	return b.until(id, "up", out)
}

// say writes to a terminal and polls it until what it printed then contains
// part; it returns that.
func (b *bench) say(id string, args m, part string) (all string) {
	b.Helper()
	args["id"], args["wait_ms"] = id, 0
	_, all, _ = strings.Cut(b.ok("terminal_write", args), "output:\n")
	return b.until(id, part, all)
}

// until polls a terminal until what it printed contains part: since the last
// look, after what it had printed by then.
func (b *bench) until(id, part string, had ...string) (all string) {
	b.Helper()
	all = strings.Join(had, "")
	deadline := time.Now().Add(patience)
	for !strings.Contains(all, part) {
		text := b.ok("terminal_poll", m{"id": id, "wait_ms": 1000, "quiet_ms": 20, "max_bytes": 1 << 20})
		_, out, _ := strings.Cut(text, "output:\n")
		all += out
		if time.Now().After(deadline) || strings.Contains(text, "has ended") && !strings.Contains(all, part) {
			b.Fatalf("no %q in %q (%q)", part, all, text)
		}
	}
	return all
}

// tree waits until least processes of the n-th job are alive and returns a check
// that they are gone.
func (b *bench) tree(n, least int) (gone func()) {
	b.Helper()
	p := b.jobs.All()[n].Process
	var pids []int
	eventually(b, "the tree stands", func() bool { pids = p.PIDs(); return len(pids) >= least })
	return func() {
		b.Helper()
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-p.Gone():
		case <-limit.C:
			b.Fatalf("the tree lives: %v", p.PIDs())
		}
		for _, pid := range pids {
			if alive(pid) {
				b.Errorf("process %d is alive", pid)
			}
		}
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	limit, tick := time.NewTimer(patience), time.NewTicker(5*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// alive says that a process can still run: one that nobody has waited for yet
// cannot.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func (b *bench) kinds() (list []string) {
	for _, p := range b.recorder.Payloads() {
		switch p := p.(type) {
		case event.ProcessEnded:
			list = append(list, "ended "+p.How)
		default:
			list = append(list, strings.TrimPrefix(fmt.Sprintf("%T", p), "event."))
		}
	}
	return list
}
