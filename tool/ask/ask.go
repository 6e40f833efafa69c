package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Names of the tools.
const (
	UserName     = "ask_user"
	ExitPlanName = "exit_plan"
)

const (
	mostOptions = 12
	mostPrompt  = 16 << 10 // bytes that a person is asked to read
)

// User makes ask_user.
func User() tool.Tool { return user{} }

type user struct{}

// Spec implements [tool.Tool].
func (user) Spec() tool.Spec {
	return tool.Spec{Name: UserName, Effect: tool.Pure,
		Description: "Ask the person a question and wait for the answer. Use it when you cannot go on without a decision that is theirs; " +
			"offer options where there are few. Any other text may be answered all the same. If nobody is there, you are told so.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["question"],"properties":{` +
			`"question":{"type":"string","description":"what you need to know, in a sentence or two"},` +
			`"options":{"type":"array","items":{"type":"string"},"description":"answers to choose from"}}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer]: the wait ends with the
// turn.
func (user) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Execute implements [tool.Tool].
func (user) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, tool.Replyf("the arguments can't be read; send the call again with a JSON object that fits the schema: %w", err)
	}
	switch {
	case strings.TrimSpace(a.Question) == "":
		return tool.Result{}, tool.Replyf("the question is empty; ask one")
	case len(a.Question) > mostPrompt:
		return tool.Result{}, tool.Replyf("the question is %d bytes long, at most %d are put to a person; shorten it", len(a.Question), mostPrompt)
	case len(a.Options) > mostOptions:
		return tool.Result{}, tool.Replyf("%d options are too many to choose from; offer %d at most", len(a.Options), mostOptions)
	}
	answer, res, err := put(ctx, call, tool.Question{Prompt: a.Question, Options: a.Options})
	switch {
	case errors.Is(err, tool.ErrNobody):
		return tool.Result{}, tool.Replyf("nobody is there to answer; choose yourself what is safest and say so, or end your turn with the question")
	case err != nil || res.Stopped:
		return res, err
	case answer.Refused:
		return tool.Text(withWords("the person would not answer", answer.Text) + "; do not ask the same again"), nil
	}
	return tool.Text("the person answered: " + answer.Text), nil
}

// put asks. A question that the end of its turn withdrew is a stopped call: it
// was neither answered nor refused.
func put(ctx context.Context, call *tool.Call, q tool.Question) (a tool.Answer, res tool.Result, err error) {
	a, err = tool.PeopleOf(call).Ask(ctx, q)
	if errors.Is(err, tool.ErrVoided) || err != nil && tool.SignalOf(call).Cancelled() {
		res = tool.Result{Stopped: true, Content: event.TextOf("the question was withdrawn before an answer came; nobody refused anything")}
		return tool.Answer{}, res, nil
	}
	return a, res, err
}

func withWords(what, words string) string {
	if strings.TrimSpace(words) == "" {
		return what
	}
	return fmt.Sprintf("%s and said: %s", what, words)
}
