package mcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

// site is a server of the SDK over HTTP, which a test can change under way.
type site struct {
	*httptest.Server
	handler   atomic.Pointer[http.Handler]
	cancelled chan string // reasons that a hanging tool saw its call given up for

	mu      sync.Mutex
	keys    []string // what came as X-Key
	servers []*sdk.Server
}

// sessions are those that nobody has ended.
func (s *site) sessions() (open []*sdk.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.servers {
		open = slices.AppendSeq(open, server.Sessions())
	}
	return open
}

func (s *site) use(h http.Handler) { s.handler.Store(&h) }

func newSite(t *testing.T) *site {
	s := &site{cancelled: make(chan string, 10)}
	s.use(s.fresh())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("X-Key"))
		s.mu.Unlock()
		(*s.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.Close()
		for _, open := range s.sessions() { // those that a test made the client lose
			_ = open.Close()
		}
	})
	return s
}

type say struct {
	Text string `json:"text,omitempty"`
}

// fresh is a handler that knows no session.
func (s *site) fresh() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "site", Version: "1"}, nil)
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in say) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo: " + in.Text}}}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "large"}, func(context.Context, *sdk.CallToolRequest, say) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 4<<20)}}}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "hang"}, func(ctx context.Context, r *sdk.CallToolRequest, _ say) (*sdk.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "begun"})
		<-ctx.Done()
		s.cancelled <- ctx.Err().Error()
		return nil, nil, ctx.Err()
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

// proves TOL-26: calls, progress, interrupts and headers over HTTP
func TestCallsOverHTTPAreMadeAndStopped(t *testing.T) {
	b, s := newBench(t), newSite(t)
	m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: s.URL + "/mcp?token=hush-hush", Headers: map[string]string{"X-Key": "hush-hush-key"}})
	b.wants(b.call(b.tool(m, "mcp__site__echo"), `{"text":"x"}`), event.CallFinished, true, "echo: x")
	f := b.fly(b.tool(m, "mcp__site__hang"), "c_1", `{}`)
	if err := f.live.Await(t.Context(), "1 begun"); err != nil {
		t.Fatal(err)
	}
	f.trip(b)
	b.wants(f.landed(b), event.CallStopped, true, "progress so far: 1 begun", "no longer needed")
	select {
	case <-s.cancelled:
	case <-time.After(patience):
		t.Error("the server was not told")
	}
	b.wants(b.call(b.tool(m, "mcp__site__echo"), `{"text":"y"}`), event.CallFinished, true, "echo: y")
	if st := b.status(m, "site"); st.Restarts != 0 || st.Where != s.URL+"/mcp" {
		t.Errorf("status %+v", st)
	}
	b.close(m)
	proctest.Until(t, patience, "no session is open at the server", func() bool { return len(s.sessions()) == 0 })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if k != "hush-hush-key" {
			t.Errorf("a request came with the key %q", k)
		}
	}
}

// proves TOL-26: a session that the server forgot is made anew, once a call
func TestALostSessionIsMadeAnewOnce(t *testing.T) {
	for name, forget := range map[string]func(*site){
		"a server that was started anew": func(s *site) { s.use(s.fresh()) },
		"one that says so in JSON": func(s *site) {
			next := s.fresh()
			s.use(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Session-Id") != "" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`))
					s.use(next)
					return
				}
				next.ServeHTTP(w, r)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := newBench(t), newSite(t)
			m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: s.URL})
			echo := b.tool(m, "mcp__site__echo")
			b.wants(b.call(echo, `{"text":"x"}`), event.CallFinished, true, "echo: x")
			forget(s)
			b.wants(b.call(echo, `{"text":"again"}`), event.CallFinished, true, "echo: again")
			if st := b.status(m, "site"); st.Restarts != 1 {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// proves TOL-26: a session that is lost each time is not asked for ever
func TestASessionThatIsAlwaysLostIsAReply(t *testing.T) {
	b, s := newBench(t), newSite(t)
	m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: s.URL})
	echo := b.tool(m, "mcp__site__echo")
	next := s.fresh()
	calls := atomic.Int64{}
	s.use(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && body(r, "tools/call") {
			calls.Add(1)
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}))
	e := b.call(echo, `{"text":"x"}`)
	if calls.Load() != 2 || e.Outcome != event.CallFinished || strings.Contains(said(e), "echo") {
		t.Errorf("%d calls: %s %s", calls.Load(), e.Outcome, said(e))
	}
}

