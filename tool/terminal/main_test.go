//go:build linux

package terminal_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/proc"
)

func TestMain(m *testing.M) {
	proc.Main() // this binary is also the guardian of what the tests start
	if job := os.Getenv(runtimeVar); job != "" {
		if err := beRuntime(job); err != nil {
			fmt.Fprintln(os.Stderr, "runtime:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
