package gate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
)

// scripted are hooks that answer as they are told, and keep what they saw.
type scripted struct {
	gate.Hooks
	pre, perm *gate.Verdict
	asked     []gate.Moment
}

func (s *scripted) of(p gate.Point) *gate.Verdict {
	if p == gate.PreTool {
		return s.pre
	}
	return s.perm
}

func (s *scripted) Any(p gate.Point, _ string) bool { return s.of(p) != nil }

func (s *scripted) Judge(_ context.Context, m gate.Moment) (gate.Verdict, []gate.Ran) {
	s.asked = append(s.asked, m)
	return *s.of(m.Point), []gate.Ran{{Hook: "h"}}
}

// proves HOK-01, HOK-02, HOK-04: what a pre-tool and a permission hook may
// decide, under every policy.
func TestHooksAroundAGate(t *testing.T) {
	say := func(d gate.Decision, by string) *gate.Verdict {
		return &gate.Verdict{Decision: d, By: by, Why: "because"}
	}
	for name, c := range map[string]struct {
		policy    gate.Policy
		asks      bool
		pre, perm *gate.Verdict
		want      gate.Decision
		by        string
		asked     int
	}{
		"a pre-tool block is final":               {gate.YesAll, true, say(gate.Block, "hook:a"), say(gate.Allow, "hook:b"), gate.Block, "hook:a", 1},
		"a pre-tool allow is no approval":         {gate.AskPerson, true, say(gate.Allow, "hook:a"), nil, gate.Ask, "policy:ask", 1},
		"a pre-tool ask asks about the harmless":  {gate.AskPerson, false, say(gate.Ask, "hook:a"), nil, gate.Ask, "hook:a", 1},
		"a pre-tool ask with nobody there blocks": {gate.DenyAll, false, say(gate.Ask, "hook:a"), nil, gate.Block, "policy:headless", 1},
		"a pre-tool ask with yes passes":          {gate.YesAll, false, say(gate.Ask, "hook:a"), nil, gate.Allow, "yes", 1},
		"a permission hook stands in":             {gate.AskPerson, true, nil, say(gate.Allow, "hook:b"), gate.Allow, "hook:b", 1},
		"a permission hook stands in for nobody":  {gate.DenyAll, true, nil, say(gate.Allow, "hook:b"), gate.Allow, "hook:b", 1},
		"a permission hook refuses":               {gate.AskPerson, true, nil, say(gate.Block, "hook:b"), gate.Block, "hook:b", 1},
		"no objection is no approval":             {gate.AskPerson, true, nil, say(gate.Allow, ""), gate.Ask, "policy:ask", 1},
		"no objection helps nobody":               {gate.DenyAll, true, nil, say(gate.Allow, ""), gate.Block, "policy:headless", 1},
		"a permission hook that asks asks":        {gate.AskPerson, true, nil, say(gate.Ask, "hook:b"), gate.Ask, "policy:ask", 1},
		"what is allowed asks no permission hook": {gate.AskPerson, false, nil, say(gate.Block, "hook:b"), gate.Allow, "rule:no-approval-needed", 0},
	} {
		h := &scripted{pre: c.pre, perm: c.perm}
		spec := tool.Spec{}
		if c.asks {
			spec.Asks = asking
		}
		noted := 0
		g := gate.WithHooks(gate.PlanMode(gate.Rules{Policy: c.policy}, &gate.Plans{}), h, func(context.Context, gate.Moment, []gate.Ran) { noted++ })
		v, err := g.Judge(t.Context(), &tool.Call{Name: "x", Args: json.RawMessage(`{}`)}, spec)
		if err != nil || v.Decision != c.want || v.By != c.by || len(h.asked) != c.asked || noted != c.asked {
			t.Errorf("%s: %+v %v, hooks asked %d noted %d", name, v, err, len(h.asked), noted)
		}
		if v.By == "hook:a" && v.Decision == gate.Ask && !strings.Contains(v.Prompt, "because") {
			t.Errorf("%s: prompt %q", name, v.Prompt)
		}
	}
}

// proves HOK-04: a denying rule is not overruled by a permission hook.
func TestAPermissionHookDoesNotOverruleARule(t *testing.T) {
	yes := &gate.Verdict{Decision: gate.Allow, By: "hook:b"}
	g := gate.WithHooks(gate.Rules{List: []gate.Rule{{Name: "no", Tool: "x", Deny: true}}}, &scripted{perm: yes}, nil)
	if v, _ := g.Judge(t.Context(), &tool.Call{Name: "x"}, tool.Spec{Asks: asking}); v.Decision != gate.Block || v.By != "rule:no" {
		t.Errorf("%+v", v)
	}
}
