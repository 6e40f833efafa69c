package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/guard"
)

func call(tool, args, result string) guard.Signature {
	return guard.Signature{Tool: tool, Args: args, Result: result}
}

func failed(tool, args string) guard.Signature {
	return guard.Signature{Tool: tool, Args: args, Result: "no", Failed: true}
}

// steps feeds n steps of one call each and returns the first loop with the
// number of the step that found it, from 1.
func steps(c *guard.Calls, n int, at func(i int) guard.Signature) (int, guard.CallLoop) {
	for i := range n {
		if l := c.Step([]guard.Signature{at(i)}); l.Kind != "" {
			return i + 1, l
		}
	}
	return 0, guard.CallLoop{}
}

// proves GRD-06, B077
func TestPollingIsNoLoopUntilTheSameAnswerCameTenTimes(t *testing.T) {
	var c guard.Calls
	if n, l := steps(&c, 12, func(i int) guard.Signature { return call("status", `{"job":1}`, fmt.Sprintf("%d %%", i*10)) }); n != 0 {
		t.Errorf("changing results: %+v at %d", l, n)
	}
	n, l := steps(&c, 40, func(int) guard.Signature { return call("status", `{"job":1}`, "running") })
	if n != 10 || l.Kind != "same" || l.Count != 10 || l.Sample != `status {"job":1}` {
		t.Errorf("equal results: %+v at %d, want same at 10", l, n)
	}
	waits := func(int) guard.Signature {
		return guard.Signature{Tool: "job_wait", Args: `{}`, Result: "still running", Waits: true}
	}
	if n, l := steps(&c, 100, waits); n != 0 {
		t.Errorf("a tool that waits: %+v at %d", l, n)
	}
}

// proves GRD-06
func TestATaskToWaitNeitherCountsNorInterruptsACount(t *testing.T) {
	var c guard.Calls
	for i := range 9 {
		if l := c.Step([]guard.Signature{call("ls", "{}", "a"), {Tool: "wait", Waits: true, Failed: true}}); l.Kind != "" {
			t.Fatalf("%+v at %d", l, i)
		}
		if l := c.Step([]guard.Signature{{Tool: "wait", Waits: true}}); l.Kind != "" {
			t.Fatalf("%+v at %d", l, i)
		}
	}
	if l := c.Step([]guard.Signature{call("ls", "{}", "a")}); l.Kind != "same" {
		t.Errorf("the tenth: %+v", l)
	}

	var f guard.Calls
	f.Step([]guard.Signature{failed("a", "1")})
	f.Step([]guard.Signature{{Tool: "wait", Waits: true}})
	f.Step([]guard.Signature{failed("b", "2"), {Tool: "wait", Waits: true}})
	if l := f.Step([]guard.Signature{failed("c", "3")}); l.Kind != "failing" || l.Count != 3 {
		t.Errorf("three failing steps with waits between them: %+v", l)
	}
}

// proves GRD-06, B076
func TestEqualCallsAreCountedNotCallsOfOneTool(t *testing.T) {
	reads := func(round, n int) (out []guard.Signature) {
		for i := range n {
			out = append(out, call("read", fmt.Sprintf(`{"path":"f%d"}`, i), fmt.Sprintf("text %d", i)))
		}
		return out
	}
	var c guard.Calls
	if l := c.Step(reads(0, 25)); l.Kind != "" {
		t.Errorf("25 distinct calls: %+v", l)
	}
	for round := range 2 {
		if l := c.Step(reads(round, 30)); l.Kind != "" {
			t.Errorf("round %d of 30 distinct calls: %+v", round, l)
		}
	}
	var equal []guard.Signature
	for range 26 {
		equal = append(equal, call("read", `{"path":"f"}`, "text"))
	}
	if l := c.Step(equal); l.Kind != "same" || l.Count != 10 {
		t.Errorf("26 equal calls in one step: %+v", l)
	}
}

