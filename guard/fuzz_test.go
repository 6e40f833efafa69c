package guard_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/guard"
)

// FuzzLoop feeds anything, repeated or not, whole and cut: no panic, one verdict,
// a sample that is short and valid, and memory that stays.
//
// proves GRD-05, B069
func FuzzLoop(f *testing.F) {
	f.Add("harbour ", uint16(900), uint8(3), 0)
	f.Add("| ok | 0 |\n", uint16(500), uint8(1), 4096)
	f.Add("\\u0000\\", uint16(3000), uint8(2), 1)
	f.Add("가\xed\xa0", uint16(2000), uint8(5), 1<<30)
	f.Add("</", uint16(20000), uint8(7), -1)
	f.Fuzz(func(t *testing.T, unit string, times uint16, cut uint8, window int) {
		if unit == "" || times == 0 {
			return
		}
		if len(unit)*int(times) > 1<<18 {
			times = uint16(1 << 18 / len(unit))
		}
		text := unit + prose(len(unit)%300) + strings.Repeat(unit, int(times))
		limits := guard.LoopLimits{Window: window}
		l := guard.NewLoop(limits)
		whole, stopped := l.Feed(text)
		found, ok := feed(guard.NewLoop(limits), text, by(int(cut)))
		if ok != stopped || found != whole {
			t.Fatalf("whole %v %+v, in pieces of %d %v %+v", stopped, whole, cut, ok, found)
		}
		if stopped && (found.Count < 4 || found.Period < 0 || found.At > int64(len(text)) ||
			!utf8.ValidString(found.Sample) || utf8.RuneCountInString(found.Sample) > 130) {
			t.Fatalf("%+v", found)
		}
		if l.Longest() > len(text) {
			t.Fatalf("%d bytes of repetition in %d", l.Longest(), len(text))
		}
		for range 1<<19/len(text) + 1 { // more than any window
			l.Feed(text)
		}
		if n := testing.AllocsPerRun(1, func() { l.Feed(text) }); n > 1 {
			t.Fatalf("%v allocations with a full window", n)
		}
	})
}

// FuzzProbe reads anything.
//
// proves GRD-10
func FuzzProbe(f *testing.F) {
	f.Add(strings.Repeat("// ====\n", 400))
	f.Add("가====\xed")
	f.Fuzz(func(t *testing.T, text string) {
		got := new(guard.Probe).Read(text)
		if got.Fires != (got.Counts && got.Score >= 30) || got.Score*len(got.Probe) > guard.ProbeWindow ||
			utf8.RuneCountInString(got.Probe) > guard.ProbeRunes {
			t.Fatalf("%+v", got)
		}
	})
}
