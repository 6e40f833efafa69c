package crashtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AgentTree is a script for the scripted model: told "level 0 please", each of
// depth levels starts a sub-agent, and the lowest one runs command. Whatever
// else is said is answered with "Hello." It needs the tools task and bash.
func AgentTree(depth int, command string) string {
	var s strings.Builder
	level := func(i int, tool, call string, args map[string]string) {
		raw, _ := json.Marshal(args) // strings: it does not fail
		fmt.Fprintf(&s, "answer always if user \"level %d please\" and not user hello and not result\n  text I am level %d.\n  call %s %s\n  args %q\n  end\n  finish tool\n",
			i, i, tool, call, raw)
	}
	for i := range depth {
		level(i, "task", fmt.Sprintf("t%d", i), map[string]string{"prompt": fmt.Sprintf("level %d please", i+1)})
	}
	level(depth, "bash", "leaf", map[string]string{"command": command})
	s.WriteString("default\n  text Hello.\n  finish stop\n")
	return s.String()
}
