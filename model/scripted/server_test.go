package scripted_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/model/scripted"
)

const hello = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello you"}]}`

func start(t *testing.T, script string, o scripted.Options) *scripted.Server {
	t.Helper()
	s, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.NewServer(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// post asks over a connection of its own.
func post(t *testing.T, srv *scripted.Server, body string) (status int, text string, err error) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// proves MOD-04: answers are chosen by what was asked.
func TestAnswersAreChosenByTheirConditions(t *testing.T) {
	srv := start(t, `lenient
answer if user hello
  T'first' F(stop)
answer x 2 if user hello and not tool bash
  T'twice' F(stop)
answer always if result done
  T'result' F(stop)
answer always if cut aborted
  T'cut ${calls}' F(stop)
answer always if step 2
  T'step' F(stop)
answer if request 11
  T'eleven' F(stop)
default
  T'default ${user}' F(stop)
`, scripted.Options{})
	ask := func(msgs string) string {
		_, text, err := post(t, srv, `{"stream":true,"messages":[`+msgs+`]}`)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ = strings.Cut(text, `"content":"`)
		text, _, _ = strings.Cut(text, `"`)
		return text
	}
	const call = `{"role":"user","content":"run"},{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"tool","tool_call_id":"c","content":"`
	for i, c := range []struct{ msgs, want string }{
		{`{"role":"user","content":"hello"}`, "first"}, {`{"role":"user","content":"hello"}`, "twice"}, {`{"role":"user","content":"hello"}`, "twice"},
		{`{"role":"user","content":"hello"}`, "default hello"}, {`{"role":"user","content":[{"type":"text","text":"<turn_aborted>x"},{"type":"text","text":"bye"}]}`, "default bye"},
		{call + `done"}`, "result"}, {call + `aborted by user"},{"role":"user","content":"on"}`, "cut 1"}, {call + `odd"}`, "step"},
		{`{"role":"user","content":"x"}`, "default x"}, {`{"role":"user","content":"x"}`, "default x"}, {`{"role":"user","content":"x"}`, "eleven"},
	} {
		if got := ask(c.msgs); got != c.want {
			t.Errorf("request %d: got %q, want %q", i+1, got, c.want)
		}
	}
	if r := srv.Requests(); len(r) != 11 || r[0].Chat.Messages[0].Text() != "hello" || r[10].N != 11 {
		t.Errorf("recorded %d requests", len(r))
	}
}

func TestAScriptThatRanOutSaysSoAndALoopDoesNot(t *testing.T) {
	srv := start(t, "T'a' F(stop)", scripted.Options{})
	_, _, _ = post(t, srv, hello)
	if status, text, _ := post(t, srv, hello); status != 400 || !strings.Contains(text, "no answer for request 2") {
		t.Errorf("got %d %s", status, text)
	}
	srv = start(t, "loop\nT'a' F(stop)\nT'b' F(stop)", scripted.Options{})
	for i := range 4 {
		if _, text, _ := post(t, srv, hello); !strings.Contains(text, `"content":"`+string("ab"[i%2])+`"`) {
			t.Errorf("round %d: got %s", i, text)
		}
	}
}

// proves MOD-04: strict by default, lenient by choice.
func TestAnInvalidHistoryIsRefusedUnlessLenient(t *testing.T) {
	const bad = `{"stream":true,"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`
	srv := start(t, "T'a' F(stop)", scripted.Options{})
	if status, text, _ := post(t, srv, bad); status != 400 || !strings.Contains(text, "two user messages") {
		t.Errorf("got %d %s", status, text)
	}
	if r := srv.Requests()[0]; r.Refuse == nil {
		t.Error("the refusal is not recorded")
	}
	for _, body := range []string{"{", `{"messages":[]}`} {
		if status, _, _ := post(t, srv, body); status != 400 {
			t.Errorf("%s: got %d", body, status)
		}
	}
	srv = start(t, "T'a' F(stop)", scripted.Options{Lenient: true})
	if status, _, _ := post(t, srv, bad); status != 200 {
		t.Errorf("lenient: got %d", status)
	}
}

// proves MOD-04's faults, as bytes.
func TestFaultsLookOnTheWireAsTheScriptSays(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		status int
		has    string
		fails  bool
	}{
		"done follows a finish": {"T'a' F(stop)", 200, "data: [DONE]\n\n", false},
		"nodone leaves it out":  {"answer\n text a\n finish stop\n nodone", 200, "\"finish_reason\":\"stop\"", false},
		"close is a clean end":  {"answer\n text a\n close", 200, "\"content\":\"a\"", false},
		"drop is not":           {"T'a' DROP", 200, "\"content\":\"a\"", true},
		"a status":              {"answer\n http 429 retry-after 7 body busy", 429, "busy", false},
		"a page":                {"answer\n html", 200, "<!DOCTYPE html>", false},
		"raw bytes":             {`answer` + "\n" + ` raw "data: \xff\x00\n"`, 200, "data: \xff\x00\n", false},
		"pings":                 {"P x 3 T'a' F(stop)", 200, ": ping\n\n: ping\n\n: ping\n\n", false},
		"an error":              {"answer\n error overloaded_error busy", 200, `"type":"overloaded_error"`, false},
		"an open call":          {"C(c1,bash) A'{' DROP", 200, `"id":"c1"`, true},
	} {
		status, text, err := post(t, start(t, c.script, scripted.Options{}), hello)
		if status != c.status || !strings.Contains(text, c.has) || (err != nil) != c.fails {
			t.Errorf("%s: got %d %q %v", name, status, text, err)
		}
	}
	if _, text, _ := post(t, start(t, "answer\n text a\n finish stop\n nodone", scripted.Options{}), hello); strings.Contains(text, "[DONE]") {
		t.Error("nodone sent [DONE]")
	}
}

func TestSplitCutsEveryWrite(t *testing.T) {
	srv := start(t, "split 1\nT'é' W(1ms) F(stop)", scripted.Options{})
	res, err := http.Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(hello)) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.Contains(line, `"é"`) {
		t.Errorf("got %q, %v", line, err)
	}
}

// proves MOD-03's other side: the server knows when a client left.
func TestTheServerKnowsWhoLeft(t *testing.T) {
	srv := start(t, "T'a' HANG\nT'b' F(stop)", scripted.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	cancel()
	_ = res.Body.Close()
	if at, ok := srv.Requests()[0].Gone(); !ok || at.Before(before) {
		t.Errorf("got %v, %v", at, ok)
	}
	if _, _, err := post(t, srv, hello); err != nil {
		t.Fatal(err)
	}
	if _, ok := srv.Requests()[1].Gone(); ok {
		t.Error("who stayed to the end is said to have left")
	}
}

func TestCloseEndsEveryAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := scripted.Parse("answer always\n text a\n hang")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+"/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{}).RoundTrip(req) // returns with the headers
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel() // closes the server too
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer ended in good order")
	}
	_ = srv.Close()
	_ = srv.Close()
}
