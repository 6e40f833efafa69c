package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Config sets web_fetch up. The zero value is useful: every host is asked
// about, no private address is reached, there is no proxy. A place is a host
// with its port, as in "example.com:443" and "[::1]:8080": in lower case, without
// a dot at the end of the host.
type Config struct {
	// Allow says that a rule lets place be fetched without asking, also by a
	// redirect. nil: none.
	Allow func(place string) bool
	// AllowPrivate says that a rule lets place be at an address that is not
	// global: this machine, a private network. nil: none.
	AllowPrivate func(place string) bool
	// Proxy gives the proxy of a request, as [http.Transport.Proxy] does; nil:
	// none, whatever the environment says. Behind a proxy only addresses that
	// stand in the URL are judged here: names are the proxy's to resolve.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver resolves names; nil: the system's.
	Resolver *net.Resolver
	// TLS is used for https; nil: the system's roots.
	TLS *tls.Config
	// Decode reads text in the charset of that name as UTF-8, for charsets
	// other than UTF-8, UTF-16, ISO-8859-1 and windows-1252; nil: none.
	Decode func(charset string, r io.Reader) (io.Reader, error)
	// UserAgent is sent; "" means "ripcord".
	UserAgent string

	Total     time.Duration // of a fetch, redirects included; 0 means 60 s
	Idle      time.Duration // without a byte of the answer; 0 means 20 s
	Wire      int64         // bytes of the answer as sent; 0 means 8 MiB
	Body      int64         // bytes of the answer decompressed; 0 means 16 MiB
	HTML      int           // bytes of HTML that are made Markdown; 0 means 2 MiB
	Redirects int           // that are followed; 0 means 10
	Shown     int           // bytes of text shown by one call; 0 means 28 KiB
}

type fetch struct{ Config }

// New makes web_fetch.
func New(c Config) tool.Tool {
	no := func(string) bool { return false }
	if c.Allow == nil {
		c.Allow = no
	}
	if c.AllowPrivate == nil {
		c.AllowPrivate = no
	}
	c.UserAgent = or(c.UserAgent, "ripcord")
	c.Total, c.Idle = or(c.Total, 60*time.Second), or(c.Idle, 20*time.Second)
	c.Wire, c.Body, c.HTML = or(c.Wire, 8<<20), or(c.Body, 16<<20), or(c.HTML, 2<<20)
	c.Redirects, c.Shown = or(c.Redirects, 10), or(c.Shown, 28<<10)
	return &fetch{c}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// InterruptBehaviour implements [interrupt.Behaviourer]: the request is cut by
// the tool itself, which looks at its signal while it reads.
func (f *fetch) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Spec implements [tool.Tool]. A GET asks for no change; that is what the
// declared effect means.
func (f *fetch) Spec() tool.Spec {
	return tool.Spec{Name: "web_fetch", Effect: tool.Pure, Concurrent: true, AsksCall: f.asks,
		Description: "Fetch one page of the web by its http or https URL. HTML comes as Markdown, other text as it is; pictures and other " +
			"binaries are not shown. A redirect to another host is not followed but told. For a long page give offset to go on.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["url"],"properties":{` +
			`"url":{"type":"string","description":"the whole URL"},` +
			`"offset":{"type":"integer","minimum":0,"description":"where in the text to begin, in bytes, as the answer before said"},` +
			`"raw":{"type":"boolean","description":"HTML as it is, not as Markdown"}}}`)}
}

type fetchArgs struct {
	URL    string `json:"url"`
	Offset int    `json:"offset"`
	Raw    bool   `json:"raw"`
}

func (f *fetch) asks(call *tool.Call) (prompt string, ask bool) {
	var a fetchArgs
	if json.Unmarshal(call.Args, &a) != nil {
		return "fetch a page that is not named", true
	}
	u, err := parseURL(a.URL)
	if err != nil {
		return "fetch " + printable(a.URL), true
	}
	return "fetch " + printable(u.String()), !f.Allow(placeOf(u))
}

// printable makes s fit for a question to a person.
func printable(s string) string {
	const most = 500
	q := strconv.QuoteToASCII(s)
	if q = q[1 : len(q)-1]; len(q) > most {
		return fmt.Sprintf("%s … (%d bytes more)", q[:most], len(q)-most)
	}
	return q
}

const mostURL = 8 << 10 // bytes

// parseURL checks what may be fetched at all. The fragment is dropped.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > mostURL {
		return nil, tool.Replyf("the URL has %d bytes, the most is %d; give a shorter one", len(raw), mostURL)
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil:
		return nil, tool.Replyf("the URL can't be read; give a whole http or https URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, tool.Replyf("%q is not fetched: only http and https URLs are; give a whole one", printable(raw))
	case u.User != nil:
		return nil, tool.Replyf("the URL holds a user name or password, which is never sent; give it without")
	case hostOf(u) == "" || u.Opaque != "":
		return nil, tool.Replyf("the URL names no host; give a whole http or https URL")
	case !ascii(u.Host):
		return nil, tool.Replyf("the host %s is not in ASCII; give it in its xn-- form", printable(u.Host))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// placeOf is u's host with the port that is dialled.
func placeOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(hostOf(u), port)
}

// Execute implements [tool.Tool].
func (f *fetch) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a fetchArgs
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, tool.Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema")
	}
	u, err := parseURL(a.URL)
	if err != nil {
		return tool.Result{}, err
	}
	if err := tool.FenceOf(call).Check(); err != nil {
		return tool.Result{}, tool.Replyf("nothing was fetched: %w", err)
	}
	r := newRequest(ctx, f.Config, tool.SignalOf(call))
	defer r.close()
	page, err := r.follow(u)
	if err != nil {
		return r.failed(err)
	}
	return f.show(r, page, a)
}

// failed tells why there is no page: a stop, a time-out, or what kept it from
// being reached.
func (r *request) failed(err error) (tool.Result, error) {
	if r.signal.Cancelled() {
		res := tool.Text("the fetch of " + r.at + " was stopped before an answer came")
		res.Success, res.Stopped = false, true
		return res, nil
	}
	if _, ok := errors.AsType[*tool.Error](err); ok {
		return tool.Result{}, err
	}
	if blocked, ok := errors.AsType[*blockedError](err); ok {
		return tool.Result{}, tool.Replyf("%s was not fetched: %w", r.at, blocked)
	}
	if proxy, ok := errors.AsType[*proxyError](err); ok {
		return tool.Text(fmt.Sprintf("%s was not reached: the proxy answered %s", r.at, proxy.status)), nil
	}
	if r.timedOut() {
		res, yes := tool.Text(r.late()), true
		res.TimedOut = &yes
		return res, nil
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return tool.Result{}, tool.Replyf("%s can't be fetched: %w; check the URL", r.at, err)
}
