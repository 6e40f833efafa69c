package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// body is a text file as lines. What makes its bytes its own is kept: a mark at
// the start, each line's ending, a missing last newline.
type body struct {
	mark  []byte
	lines []bodyLine
	eol   string // of new lines: what most lines have
	open  bool   // the last line has no newline
	work  int    // lines that were compared so far, or their bytes where those count
}

// mostWork is how many lines one file's hunks may be compared with: files of
// lines that are all alike would take for ever. Looking once at each byte of the
// biggest file is less.
const mostWork = 20 << 20

type bodyLine struct{ text, eol string }

func newBody(content []byte) *body {
	b := &body{eol: "\n"}
	content, found := bytes.CutPrefix(content, []byte("\uFEFF"))
	if found {
		b.mark = []byte("\uFEFF")
	}
	if 2*bytes.Count(content, []byte("\r\n")) > bytes.Count(content, []byte("\n")) {
		b.eol = "\r\n"
	}
	for rest := string(content); rest != ""; {
		line, after, newline := strings.Cut(rest, "\n")
		text, cr := strings.CutSuffix(line, "\r")
		switch {
		case !newline:
			b.open = true
			b.lines = append(b.lines, bodyLine{line, b.eol})
		case cr:
			b.lines = append(b.lines, bodyLine{text, "\r\n"})
		default:
			b.lines = append(b.lines, bodyLine{line, "\n"})
		}
		rest = after
	}
	return b
}

func (b *body) bytes() []byte {
	out := bytes.Clone(b.mark)
	for i, l := range b.lines {
		out = append(out, l.text...)
		if i < len(b.lines)-1 || !b.open {
			out = append(out, l.eol...)
		}
	}
	return out
}

// apply makes the hunks' changes, in order, each below the one before.
func (b *body) apply(s section) error {
	var out []bodyLine
	from := 0 // of the old lines: what is above is done
	for i, h := range s.hunks {
		at, old, err := b.find(h, from)
		if err != nil {
			return tool.Replyf("hunk %d of %s (line %d of the patch): %w; nothing was changed, read the file and send the whole patch again", i+1, s.path, h.at, err)
		}
		out = append(out, b.lines[from:at]...)
		next := at
		for _, l := range h.lines {
			switch l.op {
			case ' ':
				out = append(out, b.lines[next]) // the file's own bytes
				next++
			case '-':
				next++
			case '+':
				out = append(out, bodyLine{l.text, b.eol})
			}
		}
		from = at + old
	}
	b.lines = append(out, b.lines[from:]...)
	return nil
}

var errAlike = errors.New("too many lines of the file are alike to find its place: change the file with edit or in bash")

// find returns where the hunk's old lines stand, and how many they are.
func (b *body) find(h hunk, from int) (at, n int, err error) {
	for _, head := range h.heads {
		i := b.head(head, from)
		switch {
		case i < 0 && b.work >= mostWork:
			return 0, 0, errAlike
		case i < 0:
			return 0, 0, fmt.Errorf("the line %q after @@ does not stand %s", tool.OneLine(head, 100), below(from))
		}
		from = i + 1
	}
	var old []string
	for _, l := range h.lines {
		if l.op != '+' {
			old = append(old, l.text)
		}
	}
	if len(old) == 0 {
		if len(h.heads) > 0 && !h.end {
			return from, 0, nil // right below the line that @@ names
		}
		if len(b.lines) > 0 && !h.end {
			return 0, 0, fmt.Errorf("it only adds lines and does not say where: give the lines around them, or %q to add them at the end", patchEOF)
		}
		return len(b.lines), 0, nil
	}
	for _, same := range []func(a, b string) bool{exactly, apartFromTheEnd} {
		switch found := b.matches(old, from, h.end, same); {
		case b.work >= mostWork:
			return 0, 0, errAlike
		case len(found) == 0:
		case len(found) > 1 && len(h.heads) == 0:
			return 0, 0, fmt.Errorf("its old lines stand %s, at lines %s: give more of what is around them, or an @@ line with what stands above", times(len(found)), listed(found))
		default:
			return found[0], len(old), nil
		}
	}
	return 0, 0, fmt.Errorf("its old lines, from %q on, do not stand %s%s", tool.OneLine(firstSaid(old), 100), below(from), b.near(old, from, h.end))
}

func exactly(a, b string) bool { return a == b }

func apartFromTheEnd(a, b string) bool {
	return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r")
}

// head returns the line at or below from that an @@ line means, or -1.
func (b *body) head(head string, from int) int {
	for _, same := range []func(string) bool{
		func(l string) bool { return l == head },
		func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(head) },
		func(l string) bool {
			b.work += len(l) / 8 // it looks at them
			return strings.Contains(l, head)
		},
	} {
		for i := from; i < len(b.lines) && b.work < mostWork; i++ {
			b.work++
			if same(b.lines[i].text) {
				return i
			}
		}
	}
	return -1
}

const mostPlaces = 9 // that are looked for: more are not named

// matches returns where old stands at or below from, at most mostPlaces.
func (b *body) matches(old []string, from int, end bool, same func(a, b string) bool) (at []int) {
	if last := len(b.lines) - len(old); end {
		from = max(from, last)
	}
	for i := from; i+len(old) <= len(b.lines) && len(at) < mostPlaces && b.work < mostWork; i++ {
		j := 0
		for j < len(old) && same(b.lines[i+j].text, old[j]) {
			j++
		}
		b.work += j + 1
		if j == len(old) {
			at = append(at, i)
		}
	}
	return at
}

// near says where something like old stands.
func (b *body) near(old []string, from int, end bool) string {
	if at := b.matches(old, from, false, exactly); end && len(at) > 0 {
		return fmt.Sprintf(" at the end of the file (but at line %d)", at[0]+1)
	}
	if at := b.matches(old, 0, false, exactly); len(at) > 0 {
		return fmt.Sprintf(" (but above, at line %d: hunks go from the top down)", at[0]+1)
	}
	if at := b.alike(old, from); len(at) > 0 {
		return fmt.Sprintf(" (at line %d something differs from them in white space only)", at[0]+1)
	}
	return ""
}

// alike returns where lines stand that differ from old in white space only.
func (b *body) alike(old []string, from int) []int {
	words := make([]string, len(old))
	for i, l := range old {
		words[i] = strings.Join(strings.Fields(l), " ")
	}
	return b.matches(words, from, false, func(line, words string) bool {
		b.work += len(line)
		return hasOnly(line, words)
	})
}

// hasOnly reports whether line is the words, which have one space between them.
func hasOnly(line, words string) bool {
	for w := range strings.FieldsSeq(line) {
		rest, ok := strings.CutPrefix(words, w)
		if !ok || rest != "" && rest[0] != ' ' {
			return false
		}
		words = strings.TrimPrefix(rest, " ")
	}
	return words == ""
}

func firstSaid(lines []string) string {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return l
		}
	}
	return lines[0]
}

func below(from int) string {
	if from == 0 {
		return "in the file"
	}
	return fmt.Sprintf("below line %d of the file", from)
}

func times(n int) string {
	if n >= mostPlaces {
		return "many times"
	}
	return plural(n, "time")
}

func listed(at []int) string {
	var b strings.Builder
	for i, n := range at {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n+1)
	}
	return b.String()
}
