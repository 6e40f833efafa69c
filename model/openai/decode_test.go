package openai_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
)

// proves MOD-02: the event stream in every dress the wire allows, cut anywhere.
func TestEventsAreReadInEveryForm(t *testing.T) {
	for name, body := range map[string]string{
		"LF":                   data(words("ab"), stop, done),
		"CRLF":                 strings.ReplaceAll(data(words("ab"), stop, done), "\n", "\r\n"),
		"CR":                   strings.ReplaceAll(data(words("ab"), stop, done), "\n", "\r"),
		"mixed":                "data: " + words("a") + "\r\n\ndata: " + words("b") + "\r\rdata: " + stop + "\n\r\n",
		"byte order mark":      "\xEF\xBB\xBF" + data(words("ab"), stop, done),
		"comments":             ": ping\n\n:\n" + data(words("ab")) + ": x\n" + data(stop),
		"other fields":         "event: message\nid: 7\nretry: 5\nodd\n" + data(words("ab"), stop),
		"data in lines":        "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"ab\"}}]}\n\n" + data(stop),
		"CRLF and lines":       strings.ReplaceAll("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"ab\"}}]}\n\n"+data(stop), "\n", "\r\n"),
		"no space":             strings.ReplaceAll(data(words("ab"), stop, done), "data: ", "data:"),
		"no last newline":      strings.TrimRight(data(words("ab"), stop), "\n"),
		"no DONE":              data(words("ab"), stop),
		"after DONE":           data(words("ab"), stop, done, words("zz")),
		"after finish":         data(words("ab"), stop, words("zz"), `{"broken`),
		"escaped key":          data(`{"ch\u006fices":[{"delta":{"content":"ab"}}]}`, stop),
		"unknown fields":       data(`{"x":{"choices":[{"delta":{"content":"no"}}]},"y":[1,-2.5e3,true,null,"]}"],"choices":[{"logprobs":{"a":["b"]},"delta":{"z":{},"content":"ab"}}]}`, stop),
		"other choices":        data(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"ab"}}]}`, stop),
		"finish before delta":  data(`{"choices":[{"finish_reason":"stop","delta":{"content":"ab"}}]}`),
		"null everywhere":      data(`{"choices":null,"usage":null,"error":null}`, `{"choices":[null,{"delta":null}]}`, words("ab"), stop),
		"refusal":              data(`{"choices":[{"delta":{"refusal":"ab"}}]}`, stop),
		"a reasoning of none":  data(`{"choices":[{"delta":{"reasoning_content":null,"reasoning":"","content":"ab"}}]}`, stop),
		"an odd finish reason": data(words("ab"), `{"choices":[{"finish_reason":"eos","delta":{}}]}`),
		"surrogates in two":    data(words(`\ud83e`), words(`\ude82`), stop),
		"bytes in two":         data(words("\xf0\x9f"), words("\xaa\x82"), stop),
	} {
		want := "ab"
		if strings.Contains(name, "in two") {
			want = "🪂"
		}
		for step := range 4 {
			a := modeltest.Ask(t.Context(), over(t, &canned{body: body, step: step}), modeltest.Say("go"))
			if a.Err != nil || a.Text != want || a.Finish != event.FinishStop {
				t.Errorf("%s, step %d: got %q, %q, %v", name, step, a.Text, a.Finish, a.Err)
			}
		}
	}
}

// proves MOD-02: bytes that are no text never leave as half a rune.
func TestBytesThatAreNotTextBecomeReplacementRunes(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"a byte that starts nothing": {data(words("a\xffb"), stop), "a\uFFFDb"},
		"a rune that never ends":     {data(words("a\xe4\xb8"), stop), "a\uFFFD"},
		"a rune broken by another":   {data(words("a\xe4\xb8"), words("b"), stop), "a\uFFFD\uFFFDb"},
		"half a pair":                {data(words(`a\ud83e`), stop), "a\uFFFD"},
		"half a pair, then words":    {data(words(`a\ud83e`), words("b"), stop), "a\uFFFDb"},
		"the other half alone":       {data(words(`a\ude82b`), stop), "a\uFFFDb"},
		"two first halves":           {data(words(`\ud83e\ud83e`), words(`\ude82`), stop), "\uFFFD🪂"},
		"a null":                     {data(words(`a\u0000b`), stop), "a\x00b"},
	} {
		a := modeltest.Ask(t.Context(), over(t, &canned{body: c.body, step: 1}), modeltest.Say("go"))
		if a.Err != nil || a.Text != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, a.Text, a.Err, c.want)
		}
		for _, d := range a.Deltas {
			if td, ok := d.(event.TextDelta); ok && (td.Text == "" || !utf8.ValidString(td.Text)) {
				t.Errorf("%s: yielded %q", name, td.Text)
			}
		}
	}
}

func callDelta(s string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}`
}

