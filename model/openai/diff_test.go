package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/modeltest"
)

// encode writes v as JSON, with every rune above ASCII escaped if ascii is set.
func encode(v any, ascii bool) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if !ascii {
		return string(b)
	}
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\u%04X\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		}
	}
	return out.String()
}

type obj = map[string]any

// stream draws a well-formed answer.
func stream(t *rapid.T) string {
	text := rapid.StringN(0, 20, -1)
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	ascii := rapid.Bool()
	var out strings.Builder
	emit := func(v obj) {
		v["id"], v["object"], v["created"], v["model"] = "c1", "chat.completion.chunk", 1, "m"
		out.WriteString("data: " + encode(v, ascii.Draw(t, "ascii")) + eol + eol)
		if rapid.IntRange(0, 9).Draw(t, "ping") == 0 {
			out.WriteString(": ping" + eol + eol)
		}
	}
	delta := func(d obj) { emit(obj{"choices": []any{obj{"index": 0, "delta": d, "finish_reason": nil}}}) }
	delta(obj{"role": "assistant", "content": ""})
	for range rapid.IntRange(0, 8).Draw(t, "texts") {
		delta(obj{"content": text.Draw(t, "text")})
	}
	calls := rapid.IntRange(0, 3).Draw(t, "calls")
	for i := range calls {
		args, _ := json.Marshal(obj{"v": text.Draw(t, "value"), "n": rapid.Int().Draw(t, "n")})
		delta(obj{"tool_calls": []any{obj{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function",
			"function": obj{"name": rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "name"), "arguments": ""}}}})
		runes := []rune(string(args))
		for len(runes) > 0 {
			n := rapid.IntRange(1, len(runes)).Draw(t, "fragment")
			delta(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": string(runes[:n])}}}})
			runes = runes[n:]
		}
	}
	finish := rapid.SampledFrom([]string{"stop", "length", "content_filter"}).Draw(t, "finish")
	if calls > 0 {
		finish = "tool_calls"
	}
	emit(obj{"choices": []any{obj{"index": 0, "delta": obj{}, "finish_reason": finish}}})
	if rapid.Bool().Draw(t, "usage") {
		emit(obj{"choices": []any{}, "usage": obj{"prompt_tokens": rapid.IntRange(1, 1e6).Draw(t, "in"),
			"completion_tokens": rapid.IntRange(1, 1e6).Draw(t, "out"), "total_tokens": 7, "completion_tokens_details": obj{"reasoning_tokens": 3}}})
	}
	out.WriteString("data: [DONE]" + eol + eol)
	return out.String()
}

// proves MOD-01: our decoder says what the SDK's says, wherever the bytes are
// cut.
func TestTheDecoderAgreesWithTheSDK(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := stream(rt)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		got := modeltest.Ask(t.Context(), over(t, &canned{body: body, rng: rng}), modeltest.Say("go"))

		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
		theirs := ssestream.NewStream[sdk.ChatCompletionChunk](ssestream.NewDecoder(res), nil)
		var acc sdk.ChatCompletionAccumulator
		for theirs.Next() {
			if !acc.AddChunk(theirs.Current()) {
				rt.Fatal("the SDK refused a chunk")
			}
		}
		if theirs.Err() != nil {
			rt.Fatal(theirs.Err())
		}
		want := acc.Choices[0]
		if got.Text != want.Message.Content {
			rt.Fatalf("text: got %q, want %q", got.Text, want.Message.Content)
		}
		if len(got.Calls) != len(want.Message.ToolCalls) {
			rt.Fatalf("calls: got %+v, want %+v", got.Calls, want.Message.ToolCalls)
		}
		for i, w := range want.Message.ToolCalls {
			g := got.Calls[i]
			if g.ID != w.ID || g.Name != w.Function.Name || g.Args != w.Function.Arguments || !g.Ended {
				rt.Fatalf("call %d: got %+v, want %+v", i, g, w)
			}
		}
		if n := acc.Usage.PromptTokens; (n == 0) != (got.Usage.Input == nil) || n != 0 && n != *got.Usage.Input {
			rt.Fatalf("usage: got %v, want %d", got.Usage, n)
		}
		finish := map[string]event.FinishReason{"stop": event.FinishStop, "tool_calls": event.FinishTools,
			"length": event.FinishLength, "content_filter": event.FinishFilter}[want.FinishReason]
		if got.Err == nil && got.Finish != finish || got.Err != nil && got.Text+got.Reasoning != "" {
			rt.Fatalf("finish: got %q, %v, want %q", got.Finish, got.Err, finish)
		}
	})
}
