package ripcord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/turn"
)

// However a turn ends, its result is one object of one shape, and who follows
// the session sees one terminal event that says the same, after everything else
// of the turn, with the ending in the file by then.
//
// proves INT-48, INT-49, TRN-06, IFC-01, B150, B115
func TestEveryEndingHasOneShapeAndOneTerminalEvent(t *testing.T) {
	text := func(b *bench, id event.InputID) { b.streams(event.ChunkText); b.esc(id) }
	broken := deed("broken", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { panic("oops") })
	pure := tooltest.Func{Is: tool.Spec{Name: "pure", Asks: func(json.RawMessage) (string, bool) { return "do it", true }},
		Do: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil }}
	var shape []string
	for name, c := range map[string]struct {
		script string
		act    func(*bench, event.InputID)
		change func(*ripcord.Config)
		real   bool // needs a real command
		want   event.TurnOutcome
	}{
		"completed":           {script: "T'ok' U(3,1) F(stop)", want: event.TurnCompleted},
		"aborted in the text": {script: "T'half' HANG", act: text, want: event.TurnAborted},
		"aborted in a tool": {script: answers("text first\n" + bash("c1", "sleep 60") + "finish tool"),
			act: func(b *bench, id event.InputID) {
				b.until("it runs", func() bool { return b.recorded(event.TypeProcessStarted) == 1 })
				b.esc(id)
			}, real: true, want: event.TurnAborted},
		"failed":    {script: "H(401)", want: event.TurnFailed},
		"a panic":   {script: "C(c1,broken) A'{}' E F(tool)", want: event.TurnFailed},
		"truncated": {script: "T'cut of' F(length)", want: event.TurnTruncated},
		"budget":    {script: "C(c1,pure) A'{}' E F(tool)", change: func(c *ripcord.Config) { c.Limits.MaxSteps = 1 }, want: event.TurnBudget},
		"blocked":   {script: "C(c1,pure) A'{}' E F(tool)", change: func(c *ripcord.Config) { c.Gate = gate.Rules{Policy: gate.DenyAll} }, want: event.TurnBlocked},
	} {
		changes := []func(*ripcord.Config){with(broken, pure)}
		if c.real {
			changes = append(changes, withBash(t))
		}
		if c.change != nil {
			changes = append(changes, c.change)
		}
		b := newBench(t, c.script+"\n", changes...)
		ctx, leave := context.WithCancel(b.ctx)
		seen := make(chan []api.Frame, 1)
		ready := make(chan struct{})
		go func() { // ends with the terminal event, or with leave
			var frames []api.Frame
			for f, err := range b.rt.Follow(ctx, b.id, 0, true) {
				if err != nil {
					t.Error(err)
				}
				if len(frames) == 0 {
					close(ready) // the first record is here: what is live is seen from here on
				}
				if frames = append(frames, f); f.Live != nil && f.Live.State == "ended" {
					b.reread(f.Live.Result)
				}
			}
			seen <- frames
		}()
		<-ready
		id := b.submit("go")
		if c.act != nil {
			c.act(b, id)
		}
		res := b.wait(id)
		b.outcome(res, c.want)
		b.until("the follower has seen the end", func() bool { st, err := b.rt.Status(b.ctx, b.id); return err == nil && !st.Running })
		if err := b.rt.Release(b.ctx, b.id); err != nil { // the following ends with the session
			t.Fatal(err)
		}
		frames := <-seen
		leave()
		ends, after := 0, 0
		for _, f := range frames {
			switch {
			case f.Live != nil && f.Live.State == "ended":
				ends++
				if f.Live.Result == nil || *f.Live.Result.Outcome != *res.Outcome || f.Live.Result.Text != res.Text || *f.Live.Result.Turn != *res.Turn {
					t.Errorf("%s: the terminal event says %+v, the result %+v", name, f.Live.Result, res)
				}
			case ends > 0 && f.Live != nil && (f.Live.Kind == api.LiveText || f.Live.Kind == api.LiveTool || f.Live.Kind == api.LiveReasoning):
				after++
			}
		}
		if ends != 1 || after > 0 {
			t.Errorf("%s: %d terminal events, %d pieces of the turn behind it", name, ends, after)
		}
		raw, err := json.Marshal(res)
		var object map[string]json.RawMessage
		if err = errors.Join(err, json.Unmarshal(raw, &object)); err != nil {
			t.Fatal(err)
		}
		keys := slices.Sorted(maps.Keys(object))
		if shape == nil {
			shape = keys
		}
		if !slices.Equal(keys, shape) {
			t.Errorf("%s: fields %v, others have %v", name, keys, shape)
		}
		for _, list := range []string{"calls", "dropped_unrun", "held", "jobs"} {
			if string(object[list]) == "null" {
				t.Errorf("%s: %s is null", name, list)
			}
		}
		if res.Usage == nil || name != "completed" && res.Usage.Complete || strings.Contains(string(object["usage"]), ":0") {
			t.Errorf("%s: usage %s", name, object["usage"])
		}
	}
}

