package mcp_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc/proctest"
)

// proves TOL-26, PRC-04, B163: when the runtime is killed its servers go with
// it, also those that ignore the end of their input, TERM, and left daemons
func TestServersEndWithTheirRuntime(t *testing.T) {
	b := newBench(t)
	job, err := json.Marshal([]mcp.Server{b.server("stubborn", "stubborn"), b.server("own", "plain")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), runtimeVar+"="+string(job))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill := func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	defer kill()
	var status []mcp.Status
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&status); err != nil {
		t.Fatal(err)
	}
	for _, s := range status {
		if s.State != mcp.Ready {
			t.Fatalf("status %+v", s)
		}
	}
	proctest.Until(t, patience, "both trees stand", func() bool { return len(b.mark.Alive()) == 6 })
	kill()
	proctest.Until(t, patience, "nothing of them is alive", b.mark.None)
}
