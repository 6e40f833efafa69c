package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	sdkr "github.com/openai/openai-go/v3/responses"
	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
)

// overResponses returns a driver of the responses wire whose every answer is c.
func overResponses(t testing.TB, c *canned) *openai.Responses {
	t.Helper()
	return openResponses(t, openai.Config{BaseURL: "http://peer.test/v1", HTTPClient: client(c)})
}

func item(kind string, i int, body string) string {
	return fmt.Sprintf(`{"type":"response.output_item.%s","output_index":%d,"item":%s}`, kind, i, body)
}

func said(i int, s string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","item_id":"m","output_index":%d,"content_index":0,"delta":"%s","logprobs":[]}`, i, s)
}

func piece(i int, s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":%d,"delta":%s}`, i, b)
}

func fcall(id, args, status string) string {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return `{"type":"function_call","id":"fc_` + id + `","call_id":"` + id + `","name":"x","arguments":` + string(b) + `,"status":"` + status + `"}`
}

const (
	created   = `{"type":"response.created","response":{"id":"r","status":"in_progress","instructions":"i","output":[],"usage":null}}`
	completed = `{"type":"response.completed","response":{"id":"r","status":"completed","error":null,"incomplete_details":null,"output":[{"x":[1]}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}}`
	tooLong   = `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":null}}`
	filtered  = `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`
	message   = `{"type":"message","id":"m","role":"assistant","status":"in_progress","content":[]}`
	spoken    = `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[]}]}`
)

// proves MOD-02: an answer in every dress the wire allows, cut anywhere.
func TestResponsesAreReadInEveryForm(t *testing.T) {
	for name, events := range map[string][]string{
		"plain":               {created, item("added", 0, message), said(0, "ab"), item("done", 0, spoken), completed},
		"no start of an item": {said(0, "ab"), item("done", 0, spoken), completed},
		"no end of an item":   {created, item("added", 0, message), said(0, "ab"), completed},
		"no deltas":           {created, item("added", 0, message), item("done", 0, spoken), completed},
		"ends alone":          {item("done", 0, spoken), completed},
		"a refusal":           {`{"type":"response.refusal.delta","output_index":0,"delta":"ab"}`, completed},
		"what is new":         {created, `{"type":"response.odd.delta","delta":{"x":1},"output_index":0}`, item("added", 0, `{"type":"web_search_call","id":"w"}`), item("done", 0, `{"type":"web_search_call","id":"w"}`), said(1, "ab"), completed},
		"after the finish":    {said(0, "ab"), completed, said(0, "zz"), "{broken"},
		"all items one index": {item("added", 0, `{"type":"web_search_call","id":"w"}`), item("done", 0, `{"type":"web_search_call","id":"w"}`), item("added", 0, message), said(0, "ab"), item("done", 0, spoken), completed},
		"a DONE too":          {said(0, "ab"), completed, done},
	} {
		for step := range 3 {
			a := modeltest.Ask(t.Context(), overResponses(t, &canned{body: data(events...), step: step}), modeltest.Say("go"))
			if a.Err != nil || a.Text != "ab" || a.Finish != event.FinishStop || len(a.Calls) > 0 || *a.Usage.Input != 5 || *a.Usage.Output != 7 {
				t.Errorf("%s, step %d: got %+v", name, step, a)
			}
		}
	}
}

