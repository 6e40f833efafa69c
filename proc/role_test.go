package proc_test

import (
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/proc"
)

// proves PRC-04, TOL-24: what main did not name is never re-executed; the
// program would run a second time.
func TestARoleThatMainDidNotNameIsNeverReExecuted(t *testing.T) {
	argv, env, err := proc.Again("nobody")
	if err == nil || argv != nil || env != nil || !strings.Contains(err.Error(), "proc.Main") {
		t.Errorf("%v %v %v", argv, env, err)
	}
}
