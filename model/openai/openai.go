package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// Config says whom to ask. Only BaseURL and Model are needed.
type Config struct {
	BaseURL  string // includes /v1
	Key      string // sent as a bearer token; empty: none is sent
	KeyVar   string // the setting the key came from, for hints
	Model    string
	Provider string // for Info; empty means openai-chat
	Why      string // for Info
	Headers  map[string]string

	// HTTPClient, if not nil, is used without its time-out and redirects.
	// Its transport is not closed by Close.
	HTTPClient *http.Client
	// Limits of our own transport; there is never a limit on a whole answer.
	DialTimeout    time.Duration // 0 means 10 s
	TLSTimeout     time.Duration // 0 means 10 s
	HeaderTimeout  time.Duration // from the request's end to the answer's headers; 0 means none
	UsageWait      time.Duration // for token counts after the finish; 0 means 500 ms
	MaxEvent       int           // largest event, bytes of one event; 0 means 16 MiB
	Echo           bool          // send signed reasoning back, in the field reasoning_blocks
	MaxTokensField string        // empty: max_completion_tokens at OpenAI, else max_tokens
}

// Model asks one model at one address. It is safe for concurrent use.
type Model struct {
	cfg    Config
	url    string
	client *http.Client
	own    *http.Transport // nil if the client was given
	peer   model.Peer
	info   model.Info
}

var _ model.Model = (*Model)(nil)

const (
	settle     = 10 * time.Millisecond // for the body's end after the last event
	refusalFor = 2 * time.Second       // for the body of a refusal
	refusalMax = 64 << 10
)

// New returns a driver. It asks nothing. The error is a [*model.Error] of code
// config.
func New(cfg Config) (*Model, error) {
	cfg.Key = strings.TrimSpace(cfg.Key)
	base, err := url.Parse(strings.TrimSpace(cfg.BaseURL))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, configError("the base URL is not an address", "set RIPCORD_BASE_URL to http://host:port/v1 or https://host/v1")
	}
	if cfg.Model == "" {
		return nil, configError("no model is named", "set RIPCORD_MODEL")
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, configError("the key holds characters that no key has", "check "+orElse(cfg.KeyVar, "RIPCORD_API_KEY"))
	}
	cfg.Provider = orElse(cfg.Provider, model.OpenAIChat)
	if cfg.MaxTokensField == "" {
		cfg.MaxTokensField = "max_tokens"
		if base.Hostname() == "api.openai.com" {
			cfg.MaxTokensField = "max_completion_tokens"
		}
	}
	cfg.UsageWait = orElse(cfg.UsageWait, 500*time.Millisecond)
	cfg.MaxEvent = orElse(cfg.MaxEvent, 16<<20)
	cfg.Headers = maps.Clone(cfg.Headers)
	m := &Model{cfg: cfg, url: base.JoinPath("chat", "completions").String()}
	m.info = model.Info{
		Provider: cfg.Provider, Model: cfg.Model, Why: cfg.Why,
		BaseURL: (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String(),
	}
	m.peer = model.Peer{Name: base.Host, Secret: cfg.Key}
	if cfg.Key != "" {
		m.peer.KeyVar = orElse(cfg.KeyVar, "RIPCORD_API_KEY")
	}
	m.connect()
	return m, nil
}

func (m *Model) connect() {
	if c := m.cfg.HTTPClient; c != nil {
		m.client = &http.Client{Transport: c.Transport, Jar: c.Jar}
	} else {
		m.own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: orElse(m.cfg.DialTimeout, 10*time.Second)}).DialContext,
			TLSHandshakeTimeout:   orElse(m.cfg.TLSTimeout, 10*time.Second),
			ResponseHeaderTimeout: m.cfg.HeaderTimeout,
			IdleConnTimeout:       30 * time.Second,
			MaxIdleConnsPerHost:   8,
			DisableCompression:    true, // a compressor would hold deltas back
			ForceAttemptHTTP2:     true,
		}
		m.client = &http.Client{Transport: m.own}
	}
	m.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

func configError(sentence, hint string) error {
	return &model.Error{Failure: event.Failure{Code: event.FailConfig, Message: sentence, Hint: hint}}
}

// Info says what is asked.
func (m *Model) Info() model.Info { return m.info }

// Close ends the idle connections. Streams that run are not touched.
func (m *Model) Close() error {
	if m.own != nil {
		m.own.CloseIdleConnections()
	}
	return nil
}

