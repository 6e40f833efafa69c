package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// slow is an input whose first write is given up as it succeeds, and whose
// deadline takes its time to be set.
type slow struct {
	giveUp  func()
	setting chan struct{} // closed once the deadline is being set
	release chan struct{} // lets it be set
}

func (s *slow) Write(p []byte) (int, error) {
	s.giveUp()
	<-s.setting
	return len(p), nil
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		close(s.setting)
		<-s.release
	}
	return nil
}

func (s *slow) Close() error { return nil }

// proves TOL-26: the deadline of a write that was given up is over with it, and
// hits no other call's
func TestADeadlineDoesNotOutliveItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in := &slow{giveUp: cancel, setting: make(chan struct{}), release: make(chan struct{})}
		p := &process{in: in, writing: make(chan struct{}, 1), closing: make(chan struct{})}
		end := make(chan error, 1)
		go func() { end <- p.write(ctx, &jsonrpc.Request{Method: "notifications/none"}) }()
		synctest.Wait() // nothing goes on by itself: the deadline is still being set
		if len(p.writing) == 0 {
			t.Error("the next write may begin before the deadline is set")
		}
		close(in.release)
		if err := <-end; err != nil {
			t.Error(err)
		}
		if len(p.writing) != 0 {
			t.Error("no other write may begin")
		}
	})
}
