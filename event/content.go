package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Content is what a message or a result carries, in order.
type Content []Part

// Part is one piece of content. The set is closed: [Text], [Reasoning],
// [Image], [File] and [ToolCall].
type Part interface{ part() string }

// Text is words.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is a model's thinking. Signature and Data are the provider's own
// bytes and are handed back to it unchanged; a block whose signature did not
// arrive is not sent again.
type Reasoning struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`     // redacted or encrypted form, opaque
	Provider  string `json:"provider,omitempty"` // whose signature it is
}

// Image is a picture, in place or by reference; exactly one of Data and Blob
// is set.
type Image struct {
	MediaType string   `json:"media_type"`
	Data      []byte   `json:"data,omitempty"`
	Blob      *BlobRef `json:"blob,omitempty"`
	Name      string   `json:"name,omitempty"`
}

// File is an attached document, in place or by reference.
type File struct {
	MediaType string   `json:"media_type"`
	Name      string   `json:"name"`
	Data      []byte   `json:"data,omitempty"`
	Blob      *BlobRef `json:"blob,omitempty"`
}

// ToolCall is a model's wish to run a tool, as it stands in its message.
type ToolCall struct {
	ID   CallID          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // always valid JSON; see CallRequested.BadArgs
}

func (Text) part() string      { return "text" }
func (Reasoning) part() string { return "reasoning" }
func (Image) part() string     { return "image" }
func (File) part() string      { return "file" }
func (ToolCall) part() string  { return "call" }

// BlobRef names a large value kept beside the journal by its digest.
type BlobRef struct {
	Digest string `json:"digest"` // "sha256:" and 64 hex digits
	Size   int64  `json:"size"`   // bytes
}

// TextOf returns content of one text part, or none when s is blank.
func TextOf(s string) Content {
	if s == "" {
		return nil
	}
	return Content{Text{s}}
}

// Text returns the words of c, text parts joined, nothing else.
func (c Content) Text() string {
	var b strings.Builder
	for _, p := range c {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Calls returns the tool calls of c in order.
func (c Content) Calls() []ToolCall {
	var out []ToolCall
	for _, p := range c {
		if t, ok := p.(ToolCall); ok {
			out = append(out, t)
		}
	}
	return out
}

// MarshalJSON writes each part with its kind first.
func (c Content) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, p := range c {
		if i > 0 {
			out = append(out, ',')
		}
		body, err := marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode %s part: %w", p.part(), err)
		}
		out = append(out, `{"kind":"`+p.part()+`"`...)
		if len(body) > 2 {
			out = append(out, ',')
			out = append(out, body[1:]...)
		} else {
			out = append(out, '}')
		}
	}
	return append(out, ']'), nil
}

// MaxParts is how many parts a content has at most: a part costs far more memory
// than the two bytes that it may take from outside.
const MaxParts = 1 << 16

// UnmarshalJSON reads parts by their kind; a kind it does not know becomes a
// text part that says so, so that a newer writer's content stays readable. More
// than [MaxParts] are an error, before they are read.
func (c *Content) UnmarshalJSON(b []byte) error {
	if bytes.Count(b, []byte{','}) >= MaxParts && tooMany(b) {
		return fmt.Errorf("content has more than %d parts", MaxParts)
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(b, &raws); err != nil {
		return err
	}
	out := make(Content, 0, len(raws))
	for _, raw := range raws {
		p, err := decodePart(raw)
		if err != nil {
			return err
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		out = nil
	}
	*c = out
	return nil
}

// tooMany counts the elements of a list one by one and stops at the bound.
func tooMany(list []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(list))
	if _, err := dec.Token(); err != nil {
		return false // it is no list, which others say
	}
	for n := 0; dec.More(); n++ {
		var part json.RawMessage
		if n == MaxParts {
			return true
		}
		if dec.Decode(&part) != nil {
			return false
		}
	}
	return false
}

func decodePart(raw json.RawMessage) (Part, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Kind {
	case "text":
		return as[Text](raw)
	case "reasoning":
		return as[Reasoning](raw)
	case "image":
		return as[Image](raw)
	case "file":
		return as[File](raw)
	case "call":
		return as[ToolCall](raw)
	}
	return Text{"[content of a kind this version does not know: " + head.Kind + "]"}, nil
}

func as[T Part](raw json.RawMessage) (Part, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// Role says whose message it is.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the results of one assistant message's calls
)

// Message is one entry of a model's context. A tool message answers exactly
// one call; adapters merge neighbours where their wire needs it.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
	Call    CallID  `json:"call,omitempty"`  // tool messages: the call answered
	Name    string  `json:"name,omitempty"`  // tool messages: the tool's name
	Error   bool    `json:"error,omitempty"` // tool messages: the wire's error flag
	Partial bool    `json:"partial,omitempty"`
}

// ToolSchema describes a tool to a model.
type ToolSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments
}

// UserInput is what a person or a program submits: text, images, files, mixed.
type UserInput struct {
	Content Content `json:"content"`
}

// Media reports whether the input holds anything but text.
func (u UserInput) Media() bool {
	for _, p := range u.Content {
		if _, ok := p.(Text); !ok {
			return true
		}
	}
	return false
}