// proves MOD-02, B062, the driver's part of B021: calls that stream one after
// another, beside each other, at once, or not to their end.
func TestCallsOfAResponseAreToldApart(t *testing.T) {
	one := modeltest.Call{ID: "a", Name: "x", Args: `{"n":1}`, Ended: true}
	two := modeltest.Call{ID: "b", Name: "x", Args: `{}`, Ended: true}
	half := modeltest.Call{ID: "a", Name: "x", Args: `{"n`}
	open := item("added", 0, fcall("a", "", "in_progress"))
	for name, c := range map[string]struct {
		events []string
		want   []modeltest.Call
		finish event.FinishReason
	}{
		"in turn": {[]string{open, piece(0, `{"n`), piece(0, `":1}`), item("done", 0, fcall("a", `{"n":1}`, "completed")),
			item("added", 1, fcall("b", "", "in_progress")), piece(1, "{}"), item("done", 1, fcall("b", "{}", "completed")), completed}, []modeltest.Call{one, two}, event.FinishTools},
		"beside each other": {[]string{open, item("added", 1, fcall("b", "", "in_progress")), piece(0, `{"n`), piece(1, "{}"), item("done", 1, fcall("b", "{}", "completed")),
			piece(0, `":1}`), item("done", 0, fcall("a", `{"n":1}`, "completed")), completed}, []modeltest.Call{one, two}, event.FinishTools},
		"the first never ends":     {[]string{open, piece(0, `{"n":1}`), item("done", 1, fcall("b", "{}", "completed")), completed}, []modeltest.Call{one, two}, event.FinishTools},
		"without pieces":           {[]string{open, item("done", 0, fcall("a", `{"n":1}`, "completed")), item("done", 1, fcall("b", "{}", "")), completed}, []modeltest.Call{one, two}, event.FinishTools},
		"cut":                      {[]string{open, piece(0, `{"n`), item("done", 0, fcall("a", `{"n`, "incomplete")), tooLong}, []modeltest.Call{half}, event.FinishLength},
		"cut without its end":      {[]string{open, piece(0, `{"n`), tooLong}, []modeltest.Call{half}, event.FinishLength},
		"cut, and called complete": {[]string{open, piece(0, `{"n`), item("done", 0, fcall("a", `{"n`, "completed")), filtered}, []modeltest.Call{half}, event.FinishFilter},
		"whole behind an open one": {[]string{item("added", 0, message), said(0, "ab"), item("added", 1, fcall("b", "", "in_progress")), piece(1, "{}"), item("done", 1, fcall("b", "{}", "completed")), tooLong}, []modeltest.Call{two}, event.FinishLength},
		"whole behind a cut one":   {[]string{open, piece(0, `{"n`), item("done", 1, fcall("b", "{}", "completed")), filtered}, []modeltest.Call{half, two}, event.FinishFilter},
		"cut behind an open one":   {[]string{item("added", 0, message), said(0, "ab"), item("done", 1, fcall("a", `{"n`, "completed")), tooLong}, []modeltest.Call{half}, event.FinishLength},
		"begun behind an open one": {[]string{item("added", 0, message), said(0, "ab"), item("added", 1, fcall("a", "", "in_progress")), piece(1, `{"n`), tooLong}, nil, event.FinishLength},
		"no arguments":             {[]string{open, item("done", 0, fcall("a", "", "completed")), completed}, []modeltest.Call{{ID: "a", Name: "x", Ended: true}}, event.FinishTools},
	} {
		a := modeltest.Ask(t.Context(), overResponses(t, &canned{body: data(c.events...)}), modeltest.Say("go"))
		if a.Err != nil || a.Finish != c.finish || len(a.Calls) != len(c.want) {
			t.Errorf("%s: got %+v", name, a)
			continue
		}
		for i, want := range c.want {
			if g := a.Calls[i]; g.ID != want.ID || g.Name != want.Name || g.Args != want.Args || g.Ended != want.Ended {
				t.Errorf("%s: got %+v, want %+v", name, g, want)
			}
		}
	}
}

// proves MOD-02: items that wait for the end of another have a bound.
func TestItemsBehindAnOpenOneAreBounded(t *testing.T) {
	large := strings.Repeat("1", 3<<20)
	for n, whole := range map[int]bool{2: true, 3: false} {
		events := []string{item("added", 0, message), said(0, "ab")}
		for i := range n {
			events = append(events, item("done", i+1, fcall(fmt.Sprint("c", i), large, "completed")))
		}
		a := modeltest.Ask(t.Context(), overResponses(t, &canned{body: data(append(events, item("done", 0, spoken), completed)...)}), modeltest.Say("go"))
		var e *model.Error
		refused := errors.As(a.Err, &e) && e.Code == event.FailProtocol && strings.Contains(e.Message, "behind one that does not end")
		if whole && (a.Err != nil || len(a.Calls) != n) || !whole && !refused {
			t.Errorf("%d items: %d calls, %v", n, len(a.Calls), a.Err)
		}
	}
}

