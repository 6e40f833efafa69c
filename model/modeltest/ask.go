package modeltest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// Driver is what is tested.
type Driver struct {
	// New returns a driver that asks baseURL. If it is an [io.Closer] the
	// suite closes it.
	New func(t testing.TB, baseURL string) model.Model
	// Keyed is New with a key; nil leaves out what is asked of keys.
	Keyed func(t testing.TB, baseURL, key string) model.Model
	// Wire is the wire that the driver speaks, one of the names in model; empty
	// means openai-chat.
	Wire string
}

func (d Driver) wire() string {
	if d.Wire == "" {
		return model.OpenAIChat
	}
	return d.Wire
}

// Serve starts a strict server for script; it closes with the test.
func Serve(t testing.TB, script string) *scripted.Server {
	t.Helper()
	s, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.NewServer(s, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// open returns a driver for srv that closes with the test, before the server.
func (d Driver) open(t testing.TB, baseURL string) model.Model {
	t.Helper()
	m := d.New(t, baseURL)
	if c, ok := m.(io.Closer); ok {
		t.Cleanup(func() { _ = c.Close() })
	}
	return m
}

// Say is a request of one user message.
func Say(text string) model.Request {
	return model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.TextOf(text)}}}
}

// Answer is a collected stream.
type Answer struct {
	Deltas    []event.Delta
	Text      string
	Reasoning string
	Signature string
	Data      string
	Calls     []Call
	Usage     event.Tokens
	Finish    event.FinishReason // empty if none came
	Err       error
}

// Call is a collected call.
type Call struct {
	ID, Name, Args string
	Ended          bool
	block          int
}

// Ask collects one stream to its end.
func Ask(ctx context.Context, m model.Model, req model.Request) Answer {
	var a Answer
	for d, err := range m.Stream(ctx, req) {
		a.take(d, err)
	}
	return a
}

func (a *Answer) take(d event.Delta, err error) {
	if err != nil {
		a.Err = err
		return
	}
	a.Deltas = append(a.Deltas, d)
	switch d := d.(type) {
	case event.TextDelta:
		a.Text += d.Text
	case event.ReasoningDelta:
		a.Reasoning += d.Text
		if d.Signature != "" {
			a.Signature = d.Signature
		}
		if d.Data != "" {
			a.Data = d.Data
		}
	case event.CallStart:
		a.Calls = append(a.Calls, Call{ID: d.ID, Name: d.Name, block: d.Block})
	case event.ArgsDelta:
		a.call(d.Block).Args += d.Text
	case event.CallEnd:
		a.call(d.Block).Ended = true
	case event.UsageDelta:
		a.Usage = d.Usage
	case event.Finish:
		a.Finish = d.Reason
	}
}

// call finds the call of a block; a delta of no call goes to a nameless one,
// which no test expects.
func (a *Answer) call(block int) *Call {
	for i := range a.Calls {
		if a.Calls[i].block == block {
			return &a.Calls[i]
		}
	}
	a.Calls = append(a.Calls, Call{block: block})
	return &a.Calls[len(a.Calls)-1]
}

// pieces returns every text that was yielded, one a delta.
func (a *Answer) pieces() []string {
	var out []string
	for _, d := range a.Deltas {
		switch d := d.(type) {
		case event.TextDelta:
			out = append(out, d.Text)
		case event.ReasoningDelta:
			out = append(out, d.Text)
		case event.ArgsDelta:
			out = append(out, d.Text)
		case event.CallStart, event.CallEnd, event.UsageDelta, event.Finish:
		}
	}
	return out
}

// Content gives what was collected as the message that a history keeps.
func (a *Answer) Content() event.Content {
	type key struct {
		block int
		kind  byte
	}
	var order []key
	parts := map[key]event.Part{}
	at := func(block int, kind byte, first event.Part) event.Part {
		k := key{block, kind}
		if parts[k] == nil {
			order = append(order, k)
			parts[k] = first
		}
		return parts[k]
	}
	for _, d := range a.Deltas {
		switch d := d.(type) {
		case event.TextDelta:
			p := at(d.Block, 't', event.Text{}).(event.Text)
			parts[key{d.Block, 't'}] = event.Text{Text: p.Text + d.Text}
		case event.ReasoningDelta:
			p := at(d.Block, 'r', event.Reasoning{}).(event.Reasoning)
			parts[key{d.Block, 'r'}] = event.Reasoning{Text: p.Text + d.Text, Signature: d.Signature, Data: d.Data, Provider: d.Provider}
		case event.CallStart:
			at(d.Block, 'c', event.ToolCall{ID: event.CallID(d.ID), Name: d.Name})
		case event.ArgsDelta:
			p := at(d.Block, 'c', event.ToolCall{}).(event.ToolCall)
			p.Args = append(p.Args, d.Text...)
			parts[key{d.Block, 'c'}] = p
		case event.CallEnd, event.UsageDelta, event.Finish:
		}
	}
	var c event.Content
	for _, k := range order {
		c = append(c, parts[k])
	}
	return c
}

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }
