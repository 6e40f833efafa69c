package scripted

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// The wires, by the names that settings use.
const (
	wireChat      = "openai-chat"
	wireResponses = "openai-responses"
	wireMessages  = "anthropic"
)

// WirePath is a provider whose wire the server speaks, and where below the base
// URL it does.
type WirePath struct{ Provider, Path string }

// Wires lists what the server speaks.
func Wires() []WirePath {
	return []WirePath{
		{wireChat, "/chat/completions"},
		{wireResponses, "/responses"},
		{wireMessages, "/messages"},
	}
}

var (
	plainID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// list reads content that is a list of blocks, or a string that stands for one
// block of text.
func list[T any](raw json.RawMessage, text func(string) T) ([]T, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []T{text(s)}, nil
	}
	var out []T
	err := json.Unmarshal(raw, &out)
	return out, err
}

func content(parts []Part) json.RawMessage {
	if len(parts) == 0 {
		return json.RawMessage("null")
	}
	b, err := json.Marshal(parts)
	if err != nil {
		return json.RawMessage("null") // never: words and addresses
	}
	return b
}

func textPart(s string) Part { return Part{Type: "text", Text: s} }

func imagePart(url string) Part {
	p := Part{Type: "image_url"}
	p.ImageURL.URL = url
	return p
}

