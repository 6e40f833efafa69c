package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
)

var errStop = errors.New("stopped by the test")

// proves MOD-03, INT-45: 50 random moments, before the headers, at them, and
// anywhere in the words.
func TestTheServerSeesTheStopAtAnyMoment(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	scripts := []string{
		"answer\n hold 8ms\n type 1ms " + strings.Repeat("word ", 200),
		"answer\n split 3\n type 1ms " + strings.Repeat("wörd ", 200),
		"(R'think' P W(1ms)) x 200", "C(c1,write) (A'frag' W(1ms)) x 200",
	}
	// A busy machine delays whoever watches: five of fifty may seem late, none
	// very late.
	const bound, outer, slack = 100 * time.Millisecond, 2 * time.Second, 5
	late := 0
	judge := func(what string, after, d time.Duration) {
		if d > bound {
			late++
			t.Logf("after %v: %s %v later", after, what, d)
		}
		if d > outer {
			t.Errorf("after %v: %s %v later", after, what, d)
		}
	}
	for i := range 50 {
		srv := modeltest.Serve(t, scripts[i%len(scripts)])
		m := open(t, openai.Config{BaseURL: srv.URL()})
		after := time.Duration(rng.IntN(25_000)) * time.Microsecond
		ctx, cancel := context.WithCancelCause(t.Context())
		var at time.Time
		timer := time.AfterFunc(after, func() { at = time.Now(); cancel(errStop) })
		a := modeltest.Ask(ctx, m, modeltest.Say("go"))
		back := time.Now()
		timer.Stop()
		if a.Err != errStop {
			t.Fatalf("after %v: got %v", after, a.Err)
		}
		judge("Stream returned", after, back.Sub(at))
		for _, r := range srv.Requests() { // none if the stop came before the connection
			gone, ok := r.Gone()
			if !ok {
				t.Errorf("after %v: the server did not see it", after)
				continue
			}
			judge("the server saw it", after, gone.Sub(at))
		}
	}
	if late > slack {
		t.Errorf("%d of 50 stops took longer than %v", late, bound)
	}
}