// proves MOD-02, the driver's part of B021: calls as servers really send them.
func TestCallsAreToldApart(t *testing.T) {
	one := modeltest.Call{ID: "a", Name: "x", Args: `{"n":1}`, Ended: true}
	for name, c := range map[string]struct {
		events []string
		want   []modeltest.Call
	}{
		"one index for all, new ids": {[]string{callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}`), callDelta(`{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}`)},
			[]modeltest.Call{one, {ID: "b", Name: "y", Args: "{}", Ended: true}}},
		"no index, no ids": {[]string{callDelta(`{"function":{"name":"x","arguments":"{\"n\":1}"}}`), callDelta(`{"function":{"name":"x","arguments":"{}"}}`)},
			[]modeltest.Call{{Name: "x", Args: `{"n":1}`, Ended: true}, {Name: "x", Args: "{}", Ended: true}}},
		"the name in every piece": {[]string{callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\""}}`), callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}`)},
			[]modeltest.Call{one}},
		"the name late": {[]string{callDelta(`{"index":0,"id":"a"}`), callDelta(`{"index":0,"function":{"arguments":"{\"n\""}}`), callDelta(`{"index":0,"function":{"name":"x","arguments":":1}"}}`)},
			[]modeltest.Call{one}},
		"no name": {[]string{callDelta(`{"index":0,"id":"a","function":{"arguments":"{\"n\":1}"}}`)},
			[]modeltest.Call{{ID: "a", Args: `{"n":1}`, Ended: true}}},
		"an object for arguments": {[]string{callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":{"n":1}}}`)},
			[]modeltest.Call{one}},
		"no arguments, no ids": {[]string{callDelta(`{"index":0,"function":{"name":"x"}}`), callDelta(`{"index":1,"function":{"name":"x"}}`)},
			[]modeltest.Call{{Name: "x", Ended: true}, {Name: "x", Ended: true}}},
		"two in one event": {[]string{callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}},{"index":1,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}`)},
			[]modeltest.Call{one, one}},
		"empty words beside": {[]string{callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}`), words(""), callDelta(`{"index":0,"function":{"arguments":"1}"}}`)},
			[]modeltest.Call{one}},
	} {
		a := modeltest.Ask(t.Context(), over(t, &canned{body: data(append(c.events, stop, done)...)}), modeltest.Say("go"))
		for i := range a.Calls {
			a.Calls[i] = modeltest.Call{ID: a.Calls[i].ID, Name: a.Calls[i].Name, Args: a.Calls[i].Args, Ended: a.Calls[i].Ended}
		}
		if a.Err != nil || a.Finish != event.FinishTools || !reflect.DeepEqual(a.Calls, c.want) {
			t.Errorf("%s: got %+v, %q, %v, want %+v", name, a.Calls, a.Finish, a.Err, c.want)
		}
	}
}

func TestArgumentsOfACallThatIsNotOpenAreAProtocolError(t *testing.T) {
	a := modeltest.Ask(t.Context(), over(t, &canned{body: data(callDelta(`{"index":0,"function":{"arguments":"{}"}}`), tools)}), modeltest.Say("go"))
	var e *model.Error
	if !errors.As(a.Err, &e) || e.Code != event.FailProtocol {
		t.Errorf("got %v", a.Err)
	}
}

