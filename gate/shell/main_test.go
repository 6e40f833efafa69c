package shell_test

import (
	"testing"

	"github.com/ripcord-go/ripcord/proc"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	proc.Main() // this binary is also the guardian of what the tests start
	goleak.VerifyTestMain(m)
}
