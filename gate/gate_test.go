package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func asking(json.RawMessage) (string, bool) { return "run it", true }

// proves HOK-04, TOL-20, IFC-11: every policy, for what asks and what does not.
func TestThePolicyDecidesAboutWhatAsksAndNothingElse(t *testing.T) {
	pure, ask := tool.Spec{Name: "read", Effect: tool.Pure}, tool.Spec{Name: "bash", Asks: asking}
	outside := tool.Spec{Name: "read", Effect: tool.Pure, Asks: asking}
	quiet := tool.Spec{Name: "todo"}
	for _, c := range []struct {
		policy   gate.Policy
		spec     tool.Spec
		decision gate.Decision
		by       string
	}{
		{gate.AskPerson, pure, gate.Allow, "rule:read-only"},
		{gate.DenyAll, pure, gate.Allow, "rule:read-only"},
		{gate.YesAll, pure, gate.Allow, "rule:read-only"},
		{gate.DenyAll, quiet, gate.Allow, "rule:no-approval-needed"},
		{gate.AskPerson, ask, gate.Ask, "policy:ask"},
		{gate.DenyAll, ask, gate.Block, "policy:headless"},
		{gate.YesAll, ask, gate.Allow, "yes"},
		{gate.AskPerson, outside, gate.Ask, "policy:ask"},
		{gate.DenyAll, outside, gate.Block, "policy:headless"},
	} {
		v, err := gate.Closed(gate.Rules{Policy: c.policy}).Judge(t.Context(), &tool.Call{Name: c.spec.Name}, c.spec)
		if err != nil || v.Decision != c.decision || v.By != c.by || c.decision == gate.Ask && v.Prompt != "run it" {
			t.Errorf("policy %d, %s: %+v %v", c.policy, c.spec.Name, v, err)
		}
	}
}

// proves HOK-04: rules by tool and by command prefix; a prefix is no way
// around the shell.
func TestARuleMatchesACommandByItsWordsAndOnlyByWords(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{
		{Name: "no-push", Tool: "bash", Command: "git push", Deny: true},
		{Name: "git", Tool: "bash", Command: "git"},
		{Name: "tests", Tool: "bash", Command: "go test"},
		{Name: "edits", Tool: "edit"},
	}}
	spec := tool.Spec{Asks: asking}
	for cmd, want := range map[string]string{
		"git status":                   "rule:git",
		"git push origin":              "rule:no-push",
		"git  push":                    "rule:no-push",
		"go test ./... -run Foo":       "rule:tests",
		"go testify":                   "policy:headless",
		"go":                           "policy:headless",
		"go test; rm -rf /":            "policy:headless",
		"go test && true":              "policy:headless",
		"go test | sh":                 "policy:headless",
		"go test $(rm x)":              "policy:headless",
		"go test `rm x`":               "policy:headless",
		"go test > f":                  "policy:headless",
		"go test\nrm x":                "policy:headless",
		"go test {a,b}":                "policy:headless",
		"go test \\\nrm":               "policy:headless",
		"GOFLAGS=-exec=./evil go test": "policy:headless",
	} {
		args, _ := json.Marshal(map[string]string{"command": cmd})
		v, _ := r.Judge(t.Context(), &tool.Call{Name: "bash", Args: args}, spec)
		if v.By != want || (v.Decision == gate.Allow) != (want == "rule:git" || want == "rule:tests") {
			t.Errorf("%q: %+v, want %s", cmd, v, want)
		}
	}
	if v, _ := r.Judge(t.Context(), &tool.Call{Name: "edit"}, spec); v.By != "rule:edits" || v.Decision != gate.Allow {
		t.Errorf("%+v", v)
	}
	if v, _ := r.Judge(t.Context(), &tool.Call{Name: "bash", Args: json.RawMessage(`{"command":5}`)}, spec); v.Decision != gate.Block {
		t.Errorf("arguments that can't be read: %+v", v)
	}
	if v, _ := (gate.Rules{List: []gate.Rule{{Name: "all", Tool: "*"}}}).Judge(t.Context(), &tool.Call{Name: "x"}, spec); v.Decision != gate.Allow {
		t.Errorf("%+v", v)
	}
}

