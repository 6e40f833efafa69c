package shell_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/gate/shell"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// bound is how long anything here may take on a busy machine.
const bound = time.Minute

// fixture is hooks on real processes in a folder of their own.
type fixture struct {
	*shell.Hooks
	t   *testing.T
	dir string
}

func newFixture(t *testing.T, parallel bool, hooks ...shell.Hook) fixture {
	t.Helper()
	host, err := proc.NewHost(proc.Options{Scratch: t.TempDir(), Prestart: -1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := shell.New(shell.Options{Host: host, Hooks: hooks, Env: proc.Environ(os.Environ(), nil), Parallel: parallel, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	return fixture{h, t, t.TempDir()}
}

func hook(name string, p gate.Point, line string) shell.Hook {
	return shell.Hook{Name: name, Points: []gate.Point{p}, Line: line, Timeout: bound}
}

func (f fixture) moment(p gate.Point) gate.Moment {
	return gate.Moment{Point: p, Session: "s_1", Dir: f.dir, Turn: 1, Step: 1, Call: "c_1", Tool: "bash", Args: json.RawMessage(`{"command":"touch M"}`)}
}

func (f fixture) path(name string) string { return filepath.Join(f.dir, name) }

// until waits for cond.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.NewTimer(bound)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-limit.C:
			t.Fatalf("it did not come: %s", what)
		case <-tick.C:
		}
	}
}

func (f fixture) untilFile(name string) string {
	f.t.Helper()
	var b []byte
	until(f.t, name, func() bool {
		var err error
		b, err = os.ReadFile(f.path(name))
		return err == nil && strings.HasSuffix(string(b), "\n")
	})
	return strings.TrimSpace(string(b))
}

// gone waits until the process that a hook wrote into a file is no more.
func (f fixture) gone(name string) {
	f.t.Helper()
	var pid int
	if _, err := fmt.Sscan(f.untilFile(name), &pid); err != nil {
		f.t.Fatal(err)
	}
	until(f.t, "the end of "+name, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) })
}

// zombie says that a process has ended and waits for whoever reaps it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(state, "Z")
}

