package tui

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"pgregory.net/rapid"
)

// proves API-02 for the terminal: nothing untrusted drives it
func TestTextFromElsewhereCannotDriveTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\x1b[0m":              "ab",
		"a\x1b]0;title\x07b":             "ab",
		"a\x1b]52;c;aGk=\x1b\\b":         "ab",
		"a\x1b[2J\x1b[Hb":                "ab",
		"a\x1bcb":                        "ab",
		"a\x1b(0b":                       "ab",
		"never ended \x1b]0;x\nshown":    "never ended ␛]0;x\nshown",
		"cut \x1b":                       "cut ␛",
		"bell\x07 back\x08":              "bell␇ back␈",
		"c1 \u009b2J and raw \x9b2J":     "c1 \ufffd2J and raw \ufffd2J",
		"progress 1%\rprogress 2%\r\nok": "progress 1%\nprogress 2%\nok",
		"bidi \u202eevil\u2066":          "bidi \ufffdevil\ufffd",
		"한글 👍 tab\tok":                   "한글 👍 tab\tok",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := oneLine("rm -rf /\x1b[8m # harmless\nls"); got != "rm -rf /␛[8m # harmless ⏎ ls" {
		t.Errorf("oneLine hides something: %q", got)
	}
}

// proves API-02 for the terminal, on any bytes
func TestCleanAndPrintedTextHoldNoControl(t *testing.T) {
	p := &press{width: 40, profile: colorprofile.ANSI256}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b", "\x1b[", "\x1b]", "\x07", "&#27;", "&#x9b;", "[31m", "```\n", "\n\n", "- ", "](", "\x9b", "\x00", "&#0;"}))
		s := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		for _, out := range []string{clean(s), oneLine(s)} {
			if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && picture(r) != r && r != utf8.RuneError }) {
				t.Fatalf("control left in %q", out)
			}
		}
		for _, row := range p.rows(block{kind: markdown, text: s}) {
			if onlyStyle(row) != row {
				t.Fatalf("more than style in %q", row)
			}
		}
	})
}

// proves TUI-03: a character reference is no way around
func TestMarkdownCannotSpellAnEscape(t *testing.T) {
	p := &press{width: 60, profile: colorprofile.ANSI256}
	for _, s := range []string{"&#27;[2J", "&#x1b;]0;t&#7;", "`&#27;[2J`", "[a](http://x/&#27;[2J)", "&#155;2J", "&#27;[8mhidden"} {
		out := strings.Join(p.rows(block{kind: markdown, text: s}), "\n")
		if strings.Contains(out, "\x1b[2J") || strings.Contains(out, "\x1b[8m") || strings.Contains(out, "\x1b]") || strings.Contains(out, "\u009b") {
			t.Errorf("%q became %q", s, out)
		}
	}
}

// proves TUI-03: pieces may be cut anywhere, come twice, or come as chunks
func TestAStreamIsWholeHoweverItsPiecesCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringMatching(`([a-z]{1,6}( |\n|\n\n|\n- |`+"```"+`\n)){0,20}`).Draw(t, "text")
		s, printed := &stream{}, ""
		for off := 0; off < len(want); {
			n := rapid.IntRange(1, len(want)-off).Draw(t, "n")
			back := rapid.IntRange(0, off).Draw(t, "back")
			if rapid.Bool().Draw(t, "chunk") {
				from := s.chunks
				s.chunk(1, want[from:max(from, off+n)])
			} else {
				s.text(1, off-back, want[off-back:off+n])
			}
			printed += s.ready()
			off += n
		}
		if s.said != want {
			t.Fatalf("said %q, want %q", s.said, want)
		}
		rest, fresh := s.rest(want)
		if printed+rest != want || fresh {
			t.Fatalf("printed %q + %q, want %q", printed, rest, want)
		}
	})
}

func TestOnlyWholeMarkdownBlocksAreSettled(t *testing.T) {
	for md, want := range map[string]string{
		"one\n\ntwo":                       "one\n\n",
		"one\n\n":                          "",
		"one\ntwo":                         "",
		"```go\na\n\nb\n":                  "",
		"```go\na\n\nb\n```\n\nafter":      "```go\na\n\nb\n```\n\n",
		"- a\n\n- b\n\n- c":                "",
		"- a\n\n  more\n\nnext paragraph ": "- a\n\n  more\n\n",
		"1. a\n\n2":                        "",
		"\n\nfirst":                        "",
	} {
		if got := md[:settled(md)]; got != want {
			t.Errorf("settled(%q) = %q, want %q", md, got, want)
		}
	}
}

