package scripted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// proves MOD-04's strict mode: each rule refuses with a sentence that names
// the place, over the wire form.
func TestStrictModeRefusesWhatSomeProviderWould(t *testing.T) {
	const (
		u    = `{"role":"user","content":"go"}`
		c1   = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"x","arguments":"{}"}}]}`
		c12  = `{"role":"assistant","content":"so","tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{}"}},{"id":"c2","function":{"name":"x","arguments":"{}"}}]}`
		r1   = `{"role":"tool","tool_call_id":"c1","content":"ok"}`
		r2   = `{"role":"tool","tool_call_id":"c2","content":"ok"}`
		said = `{"role":"assistant","content":"hi"}`
	)
	for name, c := range map[string]struct{ msgs, want string }{
		"good":                          {`{"role":"system","content":"s"},` + u + "," + c12 + "," + r1 + "," + r2 + "," + said + "," + u, ""},
		"a call without a result":       {u + "," + c1, "has no result"},
		"and words after it":            {u + "," + c1 + "," + u, "has no result"},
		"half the results":              {u + "," + c12 + "," + r1 + "," + said, `call "c2" of message 1 has no result`},
		"a result without a call":       {u + "," + r1, "no call before it waits"},
		"a result too many":             {u + "," + c1 + "," + r1 + "," + r1, "no call before it waits"},
		"results out of order":          {u + "," + c12 + "," + r2 + "," + r1, "belongs"},
		"a double id":                   {u + "," + c1 + "," + r1 + "," + c1 + "," + r1, "stands in message 1 and again in message 3"},
		"an empty assistant message":    {u + `,{"role":"assistant","content":""},` + u, "empty assistant"},
		"one of nothing":                {u + `,{"role":"assistant"}`, "empty assistant"},
		"a blank one":                   {u + `,{"role":"assistant","content":[{"type":"text","text":" "}]}`, "empty assistant"},
		"two users":                     {u + "," + u, "two user messages in a row"},
		"arguments that are not JSON":   {u + `,{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{sleep"}}]},` + r1, "not JSON"},
		"no arguments at all":           {u + `,{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"x","arguments":""}}]},` + r1, "not JSON"},
		"a call without an id":          {u + `,{"role":"assistant","tool_calls":[{"id":"","function":{"name":"x","arguments":"{}"}}]},` + r1, "without an id"},
		"reasoning signed with nothing": {u + `,{"role":"assistant","content":"a","reasoning_blocks":[{"text":"t"}]}`, "empty signature"},
		"a role that is none":           {u + `,{"role":"narrator","content":"a"}`, "narrator"},
	} {
		var msgs []scripted.Message
		if err := json.Unmarshal([]byte("["+c.msgs+"]"), &msgs); err != nil {
			t.Fatal(err)
		}
		err := scripted.ValidateWire(msgs)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// The same judgement over a folded history, where neighbours may be of one
// role.
func TestAFoldedHistoryIsJudgedByTheSameRules(t *testing.T) {
	user := event.Message{Role: event.RoleUser, Content: event.TextOf("go")}
	call := event.Message{Role: event.RoleAssistant, Content: event.Content{event.ToolCall{ID: "c1", Name: "x", Args: json.RawMessage(`{}`)}}}
	result := event.Message{Role: event.RoleTool, Call: "c1", Content: event.TextOf("ok")}
	if err := scripted.Validate([]event.Message{user, user, call, result, user}); err != nil {
		t.Error(err)
	}
	for name, msgs := range map[string][]event.Message{
		"no result": {user, call}, "no call": {user, result}, "twice": {user, call, result, call, result},
		"between": {user, call, user, result}, "empty": {user, {Role: event.RoleAssistant}},
		"bad arguments": {user, {Role: event.RoleAssistant, Content: event.Content{event.ToolCall{ID: "c1", Name: "x", Args: json.RawMessage(`{"a`)}}}, result},
	} {
		if scripted.Validate(msgs) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
