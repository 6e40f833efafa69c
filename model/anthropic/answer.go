package anthropic

import (
	"fmt"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

// answer turns the events of a message into deltas. One block is open at a
// time:
//
//	none ⇄ text | thinking | redacted | call | other ─stop_reason─▶ finished ─message_stop─▶ whole
//
// Take is the only function that changes it.
type answer struct {
	blocks    model.Blocks
	open      blockKind
	index     int64
	grew      bool // the open call's arguments came in pieces
	input     []byte
	signature []byte
	stop      string
	last      bool // message_stop, or usage with the stop reason or after it
	ev        wireEvent
}

type blockKind int

const (
	noBlock blockKind = iota
	textBlock
	thinkingBlock
	redactedBlock
	callBlock
	otherBlock // of a kind that was not asked for
)

var _ model.Decoder = (*answer)(nil)

// wireEvent is one event as it came; its memory is used again.
type wireEvent struct {
	kind    string
	index   int64
	block   block
	delta   delta
	usage   event.Tokens
	counted bool // an output count came
	fault   bool
}

type block struct {
	kind, id, name, data string
	text                 []byte // of text or thinking, if any came with the start
	signature            []byte
	input                []byte // JSON
}

type delta struct {
	kind      string
	text      []byte // of text, thinking or arguments
	signature []byte
	stop      string
}

func (a *answer) Blocks() *model.Blocks { return &a.blocks }

func (a *answer) Stage() model.Stage {
	switch {
	case a.stop == "":
		return model.Speaking
	case a.last:
		return model.Whole
	}
	return model.Finished
}

// Reason reads the stop reason. A turn that the provider paused is not whole:
// nothing that we ask for is ever paused.
func (a *answer) Reason() event.FinishReason {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		return event.FinishLength
	case "refusal":
		return event.FinishFilter
	}
	if a.blocks.Calls > 0 {
		return event.FinishTools
	}
	return event.FinishStop
}

// Take reads one event's data.
func (a *answer) Take(data []byte) error {
	e, s := &a.ev, model.NewScan(data)
	if err := e.read(s); err != nil {
		return err
	}
	if !s.End() {
		return model.ErrSyntax
	}
	if a.stop != "" {
		a.after(e)
		return nil
	}
	switch e.kind {
	case "message_start":
		// The output count of the start is that of nothing said yet.
		a.blocks.Count(event.Tokens{Input: e.usage.Input})
	case "content_block_start":
		a.start(e)
	case "content_block_delta":
		return a.grow(e)
	case "content_block_stop":
		if a.open != noBlock && e.index == a.index {
			a.shut()
		}
	case "message_delta":
		a.finish(e)
	case "message_stop":
		return model.ErrEarly
	case "error":
		return model.Reported(data)
	default:
		if e.fault {
			return model.Reported(data)
		}
	}
	return nil
}

// after takes what follows the stop reason.
func (a *answer) after(e *wireEvent) {
	a.blocks.Count(e.usage)
	a.last = a.last || e.kind == "message_stop" || e.counted
}

func (a *answer) start(e *wireEvent) {
	if a.open != noBlock {
		a.shut() // some leave the stop out
	}
	b := &e.block
	a.index, a.grew, a.input, a.signature = e.index, false, a.input[:0], a.signature[:0]
	switch b.kind {
	case "text":
		a.open = textBlock
		a.blocks.Text(b.text)
	case "thinking":
		a.open = thinkingBlock
		a.signature = append(a.signature, b.signature...)
		a.blocks.Think(b.text, "", "", "")
	case "redacted_thinking":
		a.open = redactedBlock
		a.blocks.Think(nil, "", b.data, model.Anthropic)
	case "tool_use":
		a.open = callBlock
		a.input = append(a.input, b.input...)
		a.blocks.OpenCall()
		a.blocks.Name(b.id, b.name)
	default:
		a.open = otherBlock
	}
}

// mostSignature bounds a signature, which is told at its block's end only.
const mostSignature = 1 << 20 // bytes

func (a *answer) grow(e *wireEvent) error {
	d := &e.delta
	if a.open == otherBlock && a.index == e.index {
		return nil
	}
	want := noBlock
	switch d.kind {
	case "text_delta":
		want = textBlock
	case "thinking_delta", "signature_delta":
		want = thinkingBlock
	case "input_json_delta":
		want = callBlock
	default:
		return nil // citations and what is to come
	}
	if a.open != want || a.index != e.index {
		return model.Misplaced("sent a " + d.kind + " for a block that is not open")
	}
	switch a.open {
	case textBlock:
		a.blocks.Text(d.text)
	case thinkingBlock:
		if len(a.signature)+len(d.signature) > mostSignature {
			return model.Misplaced(fmt.Sprintf("sent a signature of more than %d bytes", mostSignature))
		}
		a.signature = append(a.signature, d.signature...)
		a.blocks.Think(d.text, "", "", "")
	case callBlock:
		a.grew = a.grew || len(d.text) > 0
		a.blocks.Args(d.text)
	case noBlock, redactedBlock, otherBlock:
	}
	return nil
}

// shut ends the open block.
func (a *answer) shut() {
	switch a.open {
	case thinkingBlock:
		a.blocks.Think(nil, string(a.signature), "", model.Anthropic)
		a.blocks.Close()
	case callBlock:
		if in := string(a.input); !a.grew && in != "" && in != "{}" && in != "null" {
			a.blocks.Args(a.input) // all at once
		}
		if a.blocks.WholeArgs() {
			a.blocks.Close()
		} // else whether it was cut is known at the next block or the stop reason
	case noBlock, textBlock, redactedBlock, otherBlock:
		a.blocks.Close()
	}
	a.open = noBlock
}

func (a *answer) finish(e *wireEvent) {
	if e.delta.stop != "" {
		if a.open != noBlock {
			a.shut()
		}
		a.stop = e.delta.stop
		switch a.Reason() {
		case event.FinishLength, event.FinishFilter:
			a.blocks.CutHalf()
		case event.FinishStop, event.FinishTools:
			a.blocks.Close()
		}
		a.last = e.counted
	}
	a.blocks.Count(e.usage)
}
