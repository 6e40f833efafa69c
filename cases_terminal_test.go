package ripcord_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// withTerminals gives the runtime terminals that hear of each session's life.
func withTerminals(t *testing.T) func(*ripcord.Config) {
	return func(c *ripcord.Config) {
		terms := terminal.New(terminal.Options{Host: c.Host})
		t.Cleanup(func() {
			if err := terms.Close(); err != nil {
				t.Error(err)
			}
		})
		c.Tools = append(c.Tools, terms.Tools()...)
		c.Keepers = append(c.Keepers, ripcord.Keeper{Readopted: terms.Readopt, Closed: terms.Forget})
	}
}

// A runtime is killed with a kept terminal at work. The next one finds it alive,
// says so, and goes on talking to it; what was not kept is gone.
//
// proves TOL-22, PRC-05, REC-07, REC-08
func TestAKeptTerminalIsTalkedToByTheRuntimeBehindADeath(t *testing.T) {
	const echo = `echo $$ >>pids; n=0; while read l; do n=$((n+1)); echo "line $n: $l"; done`
	begin := callOf("terminal_start", "s1", map[string]any{"command": echo, "tty": false, "keep": true, "wait_ms": 300}) + "finish tool"
	b := newBench(t, said("please go", begin)+
		"answer if user \"please go\" and result\n"+callOf("terminal_write", "w1", map[string]any{"id": "j1", "input": "before\n", "quiet_ms": 100})+
		bash("c1", "echo $$ >gone; touch up; sleep 300")+"finish tool\n"+
		said("and now", callOf("terminal_write", "w2", map[string]any{"id": "j1", "input": "after\n", "quiet_ms": 100})+"finish tool")+
		"answer if user \"and now\" and result\n"+callOf("terminal_kill", "k1", map[string]any{"id": "j1"})+"finish tool\n"+
		"default\ntext Well.\nfinish stop\n", withBash(t), withTerminals(t))
	b.die("please go", func() bool { return len(b.pids("gone")) == 1 && b.recorded(event.TypeCallStarted) == 3 })
	st := b.open(b.id)
	if st.Running || len(alive(b.pids("pids")...)) != 1 || len(alive(b.pids("gone")...)) != 0 {
		t.Fatalf("%+v; kept %v, the others %v\n%s", st, alive(b.pids("pids")...), alive(b.pids("gone")...), b.types())
	}
	if jobs := b.jobs(); len(jobs) != 1 || jobs[0].ID != "j1" || jobs[0].State != event.JobRunning || !jobs[0].Keep || b.recorded(event.TypeJobAdopted) != 1 {
		t.Errorf("%+v\n%s", jobs, b.types())
	}
	b.outcome(b.run("and now"), event.TurnCompleted)
	got := b.results()
	if e := got["w2"]; e.Outcome != event.CallFinished || e.Error || !strings.Contains(e.Content.Text(), "line 2: after") {
		t.Errorf("%+v", e)
	}
	if e := got["k1"]; e.Outcome != event.CallFinished || e.Error {
		t.Errorf("%+v", e)
	}
	b.until("its end is recorded", func() bool { return b.recorded(event.TypeJobEnded) == 1 })
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	_ = b.fold()
	_ = b.lastRequest()
}

// A terminal that a script's call started and kept is known as running while
// nobody holds its session, which can't be deleted then.
//
// proves TOL-22, PRC-05, TOL-07
func TestAKeptTerminalOfAScriptIsKnownWhileNobodyHoldsItsSession(t *testing.T) {
	script := deed("script", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		caller, ok := tool.CallerOf(c)
		if !ok {
			return tool.Result{}, tool.Fatalf("no caller")
		}
		_, err := caller.Call(ctx, "terminal_start", []byte(`{"command":"echo $$ >>pids; exec sleep 300","keep":true,"wait_ms":100}`))
		return tool.Text("done"), err
	})
	b := newBench(t, answers(oneScript)+"\ndefault\ntext Well.\nfinish stop\n", withBash(t), withTerminals(t), with(script))
	b.outcome(b.run("go"), event.TurnCompleted)
	b.until("it runs", func() bool { return len(b.pids("pids")) == 1 })
	b.end()
	b.start()
	if jobs := b.jobs(); len(jobs) != 1 || jobs[0].State != event.JobRunning || len(alive(b.pids("pids")...)) != 1 {
		t.Errorf("%+v, alive %v", jobs, alive(b.pids("pids")...))
	}
	if err := b.rt.Delete(b.ctx, b.id); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Fatalf("deleted beside its terminal: %v", err)
	}
	b.open(b.id)
	if err := b.rt.KillJob(b.ctx, b.id, "j1"); err != nil {
		t.Error(err)
	}
	b.until("it is gone", func() bool { return len(alive(b.pids("pids")...)) == 0 })
}
