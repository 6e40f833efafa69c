package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/workflow"
	"github.com/ripcord-go/ripcord/turn"
)

// house is a runtime with every tool of ours on files and real processes, in
// front of the scripted server in strict mode.
type house struct {
	ctx       context.Context
	root, cwd string
	server    *scripted.Server
	store     journal.Store
	plans     *gate.Plans
	rt        *ripcord.Runtime
	id        event.SessionID
	ends      []func() error
	seen      []event.ApprovalID // questions that a test has been given
}

// newHouse makes one below dir; a second one over the same dir is the next
// process's.
func newHouse(ctx context.Context, dir, script string, more ...tool.Tool) (h *house, err error) {
	h = &house{ctx: ctx, root: filepath.Join(dir, "root"), cwd: filepath.Join(dir, "cwd"), plans: &gate.Plans{}}
	if err := os.MkdirAll(h.cwd, 0o700); err != nil {
		return nil, err
	}
	sc, err := scripted.Parse(script)
	if err != nil {
		return nil, err
	}
	if h.server, err = scripted.NewServer(sc, scripted.Options{}); err != nil {
		return nil, err
	}
	m, err := openai.New(openai.Config{BaseURL: h.server.URL(), Model: "script"})
	if err != nil {
		return nil, err
	}
	host, err := proc.NewHost(proc.Options{})
	if err != nil {
		return nil, err
	}
	store, err := file.Open(h.root, file.Options{Check: func() journal.Checker { return turn.Check() }})
	if err != nil {
		return nil, err
	}
	h.store = store
	tools := append(builtin.Tools(builtin.Options{Host: host, Grace: 300 * time.Millisecond}),
		workflow.New(workflow.Options{Host: host}), ask.User(), ask.ExitPlan(h.plans))
	tools = append(tools, more...)
	h.rt, err = ripcord.New(ripcord.Config{Store: store, Model: m, Host: host, Tools: tools,
		Gate: gate.PlanMode(gate.Rules{Policy: gate.YesAll}, h.plans), Limits: ripcord.Limits{Backoff: time.Millisecond}})
	h.ends = []func() error{func() error { return h.rt.Close(ctx) }, host.Close, m.Close, h.server.Close}
	return h, err
}

func (h *house) open(id event.SessionID) error {
	s, err := h.rt.Open(h.ctx, api.OpenRequest{ID: id, Cwd: h.cwd})
	if err != nil {
		return err
	}
	h.id = s.ID
	return h.plans.Load(h.id, h.store.Read(h.ctx, h.id, 0))
}

