package anthropic_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
)

// proves MOD-02: an answer in every dress the wire allows, cut anywhere.
func TestEventsAreReadInEveryForm(t *testing.T) {
	whole := []string{hello, begin(0, text), words(0, "ab"), shut(0), stopped("end_turn"), bye}
	with := func(at int, events ...string) string {
		out := append([]string{}, whole[:at]...)
		return frames(append(append(out, events...), whole[at:]...)...)
	}
	for name, body := range map[string]string{
		"plain":                   frames(whole...),
		"CRLF":                    strings.ReplaceAll(frames(whole...), "\n", "\r\n"),
		"no names":                strings.ReplaceAll(frames(whole...), "event: ", ": "),
		"pings":                   with(1, `{"type": "ping"}`, `{"type": "ping"}`),
		"no stop of the block":    frames(whole[0], whole[1], whole[2], whole[4], whole[5]),
		"no message_stop":         frames(whole[:5]...),
		"no start":                frames(whole[1:]...),
		"an event of what is new": with(2, `{"type":"content_block_odd","index":0,"x":[{}]}`),
		"a delta of what is new":  with(3, grow(0, `{"type":"citations_delta","citation":{"x":"y"}}`)),
		"a block of what is new":  with(4, begin(1, `{"type":"server_tool_use","id":"s","name":"web","input":{}}`), args(1, "{}"), shut(1)),
		"text with the start":     frames(whole[0], begin(0, `{"type":"text","text":"a"}`), words(0, "b"), whole[3], whole[4]),
		"the type last":           strings.ReplaceAll(frames(whole...), words(0, "ab"), `{"index":0,"delta":{"text":"ab","type":"text_delta"},"type":"content_block_delta"}`),
		"after the finish":        frames(append(whole, words(0, "zz"), "{broken")...),
		"a stop sequence":         strings.ReplaceAll(frames(whole...), "end_turn", "stop_sequence"),
		"no error":                with(2, `{"type":"ping","error":null}`),
	} {
		for step := range 4 {
			a := modeltest.Ask(t.Context(), over(t, &canned{body: body, step: step}), modeltest.Say("go"))
			if a.Err != nil || a.Text != "ab" || a.Finish != event.FinishStop || len(a.Calls) > 0 {
				t.Errorf("%s, step %d: got %+v", name, step, a)
			}
		}
	}
}

