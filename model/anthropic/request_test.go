package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/modeltest"
)

// sent is the body that a request becomes.
func sent(t *testing.T, cfg anthropic.Config, req model.Request) (map[string]any, *canned) {
	t.Helper()
	c := &canned{body: frames(hello, begin(0, text), words(0, "ok"), stopped("end_turn"))}
	cfg.HTTPClient = client(c)
	if a := modeltest.Ask(t.Context(), open(t, cfg), req); a.Err != nil {
		t.Fatal(a.Err)
	}
	return asJSON(t, string(c.sent)), c
}

func asJSON(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err, s)
	}
	return v
}

// proves MOD-01, MOD-02: a request in the words of this wire: results first, with
// their flags and images; neighbours one; own thinking in its place.
func TestARequestSaysWhatTheHistoryHolds(t *testing.T) {
	limit, warm := 77, 0.5
	got, c := sent(t, anthropic.Config{BaseURL: "http://peer.test/v1", Key: "k-0123456789"}, model.Request{
		System: "sys", Params: event.ModelParams{MaxTokens: &limit, Temperature: &warm},
		Tools: []event.ToolSchema{{Name: "bash", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}},"required":["a"],"additionalProperties":false}`)}, {Name: "none"}},
		Messages: []event.Message{
			{Role: event.RoleUser, Content: event.TextOf("one")},
			{Role: event.RoleUser, Content: event.Content{event.Text{Text: "two"}, event.Image{MediaType: "image/png", Data: []byte("png")},
				event.File{Name: "a.pdf", MediaType: "application/pdf", Data: []byte("pdf")}, event.Image{MediaType: "image/tiff", Name: "t", Data: []byte("x")}}},
			{Role: event.RoleAssistant, Content: event.Content{event.Reasoning{Text: "hm", Signature: "sig", Provider: model.Anthropic}, event.Reasoning{Data: "red", Provider: model.Anthropic},
				event.Reasoning{Text: "theirs", Signature: "x", Provider: model.OpenAIResponses}, event.Text{Text: "so"},
				event.ToolCall{ID: "c1", Name: "bash", Args: json.RawMessage(`{"b":1,"a":2}`)}, event.ToolCall{ID: "c:2", Name: "bash", Args: json.RawMessage(`{}`)}}},
			{Role: event.RoleTool, Call: "c:2", Name: "bash", Error: true, Content: event.TextOf("aborted")},
			{Role: event.RoleTool, Call: "c1", Name: "bash", Content: event.Content{event.Text{Text: "first"}, event.Image{MediaType: "image/gif", Data: []byte("gif")}}},
			{Role: event.RoleUser, Content: event.TextOf("on")},
			{Role: event.RoleAssistant, Partial: true, Content: event.Content{event.Text{Text: "half an ans"}, event.Reasoning{Text: "led to nothing", Signature: "s2", Provider: model.Anthropic}}},
		}})
	want := asJSON(t, `{"model":"m","max_tokens":77,"temperature":0.5,"stream":true,
		"system":[{"type":"text","text":"sys"}],
		"tools":[{"name":"bash","description":"d","input_schema":{"type":"object","properties":{"z":{},"a":{}},"required":["a"],"additionalProperties":false}},
			{"name":"none","input_schema":{"type":"object"}}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"},
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
				{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}},
				{"type":"text","text":"[the image \"t\" is of the type image/tiff, which this provider does not take]"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"red"},{"type":"text","text":"so"},
				{"type":"tool_use","id":"c1","name":"bash","input":{"b":1,"a":2}},{"type":"tool_use","id":"`+model.WireID("c:2", 64)+`","name":"bash","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"first"},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"Z2lm"}}]},
				{"type":"tool_result","tool_use_id":"`+model.WireID("c:2", 64)+`","is_error":true,"content":[{"type":"text","text":"aborted"}]},
				{"type":"text","text":"on"}]},
			{"role":"assistant","content":[{"type":"text","text":"half an ans"}]},
			{"role":"user","content":[{"type":"text","text":"(go on)"}]}]}`)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c.head.Get("x-api-key") != "k-0123456789" || c.head.Get("Authorization") != "" || c.head.Get("anthropic-version") == "" {
		t.Errorf("sent %v", c.head)
	}
}

// proves MOD-01: what is set where nothing was said, and what an effort means.
func TestARequestHasALimitAndAnEffortMeansThinking(t *testing.T) {
	plain, _ := sent(t, anthropic.Config{BaseURL: "http://peer.test/v1"}, modeltest.Say("go"))
	if plain["max_tokens"] != 32000.0 || plain["thinking"] != nil || plain["cache_control"] != nil {
		t.Errorf("got %v", plain)
	}
	warm := 0.5
	req := modeltest.Say("go")
	req.Params = event.ModelParams{Effort: "high", Temperature: &warm}
	hard, _ := sent(t, anthropic.Config{MaxTokens: 5, Key: "k"}, req)
	if d := cmp.Diff(asJSON(t, `{"max_tokens":5,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"cache_control":{"type":"ephemeral"},
		"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}`), hard); d != "" {
		t.Error(d)
	}
	req.Params.Effort = "none"
	if off, _ := sent(t, anthropic.Config{}, req); cmp.Diff(map[string]any{"type": "disabled"}, off["thinking"]) != "" {
		t.Errorf("got %v", off["thinking"])
	}
}

func TestSettingsThatCannotWorkAreRefusedAtOnce(t *testing.T) {
	for name, cfg := range map[string]anthropic.Config{
		"no scheme": {BaseURL: "localhost:1234/v1", Model: "m"}, "no model": {}, "a key of two lines": {Model: "m", Key: "a\nb"},
	} {
		_, err := anthropic.New(cfg)
		var e *model.Error
		if !errors.As(err, &e) || e.Code != event.FailConfig || e.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if i := open(t, anthropic.Config{Why: "w"}).Info(); i.BaseURL != model.AnthropicURL || i.Provider != model.Anthropic || i.Why != "w" {
		t.Errorf("got %+v", i)
	}
}
