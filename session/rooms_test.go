package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
)

// A script's call that waits for its room when the stop comes was never
// started, and is told so.
//
// proves INT-29, TOL-24
func TestAStopSkipsTheInnerCallsThatWaitForRoom(t *testing.T) {
	holds := deed("holds", interrupt.ExternallyTerminated, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		<-tool.SignalOf(c).Done()
		return tool.Result{Stopped: true}, nil
	})
	var waits [3]error
	r := newRig(t, plan{tools: []tool.Tool{holds, script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
		var all sync.WaitGroup
		for i := range waits {
			all.Go(func() { _, waits[i] = caller.Call(ctx, "holds", empty()) })
		}
		all.Wait()
		return tool.Result{}, tool.SignalOf(c).Checkpoint()
	})}, talks: []talk{calls("c1", "script")}})
	id := r.submit("go")
	r.until("one of them runs", func() bool { return strings.Contains(r.types(), "inner/started") })
	r.stop(session.Address{Input: id})
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Calls[0].End.Outcome != event.CallStopped {
		t.Errorf("%+v", sum)
	}
	skipped := 0
	for _, err := range waits {
		if errors.Is(err, tool.ErrSkipped) {
			skipped++
		} else if err != nil {
			t.Error(err)
		}
	}
	if skipped != 2 || len(payloads[event.InnerStarted](t, r.records())) != 1 {
		t.Errorf("%d skipped\n%s", skipped, r.types())
	}
	r.holds()
}
