package scripted

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// entry is a message as the rules see it.
type entry struct {
	role   string
	empty  bool
	calls  []event.ToolCall
	answer string // tool: the call it answers
}

// Validate says what a strict provider would refuse in a folded history, nil
// if nothing. Neighbours of one role are allowed here: drivers merge them.
func Validate(messages []event.Message) error {
	entries := make([]entry, 0, len(messages))
	for _, m := range messages {
		e := entry{role: string(m.Role), calls: m.Content.Calls(), answer: string(m.Call)}
		e.empty = true
		for _, p := range m.Content {
			if t, ok := p.(event.Text); !ok || strings.TrimSpace(t.Text) != "" {
				e.empty = false
			}
		}
		entries = append(entries, e)
	}
	return check(entries)
}

// ValidateWire says what a strict provider would refuse in a request's
// messages, nil if nothing.
func ValidateWire(messages []Message) error {
	entries := make([]entry, 0, len(messages))
	for i, m := range messages {
		e := entry{role: m.Role, answer: m.ToolCallID}
		parts := m.Parts()
		e.empty = len(m.ToolCalls) == 0 && len(m.Reasoning) == 0
		for _, p := range parts {
			e.empty = e.empty && p.Type == "text" && strings.TrimSpace(p.Text) == ""
		}
		for _, c := range m.ToolCalls {
			e.calls = append(e.calls, event.ToolCall{
				ID: event.CallID(c.ID), Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
		}
		if i > 0 && m.Role == "user" && messages[i-1].Role == "user" {
			return fmt.Errorf("messages %d and %d are two user messages in a row", i-1, i)
		}
		if i > 0 && m.Role == "assistant" && messages[i-1].Role == "assistant" {
			return fmt.Errorf("messages %d and %d are two assistant messages in a row", i-1, i)
		}
		for _, b := range m.Reasoning {
			if b.Signature == "" && b.Data == "" {
				return fmt.Errorf("message %d holds reasoning with an empty signature", i)
			}
		}
		entries = append(entries, e)
	}
	return check(entries)
}

// check walks the history once. open holds the calls that wait for their
// results, in order.
func check(entries []entry) error {
	var open []string
	asked := 0 // the message that asked
	seen := map[string]int{}
	for i, e := range entries {
		if len(open) > 0 && e.role != "tool" {
			return fmt.Errorf("call %q of message %d has no result: message %d is a %s message", open[0], asked, i, e.role)
		}
		switch e.role {
		case "system", "developer":
		case "user":
			if e.empty {
				return fmt.Errorf("message %d is an empty user message", i)
			}
		case "assistant":
			if e.empty {
				return fmt.Errorf("message %d is an empty assistant message", i)
			}
			asked = i
			for _, c := range e.calls {
				if err := checkCall(c, i, seen); err != nil {
					return err
				}
				open = append(open, string(c.ID))
			}
		case "tool":
			if len(open) == 0 {
				return fmt.Errorf("message %d is a result for %q, which no call before it waits for", i, e.answer)
			}
			if e.answer != open[0] {
				return fmt.Errorf("message %d is a result for %q where that of call %q belongs", i, e.answer, open[0])
			}
			open = open[1:]
		default:
			return fmt.Errorf("message %d has the role %q", i, e.role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("call %q of message %d has no result", open[0], asked)
	}
	return nil
}

func checkCall(c event.ToolCall, i int, seen map[string]int) error {
	switch {
	case c.ID == "":
		return fmt.Errorf("message %d has a call without an id", i)
	case c.Name == "":
		return fmt.Errorf("call %q of message %d names no tool", c.ID, i)
	case !json.Valid(c.Args):
		return fmt.Errorf("the arguments of call %q of message %d are not JSON", c.ID, i)
	}
	if first, ok := seen[string(c.ID)]; ok {
		return fmt.Errorf("call id %q stands in message %d and again in message %d", c.ID, first, i)
	}
	seen[string(c.ID)] = i
	return nil
}