// proves B146: one Esc for each press, and sequences stay whole
func TestEscIsToldFromSequences(t *testing.T) {
	const e = escKey
	for _, tc := range []struct {
		in   []string
		out  string
		held bool
	}{
		{[]string{"\x1b"}, "", true},
		{[]string{"\x1b\x1b\x1b"}, e + e, true},
		{[]string{"\x1b", "\x1b", "\x1b"}, e + e, true},
		{[]string{"\x1b[A"}, "\x1b[A", false},
		{[]string{"\x1b", "[A"}, "\x1b[A", false},
		{[]string{"\x1b\x1b[A"}, "\x1b\x1b[A", false},
		{[]string{"\x1b\x1b\x1b[A"}, e + "\x1b\x1b[A", false},
		{[]string{"a\x1bb"}, "a\x1bb", false},
		{[]string{"\x1b[200~x\x1b[201~"}, "\x1b[200~x\x1b[201~", false},
	} {
		k := &keyboard{}
		var out []byte
		for _, in := range tc.in {
			out = k.take(out, []byte(in))
		}
		if string(out) != tc.out || k.held != tc.held {
			t.Errorf("%q: %q held %v, want %q held %v", tc.in, out, k.held, tc.out, tc.held)
		}
	}
}

// proves TUI-03: wide characters are one character and two columns
func TestTheEditorKnowsWideCharacters(t *testing.T) {
	e := &editor{}
	e.insert("안녕 a👍🏽b")
	for range 2 {
		e.key("left", "", 20)
	}
	e.key("backspace", "", 20)
	if e.text != "안녕 👍🏽b" {
		t.Errorf("text %q", e.text)
	}
	e.key("home", "", 20)
	e.key("delete", "", 20)
	if e.text != "녕 👍🏽b" {
		t.Errorf("text %q", e.text)
	}
	rows, x, y := (&editor{text: "가나다라마", pos: len("가나다")}).view(8, 5)
	if len(rows) != 2 || x != 2 || y != 1 {
		t.Errorf("rows %q, cursor %d,%d", rows, x, y)
	}
}

func TestTheEditorNeverBreaks(t *testing.T) {
	keys := []string{"left", "right", "home", "end", "up", "down", "alt+left", "alt+right", "backspace", "delete", "ctrl+w", "alt+d", "ctrl+u", "ctrl+k", "ctrl+j"}
	rapid.Check(t, func(t *rapid.T) {
		e := &editor{}
		width := rapid.IntRange(1, 12).Draw(t, "width")
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "type") {
				e.key("", rapid.SampledFrom([]string{"a", "한", "👍🏽", " ", "é", "\x1b", "\t"}).Draw(t, "text"), width)
			} else {
				e.key(rapid.SampledFrom(keys).Draw(t, "key"), "", width)
			}
			if e.pos < 0 || e.pos > len(e.text) || !utf8.ValidString(e.text) || !utf8.ValidString(e.text[:e.pos]) {
				t.Fatalf("%+v", e)
			}
			e.view(width, 3)
		}
	})
}

// proves TUI-03: the live part fits, whatever is in it
func TestTheLivePartFitsItsRoom(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "x")
	p.c.stream.text(1, 0, strings.Repeat("가나다 ", 5000))
	for i := range 9 {
		p.c.inbox = append(p.c.inbox, waiting{text: fmt.Sprint("queued ", i)})
	}
	p.c.layer = helpLayer
	for _, size := range [][2]int{{80, 20}, {10, 4}, {4, 1}} {
		rows := p.c.rows(p.now, size[0], size[1])
		if len(rows) > size[1] {
			t.Errorf("%v: %d rows", size, len(rows))
		}
		for _, r := range rows {
			if cells(r) > size[0] {
				t.Errorf("%v: %q is %d wide", size, r, cells(r))
			}
		}
	}
}