// proves GRD-06, B075
func TestSearchMoveUpdateForManyFilesIsProgress(t *testing.T) {
	var c guard.Calls
	for i := range 60 {
		name := fmt.Sprintf("file%d.go", i)
		for _, s := range []guard.Signature{
			call("grep", `{"pattern":"Old","path":"`+name+`"}`, "1 hit"), call("bash", `{"command":"git mv `+name+` new/"}`, ""),
			call("edit", `{"path":"new/`+name+`"}`, "ok"),
		} {
			if l := c.Step([]guard.Signature{s}); l.Kind != "" {
				t.Fatalf("round %d: %+v", i, l)
			}
		}
	}
}

// proves GRD-06
func TestCyclesOfTwoToFiveCallsAreFoundInTheirFifthRound(t *testing.T) {
	for period := 2; period <= 5; period++ {
		var c guard.Calls
		n, l := steps(&c, 100, func(i int) guard.Signature { return call("t", fmt.Sprintf(`{"n":%d}`, i%period), "same") })
		if n != 5*period || l.Kind != "cycle" || l.Count != 5 || l.Period != period {
			t.Errorf("period %d: %+v at %d", period, l, n)
		}
		var fresh guard.Calls
		if n, l := steps(&fresh, 100, func(i int) guard.Signature { return call("t", fmt.Sprintf(`{"n":%d}`, i%period), fmt.Sprint(i)) }); n != 0 {
			t.Errorf("period %d with changing results: %+v at %d", period, l, n)
		}
	}
	var c guard.Calls
	if n, l := steps(&c, 100, func(i int) guard.Signature { return call("t", fmt.Sprint(i%6), "same") }); n != 0 {
		t.Errorf("period 6: %+v at %d", l, n)
	}
}

// proves GRD-06
func TestAWholeStepThatComesBackIsACycleHoweverManyCallsItHas(t *testing.T) {
	var c guard.Calls
	var eight []guard.Signature
	for i := range 8 {
		eight = append(eight, call("read", fmt.Sprint(i), "x"))
	}
	for i := range 4 {
		if l := c.Step(eight); l.Kind != "" {
			t.Fatalf("step %d: %+v", i, l)
		}
	}
	if l := c.Step(eight); l.Kind != "cycle" || l.Period != 8 || l.Count != 5 {
		t.Errorf("the fifth: %+v", l)
	}
}

// proves GRD-06
func TestThreeStepsInWhichEveryCallFailsAreALoop(t *testing.T) {
	var c guard.Calls
	for i, s := range [][]guard.Signature{
		{failed("a", "1"), failed("b", "2")}, {failed("a", "3")}, {failed("a", "4"), call("b", "5", "fine")}, // one that did not fail
		{failed("a", "6")}, {}, {failed("a", "7")},
	} {
		if l := c.Step(s); l.Kind != "" {
			t.Fatalf("step %d: %+v", i, l)
		}
	}
	if l := c.Step([]guard.Signature{failed("a", "8")}); l.Kind != "failing" || l.Count != 3 || l.Sample != "a 8" {
		t.Errorf("%+v", l)
	}
	if l := c.Step([]guard.Signature{failed("a", "9")}); l.Kind != "" {
		t.Errorf("counting did not begin anew: %+v", l)
	}
}

// proves GRD-06, GRD-07
func TestAfterALoopCountingBeginsAnew(t *testing.T) {
	var c guard.Calls
	same := func(int) guard.Signature { return call("ls", "{}", "a") }
	for round := range 3 {
		if n, l := steps(&c, 20, same); n != 10 {
			t.Fatalf("round %d: %+v at %d", round, l, n)
		}
	}
}

