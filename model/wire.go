package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// Wire is what drivers of HTTP providers are built of: one POST a request,
// answered by server-sent events. What differs between providers, the request's
// body and the meaning of an event, its driver hands in. It is safe for
// concurrent use.
type Wire struct {
	cfg    WireConfig
	url    string
	client *http.Client
	own    *http.Transport // nil if the client was given
	peer   Peer
	info   Info
}

// WireConfig says whom to ask and how. BaseURL, Path, Model and Provider are
// needed.
type WireConfig struct {
	BaseURL  string // includes /v1
	Path     string // below BaseURL, for example chat/completions
	Key      string
	KeyVar   string // the setting the key came from; empty means RIPCORD_API_KEY
	Model    string
	Provider string
	Why      string
	What     string // what kind of server this wire wants, for hints
	// Header is sent with each request. Credentials puts the key where the
	// provider looks for it; it is not called without one.
	Header      map[string]string
	Credentials func(h http.Header, key string)

	HTTPClient    *http.Client  // used without its time-out and redirects, not closed
	DialTimeout   time.Duration // 0 means 10 s
	TLSTimeout    time.Duration // 0 means 10 s
	HeaderTimeout time.Duration // from the request's end to the answer's headers; 0 means none
	UsageWait     time.Duration // for token counts after the finish; 0 means 500 ms
	MaxEvent      int           // largest event, bytes; 0 means 16 MiB
}

// Decoder gives one answer's events their meaning. It is used by one goroutine.
type Decoder interface {
	// Take reads the data of one event and leaves what it says in Blocks. Its
	// error is a [Reported], a [Misplaced], [ErrEarly], or says that data is no
	// JSON.
	Take(data []byte) error
	// Blocks holds the deltas.
	Blocks() *Blocks
	// Stage says how far the answer is.
	Stage() Stage
	// Reason is why it finished; it is asked for once Stage is not Speaking.
	Reason() event.FinishReason
}

// Stage is how far an answer is.
type Stage int

const (
	Speaking Stage = iota // its finish has not come
	Finished              // only token counts are waited for
	Whole                 // nothing is
)

// Reported is an error object in the stream.
type Reported []byte

func (Reported) Error() string { return "the peer reported an error" }

// Misplaced is an event that belongs nowhere, in words that follow the peer's
// name.
type Misplaced string

func (m Misplaced) Error() string { return string(m) }

// ErrEarly is an end without a finish.
var ErrEarly = errors.New("the stream ended early")

const (
	settle     = 10 * time.Millisecond // for the body's end after the last event
	refusalFor = 2 * time.Second       // for the body of a refusal
	refusalMax = 64 << 10
)

// NewWire checks the settings; it asks nothing. The error is an [*Error] of code
// config.
func NewWire(cfg WireConfig) (*Wire, error) {
	cfg.Key = strings.TrimSpace(cfg.Key)
	base, err := url.Parse(strings.TrimSpace(cfg.BaseURL))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, refuse("the base URL is not an address", "set RIPCORD_BASE_URL to http://host:port/v1 or https://host/v1")
	}
	if cfg.Model == "" {
		return nil, refuse("no model is named", "set RIPCORD_MODEL")
	}
	cfg.KeyVar = orElse(cfg.KeyVar, "RIPCORD_API_KEY")
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, refuse("the key holds characters that no key has", "check "+cfg.KeyVar)
	}
	cfg.UsageWait = orElse(cfg.UsageWait, 500*time.Millisecond)
	cfg.MaxEvent = orElse(cfg.MaxEvent, 16<<20)
	w := &Wire{cfg: cfg, url: base.JoinPath(cfg.Path).String()}
	w.info = Info{
		Provider: cfg.Provider, Model: cfg.Model, Why: cfg.Why,
		BaseURL: (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String(),
	}
	w.peer = Peer{Name: base.Host, Secret: cfg.Key}
	if cfg.Key != "" {
		w.peer.KeyVar = cfg.KeyVar
	}
	w.connect()
	return w, nil
}

