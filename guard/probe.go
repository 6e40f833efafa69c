package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The numbers of the probe rule. They are those of the published algorithm that
// was accused of three cuts and had not made them.
const (
	ProbeWindow = 65536 // bytes of the tail in which is counted
	ProbeRunes  = 16    // characters of the probe
	ProbeFires  = 30    // occurrences
)

const (
	// ProbeStructure are the characters of which a probe must hold one to count:
	// those that markup, data and code are built with, and the end of a line.
	ProbeStructure = "<>{}[]()|/\\=:;,\"'`\n"

	// ProbeSeparators are those whose runs are left out.
	ProbeSeparators = "=-_*#~+"

	// ProbeRun is how many equal separators are a run.
	ProbeRun = 4
)

// Probe measures how often the last 16 characters of a stream stand in its last
// 65,536 bytes (GRD-10). It only measures: what it finds stops nothing, and
// [Loop] does not ask it. It has no state, the text is the channel's so far.
type Probe struct{}

// ProbeReading is what the probe rule says of one channel at one place.
type ProbeReading struct {
	Probe  string `json:"probe"`  // the last characters, separators left out; empty: there are too few
	Score  int    `json:"score"`  // times that it stands in the window without overlap, the last one included
	Of     int    `json:"of"`     // the score that fires
	Counts bool   `json:"counts"` // it holds a character of structure
	Fires  bool   `json:"fires"`
}

// Score returns the occurrences and whether the probe counts at all.
func (p *Probe) Score(tail string) (score int, counts bool) {
	r := p.Read(tail)
	return r.Score, r.Counts
}

// Read measures a channel's text, of which the last 65,536 bytes are looked at.
// A probe that is white space without an end of line scores 0.
func (p *Probe) Read(text string) ProbeReading {
	r := ProbeReading{Of: ProbeFires}
	if len(text) > ProbeWindow {
		text = text[len(text)-ProbeWindow:]
		for text != "" && !utf8.RuneStart(text[0]) {
			text = text[1:] // the rest of a character that the window cut
		}
	}
	text = withoutSeparators(text)
	start := len(text)
	for range ProbeRunes {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		if size == 0 {
			return r
		}
		start -= size
	}
	r.Probe = text[start:]
	if strings.TrimFunc(r.Probe, unicode.IsSpace) == "" && !strings.Contains(r.Probe, "\n") {
		return r
	}
	r.Counts = strings.ContainsAny(r.Probe, ProbeStructure)
	r.Score = occurrences(text, r.Probe)
	r.Fires = r.Counts && r.Score >= ProbeFires
	return r
}

// occurrences counts from the end, so that the probe itself is always one of
// them.
func occurrences(text, probe string) int {
	n := 0
	for {
		i := strings.LastIndex(text, probe)
		if i < 0 {
			return n
		}
		n, text = n+1, text[:i]
	}
}

// withoutSeparators leaves out runs of separators, and the whole of a line that
// is one: that begins and ends with a run, apart from what comments and tables
// are framed with. Taking the run alone out of hundreds of such lines would leave
// hundreds of equal frames.
func withoutSeparators(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		if separates(line) {
			continue
		}
		for line != "" {
			if n := separatorRun(line); n >= ProbeRun {
				line = line[n:]
				continue
			}
			n := max(separatorRun(line), 1)
			b.WriteString(line[:n])
			line = line[n:]
		}
	}
	return b.String()
}

// separatorRun is how often the first character stands at the beginning, if it is
// a separator.
func separatorRun(s string) int {
	if !strings.Contains(ProbeSeparators, s[:1]) {
		return 0
	}
	return len(s) - len(strings.TrimLeft(s, s[:1]))
}

// separates reports a line that is a separator, with or without a title in it.
func separates(line string) bool {
	const frame = " \t\r\n/|:;%<>!()"
	line = strings.Trim(line, frame)
	if line == "" {
		return false
	}
	last := line[len(line)-1:]
	return separatorRun(line) >= ProbeRun && strings.Contains(ProbeSeparators, last) &&
		len(line)-len(strings.TrimRight(line, last)) >= ProbeRun
}
