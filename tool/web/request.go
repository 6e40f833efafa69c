package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// request is one fetch under way, redirects included. Its connections are its
// own.
type request struct {
	Config
	signal interrupt.Signal
	ctx    context.Context
	stop   []func()
	client *http.Client
	idle   *time.Timer
	dials  sync.WaitGroup
	at     string // the URL that is being fetched, for people

	stopped, overdue bool // what is shown was cut, by the signal or by a time that was over

	transport *http.Transport
	proxied   atomic.Bool // the request under way goes to a proxy
}

var (
	errTotal = errors.New("its time is over")
	errIdle  = errors.New("no byte came for too long")
)

// newRequest makes the request's context: cut by a trip, by the total time and
// by silence.
func newRequest(ctx context.Context, c Config, signal interrupt.Signal) *request {
	r := &request{Config: c, signal: signal}
	ctx, stop := interrupt.ContextOf(ctx, signal)
	ctx, cut := context.WithCancelCause(ctx)
	ctx, release := context.WithTimeoutCause(ctx, c.Total, errTotal)
	r.ctx, r.stop = ctx, []func(){release, func() { cut(nil) }, stop}
	r.idle = time.AfterFunc(c.Idle, func() { cut(errIdle) })
	r.transport = &http.Transport{
		Proxy: r.proxy, DialContext: r.dial, TLSClientConfig: c.TLS,
		DisableKeepAlives: true, DisableCompression: true, // both are counted here
		MaxResponseHeaderBytes: 256 << 10,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
			if res.StatusCode != http.StatusOK {
				return &proxyError{res.Status}
			}
			return nil
		},
	}
	r.client = &http.Client{Transport: r.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return r
}

// proxyError is a proxy's word: the world was reached and said no.
type proxyError struct{ status string }

func (e *proxyError) Error() string { return "the proxy answered " + e.status }

// close ends the request's connections and waits for dials under way.
func (r *request) close() {
	r.idle.Stop()
	for _, stop := range r.stop {
		stop()
	}
	r.transport.CloseIdleConnections()
	r.dials.Wait()
}

func (r *request) timedOut() bool {
	cause := context.Cause(r.ctx)
	return errors.Is(cause, errTotal) || errors.Is(cause, errIdle)
}

// late says which time was over.
func (r *request) late() string {
	if errors.Is(context.Cause(r.ctx), errIdle) {
		return fmt.Sprintf("%s: no byte came for %v", r.at, r.Idle)
	}
	return fmt.Sprintf("%s: it was not read to its end in %v", r.at, r.Total)
}

// proxy asks the settings and notes the answer for dial: where a request goes
// without a proxy, its address is judged.
func (r *request) proxy(req *http.Request) (u *url.URL, err error) {
	if r.Proxy != nil {
		u, err = r.Proxy(req)
	}
	r.proxied.Store(u != nil)
	return u, err
}

// dial connects to an address that may be reached. The address is judged on
// the socket, after every look-up.
func (r *request) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.dials.Add(1)
	defer r.dials.Done()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	d := &net.Dialer{Timeout: r.Idle, Resolver: r.Resolver, KeepAlive: -1}
	if !r.proxied.Load() && !r.AllowPrivate(net.JoinHostPort(host, port)) {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return &blockedError{host: host, why: "an address that can't be judged"}
			}
			if why := judge(at.Addr()); why != "" {
				return &blockedError{host, at.Addr(), why}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}

// page is an answer with its body still to be read.
type page struct {
	*http.Response
	url   *url.URL
	moved string // where a redirect leads that was not followed
}

// follow gets u and what it redirects to.
func (r *request) follow(u *url.URL) (*page, error) {
	for n := 0; ; n++ {
		r.at = printable(u.String())
		if err := r.literal(u); err != nil {
			return nil, err
		}
		res, err := r.get(u)
		if err != nil {
			return nil, err
		}
		where := res.Header.Get("Location")
		switch res.StatusCode {
		case 301, 302, 303, 307, 308:
		default:
			where = ""
		}
		if where == "" {
			return &page{Response: res, url: u}, nil
		}
		res.Body.Close()
		to, err := r.next(u, where)
		switch {
		case err != nil:
			return nil, err
		case !r.same(u, to):
			return &page{Response: res, url: u, moved: to.String()}, nil
		case n == r.Redirects:
			return nil, tool.Replyf("%s redirects more than %d times; give the URL where it is to end", r.at, r.Redirects)
		}
		u = to
	}
}

func (r *request) get(u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tool.Replyf("%s can't be asked for: %w; check the URL", r.at, err)
	}
	req.Header.Set("User-Agent", r.UserAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.5")
	req.Header.Set("Accept-Encoding", "gzip")
	r.idle.Reset(r.Idle)
	return r.client.Do(req)
}

// literal judges an address that stands in the URL itself: behind a proxy no
// dial of ours would.
func (r *request) literal(u *url.URL) error {
	host := hostOf(u)
	if r.AllowPrivate(placeOf(u)) {
		return nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return tool.Replyf("%s was not fetched: it is this machine, which is reached only if a rule allows the host", r.at)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if why := judge(addr); why != "" {
			return &blockedError{host, addr, why}
		}
	}
	return nil
}

// next is where a redirect leads, checked like a URL that was given.
func (r *request) next(from *url.URL, where string) (*url.URL, error) {
	if len(where) > mostURL {
		return nil, tool.Replyf("%s redirects to a URL of %d bytes, the most is %d", r.at, len(where), mostURL)
	}
	to, err := from.Parse(where)
	if err == nil {
		to, err = parseURL(to.String())
	}
	if err != nil {
		return nil, tool.Replyf("%s redirects to what is not fetched: %w", r.at, err)
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, tool.Replyf("%s redirects from https to http (%s); fetch that URL if it is what you want", r.at, printable(to.String()))
	}
	return to, nil
}

// same reports whether an approval of from covers to.
func (r *request) same(from, to *url.URL) bool {
	if r.Allow(placeOf(to)) {
		return true
	}
	return hostOf(from) == hostOf(to) && (from.Port() == to.Port() || usual(from) && usual(to))
}

func usual(u *url.URL) bool {
	return u.Port() == "" || u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443"
}

// awake is a body that puts off the silence and ends with the signal.
type awake struct {
	r    *request
	body io.Reader
}

func (a awake) Read(p []byte) (int, error) {
	if err := a.r.signal.Checkpoint(); err != nil {
		return 0, err
	}
	n, err := a.body.Read(p)
	if n > 0 {
		a.r.idle.Reset(a.r.Idle)
	}
	return n, err
}
