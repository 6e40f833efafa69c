package ripcord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

// withAgents gives the runtime the tools for sub-agents.
func withAgents(c *ripcord.Config) { c.Tools = append(c.Tools, builtin.TaskTools()...) }

// callOf is a call of the script, as lines of it.
func callOf(name, id string, args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("call %s %s\nargs %q\nend\n", name, id, raw)
}

// said is an answer for when prompt is what the last user message holds and no
// result has come since.
func said(prompt, steps string) string {
	return fmt.Sprintf("answer if user %q and not user hello and not result\n%s\n", prompt, steps)
}

// done is an answer for when a result has come to prompt.
func done(prompt, text string) string {
	return fmt.Sprintf("answer if user %q and result\ntext %s\nusage 7 3\nfinish stop\n", prompt, text)
}

// of looks at another session of the same store.
func (b *bench) of(id event.SessionID) *bench {
	other := *b
	other.id = id
	return &other
}

// kids are the sub-agents that b's journal names, in order.
func (b *bench) kids() (out []*bench) {
	b.Helper()
	for _, rec := range b.records() {
		p, err := rec.Body()
		if err != nil {
			b.Fatal(err)
		}
		if l, ok := p.(event.SubAgentLinked); ok {
			out = append(out, b.of(l.Child))
		}
	}
	return out
}

// there reports whether the session has a journal yet.
func (b *bench) there() bool {
	_, err := os.Stat(filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl"))
	return err == nil
}

// line is the tree of sub-agents from b down, where each has started one.
func (b *bench) line() (out []*bench) {
	b.Helper()
	for at := b; at.there(); {
		out = append(out, at)
		kids := at.kids()
		if len(kids) == 0 {
			break
		}
		at = kids[0]
	}
	return out
}

// ending is the session's last turn/end.
func (b *bench) ending() (end event.TurnEnded) {
	b.Helper()
	l := b.fold()
	if l.Turn == nil || l.Turn.End == nil {
		b.Fatalf("session %s has no turn that ended\n%s", b.id, b.types())
	}
	return *l.Turn.End
}

// when is the time of the session's first record of that type.
func (b *bench) when(t event.Type) time.Time {
	b.Helper()
	for _, rec := range b.records() {
		if rec.Type == t {
			return rec.Time
		}
	}
	b.Fatalf("no %s\n%s", t, b.types())
	return time.Time{}
}

// free reports that nobody holds the session any more.
func (b *bench) free() {
	b.Helper()
	list, err := b.rt.Sessions(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range list {
		if s.ID == b.id && (s.State != "idle" || s.Owner != nil) {
			b.Errorf("session %s is %s, held by %+v", b.id, s.State, s.Owner)
		}
	}
}

// A sub-agent works in a session of its own, linked in both journals before it
// begins, and its answer is the call's result.
//
// proves TOL-23, TOL-08, LOG-03
func TestASubAgentIsASessionOfItsOwnAndItsAnswerIsTheResult(t *testing.T) {
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "count them", "description": "counting"})+"finish tool")+
		said("count them", "text Let me see.\n"+bash("c1", "echo three >>M; echo three")+"finish tool")+
		done("count them", "There are three.")+done("please go", "Three."), withBash(t), withAgents)
	b.outcome(b.run("please go"), event.TurnCompleted)
	e := b.results()["t1"]
	text := e.Content.Text()
	if e.Outcome != event.CallFinished || e.Success == nil || !*e.Success || e.Error || !strings.Contains(text, "completed") ||
		!strings.Contains(text, "There are three.") || !strings.Contains(text, "calls that finished: 1") || !strings.Contains(text, "tokens 7 in, 3 out") {
		t.Errorf("%+v", e)
	}
	kids := b.kids()
	if len(kids) != 1 || b.recorded(event.TypeProcessStarted) > 0 {
		t.Fatalf("%d sub-agents\n%s", len(kids), b.types())
	}
	kid := kids[0]
	l := kid.fold()
	if l.Header.Parent != b.id || l.Header.Title != "counting" || l.Header.Cwd != b.fold().Header.Cwd {
		t.Errorf("header %+v", l.Header)
	}
	if kid.when(event.TypeSessionOpened).Before(b.when(event.TypeSubAgentLinked)) {
		t.Error("the child's journal began before its link")
	}
	if b.when(event.TypeCallEnded).Before(kid.when(event.TypeTurnEnded)) {
		t.Error("the parent had its result before the child had closed its books")
	}
	kid.free()
	for _, s := range sessions(b) {
		if want := map[event.SessionID]event.SessionID{b.id: "", kid.id: b.id}[s.ID]; s.Parent != want {
			t.Errorf("session %s is listed with parent %q", s.ID, s.Parent)
		}
	}
	b.end()
	b.start()
	st, err := b.rt.Open(b.ctx, api.OpenRequest{Cwd: b.cwd, Latest: true})
	if err != nil || st.ID != b.id {
		t.Errorf("the newest session of the workspace is %s, %v", st.ID, err)
	}
	b.outcome(b.wait(b.submit("please go on")), event.TurnFailed) // no answer is written for it
}

