package guard

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Longest measures the longest string value in a call's arguments, JSON that
// is whole or was cut anywhere: its length in code points and its text as far
// as it came. Keys do not count, an escape is the code point that it stands
// for, half a code point is none, and the first of several longest is taken.
// Arguments without a string, and text that is not JSON, have length 0.
//
// It reads args twice at most, never fails, and holds one bit for each level
// of nesting and the one string that it returns.
func Longest(args string) (runes int, text string) {
	w := walker{s: args}
	best, from := 0, -1
	for w.next() {
		start := w.i
		n := w.skip(nil)
		if !w.key && (n > best || from < 0) {
			best, from = n, start
		}
		w.after()
	}
	if from < 0 {
		return 0, ""
	}
	w.i = from
	var out strings.Builder
	w.skip(&out)
	return best, out.String()
}

// walker goes from string to string through JSON that may be cut or broken. It
// checks nothing: what is no string and no bracket is passed over.
//
//	{ → key expected ─ string ─→ value expected ─ , ─→ key expected
//	[ → value expected ─────────────────────────── , ─→ value expected
type walker struct {
	s     string
	i     int
	key   bool // the string at i, or the next one, is an object's key
	stack []uint64
	depth int
}

// next moves to the first byte after the next opening quote.
func (w *walker) next() bool {
	for ; w.i < len(w.s); w.i++ {
		switch w.s[w.i] {
		case '{':
			w.push(true)
		case '[':
			w.push(false)
		case '}', ']':
			if w.depth > 0 {
				w.depth--
			}
			w.key = false
		case ',':
			w.key = w.inObject()
		case ':':
			w.key = false
		case '"':
			w.i++
			return true
		}
	}
	return false
}

// after says that a string was passed: what follows a key is a value even
// where its colon is missing.
func (w *walker) after() { w.key = false }

func (w *walker) push(object bool) {
	if w.depth/64 == len(w.stack) {
		w.stack = append(w.stack, 0)
	}
	if object {
		w.stack[w.depth/64] |= 1 << (w.depth % 64)
	} else {
		w.stack[w.depth/64] &^= 1 << (w.depth % 64)
	}
	w.depth++
	w.key = object
}

func (w *walker) inObject() bool {
	d := w.depth - 1
	return d >= 0 && w.stack[d/64]&(1<<(d%64)) != 0
}

// skip passes the rest of a string and its closing quote, returns its length in
// code points and writes them to out if there is one.
func (w *walker) skip(out *strings.Builder) int {
	n := 0
	for w.i < len(w.s) {
		c := w.s[w.i]
		if c == '"' {
			w.i++
			return n
		}
		var r rune
		size := 1
		switch {
		case c == '\\':
			r, size = escape(w.s[w.i:])
		case c < utf8.RuneSelf:
			r = rune(c)
		case !utf8.FullRuneInString(w.s[w.i:]):
			size = 0
		default:
			r, size = utf8.DecodeRuneInString(w.s[w.i:])
		}
		if size == 0 { // the cut is inside a code point
			w.i = len(w.s)
			return n
		}
		if out != nil {
			out.WriteRune(r)
		}
		n++
		w.i += size
	}
	return n
}

// escape reads the escape that s begins with. size 0 says that s ends before it
// does. An unknown escape stands for the character itself, half a surrogate
// pair for U+FFFD.
func escape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(s)
	}
	if s[1] < utf8.RuneSelf {
		return rune(s[1]), 2
	}
	if !utf8.FullRuneInString(s[1:]) {
		return 0, 0
	}
	r, size = utf8.DecodeRuneInString(s[1:])
	return r, 1 + size
}

func unicodeEscape(s string) (rune, int) {
	first, digits := hex4(s[2:])
	switch {
	case digits < 4 && 2+digits == len(s):
		return 0, 0
	case digits < 4:
		return utf8.RuneError, 2 + digits
	case !utf16.IsSurrogate(first):
		return first, 6
	}
	const pair = `\u`
	rest := s[6:]
	if first < 0xDC00 && len(rest) < 6 { // its other half may still have been on its way
		head := min(len(rest), len(pair))
		if _, digits := hex4(rest[head:]); rest[:head] == pair[:head] && head+digits == len(rest) {
			return 0, 0
		}
	}
	if strings.HasPrefix(rest, pair) {
		if second, digits := hex4(rest[len(pair):]); digits == 4 {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12
			}
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads up to four hex digits and says how many there were.
func hex4(s string) (r rune, digits int) {
	for digits < 4 && digits < len(s) {
		c := s[digits]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return r, digits
		}
		r = r<<4 | rune(c)
		digits++
	}
	return r, digits
}
