package workflow_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// endless are scripts that end by force only, or not at all by themselves.
func endless() map[string]string {
	return map[string]string{
		"an endless loop":           `log("up"); for (;;);`,
		"one that ignores the stop": `log("up"); for (;;) { try { for (;;); } catch (e) { log("caught") } finally { continue } }`,
		"a regex of minutes":        `log("up"); return /^(?=(a+)+b)/.test("a".repeat(64))`,
		"a sort of minutes":         `log("up"); const a = Array.from({length: 2e5}, (_, i) => i); return a.sort(() => { for (let i = 0; i < 1e6; i++); return 0 }).length`,
		// The signal comes while the engine is inside of its own sort, which calls
		// nothing of the script.
		"a sort that prints":  `new Array(1e6).fill("up").sort(log)`,
		"a long sleep":        `log("up"); await sleep(1e9)`,
		"a tower of promises": `log("up"); const f = () => Promise.resolve().then(f); await f()`,
		"many sleeps":         `log("up"); for (;;) await sleep(0)`,
	}
}

// proves TOL-24, PRC-02, PRC-03, TOL-07: whatever a script does, a trip ends
// it and its process; what it had said is in the result.
func TestATripEndsWhateverAScriptDoes(t *testing.T) {
	for name, script := range endless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // graces are waited out
			r := newRig()
			go func() {
				if err := r.live.Await(within(t), "up"); err != nil {
					t.Error(err)
				}
				r.trip(t)
			}()
			e := r.run(t, workflow.Options{}, script)
			if text := e.Result.Content.Text(); e.Outcome != event.CallStopped || !strings.Contains(text, "up\n") || strings.Contains(text, "caught") || len(e.Result.Survivors) > 0 {
				t.Errorf("%s %q %v", e.Outcome, text, e.Result.Survivors)
			}
			if got := r.kinds(); len(got) != 2 || !strings.HasPrefix(got[1], "process/ended") {
				t.Errorf("recorded %v", got)
			}
		})
	}
}

// proves PRC-03, INT-18: who will not wait any longer does not: the grace,
// which here is an hour, falls away.
func TestAForcedTripKillsTheEngineAtOnce(t *testing.T) {
	r := newRig()
	go func() {
		if err := r.live.Await(within(t), "up"); err != nil {
			t.Error(err)
		}
		r.trip(t)
		r.c.Force()
	}()
	e := r.run(t, workflow.Options{Grace: time.Hour}, endless()["a sort that prints"])
	if e.Outcome != event.CallStopped || e.Result.Signal != "SIGKILL" {
		t.Errorf("%s %q", e.Outcome, e.Result.Signal)
	}
}

// proves TOL-24: an engine that can be interrupted is, and ends by itself; the
// grace, which here is an hour, is for those that can't.
func TestALoopIsInterruptedNotKilled(t *testing.T) {
	r := newRig()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.live.Await(within(t), "up"); err != nil {
			t.Error(err)
		}
		r.trip(t)
		select {
		case <-ended:
		case <-time.After(patience / 3):
			r.c.Force() // the assertion below tells
		}
	})
	e := r.run(t, workflow.Options{Grace: time.Hour}, endless()["one that ignores the stop"])
	close(ended)
	wg.Wait()
	if e.Outcome != event.CallStopped || e.Result.Signal != "" {
		t.Errorf("%s %q", e.Outcome, e.Result.Signal)
	}
}

// proves TOL-24, law 9: after the trip no step starts; the one that runs ends
// by its own rule; the list says what became of each.
func TestATripStartsNoFurtherStepAndNamesWhatBecameOfEach(t *testing.T) {
	begun := make(chan struct{})
	slow := tooltest.Func{Is: tool.Spec{Name: "slow"}, Declared: interrupt.Cooperative,
		Do: func(_ context.Context, call *tool.Call) (tool.Result, error) {
			close(begun)
			<-tool.SignalOf(call).Done()
			return tool.Result{Content: event.TextOf("half"), Stopped: true}, nil
		}}
	r := newRig(echo("one"), slow)
	go func() {
		<-begun
		r.trip(t)
	}()
	e := r.run(t, workflow.Options{Side: 1}, `
		await tool("one", {say: "a"})
		const all = parallel(["slow", "one", "one"].map(n => tool(n)))
		try { await all } finally { log("went on"); await tool("one") }`)
	text := e.Result.Content.Text()
	if e.Outcome != event.CallStopped || !strings.Contains(text, "steps:\n1 one: finished\n2 slow: stopped\n") || strings.Count(text, "finished") != 1 || strings.Contains(text, "went on") {
		t.Errorf("%s %q", e.Outcome, text)
	}
	if got := r.caller.seen(); !slices.Equal(got, []string{"1 one", "2 slow"}) {
		t.Errorf("%v", got)
	}
}

// proves TOL-24, PRC-03: an engine does not wait, busy, for a step that takes
// its time to end: it is ended, and the step is waited for.
func TestABusyEngineIsEndedThoughAStepStillRuns(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	stubborn := tooltest.Func{Is: tool.Spec{Name: "stubborn"}, Do: func(context.Context, *tool.Call) (tool.Result, error) {
		close(begun)
		<-gone
		return tool.Text("done"), nil
	}}
	r := newRig(stubborn)
	r.recorder.OnRecord = func(p event.Payload) {
		if p.Type() == event.TypeProcessEnded {
			close(gone) // the step ends only after the engine did
		}
	}
	go func() {
		<-begun
		r.trip(t)
	}()
	e := r.run(t, workflow.Options{}, `tool("stubborn"); for (;;);`)
	if text := e.Result.Content.Text(); e.Outcome != event.CallStopped || !strings.Contains(text, "1 stubborn: finished") {
		t.Errorf("%s %q", e.Outcome, text)
	}
}