// Stream asks once; see [model.Model]. Ranging over the result twice asks twice.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		inner, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		st := &stream{m: m, ctx: ctx, cut: cut, activity: req.Activity}
		defer st.stopTimer()
		body, err := m.body(ctx, req)
		if err == nil {
			err = st.open(inner, body)
		}
		if st.body != nil {
			defer st.body.Close()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for !st.over {
			st.advance()
			for _, d := range st.answer.out {
				if ctx.Err() != nil {
					yield(nil, context.Cause(ctx))
					return
				}
				if !yield(d, nil) {
					return
				}
			}
		}
		if st.err == nil && ctx.Err() != nil {
			st.err = context.Cause(ctx)
		}
		if st.err != nil {
			yield(nil, st.err)
			return
		}
		yield(event.Finish{Reason: st.answer.reason()}, nil)
	}
}

// stream is one request under way. advance is the only function that changes
// its state.
type stream struct {
	m        *Model
	ctx      context.Context // the caller's: its end is the stream's
	cut      context.CancelCauseFunc
	activity func(int)
	body     io.ReadCloser
	events   sse
	answer   answer
	timer    *time.Timer
	settling bool // the last event has come
	over     bool
	err      error
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
	m := st.m
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return configError("the base URL is not an address", "check RIPCORD_BASE_URL")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "ripcord")
	if m.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	for k, v := range m.cfg.Headers {
		req.Header.Set(k, v)
	}
	res, err := m.client.Do(req)
	if err != nil {
		return m.peer.Broken(st.ctx, err, false)
	}
	st.body = res.Body
	kind := strings.ToLower(res.Header.Get("Content-Type"))
	if res.StatusCode < 300 && !strings.Contains(kind, "html") && !strings.Contains(kind, "json") {
		st.events = sse{r: st, max: m.cfg.MaxEvent}
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
		return m.peer.Refused(res.StatusCode, res.Header, text, time.Now())
	}
	return m.notAStream(kind, text)
}

// notAStream types the start of an answer in which no event was found.
func (m *Model) notAStream(kind string, text []byte) error {
	text = bytes.TrimSpace(text)
	switch {
	case strings.Contains(kind, "html") || bytes.HasPrefix(text, []byte("<")):
		return m.peer.Protocol("answered with a web page instead of a stream",
			"check that RIPCORD_BASE_URL is an API address that includes /v1", nil)
	case bytes.HasPrefix(text, []byte("{")) && isFault(text):
		return m.peer.Reported(text)
	case strings.Contains(kind, "json") || bytes.HasPrefix(text, []byte("{")):
		return m.peer.Protocol("answered in one piece of JSON instead of a stream",
			"check that RIPCORD_BASE_URL is a chat-completions server that can stream", nil)
	}
	return m.earlyEnd()
}

func (m *Model) earlyEnd() error {
	return m.peer.Protocol("ended its answer without saying that it was finished: the stream ended early", "try again", nil)
}

// advance takes one event, or the stream's end.
func (st *stream) advance() {
	st.answer.out = st.answer.out[:0]
	data, err := st.events.next()
	if st.ctx.Err() != nil {
		st.end(context.Cause(st.ctx))
		return
	}
	finished := st.answer.finished()
	switch {
	case err != nil && finished:
		st.end(nil)
	case err == io.EOF:
		st.end(st.early())
	case err == errLongEvent:
		st.end(st.m.peer.Protocol(fmt.Sprintf("sent an event of more than %d bytes", st.m.cfg.MaxEvent), "", err))
	case err != nil:
		st.answer.cutOff()
		st.end(st.m.peer.Broken(st.ctx, err, true))
	case st.settling:
	case st.events.fault && !finished:
		st.answer.cutOff()
		st.end(st.m.peer.Reported(data))
	case string(data) == "[DONE]":
		if !finished {
			st.end(st.early())
			return
		}
		st.settle()
	default:
		if err := st.answer.take(data); err != nil {
			if finished {
				return // the answer is whole; what follows it is of no use
			}
			st.end(st.fault(err, data))
			return
		}
		switch {
		case st.answer.counted():
			st.settle()
		case !finished && st.answer.finished():
			st.within(st.m.cfg.UsageWait)
		}
	}
}

func (st *stream) end(err error) {
	st.over = true
	if err == nil && st.answer.empty() {
		err = &model.Error{Failure: event.Failure{Code: event.FailEmpty,
			Message: st.m.peer.Name + " finished an answer with nothing in it", Hint: "try again, or another model"}}
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
	st.answer.cutOff()
	if !st.events.found {
		return st.m.notAStream("", st.events.head)
	}
	return st.m.earlyEnd()
}

// fault types what answer.take refused.
func (st *stream) fault(err error, data []byte) error {
	st.answer.cutOff()
	switch err := err.(type) {
	case reported:
		return st.m.peer.Reported(err)
	case misplaced:
		return st.m.peer.Protocol(string(err), "try again", nil)
	}
	return st.m.peer.Protocol(fmt.Sprintf("sent an event that is not whole JSON (%d bytes)", len(data)), "try again", err)
}
