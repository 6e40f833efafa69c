package guard_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/guard"
)

// incident is a cut as the three of the published incident were.
func incident() guard.Cut {
	return guard.Cut{Assistant: true, Aborted: true, Calls: 1, Tool: "write", Argument: 30807, Stream: 31970, Silence: 120_000}
}

// proves GRD-02
func TestAMessagesEndIsJudgedByTheFirstThingThatSpeaksAgainstAStall(t *testing.T) {
	change := func(f func(*guard.Cut)) guard.Cut { c := incident(); f(&c); return c }
	for _, c := range []struct {
		name string
		cut  guard.Cut
		want guard.StallVerdict
	}{
		{"a user's message", change(func(c *guard.Cut) { c.Assistant = false }), guard.NotAssistant},
		{"nothing is known", guard.Cut{}, guard.NotAssistant},
		{"it came to its finish", change(func(c *guard.Cut) { c.Aborted = false }), guard.NotAborted},
		{"an error stop, which retries own", guard.Cut{Assistant: true, Calls: 1, Argument: 30807, Silence: 120_000}, guard.NotAborted},
		{"cut in text", change(func(c *guard.Cut) { c.Calls = 0 }), guard.NoToolCall},
		{"cut in a long text", guard.Cut{Assistant: true, Aborted: true, Stream: 50_000, Silence: 120_000}, guard.NoToolCall},
		{"one code point short", change(func(c *guard.Cut) { c.Argument = 16_383 }), guard.ArgTooSmall},
		{"at the threshold", change(func(c *guard.Cut) { c.Argument = 16_384 }), guard.Stalled},
		{"a long stream of short strings", change(func(c *guard.Cut) { c.Argument, c.Stream = 100, 50_000 }), guard.ArgTooSmall},
		{"one millisecond short", change(func(c *guard.Cut) { c.Silence = 14_999 }), guard.StreamActive},
		{"silent long enough", change(func(c *guard.Cut) { c.Silence = 15_000 }), guard.Stalled},
		{"Esc while it streams", change(func(c *guard.Cut) { c.Silence = 40 }), guard.StreamActive},
		{"08:01", change(func(c *guard.Cut) { c.Argument = 30_807 }), guard.Stalled},
		{"08:06", change(func(c *guard.Cut) { c.Argument = 30_806 }), guard.Stalled},
		{"both too small and active: the first counts", change(func(c *guard.Cut) { c.Argument, c.Silence = 1, 1 }), guard.ArgTooSmall},
		{"all at once: the first counts", guard.Cut{Argument: 1, Silence: 1}, guard.NotAssistant},
	} {
		if got := guard.Evaluate(c.cut, guard.StallLimits{}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// proves GRD-02, GRD-03
func TestAStallWakesUnlessSomethingSpeaksAgainstIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts guard.WakeFacts
		want  guard.WakeDecision
	}{
		{"the first one", guard.WakeFacts{Since: -1}, guard.Wake},
		{"switched off", guard.WakeFacts{Off: true, Since: -1}, guard.WakeOff},
		{"a person interrupted", guard.WakeFacts{ByPerson: true, Since: -1}, guard.WakeByPerson},
		{"off stands before the person", guard.WakeFacts{Off: true, ByPerson: true, InRow: 9, Since: 0}, guard.WakeOff},
		{"the person stands before the numbers", guard.WakeFacts{ByPerson: true, InRow: 9, Since: 0}, guard.WakeByPerson},
		{"two in a row", guard.WakeFacts{InRow: 2, Since: 60_000}, guard.Wake},
		{"three in a row", guard.WakeFacts{InRow: 3, Since: 60_000}, guard.WakeLimit},
		{"more than three", guard.WakeFacts{InRow: 4, Since: 60_000}, guard.WakeLimit},
		{"the limit stands before the cool-down", guard.WakeFacts{InRow: 3, Since: 0}, guard.WakeLimit},
		{"at once after the last", guard.WakeFacts{InRow: 1, Since: 0}, guard.WakeCooldown},
		{"one millisecond too soon", guard.WakeFacts{InRow: 1, Since: 29_999}, guard.WakeCooldown},
		{"cooled down", guard.WakeFacts{InRow: 1, Since: 30_000}, guard.Wake},
		{"a reset count cools down all the same", guard.WakeFacts{InRow: 0, Since: 10}, guard.WakeCooldown},
	} {
		if got := guard.Decide(c.facts, guard.StallLimits{}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// proves GRD-02, GRD-09
func TestTheStallGuardsNumbersAreSettings(t *testing.T) {
	l := guard.StallLimits{Argument: 10, Silence: 2 * time.Second, InRow: 1, Cooldown: time.Second}
	c := guard.Cut{Assistant: true, Aborted: true, Calls: 1, Argument: 10, Silence: 2000}
	if got := guard.Evaluate(c, l); got != guard.Stalled {
		t.Errorf("at its own thresholds it is %s", got)
	}
	if got := guard.Evaluate(c, guard.StallLimits{}); got != guard.ArgTooSmall {
		t.Errorf("at the defaults it is %s", got)
	}
	if got := guard.Decide(guard.WakeFacts{InRow: 1, Since: 5000}, l); got != guard.WakeLimit {
		t.Errorf("one in a row is %s", got)
	}
	if got := guard.Decide(guard.WakeFacts{Since: 1000}, l); got != guard.Wake {
		t.Errorf("after its own cool-down it is %s", got)
	}
	f := guard.StallLimits{}.Filled()
	if f.Argument != 16_384 || f.Silence != 15*time.Second || f.InRow != 3 || f.Cooldown != 30*time.Second {
		t.Errorf("the defaults are %+v", f)
	}
	off := guard.StallLimits{First: -1, Idle: -1}.Filled()
	if off.First >= 0 || off.Idle >= 0 {
		t.Errorf("no limit became one: %+v", off)
	}
	if f.Filled() != f {
		t.Error("filling twice changes something")
	}
}

// proves GRD-02
func TestMoreSilenceAndALongerArgumentNeverSpeakAgainstAStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := guard.StallLimits{
			Argument: rapid.IntRange(0, 50_000).Draw(t, "argument"), Silence: time.Duration(rapid.IntRange(0, 60_000).Draw(t, "silence")) * time.Millisecond,
			InRow: rapid.IntRange(0, 5).Draw(t, "in a row"), Cooldown: time.Duration(rapid.IntRange(0, 60_000).Draw(t, "cool-down")) * time.Millisecond,
		}
		c := guard.Cut{
			Assistant: rapid.Bool().Draw(t, "assistant"), Aborted: rapid.Bool().Draw(t, "aborted"), Calls: rapid.IntRange(0, 2).Draw(t, "calls"),
			Argument: rapid.IntRange(0, 60_000).Draw(t, "length"), Silence: rapid.Int64Range(0, 200_000).Draw(t, "quiet"),
		}
		first := guard.Evaluate(c, l)
		more := c
		more.Argument += rapid.IntRange(0, 1000).Draw(t, "longer")
		more.Silence += rapid.Int64Range(0, 1000).Draw(t, "quieter")
		if then := guard.Evaluate(more, l); rank(then) < rank(first) {
			t.Fatalf("%+v is %s, %+v is %s", c, first, more, then)
		}
		if first == guard.Stalled && (!c.Assistant || !c.Aborted || c.Calls == 0) {
			t.Fatalf("%+v is a stall", c)
		}
		f := guard.WakeFacts{
			Off: rapid.Bool().Draw(t, "off"), ByPerson: rapid.Bool().Draw(t, "by person"),
			InRow: rapid.IntRange(0, 6).Draw(t, "wakes"), Since: rapid.Int64Range(-1, 100_000).Draw(t, "since"),
		}
		d := guard.Decide(f, l)
		if d == guard.Wake && (f.Off || f.ByPerson || f.InRow >= l.Filled().InRow || f.Since >= 0 && f.Since < l.Filled().Cooldown.Milliseconds()) {
			t.Fatalf("%+v wakes under %+v", f, l)
		}
	})
}

// rank is the order in which the verdicts are asked.
func rank(v guard.StallVerdict) int {
	switch v {
	case guard.NotAssistant:
		return 0
	case guard.NotAborted:
		return 1
	case guard.NoToolCall:
		return 2
	case guard.ArgTooSmall:
		return 3
	case guard.StreamActive:
		return 4
	case guard.Stalled:
		return 5
	}
	return -1
}

// proves GRD-02: limits that went through a record judge as they did
func TestLimitsInARecordJudgeAsTheyDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := func(name string) time.Duration {
			return rapid.SampledFrom([]time.Duration{0, -1, 1, time.Microsecond, time.Millisecond, 15 * time.Second, time.Minute}).Draw(t, name)
		}
		l := guard.StallLimits{Argument: rapid.IntRange(-1, 3).Draw(t, "argument"), Silence: ms("silence"), InRow: rapid.IntRange(-1, 2).Draw(t, "row"), Cooldown: ms("cool")}
		again := l.Thresholds().Limits()
		c := guard.Cut{Assistant: true, Aborted: true, Calls: 1, Argument: rapid.IntRange(0, 20_000).Draw(t, "n"), Silence: rapid.Int64Range(0, 61_000).Draw(t, "s")}
		f := guard.WakeFacts{InRow: rapid.IntRange(0, 4).Draw(t, "wakes"), Since: rapid.Int64Range(-1, 61_000).Draw(t, "since")}
		if guard.Evaluate(c, l) != guard.Evaluate(c, again) || guard.Decide(f, l) != guard.Decide(f, again) {
			t.Fatalf("%+v and %+v", l, again)
		}
	})
}
