package ripcord_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/proc"
)

func TestMain(m *testing.M) {
	proc.Main() // guardians of the trees that these tests start are this binary
	if spec := os.Getenv(asVictim); spec != "" {
		if err := runVictim(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
