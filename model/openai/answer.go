package openai

import (
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// answer turns chunks into deltas. Blocks are numbered in the order they open;
// one is open at a time:
//
//	none ─▶ text ⇄ reasoning ⇄ call ─▶ … ─finish_reason─▶ finished (only usage counts)
//
// take is the only function that changes it while a stream runs; cutOff is for
// an end without a finish.
type answer struct {
	out    []event.Delta // of the last chunk
	kind   blockKind
	block  int // number of the open block, else of the next
	text   runes
	call   call
	calls  int
	some   bool // something was said
	finish string
	usage  event.Tokens
	last   bool // usage came with the finish or after it
	chunk  chunk
}

type blockKind int

const (
	noBlock blockKind = iota
	textBlock
	reasoningBlock
	callBlock
)

// call is the open call. Its start is held back until its name is known.
type call struct {
	index   int64
	id      string
	name    string
	started bool
	args    []byte
}

// chunk is one event as it came; its memory is used again.
type chunk struct {
	content, reasoning []byte
	signature, data    string
	calls              []callDelta
	finish             string
	usage              event.Tokens
	counted            bool
	fault              []byte
}

type callDelta struct {
	index   int64
	indexed bool
	id      string
	name    string
	args    []byte
}

// reported is an error object in the stream.
type reported []byte

func (reported) Error() string { return "the peer reported an error" }

// misplaced is a delta that belongs nowhere.
type misplaced string

func (m misplaced) Error() string { return string(m) }

func (a *answer) finished() bool { return a.finish != "" }
func (a *answer) counted() bool  { return a.finished() && a.last }

// empty says that a stream finished in good order with nothing in it. A limit
// or a filter is a reason of its own.
func (a *answer) empty() bool {
	r := a.reason()
	return !a.some && (r == event.FinishStop || r == event.FinishTools)
}

func (a *answer) reason() event.FinishReason {
	switch a.finish {
	case "length":
		return event.FinishLength
	case "content_filter":
		return event.FinishFilter
	}
	if a.calls > 0 {
		return event.FinishTools
	}
	return event.FinishStop
}

// take reads one event's data and leaves its deltas in out.
func (a *answer) take(data []byte) error {
	c := &a.chunk
	*c = chunk{content: c.content[:0], reasoning: c.reasoning[:0], calls: c.calls[:0]}
	s := scan{b: data}
	if err := c.read(&s); err != nil {
		return err
	}
	if s.peek(); s.i != len(data) {
		return errSyntax
	}
	if c.fault != nil && !a.finished() {
		return reported(c.fault)
	}
	if !a.finished() {
		if err := a.apply(c); err != nil {
			return err
		}
	}
	if c.counted {
		a.count(c.usage)
		a.last = a.finished()
	}
	return nil
}

func (a *answer) apply(c *chunk) error {
	if len(c.reasoning) > 0 || c.signature != "" || c.data != "" {
		a.think(c)
	}
	if len(c.content) > 0 {
		a.open(textBlock)
		if t := a.text.join(c.content); t != "" {
			a.some = true
			a.out = append(a.out, event.TextDelta{Block: a.block, Text: t})
		}
	}
	for i := range c.calls {
		if err := a.callDelta(&c.calls[i]); err != nil {
			return err
		}
	}
	if c.finish != "" {
		// At a limit the last call may be half a call; it must not look whole.
		if cut := c.finish == "length" || c.finish == "content_filter"; cut && !json.Valid(a.call.args) {
			a.cutOff()
		}
		a.close()
		a.finish = c.finish
	}
	return nil
}

func (a *answer) think(c *chunk) {
	a.open(reasoningBlock)
	d := event.ReasoningDelta{Block: a.block, Text: a.text.join(c.reasoning), Signature: c.signature, Data: c.data}
	if d.Signature != "" || d.Data != "" {
		d.Text += a.text.flush()
		d.Provider = model.OpenAIChat
	}
	if d != (event.ReasoningDelta{Block: a.block}) {
		a.some = true
		a.out = append(a.out, d)
	}
	if d.Signature != "" || d.Data != "" {
		a.close()
	}
}

func (a *answer) callDelta(d *callDelta) error {
	if !a.continues(d) {
		if d.id == "" && d.name == "" {
			if len(d.args) == 0 {
				return nil
			}
			return misplaced("sent arguments for a tool call that is not open")
		}
		a.close()
		a.open(callBlock)
		a.some = true
		a.calls++
		a.call = call{index: d.index, args: a.call.args[:0]}
	}
	if a.call.id == "" {
		a.call.id = d.id
	}
	if a.call.name == "" {
		a.call.name = d.name
	}
	early := !a.call.started && len(a.call.args) > 0
	if !a.call.started && a.call.name != "" {
		a.startCall()
		if early { // arguments that came before the name
			a.args(a.call.args)
		}
	}
	a.call.args = append(a.call.args, d.args...)
	if a.call.started {
		a.args(d.args)
	}
	return nil
}

// continues tells a fragment of the open call from a new call's start.
func (a *answer) continues(d *callDelta) bool {
	switch {
	case a.kind != callBlock:
		return false
	case d.indexed && d.index != a.call.index:
		return false
	case d.id != "" && a.call.id != "" && d.id != a.call.id:
		return false
	case d.name != "" && a.call.name != "" && json.Valid(a.call.args):
		return false
	}
	return true
}

func (a *answer) startCall() {
	a.call.started = true
	a.out = append(a.out, event.CallStart{Block: a.block, ID: a.call.id, Name: a.call.name})
}

func (a *answer) args(p []byte) {
	if t := a.text.join(p); t != "" {
		a.out = append(a.out, event.ArgsDelta{Block: a.block, Text: t})
	}
}

// open makes kind the open block; a call always opens a new one.
func (a *answer) open(kind blockKind) {
	if a.kind != kind {
		a.close()
		a.kind = kind
	}
}

// cutOff gives out what is held of an open text and forgets an open call: its
// arguments are not complete, so it has no end.
func (a *answer) cutOff() {
	if a.kind == callBlock {
		a.text.flush()
		a.kind = noBlock
		a.block++
	}
	a.close()
}

// close ends the open block.
func (a *answer) close() {
	rest := a.text.flush()
	switch a.kind {
	case noBlock:
		return
	case textBlock:
		if rest != "" {
			a.out = append(a.out, event.TextDelta{Block: a.block, Text: rest})
		}
	case reasoningBlock:
		if rest != "" {
			a.out = append(a.out, event.ReasoningDelta{Block: a.block, Text: rest})
		}
	case callBlock:
		if !a.call.started {
			a.startCall()
			a.args(a.call.args)
			rest += a.text.flush()
		}
		if rest != "" {
			a.out = append(a.out, event.ArgsDelta{Block: a.block, Text: rest})
		}
		a.out = append(a.out, event.CallEnd{Block: a.block})
	}
	a.kind = noBlock
	a.block++
}

func (a *answer) count(u event.Tokens) {
	if u.Input == nil {
		u.Input = a.usage.Input
	}
	if u.Output == nil {
		u.Output = a.usage.Output
	}
	if same(u.Input, a.usage.Input) && same(u.Output, a.usage.Output) {
		return
	}
	a.usage = u
	a.out = append(a.out, event.UsageDelta{Usage: u})
}

func same(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}
