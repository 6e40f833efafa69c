package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
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

// stream draws a well-formed answer.
func stream(t *rapid.T) string {
	word := rapid.StringN(0, 20, -1)
	ascii := rapid.Bool()
	var out strings.Builder
	say := func(name string, v obj) {
		v["type"] = name
		out.WriteString("event: " + name + "\ndata: " + encode(v, ascii.Draw(t, "ascii")) + "\n\n")
		if rapid.IntRange(0, 9).Draw(t, "ping") == 0 {
			out.WriteString("event: ping\ndata: {\"type\": \"ping\"}\n\n")
		}
	}
	say("message_start", obj{"message": obj{"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []any{},
		"stop_reason": nil, "usage": obj{"input_tokens": rapid.IntRange(1, 1e6).Draw(t, "in"), "output_tokens": 1}}})
	called := false
	n := rapid.IntRange(1, 5).Draw(t, "blocks")
	for i := range n {
		block := func(v obj, deltas func(func(obj))) {
			say("content_block_start", obj{"index": i, "content_block": v})
			deltas(func(d obj) { say("content_block_delta", obj{"index": i, "delta": d}) })
			say("content_block_stop", obj{"index": i})
		}
		switch rapid.SampledFrom([]string{"text", "thinking", "redacted_thinking", "tool_use"}).Draw(t, "kind") {
		case "text":
			block(obj{"type": "text", "text": ""}, func(delta func(obj)) {
				for range rapid.IntRange(1, 5).Draw(t, "deltas") {
					delta(obj{"type": "text_delta", "text": word.Draw(t, "text")})
				}
			})
		case "thinking":
			block(obj{"type": "thinking", "thinking": "", "signature": ""}, func(delta func(obj)) {
				for range rapid.IntRange(0, 4).Draw(t, "deltas") {
					delta(obj{"type": "thinking_delta", "thinking": word.Draw(t, "thinking")})
				}
				delta(obj{"type": "signature_delta", "signature": rapid.StringMatching(`[a-zA-Z0-9+/=]{1,40}`).Draw(t, "signature")})
			})
		case "redacted_thinking":
			block(obj{"type": "redacted_thinking", "data": rapid.StringMatching(`[a-zA-Z0-9+/=]{1,40}`).Draw(t, "data")}, func(func(obj)) {})
		case "tool_use":
			called = true
			args, _ := json.Marshal(obj{"v": word.Draw(t, "value"), "n": rapid.Int().Draw(t, "n")})
			block(obj{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", i), "name": rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "name"), "input": obj{}}, func(delta func(obj)) {
				for left := []rune(string(args)); len(left) > 0; {
					n := rapid.IntRange(1, len(left)).Draw(t, "fragment")
					delta(obj{"type": "input_json_delta", "partial_json": string(left[:n])})
					left = left[n:]
				}
			})
		}
	}
	stop := rapid.SampledFrom([]string{"end_turn", "max_tokens", "refusal", "stop_sequence"}).Draw(t, "stop")
	if called {
		stop = "tool_use"
	}
	say("message_delta", obj{"delta": obj{"stop_reason": stop, "stop_sequence": nil}, "usage": obj{"output_tokens": rapid.IntRange(1, 1e6).Draw(t, "out")}})
	say("message_stop", obj{})
	return out.String()
}

// theirs decodes a body with the SDK.
func theirs(body string) (*sdk.Message, error) {
	res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
	events := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
	var acc sdk.Message
	for events.Next() {
		if err := acc.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return &acc, events.Err()
}

// proves MOD-01: our decoder says what the SDK's says, wherever the bytes are
// cut.
func TestTheDecoderAgreesWithTheSDK(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := stream(rt)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		got := modeltest.Ask(t.Context(), over(t, &canned{body: body, rng: rng}), modeltest.Say("go"))
		acc, err := theirs(body)
		if err != nil {
			rt.Fatal(err)
		}
		var want event.Content
		for _, b := range acc.Content {
			switch b.Type {
			case "text":
				if b.Text != "" {
					want = append(want, event.Text{Text: b.Text})
				}
			case "thinking":
				want = append(want, event.Reasoning{Text: b.Thinking, Signature: b.Signature, Provider: model.Anthropic})
			case "redacted_thinking":
				want = append(want, event.Reasoning{Data: b.Data, Provider: model.Anthropic})
			case "tool_use":
				want = append(want, event.ToolCall{ID: event.CallID(b.ID), Name: b.Name, Args: b.Input})
			}
		}
		if have := got.Content(); len(have)+len(want) > 0 && !reflect.DeepEqual(have, want) {
			rt.Fatalf("got  %#v\nwant %#v", have, want)
		}
		if len(want) == 0 && got.Err != nil {
			return // an answer of nothing is an error of ours
		}
		finish := map[sdk.StopReason]event.FinishReason{"end_turn": event.FinishStop, "stop_sequence": event.FinishStop, "tool_use": event.FinishTools,
			"max_tokens": event.FinishLength, "refusal": event.FinishFilter}[acc.StopReason]
		if got.Err != nil || got.Finish != finish || *got.Usage.Input != acc.Usage.InputTokens || *got.Usage.Output != acc.Usage.OutputTokens {
			rt.Fatalf("got %q %+v %v, want %q %+v", got.Finish, got.Usage, got.Err, acc.StopReason, acc.Usage)
		}
	})
}

const benchEvents = 1000

func benchBody() (one, body string) {
	one = frames(words(0, strings.Repeat("lorem ipsum dolor sit amet \\n", 34)))
	return one, frames(hello, begin(0, text)) + strings.Repeat(one, benchEvents) + frames(shut(0), stopped("end_turn"), bye)
}

// BenchmarkDecode measures one event of 1 KB of text.
func BenchmarkDecode(b *testing.B) {
	one, body := benchBody()
	m := over(b, &canned{body: body})
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += benchEvents {
		for _, err := range m.Stream(b.Context(), modeltest.Say("go")) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkDecodeSDK measures the same by the SDK, without its accumulator.
func BenchmarkDecodeSDK(b *testing.B) {
	one, body := benchBody()
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += benchEvents {
		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
		events := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
		for events.Next() {
			_ = events.Current().Delta.Text
		}
		if events.Err() != nil {
			b.Fatal(events.Err())
		}
	}
}
