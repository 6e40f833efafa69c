package interrupt_test

import (
	"testing"

	"go.uber.org/goleak"
)

// proves PRF-07
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
