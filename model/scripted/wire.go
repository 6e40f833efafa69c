package scripted

import (
	"encoding/json"
	"strings"
)

// ChatRequest is the body of a chat-completions request, as far as it is read.
type ChatRequest struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []chatTool `json:"tools"`
}

type chatTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Message is one message on the wire.
type Message struct {
	Role       string           `json:"role"`
	Content    json.RawMessage  `json:"content"` // a string, a list of parts, or null
	ToolCalls  []ToolCall       `json:"tool_calls"`
	ToolCallID string           `json:"tool_call_id"`
	Reasoning  []ReasoningBlock `json:"reasoning_blocks"` // an extension of ours
}

// ToolCall is a call on the wire; Arguments is the text of a JSON value.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ReasoningBlock is signed thinking that comes back to who signed it.
type ReasoningBlock struct {
	Text      string `json:"text"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

// Part is one piece of a message's content.
type Part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// Parts returns the content as parts; a string is one text part.
func (m Message) Parts() []Part {
	var s string
	if json.Unmarshal(m.Content, &s) == nil && s != "" {
		return []Part{{Type: "text", Text: s}}
	}
	var parts []Part
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil
	}
	return parts
}

// Text returns the words of the content, joined by newlines.
func (m Message) Text() string {
	var out []string
	for _, p := range m.Parts() {
		if p.Type == "text" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}
