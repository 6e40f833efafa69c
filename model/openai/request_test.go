package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
)

// sent returns the request that cfg makes of req, decoded.
func sent(t *testing.T, cfg openai.Config, req model.Request) map[string]any {
	t.Helper()
	c := &canned{body: data(words("x"), stop)}
	cfg.BaseURL, cfg.HTTPClient = orElse(cfg.BaseURL, "http://peer.test/v1"), client(c)
	if a := modeltest.Ask(t.Context(), open(t, cfg), req); a.Err != nil {
		t.Fatal(a.Err)
	}
	body, err := c.sent.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(b))
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// proves MOD-01, B019 (on a wire without signatures): what a history becomes.
func TestARequestIsWrittenAsTheWireWantsIt(t *testing.T) {
	n, temp := 77, 0.5
	req := model.Request{
		System: "sys", Params: event.ModelParams{MaxTokens: &n, Temperature: &temp, Effort: "low"},
		Tools: []event.ToolSchema{{Name: "bash", Description: "runs", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
		Blob:  func(context.Context, event.BlobRef) ([]byte, error) { return []byte("big"), nil },
		Messages: []event.Message{
			{Role: event.RoleUser, Content: event.TextOf("one")},
			{Role: event.RoleUser, Content: event.Content{event.Text{Text: "two"}, event.Image{MediaType: "image/png", Data: []byte("png")}, event.Image{MediaType: "image/gif", Blob: &event.BlobRef{}}}},
			{Role: event.RoleAssistant, Content: event.Content{event.Reasoning{Text: "hm", Signature: "sig"}, event.Text{Text: "so"},
				event.ToolCall{ID: "c1", Name: "bash", Args: json.RawMessage(`{"a":1}`)}, event.ToolCall{ID: "c2", Name: "bash", Args: json.RawMessage(`{}`)}}},
			{Role: event.RoleTool, Call: "c2", Name: "bash", Content: event.TextOf("second")},
			{Role: event.RoleTool, Call: "c1", Name: "bash", Content: event.TextOf("first"), Error: true},
			{Role: event.RoleAssistant, Content: event.TextOf("half an ans"), Partial: true},
			{Role: event.RoleUser, Content: event.TextOf("on")},
		},
	}
	got := sent(t, openai.Config{}, req)
	want := decode(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":77,"temperature":0.5,"reasoning_effort":"low",
		"tools":[{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],
		"messages":[{"role":"system","content":"sys"},
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,Ymln"}}]},
			{"role":"assistant","content":"so","tool_calls":[{"type":"function","id":"c1","function":{"name":"bash","arguments":"{\"a\":1}"}},{"type":"function","id":"c2","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"first"},{"role":"tool","tool_call_id":"c2","content":"second"},
			{"role":"assistant","content":"half an ans"},{"role":"user","content":"on"}]}`)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if at := sent(t, openai.Config{BaseURL: "https://api.openai.com/v1"}, req); at["max_completion_tokens"] != 77.0 || at["max_tokens"] != nil {
		t.Errorf("OpenAI's own name of the limit is not used: %v", at)
	}
}

// proves B019: signed thinking goes back byte for byte to who can take it, what
// was not signed is not sent again.
func TestSignedReasoningIsHandedBackUnchanged(t *testing.T) {
	srv := modeltest.Serve(t, "R'thi' R'nk\\n é' S'sig1' T'half an ans' R'unfinished' F(stop)\nT'taken' F(stop)\nT'never' F(stop)")
	m := open(t, openai.Config{BaseURL: srv.URL(), Echo: true})
	a := modeltest.Ask(t.Context(), m, modeltest.Say("go"))
	history := func(sig string) model.Request {
		return model.Request{Messages: []event.Message{
			{Role: event.RoleUser, Content: event.TextOf("go")},
			{Role: event.RoleAssistant, Content: event.Content{event.Reasoning{Text: "think\n é", Signature: sig}, event.Text{Text: a.Text}, event.Reasoning{Text: "unfinished"}}},
			{Role: event.RoleUser, Content: event.TextOf("on")}}}
	}
	if b := modeltest.Ask(t.Context(), m, history(a.Signature)); b.Text != "taken" {
		t.Errorf("got %+v\n%s", b, srv.Requests()[1].Body)
	}
	if blocks := srv.Requests()[1].Chat.Messages[1].Reasoning; len(blocks) != 1 {
		t.Errorf("sent %+v", blocks)
	}
	if b := modeltest.Ask(t.Context(), m, history("sig2")); b.Err == nil {
		t.Error("the strict server took a changed signature")
	}
}

// The end of the context while a blob is fetched is no broken request.
func TestTheContextEndsTheFetchOfABlob(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	req := modeltest.Say("go")
	req.Messages[0].Content = event.Content{event.Image{Blob: &event.BlobRef{}}}
	req.Blob = func(ctx context.Context, _ event.BlobRef) ([]byte, error) {
		cancel(errStop)
		return nil, ctx.Err()
	}
	if a := modeltest.Ask(ctx, over(t, &canned{}), req); a.Err != errStop {
		t.Errorf("got %v", a.Err)
	}
}