func (w *Wire) connect() {
	if c := w.cfg.HTTPClient; c != nil {
		w.client = &http.Client{Transport: c.Transport, Jar: c.Jar}
	} else {
		w.own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: orElse(w.cfg.DialTimeout, 10*time.Second)}).DialContext,
			TLSHandshakeTimeout:   orElse(w.cfg.TLSTimeout, 10*time.Second),
			ResponseHeaderTimeout: w.cfg.HeaderTimeout,
			IdleConnTimeout:       30 * time.Second,
			MaxIdleConnsPerHost:   8,
			DisableCompression:    true, // a compressor would hold deltas back
			ForceAttemptHTTP2:     true,
		}
		w.client = &http.Client{Transport: w.own}
	}
	// A redirect would carry the key to whom it was not given to.
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Info says what is asked.
func (w *Wire) Info() Info { return w.info }

// Close ends the idle connections. Streams that run are not touched.
func (w *Wire) Close() error {
	if w.own != nil {
		w.own.CloseIdleConnections()
	}
	return nil
}

// Stream asks once, with what body returns, and reads the answer with what
// decoder returns; see [Model.Stream]. body's error is yielded as it is.
func (w *Wire) Stream(ctx context.Context, activity func(int), body func() ([]byte, error), decoder func() Decoder) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		inner, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		st := &stream{w: w, ctx: ctx, cut: cut, activity: activity, dec: decoder()}
		defer st.stopTimer()
		text, err := body()
		if err == nil {
			err = st.open(inner, text)
		}
		if st.body != nil {
			defer st.body.Close()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		st.run(yield)
	}
}

// stream is one request under way. advance is the only function that changes
// its state.
type stream struct {
	w        *Wire
	ctx      context.Context // the caller's: its end is the stream's
	cut      context.CancelCauseFunc
	activity func(int)
	body     io.ReadCloser
	events   events
	dec      Decoder
	timer    *time.Timer
	settling bool // the last event has come
	over     bool
	err      error
}

