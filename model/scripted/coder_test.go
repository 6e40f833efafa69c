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

	user := func(s string) event.Message { return event.Message{Role: event.RoleUser, Content: event.TextOf(s)} }
	var history []event.Message
	say := func(noTools bool) modeltest.Answer {
		t.Helper()
		req := model.Request{Messages: history}
		if !noTools {
			req.Tools = []event.ToolSchema{{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}}
		}
		a := modeltest.Ask(t.Context(), m, req)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		c := event.TextOf(a.Text)
		for _, k := range a.Calls {
			c = append(c, event.ToolCall{ID: event.CallID(k.ID), Name: k.Name, Args: json.RawMessage(k.Args)})
		}
		history = append(history, event.Message{Role: event.RoleAssistant, Content: c})
		return a
	}
	result := func(id, s string) {
		history = append(history, event.Message{Role: event.RoleTool, Call: event.CallID(id), Name: "bash", Content: event.TextOf(s)})
	}
	expect := func(a modeltest.Answer, calls int, words ...string) {
		t.Helper()
		if len(a.Calls) != calls {
			t.Errorf("made %d calls, want %d: %q", len(a.Calls), calls, a.Text)
		}
		for _, w := range words {
			if !strings.Contains(a.Text, w) {
				t.Errorf("%q does not say %q", a.Text, w)
			}
		}
		for _, c := range a.Calls {
			var args struct{ Command string }
			if err := json.Unmarshal([]byte(c.Args), &args); err != nil || args.Command == "" || c.Name != "bash" {
				t.Errorf("call %+v: %v", c, err)
			}
		}
	}

	history = append(history, user(`list "my" files`))
	a := say(false)
	expect(a, 1, "script, no AI", `list "my" files`, "Esc")
	result(a.Calls[0].ID, "second 1 of 30\nsecond 30 of 30\n")
	expect(say(false), 0, "30 seconds", "second 30 of 30", "no AI")

	history = append(history, user("again"))
	a = say(false)
	expect(a, 1)
	result(a.Calls[0].ID, "aborted by user after 3.2s\nsecond 3 of 30")
	history = append(history, user("<turn_aborted>The turn was stopped.</turn_aborted>")) // continue
	b := say(false)
	expect(b, 1, "stopped before its end", "do not run it again")
	if b.Calls[0].ID == a.Calls[0].ID {
		t.Error("one id twice")
	}
	result(b.Calls[0].ID, "second 5 of 5")
	expect(say(false), 0, "second 5 of 5")

	history = append(history, user("more"))
	a = say(false)
	result(a.Calls[0].ID, "The outcome is not known. Do not retry blindly.")
	history = append(history, user("on"))
	b = say(false)
	expect(b, 1, "not known", "do not repeat it")
	result(b.Calls[0].ID, "looking")
	expect(say(false), 0, "looking")

	history = append(history, user("<turn_aborted>x</turn_aborted>"))
	expect(say(false), 0, "cut off")
	history = append(history, user("hi"))
	expect(say(true), 0, "no AI", "RIPCORD_BASE_URL")
	history = append(history, user("/think"))
	if a := say(false); a.Reasoning == "" || a.Text == "" {
		t.Errorf("got %+v", a)
	}
	for _, w := range []string{"/long", "/markdown"} {
		history = append(history, user(w))
		expect(say(false), 0)
	}
}

func TestTheEmbeddedScriptParses(t *testing.T) {
	if scripted.Coder() == nil {
		t.Error("nothing")
	}
}
