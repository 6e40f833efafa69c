package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	mostReport  = 24 << 10 // bytes of a sub-agent's account in a result
	mostTask    = 64 << 10 // bytes of a prompt
	longestWait = 600      // seconds
)

// TaskTools makes the tools for sub-agents (TOL-23). They work where a call
// carries [tool.Agents]; elsewhere they say that there are none.
func TaskTools() []tool.Tool {
	return []tool.Tool{task{}, taskSend{}, taskStatus{}, taskStop{}}
}

// agentsOf returns who starts sub-agents for call.
func agentsOf(call *tool.Call) (tool.Agents, error) {
	if a, ok := tool.AgentsOf(call); ok {
		return a, nil
	}
	return nil, tool.Replyf("sub-agents are not available here; do the work yourself")
}

// account is a report as a result.
func account(r tool.AgentReport) tool.Result {
	return tool.Result{Content: event.TextOf(r.Words(mostReport)), Success: r.Running || r.Well(), Survivors: r.Survivors()}
}

type task struct{}

// Spec implements [tool.Tool].
func (task) Spec() tool.Spec {
	return tool.Spec{Name: "task", Effect: tool.Unsafe,
		Description: "Have a sub-agent work on a task of its own, with the same tools in the same workspace. It knows nothing of this conversation: " +
			"the prompt must say everything. Without background this waits and gives its answer. With background it returns at once with the " +
			"sub-agent's id; the sub-agent goes on after this turn, and task_status, task_send and task_stop take its id.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["prompt"],"properties":{` +
			`"prompt":{"type":"string","description":"what it is to do, and what it is to answer"},` +
			`"description":{"type":"string","description":"what it is for, in a few words"},` +
			`"tools":{"type":"array","items":{"type":"string"},"description":"only these of your tools; left out: all"},` +
			`"background":{"type":"boolean","description":"do not wait for it"}}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (task) InterruptBehaviour() interrupt.Behaviour { return interrupt.ExternallyTerminated }

// Execute implements [tool.Tool].
func (task) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		Prompt      string   `json:"prompt"`
		Description string   `json:"description"`
		Tools       []string `json:"tools"`
		Background  bool     `json:"background"`
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	if err := usable("prompt", a.Prompt); err != nil {
		return tool.Result{}, err
	}
	agents, err := agentsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	t := tool.Task{Prompt: a.Prompt, Title: tool.OneLine(a.Description, 80), Tools: a.Tools}
	if a.Background {
		id, err := agents.Spawn(ctx, call, t)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(fmt.Sprintf("sub-agent %s works in the background. Ask for it with task_status; nothing tells you by itself when it has ended.", id)), nil
	}
	r, err := agents.Run(ctx, call, t)
	if err != nil {
		return tool.Result{}, err
	}
	res := account(r)
	// A child that reached its own end before the stop did is a finished call.
	res.Stopped = tool.SignalOf(call).Cancelled() && (r.Outcome == event.TurnAborted || r.Outcome == "")
	return res, nil
}

// usable refuses a text that is empty or too long.
func usable(name, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return tool.Replyf("the %s is empty; say what is to be done", name)
	case len(text) > mostTask:
		return tool.Replyf("the %s has %d bytes and may have %d; put what is long into a file and name it", name, len(text), mostTask)
	}
	return nil
}

// idOnly is the argument of tools that are about one sub-agent.
const idOnly = `"id":{"type":"string","description":"the sub-agent's id, as task gave it"}`

type taskSend struct{}

// Spec implements [tool.Tool].
func (taskSend) Spec() tool.Spec {
	return tool.Spec{Name: "task_send", Effect: tool.Unsafe,
		Description: "Give a sub-agent that you started more to do: after what it does now or, if it has ended, now. It knows what it did before. This does not wait for it.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id","message"],"properties":{` + idOnly +
			`,"message":{"type":"string"}}}`)}
}

// Execute implements [tool.Tool].
func (taskSend) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID      event.SessionID `json:"id"`
		Message string          `json:"message"`
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	if err := usable("message", a.Message); err != nil {
		return tool.Result{}, err
	}
	agents, err := agentsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	if err := agents.Send(ctx, call, a.ID, a.Message); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("sub-agent %s has it and works in the background", a.ID)), nil
}

type taskStatus struct{}

// Spec implements [tool.Tool].
func (taskStatus) Spec() tool.Spec {
	return tool.Spec{Name: "task_status", Effect: tool.Pure, Waits: true, Concurrent: true,
		Description: fmt.Sprintf("Say how a sub-agent stands, with its answer if it has ended; without an id, how all stand that were started in the background. "+
			"wait_seconds waits for its end, at most %d.", longestWait),
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"properties":{`+idOnly+
			`,"wait_seconds":{"type":"number","minimum":0,"maximum":%d}}}`, longestWait))}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (taskStatus) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Execute implements [tool.Tool].
func (taskStatus) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID   event.SessionID `json:"id"`
		Wait float64         `json:"wait_seconds"`
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	agents, err := agentsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	if a.ID == "" {
		return list(ctx, agents, call)
	}
	r, err := agents.Status(ctx, call, a.ID, time.Duration(a.Wait*float64(time.Second)))
	if err != nil {
		return tool.Result{}, err
	}
	res := account(r)
	res.Success = true // it was asked how it stands, and that is known
	res.Stopped = r.Running && a.Wait > 0 && tool.SignalOf(call).Cancelled()
	return res, nil
}

// list tells of all that work or worked in the background.
func list(ctx context.Context, agents tool.Agents, call *tool.Call) (tool.Result, error) {
	all, err := agents.List(ctx, call)
	if err != nil {
		return tool.Result{}, err
	}
	if len(all) == 0 {
		return tool.Text("no sub-agent was started in the background"), nil
	}
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.Words(mostReport/len(all)) + "\n")
	}
	return tool.Text(b.String()), nil
}

type taskStop struct{}

// Spec implements [tool.Tool].
func (taskStop) Spec() tool.Spec {
	return tool.Spec{Name: "task_stop", Effect: tool.Idempotent,
		Description: "Stop a sub-agent that you started: its processes end, what it did so far is told. One that has ended stays as it is.",
		Schema:      json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id"],"properties":{` + idOnly + `}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (taskStop) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Execute implements [tool.Tool].
func (taskStop) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID event.SessionID `json:"id"`
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	agents, err := agentsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	r, err := agents.Stop(ctx, call, a.ID)
	if err != nil {
		return tool.Result{}, err
	}
	res := account(r)
	res.Success = !r.Running // it was asked to end, and has
	res.Stopped = r.Running && tool.SignalOf(call).Cancelled()
	return res, nil
}
