package ask

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Mode is who knows which sessions are in plan mode; gate.Plans is one.
type Mode interface {
	// On reports whether calls of that turn are held to plan mode.
	On(session event.SessionID, turn int) bool
	// Leave ends the mode, from now on.
	Leave(session event.SessionID)
}

// ExitPlan makes exit_plan.
func ExitPlan(m Mode) tool.Tool { return exitPlan{m} }

type exitPlan struct{ mode Mode }

const (
	approve = "approve"
	keep    = "keep planning"
)

// Spec implements [tool.Tool]. Approving a plan twice is approving it once.
func (exitPlan) Spec() tool.Spec {
	return tool.Spec{Name: ExitPlanName, Effect: tool.Idempotent,
		Description: "Present your plan to the person. Use it in plan mode once the plan is complete: where it is approved, plan mode ends and you may carry it out; " +
			"where it is not, you are told why and go on planning.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["plan"],"properties":{` +
			`"plan":{"type":"string","description":"what you will do, step by step, in Markdown"}}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer]: the wait ends with the
// turn.
func (exitPlan) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Execute implements [tool.Tool]. Success means approval and nothing else: the
// mode is read from the journal by it.
func (e exitPlan) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		Plan string `json:"plan"`
	}
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, tool.Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema: %w", err)
	}
	switch {
	case !e.mode.On(call.Session, call.Turn):
		return tool.Result{}, tool.Replyf("this session is not in plan mode; carry out what you were asked for")
	case strings.TrimSpace(a.Plan) == "":
		return tool.Result{}, tool.Replyf("the plan is empty; write down what you will do")
	case len(a.Plan) > mostPrompt:
		return tool.Result{}, tool.Replyf("the plan is %d bytes long, at most %d are put to a person; shorten it", len(a.Plan), mostPrompt)
	}
	answer, res, err := put(ctx, call, tool.Question{Prompt: a.Plan, Options: []string{approve, keep}})
	switch {
	case errors.Is(err, tool.ErrNobody):
		return tool.Result{}, tool.Replyf("nobody is there to approve the plan; plan mode stays: end your turn with the plan as your answer")
	case err != nil || res.Stopped:
		return res, err
	case !answer.Refused && strings.EqualFold(strings.TrimSpace(answer.Text), approve):
		e.mode.Leave(call.Session)
		return tool.Text("the plan is approved and plan mode is over: carry it out"), nil
	}
	words := strings.TrimSpace(answer.Text)
	if strings.EqualFold(words, keep) {
		words = ""
	}
	return tool.Result{}, tool.Replyf("%s; plan mode stays: change the plan and present it again", withWords("the person did not approve the plan", words))
}
