package model

import (
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
)

// Blocks makes deltas of what a driver reads off its wire: it numbers the
// blocks in the order in which they open, one open at a time, and cuts only
// between runes.
//
//	none ⇄ text ⇄ reasoning ⇄ call
//
// Each method appends to Out, which its owner empties. The zero value is ready.
type Blocks struct {
	Out   []event.Delta
	Calls int  // opened so far
	Some  bool // something was said

	kind  blockKind
	block int // number of the open block, else of the next
	text  Runes
	call  openCall
	usage event.Tokens
}

type blockKind int

const (
	noBlock blockKind = iota
	textBlock
	reasoningBlock
	callBlock
)

// openCall is the open call. Its start is held back until its name is known.
type openCall struct {
	id      string
	name    string
	started bool
	args    []byte
}

// Text adds words.
func (b *Blocks) Text(p []byte) {
	if len(p) == 0 {
		return
	}
	b.open(textBlock)
	if t := b.text.Join(p); t != "" {
		b.Some = true
		b.Out = append(b.Out, event.TextDelta{Block: b.block, Text: t})
	}
}

// Think adds thinking. A signature or data, whose provider it names, ends the
// block.
func (b *Blocks) Think(p []byte, signature, data, provider string) {
	if len(p) == 0 && signature == "" && data == "" {
		return
	}
	b.open(reasoningBlock)
	d := event.ReasoningDelta{Block: b.block, Text: b.text.Join(p), Signature: signature, Data: data}
	if signature != "" || data != "" {
		d.Text += b.text.Flush()
		d.Provider = provider
	}
	if d != (event.ReasoningDelta{Block: b.block}) {
		b.Some = true
		b.Out = append(b.Out, d)
	}
	if signature != "" || data != "" {
		b.Close()
	}
}

// OpenCall opens a call, which [Blocks.Name] names.
func (b *Blocks) OpenCall() {
	b.Close()
	b.kind = callBlock
	b.Some = true
	b.Calls++
	b.call = openCall{args: b.call.args[:0]}
}

// InCall says whether a call is open, and gives its id and name so far.
func (b *Blocks) InCall() (id, name string, ok bool) {
	return b.call.id, b.call.name, b.kind == callBlock
}

// Name sets what is not known yet of the open call and starts it once it has a
// name.
func (b *Blocks) Name(id, name string) {
	if b.call.id == "" {
		b.call.id = id
	}
	if b.call.name == "" {
		b.call.name = name
	}
	if !b.call.started && b.call.name != "" {
		b.start()
	}
}

func (b *Blocks) start() {
	b.call.started = true
	b.Out = append(b.Out, event.CallStart{Block: b.block, ID: b.call.id, Name: b.call.name})
	if len(b.call.args) > 0 { // arguments that came before the name
		b.fragment(b.call.args)
	}
}

// Args adds a fragment to the open call's arguments.
func (b *Blocks) Args(p []byte) {
	b.call.args = append(b.call.args, p...)
	if b.call.started {
		b.fragment(p)
	}
}

func (b *Blocks) fragment(p []byte) {
	if t := b.text.Join(p); t != "" {
		b.Out = append(b.Out, event.ArgsDelta{Block: b.block, Text: t})
	}
}

// mostHeld bounds what is held back of a call until its name is known.
const mostHeld = 1 << 20 // bytes

// over says that more is held back than anybody waits for.
func (b *Blocks) over() bool {
	return b.kind == callBlock && !b.call.started && len(b.call.args) > mostHeld
}

// WholeArgs says whether the open call's arguments are JSON.
func (b *Blocks) WholeArgs() bool { return json.Valid(b.call.args) }

// open makes kind the open block.
func (b *Blocks) open(kind blockKind) {
	if b.kind != kind {
		b.Close()
		b.kind = kind
	}
}

// CutOff gives out what is held of an open text and forgets an open call: its
// arguments are not complete, so it has no end.
func (b *Blocks) CutOff() {
	if b.kind == callBlock {
		b.text.Flush()
		b.kind = noBlock
		b.block++
	}
	b.Close()
}

// CutHalf is CutOff for an answer that ended at a limit: an open call whose
// arguments are whole has its end.
func (b *Blocks) CutHalf() {
	if b.WholeArgs() {
		b.Close()
		return
	}
	b.CutOff()
}

// Close ends the open block.
func (b *Blocks) Close() {
	rest := b.text.Flush()
	switch b.kind {
	case noBlock:
		return
	case textBlock:
		if rest != "" {
			b.Out = append(b.Out, event.TextDelta{Block: b.block, Text: rest})
		}
	case reasoningBlock:
		if rest != "" {
			b.Out = append(b.Out, event.ReasoningDelta{Block: b.block, Text: rest})
		}
	case callBlock:
		if !b.call.started {
			b.start()
			rest += b.text.Flush()
		}
		if rest != "" {
			b.Out = append(b.Out, event.ArgsDelta{Block: b.block, Text: rest})
		}
		b.Out = append(b.Out, event.CallEnd{Block: b.block})
	}
	b.kind = noBlock
	b.block++
}

// Count reports token counts. A count that is nil was not given.
func (b *Blocks) Count(u event.Tokens) {
	if u.Input == nil {
		u.Input = b.usage.Input
	}
	if u.Output == nil {
		u.Output = b.usage.Output
	}
	if same(u.Input, b.usage.Input) && same(u.Output, b.usage.Output) {
		return
	}
	b.usage = u
	b.Out = append(b.Out, event.UsageDelta{Usage: u})
}

func same(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}
