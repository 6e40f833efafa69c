package ripcord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// runner is a tool that runs one command as a call of its own.
func runner(command string) tool.Tool {
	return deed("script", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		caller, ok := tool.CallerOf(c)
		if !ok {
			return tool.Result{}, tool.Fatalf("no caller")
		}
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return tool.Result{}, err
		}
		in, err := caller.Call(ctx, "bash", args)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text("it said: " + in.Ended.Result.Content.Text()), nil
	})
}

const oneScript = "call script c1 {}\nfinish tool"

// A death while a script's command runs: the command is found under its own
// name, ended, and what it printed stands in the outer call's result.
//
// proves REC-04, REC-07, PRC-04, TOL-07
func TestACommandOfAScriptThatADeathLeftRunningIsEndedAndTold(t *testing.T) {
	b := newBench(t, answers(oneScript)+"\ndefault\ntext Well.\nfinish stop\n", withBash(t), with(runner("echo $$ >pids; echo half of it; sleep 300")))
	b.submit("go")
	b.until("it runs and is recorded", func() bool {
		return b.recorded(event.TypeProcessStarted) == 1 && len(b.pids("pids")) == 1 && bytes.Contains(b.spool("c1.1.out"), []byte("half of it"))
	})
	copied := b.copied()
	other := &bench{T: t, ctx: b.ctx, root: copied, cwd: b.cwd, server: b.server, cfg: b.cfg}
	other.start()
	t.Cleanup(other.end)
	other.open(b.id)
	e := other.results()["c1"]
	for _, s := range []string{"Do not retry blindly.", "Inner call 1 (bash) had started; its outcome is unknown.", "were found alive and were ended", "half of it"} {
		if !strings.Contains(e.Content.Text(), s) {
			t.Errorf("%q lacks %q", e.Content.Text(), s)
		}
	}
	if e.Outcome != event.CallUnknown {
		t.Errorf("%+v", e)
	}
	b.until("the command is gone", func() bool { return len(alive(b.pids("pids")...)) == 0 })
	other.outcome(other.run("and now?"), event.TurnCompleted)
	_ = other.lastRequest()
}

// proves PRC-02, PRC-05, TOL-07: a stop ends the tree of a script's command;
// what one left running is a job of the outer call
func TestAStopEndsTheTreeOfAScriptsCommand(t *testing.T) {
	b := newBench(t, answers(oneScript)+"\ndefault\ntext Well.\nfinish stop\n", withBash(t), with(runner("echo $$ >pids; sleep 300 & sleep 300")))
	id := b.submit("go")
	b.until("it runs", func() bool { return len(b.pids("pids")) == 1 && b.recorded(event.TypeInnerStarted) == 1 })
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	if l := b.fold(); len(l.Procs) > 0 || b.recorded(event.TypeInnerEnded) != 1 {
		t.Errorf("processes %v\n%s", l.Procs, b.types())
	}
	b.outcome(b.run("and now?"), event.TurnCompleted)

	b = newBench(t, answers(oneScript)+"\ndefault\ntext Well.\nfinish stop\n", withBash(t), with(runner("sleep 300 & echo $! >pids")))
	b.outcome(b.run("go"), event.TurnCompleted)
	jobs := b.jobs()
	if len(jobs) != 1 {
		t.Fatalf("%+v", jobs)
	}
	if err := b.rt.KillJob(b.ctx, b.id, jobs[0].ID); err != nil {
		t.Error(err)
	}
	b.until("its end is recorded", func() bool { return b.recorded(event.TypeJobEnded) == 1 })
	if l := b.fold(); len(l.Procs) > 0 || l.Jobs[0].Call != "c1" {
		t.Errorf("processes %v, job %+v", l.Procs, l.Jobs[0])
	}
}

// proves TOL-27, HOK-04: a tool's question is on every surface, and a decision
// with words is its answer
func TestAToolsQuestionIsAnsweredThroughTheService(t *testing.T) {
	ask := deed("ask", interrupt.Cooperative, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		a, err := tool.PeopleOf(c).Ask(ctx, tool.Question{Prompt: "Which colour?", Options: []string{"red", "blue"}})
		return tool.Text(a.By + " says " + a.Text), err
	})
	b := newBench(t, answers("call ask c1 {}\nfinish tool")+"\ndefault\ntext Well.\nfinish stop\n", with(ask))
	id := b.submit("go")
	q := b.question()
	if !q.Question || len(q.Options) != 2 || q.Tool != "ask" || q.Prompt != "Which colour?" {
		t.Errorf("%+v", q)
	}
	if err := b.rt.Decide(b.ctx, api.DecideRequest{Session: b.id, Approval: q.ID, Decision: event.Allow, By: "me", Why: "green"}); err != nil {
		t.Fatal(err)
	}
	b.outcome(b.wait(id), event.TurnCompleted)
	if text := b.results()["c1"].Content.Text(); text != "me says green" {
		t.Errorf("%q", text)
	}
	b.stale(q)
}
