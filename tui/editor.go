package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// editor is the line being typed: text and a place in it, in bytes, always at
// the edge of what a person sees as one character.
type editor struct {
	text string
	pos  int
}

func (e *editor) set(text string) { e.text, e.pos = text, len(text) }

func (e *editor) insert(s string) {
	e.text = e.text[:e.pos] + s + e.text[e.pos:]
	e.pos += len(s)
}

// edges lists where characters begin, the end included.
func edges(s string) []int {
	out := []int{0}
	for i := 0; i < len(s); {
		cluster, _ := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		i += max(1, len(cluster))
		out = append(out, min(i, len(s)))
	}
	return out
}

func (e *editor) before() int {
	b := edges(e.text[:e.pos])
	if len(b) < 2 {
		return 0
	}
	return b[len(b)-2]
}

func (e *editor) behind() int {
	if e.pos == len(e.text) {
		return e.pos
	}
	return e.pos + edges(e.text[e.pos:])[1]
}

func (e *editor) cut(from, to int) {
	e.text = e.text[:from] + e.text[to:]
	e.pos = from
}

func (e *editor) lineStart() int { return strings.LastIndexByte(e.text[:e.pos], '\n') + 1 }

func (e *editor) lineEnd() int {
	if n := strings.IndexByte(e.text[e.pos:], '\n'); n >= 0 {
		return e.pos + n
	}
	return len(e.text)
}

// wordBefore and wordBehind are the edges of words, spaces skipped.
func (e *editor) wordBefore() int {
	head := strings.TrimRightFunc(e.text[:e.pos], unicode.IsSpace)
	i := strings.LastIndexFunc(head, unicode.IsSpace)
	if i < 0 {
		return 0
	}
	_, n := utf8.DecodeRuneInString(head[i:])
	return i + n
}

func (e *editor) wordBehind() int {
	tail := e.text[e.pos:]
	skip := len(tail) - len(strings.TrimLeftFunc(tail, unicode.IsSpace))
	n := strings.IndexFunc(tail[skip:], unicode.IsSpace)
	if n < 0 {
		return len(e.text)
	}
	return e.pos + skip + n
}

// key does what a key means to an editor. It reports whether it meant
// anything; text is what the key types, empty for a key that types nothing.
func (e *editor) key(name, text string, width int) bool {
	switch name {
	case "left", "ctrl+b":
		e.pos = e.before()
	case "right", "ctrl+f":
		e.pos = e.behind()
	case "home", "ctrl+a":
		e.pos = e.lineStart()
	case "end", "ctrl+e":
		e.pos = e.lineEnd()
	case "up", "ctrl+p":
		e.climb(-1, width)
	case "down", "ctrl+n":
		e.climb(1, width)
	case "alt+left", "ctrl+left", "alt+b":
		e.pos = e.wordBefore()
	case "alt+right", "ctrl+right", "alt+f":
		e.pos = e.wordBehind()
	case "backspace", "ctrl+h":
		e.cut(e.before(), e.pos)
	case "delete", "ctrl+d":
		e.cut(e.pos, e.behind())
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		e.cut(e.wordBefore(), e.pos)
	case "alt+d", "ctrl+delete":
		e.cut(e.pos, e.wordBehind())
	case "ctrl+u":
		e.cut(e.lineStart(), e.pos)
	case "ctrl+k":
		e.cut(e.pos, e.lineEnd())
	case "ctrl+j", "shift+enter":
		e.insert("\n")
	default:
		if text == "" {
			return false
		}
		e.insert(clean(text))
	}
	return true
}

// editRow is one row as drawn: a range of the text.
type editRow struct{ from, to int }

// wrap cuts the text into rows of at most width columns.
func (e *editor) wrap(width int) []editRow {
	width = max(2, width)
	var rows []editRow
	from, cols := 0, 0
	for i := 0; i < len(e.text); {
		if e.text[i] == '\n' {
			rows = append(rows, editRow{from, i})
			i++
			from, cols = i, 0
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(e.text[i:], ansi.GraphemeWidth)
		if e.text[i] == '\t' {
			w = 4
		}
		if cols+w > width {
			rows = append(rows, editRow{from, i})
			from, cols = i, 0
		}
		cols += w
		i += max(1, len(cluster))
	}
	return append(rows, editRow{from, len(e.text)})
}

// at returns the cursor's row and column among rows.
func (e *editor) at(rows []editRow) (row, col int) {
	for i, r := range rows {
		if e.pos >= r.from && e.pos <= r.to {
			row = i // the last that fits: a wrapped row's end is the next one's start
		}
	}
	return row, cells(e.text[rows[row].from:e.pos])
}

func cells(s string) int { return ansi.StringWidth(strings.ReplaceAll(s, "\t", "    ")) }

// climb moves by rows, keeping the column as well as it can.
func (e *editor) climb(by, width int) {
	rows := e.wrap(width)
	row, col := e.at(rows)
	to := row + by
	if to < 0 || to >= len(rows) {
		return
	}
	r := rows[to]
	e.pos = r.from
	for _, i := range edges(e.text[r.from:r.to]) {
		if cells(e.text[r.from:r.from+i]) <= col {
			e.pos = r.from + i
		}
	}
}

// edge reports whether the cursor is on the first and on the last row.
func (e *editor) edge(width int) (first, last bool) {
	rows := e.wrap(width)
	row, _ := e.at(rows)
	return row == 0, row == len(rows)-1
}

// view draws at most height rows around the cursor, prompt included in width,
// and says where the cursor is.
func (e *editor) view(width, height int) (out []string, x, y int) {
	rows := e.wrap(width - 2)
	row, col := e.at(rows)
	from := max(0, min(row-height/2, len(rows)-height))
	for i := from; i < min(len(rows), from+max(1, height)); i++ {
		prompt := "  "
		if i == 0 {
			prompt = bold("› ")
		}
		out = append(out, prompt+strings.ReplaceAll(e.text[rows[i].from:rows[i].to], "\t", "    "))
	}
	return out, col + 2, row - from
}
