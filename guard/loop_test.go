package guard_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/guardtest"
)

// feed cuts text into pieces of the lengths that next gives.
func feed(l *guard.Loop, text string, next func() int) (guard.Repeat, bool) {
	for len(text) > 0 {
		n := min(max(next(), 1), len(text))
		if r, ok := l.Feed(text[:n]); ok {
			return r, true
		}
		text = text[n:]
	}
	return guard.Repeat{}, false
}

func by(n int) func() int { return func() int { return n } }

// prose is varied text of at least n bytes.
func prose(n int) string {
	words := strings.Fields("the harbour lay still and every boat in it had turned to face what little wind came down from hills beyond our town while gulls walked about on stones looking for something that men who mend nets might have dropped there before noon")
	r := rand.New(rand.NewPCG(3, 1))
	var b strings.Builder
	for b.Len() < n {
		for range 6 + r.IntN(9) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString("and so on.\n")
	}
	return b.String()
}

const paragraph = "The keeper of the light wrote down each evening what he had seen: two ships going north, a third that waited outside for the tide, and the old ferry, late again, with nobody on its deck. He counted the birds as well, though nobody had asked for it, and put the sum at the end of the page, where it looked like a debt. Then he slept."

// TestOneWordOverAndOverIsStoppedWithinFourHundredRepeats splits the stream
// inside words.
//
// proves GRD-05, B079
func TestOneWordOverAndOverIsStoppedWithinFourHundredRepeats(t *testing.T) {
	lead := prose(2800)
	r := rand.New(rand.NewPCG(79, 0))
	l := guard.NewLoop(guard.LoopLimits{})
	found, ok := feed(l, lead+strings.Repeat("harbour ", 30000), func() int { return 1 + r.IntN(7) })
	if !ok {
		t.Fatal("30,000 times the same word went through")
	}
	if most := int64(len(lead) + 400*len("harbour ")); found.At > most {
		t.Errorf("stopped at byte %d, 400 repeats end at %d", found.At, most)
	}
	if found.Period != len("harbour ") || found.Sample != "harbour " || found.Count < 100 || found.Count > 400 {
		t.Errorf("told as %+v", found)
	}
}

// TestAParagraphIsCaughtByItsEighthCopy takes the paragraph as text, as an
// argument in JSON and behind varied text; a guard is a channel's, so reasoning
// is the same.
//
// proves GRD-05, B080
func TestAParagraphIsCaughtByItsEighthCopy(t *testing.T) {
	p := paragraph[:320]
	for name, c := range map[string]struct{ lead, unit string }{
		"text":              {"", p},
		"lines":             {"", p[:319] + "\n"},
		"argument":          {`{"path":"a.txt","content":"`, strings.ReplaceAll(p, ": ", `:\n`)},
		"after varied text": {prose(4 << 10), p},
		"paragraphs":        {prose(4 << 10), p[:318] + "\n\n"},
	} {
		l := guard.NewLoop(guard.LoopLimits{})
		found, ok := feed(l, c.lead+strings.Repeat(c.unit, 35), by(13))
		if most := int64(len(c.lead) + 8*len(c.unit)); !ok || found.At > most {
			t.Errorf("%s: %v at byte %d, the 8th copy ends at %d", name, ok, found.At, most)
		}
		if found.Period != len(c.unit) {
			t.Errorf("%s: period %d, it is %d", name, found.Period, len(c.unit))
		}
	}
}

// TestEachChannelHasItsOwnState interleaves two streams that are innocent alone
// and one that loops only when it is not mixed with them.
//
// proves B080
func TestEachChannelHasItsOwnState(t *testing.T) {
	text, reasoning := guard.NewLoop(guard.LoopLimits{}), guard.NewLoop(guard.LoopLimits{})
	varied := prose(64 << 10)
	looped := strings.Repeat(paragraph[:320], 35)
	caught := int64(0)
	for i := 0; i+13 <= len(looped) && caught == 0; i += 13 {
		if r, ok := text.Feed(varied[i : i+13]); ok {
			t.Fatalf("varied text was stopped for what another channel says: %+v", r)
		}
		if r, ok := reasoning.Feed(looped[i : i+13]); ok {
			caught = r.At
		}
	}
	if caught == 0 || caught > 8*320 {
		t.Errorf("the looping channel was stopped at byte %d", caught)
	}
}

