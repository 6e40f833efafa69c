package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// signed proves the driver's part of B019 and MOD-02: what a strict provider
// signed it gets back as it was, and another's never.
func (d Driver) signed(t *testing.T) {
	const script = "R'thi' R'nk\\n é' S'sig+/=1' T'so' C(c1,bash) A'{}' E F(tool)\nT'taken' F(stop)\nT'never' F(stop)\nT'left out' F(stop)"
	srv := Serve(t, script)
	m := d.open(t, srv.URL())
	first := Ask(t.Context(), m, Say("go"))
	if first.Err != nil || first.Signature == "" {
		t.Fatalf("got %+v", first)
	}
	ask := func(change func(*event.Reasoning)) Answer {
		content := first.Content()
		r := content[0].(event.Reasoning)
		change(&r)
		content[0] = r
		return Ask(t.Context(), m, model.Request{Messages: []event.Message{user("go"), {Role: event.RoleAssistant, Content: content}, result("c1", "ok")}})
	}
	back := func() string { return string(srv.Requests()[len(srv.Requests())-1].Body) }
	if a := ask(func(*event.Reasoning) {}); a.Text != "taken" {
		t.Errorf("got %v\n%s", a.Err, back())
	}
	if d.wire() != model.OpenAIChat { // only a server of ours takes it there
		if !strings.Contains(back(), `"sig+/=1"`) {
			t.Errorf("the signature did not go back: %s", back())
		}
		if a := ask(func(r *event.Reasoning) { r.Signature, r.Data = strings.Replace(r.Signature, "s", "S", 1), r.Data+"x" }); a.Err == nil && d.wire() == model.Anthropic {
			t.Errorf("a changed signature was taken: %s", back())
		}
	}
	if a := ask(func(r *event.Reasoning) { r.Provider = "elsewhere" }); a.Err != nil || strings.Contains(back(), "sig+/=1") {
		t.Errorf("what another signed went out: %v %s", a.Err, back())
	}
}

// foreign proves MOD-01's histories of other wires: ids of every form stay
// valid and keep their results, what was signed elsewhere and what was cut is
// left out, and two ids are never made one.
func (d Driver) foreign(t *testing.T) {
	ids := []string{"call_1_2_3_4", "toolu_01A", "call:1/2", "call:1|2", "é", "x y", strings.Repeat("long", 30), strings.Repeat("long", 30) + "er"}
	var calls event.Content
	calls = append(calls, event.Reasoning{Text: "hm", Signature: "theirs", Provider: "elsewhere"},
		event.Reasoning{Data: "sealed", Provider: "elsewhere"}, event.Text{Text: "so"}, event.Reasoning{Text: "cut off", Provider: d.wire()})
	msgs := []event.Message{user("go"), {}}
	for _, id := range ids {
		calls = append(calls, call(id, "odd.name/€"))
		r := result(id, "done "+id)
		r.Error = strings.Contains(id, ":")
		msgs = append(msgs, r)
	}
	msgs[1] = said(calls...)
	msgs = append(msgs, event.Message{Role: event.RoleAssistant, Partial: true, Content: event.Content{event.Text{Text: "half an ans"}}}, user("<turn_aborted>"), user("on"))
	srv := Serve(t, "T'taken' F(stop)\nT'taken' F(stop)")
	m := d.open(t, srv.URL())
	for range 2 {
		if a := Ask(t.Context(), m, model.Request{Messages: msgs}); a.Text != "taken" {
			t.Fatalf("got %v\n%s", a.Err, srv.Requests()[0].Body)
		}
	}
	one, two := srv.Requests()[0], srv.Requests()[1]
	if string(one.Body) != string(two.Body) {
		t.Error("the same history was sent in two forms")
	}
	for _, secret := range []string{"theirs", "sealed", "cut off"} {
		if strings.Contains(string(one.Body), secret) {
			t.Errorf("%q went out: %s", secret, one.Body)
		}
	}
	seen := map[string]bool{}
	for _, msg := range one.Chat.Messages {
		if msg.Role == "tool" {
			seen[msg.ToolCallID] = true
		}
	}
	if len(seen) != len(ids) || !seen["call_1_2_3_4"] || !seen["toolu_01A"] {
		t.Errorf("the ids became %v", seen)
	}
}

// once proves MOD-01: no retry but ours.
func (d Driver) once(t *testing.T) {
	for _, script := range []string{"http 500", "http 429 retry-after 0", "http 503", "drop", "error overloaded_error busy"} {
		srv := Serve(t, "answer always\n "+script)
		if a := Ask(t.Context(), d.open(t, srv.URL()), Say("go")); a.Err == nil || len(srv.Requests()) != 1 {
			t.Errorf("%s: got %v after %d requests", script, a.Err, len(srv.Requests()))
		}
	}
}

// keys proves that a key goes to whom it is for, and nowhere else: no error
// holds it, and no redirect carries it on.
func (d Driver) keys(t *testing.T) {
	if d.Keyed == nil {
		t.Skip("the driver takes no key")
	}
	const key = "sk-very-secret-0123456789"
	open := func(url string) model.Model {
		m := d.Keyed(t, url, key)
		if c, ok := m.(io.Closer); ok {
			t.Cleanup(func() { _ = c.Close() })
		}
		return m
	}
	echo, err := json.Marshal(map[string]any{"error": map[string]any{"message": "wrong key " + key, "type": "authentication_error"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"http 401 body " + string(echo), "http 400 body no " + key, "error odd_error " + key} {
		srv := Serve(t, "answer always\n "+script)
		a := Ask(t.Context(), open(srv.URL()), Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || strings.Contains(fmt.Sprintf("%v %+v %#v", a.Err, a.Err, e.Failure), key) {
			t.Errorf("%s: got %v", script, a.Err)
		}
		if h := fmt.Sprint(srv.Requests()[0].Header); !strings.Contains(h, key) {
			t.Errorf("the key was not sent: %s", h)
		}
	}
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		first := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/", status))
		a := Ask(t.Context(), open(first.URL+"/v1"), Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != event.FailConfig || asked.Load() > 0 {
			t.Errorf("%d: got %v, the other host was asked %d times", status, a.Err, asked.Load())
		}
		first.Close()
	}
}

// badText proves MOD-02: half a rune never leaves a driver.
func (d Driver) badText(t *testing.T) {
	raw := map[string]string{
		model.OpenAIChat:      `{"choices":[{"delta":{"content":"\xff"}}]}`,
		model.OpenAIResponses: `{"type":"response.output_text.delta","output_index":0,"delta":"\xff"}`,
		model.Anthropic:       `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}`,
	}[d.wire()]
	srv := Serve(t, "answer\n text a\n raw \"data: "+strings.ReplaceAll(raw, `"`, `\"`)+"\\n\\n\"\n text b\n finish stop\n")
	if a := Ask(t.Context(), d.open(t, srv.URL()), Say("go")); a.Err != nil || a.Text != "a\uFFFDb" {
		t.Errorf("got %q, %v", a.Text, a.Err)
	}
}

func (d Driver) certificate(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is wanted
	srv.StartTLS()
	defer srv.Close()
	a := Ask(t.Context(), d.open(t, srv.URL+"/v1"), Say("go"))
	var e *model.Error
	if !errors.As(a.Err, &e) || e.Code != event.FailTransport || !strings.Contains(e.Message, "certificate") {
		t.Errorf("got %v", a.Err)
	}
}