// reread looks at the file as a client does that re-reads the log on the
// terminal event.
func (b *bench) reread(res *api.Result) {
	store, err := file.Open(b.root, file.Options{Check: check})
	if err != nil {
		b.Error(err)
		return
	}
	l := turn.NewLedger()
	for rec, err := range store.Read(context.Background(), b.id, 0) {
		if err = errors.Join(err, l.Apply(&rec)); err != nil {
			b.Error(err)
			return
		}
	}
	aborted := *res.Outcome == event.TurnAborted
	if l.OpenTurn() != 0 || l.Turn == nil || l.Turn.End == nil || l.Turn.End.Outcome != *res.Outcome || aborted != l.Turn.Marked {
		b.Errorf("at the terminal event (%s) a fresh reader sees turn %+v", *res.Outcome, l.Turn)
	}
}

// proves B068, TRN-10: what is refused for good is asked once, and can be stopped
func TestAContextThatIsTooLongIsNotAskedAgain(t *testing.T) {
	b := newBench(t, `answer always
http 400 body {"error":{"message":"maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}
`)
	res := b.run("go")
	b.outcome(res, event.TurnFailed)
	if res.Error == nil || res.Error.Code != string(event.FailContext) {
		t.Errorf("%+v", res.Error)
	}
	if n := len(b.server.Requests()); n > 2 {
		t.Errorf("%d requests with the same body", n)
	}
}

// proves B059, B065, TRN-10
func TestADroppedStreamIsAskedAgainAndLeavesNothingOfItself(t *testing.T) {
	for name, first := range map[string]string{
		"dropped in a call":          `T'Hello wor' C(1,bash) A'{"command":"touch M' DROP`,
		"ended without its finish":   "answer\ntext Hello wor\ncall bash 1\nargs {\"command\":\"touch M\"}\nclose",
		"ended in the arguments":     "answer\ntext Hello wor\ncall bash 1\nargs {\"command\":\nclose",
		"an error within the stream": "answer\ntext Hello wor\nerror overloaded_error busy",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, first+"\nT'Hello world' F(stop)\nT'Bye.' F(stop)\n", withBash(t))
			res := b.run("go")
			b.outcome(res, event.TurnCompleted)
			if res.Text != "Hello world" || len(res.Calls) > 0 || b.recorded(event.TypeCallRequested) > 0 || b.recorded(event.TypeAttemptFailed) != 1 {
				t.Errorf("%+v\n%s", res, b.types())
			}
			b.outcome(b.run("next"), event.TurnCompleted)
			if body := b.lastRequest(); strings.Contains(body, "Hello wor\"") || strings.Contains(body, "touch M") {
				t.Errorf("the model reads %s", body)
			}
			if _, err := os.Stat(filepath.Join(b.cwd, "M")); err == nil {
				t.Error("a call of a dead attempt ran")
			}
		})
	}
}

// proves B062, TRN-05
func TestAnAnswerCutAtItsLimitRunsNoHalfCall(t *testing.T) {
	b := newBench(t, "answer\ncall write 1\nargs \"{\\\"path\\\":\\\"a\\\",\\\"content\\\":\\\"line1\\nli\"\nfinish length\nanswer\ntext Sorry.\nfinish stop\n", withBash(t))
	res := b.run("go")
	b.outcome(res, event.TurnTruncated)
	if _, err := os.Stat(filepath.Join(b.cwd, "a")); err == nil {
		t.Error("the file was written")
	}
	if got := b.results()["1"]; got.Outcome != event.CallInvalid || !strings.Contains(got.Content.Text(), "cut at the output limit") || b.recorded(event.TypeCallStarted) > 0 {
		t.Errorf("%+v", got)
	}
	_ = b.lastRequest()
}