// at is a house in a test, with its session open.
func at(t *testing.T, dir, script string, id event.SessionID, more ...tool.Tool) *house {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	h, err := newHouse(ctx, dir, script, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.end(t) })
	if err := h.open(id); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) end(t *testing.T) {
	t.Helper()
	for _, f := range h.ends {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	h.ends = nil
}

func (h *house) submit(t *testing.T, text, mode string) event.InputID {
	t.Helper()
	req := api.SubmitRequest{Session: h.id, Input: event.UserInput{Content: event.TextOf(text)}}
	if mode != "" {
		req.Options.Attributes = map[string]json.RawMessage{gate.ModeAttribute: json.RawMessage(strconv.Quote(mode))}
		if plan, _ := gate.ModeOf(req.Options.Attributes); plan {
			h.plans.Enter(h.id)
		}
	}
	sub, err := h.rt.Submit(h.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return sub.Input
}

func (h *house) wait(t *testing.T, id event.InputID, outcome event.TurnOutcome) api.Result {
	t.Helper()
	res, err := h.rt.Wait(h.ctx, h.id, id)
	if err != nil || res.Outcome == nil || *res.Outcome != outcome {
		t.Fatalf("%v, %+v, want %s", err, res, outcome)
	}
	for _, r := range h.server.Requests() {
		if r.Refuse != nil {
			t.Errorf("request %d was refused: %v", r.N, r.Refuse)
		}
	}
	return res
}

// until waits until ok holds for the session's records.
func (h *house) until(t *testing.T, what string, ok func(rec *event.Record) bool) event.Record {
	t.Helper()
	for f, err := range h.rt.Follow(h.ctx, h.id, 0, false) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if f.Record != nil && ok(f.Record) {
			return *f.Record
		}
	}
	t.Fatalf("never: %s", what)
	return event.Record{}
}

func (h *house) records(t *testing.T) (out []event.Record) {
	t.Helper()
	for rec, err := range h.store.Read(context.Background(), h.id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

// result is the recorded result of a call, as data and text.
func (h *house) result(t *testing.T, id event.CallID) (e event.CallEnded, text string) {
	t.Helper()
	found := 0
	for _, rec := range h.records(t) {
		if p, err := rec.Body(); err != nil {
			t.Error(err)
		} else if got, ok := p.(event.CallEnded); ok && rec.Call == id {
			e = got
			found++
		}
	}
	if found != 1 {
		t.Errorf("call %s has %d results", id, found)
	}
	return e, e.Content.Text()
}

// brief lists what was recorded of steps and processes.
func (h *house) brief(t *testing.T) (out []string) {
	t.Helper()
	for _, rec := range h.records(t) {
		p, err := rec.Body()
		if err != nil {
			t.Error(err)
		}
		switch p := p.(type) {
		case event.InnerStarted:
			out = append(out, fmt.Sprintf("%d %s by %s", p.N, p.Tool, p.By))
		case event.InnerEnded:
			out = append(out, fmt.Sprintf("%d %s", p.N, p.Ended.Outcome))
		case event.ProcessStarted:
			out = append(out, "process of "+p.ID)
		case event.ProcessEnded:
			out = append(out, "end of "+p.ID)
		}
	}
	return out
}

func scriptCall(id, script string) string {
	args, _ := json.Marshal(map[string]string{"script": script})
	return fmt.Sprintf("answer\ncall workflow %s\nargs %q\nend\nfinish tool\n", id, args)
}

func says(text string) string { return fmt.Sprintf("answer\ntext %q\nfinish stop\n", text) }

// proves TOL-24, TOL-08, PRC-01: each step is judged and recorded, start before
// end, with its process; the script's value is what the model reads.
func TestAScriptInASessionIsRecordedStepByStep(t *testing.T) {
	h := at(t, t.TempDir(), scriptCall("c1", `
		const a = await tool("bash", {command: "echo one >f; cat f"})
		const b = await tool("read", {path: "f"})
		return {code: a.exitCode, both: [a.text.includes("one"), b.text.includes("one")]}`)+says("done"), "")
	res := h.wait(t, h.submit(t, "go", ""), event.TurnCompleted)
	if res.Text != "done" || len(res.Calls) != 1 {
		t.Errorf("%+v", res)
	}
	if e, text := h.result(t, "c1"); e.Success == nil || !*e.Success || !strings.Contains(text, "it returned:\n"+`{"code":0,"both":[true,true]}`) || !strings.Contains(text, "steps:\n1 bash: finished, exit code 0\n2 read: finished") {
		t.Errorf("%+v %q", e, text)
	}
	want := []string{"process of c1", "1 bash by yes", "process of c1.1", "end of c1.1", "1 finished", "2 read by rule:read-only", "2 finished", "end of c1"}
	if got := h.brief(t); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// proves TOL-24, PRC-02, TOL-07, TRN-05, B001: Esc ends the step with its tree
// and the engine, nothing more starts, and the history is accepted, here and in
// the next process.
func TestEscEndsAScriptItsStepAndTheirTrees(t *testing.T) {
	dir := t.TempDir()
	h := at(t, dir, scriptCall("c1", `
		log("begun")
		await tool("bash", {command: "echo $$ >pids; setsid sleep 300 & echo $! >>pids; echo up >up; wait"})
		await tool("bash", {command: "echo no >never"})`)+says("hello"), "")
	id := h.submit(t, "go", "")
	pids := h.pidsOf(t, 2)
	if _, err := h.rt.Interrupt(h.ctx, api.InterruptRequest{Session: h.id, Input: id, Who: "me"}); err != nil {
		t.Fatal(err)
	}
	h.wait(t, id, event.TurnAborted)
	dead(t, pids...)
	if e, text := h.result(t, "c1"); e.Outcome != event.CallStopped || !strings.HasPrefix(text, "aborted by user after ") || !strings.Contains(text, "begun") || !strings.Contains(text, "1 bash: stopped") {
		t.Errorf("%s %q", e.Outcome, text)
	}
	if _, err := os.Stat(filepath.Join(h.cwd, "never")); err == nil {
		t.Error("a step started after the stop")
	}
	h.wait(t, h.submit(t, "hello", ""), event.TurnCompleted)
	was := h.id
	h.end(t)
	h = at(t, dir, says("again"), was)
	h.wait(t, h.submit(t, "hello", ""), event.TurnCompleted)
}

// pidsOf waits for a command to name n processes, and adds the engine's.
func (h *house) pidsOf(t *testing.T, n int) (pids []int) {
	t.Helper()
	rec := h.until(t, "the engine", func(rec *event.Record) bool { return rec.Type == event.TypeProcessStarted })
	if p, err := rec.Body(); err == nil {
		pids = append(pids, p.(event.ProcessStarted).PID)
	}
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(h.cwd, "up")); err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the step never ran")
		}
	}
	raw, err := os.ReadFile(filepath.Join(h.cwd, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Error(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != n+1 {
		t.Fatalf("pids %v", pids)
	}
	return pids
}

// A second press kills the engine and is waited for, also while a step climbs
// the last rung of its own ladder.
//
// proves TOL-24, INT-08, PRC-02
func TestASecondPressEndsAScriptThatIsNotQuarantined(t *testing.T) {
	slow := tooltest.Func{Is: tool.Spec{Name: "slow", Schema: json.RawMessage(`{"type":"object"}`)}, Declared: interrupt.ExternallyTerminated,
		Do: func(_ context.Context, c *tool.Call) (tool.Result, error) {
			<-tool.SignalOf(c).Forced()
			rung := time.NewTimer(400 * time.Millisecond) // longer than the runner's own moment
			<-rung.C
			return tool.Result{}, tool.SignalOf(c).Checkpoint()
		}}
	for name, step := range map[string]string{"a tree": `tool("bash", {command: "trap '' TERM; echo $$ >pids; setsid sleep 300 & echo $! >>pids; echo up >up; while :; do sleep 0.1; done"})`,
		"a last rung": `tool("slow", {})`} {
		t.Run(name, func(t *testing.T) {
			h := at(t, t.TempDir(), scriptCall("c1", `log("begun"); await `+step)+says("hello"), "", slow)
			id := h.submit(t, "go", "")
			h.until(t, "the step", func(rec *event.Record) bool { return rec.Type == event.TypeInnerStarted })
			var pids []int
			if strings.Contains(step, "bash") {
				pids = h.pidsOf(t, 2)
			}
			for _, force := range []bool{false, true} {
				if _, err := h.rt.Interrupt(h.ctx, api.InterruptRequest{Session: h.id, Input: id, Who: "me", Force: force}); err != nil {
					t.Fatal(err)
				}
			}
			h.wait(t, id, event.TurnAborted)
			dead(t, pids...)
			if e, text := h.result(t, "c1"); e.Outcome != event.CallStopped || !strings.Contains(text, "begun") {
				t.Errorf("%s %q", e.Outcome, text)
			}
			h.wait(t, h.submit(t, "hello", ""), event.TurnCompleted)
		})
	}
}

const crashScript = `
	log("begun")
	await tool("bash", {command: "echo $$ >pids; setsid sleep 300 & echo $! >>pids; echo up >up; wait"})
	await tool("bash", {command: "echo no >never"})`

// session is the life of a runtime that a test kills: a session in dir whose
// script runs a command.
func session(dir string) int {
	ctx := context.Background()
	h, err := newHouse(ctx, dir, scriptCall("c1", crashScript))
	if err != nil || h.open("") != nil {
		return 1
	}
	if _, err := h.rt.Submit(ctx, api.SubmitRequest{Session: h.id, Input: event.UserInput{Content: event.TextOf("go")}}); err != nil {
		return 1
	}
	if err := os.WriteFile(filepath.Join(dir, "id"), []byte(h.id), 0o600); err != nil {
		return 1
	}
	select {}
}

// proves TOL-24, PRC-04, REC-04, REC-08: kill -9 of the runtime while a step
// runs leaves no process; the next one says of the script that its outcome is
// not known, which steps it had taken, and what it had printed; nothing is run
// again.
func TestAfterKill9TheScriptIsUnknownAndItsStepsAreNamed(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), runtimeEnv+"="+"session", "RIPCORD_TEST_SPOOL="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	up := func() bool {
		_, first := os.Stat(filepath.Join(dir, "id"))
		_, second := os.Stat(filepath.Join(dir, "cwd", "up"))
		return first == nil && second == nil
	}
	for !up() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the step never ran")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	id, err := os.ReadFile(filepath.Join(dir, "id"))
	if err != nil {
		t.Fatal(err)
	}
	h := at(t, dir, says("well"), event.SessionID(id))
	dead(t, h.pidsOf(t, 2)...)
	e, text := h.result(t, "c1")
	if e.Outcome != event.CallUnknown || !e.Synthetic || !strings.Contains(text, "bash") || !strings.Contains(text, "begun") || strings.Contains(text, "finished") {
		t.Errorf("%s %q", e.Outcome, text)
	}
	h.wait(t, h.submit(t, "and now?", ""), event.TurnCompleted)
	if _, err := os.Stat(filepath.Join(h.cwd, "never")); err == nil {
		t.Error("a step ran after the death")
	}
}

// asked waits for a question that it has not given yet.
func (h *house) asked(t *testing.T, tool string) event.ApprovalID {
	t.Helper()
	var id event.ApprovalID
	h.until(t, "a question of "+tool, func(rec *event.Record) bool {
		p, err := rec.Body()
		a, ok := p.(event.ApprovalAsked)
		id = a.ID
		return err == nil && ok && a.Tool == tool && !slices.Contains(h.seen, a.ID)
	})
	h.seen = append(h.seen, id)
	return id
}

// proves TOL-27, HOK-04: a question is answered in words, also from a script;
// one that Esc withdraws ends stopped and void, and the next turn works.
func TestAQuestionIsAnsweredOrVoided(t *testing.T) {
	q := `{"question":"which colour?","options":["red","blue"]}`
	h := at(t, t.TempDir(), scriptCall("c1", `return (await tool("ask_user", `+q+`)).text`)+
		"answer\ncall ask_user c2\nargs "+strconv.Quote(q)+"\nend\nfinish tool\n"+
		"answer\ncall ask_user c3\nargs "+strconv.Quote(q)+"\nend\nfinish tool\n"+says("hello"), "")
	id := h.submit(t, "go", "")
	decide := func(a event.ApprovalID, d event.Decision, why string) {
		t.Helper()
		if err := h.rt.Decide(h.ctx, api.DecideRequest{Session: h.id, Approval: a, Decision: d, By: "ada", Why: why}); err != nil {
			t.Error(err)
		}
	}
	decide(h.asked(t, "ask_user"), event.Allow, "blue")
	decide(h.asked(t, "ask_user"), event.Deny, "")
	h.asked(t, "ask_user")
	if _, err := h.rt.Interrupt(h.ctx, api.InterruptRequest{Session: h.id, Input: id, Who: "me"}); err != nil {
		t.Fatal(err)
	}
	h.wait(t, id, event.TurnAborted)
	if _, text := h.result(t, "c1"); !strings.Contains(text, "it returned:\nthe person answered: blue") {
		t.Errorf("%q", text)
	}
	if _, text := h.result(t, "c2"); !strings.Contains(text, "the person would not answer") {
		t.Errorf("%q", text)
	}
	if e, text := h.result(t, "c3"); e.Outcome != event.CallStopped || !strings.Contains(text, "nobody refused anything") {
		t.Errorf("%s %q", e.Outcome, text)
	}
	h.wait(t, h.submit(t, "hello", ""), event.TurnCompleted)
}

// proves TOL-27: in plan mode a command is refused and a look is not, also from
// a script's step; an approved plan ends the mode, here and for the next
// process.
func TestPlanModeHoldsUntilAPersonApprovesThePlan(t *testing.T) {
	dir := t.TempDir()
	bash := func(id string) string {
		return "answer\ncall bash " + id + "\nargs " + strconv.Quote(`{"command":"echo x >>ran"}`) + "\nend\nfinish tool\n"
	}
	exit := func(id string) string {
		return "answer\ncall exit_plan " + id + "\nargs " + strconv.Quote(`{"plan":"1. run it"}`) + "\nend\nfinish tool\n"
	}
	h := at(t, dir, bash("c1")+"answer\ncall read c2\nargs "+strconv.Quote(`{"path":"f"}`)+"\nend\nfinish tool\n"+exit("c3")+exit("c4")+bash("c5")+says("done"), "")
	if err := os.WriteFile(filepath.Join(h.cwd, "f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := h.submit(t, "plan it", gate.ModePlan)
	for _, why := range []string{"no tests?", "approve"} {
		a := h.asked(t, "exit_plan")
		if planned, err := gate.Planned(h.store.Read(h.ctx, h.id, 0)); !planned || err != nil {
			t.Errorf("the journal says planned %v, %v", planned, err)
		}
		if err := h.rt.Decide(h.ctx, api.DecideRequest{Session: h.id, Approval: a, Decision: event.Allow, By: "ada", Why: why}); err != nil {
			t.Error(err)
		}
	}
	h.wait(t, id, event.TurnCompleted)
	for call, part := range map[event.CallID]string{"c1": "plan mode, in which nothing is changed", "c2": "text", "c3": "and said: no tests?", "c4": "carry it out", "c5": "exit code 0"} {
		if _, text := h.result(t, call); !strings.Contains(text, part) {
			t.Errorf("%s: no %q in %q", call, part, text)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(h.cwd, "ran")); err != nil || string(raw) != "x\n" {
		t.Errorf("it ran %q, %v", raw, err)
	}
	was := h.id
	h.end(t)
	h = at(t, dir, says("again"), was)
	if h.plans.On(h.id, 2) {
		t.Error("the approval was forgotten")
	}
}
