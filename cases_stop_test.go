package ripcord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// deed is a tool made of a function, which may run beside others.
func deed(name string, b interrupt.Behaviour, do func(ctx context.Context, c *tool.Call) (tool.Result, error)) tool.Tool {
	return tooltest.Func{Is: tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Concurrent: true}, Declared: b, Do: do}
}

// A person stops a turn whose command has started a tree: the person says when,
// the coordinator how, the tool cleans up what is its own, and the session goes
// on, in this process and in the next.
//
// proves INT-04, INT-07, PRC-02, TRN-05, TRN-08, B001, B013
func TestAStoppedCommandIsGoneWithItsTreeAndTheHistoryIsAccepted(t *testing.T) {
	b := newBench(t, answers(
		"text \"Working. \"\n"+bash("c1", "echo line 1; echo $$ >pids; (trap '' TERM; while :; do date >>M; sleep 0.1; done) & echo $! >>pids; setsid sleep 300 & echo $! >>pids; wait")+"finish tool",
		"text \"Hello.\"\nfinish stop", "text \"Hello again.\"\nfinish stop"), withBash(t))
	id := b.submit("go")
	b.until("the tree runs", func() bool {
		_, err := os.Stat(filepath.Join(b.cwd, "M"))
		return err == nil && len(b.pids("pids")) == 3
	})
	pids := b.pids("pids")
	began := time.Now()
	if got := b.esc(id); got.State != "stopping" {
		t.Fatalf("%+v", got)
	}
	res := b.wait(id)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	b.outcome(res, event.TurnAborted)
	if left := alive(pids...); len(left) > 0 {
		t.Errorf("alive after the turn's end: %v", left)
	}
	e := b.results()["c1"]
	if e.Outcome != event.CallStopped || !strings.HasPrefix(e.Content.Text(), "aborted by user after ") || !strings.Contains(e.Content.Text(), "line 1") || e.RanMS == nil {
		t.Errorf("%+v", e)
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
	if body := b.lastRequest(); strings.Count(body, `"tool_call_id":"c1"`) != 1 || !strings.Contains(body, "turn_aborted") {
		t.Errorf("the model reads %s", body)
	}
	b.again()
	b.outcome(b.run("hello"), event.TurnCompleted)
	_ = b.lastRequest()
	b.fold()
}

// proves INT-29, INT-30, INT-31, TOL-05, TOL-09, B014
func TestARoundThatWasStoppedHasAResultForEveryCallInOrder(t *testing.T) {
	var third atomic.Bool
	holds := func(_ context.Context, c *tool.Call) (tool.Result, error) {
		<-tool.SignalOf(c).Done()
		return tool.Result{Content: event.TextOf("part"), Stopped: true}, nil
	}
	for name, dispatch := range map[string]int{"two side by side": 2, "one by one": 1} {
		t.Run(name, func(t *testing.T) {
			third.Store(false)
			b := newBench(t, `
C(1,quick) A'{}' E C(2,part) A'{}' E C(3,part) A'{}' E C(4,third) A'{}' E F(tool)
T'Hello.' F(stop)
`, with(deed("quick", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("real"), nil }),
				deed("part", interrupt.Cooperative, holds),
				deed("third", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
					third.Store(true)
					return tool.Text("ran"), nil
				})),
				func(c *ripcord.Config) { c.Limits.Parallel = dispatch })
			id := b.submit("go")
			b.until("all run that may", func() bool {
				return b.recorded(event.TypeCallRequested) == 4 && b.recorded(event.TypeCallStarted) == 1+dispatch && b.recorded(event.TypeCallEnded) == 1
			})
			b.esc(id)
			res := b.wait(id)
			b.outcome(res, event.TurnAborted)
			want := []event.CallOutcome{event.CallFinished, event.CallStopped, event.CallStopped, event.CallSkipped}
			if dispatch == 1 {
				want[2] = event.CallSkipped
			}
			if got := outcomes(res); !slices.Equal(got, want) {
				t.Errorf("ends %v, want %v", got, want)
			}
			if third.Load() {
				t.Error("a call ran that waited for its turn")
			}
			got := b.results()
			if got["1"].Content.Text() != "real" || !strings.HasSuffix(got["2"].Content.Text(), "part") || !got["4"].Error ||
				got["4"].Content.Text() != "Interrupted \u2014 skipped: the turn was cancelled before this tool started" {
				t.Errorf("%+v", got)
			}
			b.outcome(b.run("hello"), event.TurnCompleted)
			_ = b.lastRequest()
		})
	}
}

