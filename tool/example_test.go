package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// greet knows nothing of interrupts, journals or sessions, and is a whole tool.
type greet struct{}

func (greet) Spec() tool.Spec {
	return tool.Spec{Name: "greet", Description: "Say hello.", Effect: tool.Pure,
		Schema: json.RawMessage(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`)}
}

func (greet) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var args struct{ Name string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, tool.Replyf("the arguments can't be read: %w", err)
	}
	return tool.Text("hello, " + args.Name), nil
}

func Example() {
	for _, args := range []string{`{"name":"Ada"}`, `{"nome":"Ada"}`} {
		run := tool.Run{Tool: greet{}, Book: &tooltest.Book{},
			Call: &tool.Call{ID: "c_1", Name: "greet", Args: json.RawMessage(args)}}
		end, _ := run.Do(context.Background())
		fmt.Println(end.Outcome, end.Result.Content.Text()+end.Err)
	}
	// Output:
	// finished hello, Ada
	// invalid the required field "name" is missing; correct the arguments and send the call again
}