// proves law 6: a script that had returned when the signal came has returned.
func TestAScriptThatHadReturnedIsNotOverwrittenByTheStop(t *testing.T) {
	r := newRig()
	r.recorder.OnRecord = func(p event.Payload) {
		if p.Type() == event.TypeProcessEnded {
			r.trip(t) // its value is there; the call has not returned yet
		}
	}
	e := r.run(t, workflow.Options{}, `return "value"`)
	want(t, e, "it returned:\nvalue")
}

// proves law 6, TOL-07: when the end and the stop meet, what the call says and
// what the script printed agree: a value that is there was returned.
func TestWhenReturnAndStopMeetOneOfThemIsTheWholeStory(t *testing.T) {
	h := hostOf(t, proc.Options{})
	for range 20 {
		r := newRig()
		met := make(chan struct{})
		go func() {
			defer close(met)
			if err := r.live.Await(within(t), "up"); err != nil {
				t.Error(err)
			}
			r.trip(t)
		}()
		e := r.run(t, workflow.Options{Host: h, Grace: time.Hour}, `log("up"); return "value"`)
		<-met
		returned := strings.Contains(e.Result.Content.Text(), "it returned:\nvalue")
		if returned != (e.Outcome == event.CallFinished) || !returned && e.Outcome != event.CallStopped {
			t.Errorf("%s %q", e.Outcome, e.Result.Content.Text())
		}
	}
}

// proves TOL-24: its own time is bounded; time in which a step runs is the
// step's.
func TestOnlyItsOwnTimeIsCounted(t *testing.T) {
	t.Parallel() // its time passes in waiting
	for script, more := range map[string][]string{`for (;;);`: {"no steps"}, `await sleep(1e9)`: nil} {
		r := newRig()
		r.timeout = 0.3
		e := r.run(t, workflow.Options{}, script)
		want(t, e, append(more, "it used up its 0.3 s of own time")...)
		if e.Result.TimedOut == nil || !*e.Result.TimedOut {
			t.Errorf("%s: timed out %v", script, e.Result.TimedOut)
		}
	}
	// A step takes longer than all of the script's own time. How much of that a
	// script needs that does next to nothing is the machine's to say.
	for ample := time.Second; ; ample *= 3 {
		r := newRig(tooltest.Func{Is: tool.Spec{Name: "long"}, Do: func(context.Context, *tool.Call) (tool.Result, error) {
			<-time.After(ample + ample/4) // a person thinks
			return tool.Text("yes"), nil
		}})
		r.timeout = ample.Seconds()
		e := r.run(t, workflow.Options{}, `return (await tool("long")).text`)
		if late := e.Result.TimedOut; late != nil && *late && ample < 20*time.Second {
			continue
		}
		want(t, e, "1 long: finished", "it returned:\nyes")
		if late := e.Result.TimedOut; late == nil || *late {
			t.Errorf("timed out %v, of %v", late, ample)
		}
		return
	}
}

// proves TOL-24 (its own budget): memory, stack and output end the engine or
// are cut, and are told in words that help; the runtime takes no harm.
func TestWhatAScriptDevoursEndsItsEngineOnly(t *testing.T) {
	const small = 64 << 20
	for name, c := range map[string]struct {
		script string
		parts  []string
		memory int64
	}{
		"a growing array":        {`log("up"); const a = []; for (;;) a.push({i: a.length})`, []string{"it used more than its 64 MiB of memory", "up\n"}, small},
		"a string of a gigabyte": {`log("up"); return "x".repeat(1e9).length`, []string{"it used more than its 64 MiB of memory", "up\n"}, small},
		"a sort of 1e7":          {`log("up"); return new Array(1e7).fill(0).map(Math.random).sort().length`, []string{"it used more than its 64 MiB of memory", "up\n"}, small},
		"recursion":              {`const f = () => 1 + f(); return f()`, []string{"deeper than 5000"}, small},
		"recursion in built-ins": {`log("up"); return JSON.parse("[".repeat(2e6))`, []string{"it went deeper than the engine's stack", "up\n"}, 1 << 30},
		"a flood of words":       {`for (let i = 0; i < 60000; i++) log("0123456789".repeat(10)); return "end"`, []string{"of which", "were not kept", "it returned:\nend"}, small},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			e := r.run(t, workflow.Options{Memory: c.memory}, c.script)
			if strings.Contains(e.Result.Content.Text(), "ThreadSanitizer failed to allocate") {
				t.Log("the race detector met the bound before the script did: the engine ended, and nothing else")
				return
			}
			want(t, e, c.parts...)
			if text := e.Result.Content.Text(); strings.Contains(text, "goroutine") || strings.Contains(text, "fatal error") || strings.Contains(text, "runtime:") {
				t.Errorf("%q speaks of the engine's inside", text)
			}
		})
	}
}

// proves TOL-24, B-class bad input: 100 MB of result are cut to what is kept.
func TestAResultOf100MBIsCut(t *testing.T) {
	r := newRig()
	e := r.run(t, workflow.Options{Memory: 1 << 30}, `return "0123456789".repeat(1e7)`)
	want(t, e, "the script ran to its end", "bytes are left out here")
	if n := len(e.Result.Content.Text()); n > 40<<10 {
		t.Errorf("%d bytes in the record", n)
	}
}

// proves TOL-24: nesting that no parser survives ends the engine only.
func TestASourceThatNestsTooDeepEndsTheEngineOnly(t *testing.T) {
	r := newRig()
	e := r.run(t, workflow.Options{}, strings.Repeat("(", 200<<10))
	if e.Err == "" { // a parser that refuses would do as well
		want(t, e, "it went deeper than the engine's stack")
	}
}
