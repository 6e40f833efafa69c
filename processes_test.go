package ripcord_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/gate/shell"
	"github.com/ripcord-go/ripcord/proc"
)

// withHook has every call judged by one command.
func withHook(t *testing.T, line string) func(*ripcord.Config) {
	return func(c *ripcord.Config) {
		h, err := shell.New(shell.Options{Host: c.Host, Env: proc.Environ(os.Environ(), nil),
			Hooks: []shell.Hook{{Name: "guard", Points: []gate.Point{gate.PreTool}, Line: line}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		c.Hooks = h
	}
}

// processes lists what the journal says of processes of an owner.
func (b *bench) processes(owner string) (started []event.ProcessStarted, ended []event.ProcessEnded) {
	b.Helper()
	for _, rec := range b.records() {
		p, err := rec.Body()
		if err != nil {
			b.Fatal(err)
		}
		switch p := p.(type) {
		case event.ProcessStarted:
			if p.Owner == owner {
				started = append(started, p)
			}
		case event.ProcessEnded:
			if p.Owner == owner {
				ended = append(ended, p)
			}
		}
	}
	return started, ended
}

// A hook is a process of the session like any other: seen while it runs, in the
// journal with its end, and ended by recovery where a death left it.
//
// proves PRC-01, PRC-04, REC-07
func TestAHooksProcessIsSeenRecordedAndRecovered(t *testing.T) {
	b := newBench(t, answers(bash("c1", "echo ran >>M")+"finish tool", "text Hello.\nfinish stop"), withBash(t),
		withHook(t, "echo $$ >>pids; while [ ! -e on ]; do sleep 0.05; done"))
	id := b.submit("go")
	b.until("the hook runs and is recorded", func() bool {
		started, _ := b.processes("hook")
		return len(started) == 1 && len(b.pids("pids")) == 1
	})
	jobs := b.jobs()
	if len(jobs) != 1 || !strings.HasPrefix(jobs[0].Command, "hook guard: ") || len(jobs[0].PIDs) == 0 || jobs[0].Started.IsZero() {
		t.Errorf("%+v", jobs)
	}
	if text, err := json.Marshal(jobs); err != nil || !strings.Contains(string(text), `"owner":"hook"`) || !strings.Contains(string(text), `"call":null`) {
		t.Errorf("%s, %v", text, err)
	}

	copied := b.copied() // what a death would leave now
	other := &bench{T: t, ctx: b.ctx, root: copied, cwd: b.cwd, server: b.server, cfg: b.cfg}
	other.start()
	t.Cleanup(other.end)
	other.open(b.id)
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("recovery left %v", left)
	}
	if _, ended := other.processes("hook"); len(ended) != 1 || ended[0].How != "reaped" || len(other.fold().Procs) != 0 {
		t.Errorf("%+v\n%s", ended, other.types())
	}

	b.outcome(b.wait(id), event.TurnCompleted) // its hook was killed: that is a block
	started, ended := b.processes("hook")
	if len(ended) != 1 || ended[0].PID != started[0].PID || ended[0].How != "exited" || ended[0].Signal != "SIGKILL" || len(b.fold().Procs) != 0 || len(b.jobs()) != 0 {
		t.Errorf("%+v, jobs %+v", ended, b.jobs())
	}
	if b.results()["c1"].Outcome != event.CallWasDenied {
		t.Errorf("%+v", b.results())
	}
}

// proves PRC-01: what runs for all sessions is seen beside each of them
func TestWhatRunsForAllSessionsIsSeen(t *testing.T) {
	var ps ripcord.Processes
	b := newBench(t, answers("text Hello.\nfinish stop"), func(c *ripcord.Config) { c.Processes = ps.List })
	if got := b.jobs(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	ps.Record(event.ProcessStarted{Owner: "mcp", ID: "files", PID: os.Getpid(), Command: "serve"})
	ps.Record(event.ProcessStarted{Owner: "mcp", ID: "mail", PID: os.Getpid()})
	ps.Record(event.ProcessEnded{Owner: "mcp", ID: "mail", PID: os.Getpid()})
	got := b.jobs()
	if len(got) != 1 || got[0].ID != "files" || got[0].Command != "mcp files: serve" || got[0].Session != b.id || got[0].State != event.JobRunning || len(got[0].PIDs) == 0 {
		t.Errorf("%+v", got)
	}
	b.end()
	if got, err := b.rt.Jobs(b.ctx, b.id); err != nil || len(got) != 0 {
		t.Errorf("of a session that is not live: %+v %v", got, err)
	}
	b.start()
	b.open(b.id)
}
