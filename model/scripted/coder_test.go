package scripted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// proves MOD-04, IFC-10: the chat's model without a key works with the shell,
// knows what became of its command, and says what it is.
func TestTheDemoModelReactsToWhatBecameOfItsCommand(t *testing.T) {
	quick := strings.NewReplacer("type 25ms", "type 0s", "type 30ms", "type 0s", "type 60ms", "type 0s", "type 15ms", "type 0s", "wait 400ms", "wait 0s")
	script, err := scripted.Parse(quick.Replace(scripted.CoderText))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.NewServer(script, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m, err := openai.New(openai.Config{BaseURL: srv.URL(), Model: "scripted"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	c := talk{t: t, m: m}
	c.user(`list "my" files`)
	a := c.say(false)
	c.expect(a, 1, "script, no AI", `list "my" files`, "Esc")
	c.result(a.Calls[0].ID, "second 1 of 30\nsecond 30 of 30\n")
	c.expect(c.say(false), 0, "30 seconds", "second 30 of 30", "no AI")

	c.user("again")
	a = c.say(false)
	c.expect(a, 1)
	c.result(a.Calls[0].ID, "aborted by user after 3.2s\nsecond 3 of 30")
	c.user("<turn_aborted>The turn was stopped.</turn_aborted>") // continue
	b := c.say(false)
	c.expect(b, 1, "stopped before its end", "do not run it again")
	if b.Calls[0].ID == a.Calls[0].ID {
		t.Error("one id twice")
	}
	c.result(b.Calls[0].ID, "second 5 of 5")
	c.expect(c.say(false), 0, "second 5 of 5")

	c.user("more")
	a = c.say(false)
	c.result(a.Calls[0].ID, "The outcome is not known. Do not retry blindly.")
	c.user("on")
	b = c.say(false)
	c.expect(b, 1, "not known", "do not repeat it")
	c.result(b.Calls[0].ID, "looking")
	c.expect(c.say(false), 0, "looking")

	c.user("<turn_aborted>x</turn_aborted>")
	c.expect(c.say(false), 0, "cut off")
	c.user("hi")
	c.expect(c.say(true), 0, "no AI", "RIPCORD_BASE_URL")
	c.user("/think")
	if a := c.say(false); a.Reasoning == "" || a.Text == "" {
		t.Errorf("got %+v", a)
	}
	for _, w := range []string{"/long", "/markdown"} {
		c.user(w)
		c.expect(c.say(false), 0)
	}
}

// talk is a conversation with the demo model.
type talk struct {
	t       *testing.T
	m       model.Model
	history []event.Message
}

func (c *talk) user(s string) {
	c.history = append(c.history, event.Message{Role: event.RoleUser, Content: event.TextOf(s)})
}

func (c *talk) result(id, s string) {
	c.history = append(c.history, event.Message{Role: event.RoleTool, Call: event.CallID(id), Name: "bash", Content: event.TextOf(s)})
}

func (c *talk) say(noTools bool) modeltest.Answer {
	c.t.Helper()
	req := model.Request{Messages: c.history}
	if !noTools {
		req.Tools = []event.ToolSchema{{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}}
	}
	a := modeltest.Ask(c.t.Context(), c.m, req)
	if a.Err != nil {
		c.t.Fatal(a.Err)
	}
	content := event.TextOf(a.Text)
	for _, k := range a.Calls {
		content = append(content, event.ToolCall{ID: event.CallID(k.ID), Name: k.Name, Args: json.RawMessage(k.Args)})
	}
	c.history = append(c.history, event.Message{Role: event.RoleAssistant, Content: content})
	return a
}

func (c *talk) expect(a modeltest.Answer, calls int, words ...string) {
	c.t.Helper()
	if len(a.Calls) != calls {
		c.t.Errorf("made %d calls, want %d: %q", len(a.Calls), calls, a.Text)
	}
	for _, w := range words {
		if !strings.Contains(a.Text, w) {
			c.t.Errorf("%q does not say %q", a.Text, w)
		}
	}
	for _, k := range a.Calls {
		var args struct{ Command string }
		if err := json.Unmarshal([]byte(k.Args), &args); err != nil || args.Command == "" || k.Name != "bash" {
			c.t.Errorf("call %+v: %v", k, err)
		}
	}
}

func TestTheEmbeddedScriptParses(t *testing.T) {
	if scripted.Coder() == nil {
		t.Error("nothing")
	}
}