func (st *stream) run(yield func(event.Delta, error) bool) {
	for !st.over {
		st.advance()
		for _, d := range st.dec.Blocks().Out {
			if st.ctx.Err() != nil {
				yield(nil, context.Cause(st.ctx))
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
	if st.err == nil && st.ctx.Err() != nil {
		st.err = context.Cause(st.ctx)
	}
	if st.err != nil {
		yield(nil, st.err)
		return
	}
	yield(event.Finish{Reason: st.dec.Reason()}, nil)
}

// within cuts the connection unless it is done in d. A later call replaces it.
func (st *stream) within(d time.Duration) {
	st.stopTimer()
	st.timer = time.AfterFunc(d, func() { st.cut(context.DeadlineExceeded) })
}

func (st *stream) stopTimer() {
	if st.timer != nil {
		st.timer.Stop()
	}
}

// Read counts what arrives.
func (st *stream) Read(p []byte) (int, error) {
	n, err := st.body.Read(p)
	if n > 0 && st.activity != nil {
		st.activity(n)
	}
	return n, err
}

// open posts the request and sees to it that the answer is a stream.
func (st *stream) open(ctx context.Context, body []byte) error {
	w := st.w
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return refuse("the base URL is not an address", "check RIPCORD_BASE_URL")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "ripcord")
	if w.cfg.Key != "" && w.cfg.Credentials != nil {
		w.cfg.Credentials(req.Header, w.cfg.Key)
	}
	for k, v := range w.cfg.Header {
		req.Header.Set(k, v)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return w.peer.Broken(st.ctx, err, false)
	}
	st.body = res.Body
	kind := strings.ToLower(res.Header.Get("Content-Type"))
	if res.StatusCode < 300 && !strings.Contains(kind, "html") && !strings.Contains(kind, "json") {
		st.events = events{r: st, max: w.cfg.MaxEvent}
		return nil
	}
	st.within(refusalFor)
	text, _ := io.ReadAll(io.LimitReader(st, refusalMax))
	if st.ctx.Err() != nil {
		return context.Cause(st.ctx)
	}
	if res.StatusCode >= 300 {
		if to := res.Header.Get("Location"); to != "" && res.StatusCode < 400 {
			text = fmt.Appendf(nil, "to %s", to)
		}
		return w.peer.Refused(res.StatusCode, res.Header, text, time.Now())
	}
	return w.notAStream(kind, text)
}

// notAStream types the start of an answer in which no event was found.
func (w *Wire) notAStream(kind string, text []byte) error {
	text = bytes.TrimSpace(text)
	switch {
	case strings.Contains(kind, "html") || bytes.HasPrefix(text, []byte("<")):
		return w.peer.Protocol("answered with a web page instead of a stream",
			"check that RIPCORD_BASE_URL is an API address that includes /v1", nil)
	case bytes.HasPrefix(text, []byte("{")) && isFault(text):
		return w.peer.Reported(text)
	case strings.Contains(kind, "json") || bytes.HasPrefix(text, []byte("{")):
		return w.peer.Protocol("answered in one piece of JSON instead of a stream",
			"check that RIPCORD_BASE_URL is "+orElse(w.cfg.What, "a server")+" that can stream", nil)
	}
	return w.earlyEnd()
}

func (w *Wire) earlyEnd() error {
	return w.peer.Protocol("ended its answer without saying that it was finished: the stream ended early", "try again", nil)
}

// advance takes one event, or the stream's end.
func (st *stream) advance() {
	blocks := st.dec.Blocks()
	blocks.Out = blocks.Out[:0]
	data, err := st.events.next()
	if st.ctx.Err() != nil {
		st.end(context.Cause(st.ctx))
		return
	}
	finished := st.dec.Stage() != Speaking
	switch {
	case err != nil && finished:
		st.end(nil)
	case err == io.EOF:
		st.end(st.early())
	case err == errLongEvent:
		st.end(st.w.peer.Protocol(fmt.Sprintf("sent an event of more than %d bytes", st.w.cfg.MaxEvent), "", err))
	case err != nil:
		blocks.CutOff()
		st.end(st.w.peer.Broken(st.ctx, err, true))
	case st.settling:
	case st.events.fault && !finished:
		blocks.CutOff()
		st.end(st.w.peer.Reported(data))
	case string(data) == "[DONE]":
		if !finished {
			st.end(st.early())
			return
		}
		st.settle()
	default:
		st.take(data, finished)
	}
}

func (st *stream) take(data []byte, finished bool) {
	err := st.dec.Take(data)
	if err == nil && st.dec.Blocks().over() {
		err = Misplaced(fmt.Sprintf("sent more than %d bytes of arguments for a tool call that has no name", mostHeld))
	}
	if err != nil {
		if !finished { // else the answer is whole; what follows it is of no use
			st.end(st.fault(err, data))
		}
		return
	}
	switch stage := st.dec.Stage(); {
	case stage == Whole:
		st.settle()
	case stage == Finished && !finished:
		st.within(st.w.cfg.UsageWait)
	}
}

// end sets the stream's end. A stream that finished in good order with nothing
// in it is an error; a limit or a filter is a reason of its own.
func (st *stream) end(err error) {
	st.over = true
	if r := st.dec.Reason(); err == nil && !st.dec.Blocks().Some && (r == event.FinishStop || r == event.FinishTools) {
		err = &Error{Failure: event.Failure{Code: event.FailEmpty,
			Message: st.w.peer.name() + " finished an answer with nothing in it", Hint: "try again, or another model"}}
	}
	st.err = err
}

func (st *stream) settle() {
	st.settling = true
	st.within(settle)
}

// early types an end before the finish. What was held back of the last rune is
// given out first.
func (st *stream) early() error {
	st.dec.Blocks().CutOff()
	if !st.events.found {
		return st.w.notAStream("", st.events.head)
	}
	return st.w.earlyEnd()
}

// fault types what the decoder refused.
func (st *stream) fault(err error, data []byte) error {
	if err == ErrEarly {
		return st.early()
	}
	st.dec.Blocks().CutOff()
	switch err := err.(type) {
	case Reported:
		return st.w.peer.Reported(err)
	case Misplaced:
		return st.w.peer.Protocol(string(err), "try again", nil)
	}
	return st.w.peer.Protocol(fmt.Sprintf("sent an event that is not whole JSON (%d bytes)", len(data)), "try again", err)
}