// proves HOK-01, HOK-02, B092, law 7: every way a gate's hook can end, and what
// FailOpen is about: one of them.
func TestEveryEndOfAHookIsAVerdict(t *testing.T) {
	const allow, ask, block = gate.Allow, gate.Ask, gate.Block
	wide := func(order binary.AppendByteOrder) string { // prints a refusal in UTF-16
		line := "printf '"
		for _, u := range utf16.Encode([]rune("\ufeff" + `{"decision":"block"}`)) {
			for _, b := range order.AppendUint16(nil, u) {
				line += fmt.Sprintf("\\%03o", b)
			}
		}
		return line + "'"
	}
	for name, c := range map[string]struct {
		line       string
		want, open gate.Decision // without and with FailOpen
		said       bool
		why        string
	}{
		"nothing":              {"exit 0", allow, allow, false, ""},
		"text":                 {"echo all is well", allow, allow, false, ""},
		"allow":                {`echo '{"decision":"approve","reason":"ok"}'`, allow, allow, true, "ok"},
		"ask":                  {`echo '{"decision":"ask"}'`, ask, ask, true, ""},
		"block":                {`echo '{"decision":"block","reason":"no tabs"}'`, block, block, true, "no tabs"},
		"deny":                 {`echo '{"decision":"deny"}'`, block, block, true, ""},
		"stop":                 {`echo '{"continue":false,"stopReason":"enough"}'`, block, block, true, "enough"},
		"nested":               {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nested"}}'`, block, block, true, "nested"},
		"nested behaviour":     {`echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'`, allow, allow, true, ""},
		"the strongest":        {`echo '{"decision":"allow","hookSpecificOutput":{"permissionDecision":"deny"}}'`, block, block, true, ""},
		"a changed input":      {`echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"true"}}}'`, block, block, true, "changes the call's input"},
		"beside, not nested":   {`echo '{"permissionDecision":"deny","permissionDecisionReason":"beside"}'`, block, block, true, "beside"},
		"an input beside":      {`echo '{"decision":"allow","updatedInput":{"command":"true"}}'`, block, block, true, "changes the call's input"},
		"a list":               {`echo '[{"decision":"block"}]'`, block, block, true, "a list"},
		"an object of nothing": {`echo '{"suppressOutput":true}'`, allow, allow, false, ""},
		"exit 2":               {"echo not on a Friday >&2; exit 2", block, block, true, "not on a Friday"},
		"exit 1":               {"echo oops >&2; exit 1", block, allow, false, "exit 1: oops"},
		"exit 126":             {"exit 126", block, block, true, "did not run (exit 126)"},
		"exit 127":             {"/nonexistent/hook", block, block, true, "did not run (exit 127)"},
		"killed":               {"kill -9 $$", block, block, true, "SIGKILL"},
		"garbage":              {"echo '{{{'", block, block, true, "cannot be read"},
		"a word of its own":    {`echo '{"decision":"perhaps"}'`, block, block, true, "no decision"},
		"a wrong type":         {`echo '{"decision":7}'`, block, block, true, "cannot be read"},
		"noise before it":      {`echo checking; echo '{"decision":"block"}'`, block, block, true, "cannot be read"},
		"noise behind it":      {`echo '{"decision":"allow"}'; echo done`, block, block, true, "cannot be read"},
		"UTF-16":               {wide(binary.LittleEndian), block, block, true, "NUL bytes"},
		"UTF-16, big end":      {wide(binary.BigEndian), block, block, true, "NUL bytes"},
		"too much":             {"head -c 5000000 /dev/zero | tr '\\0' x", block, block, true, "over 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			closed, open := hook("h", gate.PreTool, c.line), hook("h", gate.PreTool, c.line)
			open.FailOpen = true
			for want, h := range map[*gate.Decision]shell.Hook{&c.want: closed, &c.open: open} {
				f := newFixture(t, false, h)
				v, ran := f.Judge(t.Context(), f.moment(gate.PreTool))
				if v.Decision != *want || len(ran) != 1 || ran[0].Hook != "h" || !strings.Contains(ran[0].Why, c.why) {
					t.Errorf("fail open %v: %+v %+v, want %d and %q", h.FailOpen, v, ran, *want, c.why)
				}
				if (v.By == "hook:h") != (c.said || v.Decision == gate.Block) {
					t.Errorf("fail open %v: said by %q: only what was said in so many words approves", h.FailOpen, v.By)
				}
			}
		})
	}
}

// proves HOK-02, B092: a program that is not there blocks, too.
func TestAHookThatCannotBeStartedBlocks(t *testing.T) {
	f := newFixture(t, false, shell.Hook{Name: "h", Points: []gate.Point{gate.PreTool}, Argv: []string{"/nonexistent/hook"}, FailOpen: true})
	v, ran := f.Judge(t.Context(), f.moment(gate.PreTool))
	if v.Decision != gate.Block || len(ran) != 1 || !strings.Contains(v.Why, "/nonexistent/hook") {
		t.Errorf("%+v %+v", v, ran)
	}
}

