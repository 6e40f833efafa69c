package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// Exchange is what was said to a model, what it said, and the results of its
// calls in the calls' order. User is empty where the model went on by itself,
// Said where nothing has been answered yet.
type Exchange struct {
	User    event.Content
	Said    event.Content
	Results []event.Message
}

// Exchanges puts a history into the form that wires of alternating roles take:
// neighbours of one role are one, and the results of a message's calls follow
// it. Of what the model said it leaves out blank text, reasoning that provider
// did not sign, and reasoning that led to nothing; of reasoning it changes not
// a byte. It mends nothing: a call without its result stays one.
func Exchanges(messages []event.Message, provider string) []Exchange {
	var out []Exchange
	var open Exchange
	shut := func() {
		if len(open.Said)+len(open.Results) == 0 {
			return // the user goes on
		}
		order(&open)
		out = append(out, open)
		open = Exchange{}
	}
	for _, m := range messages {
		switch m.Role {
		case event.RoleUser:
			shut()
			open.User = append(open.User, m.Content...)
		case event.RoleAssistant:
			if len(open.Results) > 0 {
				shut()
			}
			open.Said = append(open.Said, sayable(m.Content, provider)...)
		case event.RoleTool:
			open.Results = append(open.Results, m)
		}
	}
	shut()
	if len(open.User) > 0 {
		out = append(out, open)
	}
	return out
}

// sayable is what may be sent back of one message.
func sayable(c event.Content, provider string) event.Content {
	var out event.Content
	for _, p := range c {
		switch p := p.(type) {
		case event.Text:
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, p)
			}
		case event.Reasoning:
			if p.Provider == provider && (p.Signature != "" || p.Data != "") {
				out = append(out, p)
			}
		case event.ToolCall:
			out = append(out, p)
		case event.Image, event.File: // no wire takes them from a model
		}
	}
	for len(out) > 0 {
		if _, ok := out[len(out)-1].(event.Reasoning); !ok {
			break
		}
		out = out[:len(out)-1]
	}
	return out
}

func order(e *Exchange) {
	place := map[event.CallID]int{}
	for i, c := range e.Said.Calls() {
		place[c.ID] = i
	}
	slices.SortStableFunc(e.Results, func(x, y event.Message) int { return cmp.Compare(place[x.Call], place[y.Call]) })
}

// WireID gives a call's id in a form that every wire takes: letters, digits, _
// and -, at most limit of them. An id that is not of that form, as another
// provider may have given it, becomes one made of its digest, always the same.
func WireID(id event.CallID, limit int) string {
	if s := string(id); plain(s, limit) {
		return s
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// CallName gives the name of a call in the history in a form that every wire
// takes: a model may have called what never existed. A name that the request
// offers stays as it is.
func (r Request) CallName(name string) string {
	offered := func(t event.ToolSchema) bool { return t.Name == name }
	if plain(name, maxName) || slices.ContainsFunc(r.Tools, offered) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '_'
	}, name)
	return orElse(name[:min(len(name), maxName)], "unnamed")
}

const maxName = 64

func plain(s string, limit int) bool {
	return s != "" && len(s) <= limit && !strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) })
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
