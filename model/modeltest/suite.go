package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// Run holds a driver to the contract.
func Run(t *testing.T, d Driver) {
	t.Run("an answer comes in order and ends with one finish", d.order)
	t.Run("bytes cut anywhere give the same whole runes", d.cuts)
	t.Run("counts that were not given are nil", d.unknownUsage)
	t.Run("ids pass through as they came", d.ids)
	t.Run("a call that was cut has no end", d.halfCalls)
	t.Run("failures are typed", d.failures)
	t.Run("no route and a wrong scheme are typed", d.noRoute)
	t.Run("keep-alives count as activity", d.pings)
	t.Run("the finish is obeyed while the connection stays open", d.openSocket)
	t.Run("the end of the context closes the connection in every phase", d.cancel)
	t.Run("a context that has ended asks nothing", d.endedBefore)
	t.Run("breaking off closes the connection", d.breakOff)
	t.Run("histories are sent so that a strict provider takes them", d.histories)
	t.Run("signed reasoning goes back byte for byte, to who signed it", d.signed)
	t.Run("a history made with another provider is taken", d.foreign)
	t.Run("a stream is one request", d.once)
	t.Run("a key is shown to nobody", d.keys)
	t.Run("bytes that are no text become replacement runes", d.badText)
	t.Run("a certificate that is not known is typed", d.certificate)
	t.Run("streams run beside each other", d.concurrent)
	t.Run("nothing is left behind", d.leaks)
}

// order proves MOD-02.
func (d Driver) order(t *testing.T) {
	srv := Serve(t, lines("answer", `  reasoning "hm "`, "  reasoning so", "  signature sig1", `  text "Let "`, "  text me",
		"  call bash c1", `  args {"a":`, "  args 1}", `  call read c2 {"p":"x"}`, "  end", "  usage 12 6", "  finish tool"))
	a := Ask(t.Context(), d.open(t, srv.URL()), Say("go"))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	var got []event.Delta
	counted := false
	for _, delta := range a.Deltas {
		switch delta := delta.(type) {
		case event.UsageDelta: // when it comes is the wire's affair
			counted = *delta.Usage.Input == 12 && *delta.Usage.Output == 6
		case event.ReasoningDelta:
			if delta.Signature != "" { // its form is the provider's
				delta.Signature = "sig"
			}
			delta.Data = ""
			got = append(got, delta)
		default:
			got = append(got, delta)
		}
	}
	want := []event.Delta{
		event.ReasoningDelta{Block: 0, Text: "hm "}, event.ReasoningDelta{Block: 0, Text: "so"},
		event.ReasoningDelta{Block: 0, Signature: "sig", Provider: d.wire()},
		event.TextDelta{Block: 1, Text: "Let "}, event.TextDelta{Block: 1, Text: "me"},
		event.CallStart{Block: 2, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 2, Text: `{"a":`}, event.ArgsDelta{Block: 2, Text: "1}"}, event.CallEnd{Block: 2},
		event.CallStart{Block: 3, ID: "c2", Name: "read"}, event.ArgsDelta{Block: 3, Text: `{"p":"x"}`}, event.CallEnd{Block: 3},
		event.Finish{Reason: event.FinishTools},
	}
	if !reflect.DeepEqual(got, want) || !counted {
		t.Fatalf("got  %#v (counted: %v)\nwant %#v", got, counted, want)
	}
}

// cuts proves MOD-02 and the part of MOD-04 that splits.
func (d Driver) cuts(t *testing.T) {
	const text, args = "héllo 世界 🪂 ∑", `{"text":"naïve 🧵\n\"quoted\" \\ end"}`
	for split := range 9 {
		srv := Serve(t, lines(fmt.Sprintf("split %d", split), "answer", "  ping", "  text "+text, "  reasoning "+text,
			"  call write c1 "+args, "  ping", "  usage 1 2", "  finish tool"))
		a := Ask(t.Context(), d.open(t, srv.URL()), Say("go"))
		if a.Err != nil || a.Text != text || a.Reasoning != text || len(a.Calls) != 1 || a.Calls[0].Args != args {
			t.Fatalf("split %d: got %+v", split, a)
		}
		for _, p := range a.pieces() {
			if !utf8.ValidString(p) || strings.Contains(p, "\uFFFD") {
				t.Fatalf("split %d: piece %q is cut inside a rune", split, p)
			}
		}
	}
}