// proves HOK-01: facts on stdin, nothing of them in a command line or rendered
// into a shell.
func TestAHookIsToldFactsOnItsStdinOnly(t *testing.T) {
	f := newFixture(t, false,
		shell.Hook{Name: "argv", Points: []gate.Point{gate.PreTool}, Argv: []string{"sh", "-c", `cat > in; tr '\0' '\n' < /proc/self/cmdline > line; env > env; echo "$0 $*" > args`}},
		hook("end", gate.TurnStop, "cat > stop"), hook("post", gate.PostTool, "cat > post"), hook("start", gate.SessionStart, "cat > start"), hook("perm", gate.Permission, "cat > perm"))
	m := f.moment(gate.PreTool)
	m.Args = json.RawMessage(`{"command":"$(touch pwned) ; touch pwned"}`)
	m.Options = event.SubmitOptions{Principal: "ann", Variables: map[string]json.RawMessage{"lang": json.RawMessage(`"de"`)}, Attributes: map[string]json.RawMessage{"deep": json.RawMessage(`true`)}}
	if v, _ := f.Judge(t.Context(), m); v.Decision != gate.Allow {
		t.Fatalf("%+v", v)
	}
	read := func(name string) map[string]any {
		t.Helper()
		b, err := os.ReadFile(f.path(name))
		var got map[string]any
		if err := errors.Join(err, json.Unmarshal(b, &got)); err != nil {
			t.Fatalf("%s: %v in %q", name, err, b)
		}
		return got
	}
	got := read("in")
	for k, want := range map[string]any{"hook_event_name": "PreToolUse", "point": "pre_tool", "session_id": "s_1", "cwd": f.dir, "tool_name": "bash", "tool_use_id": "c_1", "turn": 1.0, "principal": "ann"} {
		if got[k] != want {
			t.Errorf("%s is %v, want %v", k, got[k], want)
		}
	}
	if fmt.Sprint(got["variables"], got["attributes"]) != "map[lang:de] map[deep:true]" {
		t.Errorf("variables %v, attributes %v", got["variables"], got["attributes"])
	}
	if in, _ := got["tool_input"].(map[string]any); in["command"] != "$(touch pwned) ; touch pwned" {
		t.Errorf("tool_input %v", got["tool_input"])
	}
	for _, name := range []string{"line", "env", "args"} {
		if b, _ := os.ReadFile(f.path(name)); strings.Contains(string(b), "pwned") {
			t.Errorf("the input is in %s: %s", name, b)
		}
	}
	if _, err := os.Stat(f.path("pwned")); err == nil {
		t.Error("the input was run")
	}
	yes := true
	m.Point, m.Ended = gate.PostTool, &event.CallEnded{Outcome: event.CallFinished, Success: &yes, Content: event.TextOf("out")}
	f.Report(t.Context(), m)
	if r, _ := read("post")["tool_response"].(map[string]any); r["outcome"] != "finished" || r["success"] != true {
		t.Errorf("tool_response %v", r)
	}
	f.Report(t.Context(), gate.Moment{Point: gate.TurnStop, Session: "s_1", Dir: f.dir, Turn: 2, Outcome: event.TurnAborted, Reason: "USER_SIGINT"})
	if got := read("stop"); got["hook_event_name"] != "Stop" || got["outcome"] != "aborted" || got["reason"] != "USER_SIGINT" || got["tool_name"] != nil {
		t.Errorf("%v", got)
	}
	f.Report(t.Context(), gate.Moment{Point: gate.SessionStart, Session: "s_1", Dir: f.dir, Reason: "recovered"})
	if got := read("start"); got["source"] != "recovered" {
		t.Errorf("%v", got)
	}
	m.Point, m.Prompt, m.Args = gate.Permission, "run it?", json.RawMessage(`{"half`)
	f.Judge(t.Context(), m)
	if got := read("perm"); got["message"] != "run it?" || got["tool_input"] != `{"half` {
		t.Errorf("%v", got)
	}
}

