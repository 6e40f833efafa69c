package ripcord_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/forensics"
)

// stalls sets the limits of the stall guard.
func stalls(first, idle, silence, cooldown time.Duration) func(*ripcord.Config) {
	return func(c *ripcord.Config) {
		c.Guards.Stall = guard.StallLimits{First: first, Idle: idle, Silence: silence, Cooldown: cooldown}
	}
}

// prose is a text of n characters that does not repeat itself.
func prose(n int) string {
	var b strings.Builder
	rng := rand.New(rand.NewPCG(7, 7))
	for i := 1; b.Len() < n; i++ {
		fmt.Fprintf(&b, "Section %d tells of %d in its %d words.\n", i, rng.IntN(1e6), rng.IntN(1e4))
	}
	return b.String()[:n]
}

// tool is a call of the script whose arguments are whole.
func toolCall(name, id string, args any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("call %s %s\nargs %q\nend\n", name, id, raw)
}

// cutCall is a call whose argument stops after n characters; then nothing comes.
func cutCall(id string, n int) string {
	raw, err := json.Marshal(prose(n))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("call write %s\nargs %q\nhang\n", id, `{"path":"page.md","content":`+strings.TrimSuffix(string(raw), `"`))
}

func wakes(t *testing.T, b *bench) (out []event.GuardWake) {
	t.Helper()
	recs := b.records()
	for i := range recs {
		p, err := recs[i].Body()
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := p.(event.GuardWake); ok {
			out = append(out, w)
		}
	}
	return out
}

// The given incident, told to its end: a stream goes silent three times at the
// same place of one long argument; each time the guard says so with the numbers
// and wakes the model to another way, which is then taken. The same request is
// never repeated, and a replay of the journal clears the loop guard.
//
// proves GRD-01, GRD-02, GRD-03, GRD-04, GRD-08, LOG-08
func TestThreeStallsAtOnePlaceEndInASkeletonAndEdits(t *testing.T) {
	t.Parallel() // it waits most of its time
	b := newBench(t, answers(cutCall("w1", 30_807), cutCall("w2", 30_806), cutCall("w3", 30_807),
		toolCall("write", "w4", map[string]string{"path": "page.md", "content": "# Page\n\nTODO\n"})+"finish tool",
		toolCall("edit", "e1", map[string]string{"path": "page.md", "old": "TODO", "new": "first part\n\nTODO"})+"finish tool",
		toolCall("edit", "e2", map[string]string{"path": "page.md", "old": "\n\nTODO", "new": ", second part"})+"finish tool",
		"text Written in pieces.\nfinish stop"),
		withBash(t), stalls(time.Minute, 600*time.Millisecond, 100*time.Millisecond, time.Millisecond))
	b.outcome(b.run("write the page"), event.TurnStalled)
	b.until("it is written in pieces", func() bool { st, err := b.rt.Status(b.ctx, b.id); return err == nil && !st.Running && st.Turn == 4 })
	st, err := b.rt.Status(b.ctx, b.id)
	if err != nil || st.Last == nil || *st.Last.Outcome != event.TurnCompleted || st.Last.Text != "Written in pieces." {
		t.Fatalf("%+v, %v\n%s", st.Last, err, b.types())
	}
	if raw, err := os.ReadFile(filepath.Join(b.cwd, "page.md")); err != nil || string(raw) != "# Page\n\nfirst part, second part\n" {
		t.Errorf("the page is %q, %v", raw, err)
	}
	told := wakes(t, b)
	if len(told) != 3 || told[2].Count != 3 {
		t.Fatalf("%d wakes: %+v", len(told), told)
	}
	for i, words := range [][]string{
		{"arguments of write", "30807 characters", "provider's stream went silent", "write a short skeleton first"},
		{"30806 characters", "same place (30807 and 30806", "would be cut there again"},
		{"30807 characters", "same place", "would be cut there again"},
	} {
		for _, w := range words {
			if !strings.Contains(told[i].Notice, w) {
				t.Errorf("notice %d lacks %q: %s", i+1, w, told[i].Notice)
			}
		}
	}
	if n := len(b.server.Requests()); n != 7 || b.recorded(event.TypeAttemptFailed) != 3 {
		t.Errorf("%d requests, %d failed attempts: something was asked again as it was", n, b.recorded(event.TypeAttemptFailed))
	}
	if last := b.lastRequest(); strings.Contains(last, "Section 500 tells") {
		t.Error("what was cut is sent to the model again")
	}
	if !strings.Contains(b.journal(), "Section 500 tells") {
		t.Error("what was cut is not in the journal")
	}
	clears(t, b)
}

// clears replays the session's own journal: the stall guard saw what it saw, the
// loop guard had nothing to say.
func clears(t *testing.T, b *bench) {
	t.Helper()
	rep, err := forensics.Replay(strings.NewReader(b.journal()), forensics.Options{Stall: b.cfg.Guards.Stall})
	if err != nil || rep.Kind != forensics.Ripcord || rep.Found != 3 || len(rep.Loops) > 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	for i, a := range rep.Aborts {
		if a.Stall != guard.Stalled || a.ByPerson || a.Wake != guard.Wake || a.Cut.Argument != []int{30_807, 30_806, 30_807}[i] || i > 0 && a.SameAs == 0 {
			t.Errorf("abort %d: %+v", i+1, a)
		}
		for _, c := range a.Channels {
			if c.Repeat != nil || c.Probe.Score >= 30 {
				t.Errorf("abort %d: the loop guard is called guilty over %s: %+v", i+1, c.Name, c)
			}
		}
	}
}