// TestLayoutIsNoLoop takes the rule, the padding and the table that tripped
// other detectors, three bytes at a time.
//
// proves GRD-05, B069, B070, B073
func TestLayoutIsNoLoop(t *testing.T) {
	table := func(format string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, format, i+1)
		}
		return b.String()
	}
	licence := strings.Repeat(paragraph[:300]+"\n", 2) + "package main\n"
	var objects, digits strings.Builder
	r := rand.New(rand.NewPCG(73, 0))
	for i := range 400 {
		fmt.Fprintf(&objects, `{"id":%d,"name":"item %d","state":"open","size":%d},`, i, r.IntN(1000), r.IntN(50))
	}
	for range 5000 {
		fmt.Fprintf(&digits, "%d,", r.IntN(10))
	}
	for name, text := range map[string]string{
		"rule, padding, signs": strings.Repeat("-", 78) + strings.Repeat(" ", 120) + strings.Repeat("=", 64) + prose(1<<20),
		"table with spaces":    table("| %d | ok | ok | 0 | - | yes |\n"),
		"table without spaces": table("|%d|ok|ok|0|-|yes|\n"),
		"objects":              "[" + objects.String() + "{}]",
		"digits":               "[" + digits.String() + "0]",
		"licence twice":        licence,
		"separator lines":      strings.Repeat("// "+strings.Repeat("=", 70)+"\n", 360),
	} {
		if found, ok := feed(guard.NewLoop(guard.LoopLimits{}), text, by(3)); ok {
			t.Errorf("%s: stopped as a loop: %+v", name, found)
		}
	}
}

// TestALongPeriodIsSeen goes up to 8,000 code points, in one to four bytes each.
//
// proves GRD-05, GRD-09
func TestALongPeriodIsSeen(t *testing.T) {
	for _, period := range []int{10, 100, 320, 1000, 2000, 4000, 8000} {
		for _, letters := range []string{"etaoin", "가나다라마", "😀😁😂"} {
			r := rand.New(rand.NewPCG(uint64(period), uint64(len(letters))))
			set := []rune(letters)
			unit := make([]rune, period)
			for i := range unit {
				unit[i] = set[r.IntN(len(set))]
				if i%7 == 6 {
					unit[i] = ' '
				}
			}
			unit[period-2], unit[period-1] = 'b', 'b'
			lead := prose(1000)
			found, ok := feed(guard.NewLoop(guard.LoopLimits{}), lead+strings.Repeat(string(unit), 100+8000/period), by(13))
			if letters == "😀😁😂" && !ok && period*100*3 > 48<<10 {
				t.Errorf("period %d of %s: went through", period, letters)
			}
			if letters != "😀😁😂" && (!ok || found.Period != period || found.Count > max(8, 9000/period)) {
				t.Errorf("period %d of %s: %v, %d times %d", period, letters, ok, found.Count, found.Period)
			}
		}
	}
}

// TestTheVerdictDoesNotDependOnTheDeltas cuts streams of all sorts anywhere.
//
// proves GRD-05, B080
func TestTheVerdictDoesNotDependOnTheDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringOfN(rapid.RuneFrom([]rune("ab c\n|=가.😀")), 1, 400, -1).Draw(t, "unit")
		text := prose(rapid.IntRange(0, 3000).Draw(t, "lead")) + strings.Repeat(unit, 1+60000/len(unit))
		whole, stopped := guard.NewLoop(guard.LoopLimits{}).Feed(text)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 700), 1, 20).Draw(t, "sizes")
		i := 0
		found, ok := feed(guard.NewLoop(guard.LoopLimits{}), text, func() int { i++; return sizes[i%len(sizes)] })
		if ok != stopped || found != whole {
			t.Fatalf("whole %v %+v, in pieces %v %+v", stopped, whole, ok, found)
		}
	})
}

// TestEveryRepetitionIsFoundAsSoonAsItIsLongEnough compares with the plain
// definition: a text of words that goes round is stopped within a period and a
// few bytes of the place where its limit is.
//
// proves GRD-05
func TestEveryRepetitionIsFoundAsSoonAsItIsLongEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"ab", "ba", "abab", "boat", "boats", "and", "tide"}), 2, 300).Draw(t, "words")
		unit := strings.Join(words, " ") + ". "
		lead := prose(rapid.IntRange(0, 2000).Draw(t, "lead"))
		need := max(2<<10, 4*len(unit), min(7*len(unit), 8<<10))
		found, ok := guard.NewLoop(guard.LoopLimits{}).Feed(lead + strings.Repeat(unit, 2+2*need/len(unit)))
		if most := int64(len(lead) + need + len(unit) + 64); !ok || found.At > most {
			t.Fatalf("unit of %d bytes: %v at %d, expected by %d", len(unit), ok, found.At, most)
		}
	})
}

