package tooltest_test

import (
	"context"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proves TOL-09, INT-05: the suite passes tools of each kind that keep their word.
func TestTheSuitePassesToolsThatKeepTheirWord(t *testing.T) {
	simple := tooltest.Func{Is: tool.Spec{Name: "simple", Description: "d", Concurrent: true, Effect: tool.Pure},
		Do: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil }}
	waits := tooltest.Func{Is: tool.Spec{Name: "waits", Description: "d", Concurrent: true}, Declared: interrupt.Cooperative,
		Do: func(_ context.Context, call *tool.Call) (tool.Result, error) {
			if string(call.Args) != `{"long":true}` {
				return tool.Text("ok"), tool.FenceOf(call).Check()
			}
			tool.LiveOf(call).Output("going")
			<-tool.SignalOf(call).Done()
			return tool.Result{Content: event.TextOf("part"), Stopped: true}, nil
		}}
	for _, tl := range []tooltest.Func{simple, waits} {
		t.Run(tl.Is.Name, func(t *testing.T) {
			d := tooltest.Driver{New: func(t *testing.T) (tool.Tool, string) { return tl, t.TempDir() },
				Args: func(string, int) string { return `{}` }}
			if tl.Declared != interrupt.NonInterruptible {
				d.Long, d.Underway = func(string) string { return `{"long":true}` }, "going"
			}
			tooltest.Run(t, d)
		})
	}
}
