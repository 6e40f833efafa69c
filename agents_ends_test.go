package ripcord_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Sub-agents that start sub-agents come to an end: in depth, in number at once
// and in number at all. Over the bound a call is answered and the turn goes on.
//
// proves TOL-23, TOL-03
func TestSubAgentsThatStartSubAgentsWithoutEndAreEnded(t *testing.T) {
	again := "answer always if user again and not result\n" + callOf("task", "-", map[string]any{"prompt": "again"}) + "finish tool\n"
	reports := "answer always if user again and result\ntext ${result}\nfinish stop\n"
	t.Run("in depth", func(t *testing.T) {
		b := newBench(t, again+reports, withAgents)
		res := b.run("again")
		b.outcome(res, event.TurnCompleted)
		line := b.line()
		if len(line) != 4 {
			t.Fatalf("%d sessions below each other", len(line))
		}
		ended := line[3].fold().Turn.Calls[0].Ended
		if ended.Outcome != event.CallFinished || ended.Success == nil || *ended.Success || !strings.Contains(ended.Content.Text(), "no more sub-agents") {
			t.Errorf("over the bound: %+v", ended)
		}
		if !strings.Contains(res.Text, "no more sub-agents") || len(sessions(b)) != 4 {
			t.Errorf("%q, %d sessions", res.Text, len(sessions(b)))
		}
	})
	// Each sub-agent has three more started, with two levels allowed.
	three := "answer always if user again and not result\n" + strings.Repeat(callOf("task", "-", map[string]any{"prompt": "again"}), 3) + "finish tool\n"
	t.Run("in number", func(t *testing.T) {
		b := newBench(t, three+reports, withAgents, func(c *ripcord.Config) { c.Limits.AgentDepth, c.Limits.AgentsTotal = 10, 12 })
		b.outcome(b.run("again"), event.TurnCompleted)
		if n := len(sessions(b)); n != 13 {
			t.Errorf("%d sessions, want 13", n)
		}
		b.outcome(b.run("again"), event.TurnCompleted) // a new turn of a person may again
		if n := len(sessions(b)); n != 25 {
			t.Errorf("%d sessions, want 25", n)
		}
	})
	t.Run("at once", func(t *testing.T) {
		back := callOf("task", "-", map[string]any{"prompt": "idle", "background": true})
		b := newBench(t, "answer if user please\n"+strings.Repeat(back, 10)+"finish tool\nanswer always if user idle\ntext so\nhang\ndefault\ntext Well.\nfinish stop\n", withAgents)
		b.outcome(b.run("please"), event.TurnCompleted)
		refused := 0
		for _, e := range b.results() {
			if strings.Contains(e.Content.Text(), "no more sub-agents: 8 are at work") {
				refused++
			}
		}
		if kids := b.kids(); len(kids) != 8 || refused != 2 {
			t.Errorf("%d at work, %d refused", len(kids), refused)
		}
		kids := b.kids()
		b.end()
		for _, kid := range kids {
			if e := kid.ending(); e.Reason != string(interrupt.ParentCancelled) {
				t.Errorf("%+v", e)
			}
		}
		b.start()
	})
	t.Run("none", func(t *testing.T) {
		b := newBench(t, again+reports, withAgents, func(c *ripcord.Config) { c.Limits.Agents = -1 })
		b.outcome(b.run("again"), event.TurnCompleted)
		if n := len(sessions(b)); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// What a sub-agent may do is asked of the people of the session that waits for
// it, through every level, and recorded where it is asked and where it is put.
//
// proves TOL-23, HOK-04, TOL-27
func TestASubAgentsQuestionIsPutToTheParentsPeople(t *testing.T) {
	for name, c := range map[string]struct {
		d    event.Decision
		why  string
		runs bool
	}{
		"allowed":          {event.Allow, "allow", true},
		"allowed silently": {event.Allow, "", true},
		"denied by option": {event.Allow, "deny", false},
		"denied":           {event.Deny, "not today", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, crashtest.AgentTree(2, "echo ran >>M"), withBash(t), withAgents, asking)
			id := b.submit("level 0 please")
			q := b.question()
			if q.Call != "t0" || !strings.Contains(q.Prompt, "echo ran") || !strings.Contains(q.Prompt, "sub-agent") {
				t.Errorf("%+v", q)
			}
			line := b.line()
			b.decide(q, c.d, c.why)
			b.outcome(b.wait(id), event.TurnCompleted)
			if _, err := os.Stat(filepath.Join(b.cwd, "M")); (err == nil) != c.runs {
				t.Errorf("it ran: %v", err == nil)
			}
			for i, at := range line {
				if at.recorded(event.TypeApprovalAsked) != 1 || at.recorded(event.TypeApprovalDecided) != 1 {
					t.Errorf("level %d:\n%s", i, at.types())
				}
			}
			if e := line[2].results()["leaf"]; !c.runs && e.Outcome != event.CallWasDenied {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		b := newBench(t, crashtest.AgentTree(2, "echo ran >>M"), withBash(t), withAgents, asking)
		id := b.submit("level 0 please")
		b.question()
		b.esc(id)
		b.outcome(b.wait(id), event.TurnAborted)
		for i, at := range b.line() {
			if at.recorded(event.TypeApprovalVoided) != 1 || at.recorded(event.TypeApprovalDecided) != 0 {
				t.Errorf("level %d:\n%s", i, at.types())
			}
		}
		b.outcome(b.run("hello"), event.TurnCompleted)
		_ = b.lastRequest()
	})
	t.Run("answered under the child's own id", func(t *testing.T) {
		b := newBench(t, crashtest.AgentTree(1, "echo ran >>M; while [ ! -e on ]; do sleep 0.05; done"), withBash(t), withAgents, asking)
		id := b.submit("level 0 please")
		q := b.question()
		kid := b.kids()[0]
		kid.decide(kid.question(), event.Allow, "")
		b.until("the parent's is asked no more", func() bool {
			st, err := b.rt.Status(b.ctx, b.id)
			return err == nil && len(st.Approvals) == 0
		})
		b.stale(q)
		b.until("that is recorded", func() bool { return b.recorded(event.TypeApprovalVoided) == 1 })
		if b.recorded(event.TypeCallEnded) != 0 {
			t.Errorf("%s", b.types())
		}
		if err := os.WriteFile(filepath.Join(b.cwd, "on"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b.outcome(b.wait(id), event.TurnCompleted)
		if _, err := os.Stat(filepath.Join(b.cwd, "M")); err != nil {
			t.Error("it did not run")
		}
	})
}

// Where nobody can be asked nothing is allowed: the sub-agent's turn is blocked,
// and its parent reads that.
//
// proves TOL-23, IFC-11, HOK-04
func TestWhereNobodyCanBeAskedASubAgentIsBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		back   bool
		change func(*ripcord.Config)
	}{
		"a headless gate":     {false, func(c *ripcord.Config) { c.Gate = gate.Rules{Policy: gate.DenyAll} }},
		"a session alone":     {false, func(c *ripcord.Config) { c.Gate, c.Alone = gate.Rules{}, true }},
		"in the background":   {true, asking},
		"in the background 2": {true, func(c *ripcord.Config) { c.Gate, c.Alone = gate.Rules{}, true }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "count", "background": c.back})+"finish tool")+
				said("count", "text I shall count.\n"+bash("c1", "touch M")+"finish tool")+"default\ntext Well.\nfinish stop\n", withBash(t), withAgents, c.change)
			b.outcome(b.run("please go"), event.TurnCompleted)
			kid := b.kids()[0]
			b.until("it has ended", func() bool { return kid.there() && kid.recorded(event.TypeTurnEnded) == 1 })
			if e := kid.ending(); e.Outcome != event.TurnBlocked {
				t.Errorf("%+v", e)
			}
			if _, err := os.Stat(filepath.Join(b.cwd, "M")); err == nil {
				t.Error("it ran")
			}
			if e := b.results()["t1"]; !c.back && (e.Success == nil || *e.Success || !strings.Contains(e.Content.Text(), ": blocked") || !strings.Contains(e.Content.Text(), "I shall count.")) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Whatever becomes of a sub-agent is a result of the call: its parent's turn
// goes on.
//
// proves TOL-23, TOL-02, TOL-04
func TestASubAgentsFailureIsAResultAndNotItsParents(t *testing.T) {
	panics := deed("panics", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { panic("oh") })
	for name, c := range map[string]struct{ steps, holds string }{
		"the model refuses":   {"http 401\n", ": failed"},
		"a tool panics":       {"text I try.\ncall panics p1 {}\nfinish tool\n", "panicked: oh"},
		"the answer is cut":   {"text half an ans\nfinish length\n", ": truncated"},
		"it asks for no tool": {"call nothing n1 {}\nfinish tool\nanswer if user work and result\ntext I can't.\nfinish stop\n", "call nothing (n1): invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "work"})+"finish tool")+
				said("work", c.steps)+"default\ntext Well.\nfinish stop\n", with(panics), withAgents)
			b.outcome(b.run("please go"), event.TurnCompleted)
			e := b.results()["t1"]
			if e.Outcome != event.CallFinished || !strings.Contains(e.Content.Text(), c.holds) {
				t.Errorf("%+v", e)
			}
			if well := c.holds == ": truncated" || strings.HasPrefix(c.holds, "call"); *e.Success != well {
				t.Errorf("success %v", *e.Success)
			}
			_ = b.lastRequest()
		})
	}
	t.Run("its session cannot be made", func(t *testing.T) {
		b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "work", "tools": []string{"no such"}})+"finish tool")+"default\ntext Well.\nfinish stop\n", withAgents)
		b.outcome(b.run("please go"), event.TurnCompleted)
		if e := b.results()["t1"]; *e.Success || !strings.Contains(e.Content.Text(), "there is none") || len(sessions(b)) != 1 {
			t.Errorf("%+v", e)
		}
	})
	t.Run("somebody stops it alone", func(t *testing.T) {
		b := newBench(t, crashtest.AgentTree(1, "touch up; echo $$ >>pids; sleep 300"), withBash(t), withAgents)
		id := b.submit("level 0 please")
		b.up(1)
		kid := b.kids()[0]
		if got, err := b.rt.Interrupt(b.ctx, api.InterruptRequest{Session: kid.id, Who: "me"}); err != nil || got.State != "stopping" {
			t.Fatalf("%+v %v", got, err)
		}
		b.outcome(b.wait(id), event.TurnCompleted)
		if e := b.results()["t0"]; e.Outcome != event.CallFinished || *e.Success || !strings.Contains(e.Content.Text(), ": aborted (USER_SIGINT, me)") {
			t.Errorf("%+v", e)
		}
		if left := alive(b.pids("pids")...); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
}

// A sub-agent has the tools that its call names and no others.
//
// proves TOL-23
func TestASubAgentHasTheToolsThatItWasGiven(t *testing.T) {
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "work", "tools": []string{"read"}})+"finish tool")+
		"answer if user work and tool bash\ntext I have all.\nfinish stop\nanswer if user work and tool read\ntext I can read.\nfinish stop\ndefault\ntext Well.\nfinish stop\n", withBash(t), withAgents)
	b.outcome(b.run("please go"), event.TurnCompleted)
	if e := b.results()["t1"]; !strings.Contains(e.Content.Text(), "I can read.") {
		t.Errorf("%+v", e)
	}
}

