package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// TodoItem is one thing to do.
type TodoItem struct {
	Text  string `json:"text"`
	State string `json:"state"` // pending, in_progress or done
}

const (
	mostTodos = 100
	mostTodo  = 500 // bytes of one text
)

type todo struct{}

// Spec implements [tool.Tool]. It touches nothing: the call in the journal is
// the list.
func (todo) Spec() tool.Spec {
	return tool.Spec{Name: "todo", Effect: tool.Pure,
		Description: "Keep the list of what is to be done in this session. Each call gives the whole list, which takes the old one's place. " +
			"At most one item is in_progress. Use it for work of several steps, and mark an item done when it is.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["items"],"properties":{` +
			`"items":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["text","state"],"properties":{` +
			`"text":{"type":"string"},"state":{"type":"string","enum":["pending","in_progress","done"]}}}}}}`)}
}

// Todos reads the list that a call of todo gives. The list of a session is the
// one of its last todo call that ended with success; there is no other store.
// The error, of kind Reply, says what is wrong about it.
func Todos(args json.RawMessage) ([]TodoItem, error) {
	var a struct {
		Items *[]TodoItem `json:"items"`
	}
	if err := tool.DecodeArgs(args, &a); err != nil {
		return nil, err
	}
	switch {
	case a.Items == nil:
		return nil, tool.Replyf("there are no items; send the whole list, an empty one to clear it")
	case len(*a.Items) > mostTodos:
		return nil, tool.Replyf("the list has %d items, the most is %d; put some of them together", len(*a.Items), mostTodos)
	}
	under := 0
	for i, it := range *a.Items {
		switch {
		case strings.TrimSpace(it.Text) == "":
			return nil, tool.Replyf("item %d has no text; give it one or leave it out", i+1)
		case len(it.Text) > mostTodo:
			return nil, tool.Replyf("item %d has %d bytes, the most is %d; make it shorter", i+1, len(it.Text), mostTodo)
		}
		switch it.State {
		case "pending", "done":
		case "in_progress":
			under++
		default:
			return nil, tool.Replyf("item %d is %q; its state is pending, in_progress or done", i+1, it.State)
		}
	}
	if under > 1 {
		return nil, tool.Replyf("%d items are in_progress; at most one can be, the list was not changed", under)
	}
	return *a.Items, nil
}

// Execute implements [tool.Tool].
func (todo) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	items, err := Todos(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	if len(items) == 0 {
		return tool.Text("[the list is empty]\n"), nil
	}
	var b strings.Builder
	done := 0
	for i, it := range items {
		mark := " "
		switch it.State {
		case "in_progress":
			mark = ">"
		case "done":
			mark = "x"
			done++
		}
		fmt.Fprintf(&b, "%d. [%s] %s\n", i+1, mark, tool.OneLine(it.Text, mostTodo))
	}
	fmt.Fprintf(&b, "%d of %d done\n", done, len(items))
	return tool.Text(b.String()), nil
}
