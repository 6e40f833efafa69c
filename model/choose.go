package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// Names of providers (IFC-09).
const (
	OpenAIChat      = "openai-chat"
	OpenAIResponses = "openai-responses"
	Anthropic       = "anthropic"
	Scripted        = "scripted"
)

// OpenAIURL is where openai-chat and openai-responses ask when only a key is
// known, OpenAIDefault the model they then ask for when none is named;
// AnthropicURL and AnthropicDefault are the same for anthropic.
const (
	OpenAIURL        = "https://api.openai.com/v1"
	OpenAIDefault    = "gpt-5.5"
	AnthropicURL     = "https://api.anthropic.com/v1"
	AnthropicDefault = "claude-sonnet-5-5"
)

// house is who stands behind a provider's name when no address is set.
type house struct {
	name   string
	url    string
	model  string
	keyVar string // the usual setting of its key
}

func houseOf(provider string) house {
	if provider == Anthropic {
		return house{"Anthropic", AnthropicURL, AnthropicDefault, "ANTHROPIC_API_KEY"}
	}
	return house{"OpenAI", OpenAIURL, OpenAIDefault, "OPENAI_API_KEY"}
}

// at keeps a usual key from being sent to a stranger.
func (h house) at(base string) bool {
	u, err := url.Parse(base)
	own, _ := url.Parse(h.url) // a constant
	return err == nil && u.Scheme == own.Scheme && u.Hostname() == own.Hostname()
}

// Flags are the settings that the command line and the configuration files
// give; each goes before the environment's. Empty is not set. The caller has
// already put flag before file (a file stands behind the environment: leave it
// out here and give it through Env as the fallback).
type Flags struct {
	Provider string
	BaseURL  string
	Key      string
	Model    string
}

// Choice is whom to ask. BaseURL is empty for the scripted model, which its
// user starts. KeyVar names the setting the key came from.
type Choice struct {
	Provider string
	BaseURL  string
	Key      string
	KeyVar   string
	Model    string
	Why      string // for people, always printed
}

// Peers looks at servers; [Loopback] is the real one. Both functions may be
// nil, which means that nothing answers.
type Peers struct {
	// Alive says whether a model server answers at a base URL on loopback.
	Alive func(baseURL string) bool
	// First names the first model that a base URL lists, empty if it lists
	// none. The error says in a few words why it could not be asked.
	First func(baseURL, key string) (string, error)
}

// Local is a model server that people run on their own machine.
type Local struct{ Name, BaseURL string }

// Locals lists the servers that the chat looks for, in this order.
func Locals() []Local {
	return []Local{
		{"Ollama", "http://127.0.0.1:11434/v1"},
		{"LM Studio", "http://127.0.0.1:1234/v1"},
		{"llama.cpp", "http://127.0.0.1:8080/v1"},
		{"vLLM", "http://127.0.0.1:8000/v1"},
	}
}

// Choose decides whom to ask (MOD-05): what was set, in the order of IFC-09;
// then a usual key; then, in the chat only, a local server that answers, and
// last the scripted model. It does nothing but call the functions it is given:
// without chat it never calls peers.Alive. The error is an [*Error] of code
// config (or auth for a key that is missing) and names what to set.
func Choose(env func(string) string, flags Flags, chat bool, peers Peers) (Choice, error) {
	pick := func(flag, name string) (value, from string) {
		if flag != "" {
			return flag, "the command line"
		}
		return strings.TrimSpace(env(name)), name
	}
	provider, providerFrom := pick(flags.Provider, "RIPCORD_PROVIDER")
	base, baseFrom := pick(flags.BaseURL, "RIPCORD_BASE_URL")
	key, keyFrom := pick(flags.Key, "RIPCORD_API_KEY")
	name, _ := pick(flags.Model, "RIPCORD_MODEL")
	base = strings.TrimRight(base, "/")
	if key == "" {
		keyFrom = ""
	}
	switch provider {
	case Scripted:
		return scriptedChoice("chosen by " + providerFrom), nil
	case OpenAIChat, OpenAIResponses, Anthropic, "":
	default:
		return Choice{}, refuse(fmt.Sprintf("%q (from %s) is no provider", provider, providerFrom),
			"RIPCORD_PROVIDER is one of openai-chat, openai-responses, anthropic, scripted")
	}
	c := Choice{Provider: orElse(provider, OpenAIChat), BaseURL: base, Key: key, KeyVar: keyFrom, Model: name}
	h := houseOf(c.Provider)
	usual := strings.TrimSpace(env(h.keyVar))
	if base != "" {
		if err := checkURL(base, baseFrom); err != nil {
			return Choice{}, err
		}
		c.Why = "the address is set by " + baseFrom
		if c.Key == "" && usual != "" && h.at(base) {
			c.Key, c.KeyVar = usual, h.keyVar
		}
		return named(c, h, peers)
	}
	if key == "" && usual == "" && provider == "" { // nobody was named: whoever's key is there
		if h = houseOf(Anthropic); strings.TrimSpace(env(h.keyVar)) != "" {
			c.Provider, usual = Anthropic, strings.TrimSpace(env(h.keyVar))
		}
	}
	switch {
	case key != "":
		c.Why = "the key is set by " + keyFrom
	case usual != "":
		c.Key, c.KeyVar, c.Why = usual, h.keyVar, "a key was found in "+h.keyVar
	case provider != "":
		return Choice{}, refuse("the provider "+provider+" is set by "+providerFrom+", but neither an address nor a key",
			"set RIPCORD_BASE_URL (with /v1) for a server of your own, or RIPCORD_API_KEY or "+h.keyVar+" for "+h.name)
	default:
		return fallback(chat, peers, c)
	}
	c.BaseURL = h.url
	c.Model = orElse(c.Model, h.model)
	return c, nil
}