// proves HOK-01, INT-42: both modes, order and strength.
func TestSeveralHooksAtOnePoint(t *testing.T) {
	ask := hook("ask", gate.PreTool, `echo 1 >> order; echo '{"decision":"ask"}'`)
	no := hook("no", gate.PreTool, `echo 2 >> order; exit 2`)
	yes := hook("yes", gate.PreTool, `echo 3 >> order; echo '{"decision":"allow"}'`)
	for _, parallel := range []bool{false, true} {
		f := newFixture(t, parallel, yes, ask)
		if v, ran := f.Judge(t.Context(), f.moment(gate.PreTool)); v.Decision != gate.Ask || v.By != "hook:ask" || len(ran) != 2 || ran[0].Hook != "yes" {
			t.Errorf("parallel %v: %+v %+v", parallel, v, ran)
		}
		f = newFixture(t, parallel, ask, no, yes)
		v, ran := f.Judge(t.Context(), f.moment(gate.PreTool))
		if want := map[bool]int{false: 2, true: 3}[parallel]; v.Decision != gate.Block || v.By != "hook:no" || len(ran) != want {
			t.Errorf("parallel %v: %+v %+v", parallel, v, ran)
		}
		if b, _ := os.ReadFile(f.path("order")); !parallel && string(b) != "1\n2\n" {
			t.Errorf("order %q", b)
		}
	}
}

func TestAHookIsForItsPointsAndTools(t *testing.T) {
	h := hook("h", gate.PreTool, "exit 2")
	h.Tool = "mcp__files__*"
	f := newFixture(t, false, h)
	for tool, want := range map[string]bool{"mcp__files__read": true, "bash": false, "": true} {
		if f.Any(gate.PreTool, tool) != want {
			t.Errorf("%q: %v", tool, !want)
		}
	}
	if f.Any(gate.PostTool, "mcp__files__read") {
		t.Error("another point")
	}
	m := f.moment(gate.PreTool)
	if v, ran := f.Judge(t.Context(), m); v.Decision != gate.Allow || v.By != "" || len(ran) != 0 {
		t.Errorf("%+v %+v", v, ran)
	}
}

// proves HOK-02, PRC-01, PRC-02, B091: the time limit blocks, FailOpen or not,
// says so, and ends the whole tree.
func TestTheTimeLimitBlocksAndEndsTheWholeTree(t *testing.T) {
	h := hook("slow", gate.PreTool, `trap '' TERM; (setsid sh -c 'trap "" TERM; echo $$ > daemon; while :; do sleep 1; done' &) ; echo $$ > leader; while :; do sleep 1; done`)
	h.FailOpen, h.Timeout = true, time.Second
	f := newFixture(t, false, h)
	v, ran := f.Judge(t.Context(), f.moment(gate.PreTool))
	if v.Decision != gate.Block || !strings.Contains(v.Why, "time limit of 1s") || len(ran) != 1 || ran[0].Verdict != "block" {
		t.Errorf("%+v %+v", v, ran)
	}
	for _, who := range []string{"daemon", "leader"} { // on a busy machine one may not have got as far as its name
		if pid, err := os.ReadFile(f.path(who)); err == nil && strings.HasSuffix(string(pid), "\n") {
			f.gone(who)
		}
	}
}

// proves HOK-02, INT-32, INT-42, B094, T-46: an interrupt blocks at once, FailOpen
// or not, in both modes, and nothing of the hook is left.
func TestAnInterruptBlocksAtOnceAndEndsTheTree(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		h := hook("h", gate.PreTool, `(setsid sh -c 'trap "" TERM; echo $$ > daemon; while :; do sleep 1; done' &); while [ ! -s daemon ]; do sleep 0.1; done; echo $$ > leader; tail -f /dev/null & wait`)
		h.FailOpen = true
		second := hook("second", gate.PreTool, "touch second; exit 0")
		f := newFixture(t, parallel, h, second)
		c := interrupt.New(interrupt.Options{})
		ctx, stop := c.Context(t.Context())
		type verdict struct {
			v   gate.Verdict
			ran []gate.Ran
		}
		got := make(chan verdict, 1)
		go func() {
			v, ran := f.Judge(ctx, f.moment(gate.PreTool))
			got <- verdict{v, ran}
		}()
		f.untilFile("leader")
		_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
		r := <-got
		stop()
		if r.v.Decision != gate.Block || !strings.Contains(r.v.Why, "USER_SIGINT") || r.ran[0].Verdict != "block" {
			t.Errorf("parallel %v: %+v %+v", parallel, r.v, r.ran)
		}
		if _, err := os.Stat(f.path("second")); err == nil && !parallel {
			t.Error("a hook was begun behind the interrupt")
		}
		f.gone("leader")
		f.gone("daemon")
		// The next turn's hook starts clean.
		clean := newFixture(t, parallel, hook("h", gate.PreTool, "exit 0"))
		if v, _ := clean.Judge(t.Context(), clean.moment(gate.PreTool)); v.Decision != gate.Allow {
			t.Errorf("parallel %v: the next one: %+v", parallel, v)
		}
	}
}