// What a sub-agent's command left running ends with the sub-agent.
//
// proves TOL-23, PRC-05, BEN-03
func TestASubAgentLeavesNothingRunning(t *testing.T) {
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "serve"})+"finish tool")+
		said("serve", bash("c1", "(trap '' TERM; echo $BASHPID >>pids; while :; do sleep 0.05; done) & tail -f /dev/null & echo $! >>pids; until [ $(wc -l <pids) = 2 ]; do sleep 0.02; done")+"finish tool")+
		done("serve", "It serves.")+"default\ntext Well.\nfinish stop\n", withBash(t), withAgents)
	b.outcome(b.run("please go"), event.TurnCompleted)
	if pids := b.pids("pids"); len(pids) != 2 || len(alive(pids...)) > 0 {
		t.Errorf("of %v alive %v", pids, alive(pids...))
	}
	kid := b.kids()[0]
	if kid.recorded(event.TypeJobStarted) != 1 || kid.recorded(event.TypeJobEnded) != 1 {
		t.Errorf("%s", kid.types())
	}
}

// One of several things that a sub-agent was given is taken back by a person; it
// goes on with the others, also with one that comes at the very moment when there
// was nothing else left.
//
// proves TOL-23, TRN-14
func TestAnInputThatIsTakenBackEndsNoOtherWorkOfASubAgent(t *testing.T) {
	on := map[string]chan struct{}{"h1": make(chan struct{}), "h3": make(chan struct{}), "h4": make(chan struct{})}
	hold := deed("hold", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		select {
		case <-on[string(c.ID)]:
		case <-tool.SignalOf(c).Done():
		}
		return tool.Text("held"), nil
	})
	work := func(prompt, call string) string {
		return said(prompt, "call hold "+call+" {}\nfinish tool") + done(prompt, "Done.")
	}
	h := &hand{}
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "first work", "background": true})+"finish tool")+
		work("first work", "h1")+work("third work", "h3")+work("fourth work", "h4")+
		"answer always if user hand and not result\ncall hand -\nfinish tool\n"+
		"default\ntext Hello.\nfinish stop\n", with(hold), withAgents, h.join)
	b.outcome(b.run("please go"), event.TurnCompleted)
	kid := b.kids()[0]
	b.until("it is at work", func() bool { return kid.there() && kid.recorded(event.TypeCallStarted) == 1 })
	send := func(text string) {
		t.Helper()
		if res, err := h.use(b, "task_send", map[string]any{"id": kid.id, "message": text}); err != nil || !res.Success {
			t.Fatalf("%+v %v", res, err)
		}
	}
	send("second work")
	send("third work")
	waiting, err := b.rt.Inbox(b.ctx, kid.id)
	if err != nil || len(waiting) != 2 {
		t.Fatalf("waiting: %+v, %v", waiting, err)
	}
	if err := b.rt.RemoveInput(b.ctx, api.RemoveRequest{Session: kid.id, ID: waiting[0].ID, By: "me"}); err != nil {
		t.Fatal(err)
	}
	close(on["h1"])
	b.until("it goes on", func() bool { return kid.recorded(event.TypeCallStarted) == 2 })
	h.as = func(ctx context.Context) context.Context {
		return &laggard{Context: ctx, at: 1, wait: func() {
			close(on["h3"])
			b.until("that has ended", func() bool { return kid.recorded(event.TypeTurnEnded) == 2 })
		}}
	}
	send("fourth work")
	h.as = nil
	b.until("it works on that", func() bool { return kid.recorded(event.TypeCallStarted) == 3 })
	send("fifth work") // it is there to be given more
	close(on["h4"])
	b.until("it is given up", func() bool { _, err := b.rt.Status(b.ctx, kid.id); return err != nil })
	var got []event.TurnOutcome
	for _, rec := range kid.records() {
		if p, _ := rec.Body(); rec.Type == event.TypeTurnEnded {
			got = append(got, p.(event.TurnEnded).Outcome)
		}
	}
	if want := slices.Repeat([]event.TurnOutcome{event.TurnCompleted}, 4); !slices.Equal(got, want) {
		t.Errorf("its turns ended %v, want %v\n%s", got, want, kid.types())
	}
}