func checkURL(base, from string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return refuse("the address from "+from+" is not one that can be asked", "write it as http://host:port/v1 or https://host/v1")
	}
	return nil
}

// named fills in the model of a server that may know better than we do.
func named(c Choice, h house, peers Peers) (Choice, error) {
	switch {
	case c.Model != "":
	case h.at(c.BaseURL):
		c.Model = h.model
	default:
		var err error
		if peers.First != nil {
			c.Model, err = peers.First(c.BaseURL, c.Key)
		}
		if err != nil {
			return Choice{}, refuse("no model is named, and "+redact(c.BaseURL)+" could not be asked for one: "+err.Error(),
				"start the server or check its address, or set RIPCORD_MODEL")
		}
		if c.Model == "" {
			return Choice{}, refuse("no model is named, and "+redact(c.BaseURL)+" lists none",
				"set RIPCORD_MODEL to one that the server has, and check that it runs")
		}
		c.Why += "; its first model"
	}
	return c, nil
}

// fallback is for when nothing that can be used was set.
func fallback(chat bool, peers Peers, c Choice) (Choice, error) {
	if !chat {
		return Choice{}, refuse("no model provider is set",
			"set RIPCORD_BASE_URL (with /v1), OPENAI_API_KEY or ANTHROPIC_API_KEY, or RIPCORD_PROVIDER=scripted to try without one")
	}
	for _, l := range Locals() {
		if peers.Alive == nil || !peers.Alive(l.BaseURL) {
			continue
		}
		local := c
		local.BaseURL, local.Why = l.BaseURL, l.Name+" answers on this machine"
		if local, err := named(local, houseOf(c.Provider), peers); err == nil {
			return local, nil
		}
	}
	return scriptedChoice("no provider is set and no local server answers; set RIPCORD_BASE_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY for a real model"), nil
}

func scriptedChoice(why string) Choice {
	return Choice{Provider: Scripted, Model: Scripted, Why: why}
}

func refuse(sentence, hint string) error {
	return &Error{Failure: event.Failure{Code: event.FailConfig, Message: sentence, Hint: hint}}
}

// redact gives an address without what may be secret in it.
func redact(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "the server"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Loopback returns the real [Peers]: each question is one GET of /models, at
// most limit long (300 ms where limit is 0). Alive asks loopback addresses
// only and follows no redirect.
func Loopback(ctx context.Context, limit time.Duration) Peers {
	if limit <= 0 {
		limit = 300 * time.Millisecond
	}
	return Peers{
		Alive: func(base string) bool {
			u, err := url.Parse(base)
			if err != nil {
				return false
			}
			if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
				return false
			}
			_, err = listModels(ctx, base, "", limit)
			return err == nil
		},
		First: func(base, key string) (string, error) {
			names, err := listModels(ctx, base, key, 10*limit)
			if len(names) == 0 {
				return "", err
			}
			return names[0], nil
		},
	}
}

// listModels returns the models a server lists. The error says that it is no
// model server, or why that could not be found out; it names no address.
func listModels(ctx context.Context, base, key string, limit time.Duration) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	switch {
	case err != nil:
		return nil, withoutURL(err)
	case res.StatusCode != http.StatusOK:
		return nil, errors.New("it answered " + res.Status)
	case json.Unmarshal(body, &list) != nil || list.Data == nil:
		return nil, errors.New("its answer is no list of models")
	}
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// withoutURL takes the address, which may hold a secret, off what net/http says.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