// TestALoopIsToldOnce feeds on after the verdict.
//
// proves GRD-07
func TestALoopIsToldOnce(t *testing.T) {
	l := guard.NewLoop(guard.LoopLimits{})
	told := 0
	for range 10000 {
		if _, ok := l.Feed("again and "); ok {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// TestFeedingAllocatesNothing is for a guard that has its memory, on text that
// makes it look up, follow and judge.
//
// proves GRD-05, B069, BEN-09
func TestFeedingAllocatesNothing(t *testing.T) {
	text := prose(8<<10) + strings.Repeat("| ok | 0 |\n", 400) + strings.Repeat(" ", 3000)
	l := guard.NewLoop(guard.LoopLimits{})
	for range 10 { // the window is full
		l.Feed(text)
	}
	if n := testing.AllocsPerRun(50, func() { l.Feed(text) }); n != 0 {
		t.Errorf("%v allocations for %d bytes", n, len(text))
	}
}

// TestMemoryIsThatOfTheWindow feeds a hundred windows.
//
// proves GRD-05, B069
func TestMemoryIsThatOfTheWindow(t *testing.T) {
	text := prose(64 << 10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := guard.NewLoop(guard.LoopLimits{})
	for range 100 {
		l.Feed(text)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 512<<10 {
		t.Errorf("%d bytes were allocated for a window of %d", n, 64<<10)
	}
}

// TestLimitsAreTheirs shows that each is taken.
//
// proves GRD-09
func TestLimitsAreTheirs(t *testing.T) {
	for name, c := range map[string]struct {
		unit      string
		low       guard.LoopLimits
		byDefault int64
	}{
		"words":  {"the same again, ", guard.LoopLimits{Words: 512}, 2 << 10},
		"code":   {"x = step(x);\n", guard.LoopLimits{Code: 4 << 10}, 16 << 10},
		"markup": {"<li>one item</li>\n", guard.LoopLimits{Markup: 4 << 10}, 32 << 10},
		"layout": {"0, ", guard.LoopLimits{Layout: 4 << 10}, 48 << 10},
	} {
		text := strings.Repeat(c.unit, (80<<10)/len(c.unit))
		usual, ok := guard.NewLoop(guard.LoopLimits{}).Feed(text)
		if !ok || usual.At < c.byDefault || usual.At > c.byDefault+100 {
			t.Errorf("%s: by default stopped at byte %d, documented is %d", name, usual.At, c.byDefault)
		}
		early, ok := guard.NewLoop(c.low).Feed(text)
		if !ok || early.At > usual.At/2 {
			t.Errorf("%s: with a low limit stopped at byte %d", name, early.At)
		}
	}
}

// TestTheCorpusComesOutAsLabelled asserts what `make guard-eval` prints.
//
// proves GRD-05
func TestTheCorpusComesOutAsLabelled(t *testing.T) {
	files, err := guardtest.Files()
	if err != nil {
		t.Fatal(err)
	}
	loops := append(guardtest.Loops(), guardtest.HeldOut()...)
	innocent := append(guardtest.Innocent(), files...)
	if len(files) < 100 || len(loops)+len(innocent) < 300 || len(loops) < 140 || len(innocent) < 150 {
		t.Fatalf("%d loops, %d innocent streams, %d files: the corpus is too small", len(loops), len(innocent), len(files))
	}
	caught := 0
	for _, k := range guardtest.Score(append(loops, innocent...)) {
		if k.Loop {
			caught += k.Stopped
		} else if k.Stopped > 0 {
			t.Errorf("%s: %d of %d innocent streams were stopped: %q", k.Kind, k.Stopped, k.Streams, k.Wrong)
		}
		if len(k.Uneven) > 0 {
			t.Errorf("%s: the verdict depends on the chunking: %q", k.Kind, k.Uneven)
		}
	}
	if recall := float64(caught) / float64(len(loops)); recall < 0.98 {
		t.Errorf("recall %.4f", recall)
	}
	t.Logf("%d loops, %d of them stopped; %d innocent streams, %d of them files", len(loops), caught, len(innocent), len(files))
}
