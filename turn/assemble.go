package turn

import (
	"bytes"
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
)

// asked is a call as a streamed answer spelled it.
type asked struct {
	ID   event.CallID
	Name string
	Args json.RawMessage
	Bad  string // arguments that are not a JSON object, verbatim
}

// assemble makes the message of the step's blocks, in the order in which they
// began. A cut answer keeps what is whole: a half-written call is not kept as
// a call.
func assemble(s *Step, cut bool) (event.Content, []asked) {
	var content event.Content
	var calls []asked
	for _, b := range s.Blocks {
		switch b.Kind {
		case event.ChunkText:
			if b.Text != "" {
				content = append(content, event.Text{Text: b.Text})
			}
		case event.ChunkReasoning:
			if b.Text != "" || b.Data != "" {
				content = append(content, event.Reasoning{Text: b.Text, Signature: b.Signature, Data: b.Data, Provider: b.Provider})
			}
		case event.ChunkArgs:
			if cut && !b.Done {
				continue
			}
			c := asked{ID: b.Call, Name: b.Name}
			c.Args, c.Bad = arguments(b)
			if cut && c.Bad != "" {
				continue
			}
			content = append(content, event.ToolCall{ID: c.ID, Name: c.Name, Args: c.Args})
			calls = append(calls, c)
		}
	}
	return content, calls
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