// proves INT-32, INT-43, T-21, T-46: a wait that is over before it begins
// blocks and begins nothing.
func TestAContextThatIsDeadBeforeTheWaitBlocks(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		h := hook("h", gate.TurnStart, "touch ran")
		h.FailOpen = true
		f := newFixture(t, parallel, h)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the caller left"))
		v, ran := f.Judge(ctx, f.moment(gate.TurnStart))
		if v.Decision != gate.Block || !strings.Contains(v.Why, "the caller left") || len(ran) != 0 {
			t.Errorf("parallel %v: %+v %+v", parallel, v, ran)
		}
		if _, err := os.Stat(f.path("ran")); err == nil {
			t.Error("it ran")
		}
	}
}

// proves INT-32 (hazard), T-24: the hook's limit, the caller's deadline and the
// caller's end are told apart.
func TestTheLimitTheCallersDeadlineAndItsEndAreToldApart(t *testing.T) {
	short := hook("h", gate.PreTool, "sleep 600")
	short.Timeout = 200 * time.Millisecond
	long := hook("h", gate.PreTool, "sleep 600")
	f, g := newFixture(t, false, short), newFixture(t, false, long)
	v, _ := f.Judge(t.Context(), f.moment(gate.PreTool))
	if !strings.Contains(v.Why, "its time limit") {
		t.Errorf("limit: %+v", v)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if v, _ = g.Judge(ctx, g.moment(gate.PreTool)); v.Decision != gate.Block || !strings.Contains(v.Why, "cut off: context deadline exceeded") {
		t.Errorf("deadline: %+v", v)
	}
}

// proves HOK-03, T-47: an interrupt cuts no report; its own limit does, and no
// answer is no success.
func TestAReportGoesOnThroughAnInterrupt(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		slow := hook("slow", gate.TurnStop, "sleep 600")
		slow.Timeout = 300 * time.Millisecond
		f := newFixture(t, parallel, hook("first", gate.TurnStop, "echo x > first"), hook("second", gate.TurnStop, "echo x > second"),
			slow, hook("odd", gate.TurnStop, "exit 3"), hook("dead", gate.TurnStop, "kill -9 $$"), hook("veto", gate.TurnStop, "exit 2"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ran := f.Report(ctx, gate.Moment{Point: gate.TurnStop, Dir: f.dir})
		var got []string
		for _, r := range ran {
			got = append(got, r.Hook+":"+r.Verdict)
		}
		if s := strings.Join(got, " "); s != "first:report second:report slow:no-answer odd:report dead:no-answer veto:report" {
			t.Errorf("parallel %v: %s", parallel, s)
		}
		f.untilFile("first")
		f.untilFile("second")
	}
}

// proves HOK-02, PRC-02, PRC-06: what a hook does with its pipes and children
// delays nothing and leaves nothing.
func TestAHooksPipesAndChildrenDelayNothing(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want gate.Decision
	}{
		"it never reads a big input":      {"exit 0", gate.Allow},
		"it reads a big input":            {"test $(wc -c) -gt 4000000 || exit 2", gate.Allow},
		"its daemon holds the pipes":      {`(setsid sh -c 'echo $$ > daemon; exec sleep 600' &) ; while [ ! -s daemon ]; do sleep 0.1; done; echo '{"decision":"allow"}'`, gate.Allow},
		"it prints without end":           {"yes | head -c 200000000", gate.Block},
		"it prints without end on stderr": {"yes | head -c 200000000 >&2", gate.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, false, hook("h", gate.PreTool, c.line))
			m := f.moment(gate.PreTool)
			m.Args = json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
			if v, ran := f.Judge(t.Context(), m); v.Decision != c.want {
				t.Errorf("%+v %+v", v, ran)
			}
			if strings.Contains(c.line, "daemon") {
				f.gone("daemon")
			}
		})
	}
}