// The gentle signal comes first and what heeds it ends in its own way; what does
// not is forced. The ladder's first rung is TERM (PRC-03), where the case has INT
// before it: a command that traps both is asked once.
//
// proves B009, PRC-03
func TestACommandThatHeedsTheGentleSignalIsNotForced(t *testing.T) {
	for name, c := range map[string]struct{ trap, wrote, signal string }{
		"heeds":   {"trap 'echo term >>M; exit 0' TERM; trap '' INT", "term\n", ""},
		"ignores": {"trap '' TERM INT", "", "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			grace := time.Minute // however late it comes to its trap
			if c.signal != "" {
				grace = 300 * time.Millisecond
			}
			b := newBench(t, answers(bash("c1", c.trap+"; echo $$ >pids; : >M; while :; do sleep 0.02; done")+"finish tool", "text Hello.\nfinish stop"), withGrace(t, grace))
			id := b.submit("go")
			b.until("it has set its traps", func() bool { _, err := os.Stat(filepath.Join(b.cwd, "M")); return err == nil })
			b.esc(id)
			b.outcome(b.wait(id), event.TurnAborted)
			if got, _ := os.ReadFile(filepath.Join(b.cwd, "M")); string(got) != c.wrote {
				t.Errorf("wrote %q, want %q", got, c.wrote)
			}
			if left := alive(b.pids("pids")...); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
			if e := b.results()["c1"]; e.Signal != c.signal {
				t.Errorf("signal %q, want %q", e.Signal, c.signal)
			}
			b.outcome(b.run("hello"), event.TurnCompleted)
		})
	}
}

// proves B015, REC-04, TOL-07, HOK-04
func TestFourStatesOfACallAreFourWordsAndFourTexts(t *testing.T) {
	says := map[event.CallOutcome]string{}
	record := func(b *bench, id event.CallID, want event.CallOutcome, nothingRan bool) {
		b.Helper()
		e := b.results()[id]
		text := e.Content.Text()
		if e.Outcome != want {
			b.Errorf("ended %s, want %s: %s", e.Outcome, want, text)
		}
		ran := strings.Contains(text, "before this tool started") || strings.Contains(text, "Nothing of it happened")
		if ran != nothingRan {
			b.Errorf("%s: says that nothing ran: %v: %q", want, ran, text)
		}
		says[e.Outcome] = text
		b.run("hello")
		encoded, _ := json.Marshal(text)
		if body := b.lastRequest(); !strings.Contains(body, strings.Trim(string(encoded), `"`)) {
			b.Errorf("%s: the model does not read it: %s", want, body)
		}
	}
	half := bash("c1", "echo 1 >>M; echo one; sleep 300; echo 2 >>M")
	script := answers(half+"finish tool", "text Hello.\nfinish stop")
	t.Run("stopped", func(t *testing.T) {
		b := newBench(t, script, withBash(t))
		id := b.submit("go")
		b.until("half of it is done", func() bool { return len(b.pids("M")) == 1 })
		b.esc(id)
		b.wait(id)
		record(b, "c1", event.CallStopped, false)
		if !strings.Contains(says[event.CallStopped], "effects may be partial") {
			t.Errorf("%q", says[event.CallStopped])
		}
	})
	t.Run("denied", func(t *testing.T) {
		b := newBench(t, answers(half+"finish tool", "text Well.\nfinish stop", "text Hello.\nfinish stop"), withBash(t), asking)
		id := b.submit("go")
		b.decide(b.question(), event.Deny, "no")
		b.outcome(b.wait(id), event.TurnCompleted)
		record(b, "c1", event.CallWasDenied, true)
	})
	t.Run("not started", func(t *testing.T) {
		b := newBench(t, answers(bash("c0", "touch up; sleep 300")+half+"finish tool", "text Hello.\nfinish stop"), withBash(t))
		id := b.submit("go")
		b.until("the first runs", func() bool { _, err := os.Stat(filepath.Join(b.cwd, "up")); return err == nil })
		b.esc(id)
		b.wait(id)
		record(b, "c1", event.CallSkipped, true)
	})
	if t.Failed() {
		return
	}
	seen := map[string]bool{}
	for o, text := range says {
		if seen[text] {
			t.Errorf("%s says what another state says", o)
		}
		seen[text] = true
	}
	if len(seen) != 3 { // the fourth, unknown, is proved where a process dies: cases_crash_test.go
		t.Errorf("%d states", len(seen))
	}
}

// proves B039, INT-45, MOD-03, TRN-06
func TestASilentModelIsLeftAtOnceAndWhatComesLaterIsNotActedOn(t *testing.T) {
	b := newBench(t, "answer\nwait 1m\n"+bash("c1", "touch M")+"finish tool\nanswer\ntext Hello.\nfinish stop\n", withBash(t))
	id := b.submit("go")
	b.until("the request is there", func() bool { return len(b.server.Requests()) == 1 })
	began := time.Now()
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	at, ok := b.server.Requests()[0].Gone()
	if !ok || at.Sub(began) > 30*time.Second { // not when the wait is over
		t.Errorf("the connection was closed: %v, after %v", ok, at.Sub(began))
	}
	if n := len(b.server.Requests()); n != 1 || b.recorded(event.TypeCallRequested) > 0 {
		t.Errorf("%d requests\n%s", n, b.types())
	}
	if _, err := os.Stat(filepath.Join(b.cwd, "M")); err == nil {
		t.Error("the call was run")
	}
	b.outcome(b.run("hello"), event.TurnCompleted)
}

