package model_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

type vars map[string]string

// proves MOD-05, IFC-09, IFC-10
func TestTheModelIsChosenInTheDocumentedOrder(t *testing.T) {
	ollama := "http://127.0.0.1:11434/v1"
	for name, c := range map[string]struct {
		env   vars
		flags model.Flags
		chat  bool
		alive string
		want  model.Choice // Why: a part of it
		err   string       // a part of the sentence and hint
	}{
		"nothing, run":                    {err: "RIPCORD_PROVIDER=scripted"},
		"nothing, chat":                   {chat: true, want: model.Choice{Provider: "scripted", Model: "scripted", Why: "no provider is set"}},
		"a local server, chat":            {chat: true, alive: ollama, want: model.Choice{Provider: "openai-chat", BaseURL: ollama, Model: "first", Why: "Ollama answers"}},
		"a local server, run":             {alive: ollama, err: "no model provider"},
		"llama.cpp after Ollama":          {chat: true, alive: "http://127.0.0.1:8080/v1", want: model.Choice{Provider: "openai-chat", BaseURL: "http://127.0.0.1:8080/v1", Model: "first", Why: "llama.cpp"}},
		"a usual key":                     {env: vars{"OPENAI_API_KEY": "k"}, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "k", KeyVar: "OPENAI_API_KEY", Model: model.OpenAIDefault, Why: "OPENAI_API_KEY"}},
		"a usual key before a server":     {env: vars{"OPENAI_API_KEY": "k"}, chat: true, alive: ollama, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "k", KeyVar: "OPENAI_API_KEY", Model: model.OpenAIDefault}},
		"our key before the usual":        {env: vars{"OPENAI_API_KEY": "k", "RIPCORD_API_KEY": "r", "RIPCORD_MODEL": "m"}, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "r", KeyVar: "RIPCORD_API_KEY", Model: "m"}},
		"an address, no key, no model":    {env: vars{"RIPCORD_BASE_URL": "http://h:1/v1/"}, want: model.Choice{Provider: "openai-chat", BaseURL: "http://h:1/v1", Model: "first", Why: "RIPCORD_BASE_URL; its first model"}},
		"an address keeps the key home":   {env: vars{"RIPCORD_BASE_URL": "http://h:1/v1", "OPENAI_API_KEY": "k", "RIPCORD_MODEL": "m"}, want: model.Choice{Provider: "openai-chat", BaseURL: "http://h:1/v1", Model: "m"}},
		"OpenAI's address":                {env: vars{"RIPCORD_BASE_URL": model.OpenAIURL, "OPENAI_API_KEY": "k"}, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "k", KeyVar: "OPENAI_API_KEY", Model: model.OpenAIDefault}},
		"a flag before the environment":   {env: vars{"RIPCORD_BASE_URL": "http://h:1/v1", "RIPCORD_MODEL": "m"}, flags: model.Flags{BaseURL: "http://f/v1", Model: "f"}, want: model.Choice{Provider: "openai-chat", BaseURL: "http://f/v1", Model: "f", Why: "command line"}},
		"scripted beats all":              {env: vars{"RIPCORD_PROVIDER": "scripted", "OPENAI_API_KEY": "k"}, want: model.Choice{Provider: "scripted", Model: "scripted", Why: "RIPCORD_PROVIDER"}},
		"a bare provider":                 {env: vars{"RIPCORD_PROVIDER": "openai-chat"}, chat: true, err: "set RIPCORD_BASE_URL"},
		"anthropic without a key":         {env: vars{"RIPCORD_PROVIDER": "anthropic", "OPENAI_API_KEY": "k"}, chat: true, err: "ANTHROPIC_API_KEY for Anthropic"},
		"anthropic, its usual key":        {env: vars{"RIPCORD_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "k"}, want: model.Choice{Provider: "anthropic", BaseURL: model.AnthropicURL, Key: "a", KeyVar: "ANTHROPIC_API_KEY", Model: model.AnthropicDefault, Why: "ANTHROPIC_API_KEY"}},
		"anthropic, our key":              {env: vars{"RIPCORD_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "a", "RIPCORD_API_KEY": "r", "RIPCORD_MODEL": "m"}, want: model.Choice{Provider: "anthropic", BaseURL: model.AnthropicURL, Key: "r", KeyVar: "RIPCORD_API_KEY", Model: "m"}},
		"anthropic, a server of one's":    {env: vars{"RIPCORD_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "a", "RIPCORD_BASE_URL": "http://h:1/v1", "RIPCORD_MODEL": "m"}, want: model.Choice{Provider: "anthropic", BaseURL: "http://h:1/v1", Model: "m"}},
		"anthropic's own address":         {env: vars{"RIPCORD_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "a", "RIPCORD_BASE_URL": model.AnthropicURL}, want: model.Choice{Provider: "anthropic", BaseURL: model.AnthropicURL, Key: "a", KeyVar: "ANTHROPIC_API_KEY", Model: model.AnthropicDefault}},
		"openai-responses":                {env: vars{"RIPCORD_PROVIDER": "openai-responses", "OPENAI_API_KEY": "k"}, want: model.Choice{Provider: "openai-responses", BaseURL: model.OpenAIURL, Key: "k", KeyVar: "OPENAI_API_KEY", Model: model.OpenAIDefault}},
		"both usual keys":                 {env: vars{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"}, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "k", KeyVar: "OPENAI_API_KEY", Model: model.OpenAIDefault}},
		"no provider":                     {env: vars{"RIPCORD_PROVIDER": "magic"}, err: "is no provider"},
		"anthropic's key alone, run":      {env: vars{"ANTHROPIC_API_KEY": "a"}, want: model.Choice{Provider: "anthropic", BaseURL: model.AnthropicURL, Key: "a", KeyVar: "ANTHROPIC_API_KEY", Model: model.AnthropicDefault, Why: "ANTHROPIC_API_KEY"}},
		"anthropic's key before a server": {env: vars{"ANTHROPIC_API_KEY": "a"}, chat: true, alive: ollama, want: model.Choice{Provider: "anthropic", BaseURL: model.AnthropicURL, Key: "a", KeyVar: "ANTHROPIC_API_KEY", Model: model.AnthropicDefault}},
		"our key with anthropic's":        {env: vars{"ANTHROPIC_API_KEY": "a", "RIPCORD_API_KEY": "r"}, want: model.Choice{Provider: "openai-chat", BaseURL: model.OpenAIURL, Key: "r", KeyVar: "RIPCORD_API_KEY", Model: model.OpenAIDefault}},
		"an address that is none":         {env: vars{"RIPCORD_BASE_URL": "localhost:11434"}, err: "is not one that can be asked"},
	} {
		probed := 0
		peers := model.Peers{
			Alive: func(u string) bool { probed++; return u == c.alive },
			First: func(string, string) (string, error) { return "first", nil },
		}
		got, err := model.Choose(func(k string) string { return c.env[k] }, c.flags, c.chat, peers)
		if probed > 0 && !c.chat {
			t.Errorf("%s: run probed %d ports", name, probed)
		}
		if c.err != "" {
			var e *model.Error
			if !errors.As(err, &e) || e.Code != event.FailConfig || !strings.Contains(e.Failure.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", name, err, c.err)
			}
			continue
		}
		why := got.Why
		got.Why = c.want.Why
		if err != nil || got != c.want || why == "" || !strings.Contains(why, c.want.Why) {
			t.Errorf("%s: got %+v (%s), %v", name, got, why, err)
		}
	}
}

// proves MOD-05, CLI-03: why a server could not be asked is said, and nothing
// of its address but what may be shown.
func TestWhyAServerCouldNotBeAskedForItsModelsIsSaid(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close() // nothing listens there now
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is wanted
	tls.StartTLS()
	defer tls.Close()
	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer strict.Close()
	for base, want := range map[string]string{
		"http://user:secret@" + silent.Addr().String() + "/v1": "connection refused",
		tls.URL + "/v1":    "certificate",
		strict.URL + "/v1": "401 Unauthorized",
	} {
		env := vars{"RIPCORD_BASE_URL": base}
		_, err := model.Choose(func(k string) string { return env[k] }, model.Flags{}, false, model.Loopback(t.Context(), 0))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAServerThatListsNoModelAsksForAName(t *testing.T) {
	env := vars{"RIPCORD_BASE_URL": "http://user:secret@h:1/v1"}
	_, err := model.Choose(func(k string) string { return env[k] }, model.Flags{}, false, model.Peers{})
	if err == nil || !strings.Contains(err.Error(), "RIPCORD_MODEL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// proves MOD-05: only loopback is probed, only a model server counts, and the
// probe is short.
func TestTheProbeAsksModelServersOnLoopbackOnly(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"a"},{"id":"b"}]}`))
		case "/page/models":
			_, _ = w.Write([]byte(`<html>`))
		case "/slow/models":
			<-release
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	defer close(release)
	p := model.Loopback(t.Context(), time.Minute)
	if first, err := p.First(srv.URL+"/v1", ""); !p.Alive(srv.URL+"/v1") || first != "a" || err != nil {
		t.Errorf("a model server was not found: %q, %v", first, err)
	}
	p = model.Loopback(t.Context(), 0)
	for _, path := range []string{"/page", "/none", "/slow"} {
		from := time.Now()
		if p.Alive(srv.URL + path) {
			t.Errorf("%s is no model server", path)
		}
		if d := time.Since(from); d > 20*time.Second {
			t.Errorf("%s took %v", path, d)
		}
	}
	if p.Alive("http://peer.test/v1") || p.Alive("http://192.0.2.1/v1") {
		t.Error("asked beyond loopback")
	}
}
