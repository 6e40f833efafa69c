package session_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Tools, the gate's hooks and those of reports see who asked, and in which
// context; a retry without options of its own is the same person's.
//
// proves INT-75
func TestWhoAskedIsSeenByToolsAndHooks(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	word := func(where string, o event.SubmitOptions) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, where+" "+o.Principal+" "+string(o.Variables["lang"])+" "+string(o.Attributes["deep"]))
	}
	lets := func(_ context.Context, m gate.Moment) gate.Verdict {
		word(string(m.Point), m.Options)
		return gate.Verdict{Decision: gate.Allow, By: "hook:mine"}
	}
	hears := func(_ context.Context, m gate.Moment) string { word(string(m.Point), m.Options); return "ok" }
	h := &hooks{judge: map[gate.Point]func(context.Context, gate.Moment) gate.Verdict{gate.TurnStart: lets, gate.PreTool: lets},
		report: map[gate.Point]func(context.Context, gate.Moment) string{gate.PostTool: hears, gate.TurnStop: hears}}
	look := deed("look", interrupt.NonInterruptible, func(_ context.Context, call *tool.Call) (tool.Result, error) {
		word("tool", tool.OptionsOf(call))
		return tool.Text("ok"), nil
	})
	gone := func(context.Context, model.Request, func(event.Delta) bool) error { return errGone }
	r := newRig(t, plan{hooks: h, tools: []tool.Tool{look}, turn: turn.Options{Attempts: 1},
		talks: []talk{calls("c1", "look"), gone, calls("c2", "look"), says("fine"), calls("c3", "look"), says("fine")}})
	expect := func(who string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		want := map[string]bool{}
		for _, at := range []string{"turn_start", "pre_tool", "tool", "post_tool", "turn_stop"} {
			want[at+" "+who] = true
		}
		for _, got := range seen {
			if !want[got] {
				t.Errorf("%q", got)
			}
			delete(want, got)
		}
		if len(want) > 0 {
			t.Errorf("not seen: %v", want)
		}
		seen = nil
	}
	id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("go")}, Options: event.SubmitOptions{Principal: "ann",
		Variables: map[string]json.RawMessage{"lang": json.RawMessage(`"de"`)}, Attributes: map[string]json.RawMessage{"deep": json.RawMessage(`true`)}}})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(id)
	expect(`ann "de" true`)
	again, err := r.live.Retry(r.ctx, "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.wait(again.Inputs[0].ID)
	expect(`ann "de" true`)
	r.run("and now without")
	expect("  ")
	r.holds()
}