// proves TOL-26: a call that a server took is not sent again when the
// session is found lost by what resumes its answer
func TestACallThatWasTakenIsNotSentAgain(t *testing.T) {
	b, s := newBench(t), newSite(t)
	m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: s.URL})
	echo := b.tool(m, "mcp__site__echo")
	next, calls, resumed := s.fresh(), atomic.Int64{}, atomic.Int64{}
	s.use(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			resumed.Add(1)
			http.NotFound(w, r)
		case body(r, "tools/call"):
			calls.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
		default:
			next.ServeHTTP(w, r)
		}
	}))
	b.wants(b.call(echo, `{"text":"x"}`), event.CallFinished, true, "effects may be partial")
	if calls.Load() != 1 || resumed.Load() == 0 {
		t.Errorf("the call was sent %d times, its answer's stream resumed %d times", calls.Load(), resumed.Load())
	}
}

// proves TOL-26: the session that another call found lost does not send
// again a call that is under way
func TestALostSessionDoesNotSendItsOtherCallsAgain(t *testing.T) {
	b, s := newBench(t), newSite(t)
	m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: s.URL})
	echo := b.tool(m, "mcp__site__echo")
	next, first, begun := s.fresh(), atomic.Int64{}, make(chan struct{}, 1)
	s.use(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case body(r, "the first"):
			if first.Add(1) > 1 {
				return
			}
			begun <- struct{}{}
			<-r.Context().Done() // it works, and the connection ends
		default:
			next.ServeHTTP(w, r) // which knows no session of before
		}
	}))
	f := b.fly(echo, "c_1", `{"text":"the first"}`)
	select {
	case <-begun:
	case <-time.After(patience):
		t.Fatal("the first call did not come")
	}
	b.wants(b.call(echo, `{"text":"the second"}`), event.CallFinished, true, "echo: the second")
	b.wants(f.landed(b), event.CallFinished, true, "effects may be partial")
	if first.Load() != 1 {
		t.Errorf("the first call was sent %d times", first.Load())
	}
}

// proves TOL-26: redirects to another host are refused, and no header goes there
func TestHeadersDoNotFollowARedirectToAnotherHost(t *testing.T) {
	b, other := newBench(t), newSite(t)
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(first.Close)
	m := b.start(mcp.Options{}, mcp.Server{Name: "site", URL: first.URL, Headers: map[string]string{"X-Key": "hush-hush-key"}})
	if s := b.status(m, "site"); s.State != mcp.Failed || !strings.Contains(s.Why, "redirects to another host") {
		t.Errorf("status %+v", s)
	}
	if len(other.keys) != 0 {
		t.Errorf("the other host was asked, with the keys %q", other.keys)
	}
}

// proves TOL-26, TOL-06: what a server's host says is a result, a host that is
// not there is a reply, and an answer that is too large costs its call only
func TestTroublesOfHTTPFailTheirCallOnly(t *testing.T) {
	b, s := newBench(t), newSite(t)
	m := b.start(mcp.Options{MaxMessage: 1 << 20, Restart: mcp.Restart{First: time.Millisecond, Times: 50}}, mcp.Server{Name: "site", URL: s.URL})
	echo, good := b.tool(m, "mcp__site__echo"), *s.handler.Load()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusForbidden, http.StatusTooManyRequests} {
		s.use(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", status) }))
		e := b.call(echo, `{"text":"x"}`)
		if e.Outcome != event.CallFinished || !e.Result.Success || strings.Contains(said(e), "echo") {
			t.Errorf("status %d: %s, success %v: %s", status, e.Outcome, e.Result.Success, said(e))
		}
		s.use(good)
		b.wants(b.call(echo, `{"text":"y"}`), event.CallFinished, true, "echo: y")
	}
	b.wants(b.call(b.tool(m, "mcp__site__large"), `{}`), event.CallFinished, true, "has more than the 1048576 bytes", "ask for less")
	if st := b.status(m, "site"); st.TooLong != 1 {
		t.Errorf("status %+v", st)
	}
	b.wants(b.call(echo, `{"text":"z"}`), event.CallFinished, true, "echo: z")
	s.Close()
	_ = b.call(echo, `{"text":"x"}`) // may still have found a connection
	b.wants(b.call(echo, `{"text":"x"}`), event.CallFinished, false, "could not be asked, nothing was run")
}

// body says whether r's body holds text; the body can be read again.
func body(r *http.Request, text string) bool {
	data, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	return err == nil && bytes.Contains(data, []byte(text))
}
