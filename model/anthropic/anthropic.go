package anthropic

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// Config says whom to ask. Only Model is needed, and a Key at Anthropic's own
// address.
type Config struct {
	BaseURL  string // includes /v1; empty means Anthropic's own
	Key      string // sent as x-api-key; empty: none is sent
	KeyVar   string // the setting the key came from, for hints
	Model    string
	Provider string // for Info; empty means anthropic
	Why      string // for Info
	Headers  map[string]string

	// MaxTokens is what an answer may have where a request does not say; the
	// wire wants a number. 0 means 32000, which every model since 4.0 takes.
	MaxTokens int

	// HTTPClient, if not nil, is used without its time-out and redirects.
	// Its transport is not closed by Close.
	HTTPClient *http.Client
	// Limits of our own transport; there is never a limit on a whole answer.
	DialTimeout   time.Duration // 0 means 10 s
	TLSTimeout    time.Duration // 0 means 10 s
	HeaderTimeout time.Duration // from the request's end to the answer's headers; 0 means none
	UsageWait     time.Duration // for message_stop after the stop reason; 0 means 500 ms
	MaxEvent      int           // largest event, bytes of one event; 0 means 16 MiB
}

// Model asks one model at one address. It is safe for concurrent use.
type Model struct {
	cfg  Config
	wire *model.Wire
	own  bool // at Anthropic's own address
}

var _ model.Model = (*Model)(nil)

const (
	version      = "2023-06-01" // of the API, sent with each request
	maxTokens    = 32_000
	maxCallID    = 64
	emptyResult  = "(no output)"
	resumeWords  = "(go on)"
	openingWords = "(the conversation begins with your own words)"
)

// New returns a driver. It asks nothing. The error is a [*model.Error] of code
// config.
func New(cfg Config) (*Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = model.AnthropicURL
	}
	if cfg.MaxTokens <= 0 {
		cfg.MaxTokens = maxTokens
	}
	if cfg.Provider == "" {
		cfg.Provider = model.Anthropic
	}
	header := map[string]string{"anthropic-version": version}
	maps.Copy(header, cfg.Headers)
	wire, err := model.NewWire(model.WireConfig{
		BaseURL: cfg.BaseURL, Path: "messages", Key: cfg.Key, KeyVar: cfg.KeyVar, Model: cfg.Model, Provider: cfg.Provider,
		Why: cfg.Why, What: "a server of the messages API",
		Header: header, Credentials: func(h http.Header, key string) { h.Set("x-api-key", key) },
		HTTPClient: cfg.HTTPClient, DialTimeout: cfg.DialTimeout, TLSTimeout: cfg.TLSTimeout, HeaderTimeout: cfg.HeaderTimeout,
		UsageWait: cfg.UsageWait, MaxEvent: cfg.MaxEvent,
	})
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimSpace(cfg.BaseURL))
	return &Model{cfg: cfg, wire: wire, own: err == nil && base.Hostname() == "api.anthropic.com"}, nil
}

// Info says what is asked.
func (m *Model) Info() model.Info { return m.wire.Info() }

// Close ends the idle connections. Streams that run are not touched.
func (m *Model) Close() error { return m.wire.Close() }

// Stream asks once; see [model.Model]. Ranging over the result twice asks twice.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return m.wire.Stream(ctx, req.Activity, func() ([]byte, error) { return m.body(ctx, req) }, func() model.Decoder { return &answer{} })
}