// proves MOD-03 on HTTP/2: the stream is reset, whether or not anybody reads.
func TestTheStopReachesTheServerOverHTTP2(t *testing.T) {
	seen := make(chan time.Time, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoke %s", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, data(words("hi")))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		seen <- time.Now()
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	m := open(t, openai.Config{BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var at time.Time
	for d, err := range m.Stream(ctx, modeltest.Say("go")) {
		if d != nil {
			at = time.Now()
			cancel(errStop)
			// The connection goes while the loop's body holds the stream up.
			if late := (<-seen).Sub(at); late > time.Second {
				t.Errorf("the server saw it %v later", late)
			}
		} else if err != errStop {
			t.Errorf("got %v", err)
		}
	}
}

// proves MOD-02, durability 68: the finish is obeyed at once, the socket open.
func TestAFinishedStreamReturnsWithin50Milliseconds(t *testing.T) {
	for script, bound := range map[string]time.Duration{
		"T'hi' F(stop) U(1,2) HANG": 50 * time.Millisecond,
		"answer\n text hi\n finish stop\n usage 1 2\n raw \"data: [DONE]\\n\\n\"\n hang": 50 * time.Millisecond,
		"answer\n text hi\n finish stop\n raw \"data: [DONE]\"\n raw \"\\n\"\n hang":     50 * time.Millisecond,
		"T'hi' F(stop) HANG": 600 * time.Millisecond, // waits for usage that does not come
	} {
		best := time.Hour // the machine may be busy: one quick run of three shows the code is
		for range 3 {
			srv := modeltest.Serve(t, script)
			var from time.Time
			m := open(t, openai.Config{BaseURL: srv.URL()})
			finish := event.FinishReason("")
			for d, err := range m.Stream(t.Context(), modeltest.Say("go")) {
				if err != nil {
					t.Fatal(err)
				}
				switch d := d.(type) {
				case event.TextDelta:
					from = time.Now()
				case event.Finish:
					finish = d.Reason
				default:
				}
			}
			if finish != event.FinishStop {
				t.Fatalf("%s: finish %q", script, finish)
			}
			best = min(best, time.Since(from))
		}
		if best > bound {
			t.Errorf("%s: returned after %v, want %v", script, best, bound)
		}
	}
}

// A connection is used again after a whole answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	srv := modeltest.Serve(t, "answer always\n text hi\n usage 1 2\n finish stop\n")
	dials := 0
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	m := open(t, openai.Config{BaseURL: srv.URL(), HTTPClient: &http.Client{Transport: counting(tr, &dials)}})
	for range 10 {
		if a := modeltest.Ask(t.Context(), m, modeltest.Say("go")); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if dials > 2 {
		t.Errorf("%d connections for 10 answers", dials)
	}
}

// proves the bad inputs: TLS, redirects, a hanging refusal.
func TestPeersThatAreNotWhatTheySeemAreTyped(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler("https://peer.test/v2/", http.StatusPermanentRedirect))
	defer elsewhere.Close()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "half a sen")
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer slow.Close()
	defer close(release)
	for name, c := range map[string]struct {
		url   string
		code  event.FailureCode
		words string
	}{
		"unknown certificate": {secure.URL, event.FailTransport, "certificate"},
		"plain to TLS":        {strings.Replace(secure.URL, "https", "http", 1), event.FailRequest, ""},
		"redirect":            {elsewhere.URL, event.FailConfig, "https://peer.test/v2/"},
		"hanging refusal":     {slow.URL, event.FailOverloaded, "half a sen"},
		"no such name":        {"http://nowhere.invalid", event.FailTransport, "RIPCORD_BASE_URL"},
	} {
		a := modeltest.Ask(t.Context(), open(t, openai.Config{BaseURL: c.url + "/v1"}), modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != c.code || !strings.Contains(e.Failure.Error(), c.words) {
			t.Errorf("%s: got %v", name, a.Err)
		}
	}
}

// proves MOD-05, "no key" and "wrong key": the hint names what to set, the key
// is never shown.
func TestRefusedCredentialsNameTheSetting(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	script := `answer always` + "\n" + ` http 401 body {"error":{"message":"Incorrect API key provided: ` + secret + `","code":"invalid_api_key"}}`
	srv := modeltest.Serve(t, script)
	for _, c := range []struct {
		cfg  openai.Config
		hint string
	}{
		{openai.Config{BaseURL: srv.URL()}, "set RIPCORD_API_KEY"},
		{openai.Config{BaseURL: srv.URL(), Key: secret, KeyVar: "OPENAI_API_KEY"}, "OPENAI_API_KEY"},
	} {
		a := modeltest.Ask(t.Context(), open(t, c.cfg), modeltest.Say("go"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Code != event.FailAuth || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("got %v, want a hint of %q", a.Err, c.hint)
		}
		if c.cfg.Key != "" && strings.Contains(fmt.Sprintf("%v %+v", a.Err, a.Err), secret) {
			t.Errorf("the key is shown: %v", a.Err)
		}
	}
	if got := srv.Requests()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("no key was set and %q was sent", got)
	}
	if got := srv.Requests()[1].Header.Get("Authorization"); got != "Bearer "+secret {
		t.Errorf("sent %q", got)
	}
}

func TestSettingsThatCannotWorkAreRefusedAtOnce(t *testing.T) {
	for name, cfg := range map[string]openai.Config{
		"no address": {Model: "m"}, "no scheme": {BaseURL: "localhost:1234/v1", Model: "m"},
		"no model": {BaseURL: "http://localhost/v1"}, "a key of two lines": {BaseURL: "http://localhost/v1", Model: "m", Key: "a\nb"},
	} {
		_, err := openai.New(cfg)
		var e *model.Error
		if !errors.As(err, &e) || e.Code != event.FailConfig || e.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	m := open(t, openai.Config{BaseURL: "https://user:pass@host/v1/?key=secret", Why: "w"})
	if i := m.Info(); i.BaseURL != "https://host/v1/" || i.Provider != model.OpenAIChat || i.Why != "w" {
		t.Errorf("got %+v", i)
	}
}

// counting counts the connections that tr makes.
func counting(tr *http.Transport, n *int) http.RoundTripper {
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		*n++
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return tr
}
