package ripcord_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

func TestMain(m *testing.M) {
	proc.Main(workflow.Role()) // guardians of the trees that these tests start are this binary, and engines
	if ran, err := mixedRole(); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if spec := os.Getenv(asVictim); spec != "" {
		if err := runVictim(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