// A person's Esc at the same place wakes nothing, whatever the silence was.
//
// proves GRD-02, GRD-03, INT-39
func TestAnEscAtTheStallsPlaceWakesNothing(t *testing.T) {
	b := newBench(t, answers(cutCall("w1", 30_806), "text Then not.\nfinish stop"), withBash(t), stalls(time.Minute, time.Minute, time.Nanosecond, time.Nanosecond))
	id := b.submit("write the page")
	b.streams(event.ChunkArgs)
	b.until("all of it is there", func() bool { return strings.Contains(b.journal(), "Section 600 ") })
	b.esc(id)
	b.outcome(b.wait(id), event.TurnAborted)
	b.outcome(b.run("leave it"), event.TurnCompleted)
	if n := len(wakes(t, b)); n > 0 || !strings.Contains(b.journal(), `"decision":"by-person"`) {
		t.Errorf("%d wakes\n%s", n, b.types())
	}
	if n := len(b.server.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// Silence before the first event and behind one, over a real connection: what
// limit ran out, how long it is and where it was is said, what came is kept, and
// the attempts are bounded; at one place for good it is not asked for ever. Esc
// works in all of it.
//
// proves GRD-01, GRD-04, TRN-10, B054, B057, B061
func TestSilenceIsSaidWithItsLimitAndItsPlace(t *testing.T) {
	t.Parallel() // it waits most of its time
	for name, c := range map[string]struct {
		script, limit string
		first, idle   time.Duration // the other one does not run out, however slow the machine is
		requests      int
		words         []string
	}{
		"before the first event": {"default\n  headers\n  hang\n", "first_event", 100 * time.Millisecond, time.Minute, 4, []string{"no first event", "limit 100ms"}},
		"behind one":             {"default\n  text the same forty characters each time, yes\n  hang\n", "idle", time.Minute, 200 * time.Millisecond, 2, []string{"limit 200ms", "same place"}},
	} {
		b := newBench(t, c.script, stalls(c.first, c.idle, time.Second, time.Second))
		res := b.run("go")
		b.outcome(res, event.TurnStalled)
		if n := len(b.server.Requests()); n != c.requests {
			t.Errorf("%s: %d requests", name, n)
		}
		for _, w := range c.words {
			if res.Error == nil || !strings.Contains(res.Error.Message, w) {
				t.Errorf("%s: the error lacks %q: %+v", name, w, res.Error)
			}
		}
		if n := b.recorded(event.TypeAttemptFailed); n != c.requests || !strings.Contains(b.journal(), `"limit":"`+c.limit+`"`) {
			t.Errorf("%s: %d failed attempts\n%s", name, n, b.types())
		}
		if c.limit == "idle" && !strings.Contains(res.Text, "forty characters") {
			t.Errorf("%s: kept %q", name, res.Text)
		}
	}
	b := newBench(t, "default\n  text abc\n  hang\n", stalls(time.Minute, time.Minute, time.Minute, time.Minute))
	id := b.submit("go")
	b.streams(event.ChunkText)
	b.esc(id)
	if res := b.wait(id); res.Text != "abc" {
		t.Errorf("%+v", res)
	}
}

// What a model thinks or writes into arguments is life; a slow start is judged
// by its own limit, which can be switched off.
//
// proves GRD-01, MOD-02, B056, B057
func TestThinkingAndArgumentsAreNoSilence(t *testing.T) {
	t.Parallel()                                                                            // it waits most of its time
	slow := func(step string) string { return strings.Repeat(step+"\n  wait 100ms\n", 14) } // longer than the limit in all
	for name, script := range map[string]string{
		"reasoning": "answer\n" + slow("  reasoning x") + "  text done\n  finish stop\n",
		"arguments": "answer\n  call bash c1\n  args {\"command\":\"true #\n" + slow("  args x") + "  args \"\\\"}\"\n  end\n  finish tool\nanswer\n  text done\n  finish stop\n",
		"a start":   "answer\n  headers\n  wait 1400ms\n  text done\n  finish stop\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := stalls(time.Minute, time.Second, time.Second, time.Second)
			if name == "a start" {
				limits = stalls(-1, time.Second, time.Second, time.Second)
			}
			b := newBench(t, script, withBash(t), limits)
			res := b.run("go")
			if b.outcome(res, event.TurnCompleted); res.Text != "done" || b.recorded(event.TypeAttemptFailed) > 0 || strings.Contains(b.journal(), `"type":"guard/verdict"`) {
				t.Errorf("%+v\n%s", res, b.types())
			}
		})
	}
}

