package ripcord_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/proc"
)

func TestMain(m *testing.M) {
	proc.Main() // guardians of the trees that these tests start are this binary
	goleak.VerifyTestMain(m)
}
