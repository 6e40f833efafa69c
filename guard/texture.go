package guard

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texture is what a repeated piece is made of. It decides how often the piece
// may stand in a row: nobody writes a sentence ten times, a table is made of
// equal rows, a rule of equal signs.
type Texture string

const (
	Wording Texture = "words"  // sentences, phrases, lists: the signs are few
	Flood   Texture = "flood"  // a few letters over and over, after wording
	Code    Texture = "code"   // words between signs; one or two words a line
	Markup  Texture = "markup" // elements and table rows
	Layout  Texture = "layout" // no words: rules, padding, numbers, encoded data
)

// grain counts what a piece is made of, in code points.
type grain struct {
	ink      int // all but white space
	letters  int // in words
	wide     int // of these, beyond ASCII
	words    int
	signs    int // those that structure, not those of sentences
	lines    int
	ended    int // lines that end as a sentence does
	items    int // lines that begin as a list's
	elements int // ends of elements, rows of tables
}

// texture reads the counts. Prose has a sign for every 20 to 50 characters, a
// statement one for every 3 to 6.
func (g grain) texture() Texture {
	switch {
	case g.words == 0 || g.letters*5 < g.ink:
		return Layout
	case g.elements > 0:
		return Markup
	case g.signs*10 > g.ink, g.letters*2 < g.ink:
		return Code
	case g.lists():
		return Code
	}
	return Wording
}

// lists reports the lines of a log, a column or a listing: they are short and end
// as no sentence does. Scripts without spaces are left out, their words cannot be
// counted.
func (g grain) lists() bool {
	if g.lines == 0 || g.items > 0 || g.ended > 0 || g.wide*2 >= g.letters {
		return false
	}
	return g.words <= 2*g.lines || g.lines == 1 && g.words <= 12
}

func textureOf(piece []byte) Texture { return grainOf(piece).texture() }

// grainOf reads a piece once. In JSON text an escape is what it stands for: the
// arguments of a call come that way.
func grainOf(piece []byte) grain {
	var g grain
	var w word
	begins, number := true, true      // nothing of a line yet, nothing but digits
	prev, last := rune('\n'), rune(0) // last: that was not white space
	for i := 0; i < len(piece); {
		r, size := utf8.DecodeRune(piece[i:])
		if r == '\\' {
			r, size = unescape(piece[i:])
		}
		i += size
		next := rune(0)
		if i < len(piece) {
			next = rune(piece[i])
		}
		if w.take(r) {
			g.ink++
			number = number && unicode.IsDigit(r)
			begins, prev, last = false, r, r
			continue
		}
		g.end(&w)
		switch {
		case r == '\n':
			g.lines++
			if strings.ContainsRune(".!?:…。！？", last) {
				g.ended++
			}
			begins, number = true, true
		case r == '\t' && !begins:
			g.signs++ // a column's
		case unicode.IsSpace(r):
		default:
			g.ink++
			switch {
			case next == ' ' && (begins && strings.ContainsRune("-*•+", r) || number && !begins && strings.ContainsRune(".)", r)):
				g.items++
			case begins && r == '|', prev == '<' && r == '/', prev == '/' && r == '>':
				g.elements++
			case structures(prev, r, next):
				g.signs++
			}
			begins, number, last = false, false, r
		}
		prev = r
	}
	g.end(&w)
	return g
}

// unescape reads an escape of JSON: a backslash that begins none is itself.
func unescape(b []byte) (rune, int) {
	if len(b) < 2 {
		return '\\', 1
	}
	switch b[1] {
	case 'n', 'r':
		return '\n', 2
	case 't':
		return '\t', 2
	case '"', '/':
		return rune(b[1]), 2
	case 'u':
		if len(b) >= 6 {
			return '가', 6 // a letter of whatever script
		}
	}
	return '\\', 1
}