func sessions(b *bench) []api.SessionInfo {
	b.Helper()
	list, err := b.rt.Sessions(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// stubborn is a command that nothing but KILL ends, with what escapes a group.
const stubborn = "trap '' TERM INT; echo half of it; echo $$ >>pids; (trap '' TERM; sleep 300) & echo $! >>pids; setsid sleep 300 & echo $! >>pids; : >up; while :; do sleep 0.05; done"

func (b *bench) up(n int) {
	b.Helper()
	b.until("the leaf runs", func() bool {
		_, err := os.Stat(filepath.Join(b.cwd, "up"))
		return err == nil && len(b.pids("pids")) >= n
	})
}

// One press stops a tree of three levels as a whole: every level closes its own
// books, the leaves first, and each parent reads what its child came to.
//
// proves TOL-23, INT-07, INT-16, INT-35, TRN-20, B084, B087
func TestOnePressStopsATreeOfThreeLevelsAsAWhole(t *testing.T) {
	b := newBench(t, crashtest.AgentTree(3, stubborn), withBash(t), withAgents)
	id := b.submit("level 0 please")
	b.up(3)
	pids := b.pids("pids")
	began := time.Now()
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
	if left := alive(pids...); len(left) > 0 {
		t.Errorf("alive after the turn's end: %v", left)
	}
	line := b.line()
	if len(line) != 4 {
		t.Fatalf("%d sessions in the line", len(line))
	}
	for i, at := range line {
		end, want := at.ending(), string(interrupt.ParentCancelled)
		if i == 0 {
			want = string(interrupt.UserSIGINT)
		}
		if end.Outcome != event.TurnAborted || end.Reason != want {
			t.Errorf("level %d ended %+v", i, end)
		}
		if i > 0 {
			at.free()
			if up := line[i-1]; up.when(event.TypeCallEnded).Before(at.when(event.TypeTurnEnded)) {
				t.Errorf("level %d had its result before level %d had closed its books", i-1, i)
			}
		}
		call := event.CallID(fmt.Sprintf("t%d", i))
		if i == 3 {
			call = "leaf"
		}
		e := at.results()[call]
		holds := []string{"half of it"}
		switch i {
		case 0:
			holds = append(holds, "aborted by user after", string(line[1].id), "call task (t1): stopped", "I am level 1.")
		case 3:
			holds = append(holds, "aborted after")
		default:
			holds = append(holds, "(PARENT_CANCELLED)", string(line[i+1].id), ": stopped")
		}
		for _, s := range holds {
			if !strings.Contains(e.Content.Text(), s) {
				t.Errorf("level %d: the result lacks %q:\n%s", i, s, e.Content.Text())
			}
		}
		if e.Outcome != event.CallStopped || !e.Error || e.Success != nil {
			t.Errorf("level %d: %+v", i, e)
		}
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
	st := b.again()
	if st.Recovered != nil {
		t.Errorf("opening it had something to close: %+v", st.Recovered)
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
}

// Whoever presses twice waits for nothing, however deep the work is.
//
// proves TOL-23, PRC-03, IFC-05, B084
func TestTheSecondPressForcesAllLevels(t *testing.T) {
	b := newBench(t, crashtest.AgentTree(3, stubborn), withAgents, func(c *ripcord.Config) {
		withGrace(t, 10*time.Minute)(c)
	})
	id := b.submit("level 0 please")
	b.up(3)
	b.esc(id)
	if res, err := b.rt.Interrupt(b.ctx, api.InterruptRequest{Session: b.id, Input: id, Force: true, KeepInbox: true}); err != nil || res.Noop != "already_stopping" {
		t.Errorf("%+v %v", res, err)
	}
	b.outcome(b.wait(id), event.TurnAborted) // long before the grace is over
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	for i, at := range b.line() {
		if e := at.ending(); e.Outcome != event.TurnAborted {
			t.Errorf("level %d: %+v", i, e)
		}
	}
}

// A stop at any moment of a tree's life leaves closed books, no process and a
// history that the strict server accepts.
//
// proves TOL-23, TRN-06, INT-31, BEN-03, B084
func TestAStopAtAnyMomentOfATreeLeavesClosedBooks(t *testing.T) {
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := newBench(t, crashtest.AgentTree(2, "echo $$ >>pids; sleep 300"), withBash(t), withAgents)
			id := b.submit("level 0 please")
			depth, typ := i%3, []event.Type{event.TypeSessionOpened, event.TypeModelRequest, event.TypeCallStarted, event.TypeSubAgentLinked}[i/3]
			if depth == 2 && typ == event.TypeSubAgentLinked {
				typ = event.TypeProcessStarted
			}
			b.until("that moment", func() bool {
				line := b.line()
				return len(line) > depth && line[depth].recorded(typ) > 0
			})
			b.esc(id)
			b.outcome(b.wait(id), event.TurnAborted)
			if left := alive(b.pids("pids")...); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
			for _, at := range b.line() {
				at.fold()
				if at.id != b.id {
					at.free()
				}
			}
			b.outcome(b.run("hello"), event.TurnCompleted)
			_ = b.lastRequest()
		})
	}
}

// The same at moments that nobody chose, in one session, whoever ends the turn.
//
// proves TOL-23, INT-16, INT-35, TRN-02, B084, B090
func TestStopsAtRandomMomentsOfTreesLeaveOneSessionWhole(t *testing.T) {
	b := newBench(t, crashtest.AgentTree(2, "echo $$ >>pids; sleep 300"), withBash(t), withAgents)
	for i := range 10 {
		ctx, stop := context.WithCancel(b.ctx)
		late := time.AfterFunc(rand.N(150*time.Millisecond), func() {
			for by := time.NewTicker(time.Millisecond); i%2 == 1 && ctx.Err() == nil; <-by.C { // until there is a turn to stop
				got, err := b.rt.Interrupt(b.ctx, api.InterruptRequest{Session: b.id, Who: "me", KeepInbox: true})
				if err != nil || got.Noop == "" {
					return
				}
			}
			stop() // who drives it goes away
		})
		res, err := b.rt.Run(ctx, b.id, "level 0 please")
		late.Stop()
		stop()
		if err != nil && !errors.Is(err, context.Canceled) || err == nil && *res.Outcome != event.TurnAborted {
			t.Fatalf("round %d: %+v %v", i, res, err)
		}
		if left := alive(b.pids("pids")...); len(left) > 0 {
			t.Errorf("round %d: alive: %v", i, left)
		}
	}
	for _, kid := range b.kids() {
		if kid.there() {
			for _, at := range kid.line() {
				at.fold()
				at.free()
			}
		}
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
}

// A runtime that ends has ended every level, the root last.
//
// proves TOL-23, PRC-08, INT-59
func TestARuntimeThatClosesEndsItsTrees(t *testing.T) {
	b := newBench(t, crashtest.AgentTree(3, stubborn), withBash(t), withAgents)
	b.submit("level 0 please")
	b.up(3)
	b.end()
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	b.start()
	for i, at := range b.line() {
		want := string(interrupt.ParentCancelled)
		if i == 0 {
			want = string(interrupt.SystemShutdown)
		}
		if e := at.ending(); e.Outcome != event.TurnAborted || e.Reason != want {
			t.Errorf("level %d: %+v", i, e)
		}
	}
}

// What works in the background is not the turn's: it lives through Esc, is told
// of when asked, and ends with its parent's session.
//
// proves TOL-23, TRN-20, B085
func TestABackgroundSubAgentOutlivesTheTurnAndEndsWithTheSession(t *testing.T) {
	back := func(id, prompt string) string {
		return callOf("task", id, map[string]any{"prompt": prompt, "background": true, "description": prompt})
	}
	waits := func(name string) string {
		return "until [ -e " + name + " ]; do sleep 0.02; done; echo " + name + " is done"
	}
	b := newBench(t, said("please go", back("t1", "first work")+back("t2", "second work")+bash("c0", "touch up; sleep 300")+"finish tool")+
		said("first work", bash("c1", waits("one"))+"finish tool")+done("first work", "First is done.")+
		said("second work", bash("c2", "echo $$ >>pids; "+waits("two"))+"finish tool")+
		said("how are they", callOf("task_status", "s1", map[string]any{})+"finish tool")+"default\ntext Hello.\nfinish stop\n", withBash(t), withAgents)
	id := b.submit("please go")
	b.until("all work", func() bool {
		kids := b.kids()
		return len(kids) == 2 && kids[0].there() && kids[1].there() && kids[0].recorded(event.TypeProcessStarted) == 1 &&
			len(b.pids("pids")) == 1 && b.recorded(event.TypeProcessStarted) == 1
	})
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	kids := b.kids()
	for i, kid := range kids {
		if st, err := b.rt.Status(b.ctx, kid.id); err != nil || !st.Running || st.Stopping {
			t.Errorf("after Esc child %d is %+v, %v", i, st, err)
		}
		if e := b.results()[event.CallID(fmt.Sprintf("t%d", i+1))]; e.Outcome != event.CallFinished || !strings.Contains(e.Content.Text(), string(kid.id)) {
			t.Errorf("%+v", e)
		}
	}
	if err := os.WriteFile(filepath.Join(b.cwd, "one"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.until("the first has ended", func() bool { return kids[0].recorded(event.TypeTurnEnded) == 1 })
	b.until("it is given up", func() bool { _, err := b.rt.Status(b.ctx, kids[0].id); return err != nil })
	b.outcome(b.run("how are they"), event.TurnCompleted)
	told := b.results()["s1"].Content.Text()
	for _, s := range []string{string(kids[0].id) + " (first work): completed", "First is done.", string(kids[1].id) + " (second work): running", "call bash (c2): running"} {
		if !strings.Contains(told, s) {
			t.Errorf("the status lacks %q:\n%s", s, told)
		}
	}
	if e := kids[0].ending(); e.Outcome != event.TurnCompleted {
		t.Errorf("%+v", e)
	}
	b.end()
	b.start()
	if st, err := b.rt.Open(b.ctx, api.OpenRequest{Cwd: b.cwd, Latest: true}); err != nil || st.ID != b.id { // though a sub-agent's ended last
		t.Errorf("the newest session of the workspace is %s, %v", st.ID, err)
	}
	if e := kids[1].ending(); e.Outcome != event.TurnAborted || e.Reason != string(interrupt.ParentCancelled) || e.Who != "session "+string(b.id) {
		t.Errorf("at the session's end: %+v", e)
	}
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
}

// It can be addressed: given more to do, waited for, stopped; by the session
// that started it alone, and by people under its own id.
//
// proves TOL-23, INT-12, B085
func TestABackgroundSubAgentIsAddressedByItsOwnID(t *testing.T) {
	h := &hand{}
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "first work", "background": true})+"finish tool")+
		said("first work", "text First.\nfinish stop")+
		said("second work", bash("c1", "echo $$ >>pids; touch up; sleep 300")+"finish tool")+
		said("third work", bash("c2", "touch third; sleep 300")+"finish tool")+
		"answer always if user hand and not result\ncall hand -\nfinish tool\n"+
		"default\ntext Hello.\nfinish stop\n", withBash(t), withAgents, h.join)
	b.outcome(b.run("please go"), event.TurnCompleted)
	kid := b.kids()[0]
	b.until("it has ended", func() bool { _, err := b.rt.Status(b.ctx, kid.id); return err != nil })

	ask := func(name string, args map[string]any) (tool.Result, error) { b.Helper(); return h.use(b, name, args) }
	if res, err := ask("task_send", map[string]any{"id": kid.id, "message": "second work"}); err != nil || !res.Success {
		t.Fatalf("%+v %v", res, err)
	}
	b.up(1)
	if res, err := ask("task_send", map[string]any{"id": kid.id, "message": "third work"}); err != nil || !res.Success {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := ask("task_send", map[string]any{"id": "s_elsewhere", "message": "x"}); err == nil || !strings.Contains(err.Error(), "no sub-agent") {
		t.Errorf("a stranger is addressed: %v", err)
	}
	res, err := ask("task_status", map[string]any{"id": kid.id, "wait_seconds": 0.01})
	if err != nil || !strings.Contains(res.Content.Text(), "running") {
		t.Errorf("%+v %v", res, err)
	}
	res, err = ask("task_stop", map[string]any{"id": kid.id})
	if err != nil || !res.Success || !strings.Contains(res.Content.Text(), "aborted (TASK_CANCELLED") || !strings.Contains(res.Content.Text(), "1 messages wait") {
		t.Errorf("%+v %v", res, err)
	}
	if e := kid.ending(); e.Outcome != event.TurnAborted || e.Reason != string(interrupt.TaskCancelled) {
		t.Errorf("%+v", e)
	}
	if left := alive(b.pids("pids")...); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
	if _, err := os.Stat(filepath.Join(b.cwd, "third")); err == nil {
		t.Error("what waited was run after the stop")
	}
	if again, err := ask("task_stop", map[string]any{"id": kid.id}); err != nil || again.Content.Text() != res.Content.Text() {
		t.Errorf("stopped again: %+v %v", again, err)
	}
	kid.free()
}

// hand is a tool that does what a test says, with the call that it is given.
type hand struct {
	tools []tool.Tool
	as    func(context.Context) context.Context // its own context; nil: the call's
	do    func(ctx context.Context, call *tool.Call)
}

func (h *hand) join(c *ripcord.Config) {
	h.tools = c.Tools
	c.Tools = append(slices.Clone(c.Tools), deed("hand", interrupt.NonInterruptible, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		h.do(ctx, call)
		return tool.Text("done"), nil
	}))
}

// use runs a tool in a turn of b's session.
func (h *hand) use(b *bench, name string, args map[string]any) (res tool.Result, err error) {
	b.Helper()
	i := slices.IndexFunc(h.tools, func(t tool.Tool) bool { return t.Spec().Name == name })
	raw, bad := json.Marshal(args)
	if bad != nil {
		b.Fatal(bad)
	}
	h.do = func(ctx context.Context, call *tool.Call) {
		other := *call
		other.Name, other.Args = name, raw
		if h.as != nil {
			ctx = h.as(ctx)
		}
		res, err = h.tools[i].Execute(ctx, &other)
	}
	b.outcome(b.run("hand"), event.TurnCompleted)
	return res, err
}
