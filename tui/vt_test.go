package tui_test

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// vt is a terminal, as much of one as the chat uses: what is on it can be
// asked for, and which modes are on.
type vt struct {
	mu     sync.Mutex
	w, h   int
	rows   [][]string
	gone   []string // scrolled off the top
	x, y   int
	modes  map[string]bool
	kitty  int
	modify bool
	rest   []byte
	raw    []byte
}

func newVT(w, h int) *vt {
	t := &vt{w: w, h: h, modes: map[string]bool{}}
	for range h {
		t.rows = append(t.rows, make([]string, w))
	}
	return t
}

func (t *vt) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = append(t.raw, p...)
	b := append(t.rest, p...)
	for len(b) > 0 {
		n := t.one(b)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	t.rest = append([]byte(nil), b...)
	return len(p), nil
}

func (t *vt) one(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return t.escape(b)
	case c == '\r':
		t.x = 0
	case c == '\n':
		t.feed()
	case c == '\b':
		t.x = max(0, min(t.x, t.w-1)-1)
	case c == '\t':
		t.x = min(t.w-1, (t.x/8+1)*8)
	case c < 0x20 || c == 0x7f:
	default:
		if !utf8.FullRune(b) {
			return 0
		}
		cl, w := ansi.FirstGraphemeCluster(b, ansi.GraphemeWidth)
		t.put(string(cl), w)
		return len(cl)
	}
	return 1
}

func (t *vt) put(s string, w int) {
	if t.x+w > t.w {
		t.x = 0
		t.feed()
	}
	t.rows[t.y][t.x] = s
	for i := 1; i < w; i++ {
		t.rows[t.y][t.x+i] = "\x00"
	}
	t.x += w
}

func (t *vt) feed() {
	if t.y < t.h-1 {
		t.y++
		return
	}
	t.gone = append(t.gone, text(t.rows[0]))
	t.rows = append(t.rows[1:], make([]string, t.w))
}

func (t *vt) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				t.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^':
		for i := 2; i < len(b); i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) {
				return i + 2
			}
		}
		return 0
	case 'M':
		t.y = max(0, t.y-1)
	}
	return 2
}

func (t *vt) csi(args string, final byte) {
	n := 1
	if v, err := strconv.Atoi(strings.SplitN(args, ";", 2)[0]); err == nil {
		n = v
	}
	row := t.rows[t.y]
	x := min(t.x, t.w-1)
	switch final {
	case 'A':
		t.y = max(0, t.y-n)
	case 'B', 'e':
		t.y = min(t.h-1, t.y+n)
	case 'C', 'a':
		t.x = min(t.w-1, t.x+n)
	case 'D':
		t.x = max(0, x-n)
	case 'Z': // back by tab stops
		for range n {
			x = max(0, (x-1)/8*8)
		}
		t.x = x
	case 'I':
		for range n {
			t.x = min(t.w-1, (t.x/8+1)*8)
		}
	case 'G', '`':
		t.x = max(0, min(t.w, n)-1)
	case 'H':
		var r, c int
		p := strings.Split(args+";", ";")
		r, _ = strconv.Atoi(p[0])
		c, _ = strconv.Atoi(p[1])
		t.y, t.x = max(0, min(t.h, max(1, r))-1), max(0, min(t.w, max(1, c))-1)
	case 'd':
		t.y = max(0, min(t.h, n)-1)
	case 'J':
		switch args {
		case "", "0":
			clear(row[x:])
			for i := t.y + 1; i < t.h; i++ {
				clear(t.rows[i])
			}
		case "2":
			for i := range t.rows {
				clear(t.rows[i])
			}
		}
	case 'K':
		switch args {
		case "", "0":
			clear(row[x:])
		case "1":
			clear(row[:x+1])
		case "2":
			clear(row)
		}
	case 'X':
		clear(row[x:min(t.w, x+n)])
	case 'P':
		copy(row[x:], row[min(t.w, x+n):])
		clear(row[max(x, t.w-n):])
	case '@':
		copy(row[min(t.w, x+n):], append([]string(nil), row[x:]...))
		clear(row[x:min(t.w, x+n)])
	case 'L':
		for range min(n, t.h) {
			copy(t.rows[t.y+1:], append([][]string(nil), t.rows[t.y:t.h-1]...))
			t.rows[t.y] = make([]string, t.w)
		}
	case 'M':
		for range min(n, t.h) {
			copy(t.rows[t.y:], t.rows[t.y+1:])
			t.rows[t.h-1] = make([]string, t.w)
		}
	case 'b':
		if x > 0 {
			for range n {
				t.put(row[x-1], 1)
			}
		}
	case 'h', 'l':
		if strings.HasPrefix(args, "?") {
			t.modes[args] = final == 'h'
		}
	case 'u':
		switch {
		case strings.HasPrefix(args, ">"):
			t.kitty++
		case strings.HasPrefix(args, "<"):
			t.kitty--
		}
	case 'm':
		if strings.HasPrefix(args, ">4") {
			t.modify = args == ">4;2"
		}
	}
}

func text(row []string) string {
	var b strings.Builder
	for _, c := range row {
		switch c {
		case "":
			b.WriteByte(' ')
		case "\x00":
		default:
			b.WriteString(c)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// screen is what is seen; all adds what scrolled off.
func (t *vt) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, r := range t.rows {
		out = append(out, text(r))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func (t *vt) all() string {
	s := t.screen()
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(append(append([]string(nil), t.gone...), s), "\n")
}

// written is every byte that came.
func (t *vt) written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.raw)
}