// structures reports whether a sign belongs to structure rather than to
// sentences. Commas, colons and full stops do where no white space follows.
func structures(prev, r, next rune) bool {
	switch {
	case strings.ContainsRune("<>{}[]|=;`\\/_#^~+%$&@\"*", r):
		return true
	case strings.ContainsRune(",:.", r):
		return plain(prev) && plain(next)
	case r == '(':
		return plain(prev)
	}
	return false
}

// plain reports an ASCII letter or digit.
func plain(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// word gathers letters, digits and underscores that stand together.
type word struct {
	text   [wordRunes + 1]byte // ASCII, lower case, as far as it fits
	n      int                 // code points
	wide   int                 // letters beyond ASCII
	foul   bool                // a digit or an underscore
	varied bool                // two different letters
	upper  int                 // capital letters
	first  bool                // begins with one
}

// wordRunes is the longest word: what is longer is encoded, or a name.
const wordRunes = 24

// take adds r if it can be part of a word.
func (w *word) take(r rune) bool {
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' {
		return false
	}
	switch {
	case r == '_' || unicode.IsDigit(r):
		w.foul = true
	case r >= utf8.RuneSelf:
		w.wide++
	case r < 'a':
		w.upper++
		w.first = w.first || w.n == 0
	}
	if w.n < len(w.text) {
		c := byte(r) | 0x20 // only compared
		w.varied = w.varied || w.n > 0 && c != w.text[0]
		w.text[w.n] = c
	}
	w.n++
	return true
}

// end counts a word that is over. Scripts without spaces make long ones.
func (g *grain) end(w *word) {
	narrow := w.n - w.wide
	switch {
	case w.n == 0 || w.foul || narrow > wordRunes || !w.varied:
	case w.upper > 0 && w.upper < narrow && (w.upper > 1 || !w.first): // capitals inside: a name, encoded data
	case w.wide == 0 && (w.n < 2 || literal(string(w.text[:w.n]))):
	default:
		g.words += 1 + w.wide/2
		g.letters += w.n
		g.wide += w.wide
	}
	*w = word{}
}

// literal reports the words of data: an array of them is numbers by other
// names.
func literal(s string) bool {
	switch s {
	case "true", "false", "null", "nil", "none", "nan", "undefined":
		return true
	}
	return false
}

// floodUnit is the longest piece, in bytes, that can flood.
const floodUnit = 32

// floods reports whether a piece without words can flood: anywhere if it is made
// of pictograms, after prose if it is made of letters or marks that nothing is
// laid out with. Elsewhere letters may be encoded data.
func floods(unit []byte) (anywhere, afterProse bool) {
	if len(unit) > floodUnit {
		return false, false
	}
	for _, r := range string(unit) {
		switch {
		case pictogram(r):
			anywhere = true
		case unicode.IsLetter(r), r == '!', r == '?':
			afterProse = true
		case r != ' ' && !unicode.IsMark(r) && r != 0x200D: // what joins pictograms
			return false, false
		}
	}
	return anywhere, anywhere || afterProse
}

// pictogram leaves out what boxes, bars and shades are drawn with, and braille.
func pictogram(r rune) bool {
	return r >= 0x1F000 || r >= 0x2600 && r < 0x2800 || r >= 0x2B00 && r < 0x2C00
}

// seam is where a unit that goes round is best cut: where a line begins, else a
// word, else a code point. token reports that nothing parts it: it goes on and
// on as one token of ASCII letters and digits, which no word does.
func seam(unit []byte) (at int, token bool) {
	if i := bytes.LastIndexAny(unit, "\n"); i >= 0 {
		return i + 1, false
	}
	if i := bytes.LastIndexByte(unit, ' '); i >= 0 {
		return i + 1, false
	}
	if i := bytes.LastIndexByte(unit, '\\'); i >= 0 {
		return i, false
	}
	for i, c := range unit {
		if c >= utf8.RuneSelf && utf8.RuneStart(c) {
			return i, false
		}
	}
	for i, c := range unit {
		if !plain(rune(c)) && c != '_' {
			return i + 1, false
		}
	}
	return 0, true
}
