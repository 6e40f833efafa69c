package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// decorated runs first before the tool.
func decorated(first func()) func(context.Context, *tool.Call, tool.Tool) (tool.Result, error) {
	return func(ctx context.Context, call *tool.Call, next tool.Tool) (tool.Result, error) {
		first()
		return next.Execute(ctx, call)
	}
}

// proves INT-07 for what is built in, INT-08, TOL-01
func TestTheBuiltInToolsDeclareWhatTheyAre(t *testing.T) {
	want := map[string]struct {
		b      interrupt.Behaviour
		effect tool.Effect
		beside bool
	}{
		"bash":  {interrupt.ContextInterruptible, tool.Unsafe, false},
		"read":  {interrupt.NonInterruptible, tool.Pure, true},
		"write": {interrupt.NonInterruptible, tool.Unsafe, false},
		"edit":  {interrupt.NonInterruptible, tool.Unsafe, false},

		"apply_patch": {interrupt.Cooperative, tool.Unsafe, false},
		"grep":        {interrupt.Cooperative, tool.Pure, true},
		"glob":        {interrupt.Cooperative, tool.Pure, true},
		"ls":          {interrupt.Cooperative, tool.Pure, true},
		"todo":        {interrupt.NonInterruptible, tool.Pure, false},
	}
	tools := builtin.Tools(builtin.Options{Host: &fakeHost{}})
	if len(tools) != len(want) {
		t.Errorf("%d tools", len(tools))
	}
	for _, tl := range tools {
		s, w := tl.Spec(), want[tl.Spec().Name]
		if interrupt.BehaviourOf(tl) != w.b || s.Effect != w.effect || tool.Parallel(tl) != w.beside {
			t.Errorf("%s declares %v, %v, beside others %v", s.Name, interrupt.BehaviourOf(tl), s.Effect, tool.Parallel(tl))
		}
	}
	if n := len(builtin.Tools(builtin.Options{})); n != 8 {
		t.Errorf("without a host there are %d tools", n)
	}
}

// proves INT-02, TOL-03, TOL-09, TOL-20, TOL-27 for the tools about files
func TestTheFileToolsKeepTheirWord(t *testing.T) {
	pick := func(name string) func(t *testing.T) (tool.Tool, string) {
		return func(t *testing.T) (tool.Tool, string) {
			dir := t.TempDir()
			for n := range 8 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", n)), []byte("old\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, tl := range builtin.Tools(builtin.Options{}) {
				if tl.Spec().Name == name {
					return tl, dir
				}
			}
			t.Fatalf("there is no %s", name)
			return nil, ""
		}
	}
	args := func(v m) string { b, _ := json.Marshal(v); return string(b) }
	holds := func(name, want string) func(*testing.T, string, tool.Ended) {
		return func(t *testing.T, dir string, _ tool.Ended) {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s holds %q, %v", name, b, err)
			}
		}
	}
	t.Run("read", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{New: pick("read"), Args: func(_ string, n int) string { return args(m{"path": fmt.Sprint("f", n)}) }})
	})
	t.Run("write", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{New: pick("write"), Check: holds("n0", "new"),
			Args: func(_ string, n int) string { return args(m{"path": fmt.Sprint("n", n), "content": "new"}) }})
	})
	t.Run("edit", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{New: pick("edit"), Check: holds("f0", "new\n"),
			Args: func(_ string, n int) string { return args(m{"path": fmt.Sprint("f", n), "old": "old", "new": "new"}) }})
	})
	t.Run("apply_patch", func(t *testing.T) {
		tooltest.Run(t, tooltest.Driver{New: pick("apply_patch"), Check: holds("f0", "new\n"),
			Args: func(_ string, n int) string {
				return args(patchOf("*** Update File: "+fmt.Sprint("f", n), "@@", "-old", "+new"))
			}})
	})
	for name, a := range map[string]m{"grep": {"pattern": "old"}, "glob": {"pattern": "f*"}, "ls": {}, "todo": {"items": []m{}}} {
		t.Run(name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Driver{New: pick(name), Args: func(string, int) string { return args(a) }})
		})
	}
}
