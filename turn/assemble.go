package turn

import (
	"bytes"
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
)

// answer is what a stream came to: parts in the order in which they began.
type answer []part

type part struct {
	event.Part
	bad string // a call's arguments that are not a JSON object, verbatim
}

func (a answer) content() event.Content {
	var c event.Content
	for _, p := range a {
		c = append(c, p.Part)
	}
	return c
}

// asked is a call as a whole answer spelled it.
type asked struct {
	event.ToolCall
	Bad string
}

func (a answer) calls() []asked {
	var out []asked
	for _, p := range a {
		if c, ok := p.Part.(event.ToolCall); ok {
			out = append(out, asked{c, p.bad})
		}
	}
	return out
}

// assemble makes the answer of the step's blocks. A cut answer keeps what is
// whole: a half-written call is not kept as a call.
func assemble(s *Step, cut bool) answer {
	var out answer
	for _, b := range s.Blocks {
		switch b.Kind {
		case event.ChunkText:
			if b.Text != "" {
				out = append(out, part{Part: event.Text{Text: b.Text}})
			}
		case event.ChunkReasoning:
			if b.Text != "" || b.Data != "" || b.Signature != "" { // a signature alone: thinking kept out of sight
				out = append(out, part{Part: event.Reasoning{Text: b.Text, Signature: b.Signature, Data: b.Data, Provider: b.Provider}})
			}
		case event.ChunkArgs:
			args, bad := arguments(b)
			if cut && (!b.Done || bad != "") {
				continue
			}
			out = append(out, part{event.ToolCall{ID: b.Call, Name: b.Name, Args: args}, bad})
		}
	}
	return out
}

// arguments judges a call's arguments: they are an object, on one line, or they
// are bad. Nothing is mended: cut arguments are never run.
func arguments(b *Block) (args json.RawMessage, bad string) {
	text := bytes.TrimSpace([]byte(b.Text))
	if len(text) == 0 && b.Done {
		return json.RawMessage("{}"), ""
	}
	var compact bytes.Buffer
	if len(text) == 0 || text[0] != '{' || json.Compact(&compact, text) != nil {
		if len(text) == 0 {
			return json.RawMessage("{}"), "(none)"
		}
		return json.RawMessage("{}"), b.Text
	}
	return compact.Bytes(), ""
}