// A word that floods an answer, and a paragraph that comes again and again, in
// text, thought and arguments, are stopped early; the model is told once with a
// sample, the second time the turn ends. What repeated is not sent again.
//
// proves GRD-05, GRD-07, B079, B080
func TestWhatRepeatsIsStoppedEarlyAndNotSentAgain(t *testing.T) {
	para := prose(320)
	quoted, err := json.Marshal(strings.Repeat(para, 35))
	if err != nil {
		t.Fatal(err)
	}
	pieces := func(step, text string, n int) string {
		var b strings.Builder
		for len(text) > 0 {
			k := min(n, len(text))
			fmt.Fprintf(&b, "  %s %q\n", step, text[:k])
			text = text[k:]
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		steps string
		most  int // characters of it in the journal
	}{
		"one word":     {pieces("text", prose(3000), 900) + pieces("text", strings.Repeat("harbour ", 30_000), 4001), 3000 + 400*8},
		"a paragraph":  {pieces("text", strings.Repeat(para, 35), 13), 8 * 320},
		"a thought":    {pieces("reasoning", strings.Repeat(para, 35), 130), 8 * 320},
		"an argument":  {"  call write w1\n" + pieces("args", `{"path":"a.md","content":`+string(quoted), 13), 9 * 320},
		"behind words": {pieces("text", prose(4096), 1000) + pieces("text", strings.Repeat(para, 35), 13), 4096 + 8*320},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "answer\n"+c.steps+"  hang\nanswer\n"+c.steps+"  hang\nanswer\n  text fine\n  finish stop\n", withBash(t))
			res := b.run("go")
			b.outcome(res, event.TurnLooped)
			if res.Error == nil || res.Error.Code != string(event.FailLoop) {
				t.Errorf("%+v", res)
			}
			for _, rec := range b.records() {
				p, _ := rec.Body()
				if v, ok := p.(event.GuardVerdict); ok && v.Guard == "loop" {
					var at struct {
						Repeat guard.Repeat `json:"repeat"`
					}
					if err := json.Unmarshal(v.Facts, &at); err != nil || at.Repeat.Period*at.Repeat.Count > c.most {
						t.Errorf("found after %d times %d, %v", at.Repeat.Count, at.Repeat.Period, err)
					}
				}
			}
			b.outcome(b.run("go on"), event.TurnCompleted)
			last := b.lastRequest()
			if n := strings.Count(last, "harbour"); n > 40 {
				t.Errorf("%d words of it are sent again", n)
			}
			if n := strings.Count(last, para[40:80]); n > 5 { // a sample and what came before
				t.Errorf("%d copies of it are sent again", n)
			}
			if !strings.Contains(last, "repeated itself") {
				t.Error("the model is not told")
			}
		})
	}
}

// Structured output is no loop; where the guard is to warn only, it warns and
// the answer is whole.
//
// proves GRD-05, GRD-09, B073
func TestStructuredOutputIsNoLoopAndAWarningStopsNothing(t *testing.T) {
	type row struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Open bool   `json:"open"`
	}
	rng := rand.New(rand.NewPCG(3, 3))
	rows, digits := []row{}, []int{}
	for i := range 400 {
		rows = append(rows, row{i, fmt.Sprintf("n%d", rng.IntN(100)), i%3 == 0})
	}
	for range 5000 {
		digits = append(digits, rng.IntN(10))
	}
	table, _ := json.MarshalIndent(rows, "", "  ")
	line, _ := json.Marshal(digits)
	flood := strings.Repeat("harbour ", 4000)
	b := newBench(t, fmt.Sprintf("answer\n  split 7\n  text %q\n  finish stop\nanswer\n  split 5\n  text %q\n  finish stop\nanswer\n  text %q\n  finish stop\n", table, line, flood),
		func(c *ripcord.Config) { c.Guards.OnLoop = guard.Warn })
	for _, want := range []string{string(table), string(line)} {
		if res := b.run("list"); *res.Outcome != event.TurnCompleted || res.Text != want || !json.Valid([]byte(res.Text)) {
			t.Fatalf("%s: %d bytes of %d", *res.Outcome, len(res.Text), len(want))
		}
	}
	if strings.Contains(b.journal(), `"type":"guard/verdict"`) {
		t.Errorf("a verdict over structured output\n%s", b.types())
	}
	warned := make(chan string, 1)
	seen := make(chan struct{})
	go func() { // ends with the warning
		first := true
		for f, err := range b.rt.Follow(b.ctx, b.id, 0, true) {
			if err != nil {
				warned <- err.Error()
				return
			}
			if first {
				first = false
				close(seen)
			}
			if f.Live != nil && f.Live.Kind == api.LiveState && f.Live.State == "warning" {
				warned <- f.Live.Text
				return
			}
		}
		warned <- "the session ended without a warning"
	}()
	<-seen
	if res := b.run("flood"); *res.Outcome != event.TurnCompleted || res.ExitCode != 0 || res.Text != flood {
		t.Errorf("%s with %d bytes", *res.Outcome, len(res.Text))
	}
	if w := <-warned; !strings.Contains(w, "repeated itself") {
		t.Errorf("warned %q", w)
	}
}
