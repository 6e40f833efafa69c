package forensics

import (
	"encoding/json"
	"fmt"
)

// pi reads the session files of pi: a header line, then one entry a line, each
// message in one piece with why it stopped. An entry's time is its message's
// end, a message's own time its start.
type pi struct{ *thread }

type piEntry struct {
	Type      string          `json:"type"`
	Timestamp json.RawMessage `json:"timestamp"`
	Provider  string          `json:"provider"`
	ModelID   string          `json:"modelId"`
	Message   *piMessage      `json:"message"`
}

type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Provider   string          `json:"provider"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason"`
	Timestamp  json.RawMessage `json:"timestamp"`
	ToolCallID string          `json:"toolCallId"`
	IsError    bool            `json:"isError"`
	Usage      *struct {
		Input  *int64 `json:"input"`
		Output *int64 `json:"output"`
	} `json:"usage"`
}

type piBlock struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Arguments   json.RawMessage `json:"arguments"`
	PartialArgs string          `json:"partialArgs"` // as streamed, where a cut left it
	PartialJSON string          `json:"partialJson"` // likewise
}

func (r *pi) take(line []byte) error {
	var e piEntry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	at := moment(e.Timestamp)
	defer func() {
		if !at.IsZero() {
			r.last = at
		}
	}()
	if e.Provider != "" && e.ModelID != "" {
		r.provider, r.model = e.Provider, e.ModelID
	}
	if e.Type != "message" {
		return nil // headers, changes of the model, summaries, extensions' own
	}
	m := e.Message
	if m == nil {
		return fmt.Errorf("an entry of type message without one")
	}
	switch m.Role {
	case "user":
		r.person()
	case "toolResult":
		blocks, err := piContent(m.Content)
		if err != nil {
			return err
		}
		r.result(m.ToolCallID, joined(blocks), m.IsError)
	case "assistant":
		return r.assistant(e, m)
	}
	return nil
}

func (r *pi) assistant(e piEntry, m *piMessage) error {
	blocks, err := piContent(m.Content)
	if err != nil {
		return err
	}
	r.p.report.Messages++
	if m.Model != "" {
		r.provider, r.model = m.Provider, m.Model
	}
	r.answer()
	s := stop{how: m.StopReason, time: moment(e.Timestamp), text: joined(blocks)}
	aborted := m.StopReason == "aborted"
	var thought words
	var calls streams
	for _, b := range blocks {
		switch b.Type {
		case "thinking":
			thought.add(b.Thinking)
		case "toolCall":
			c := streamed{tool: b.Name, args: string(b.Arguments)}
			if raw := b.PartialArgs + b.PartialJSON; raw != "" && aborted {
				c.args, c.raw = raw, true
			}
			calls.add(c)
			r.call(b.ID, b.Name, c.args, !aborted)
		}
	}
	s.thought, s.calls = thought.String(), calls.calls
	switch {
	case aborted:
		began, since := moment(m.Timestamp), "the message's start"
		if began.IsZero() {
			began, since = r.last, "the record before"
		}
		s.silence = between(began, s.time, since)
		s.missing = len(blocks) == 0
		if m.Usage != nil {
			s.usage = cutUsage(m.Usage.Input, m.Usage.Output)
		} else {
			s.usage = cutUsage(nil, nil)
		}
		r.cut(s)
	case m.StopReason == "stop":
		r.completed()
	}
	return nil
}

// piContent reads a content, which is a text or blocks.
func piContent(raw json.RawMessage) ([]piBlock, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		return []piBlock{{Type: "text", Text: text(raw)}}, nil
	}
	return parts[piBlock](raw, "message.content")
}

func joined(blocks []piBlock) string {
	var s words
	for _, b := range blocks {
		if b.Type == "text" {
			s.add(b.Text)
		}
	}
	return s.String()
}

func (r *pi) end() { r.endStep() }

// inField names the field that a type error was found in.
func inField(err error, field string) error {
	if typ, ok := err.(*json.UnmarshalTypeError); ok {
		named := *typ
		if named.Field = field; typ.Field != "" {
			named.Field = field + "." + typ.Field
		}
		return &named
	}
	return err
}