func TestAHookThatCannotBeIsRefusedInOneSentence(t *testing.T) {
	host, err := proc.NewHost(proc.Options{Scratch: t.TempDir(), Prestart: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	good := hook("h", gate.PreTool, "true")
	for want, change := range map[string]func(*shell.Hook){
		"letters":        func(h *shell.Hook) { h.Name = "../h" },
		"no point":       func(h *shell.Hook) { h.Points = nil },
		"there is no":    func(h *shell.Hook) { h.Points = []gate.Point{"later"} },
		"command and":    func(h *shell.Hook) { h.Argv = []string{"x"} },
		"set one":        func(h *shell.Hook) { h.Line = "" },
		"no program":     func(h *shell.Hook) { h.Line, h.Argv = "", []string{""} },
		"pattern":        func(h *shell.Hook) { h.Tool = "[a" },
		"at most 10m0s":  func(h *shell.Hook) { h.Timeout = time.Hour },
		"more than 0 an": func(h *shell.Hook) { h.Timeout = -1 },
	} {
		h := good
		change(&h)
		if _, err := shell.New(shell.Options{Host: host, Hooks: []shell.Hook{h}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := shell.New(shell.Options{Host: host, Hooks: []shell.Hook{good, good}}); err == nil {
		t.Error("two of one name")
	}
	if _, err := shell.New(shell.Options{}); err == nil {
		t.Error("no host")
	}
}

// proves HOK-03, PRC-02: closing ends what has had its time, with no answer.
func TestClosingEndsWhatStillRuns(t *testing.T) {
	long := hook("long", gate.SessionEnd, `echo $$ > pid; sleep 600`)
	long.Timeout = 30 * time.Second
	f := newFixture(t, false, long, hook("next", gate.SessionEnd, "touch next"))
	got := make(chan []gate.Ran, 1)
	go func() { got <- f.Report(t.Context(), gate.Moment{Point: gate.SessionEnd, Dir: f.dir}) }()
	f.untilFile("pid")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if ran := <-got; len(ran) != 2 || ran[0].Verdict != "no-answer" || ran[0].Why != "hooks are closed" || ran[1].Verdict != "no-answer" {
		t.Errorf("%+v", ran)
	}
	f.gone("pid")
}

func TestTheBoundOfAPointIsThatOfItsHooks(t *testing.T) {
	a, b := hook("a", gate.TurnStop, "true"), hook("b", gate.TurnStop, "true")
	for parallel, want := range map[bool]time.Duration{false: 2 * bound, true: bound} {
		f := newFixture(t, parallel, a, b)
		if f.Bound(gate.TurnStop) != want || f.Bound(gate.SessionEnd) != 0 {
			t.Errorf("parallel %v: %v", parallel, f.Bound(gate.TurnStop))
		}
	}
}

// proves HOK-02: closed hooks block.
func TestClosedHooksBlock(t *testing.T) {
	f := newFixture(t, false, hook("h", gate.PreTool, "exit 0"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if v, _ := f.Judge(t.Context(), f.moment(gate.PreTool)); v.Decision != gate.Block || !strings.Contains(v.Why, "closed") {
		t.Errorf("%+v", v)
	}
}
