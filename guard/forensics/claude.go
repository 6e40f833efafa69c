package forensics

import (
	"encoding/json"
	"strings"
)

// claude reads the transcripts of Claude Code: a line for each block of an
// answer, lines of one answer sharing its id, and a user's line that says that
// a person interrupted. Sub-agents' lines stand between the others in some
// versions; they are a conversation of their own.
type claude struct {
	main, side       *thread
	mainCur, sideCur *claudeAnswer
}

// claudeAnswer is the answer whose lines come.
type claudeAnswer struct {
	id      string
	stop    stop // but for what follows
	text    words
	thought words
	streams streams
	calls   map[string]bool // open
}

type claudeLine struct {
	Type      string          `json:"type"`
	Timestamp json.RawMessage `json:"timestamp"`
	Side      bool            `json:"isSidechain"`
	Meta      bool            `json:"isMeta"`
	Message   *struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stop_reason"`
		Usage   *struct {
			Input  *int64 `json:"input_tokens"`
			Output *int64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"message"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Of       string          `json:"tool_use_id"`
	IsError  bool            `json:"is_error"`
	Content  json.RawMessage `json:"content"`
}

// interruptedBy begins the line that a person's interrupt leaves.
const interruptedBy = "[Request interrupted by user"

func (r *claude) take(line []byte) error {
	var l claudeLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	t, cur := r.main, &r.mainCur
	if l.Side {
		t, cur = r.side, &r.sideCur
	}
	at := moment(l.Timestamp)
	defer func() {
		if !at.IsZero() {
			t.last = at
		}
	}()
	if l.Message == nil || l.Type != "user" && l.Type != "assistant" {
		return nil
	}
	blocks, err := claudeContent(l.Message.Content)
	if err != nil {
		return err
	}
	if l.Type == "assistant" {
		r.assistant(t, cur, &l, blocks)
		return nil
	}
	for _, b := range blocks {
		if b.Type == "tool_result" {
			t.result(b.Of, string(b.Content), b.IsError)
			if *cur != nil {
				delete((*cur).calls, b.Of)
			}
		}
	}
	var said words
	for _, b := range blocks {
		if b.Type == "text" {
			said.add(b.Text)
		}
	}
	words := said.String()
	switch {
	case strings.HasPrefix(strings.TrimSpace(words), interruptedBy):
		r.interrupted(t, cur, &l, words)
	case words != "" && !l.Meta:
		t.person()
		*cur = nil
	}
	return nil
}

func (r *claude) assistant(t *thread, cur **claudeAnswer, l *claudeLine, blocks []claudeBlock) {
	m := l.Message
	if m.Model != "" && m.Model != "<synthetic>" {
		t.provider, t.model = "anthropic", m.Model
	}
	if *cur == nil || (*cur).id != m.ID || m.ID == "" {
		t.p.report.Messages++
		t.answer()
		*cur = &claudeAnswer{id: m.ID, calls: map[string]bool{}}
	}
	a := *cur
	for _, b := range blocks {
		switch b.Type {
		case "text":
			a.text.add(b.Text)
		case "thinking":
			a.thought.add(b.Thinking)
		case "tool_use":
			a.streams.add(streamed{tool: b.Name, args: string(b.Input)})
			if len(a.calls) < maxStep {
				a.calls[b.ID] = true
			}
			t.call(b.ID, b.Name, string(b.Input), true)
		}
	}
	if m.Usage != nil {
		a.stop.usage = cutUsage(m.Usage.Input, m.Usage.Output)
	}
	if m.Stop == "end_turn" {
		t.completed()
	}
}

// interrupted is the user's line that tells of it. What was streaming is in
// the answer before it if no result came since.
func (r *claude) interrupted(t *thread, cur **claudeAnswer, l *claudeLine, words string) {
	s := stop{missing: true, usage: cutUsage(nil, nil)}
	if a := *cur; a != nil && (len(a.streams.calls) == 0 || len(a.calls) > 0) {
		s = a.stop
		s.text, s.thought, s.calls = a.text.String(), a.thought.String(), a.streams.calls
	}
	s.whole = strings.Contains(words, "for tool use")
	s.how, s.byPerson, s.time = "interrupted by user", true, moment(l.Timestamp)
	if s.whole {
		s.how, s.missing = "interrupted by user for tool use", false
	}
	s.silence = between(t.last, s.time, "the record before")
	t.cut(s)
	*cur = nil
}

func claudeContent(raw json.RawMessage) ([]claudeBlock, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		return []claudeBlock{{Type: "text", Text: text(raw)}}, nil
	}
	return parts[claudeBlock](raw, "message.content")
}

func (r *claude) end() {
	r.main.endStep()
	r.side.endStep()
}