// proves HOK-04: rules by path, judged where the call leads.
func TestARuleByPathCoversWhatIsBelowIt(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{
		{Name: "no-git", Tool: "*", Path: ".git", Deny: true},
		{Name: "docs", Tool: "edit", Path: "docs"},
		{Name: "tmp", Tool: "*", Path: "/tmp/x"},
	}}
	touches := func(paths ...string) tool.Spec {
		return tool.Spec{Asks: asking, Touches: func(*tool.Call) ([]string, bool) { return paths, len(paths) == 0 || paths[0] != "?" }}
	}
	for i, c := range []struct {
		spec tool.Spec
		want string
	}{
		{touches("/w/docs/a"), "rule:docs"},
		{touches("/w/docs"), "rule:docs"},
		{touches("/w/docs2/a"), "policy:headless"},
		{touches("/w/docs/../a"), "policy:headless"},
		{touches("/w/docs/a", "/w/b"), "policy:headless"},
		{touches("/w/docs/a", "/w/.git/config"), "rule:no-git"},
		{touches("/w/.git/config"), "rule:no-git"},
		{touches("/tmp/x/y"), "rule:tmp"},
		{touches("?"), "rule:no-git"}, // not known: what is forbidden stays so
		{tool.Spec{Asks: asking}, "policy:headless"},
	} {
		v, err := r.Judge(t.Context(), &tool.Call{Name: "edit", Dir: "/w"}, c.spec)
		if err != nil || v.By != c.want {
			t.Errorf("%d: %+v %v, want %s", i, v, err, c.want)
		}
	}
}

type judge func(context.Context) (gate.Verdict, error)

func (j judge) Judge(ctx context.Context, _ *tool.Call, _ tool.Spec) (gate.Verdict, error) {
	return j(ctx)
}

// proves HOK-02, INT-32, INT-42, law 7: no verdict is no permission.
func TestNoVerdictIsNoPermission(t *testing.T) {
	allow := gate.Verdict{Decision: gate.Allow, By: "x"}
	for name, c := range map[string]struct {
		g  gate.Gate
		by string
	}{
		"no gate":      {nil, "gate:none"},
		"an error":     {judge(func(context.Context) (gate.Verdict, error) { return allow, errors.New("unreachable") }), "gate:error"},
		"a panic":      {judge(func(context.Context) (gate.Verdict, error) { panic("nil map") }), "gate:panic"},
		"a dead end":   {judge(func(context.Context) (gate.Verdict, error) { runtime.Goexit(); return allow, nil }), "gate:panic"},
		"no decision":  {judge(func(context.Context) (gate.Verdict, error) { return gate.Verdict{Decision: 7}, nil }), "gate:error"},
		"wrong policy": {gate.Rules{Policy: 9}, "gate:error"},
	} {
		v, err := gate.Closed(gate.Closed(c.g)).Judge(t.Context(), &tool.Call{}, tool.Spec{Asks: asking})
		if err != nil || v.Decision != gate.Block || v.By != c.by || v.Why == "" {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
	if (gate.Verdict{}).Decision != gate.Block {
		t.Error("the zero verdict does not block")
	}
}

// proves HOK-02, INT-32, INT-42: a wait cut off by an interrupt blocks, within
// 100 ms, whatever the gate says later.
func TestAnInterruptedGateBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		ctx, stop := c.Context(t.Context())
		defer stop()
		release := make(chan struct{})
		slow := judge(func(context.Context) (gate.Verdict, error) { <-release; return gate.Verdict{Decision: gate.Allow}, nil })
		time.AfterFunc(time.Second, func() { _, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}) })
		start := time.Now()
		v, err := gate.Closed(slow).Judge(ctx, &tool.Call{}, tool.Spec{})
		if err != nil || v.Decision != gate.Block || v.By != "gate:interrupted" || time.Since(start) != 1100*time.Millisecond {
			t.Errorf("%+v %v after %v", v, err, time.Since(start))
		}
		if !strings.Contains(v.Why, "USER_SIGINT") {
			t.Errorf("why %q", v.Why)
		}
		close(release)
	})
}

// proves INT-32: a gate that gives back its context's error blocks, and one
// whose context is dead before the wait is not even asked.
func TestAGateThatReturnsItsContextsErrorBlocksAsInterrupted(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	ctx, stop := c.Context(t.Context())
	defer stop()
	g := gate.Closed(judge(func(ctx context.Context) (gate.Verdict, error) {
		_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
		return gate.Verdict{Decision: gate.Allow}, ctx.Err()
	}))
	for _, when := range []string{"during the wait", "before the wait"} {
		v, _ := g.Judge(ctx, &tool.Call{}, tool.Spec{})
		if v.Decision != gate.Block || v.By != "gate:interrupted" {
			t.Errorf("%s: %+v", when, v)
		}
	}
}

// proves HOK-02, INT-44: a verdict that had arrived is kept though the
// interrupt came at the same time.
func TestAVerdictThatHadArrivedIsKept(t *testing.T) {
	for range 1000 {
		c := interrupt.New(interrupt.Options{})
		ctx, stop := c.Context(t.Context())
		g := judge(func(context.Context) (gate.Verdict, error) {
			_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
			return gate.Verdict{Decision: gate.Allow, By: "hook"}, nil
		})
		v, err := gate.Closed(g).Judge(ctx, &tool.Call{}, tool.Spec{})
		stop()
		if err != nil || v.By != "hook" || v.Decision != gate.Allow {
			t.Fatalf("%+v %v", v, err)
		}
	}
}
