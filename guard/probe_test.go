package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/guardtest"
)

// TestTheAccusedProbeIsNotGuilty reads three pages that were cut at one place.
//
// proves GRD-10, GRD-08
func TestTheAccusedProbeIsNotGuilty(t *testing.T) {
	for i, want := range []struct{ runes, score int }{{30807, 2}, {30806, 18}, {30807, 2}} {
		a := guardtest.Artifacts()[i]
		if n := utf8.RuneCountInString(a.Text); n != want.runes {
			t.Fatalf("artifact %d has %d characters, it was cut at %d", i+1, n, want.runes)
		}
		var p guard.Probe
		got := p.Read(a.Text)
		if got.Score != want.score || !got.Counts || got.Fires || utf8.RuneCountInString(got.Probe) != 16 {
			t.Errorf("artifact %d: %+v, its score is %d", i+1, got, want.score)
		}
		if score, counts := p.Score(a.Text); score != got.Score || counts != got.Counts {
			t.Errorf("artifact %d: Score says %d, %v", i+1, score, counts)
		}
	}
}

// TestTheProbeFiresAtThirty has 29 and 30 occurrences, in a window that is full.
//
// proves GRD-10
func TestTheProbeFiresAtThirty(t *testing.T) {
	const probe = "<li>one more</li" // 16
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ">%d %s\n%s", i, prose(300), probe)
		}
		return b.String()
	}
	for n, fires := range map[int]bool{29: false, 30: true} {
		got := new(guard.Probe).Read(text(n))
		if got.Score != n || got.Fires != fires || got.Of != 30 || got.Probe != probe {
			t.Errorf("%d times: %+v", n, got)
		}
	}
	behind := text(30) + prose(60<<10)
	if got := new(guard.Probe).Read(behind + probe); got.Score >= 30 || got.Fires {
		t.Errorf("what the window has left behind counts: %+v", got)
	}
}

// TestWhatIsLaidOutDoesNotCount has the padding and the separators that made the
// probe rule fire.
//
// proves GRD-10
func TestWhatIsLaidOutDoesNotCount(t *testing.T) {
	rule := strings.Repeat("=", 70)
	rows := strings.Repeat("| ok"+strings.Repeat(" ", 60)+"| 0"+strings.Repeat(" ", 40)+"|\n", 20)
	section := func(i int) string { return fmt.Sprintf("// ==== part %d %s\nfunc f%d() {}\n", i%3, rule, i) }
	var sections strings.Builder
	for i := range 360 {
		sections.WriteString(section(i))
	}
	for name, text := range map[string]string{
		"padded table, cut in its padding": rows + "| ok" + strings.Repeat(" ", 60),
		"padding alone":                    strings.Repeat(" ", 5000),
		"tabs":                             prose(100) + strings.Repeat("\t", 5000),
		"separator lines":                  strings.Repeat(rule+"\n", 360),
		"separator comments":               prose(2000) + strings.Repeat("// "+rule+"\n", 360),
		"separator comments, cut in one":   prose(2000) + strings.Repeat("// "+rule+"\n", 360) + "// =======",
		"rules of a table":                 strings.Repeat("|------|------|\n", 360),
		"between other lines":              sections.String() + "// ==== part 1 " + rule + "\n",
	} {
		if got := new(guard.Probe).Read(text); got.Fires {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, c := range []struct {
		text string
		want guard.ProbeReading
	}{
		{strings.Repeat(" ", 5000), guard.ProbeReading{Probe: strings.Repeat(" ", 16), Of: 30}},
		{strings.Repeat("abcdefgh", 100), guard.ProbeReading{Probe: "abcdefghabcdefgh", Score: 50, Of: 30}},
		{strings.Repeat("abcdefg;", 100), guard.ProbeReading{Probe: "abcdefg;abcdefg;", Score: 50, Of: 30, Counts: true, Fires: true}},
		{strings.Repeat("가나다라마바사;", 100), guard.ProbeReading{Probe: "가나다라마바사;가나다라마바사;", Score: 50, Of: 30, Counts: true, Fires: true}},
		{"too short", guard.ProbeReading{Of: 30}},
		{"", guard.ProbeReading{Of: 30}},
		{"=======", guard.ProbeReading{Of: 30}},
		{"abcd====efgh;abcd#####efgh", guard.ProbeReading{Probe: "bcdefgh;abcdefgh", Score: 1, Of: 30, Counts: true}},
		{"0123456789ab--==--cdefgh(", guard.ProbeReading{Probe: "9ab--==--cdefgh(", Score: 1, Of: 30, Counts: true}},
	} {
		if got := new(guard.Probe).Read(c.text); got != c.want {
			t.Errorf("%.30q: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// TestTheProbeCountsWhatAPlainCountFinds compares with the standard library on
// texts without separators.
//
// proves GRD-10
func TestTheProbeCountsWhatAPlainCountFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"<td>", "harbour;", "a", "가", "\n"}), 0, 400).Draw(t, "pieces"), "")
		got := new(guard.Probe).Read(text)
		if got.Probe == "" {
			if utf8.RuneCountInString(text) >= 16 && strings.TrimSpace(text) != "" {
				t.Fatalf("no probe in %d characters", utf8.RuneCountInString(text))
			}
			return
		}
		if !strings.HasSuffix(text, got.Probe) || strings.TrimSpace(got.Probe) != "" && got.Score != strings.Count(text, got.Probe) {
			t.Fatalf("%+v, a plain count finds %d", got, strings.Count(text, got.Probe))
		}
	})
}
