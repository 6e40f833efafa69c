package workflow_test

import (
	"os"
	"testing"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/workflow"
	"go.uber.org/goleak"
)

// runtimeEnv makes this test binary a runtime that is killed.
const runtimeEnv = "RIPCORD_TEST_RUNTIME"

func TestMain(m *testing.M) {
	proc.Main(workflow.Role()) // this binary is also guardian and engine of what the tests start
	if kind := os.Getenv(runtimeEnv); kind != "" {
		os.Exit(runtime(kind))
	}
	goleak.VerifyTestMain(m)
}
