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

// bound is how long a condition may take on a busy machine.
const bound = 30 * time.Second

// proves MOD-03, INT-45: at random moments, before the headers, at them, and
// anywhere in the words, the server sees the stop.
func TestTheServerSeesTheStopAtAnyMoment(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	scripts := []string{
		"answer\n hold 1ms\n type 1ms " + strings.Repeat("word ", 20_000),
		"answer\n split 3\n type 1ms " + strings.Repeat("wörd ", 20_000),
		"(R'think' P W(1ms)) x 20000", "C(c1,write) (A'frag' W(1ms)) x 20000",
	}
	for i := range 24 {
		srv := modeltest.Serve(t, scripts[i%len(scripts)])
		ctx, cancel := context.WithCancelCause(t.Context())
		left := rng.IntN(30) // reads of the body before the stop
		req := modeltest.Say("go")
		req.Activity = func(int) {
			if left--; left < 0 {
				cancel(errStop)
			}
		}
		a := modeltest.Ask(ctx, open(t, openai.Config{BaseURL: srv.URL()}), req)
		cancel(nil)
		if a.Err != errStop {
			t.Fatalf("round %d: got %v", i, a.Err)
		}
		r := srv.Requests()[0]
		select {
		case <-r.Done():
		case <-time.After(bound):
			t.Fatalf("round %d: the connection stayed open", i)
		}
		if _, ok := r.Gone(); !ok {
			t.Errorf("round %d: the server did not see it", i)
		}
	}
}

// proves MOD-03 on HTTP/2: the stream is reset, whether or not anybody reads.
func TestTheStopReachesTheServerOverHTTP2(t *testing.T) {
	seen := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoke %s", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, data(words("hi")))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(seen)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	m := open(t, openai.Config{BaseURL: srv.URL + "/v1", HTTPClient: srv.Client()})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for d, err := range m.Stream(ctx, modeltest.Say("go")) {
		if d != nil {
			cancel(errStop)
			// The connection goes while the loop's body holds the stream up.
			select {
			case <-seen:
			case <-time.After(bound):
				t.Error("the server did not see the stop")
			}
		} else if err != errStop {
			t.Errorf("got %v", err)
		}
	}
}

// proves MOD-02, durability 68: a finish whose counts came is obeyed while the
// socket stays open, however long one would wait for counts.
func TestAFinishedStreamIsNotHeldByItsSocket(t *testing.T) {
	for _, script := range []string{
		"T'hi' F(stop) U(1,2) HANG",
		"answer\n text hi\n finish stop\n usage 1 2\n raw \"data: [DONE]\\n\\n\"\n hang",
		"answer\n text hi\n finish stop\n raw \"data: [DONE]\"\n raw \"\\n\"\n hang",
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), bound, errors.New("it waits for the socket"))
		m := open(t, openai.Config{BaseURL: modeltest.Serve(t, script).URL(), UsageWait: time.Hour})
		if a := modeltest.Ask(ctx, m, modeltest.Say("go")); a.Err != nil || a.Finish != event.FinishStop {
			t.Errorf("%s: got %+v", script, a)
		}
		cancel()
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
	// One whose end took its time to come is given up: a busy machine makes more of them.
	if dials == 10 {
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