// proves MOD-02, B062: when a call's end is told. Its block stops at the limit
// too, so that only arguments that are whole are taken at their stop.
func TestACallThatWasCutAtTheLimitHasNoEnd(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   []modeltest.Call
		finish event.FinishReason
	}{
		"whole":                      {[]string{begin(0, tool), args(0, `{"n":1}`), shut(0), stopped("tool_use")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n":1}`, Ended: true}}, event.FinishTools},
		"whole, then the limit":      {[]string{begin(0, tool), args(0, `{"n":1}`), shut(0), stopped("max_tokens")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n":1}`, Ended: true}}, event.FinishLength},
		"cut":                        {[]string{begin(0, tool), args(0, `{"n`), shut(0), stopped("max_tokens")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n`}}, event.FinishLength},
		"cut before its arguments":   {[]string{begin(0, tool), shut(0), stopped("max_tokens")}, []modeltest.Call{{ID: "t1", Name: "x"}}, event.FinishLength},
		"refused":                    {[]string{begin(0, tool), args(0, `{"n`), shut(0), stopped("refusal")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n`}}, event.FinishFilter},
		"out of context":             {[]string{begin(0, tool), args(0, `{"n`), shut(0), stopped("model_context_window_exceeded")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n`}}, event.FinishLength},
		"none":                       {[]string{begin(0, tool), args(0, ""), shut(0), stopped("tool_use")}, []modeltest.Call{{ID: "t1", Name: "x", Ended: true}}, event.FinishTools},
		"broken, but not by a limit": {[]string{begin(0, tool), args(0, `{"n`), shut(0), stopped("tool_use")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n`, Ended: true}}, event.FinishTools},
		"all at once":                {[]string{begin(0, `{"type":"tool_use","id":"t1","name":"x","input":{"n":1}}`), shut(0), stopped("tool_use")}, []modeltest.Call{{ID: "t1", Name: "x", Args: `{"n":1}`, Ended: true}}, event.FinishTools},
		"paused":                     {[]string{begin(0, text), words(0, "ab"), shut(0), stopped("pause_turn")}, nil, event.FinishLength},
	} {
		a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(append([]string{hello}, c.events...)...)}), modeltest.Say("go"))
		for i := range a.Calls {
			got, want := a.Calls[i], modeltest.Call{}
			if i < len(c.want) {
				want = c.want[i]
			}
			if got.ID != want.ID || got.Name != want.Name || got.Args != want.Args || got.Ended != want.Ended {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
		if a.Err != nil || a.Finish != c.finish || len(a.Calls) != len(c.want) {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}

// proves MOD-02: what an error in the stream is, its type says; the status was
// 200.
func TestAnErrorInTheStreamIsTypedByItsType(t *testing.T) {
	for kind, code := range map[string]event.FailureCode{
		"overloaded_error": event.FailOverloaded, "api_error": event.FailOverloaded, "timeout_error": event.FailOverloaded,
		"rate_limit_error": event.FailRateLimit, "authentication_error": event.FailAuth, "permission_error": event.FailAuth,
		"invalid_request_error": event.FailRequest, "not_found_error": event.FailRequest, "billing_error": event.FailRequest,
		"request_too_large": event.FailContext, "what_is_new": event.FailOverloaded,
	} {
		for _, before := range [][]string{{hello, begin(0, text), words(0, "ab")}, nil} {
			fault := `{"type":"error","error":{"type":"` + kind + `","message":"busy"},"request_id":"r"}`
			for _, body := range []string{frames(append(before, fault)...), frames(before...) + "data: " + fault + "\n\n"} {
				a := modeltest.Ask(t.Context(), over(t, &canned{body: body}), modeltest.Say("go"))
				var e *model.Error
				if !errors.As(a.Err, &e) || e.Code != code || e.Status != 0 || !strings.Contains(e.Message, "busy") || before != nil && a.Text != "ab" {
					t.Errorf("%s: got %+v", kind, a)
				}
			}
		}
	}
}

// proves MOD-02: counts are those of the wire, the cache's share included, and
// the input's are known before the first word.
func TestWhatTheCacheHeldIsInput(t *testing.T) {
	a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(hello, begin(0, text), words(0, "ab"), shut(0), stopped("end_turn"), bye)}), modeltest.Say("go"))
	if a.Err != nil || *a.Usage.Input != 115 || *a.Usage.Output != 7 {
		t.Errorf("got %+v", a)
	}
	cut := modeltest.Ask(t.Context(), over(t, &canned{body: frames(hello, begin(0, text), words(0, "ab"))}), modeltest.Say("go"))
	if cut.Err == nil || *cut.Usage.Input != 115 || cut.Usage.Output != nil {
		t.Errorf("got %+v", cut)
	}
}

// proves MOD-02, B019: blocks of thinking, whole, kept out of sight, sealed and
// cut.
func TestThinkingKeepsItsSignature(t *testing.T) {
	const thinking = `{"type":"thinking","thinking":"","signature":""}`
	a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(hello,
		begin(0, thinking), grow(0, `{"type":"thinking_delta","thinking":"hm"}`), grow(0, `{"type":"signature_delta","signature":"si"}`), grow(0, `{"type":"signature_delta","signature":"g+/="}`), shut(0),
		begin(1, thinking), grow(1, `{"type":"signature_delta","signature":"unseen"}`), shut(1),
		begin(2, `{"type":"redacted_thinking","data":"sealed"}`), shut(2),
		begin(3, thinking), grow(3, `{"type":"thinking_delta","thinking":"half"}`), shut(3),
		begin(4, text), words(4, "so"), shut(4), stopped("end_turn"), bye)}), modeltest.Say("go"))
	want := event.Content{
		event.Reasoning{Text: "hm", Signature: "sig+/=", Provider: model.Anthropic},
		event.Reasoning{Signature: "unseen", Provider: model.Anthropic},
		event.Reasoning{Data: "sealed", Provider: model.Anthropic},
		event.Reasoning{Text: "half"}, event.Text{Text: "so"},
	}
	if got := a.Content(); a.Err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, a.Err)
	}
}

// proves MOD-02: a delta that belongs nowhere is no part of an answer.
func TestADeltaThatBelongsNowhereIsRefused(t *testing.T) {
	for name, events := range map[string][]string{
		"no block":       {hello, words(0, "ab")},
		"another block":  {hello, begin(0, text), words(1, "ab")},
		"another kind":   {hello, begin(0, text), args(0, "{}")},
		"a block's past": {hello, begin(0, text), words(0, "ab"), shut(0), words(0, "cd")},
	} {
		a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(append(events, stopped("end_turn"), bye)...)}), modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != event.FailProtocol {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}

// proves MOD-02: a signature, which is told at its end only, has a bound.
func TestASignatureIsBounded(t *testing.T) {
	piece := grow(0, `{"type":"signature_delta","signature":"`+strings.Repeat("x", 256<<10)+`"}`)
	for n, whole := range map[int]bool{4: true, 5: false} {
		events := append([]string{hello, begin(0, `{"type":"thinking","thinking":"","signature":""}`)}, slices.Repeat([]string{piece}, n)...)
		a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(append(events, shut(0), begin(1, text), words(1, "ab"), shut(1), stopped("end_turn"), bye)...)}), modeltest.Say("go"))
		var e *model.Error
		if refused := errors.As(a.Err, &e) && e.Code == event.FailProtocol && strings.Contains(e.Message, "signature"); whole && a.Err != nil || !whole && !refused {
			t.Errorf("%d pieces: got %v", n, a.Err)
		}
	}
}

// proves MOD-02: what is held back of a call that has no name has a bound.
func TestArgumentsOfACallWithoutANameAreBounded(t *testing.T) {
	piece := args(0, strings.Repeat("1", 256<<10))
	for name, refused := range map[string]bool{"": true, "x": false} {
		events := append([]string{hello, begin(0, `{"type":"tool_use","id":"t1","name":"`+name+`","input":{}}`)}, slices.Repeat([]string{piece}, 5)...)
		a := modeltest.Ask(t.Context(), over(t, &canned{body: frames(append(events, shut(0), stopped("tool_use"), bye)...)}), modeltest.Say("go"))
		var e *model.Error
		if got := errors.As(a.Err, &e) && e.Code == event.FailProtocol && strings.Contains(e.Message, "no name"); got != refused {
			t.Errorf("named %q: got %v", name, a.Err)
		}
	}
}