func (d Driver) unknownUsage(t *testing.T) {
	srv := Serve(t, "T'hi' F(stop)\nT'hi' U(-,4) F(stop)\nT'hi' U(0,0) F(stop)\n")
	m := d.open(t, srv.URL())
	if a := Ask(t.Context(), m, Say("go")); a.Usage.Input != nil || a.Usage.Output != nil || a.Err != nil {
		t.Errorf("no usage: got %+v", a)
	}
	if a := Ask(t.Context(), m, Say("go")); a.Usage.Input != nil || a.Usage.Output == nil || *a.Usage.Output != 4 {
		t.Errorf("half a usage: got %+v", a)
	}
	if a := Ask(t.Context(), m, Say("go")); a.Usage.Input == nil || *a.Usage.Input != 0 {
		t.Errorf("zero is a count: got %+v", a)
	}
}

// ids proves the driver's part of B021.
func (d Driver) ids(t *testing.T) {
	srv := Serve(t, "C(,one) A'{}' E C(,two) A'{}' E F(tool)\nC(a,one) A'{}' C(a,two) A'{}' F(tool)\nC(1,none) F(tool)\n")
	m := d.open(t, srv.URL())
	for _, want := range [][]Call{
		{{Name: "one", Args: "{}", Ended: true, block: 0}, {Name: "two", Args: "{}", Ended: true, block: 1}},
		{{ID: "a", Name: "one", Args: "{}", Ended: true, block: 0}, {ID: "a", Name: "two", Args: "{}", Ended: true, block: 1}},
		{{ID: "1", Name: "none", Ended: true, block: 0}},
	} {
		if a := Ask(t.Context(), m, Say("go")); a.Err != nil || !reflect.DeepEqual(a.Calls, want) {
			t.Errorf("got %+v, %v, want %+v", a.Calls, a.Err, want)
		}
	}
}

// halfCalls proves the driver's part of B059, B062, B065: arguments that were
// cut never look complete.
func (d Driver) halfCalls(t *testing.T) {
	for _, c := range []struct {
		script string
		finish event.FinishReason
		code   event.FailureCode
	}{
		{`T'Hello wor' C(1,shell) A'{"cm' DROP`, "", event.FailTransport},
		{`C(1,write) A'{"path":'`, "", event.FailProtocol},
		{`C(1,write) A'{"path":"a","text":"line1\nli' F(length)`, event.FinishLength, ""},
		{`C(1,write) A'{"path":"a' F(filter)`, event.FinishFilter, ""},
	} {
		a := Ask(t.Context(), d.open(t, Serve(t, c.script).URL()), Say("go"))
		if len(a.Calls) != 1 || a.Calls[0].Ended || a.Finish != c.finish || codeOf(a.Err) != c.code {
			t.Errorf("%s: got %+v", c.script, a)
		}
	}
}

func codeOf(err error) event.FailureCode {
	var e *model.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// failures proves MOD-02's typed errors over the list of bad inputs.
func (d Driver) failures(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		code   event.FailureCode
		status int
		retry  int64
		words  string
	}{
		"wrong key":             {"http 401 body {\"error\":{\"message\":\"bad key\",\"code\":\"invalid_api_key\"}}", event.FailAuth, 401, 0, "RIPCORD_API_KEY"},
		"forbidden":             {"http 403", event.FailAuth, 403, 0, ""},
		"bad request":           {"http 400", event.FailRequest, 400, 0, ""},
		"no such model":         {"http 404", event.FailRequest, 404, 0, "RIPCORD_MODEL"},
		"context by code":       {"http 400 body {\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}", event.FailContext, 400, 0, "larger context"},
		"context by words":      {"http 400 body {\"error\":{\"message\":\"This model's maximum context length is 4096 tokens.\"}}", event.FailContext, 400, 0, ""},
		"rate limit":            {"http 429 retry-after 2", event.FailRateLimit, 429, 2000, ""},
		"no credit":             {"http 429 body {\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}", event.FailRequest, 429, 0, "credit"},
		"server error":          {"http 500", event.FailOverloaded, 500, 0, ""},
		"overloaded":            {"http 503 retry-after 1", event.FailOverloaded, 503, 1000, ""},
		"bad gateway page":      {"http 502 body <html>bad gateway</html>", event.FailOverloaded, 502, 0, "web page"},
		"web page":              {"html", event.FailProtocol, 0, 0, "web page"},
		"JSON in one piece":     {"http 200 body {\"choices\":[]}", event.FailProtocol, 0, 0, "one piece"},
		"error with status 200": {"http 200 body {\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}}", event.FailRateLimit, 0, 0, ""},
		"half a JSON":           {`raw "data: {\"choices\":[{\"delta\":{\"conte\n\n"`, event.FailProtocol, 0, 0, "not whole JSON"},
		"half a JSON at EOF":    {`raw "data: {\"choices\":[{\"delta\":{\"conte"`, event.FailProtocol, 0, 0, "not whole JSON"},
		"no finish":             {"text hi", event.FailProtocol, 0, 0, "stream ended early"},
		"DONE without finish":   {`raw "data: [DONE]\n\n"`, event.FailProtocol, 0, 0, "stream ended early"},
		"nothing":               {"headers", event.FailProtocol, 0, 0, "stream ended early"},
		"cut":                   {"text hi\ndrop", event.FailTransport, 0, 0, "cut"},
		"cut in the headers":    {"hold 1ms\ndrop", event.FailTransport, 0, 0, ""},
		"overload in stream":    {"text hi\nerror overloaded_error busy", event.FailOverloaded, 0, 0, "busy"},
		"empty":                 {"finish stop", event.FailEmpty, 0, 0, "nothing in it"},
	} {
		a := Ask(t.Context(), d.open(t, Serve(t, "answer\n"+c.script).URL()), Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) {
			t.Errorf("%s: got %v, finish %q, want %s", name, a.Err, a.Finish, c.code)
			continue
		}
		if e.Code != c.code || e.Status != c.status || e.RetryAfter != c.retry || !strings.Contains(e.Failure.Error(), c.words) || a.Finish != "" {
			t.Errorf("%s: got %+v", name, e.Failure)
		}
		if e.Message == "" || strings.Contains(e.Failure.Error(), "\n") {
			t.Errorf("%s: %q is no sentence", name, e.Message)
		}
	}
}