// proves GRD-06
func TestTheOrderOfKeysAndSpaceMakeNoDifferentCall(t *testing.T) {
	forms := []string{`{"a":1,"b":[1.0,"x"]}`, `{ "b": [1.0, "x"], "a": 1 }`, "{\n\t\"a\": 1,\n\t\"b\": [1.0, \"\\u0078\"]}"}
	var c guard.Calls
	if n, l := steps(&c, 20, func(i int) guard.Signature { return call("t", forms[i%3], "r") }); n != 10 || l.Kind != "same" {
		t.Errorf("%+v at %d", l, n)
	}
	var big guard.Calls
	if n, _ := steps(&big, 20, func(i int) guard.Signature { return call("t", `{"a":9007199254740993}`, "r") }); n != 10 {
		t.Errorf("found at %d", n)
	}
	if n, l := steps(&big, 20, func(i int) guard.Signature {
		return call("t", fmt.Sprintf(`{"a":900719925474099%d}`, i%2+3), fmt.Sprint(i))
	}); n != 0 {
		t.Errorf("numbers that a float cannot tell apart: %+v at %d", l, n)
	}
	var parts guard.Calls
	if n, l := steps(&parts, 40, func(i int) guard.Signature {
		if i%2 == 0 {
			return call("ab", "c", "r")
		}
		return call("a", "bc", "r")
	}); l.Kind != "cycle" {
		t.Errorf("different calls whose letters are equal: %+v at %d", l, n)
	}
}

func request(c *guard.Calls, n int, at func(i int) (string, string)) (int, guard.CallLoop) {
	for i := range n {
		tool, args := at(i)
		if l := c.Requested(tool, args, i == 0); l.Kind != "" {
			return i + 1, l
		}
	}
	return 0, guard.CallLoop{}
}

// proves GRD-06, B082, B076
func TestAnAnswerWhoseCallsGoRoundIsFoundWhileItStreams(t *testing.T) {
	for period := 1; period <= 5; period++ {
		var c guard.Calls
		n, l := request(&c, 1000, func(i int) (string, string) { return "t", fmt.Sprintf(`{"n":%d}`, i%period) })
		if n != 15 || l.Kind != "burst" || l.Count != 15 || l.Period != period {
			t.Errorf("period %d: %+v at %d, want burst at 15", period, l, n)
		}
	}
	var c guard.Calls
	for _, distinct := range []int{25, 30, 30, 40, 256} {
		if n, l := request(&c, distinct, func(i int) (string, string) { return "read", fmt.Sprint(i) }); n != 0 {
			t.Errorf("%d distinct calls: %+v at %d", distinct, l, n)
		}
	}
	if n, l := request(&c, 60, func(i int) (string, string) { return "read", fmt.Sprint(i % 30) }); n != 0 {
		t.Errorf("a list of 30 that is gone through twice in one answer: %+v at %d", l, n)
	}
	if n, l := request(&c, 120, func(i int) (string, string) { return "read", fmt.Sprint(i % 30) }); n != 90 || l.Kind != "burst" {
		t.Errorf("three times: %+v at %d", l, n)
	}
	checked := func(i int) (string, string) {
		if i%2 == 1 {
			return "bash", `{"command":"git status"}`
		}
		return "edit", fmt.Sprint(i)
	}
	if n, l := request(&c, 100, checked); n != 0 {
		t.Errorf("edits with the same check behind each: %+v at %d", l, n)
	}
	if n, l := request(&c, 10, func(i int) (string, string) { return "read", "same" }); n != 0 {
		t.Errorf("an answer of its own: %+v at %d", l, n)
	}
	if n, l := request(&c, 10, func(i int) (string, string) { return "read", "same" }); n != 0 {
		t.Errorf("the answer before it was counted too: %+v at %d", l, n)
	}
	if n, l := request(&c, 26, func(i int) (string, string) { return "read", "same" }); n != 15 || l.Kind != "burst" {
		t.Errorf("26 equal calls: %+v at %d", l, n)
	}
}

// proves GRD-06, B082
func TestAnAnswerMayHold256Calls(t *testing.T) {
	var c guard.Calls
	n, l := request(&c, 1000, func(i int) (string, string) { return "t", fmt.Sprint(i) })
	if n != 257 || l.Kind != "flood" || l.Count != 257 {
		t.Errorf("%+v at %d, want a flood at 257", l, n)
	}
	none := guard.Calls{Limits: guard.CallLimits{Answer: -1, Burst: -1}}
	if n, l := request(&none, 5000, func(i int) (string, string) { return "t", fmt.Sprint(i % 3) }); n != 0 {
		t.Errorf("switched off: %+v at %d", l, n)
	}
}