// proves B047, INT-23, TRN-17, PRC-03
func TestAfterAStopTheNextInputIsServedWithoutDelay(t *testing.T) {
	b := newBench(t, answers(bash("c1", "touch up; sleep 300 && touch M")+"finish tool", "text Hello.\nfinish stop"), withBash(t))
	id := b.submit("go")
	b.until("it sleeps", func() bool { _, err := os.Stat(filepath.Join(b.cwd, "up")); return err == nil })
	began := time.Now()
	b.esc(id)
	b.outcome(b.run("hello"), event.TurnCompleted)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := os.Stat(filepath.Join(b.cwd, "M")); err == nil {
		t.Error("the rest of the command ran")
	}
	b.outcome(b.wait(id), event.TurnAborted)
}

// proves B066, TRN-10, INT-55
func TestAStopInTheBackoffEndsTheTurn(t *testing.T) {
	b := newBench(t, "answer always\nhttp 529\n", func(c *ripcord.Config) { c.Limits.Backoff = 30 * time.Second })
	for round := range 2 {
		id := b.submit("go")
		b.until("it waits", func() bool { return b.recorded(event.TypeAttemptFailed) == round+1 })
		began := time.Now()
		b.esc(id)
		res := b.wait(id)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("idle after %v", took)
		}
		b.outcome(res, event.TurnAborted)
		if n := len(b.server.Requests()); n != round+1 {
			t.Errorf("%d requests", n)
		}
	}
}

// proves B019, TRN-07, MOD-02
func TestASignedThoughtGoesBackUnchangedAfterAStop(t *testing.T) {
	for name, script := range map[string]string{
		"cut in the text":           `R'think' S'sig1' T'half an ans' HANG`,
		"cut in the second thought": `R'think' S'sig1' R'more' T'half an ans' HANG`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script+"\nT'Hello.' F(stop)\n")
			id := b.submit("go")
			b.streams(event.ChunkText)
			b.esc(id)
			if res := b.wait(id); res.Text != "half an ans" {
				t.Errorf("%+v", res)
			}
			b.outcome(b.run("hello"), event.TurnCompleted)
			body := b.lastRequest()
			if !strings.Contains(body, "sig1") || !strings.Contains(body, "think") || !strings.Contains(body, "half an ans") || strings.Contains(body, "more") {
				t.Errorf("the model reads %s", body)
			}
		})
	}
}

// proves B033, LOG-02, TRN-07: law 5, at fifty points of a stream
func TestAStopNeverRewritesTheJournal(t *testing.T) {
	var script strings.Builder
	for range 50 {
		script.WriteString("answer\nrepeat 40 type 1ms some words of an answer\nhang\n")
	}
	b := newBench(t, script.String())
	was := ""
	for i := range 50 {
		asked := len(b.server.Requests())
		id := b.submit(fmt.Sprintf("question %d", i))
		if i%2 == 1 { // every other one in the stream, however slow the disk is
			b.until("asked", func() bool { return len(b.server.Requests()) > asked })
		}
		wait := time.NewTimer(rand.N(15 * time.Millisecond))
		<-wait.C
		b.esc(id)
		b.outcome(b.wait(id), event.TurnAborted)
		now := b.journal()
		if !strings.HasPrefix(now, was) || len(now) <= len(was) {
			t.Fatalf("round %d: the journal was rewritten", i)
		}
		was = now
	}
	_ = b.lastRequest()
	b.again()
	if l := b.fold(); len(l.TurnOf) != 50 {
		t.Errorf("%d turns are there after it was opened again", len(l.TurnOf))
	}
}

// proves B140, TRN-05, TRN-07
func TestThePromptIsKeptWhereverTheStopComes(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		at     func(*bench)
		holds  string
	}{
		"before the first byte": {"answer\nhold 60s\ntext x\nfinish stop\n", func(b *bench) { b.until("asked", func() bool { return len(b.server.Requests()) == 1 }) }, ""},
		"in the thinking":       {"answer\nreasoning pondering\nhang\n", func(b *bench) { b.streams(event.ChunkReasoning) }, "pondering"},
		"in the text":           {"answer\ntext partly\nhang\n", func(b *bench) { b.streams(event.ChunkText) }, "partly"},
		"in a tool": {answers("text first\n" + bash("c1", "touch up; sleep 60") + "finish tool"), func(b *bench) {
			b.until("it runs", func() bool { return len(b.records()) > 0 && b.recorded(event.TypeProcessStarted) == 1 })
		}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*ripcord.Config)
			if name == "in a tool" {
				changes = append(changes, withBash(t))
			}
			b := newBench(t, c.script, changes...)
			id := b.submit("a long prompt")
			c.at(b)
			b.esc(id)
			b.outcome(b.wait(id), event.TurnAborted)
			b.again()
			var said string
			for _, m := range b.fold().History {
				for _, p := range m.Content {
					switch p := p.(type) {
					case event.Text:
						said += p.Text
					case event.Reasoning:
						said += p.Text
					}
				}
			}
			if !strings.Contains(said, "a long prompt") || !strings.Contains(said, c.holds) {
				t.Errorf("the history holds %q", said)
			}
		})
	}
}
