package shell

import (
	"encoding/json"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
)

// told is a [gate.Moment] in the field's words; doc.go has the table.
type told struct {
	Event    string            `json:"hook_event_name"`
	Point    gate.Point        `json:"point"`
	Session  event.SessionID   `json:"session_id"`
	Dir      string            `json:"cwd"`
	Turn     int               `json:"turn,omitempty"`
	Step     int               `json:"step,omitempty"`
	Tool     string            `json:"tool_name,omitempty"`
	Call     event.CallID      `json:"tool_use_id,omitempty"`
	Input    any               `json:"tool_input,omitempty"`
	Response *event.CallEnded  `json:"tool_response,omitempty"`
	Prompt   string            `json:"prompt,omitempty"`
	Message  string            `json:"message,omitempty"`
	Source   string            `json:"source,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Outcome  event.TurnOutcome `json:"outcome,omitempty"`
	Child    event.SessionID   `json:"agent_id,omitempty"`

	Principal  string                     `json:"principal,omitempty"`
	Variables  map[string]json.RawMessage `json:"variables,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
}

// input is what a hook reads.
func input(m gate.Moment) ([]byte, error) {
	t := told{Event: eventName(m.Point), Point: m.Point, Session: m.Session, Dir: m.Dir, Turn: m.Turn, Step: m.Step,
		Tool: m.Tool, Call: m.Call, Response: m.Ended, Outcome: m.Outcome, Child: m.Child,
		Principal: m.Options.Principal, Variables: m.Options.Variables, Attributes: m.Options.Attributes}
	switch {
	case m.Tool == "":
	case json.Valid(m.Args):
		t.Input = m.Args
	default:
		t.Input = string(m.Args) // what the model wrote, though it is no JSON
	}
	switch m.Point {
	case gate.Permission:
		t.Message = m.Prompt
	case gate.SessionStart:
		t.Source = m.Reason
	case gate.TurnStart, gate.PreTool, gate.PreCompact, gate.PostTool, gate.Interrupted, gate.TurnStop,
		gate.SubAgentStart, gate.SubAgentStop, gate.SessionEnd:
		t.Prompt, t.Reason = m.Prompt, m.Reason
	}
	return json.Marshal(t)
}

// eventName is the field's name of a point.
func eventName(p gate.Point) string {
	switch p {
	case gate.SessionStart:
		return "SessionStart"
	case gate.SessionEnd:
		return "SessionEnd"
	case gate.TurnStart:
		return "UserPromptSubmit"
	case gate.PreTool:
		return "PreToolUse"
	case gate.Permission:
		return "PermissionRequest"
	case gate.PreCompact:
		return "PreCompact"
	case gate.PostTool:
		return "PostToolUse"
	case gate.Interrupted:
		return "Interrupt"
	case gate.TurnStop:
		return "Stop"
	case gate.SubAgentStart:
		return "SubagentStart"
	case gate.SubAgentStop:
		return "SubagentStop"
	}
	return string(p)
}
