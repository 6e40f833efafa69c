package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

// An inner call is judged before it has an id of its own. What it was judged for
// is found again all the same when it runs: while a person thinks about a change,
// the folder of the file is put away and a link stands there instead. Asked once
// more, about where the link leads, the person may well allow it.
//
// proves TOL-20, HOK-04, TOL-24: what was approved is what is done, for a
// script's step too
func TestAStepOfAScriptIsDoneWhereItLedWhenItWasApproved(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub, out := filepath.Join(dir, "sub"), filepath.Join(dir, "out")
	for path, text := range map[string]string{sub: "a plain text", out: "a secret"} {
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "f"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	args, err := json.Marshal(map[string]string{"path": filepath.Join(sub, "f"), "old": "a ", "new": "the "})
	if err != nil {
		t.Fatal(err)
	}
	var steps []tool.Inner
	r := newRig(t, plan{gate: gate.Rules{Policy: gate.AskPerson}, tools: append(builtin.Tools(builtin.Options{}),
		script(func(ctx context.Context, c *tool.Call, caller tool.Caller) (tool.Result, error) {
			for range 2 {
				in, err := caller.Call(ctx, "edit", args)
				if err != nil {
					return tool.Result{}, err
				}
				steps = append(steps, in)
			}
			return tool.Text("so"), nil
		})), talks: []talk{calls("c1", "script"), says("fine")}})
	id := r.submit("go")
	answered := event.ApprovalID("")
	allow := func(prompt string, first func() error) {
		t.Helper()
		r.until("it is asked", func() bool {
			qs := r.live.Status().Approvals
			return len(qs) == 1 && qs[0].Asked.ID != answered
		})
		q := r.live.Status().Approvals[0].Asked
		if answered = q.ID; !strings.Contains(q.Prompt, prompt) {
			t.Errorf("%q", q.Prompt)
		}
		if err := errors.Join(first(), r.live.Decide(r.ctx, q.ID, event.Allow, "me", "")); err != nil {
			t.Fatal(err)
		}
	}
	f := func(dir string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	allow(filepath.Join(sub, "f"), func() error { return errors.Join(os.Rename(sub, sub+".was"), os.Symlink(out, sub)) })
	allow(filepath.Join(out, "f"), func() error {
		if f(out) != "a secret" || f(sub+".was") != "a plain text" {
			t.Errorf("the first step changed %q, %q", f(out), f(sub+".was"))
		}
		return nil
	})
	r.wait(id)
	if len(steps) != 2 || steps[0].Ended.Result.Success || !strings.Contains(steps[0].Ended.Err, "when it was approved") || !steps[1].Ended.Result.Success {
		t.Errorf("%+v", steps)
	}
	if f(out) != "the secret" {
		t.Errorf("the second step was allowed and left %q", f(out))
	}
	r.holds()
}
