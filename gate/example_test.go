package gate_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
)

func Example() {
	g := gate.Closed(gate.Rules{Policy: gate.DenyAll,
		List: []gate.Rule{{Name: "tests", Tool: "bash", Command: "go test"}}})
	bash := tool.Spec{Name: "bash", Asks: func(json.RawMessage) (string, bool) { return "run a command", true }}
	for _, args := range []string{`{"command":"go test ./..."}`, `{"command":"go test; rm -rf x"}`} {
		v, _ := g.Judge(context.Background(), &tool.Call{Name: "bash", Args: json.RawMessage(args)}, bash)
		fmt.Println(v.Decision == gate.Allow, v.By)
	}
	// Output:
	// true rule:tests
	// false policy:headless
}
