package ripcord

import (
	"context"

	"github.com/ripcord-go/ripcord/tool"
)

// AttendEnded waits for a sub-agent that has ended.
func AttendEnded(ctx context.Context, call *tool.Call) error {
	a := &agent{done: make(chan struct{})}
	close(a.done)
	return attend(ctx, call, a, nil)
}