// proves MOD-02: what fails in the stream is typed by its code, and what never
// ended is no answer.
func TestAResponseThatFailsIsTyped(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		code  event.FailureCode
	}{
		"failed":           {`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"busy"}}}`, event.FailOverloaded},
		"rate limit":       {`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"busy"}}}`, event.FailRateLimit},
		"for good":         {`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"busy"}}}`, event.FailRequest},
		"an image":         {`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_base64_image","message":"busy"}}}`, event.FailRequest},
		"an error":         {`{"type":"error","code":"rate_limit_exceeded","message":"busy","param":null,"sequence_number":3}`, event.FailRateLimit},
		"context":          {`{"type":"error","code":"context_length_exceeded","message":"busy"}`, event.FailContext},
		"a nested error":   {`{"type":"error","error":{"type":"server_error","message":"busy"}}`, event.FailOverloaded},
		"a part is open":   {data2(piece(1, "{}"), completed), event.FailProtocol},
		"a call of nobody": {piece(7, "{}"), event.FailProtocol},
	} {
		before := []string{created, item("added", 0, message), said(0, "ab")}
		if strings.Contains(name, "nobody") {
			before = append(before, item("done", 0, spoken))
		}
		body := data(before...) + data(strings.Split(c.event, "\n")...)
		a := modeltest.Ask(t.Context(), overResponses(t, &canned{body: body}), modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != c.code || a.Text != "ab" || c.code != event.FailProtocol && !strings.Contains(e.Message, "busy") {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}

func data2(events ...string) string { return strings.Join(events, "\n") }

// proves MOD-02, B019: reasoning in parts, without words, unsigned; what comes
// back is the item as it was.
func TestReasoningOfAResponseGoesBackAsItWas(t *testing.T) {
	const summary = `[{"type":"summary_text","text":"one\u00e9"},{"type":"summary_text","text":"two"}]`
	think := func(i, part int, s string) string {
		return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","output_index":%d,"summary_index":%d,"delta":"%s"}`, i, part, s)
	}
	c := &canned{body: data(created,
		item("added", 0, `{"type":"reasoning","id":"rs_1","summary":[]}`), think(0, 0, "oneé"),
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`, think(0, 1, "two"),
		item("done", 0, `{"type":"reasoning","id":"rs_1","summary":`+summary+`,"encrypted_content":"gAAA+/=","status":null}`),
		item("done", 1, `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"}`),
		item("done", 2, `{"type":"reasoning","id":"rs_3","summary":[],"content":[{"type":"reasoning_text","text":"open"}],"encrypted_content":null}`),
		said(3, "so"), completed)}
	m := overResponses(t, c)
	a := modeltest.Ask(t.Context(), m, modeltest.Say("go"))
	content := a.Content()
	if a.Err != nil || len(content) != 4 || content[0].(event.Reasoning).Text != "oneé\n\ntwo" || content[2] != (event.Part)(event.Reasoning{Text: "open"}) {
		t.Fatalf("got %#v, %v", content, a.Err)
	}
	req := modeltest.Say("go")
	req.Messages = append(req.Messages, event.Message{Role: event.RoleAssistant, Content: content}, event.Message{Role: event.RoleUser, Content: event.TextOf("on")})
	_ = modeltest.Ask(t.Context(), m, req)
	body, err := io.ReadAll(c.sent.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Input []any }
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var want []any
	if err := json.Unmarshal([]byte(`[{"role":"user","content":"go"},
		{"type":"reasoning","id":"rs_1","summary":`+summary+`,"encrypted_content":"gAAA+/="},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"},
		{"role":"assistant","content":"so"},{"role":"user","content":"on"}]`), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Input); d != "" {
		t.Error(d)
	}
}

// proves MOD-01: a request in the words of the responses wire.
func TestAResponsesRequestSaysWhatTheHistoryHolds(t *testing.T) {
	limit := 77
	c := &canned{body: data(said(0, "ok"), completed)}
	a := modeltest.Ask(t.Context(), openResponses(t, openai.Config{BaseURL: "http://peer.test/v1", Model: "m", Key: "k-0123456789", HTTPClient: client(c)}), model.Request{
		System: "sys", Params: event.ModelParams{MaxTokens: &limit, Effort: "high"},
		Tools: []event.ToolSchema{{Name: "bash", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "none"}},
		Messages: []event.Message{
			{Role: event.RoleUser, Content: event.TextOf("one")},
			{Role: event.RoleUser, Content: event.Content{event.Image{MediaType: "image/png", Data: []byte("png")}, event.File{Name: "a.pdf", MediaType: "application/pdf", Data: []byte("pdf")}}},
			{Role: event.RoleAssistant, Content: event.Content{event.Reasoning{Text: "hm", Signature: "sig", Provider: model.Anthropic}, event.Text{Text: "so"},
				event.ToolCall{ID: "c1", Name: "bash", Args: json.RawMessage(`{"a":1}`)}, event.ToolCall{ID: "c:2", Name: "bash", Args: json.RawMessage(`{}`)}}},
			{Role: event.RoleTool, Call: "c:2", Name: "bash", Error: true, Content: event.TextOf("aborted")},
			{Role: event.RoleTool, Call: "c1", Name: "bash", Content: event.Content{event.Text{Text: "first"}, event.Image{MediaType: "image/gif", Data: []byte("gif")}}},
		}})
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	body, err := io.ReadAll(c.sent.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"model":"m","stream":true,"store":false,"instructions":"sys","max_output_tokens":77,"reasoning":{"effort":"high"},
		"include":["reasoning.encrypted_content"],
		"tools":[{"type":"function","name":"bash","description":"d","strict":false,"parameters":{"type":"object"}},
			{"type":"function","name":"none","strict":false,"parameters":{"type":"object","properties":{}}}],
		"input":[
			{"role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"},
				{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}]},
			{"role":"assistant","content":"so"},
			{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"a\":1}"},
			{"type":"function_call","call_id":"`+model.WireID("c:2", 64)+`","name":"bash","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"first"},{"type":"input_image","image_url":"data:image/gif;base64,Z2lm"}]},
			{"type":"function_call_output","call_id":"`+model.WireID("c:2", 64)+`","output":"aborted"}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := c.sent.Header.Get("Authorization"); got != "Bearer k-0123456789" {
		t.Errorf("sent %q", got)
	}
}

// reply draws a well-formed answer.
func drawReply(t *rapid.T) string {
	word, ascii := rapid.StringN(1, 20, -1), rapid.Bool()
	var out strings.Builder
	seq := 0
	say := func(name string, v obj) {
		v["type"], v["sequence_number"] = name, seq
		seq++
		out.WriteString("event: " + name + "\ndata: " + encode(v, ascii.Draw(t, "ascii")) + "\n\n")
	}
	n := rapid.IntRange(1, 5).Draw(t, "items")
	for i := range n {
		about := func(name string, v obj) {
			v["output_index"], v["item_id"] = i, fmt.Sprint("i", i)
			say(name, v)
		}
		whole := func(v obj) obj { v["id"] = fmt.Sprint("i", i); return v }
		switch rapid.SampledFrom([]string{"message", "reasoning", "function_call"}).Draw(t, "kind") {
		case "message":
			about("response.output_item.added", obj{"item": whole(obj{"type": "message", "role": "assistant", "content": []any{}})})
			text := ""
			for range rapid.IntRange(1, 5).Draw(t, "deltas") {
				w := word.Draw(t, "text")
				text += w
				about("response.output_text.delta", obj{"content_index": 0, "delta": w})
			}
			about("response.output_item.done", obj{"item": whole(obj{"type": "message", "role": "assistant", "content": []any{obj{"type": "output_text", "text": text}}})})
		case "reasoning":
			text := word.Draw(t, "thought")
			about("response.output_item.added", obj{"item": whole(obj{"type": "reasoning", "summary": []any{}})})
			about("response.reasoning_summary_text.delta", obj{"summary_index": 0, "delta": text})
			about("response.output_item.done", obj{"item": whole(obj{"type": "reasoning", "summary": []any{obj{"type": "summary_text", "text": text}}, "encrypted_content": rapid.StringMatching(`[a-zA-Z0-9+/=]{1,40}`).Draw(t, "sealed")})})
		case "function_call":
			args, _ := json.Marshal(obj{"v": word.Draw(t, "value")})
			v := func(a string) obj {
				return whole(obj{"type": "function_call", "call_id": fmt.Sprint("c", i), "name": "x", "arguments": a})
			}
			about("response.output_item.added", obj{"item": v("")})
			for left := []rune(string(args)); len(left) > 0; {
				n := rapid.IntRange(1, len(left)).Draw(t, "fragment")
				about("response.function_call_arguments.delta", obj{"delta": string(left[:n])})
				left = left[n:]
			}
			about("response.output_item.done", obj{"item": v(string(args))})
		}
	}
	say("response.completed", obj{"response": obj{"id": "r", "status": "completed", "usage": obj{"input_tokens": rapid.IntRange(1, 1e6).Draw(t, "in"), "output_tokens": 9}}})
	return out.String()
}

// proves MOD-01: our decoder says what the SDK's events say, wherever the bytes
// are cut.
func TestTheReplyDecoderAgreesWithTheSDK(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := drawReply(rt)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		got := modeltest.Ask(t.Context(), overResponses(t, &canned{body: body, rng: rng}), modeltest.Say("go"))
		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
		theirs := ssestream.NewStream[sdkr.ResponseStreamEventUnion](ssestream.NewDecoder(res), nil)
		var want event.Content
		var usage int64
		for theirs.Next() {
			switch e := theirs.Current(); e.Type {
			case "response.completed":
				usage = e.Response.Usage.InputTokens
			case "response.output_item.done":
				switch it := e.Item; it.Type {
				case "message":
					want = append(want, event.Text{Text: it.Content[0].Text})
				case "reasoning":
					want = append(want, event.Reasoning{Text: it.Summary[0].Text, Data: it.EncryptedContent, Provider: model.OpenAIResponses})
				case "function_call":
					want = append(want, event.ToolCall{ID: event.CallID(it.CallID), Name: it.Name, Args: json.RawMessage(it.Arguments.OfString)})
				}
			}
		}
		if theirs.Err() != nil {
			rt.Fatal(theirs.Err())
		}
		have := got.Content()
		for i, p := range have {
			if r, ok := p.(event.Reasoning); ok {
				r.Signature = ""
				have[i] = r
			}
		}
		if got.Err != nil || !reflect.DeepEqual(have, want) || *got.Usage.Input != usage {
			rt.Fatalf("got  %#v, %v\nwant %#v", have, got.Err, want)
		}
	})
}

// BenchmarkDecodeResponses measures one event of 1 KB of text.
func BenchmarkDecodeResponses(b *testing.B) {
	one := data(said(0, strings.Repeat("lorem ipsum dolor sit amet \\n", 34)))
	const n = 1000
	m := overResponses(b, &canned{body: strings.Repeat(one, n) + data(completed)})
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		for _, err := range m.Stream(b.Context(), modeltest.Say("go")) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// benchSDK measures the SDK's decoding of the same, without accumulation.
func benchSDK[T any](b *testing.B, one string) {
	const n = 1000
	body := strings.Repeat(one, n)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
		events := ssestream.NewStream[T](ssestream.NewDecoder(res), nil)
		for events.Next() {
			_ = events.Current()
		}
		if events.Err() != nil {
			b.Fatal(events.Err())
		}
	}
}

func BenchmarkDecodeResponsesSDK(b *testing.B) {
	benchSDK[sdkr.ResponseStreamEventUnion](b, data(said(0, strings.Repeat("lorem ipsum dolor sit amet \\n", 34))))
}

func BenchmarkDecodeSDK(b *testing.B) {
	benchSDK[sdk.ChatCompletionChunk](b, data(words(strings.Repeat("lorem ipsum dolor sit amet \\n", 34))))
}