// proves MOD-02: what is held back of a call that has no name yet has a bound.
func TestArgumentsBeforeANameAreBounded(t *testing.T) {
	piece := callDelta(`{"index":0,"function":{"arguments":"` + strings.Repeat("1", 256<<10) + `"}}`)
	named := callDelta(`{"index":0,"function":{"name":"x"}}`)
	for n, whole := range map[int]bool{4: true, 5: false} {
		events := append([]string{callDelta(`{"index":0,"id":"a"}`)}, slices.Repeat([]string{piece}, n)...)
		a := modeltest.Ask(t.Context(), over(t, &canned{body: data(append(events, named, tools)...)}), modeltest.Say("go"))
		var e *model.Error
		refused := errors.As(a.Err, &e) && e.Code == event.FailProtocol && strings.Contains(e.Message, "no name")
		if whole && (a.Err != nil || len(a.Calls) != 1 || len(a.Calls[0].Args) != n*256<<10) || !whole && !refused {
			t.Errorf("%d pieces: %d calls, %v", n, len(a.Calls), a.Err)
		}
	}
}

// proves MOD-02: a peer cannot make us hold more than the limit.
func TestAnEventIsBounded(t *testing.T) {
	for name, body := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 5000) + "\n\n",
		"no end":     strings.Repeat("x", 5000),
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 100)+"\n", 50),
	} {
		m := open(t, openai.Config{BaseURL: "http://peer.test/v1", MaxEvent: 1000, HTTPClient: client(&canned{body: body, step: 64})})
		a := modeltest.Ask(t.Context(), m, modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != event.FailProtocol || !strings.Contains(e.Message, "1000 bytes") {
			t.Errorf("%s: got %v", name, a.Err)
		}
	}
	deep := data(`{"x":`+strings.Repeat("[", 100000)+strings.Repeat("]", 100000)+`}`, stop)
	if a := modeltest.Ask(t.Context(), over(t, &canned{body: deep}), modeltest.Say("go")); a.Err == nil {
		t.Error("nesting without bound was accepted")
	}
}

// proves MOD-02: an error object is one in whatever dialect it comes.
func TestErrorsInTheStreamAreTypedInEveryDialect(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code event.FailureCode
	}{
		"object":         {data(words("a"), `{"error":{"message":"busy","type":"server_error"}}`), event.FailOverloaded},
		"numeric code":   {data(words("a"), `{"error":{"message":"slow down","code":429}}`), event.FailRateLimit},
		"text":           {data(words("a"), `{"error":"boom"}`), event.FailOverloaded},
		"object field":   {data(words("a"), `{"object":"error","message":"bad key","type":"authentication_error","code":401}`), event.FailAuth},
		"named event":    {data(words("a")) + "event: error\ndata: {\"message\":\"too long\",\"code\":\"context_length_exceeded\"}\n\n", event.FailContext},
		"field of error": {data(words("a")) + "error: {\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}\n\n", event.FailOverloaded},
		"bare JSON":      {`{"error":{"message":"no","type":"invalid_request_error"}}`, event.FailRequest},
		"bare page":      {"<!doctype html><p>hi", event.FailProtocol},
	} {
		a := modeltest.Ask(t.Context(), over(t, &canned{body: c.body}), modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != c.code {
			t.Errorf("%s: got %v, want %s", name, a.Err, c.code)
		}
	}
}

// proves B039: once the context has ended nothing more is given out, not even
// what came in the same event.
func TestNothingIsGivenOutAfterTheEndOfTheContext(t *testing.T) {
	both := `{"choices":[{"delta":{"reasoning":"hm","content":"said","tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	for d, err := range over(t, &canned{body: data(both, done)}).Stream(ctx, modeltest.Say("go")) {
		if n++; n == 1 && d != nil {
			cancel(errStop)
		} else if d != nil || err != errStop {
			t.Errorf("got %#v, %v", d, err)
		}
	}
	if n != 2 {
		t.Errorf("yielded %d times", n)
	}
}

// proves durability 68: [DONE] is no finish, with the connection open too.
func TestDoneWithoutAFinishIsNotWaitedOn(t *testing.T) {
	srv := modeltest.Serve(t, "answer\n text hi\n raw \"data: [DONE]\\n\\n\"\n hang")
	a := modeltest.Ask(t.Context(), open(t, openai.Config{BaseURL: srv.URL()}), modeltest.Say("go"))
	var e *model.Error
	if !errors.As(a.Err, &e) || e.Code != event.FailProtocol {
		t.Errorf("got %v", a.Err)
	}
}
