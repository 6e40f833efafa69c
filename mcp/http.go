package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	dialBound    = 10 * time.Second
	deleteBound  = time.Second // for the farewell to a session
	mostBounces  = 5           // redirects
	sessionField = "Mcp-Session-Id"
)

// web is a server reached over HTTP: the round tripper below the SDK's client.
type web struct {
	server Server
	origin *url.URL
	base   *http.Transport
	client *http.Client
	max    int64
	tally  *tally

	count atomic.Int64
	lost  atomic.Bool // the server does not know our session any more
	once  sync.Once
	gone  chan struct{}
}

func dial(s Server, o *Options, t *tally) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	w := &web{server: s, origin: u, max: int64(o.MaxMessage), tally: t, gone: make(chan struct{}),
		base: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialBound}).DialContext,
			TLSHandshakeTimeout: dialBound, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true}}
	w.client = &http.Client{Transport: w, CheckRedirect: w.redirect} // no total limit: a call has its own
	return w, nil
}

func (w *web) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: w.server.URL, HTTPClient: w.client, MaxEventSize: int(w.max), DisableStandaloneSSE: true}
}

func (w *web) abandoned(*sent)         {} // its stream is closed
func (w *web) heard() int64            { return w.count.Load() }
func (w *web) pids() []int             { return nil }
func (w *web) broken() <-chan struct{} { return w.gone }
func (w *web) shut()                   { w.once.Do(func() { close(w.gone) }) }

func (w *web) close() string {
	w.shut()
	w.base.CloseIdleConnections()
	if w.lost.Load() {
		return "does not know our session any more"
	}
	return "ended the connection"
}

// redirect lets a request go on to its own origin, as itself.
func (w *web) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case !w.same(req.URL):
		return errors.New("it redirects to another host, which is refused: configure the address that is meant")
	case len(via) > mostBounces:
		return errors.New("it redirects in circles")
	case req.Method != via[0].Method:
		return errors.New("it redirects in a way that loses the request: configure the address that is meant")
	}
	return nil
}

func (w *web) same(u *url.URL) bool {
	return u.Scheme == w.origin.Scheme && u.Host == w.origin.Host
}

// RoundTrip sends one request of the session.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if !w.same(r.URL) {
		return nil, errors.New("this host is not the server's")
	}
	method, id := peek(r)
	if method == methodCancelled {
		return &http.Response{StatusCode: http.StatusAccepted, Status: "202 Accepted", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: r}, nil // the SDK's own; ours went before
	}
	ctx, release := r.Context(), func() {}
	if r.Method == http.MethodDelete {
		ctx, release = context.WithTimeout(ctx, deleteBound)
	}
	req := r.Clone(ctx)
	for name, v := range w.server.Headers {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, v)
		}
	}
	s, tracked := sentOf(ctx)
	if tracked && id != nil {
		s.as(id, req.Header.Clone())
	}
	res, err := w.base.RoundTrip(req)
	if err != nil {
		release()
		return nil, err
	}
	w.count.Add(1)
	if tracked && id != nil { // what resumes an answer's stream is not the request
		s.answered(res.StatusCode)
	}
	if res.StatusCode == http.StatusNotFound && req.Header.Get(sessionField) != "" && r.Method != http.MethodDelete {
		w.lost.Store(true)
	}
	body := &bounded{ReadCloser: res.Body, release: release, sent: s, web: w,
		events: strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")}
	res.Body = body
	return res, nil
}

// peek reads method and id of the message that r carries.
func peek(r *http.Request) (method string, id any) {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return "", nil
	}
	body, err := r.GetBody()
	if err != nil {
		return "", nil
	}
	defer body.Close()
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.NewDecoder(body).Decode(&m) != nil || m.Method == "" {
		return "", nil
	}
	if len(m.ID) > 0 {
		id = m.ID
	}
	return m.Method, id
}

// bounded is a body of which, or of each event of which, no more than the
// bound is read.
type bounded struct {
	io.ReadCloser
	release func()
	sent    *sent // nil: nobody's
	web     *web
	events  bool
	n       int64 // bytes since the beginning
	blank   bool  // the last line was over
}

var errLong = errors.New("the answer is longer than what is read")

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > b.web.max {
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p)
	b.count(p[:n])
	if b.n <= b.web.max {
		return n, err
	}
	b.web.tally.longLine()
	if b.sent != nil {
		b.sent.tooLong()
	}
	return 0, errLong
}

// count adds what was read; an empty line begins an event.
func (b *bounded) count(p []byte) {
	if !b.events {
		b.n += int64(len(p))
		return
	}
	for _, c := range p {
		switch {
		case c == '\n' && b.blank:
			b.n = 0
		case c == '\n':
			b.n, b.blank = b.n+1, true
		case c != '\r':
			b.n, b.blank = b.n+1, false
		}
		if b.n > b.web.max {
			return
		}
	}
}

func (b *bounded) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// cancelled posts the notice with the headers of the request that it is about.
func (w *web) cancelled(ctx context.Context, s *sent) error {
	id, header, _, known := s.get()
	if !known {
		return nil
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": methodCancelled, "params": cancelParams(id)})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header.Clone()
	for name := range header {
		if strings.HasPrefix(name, "Mcp-") && name != sessionField && name != "Mcp-Protocol-Version" {
			req.Header.Del(name) // they speak about the request
		}
	}
	res, err := w.base.RoundTrip(req)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("the notice was answered with %s", res.Status)
	}
	return nil
}