// proves B114, B112, TRN-06
func TestTheUsageOfAFinishedStepSurvivesAStopAndARestart(t *testing.T) {
	b := newBench(t, answers(bash("c1", "touch up; sleep 60")+"usage 500 20\nfinish tool", "text Hello.\nusage 30 2\nfinish stop"), withBash(t))
	id := b.submit("go")
	b.until("it runs", func() bool { return b.recorded(event.TypeProcessStarted) == 1 })
	b.esc(id)
	res := b.wait(id)
	if res.Usage.Input == nil || *res.Usage.Input != 500 || *res.Usage.Output != 20 || !res.Usage.Complete {
		t.Errorf("%+v", res.Usage)
	}
	b.again()
	b.outcome(b.run("hello"), event.TurnCompleted)
	if u := b.fold().Usage; *u.Tokens.Input != 530 || *u.Tokens.Output != 22 || !u.Complete {
		t.Errorf("the session's total is %+v", u)
	}
}

// A program that runs a turn under its own context can leave at any moment: the
// books are closed, and what it gets says what became of the turn.
//
// proves INT-33, INT-35, INT-36, INT-38, TRN-02, TRN-05
func TestRunObeysItsCallersContextWhereverItEnds(t *testing.T) {
	cooperative := deed("work", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		done := time.NewTimer(3 * time.Millisecond)
		defer done.Stop()
		select {
		case <-done.C:
			return tool.Text("real"), nil
		case <-tool.SignalOf(c).Done():
			return tool.Result{}, tool.SignalOf(c).Checkpoint()
		}
	})
	b := newBench(t, `answer always if result
  repeat 3 type 1ms words
  finish stop
answer always
  type 1ms some words
  call work - {}
  call work - {}
  finish tool
`, with(cooperative))
	gone := errors.New("the caller has left")
	seen := map[string]int{}
	began := time.Now()
	b.outcome(b.run("to see how long it takes"), event.TurnCompleted)
	long := 2 * time.Since(began)
	for i := range 100 {
		ctx, leave := context.WithCancelCause(b.ctx)
		var timer *time.Timer
		switch i % 12 {
		case 0: // before it begins
			leave(gone)
		case 6: // never, however slow the machine is
		default:
			timer = time.AfterFunc(rand.N(long), func() { leave(gone) })
		}
		res, err := b.rt.Run(ctx, b.id, fmt.Sprint("go ", i))
		left := context.Cause(ctx) != nil
		if timer != nil {
			timer.Stop()
		}
		leave(nil)
		switch {
		case err != nil && (!errors.Is(err, gone) || res.Outcome == nil || *res.Outcome != event.TurnCompleted):
			t.Fatalf("round %d: %+v, %v", i, res, err)
		case err == nil && *res.Outcome == event.TurnAborted:
			if *res.Reason != string(interrupt.ParentCancelled) || !left {
				t.Fatalf("round %d: %+v", i, res)
			}
		case err == nil && *res.Outcome != event.TurnCompleted:
			t.Fatalf("round %d: %+v", i, res)
		}
		seen[fmt.Sprint(*res.Outcome, " ", err)]++
	}
	t.Logf("%v", seen)
	if len(seen) < 2 {
		t.Errorf("the caller never left in time, or always: %v", seen)
	}
	b.fold()
	_ = b.lastRequest()
	b.outcome(b.run("once more"), event.TurnCompleted)
}

// proves INT-35, TRN-13, TRN-17: a caller that leaves while its input waits is let go, and it never runs
func TestRunLetsACallerGoWhoseTurnHasNotBegun(t *testing.T) {
	for name, held := range map[string]bool{"behind a turn": false, "held": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "T'first' HANG\nT'third' F(stop)\n")
			first := b.submit("first")
			b.streams(event.ChunkText)
			ctx, leave := context.WithCancelCause(b.ctx)
			defer leave(nil)
			gone := errors.New("the caller has left")
			done := make(chan error, 1)
			go func() { _, err := b.rt.Run(ctx, b.id, "second"); done <- err }()
			b.until("it waits", func() bool { return b.recorded(event.TypeInboxAccepted) == 2 })
			if held {
				b.esc(first)
				b.wait(first)
			}
			leave(gone)
			select {
			case err := <-done:
				if !errors.Is(err, gone) {
					t.Errorf("%v", err)
				}
			case <-time.After(patience):
				t.Fatalf("the caller waits on\n%s", b.types())
			}
			if !held {
				b.esc(first)
				b.wait(first)
			}
			b.outcome(b.run("third"), event.TurnCompleted)
			if strings.Contains(b.lastRequest(), "second") || b.recorded(event.TypeInboxDropped) != 1 {
				t.Errorf("it ran for nobody\n%s", b.types())
			}
		})
	}
}