// A session that could not be closed in time, because a sub-agent did not end,
// is open as it was: its next turn has sub-agents.
//
// proves TOL-23
func TestASessionThatCouldNotBeClosedHasSubAgents(t *testing.T) {
	on := make(chan struct{})
	deaf := deed("deaf", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		<-on
		return tool.Text("heard"), nil
	})
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "first work", "background": true})+"finish tool")+
		said("first work", "call deaf d1 {}\nfinish tool")+done("please go", "It works.")+
		said("once more", callOf("task", "t2", map[string]any{"prompt": "second work"})+"finish tool")+done("once more", "Fine.")+
		"default\ntext Hello.\nfinish stop\n", with(deaf), withAgents)
	b.outcome(b.run("please go"), event.TurnCompleted)
	kid := b.kids()[0]
	b.until("it is at work", func() bool { return kid.there() && kid.recorded(event.TypeCallStarted) == 1 })
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.rt.Release(ctx, b.id); err == nil {
		t.Fatal("it was closed while its sub-agent was at work")
	}
	close(on)
	b.until("the sub-agent is given up", func() bool { _, err := b.rt.Status(b.ctx, kid.id); return err != nil })
	b.outcome(b.run("once more"), event.TurnCompleted)
	if e := b.results()["t2"]; e.Success == nil || !*e.Success {
		t.Errorf("%+v", e)
	}
}