func newCall(id, name, args string) ToolCall {
	c := ToolCall{ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = name, args
	return c
}

// messagesBlock is one block of a message on the messages wire.
type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

func messagesText(s string) messagesBlock { return messagesBlock{Type: "text", Text: s} }

// readMessages reads a request of the messages wire. strict is what a strict
// provider refuses that [ValidateWire] does not see.
func readMessages(header http.Header, body []byte) (req ChatRequest, strict, err error) {
	var in struct {
		Model     string          `json:"model"`
		MaxTokens int             `json:"max_tokens"`
		Stream    bool            `json:"stream"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, nil, err
	}
	req.Model, req.Stream = in.Model, in.Stream
	for _, t := range in.Tools {
		req.addTool(t.Name, t.Schema)
	}
	r := messagesReader{req: &req}
	if header.Get("anthropic-version") == "" {
		r.refuse("the header anthropic-version is missing")
	}
	if in.MaxTokens < 1 {
		r.refuse("max_tokens is missing")
	}
	if len(in.System) > 0 {
		blocks, err := list(in.System, messagesText)
		if err != nil {
			return req, nil, err
		}
		r.add(Message{Role: "system", Content: content([]Part{textPart(blocks[0].Text)})})
	}
	before := ""
	for i, m := range in.Messages {
		r.i = i
		blocks, err := list(m.Content, messagesText)
		if err != nil {
			return req, nil, err
		}
		if m.Role == before {
			r.refuse("messages %d and %d are two %s messages in a row", i-1, i, m.Role)
		}
		if i == 0 && m.Role != "user" {
			r.refuse("the first message is not the user's")
		}
		before = m.Role
		r.message(m.Role, blocks)
	}
	if before != "user" {
		r.refuse("the conversation does not end with a user message")
	}
	return req, r.strict, nil
}

func (c *ChatRequest) addTool(name string, schema json.RawMessage) {
	var t chatTool
	t.Function.Name, t.Function.Parameters = name, schema
	c.Tools = append(c.Tools, t)
}

// messagesReader turns messages into those of chat completions and keeps the
// first reason to refuse them.
type messagesReader struct {
	req    *ChatRequest
	i      int
	strict error
}

func (r *messagesReader) refuse(format string, args ...any) {
	if r.strict == nil {
		r.strict = fmt.Errorf(format, args...)
	}
}

func (r *messagesReader) add(m Message) { r.req.Messages = append(r.req.Messages, m) }

func (r *messagesReader) message(role string, blocks []messagesBlock) {
	m := Message{Role: role}
	var parts []Part
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			if role != "user" || len(parts) > 0 {
				r.refuse("message %d: a tool_result stands first in a user message", r.i)
			}
			r.result(b)
		case "tool_use":
			r.call(&m, b)
		case "thinking":
			if b.Signature == "" {
				r.refuse("message %d holds thinking with an empty signature", r.i)
			}
			m.Reasoning = append(m.Reasoning, ReasoningBlock{Text: b.Thinking, Signature: b.Signature})
		case "redacted_thinking":
			m.Reasoning = append(m.Reasoning, ReasoningBlock{Data: b.Data})
		default:
			parts = append(parts, r.part(b))
		}
	}
	switch {
	case len(blocks) == 0:
		r.refuse("message %d is empty", r.i)
	case role == "assistant":
		if last := blocks[len(blocks)-1].Type; strings.HasSuffix(last, "thinking") {
			r.refuse("message %d: the final block of an assistant message cannot be %s", r.i, last)
		}
	case role == "user" && len(parts) == 0:
		return // results alone
	}
	m.Content = content(parts)
	r.add(m)
}

func (r *messagesReader) call(m *Message, b messagesBlock) {
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Input, &object) != nil || object == nil {
		r.refuse("message %d: the input of call %q is no object", r.i, b.ID)
	}
	if !plainID.MatchString(b.ID) {
		r.refuse("message %d: the call id %q does not match %s", r.i, b.ID, plainID)
	}
	if !plainName.MatchString(b.Name) {
		r.refuse("message %d: the tool name %q does not match %s", r.i, b.Name, plainName)
	}
	if m.Role != "assistant" {
		r.refuse("message %d: a tool_use stands in an assistant message", r.i)
	}
	m.ToolCalls = append(m.ToolCalls, newCall(b.ID, b.Name, string(b.Input)))
}

func (r *messagesReader) result(b messagesBlock) {
	var parts []Part
	if len(b.Content) > 0 {
		blocks, err := list(b.Content, messagesText)
		if err != nil {
			r.refuse("message %d: the content of a tool_result cannot be read: %w", r.i, err)
		}
		for _, inner := range blocks {
			parts = append(parts, r.part(inner))
		}
	}
	if !plainID.MatchString(b.ToolUseID) {
		r.refuse("message %d: the tool_use_id %q does not match %s", r.i, b.ToolUseID, plainID)
	}
	r.add(Message{Role: "tool", ToolCallID: b.ToolUseID, Content: content(parts)})
}

func (r *messagesReader) part(b messagesBlock) Part {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			r.refuse("message %d holds a block of text with nothing in it", r.i)
		}
		return textPart(b.Text)
	case "image":
		switch b.Source.MediaType {
		case "image/jpeg", "image/png", "image/gif", "image/webp":
		default:
			r.refuse("message %d holds an image of the type %q", r.i, b.Source.MediaType)
		}
	case "document":
	default:
		r.refuse("message %d holds a block of the type %q", r.i, b.Type)
		return textPart("")
	}
	if data, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil || len(data) == 0 {
		r.refuse("message %d holds %s without data", r.i, b.Type)
	}
	return imagePart("data:" + b.Source.MediaType + ";base64," + b.Source.Data)
}

// responsesItem is one item of the input on the responses wire.
type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   []responsesPart `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
	FileData string `json:"file_data"`
}

// readResponses reads a request of the responses wire; see [readMessages].
func readResponses(body []byte) (req ChatRequest, strict, err error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, nil, err
	}
	req.Model, req.Stream = in.Model, in.Stream
	for _, t := range in.Tools {
		req.addTool(t.Name, t.Parameters)
	}
	items, err := list(in.Input, func(s string) responsesItem {
		quoted, _ := json.Marshal(s) // a string always encodes
		return responsesItem{Role: "user", Content: quoted}
	})
	if err != nil {
		return req, nil, err
	}
	r := responsesReader{req: &req}
	if in.Instructions != "" {
		req.Messages = append(req.Messages, Message{Role: "system", Content: content([]Part{textPart(in.Instructions)})})
	}
	for i, item := range items {
		r.i = i
		if err := r.item(item); err != nil {
			r.refuse("item %d: %w", i, err)
		}
	}
	if r.alone {
		r.refuse("item %d: reasoning is not followed by what it led to", r.i)
	}
	return req, r.strict, nil
}

// responsesReader is for items what [messagesReader] is for messages: the
// assistant's neighbouring items are one message.
type responsesReader struct {
	req    *ChatRequest
	i      int
	alone  bool // the item before was reasoning
	strict error
}

func (r *responsesReader) refuse(format string, args ...any) {
	if r.strict == nil {
		r.strict = fmt.Errorf(format, args...)
	}
}

// said returns the assistant message that is being put together.
func (r *responsesReader) said() *Message {
	if n := len(r.req.Messages); n == 0 || r.req.Messages[n-1].Role != "assistant" {
		r.req.Messages = append(r.req.Messages, Message{Role: "assistant"})
	}
	return &r.req.Messages[len(r.req.Messages)-1]
}

func (r *responsesReader) item(item responsesItem) error {
	mine := item.Type == "reasoning" || item.Type == "function_call" || item.Role == "assistant"
	if r.alone && !mine {
		r.refuse("item %d: reasoning is not followed by what it led to", r.i-1)
	}
	r.alone = item.Type == "reasoning"
	switch item.Type {
	case "", "message":
		return r.message(item)
	case "reasoning":
		return r.reasoning(item)
	case "function_call":
		if !plainName.MatchString(item.Name) {
			return fmt.Errorf("the tool name %q does not match %s", item.Name, plainName)
		}
		if len(item.CallID) > 64 {
			return errors.New("the call_id is longer than 64 characters")
		}
		m := r.said()
		m.ToolCalls = append(m.ToolCalls, newCall(item.CallID, item.Name, item.Arguments))
	case "function_call_output":
		parts, err := r.parts(item.Output, "input_")
		r.req.Messages = append(r.req.Messages, Message{Role: "tool", ToolCallID: item.CallID, Content: content(parts)})
		return err
	default:
		return fmt.Errorf("an item of the type %q", item.Type)
	}
	return nil
}

func (r *responsesReader) reasoning(item responsesItem) error {
	b := ReasoningBlock{Signature: item.ID, Data: item.Encrypted}
	for i, p := range item.Summary {
		if i > 0 {
			b.Text += "\n\n"
		}
		b.Text += p.Text
	}
	m := r.said()
	m.Reasoning = append(m.Reasoning, b)
	if item.ID == "" || item.Encrypted == "" {
		return errors.New("reasoning with an empty signature")
	}
	return nil
}

func (r *responsesReader) message(item responsesItem) error {
	kind := "input_"
	if item.Role == "assistant" {
		kind = "output_"
	}
	parts, err := r.parts(item.Content, kind)
	if err != nil {
		return err
	}
	if item.Role == "assistant" {
		m := r.said()
		old := m.Parts()
		m.Content = content(append(old, parts...))
	} else {
		r.req.Messages = append(r.req.Messages, Message{Role: item.Role, Content: content(parts)})
	}
	for _, p := range parts {
		if p.Type == "text" && strings.TrimSpace(p.Text) == "" {
			return errors.New("a message with nothing in it")
		}
	}
	if len(parts) == 0 {
		return errors.New("a message with nothing in it")
	}
	return nil
}

func (r *responsesReader) parts(raw json.RawMessage, kind string) ([]Part, error) {
	blocks, err := list(raw, func(s string) responsesPart { return responsesPart{Type: kind + "text", Text: s} })
	var out []Part
	for _, b := range blocks {
		switch b.Type {
		case kind + "text":
			out = append(out, textPart(b.Text))
		case "input_image":
			if !strings.HasPrefix(b.ImageURL, "data:image/") && !strings.HasPrefix(b.ImageURL, "http") {
				err = errors.New("an image without an address")
			}
			out = append(out, imagePart(b.ImageURL))
		case "input_file":
			out = append(out, imagePart(b.FileData))
		default:
			err = fmt.Errorf("content of the type %q", b.Type)
		}
	}
	return out, err
}