// proves GRD-06, GRD-09
func TestTheCallGuardsNumbersAreSettings(t *testing.T) {
	c := guard.Calls{Limits: guard.CallLimits{Same: 2, Cycle: 2, Failing: 1, Burst: 3, Answer: 5}}
	if n, l := steps(&c, 9, func(int) guard.Signature { return call("t", "a", "r") }); n != 2 || l.Kind != "same" {
		t.Errorf("%+v at %d", l, n)
	}
	if n, l := steps(&c, 9, func(i int) guard.Signature { return call("t", fmt.Sprint(i%2), "r") }); n != 4 || l.Kind != "cycle" {
		t.Errorf("%+v at %d", l, n)
	}
	if n, l := steps(&c, 9, func(i int) guard.Signature { return failed("t", fmt.Sprint(i)) }); n != 1 || l.Kind != "failing" {
		t.Errorf("%+v at %d", l, n)
	}
	if n, l := request(&c, 9, func(i int) (string, string) { return "t", "a" }); n != 3 || l.Kind != "burst" {
		t.Errorf("%+v at %d", l, n)
	}
	if n, l := request(&c, 9, func(i int) (string, string) { return "t", fmt.Sprint(i) }); n != 6 || l.Kind != "flood" {
		t.Errorf("%+v at %d", l, n)
	}
	off := guard.Calls{Limits: guard.CallLimits{Same: -1, Cycle: -1, Failing: -1}}
	if n, l := steps(&off, 300, func(i int) guard.Signature { return failed("t", fmt.Sprint(i/100%2)) }); n != 0 {
		t.Errorf("switched off: %+v at %d", l, n)
	}
	long := guard.Calls{Limits: guard.CallLimits{Same: 40}}
	if n, l := steps(&long, 100, func(int) guard.Signature { return call("t", "a", "r") }); n != 40 || l.Kind != "same" {
		t.Errorf("a higher limit for equal calls is undercut by the cycles: %+v at %d", l, n)
	}
}

// proves GRD-06, GRD-07
func TestTheSampleIsOneShortLine(t *testing.T) {
	c := guard.Calls{Limits: guard.CallLimits{Same: 1}}
	l := c.Step([]guard.Signature{call("write", "{\n\"text\":\""+strings.Repeat("é", 1000)+"\x1b[2J\"}", "r")})
	if runes := []rune(l.Sample); len(runes) != 161 || runes[160] != '…' || strings.ContainsAny(l.Sample, "\n\x1b") {
		t.Errorf("%d code points: %q", len([]rune(l.Sample)), l.Sample)
	}
}

// proves GRD-06
func TestNoLoopIsFoundInCallsThatAreAllDifferentWhateverTheSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c guard.Calls
		n := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			var step []guard.Signature
			for range rapid.IntRange(0, 12).Draw(t, "calls") {
				n++
				step = append(step, call("t", fmt.Sprint(n), rapid.SampledFrom([]string{"", "ok"}).Draw(t, "result")))
			}
			if l := c.Step(step); l.Kind != "" {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// proves GRD-06
func TestWhateverTheCallsALoopIsOfOneKindWithinItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c guard.Calls
		for i := range rapid.IntRange(1, 200).Draw(t, "n") {
			s := guard.Signature{
				Tool: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool"), Result: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "result"),
				Failed: rapid.Bool().Draw(t, "failed"), Waits: rapid.IntRange(0, 5).Draw(t, "waits") == 0,
			}
			l := c.Step([]guard.Signature{s})
			switch l.Kind {
			case "", "same", "cycle", "failing":
			default:
				t.Fatalf("%+v", l)
			}
			if l.Kind != "" && s.Waits {
				t.Fatalf("a call that waits is a loop: %+v", l)
			}
			if l.Kind == "failing" && !s.Failed {
				t.Fatalf("a call that did not fail ends failing steps: %+v", l)
			}
			r := c.Requested(s.Tool, s.Result, i == 0)
			if r.Kind != "" && r.Count < 15 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