func (d Driver) noRoute(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String() + "/v1"
	_ = l.Close()
	plain := strings.Replace(Serve(t, "T'x' F(stop)").URL(), "http:", "https:", 1)
	for _, url := range []string{closed, plain} {
		a := Ask(t.Context(), d.open(t, url), Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != event.FailTransport || e.Hint == "" {
			t.Errorf("%s: got %v", url, a.Err)
		}
	}
}

// pings proves the driver's part of B056: bytes are activity, deltas or not.
func (d Driver) pings(t *testing.T) {
	// Pieces 5 ms apart arrive as pieces, if somebody is there to read them.
	for n := 5; ; n *= 10 {
		srv := Serve(t, fmt.Sprintf("(P W(5ms)) x %d T'hi' F(stop)", n))
		seen, before := 0, -1
		req := Say("go")
		req.Activity = func(bytes int) {
			if bytes <= 0 {
				t.Errorf("activity of %d bytes", bytes)
			}
			seen++
		}
		for delta := range d.open(t, srv.URL()).Stream(t.Context(), req) {
			if _, ok := delta.(event.TextDelta); ok && before < 0 {
				before = seen
			}
		}
		if before >= 2 {
			return
		}
		if n >= 500 {
			t.Fatalf("%d pings gave %d signs of activity before the first delta", n, before)
		}
	}
}

// openSocket: a finish ends the stream with the peer's connection open.
func (d Driver) openSocket(t *testing.T) {
	for _, script := range []string{"T'hi' U(1,2) F(stop) U(1,3) HANG", "T'hi' F(stop) U(1,2) HANG", "T'hi' F(stop) HANG"} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), bound, errors.New("the finish was not obeyed"))
		a := Ask(ctx, d.open(t, Serve(t, script).URL()), Say("go"))
		cancel()
		if a.Err != nil || a.Finish != event.FinishStop || a.Text != "hi" {
			t.Errorf("%s: got %+v", script, a)
		}
	}
}

func (d Driver) concurrent(t *testing.T) {
	srv := Serve(t, "answer always\n text \"say \"\n wait 2ms\n text ${user}\n finish stop\n")
	m := d.open(t, srv.URL())
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			word := fmt.Sprintf("word-%d", i)
			if a := Ask(t.Context(), m, Say(word)); a.Text != "say "+word || a.Err != nil {
				t.Errorf("got %+v", a)
			}
		})
	}
	wg.Wait()
}

// leaks proves INT-47.
func (d Driver) leaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("calls", func(t *testing.T) {
		srv := Serve(t, lines("loop", "T'hi' U(1,2) F(stop)", "T'hi' DROP", "answer", "  http 500", "T'hi' HANG", "C(1,x) A'{' F(length)"))
		m := d.open(t, srv.URL())
		counting := &countingContext{done: make(chan struct{})}
		const calls = 1000
		for i := range calls {
			for range m.Stream(counting, Say("go")) {
				if i%5 == 3 { // the one that hangs
					break
				}
			}
		}
		if live, total := counting.live.Load(), counting.total.Load(); live != 0 || total < calls {
			t.Errorf("%d of %d registrations with the caller's context are left after %d calls", live, total, calls)
		}
	})
	goleak.VerifyNone(t, before)
}
