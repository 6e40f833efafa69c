//go:build linux

package terminal_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/turn"
)

// asker is a model that makes the calls it is given, one a request, and else
// says that it is done.
type asker struct {
	mu    sync.Mutex
	calls []asked
	n     int
}

type asked struct {
	name string
	args m
}

func (a *asker) Info() model.Info { return model.Info{Provider: "test", Model: "m"} }

func (a *asker) Stream(_ context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	a.mu.Lock()
	defer a.mu.Unlock()
	deltas := []event.Delta{event.TextDelta{Text: "done"}, event.Finish{Reason: event.FinishStop}}
	if last := req.Messages[len(req.Messages)-1]; last.Role == event.RoleUser && len(a.calls) > 0 {
		next := a.calls[0]
		a.calls, a.n = a.calls[1:], a.n+1
		raw, err := json.Marshal(next.args)
		if err != nil {
			panic(err)
		}
		deltas = []event.Delta{event.CallStart{ID: "c" + string(rune('0'+a.n)), Name: next.name}, event.ArgsDelta{Text: string(raw)},
			event.CallEnd{}, event.Finish{Reason: event.FinishTools}}
	}
	return func(yield func(event.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// A terminal in a real session: an Esc ends what a call of its own turn waits
// for, leaves an older one alive, and the session's end ends that.
//
// proves TOL-22, PRC-01, PRC-05, B002, 00 decisions 3, 17 and 18
func TestTerminalsInASession(t *testing.T) {
	h := host(t, proc.Options{})
	terms := terminal.New(terminal.Options{Host: h, Grace: -1})
	defer func() {
		if err := terms.Close(); err != nil {
			t.Error(err)
		}
	}()
	store, err := file.Open(t.TempDir(), file.Options{Check: func() journal.Checker { return turn.Check() }})
	if err != nil {
		t.Fatal(err)
	}
	long := m{"id": "j1", "wait_ms": 600000, "quiet_ms": 0}
	rt, err := ripcord.New(ripcord.Config{Store: store, Host: h, Tools: terms.Tools(), Gate: gate.Rules{Policy: gate.YesAll}, Model: &asker{calls: []asked{
		{"terminal_start", m{"command": "echo up; exec cat", "wait_ms": 600000, "quiet_ms": 1}},
		{"terminal_poll", long},
		{"terminal_start", m{"command": "trap '' HUP; echo up; while :; do sleep 300; done", "wait_ms": 600000, "quiet_ms": 0}},
		{"terminal_write", m{"id": "j1", "input": "still\n", "wait_ms": 600000, "quiet_ms": 1}},
		{"terminal_start", m{"command": "echo up; exec cat", "tty": false, "wait_ms": 600000, "quiet_ms": 1}},
		{"terminal_kill", m{"id": "j2"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	s, err := rt.Open(ctx, api.OpenRequest{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	run := func() {
		if _, err := rt.Run(ctx, s.ID, "go"); err != nil {
			t.Fatal(err)
		}
	}
	// esc stops a turn once the journal has n facts of typ.
	esc := func(typ event.Type, n int) {
		sub, err := rt.Submit(ctx, api.SubmitRequest{Session: s.ID, Input: event.UserInput{Content: event.TextOf("go")}})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the call runs", func() bool { return count(t, rt, s.ID, typ) == n })
		if _, err := rt.Interrupt(ctx, api.InterruptRequest{Session: s.ID, Input: sub.Input}); err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Wait(ctx, s.ID, sub.Input); err != nil {
			t.Fatal(err)
		}
	}
	run()
	esc(event.TypeCallStarted, 2)
	esc(event.TypeProcessStarted, 2)
	run()
	run()
	run()
	jobs, err := rt.Jobs(ctx, s.ID)
	if err != nil || len(jobs) != 2 || jobs[0].ID != "j1" || jobs[0].State != event.JobRunning || len(jobs[0].PIDs) == 0 {
		t.Fatalf("%+v %v", jobs, err)
	}
	close, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := rt.Close(close); err != nil {
		t.Error(err)
	}
	for _, pid := range jobs[0].PIDs {
		if alive(pid) {
			t.Errorf("process %d outlived its session", pid)
		}
	}
	checkSession(t, rt, s.ID)
}

func count(t *testing.T, rt *ripcord.Runtime, id event.SessionID, typ event.Type) (n int) {
	for f, err := range rt.Records(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Record != nil && f.Record.Type == typ {
			n++
		}
	}
	return n
}

func checkSession(t *testing.T, rt *ripcord.Runtime, id event.SessionID) {
	t.Helper()
	var ends []event.CallEnded
	var processes []string
	var job []event.JobEnded
	for f, err := range rt.Records(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Record == nil {
			continue
		}
		p, err := f.Record.Body()
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case event.CallEnded:
			ends = append(ends, p)
		case event.ProcessEnded:
			processes = append(processes, p.How)
		case event.JobEnded:
			job = append(job, p)
		}
	}
	want := []string{"it goes on as terminal j1", "only the waiting was ended: terminal j1 runs on", "the terminal was closed", "still",
		"it goes on as terminal j2", "terminal j2 was closed"}
	if len(ends) != len(want) || !slices.Equal(processes, []string{"stopped"}) || len(job) != 2 || job[0].ID != "j2" || job[0].State != event.JobKilled ||
		job[0].By != "terminal_kill" || job[1].By != "session close" {
		t.Fatalf("%d ends, processes %v, jobs %+v", len(ends), processes, job)
	}
	for i, e := range ends {
		stopped := i == 1 || i == 2
		if text := e.Content.Text(); !strings.Contains(text, want[i]) || (e.Outcome == event.CallStopped) != stopped {
			t.Errorf("call %d: %s %q", i+1, e.Outcome, text)
		}
	}
}
