package openai

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
	cfg  Config
	wire *model.Wire
}

var _ model.Model = (*Model)(nil)

// New returns a driver. It asks nothing. The error is a [*model.Error] of code
// config.
func New(cfg Config) (*Model, error) {
	if cfg.MaxTokensField == "" {
		cfg.MaxTokensField = "max_tokens"
		if base, err := url.Parse(strings.TrimSpace(cfg.BaseURL)); err == nil && base.Hostname() == "api.openai.com" {
			cfg.MaxTokensField = "max_completion_tokens"
		}
	}
	wire, err := cfg.wire("chat/completions", orElse(cfg.Provider, model.OpenAIChat), "a chat-completions server")
	if err != nil {
		return nil, err
	}
	return &Model{cfg: cfg, wire: wire}, nil
}

// wire makes the connection that both of the package's drivers use.
func (cfg Config) wire(path, provider, what string) (*model.Wire, error) {
	return model.NewWire(model.WireConfig{
		BaseURL: cfg.BaseURL, Path: path, Key: cfg.Key, KeyVar: cfg.KeyVar, Model: cfg.Model, Provider: provider, Why: cfg.Why, What: what,
		Header: maps.Clone(cfg.Headers), Credentials: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		HTTPClient: cfg.HTTPClient, DialTimeout: cfg.DialTimeout, TLSTimeout: cfg.TLSTimeout, HeaderTimeout: cfg.HeaderTimeout,
		UsageWait: cfg.UsageWait, MaxEvent: cfg.MaxEvent,
	})
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Info says what is asked.
func (m *Model) Info() model.Info { return m.wire.Info() }

// Close ends the idle connections. Streams that run are not touched.
func (m *Model) Close() error { return m.wire.Close() }

// Stream asks once; see [model.Model]. Ranging over the result twice asks twice.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return m.wire.Stream(ctx, req.Activity, func() ([]byte, error) { return m.body(ctx, req) }, func() model.Decoder { return &answer{} })
}
