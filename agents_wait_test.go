package ripcord_test

import (
	"context"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Where a sub-agent has ended and its call is stopped, its end is taken: a plain
// select throws it away half the time.
//
// proves TRN-19
func TestASubAgentsEndIsTakenWhateverElseIsThere(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}); err != nil {
		t.Fatal(err)
	}
	call := tool.WithValue(&tool.Call{}, tool.Key[interrupt.Signal]("tool.signal"), c.Signal())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 {
		if err := ripcord.AttendEnded(ended, call); err != nil {
			t.Fatal(err)
		}
	}
}
