package tui

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Everything that a model, a tool, a file name or a journal brings is hostile
// to a terminal until it went through clean or oneLine: it could move the
// cursor, change the title, read the clipboard, or hide what is being asked.

// longestSequence bounds how much text a string sequence (OSC, DCS, …) may
// swallow; a longer or an unterminated one is shown, not dropped.
const longestSequence = 1024

// clean returns s without terminal control: colour and cursor sequences are
// dropped, carriage returns become line ends, what is left of control
// characters is shown as a picture of itself. Newlines and tabs stay.
func clean(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			n := sequence(s[i:])
			if n == 0 {
				b.WriteRune('␛')
				n = 1
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r':
			if i >= len(s) || s[i] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		default:
			b.WriteRune(picture(r))
		}
	}
	return b.String()
}

// oneLine returns s as a single line with every control character visible:
// for approvals, commands and names, where nothing may be hidden or dropped.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '\n':
			b.WriteString(" ⏎ ")
		case '\t':
			b.WriteByte(' ')
		default:
			b.WriteRune(picture(r))
		}
	}
	return strings.TrimSpace(b.String())
}

// harmless reports whether s has nothing that clean would change.
func harmless(s string) bool {
	for _, r := range s {
		if r != '\n' && r != '\t' && picture(r) != r || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// picture returns what stands for r on a screen: controls as their symbols,
// the invisible orders of bidirectional text as a replacement mark.
func picture(r rune) rune {
	switch {
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return '␡'
	case r >= 0x80 && r < 0xa0:
		return utf8.RuneError
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return utf8.RuneError
	case r >= 0xe0000 && r <= 0xe007f: // tag characters: text that nobody sees
		return utf8.RuneError
	}
	return r
}

// sequence returns the length of the escape sequence that s begins with, 0 if
// it is none that may be dropped.
func sequence(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch c := s[1]; {
	case c == '[':
		for i := 2; i < len(s) && i < longestSequence; i++ {
			switch {
			case s[i] >= 0x40 && s[i] <= 0x7e:
				return i + 1
			case s[i] < 0x20 || s[i] > 0x3f:
				return 0
			}
		}
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		for i := 2; i < len(s) && i < longestSequence && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	case c >= 0x20 && c <= 0x2f:
		if len(s) > 2 && s[2] >= 0x30 && s[2] <= 0x7e {
			return 3
		}
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 0
}

// entity matches Markdown's numeric characters, which a renderer would turn
// into the control characters that clean has just removed.
var entity = regexp.MustCompile(`&#([0-9]{1,8}|[xX][0-9a-fA-F]{1,8});?`)

// cleanMarkdown is clean for text that a Markdown renderer will read.
func cleanMarkdown(s string) string {
	s = clean(s)
	if !strings.Contains(s, "&#") {
		return s
	}
	return entity.ReplaceAllStringFunc(s, func(m string) string {
		digits, base := strings.TrimSuffix(m[2:], ";"), 10
		if digits[0] == 'x' || digits[0] == 'X' {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseInt(digits, base, 32)
		if err != nil || picture(rune(n)) != rune(n) {
			return string(utf8.RuneError)
		}
		return m
	})
}

// onlyStyle lets through text, newlines and the sequences that set colours and
// weight; it is the last gate behind a renderer of ours.
func onlyStyle(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			n := sequence(s[i:])
			if n > 2 && s[i+1] == '[' && s[i+n-1] == 'm' {
				b.WriteString(s[i : i+n])
			}
			i += max(n, 1)
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r == '\n' || r == '\t' || picture(r) == r {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// short cuts s to width columns, wide characters counted as two.
func short(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// lastLines returns at most n last lines of s, without its trailing newlines.
func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-n):]
}

// unstyled is onlyStyle without the style.
func unstyled(s string) string { return ansi.Strip(onlyStyle(s)) }
