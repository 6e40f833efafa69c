package mcp_test

import (
	"fmt"

	"github.com/ripcord-go/ripcord/mcp"
)

// A file of servers, as clients of the protocol share it.
func ExampleParse() {
	servers, err := mcp.Parse([]byte(`{"mcpServers": {
		"notes": {"command": "notes-server", "args": ["--dir", "${DIR:-/tmp}"]},
		"search": {"url": "https://search.example/mcp?key=x", "headers": {"Authorization": "Bearer ${KEY}"}, "timeout": "90s"}
	}}`), func(name string) (string, bool) { return "sesame", name == "KEY" })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range servers {
		fmt.Println(s, s.HTTP(), s.Timeout)
	}
	// Output:
	// notes (notes-server) false 0s
	// search (https://search.example/mcp) true 1m30s
}
