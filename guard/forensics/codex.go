package forensics

import (
	"encoding/json"
	"strings"
)

// codex reads rollouts: a line for each item of the conversation, written when
// the item is whole, and for each event. What was streaming when a turn was
// aborted is therefore hardly ever there, and then said to be missing.
type codex struct {
	*thread
	now     stop // since the last result or input, but for its words and calls
	text    words
	thought words
	streams streams
	any     bool // something stands in it
	stopped bool // the last result is that of a call that was stopped
}

type codexLine struct {
	Timestamp json.RawMessage `json:"timestamp"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Status    string          `json:"status"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Reason    string          `json:"reason"` // of an event
	Model     string          `json:"model"`
	Provider  string          `json:"model_provider"`
}

func (r *codex) take(line []byte) error {
	var l codexLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	at := moment(l.Timestamp)
	defer func() {
		if !at.IsZero() {
			r.last = at
		}
	}()
	switch l.Type {
	case "session_meta", "turn_context", "response_item", "event_msg":
	default:
		return nil
	}
	var i codexItem
	if err := json.Unmarshal(l.Payload, &i); err != nil {
		return inField(err, "payload")
	}
	switch l.Type {
	case "session_meta", "turn_context":
		if i.Provider != "" {
			r.provider = i.Provider
		}
		if i.Model != "" {
			r.model = i.Model
		}
	case "response_item":
		return r.item(&i)
	case "event_msg":
		r.event(&i, l)
	}
	return nil
}

func (r *codex) begin() {
	r.now, r.any, r.stopped = stop{}, false, false
	r.text, r.thought, r.streams = words{}, words{}, streams{}
}

func (r *codex) item(i *codexItem) error {
	switch i.Type {
	case "message":
		if i.Role != "assistant" {
			return nil
		}
		words, err := codexWords(i.Content, "payload.content")
		if err != nil {
			return err
		}
		r.p.report.Messages++
		r.text.add(words)
		r.any = true
	case "reasoning":
		words, err := codexWords(i.Summary, "payload.summary")
		if err != nil {
			return err
		}
		r.thought.add(words)
		r.any = true
	case "function_call", "custom_tool_call", "local_shell_call":
		c := streamed{tool: i.Name, args: i.Arguments, raw: true}
		switch i.Type {
		case "custom_tool_call":
			c.text = i.Input
		case "local_shell_call":
			c.tool, c.args = "local_shell", string(i.Action)
		}
		whole := i.Status != "incomplete" && (c.text != "" || json.Valid([]byte(c.args)))
		if !whole {
			r.now.missing = false
		}
		r.streams.add(c)
		r.any = true
		r.call(i.CallID, c.tool, c.args+c.text, whole)
		r.now.whole = whole // a call that is whole is running when a stop comes
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		out, failed := codexOutput(i.Output)
		r.result(i.CallID, out, failed)
		r.begin()
		r.stopped = strings.HasPrefix(out, "aborted")
	}
	return nil
}

func (r *codex) event(i *codexItem, l codexLine) {
	switch i.Type {
	case "task_started", "turn_started":
		r.turn()
		r.begin()
	case "user_message":
		r.person()
		r.begin()
	case "task_complete", "turn_complete":
		r.completed()
		r.begin()
	case "turn_aborted":
		s := r.now
		s.text, s.thought, s.calls = r.text.String(), r.thought.String(), r.streams.calls
		s.how = "turn aborted"
		if i.Reason != "" {
			s.how += ": " + oneLine(i.Reason)
		}
		s.byPerson = i.Reason == "interrupted"
		s.time = moment(l.Timestamp)
		s.silence = between(r.last, s.time, "the record before")
		s.usage = cutUsage(nil, nil)
		s.whole = s.whole || r.stopped
		s.missing = !r.any && !s.whole
		r.cut(s)
		r.begin()
	}
}

// codexWords joins the texts of content parts.
func codexWords(raw json.RawMessage, field string) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	all, err := parts[struct {
		Text string `json:"text"`
	}](raw, field)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// codexOutput reads a result, which is a text, a text with an object in it, or
// an object. A command that came to an exit code did not fail as a call.
func codexOutput(raw json.RawMessage) (out string, failed bool) {
	out = string(raw)
	if s := text(raw); s != "" {
		out = s
	}
	var o struct {
		Success  *bool `json:"success"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	if !strings.HasPrefix(out, "{") || json.Unmarshal([]byte(out), &o) != nil {
		return out, false
	}
	return out, o.Success != nil && !*o.Success && o.Metadata.ExitCode == nil
}

func (r *codex) end() { r.endStep() }
