package model

import (
	"unicode/utf8"
)

// Runes joins the pieces of one block's text. A piece may end inside a rune: in
// the middle of its bytes, or between the two halves of an escaped surrogate
// pair, which the scanner hands over as three bytes each. What is not yet a
// rune is held back; what cannot become one is U+FFFD.
type Runes struct{ held []byte }

// Join takes a piece and returns what can be said.
func (r *Runes) Join(p []byte) string {
	if len(r.held) == 0 && utf8.Valid(p) {
		return string(p)
	}
	p = append(r.held, p...)
	out := make([]byte, 0, len(p)+utf8.UTFMax)
	i := 0
	for i < len(p) {
		c, size := utf8.DecodeRune(p[i:])
		switch half, more := surrogate(p[i:]); {
		case c != utf8.RuneError || size > 1:
			out = append(out, p[i:i+size]...)
			i += size
		case half != 0 && half < 0xDC00 && more:
			r.held = append([]byte(nil), p[i:]...)
			return string(out)
		case half != 0 && half < 0xDC00:
			low, _ := surrogate(p[i+3:])
			if low >= 0xDC00 {
				out = utf8.AppendRune(out, (half-0xD800)<<10+(low-0xDC00)+0x10000)
				i += 6
				continue
			}
			out = utf8.AppendRune(out, utf8.RuneError)
			i += 3
		case half != 0:
			out = utf8.AppendRune(out, utf8.RuneError)
			i += 3
		case !utf8.FullRune(p[i:]):
			r.held = append([]byte(nil), p[i:]...)
			return string(out)
		default:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
		}
	}
	r.held = nil
	return string(out)
}

// Flush gives up what is held.
func (r *Runes) Flush() string {
	if len(r.held) == 0 {
		return ""
	}
	r.held = nil
	return string(utf8.RuneError)
}

// surrogate reads the three-byte form of half a pair at the start of p, zero if
// there is none. more says that the bytes after it may still become its other
// half.
func surrogate(p []byte) (half rune, more bool) {
	if len(p) < 3 || p[0] != 0xED || p[1] < 0xA0 || p[1] > 0xBF || p[2]&0xC0 != 0x80 {
		return 0, false
	}
	half = 0xD000 | rune(p[1]&0x3F)<<6 | rune(p[2]&0x3F)
	rest := p[3:]
	more = len(rest) == 0 || len(rest) < 3 && rest[0] == 0xED && (len(rest) == 1 || rest[1] >= 0xB0)
	return half, more
}
