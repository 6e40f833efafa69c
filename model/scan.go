package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// ErrSyntax says that what was scanned is no JSON.
var ErrSyntax = errors.New("not JSON")

// Scan walks one JSON value without building it: what drivers read the events
// of the hot path with. It is a little more lenient than the grammar (bytes that
// are not UTF-8, control characters in strings); what is cut short or nested
// wrongly is [ErrSyntax]. Each method passes what it reads.
type Scan struct {
	b     []byte
	i     int
	depth int
}

// NewScan returns a scan of one value. The bytes that it hands out are b's.
func NewScan(b []byte) *Scan { return &Scan{b: b} }

// End says whether nothing but space is left.
func (s *Scan) End() bool {
	s.space()
	return s.i == len(s.b)
}

const maxDepth = 200

func (s *Scan) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// Peek returns the next byte that is not space, zero at the end.
func (s *Scan) Peek() byte {
	s.space()
	if s.i >= len(s.b) {
		return 0
	}
	return s.b[s.i]
}

func (s *Scan) eat(c byte) bool {
	if s.Peek() == c {
		s.i++
		return true
	}
	return false
}

// Object calls field for each key, which must pass the value.
func (s *Scan) Object(field func(key []byte) error) error {
	return s.list('{', '}', func() error {
		key, err := s.rawString()
		if err != nil {
			return err
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			if key, err = unescape(nil, key); err != nil {
				return err
			}
		}
		if !s.eat(':') {
			return ErrSyntax
		}
		return field(key)
	})
}

// Array calls item for each value, which must pass it.
func (s *Scan) Array(item func() error) error { return s.list('[', ']', item) }

func (s *Scan) list(open, shut byte, item func() error) error {
	if !s.eat(open) || s.depth > maxDepth {
		return ErrSyntax
	}
	if s.eat(shut) {
		return nil
	}
	s.depth++
	for {
		if err := item(); err != nil {
			return err
		}
		if s.eat(shut) {
			s.depth--
			return nil
		}
		if !s.eat(',') {
			return ErrSyntax
		}
	}
}

// rawString passes a string and returns what stands between its quotes.
func (s *Scan) rawString() ([]byte, error) {
	if !s.eat('"') {
		return nil, ErrSyntax
	}
	from := s.i
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			return nil, ErrSyntax
		}
		s.i += n + 1
		slashes := 0
		for k := s.i - 2; k >= from && s.b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return s.b[from : s.i-1], nil
		}
	}
}

// Text appends a string's value to dst; any other value is passed and gives
// nothing.
func (s *Scan) Text(dst []byte) ([]byte, error) {
	if s.Peek() != '"' {
		return dst, s.Skip()
	}
	raw, err := s.rawString()
	if err != nil {
		return dst, err
	}
	return unescape(dst, raw)
}

// Word returns a short string's value, empty for any other value.
func (s *Scan) Word() (string, error) {
	b, err := s.Text(nil)
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), err
}

// Count returns a whole number, ok false for any other value.
func (s *Scan) Count() (n int64, ok bool, err error) {
	raw, err := s.Raw()
	if err != nil {
		return 0, false, err
	}
	n, perr := strconv.ParseInt(string(raw), 10, 64)
	if perr != nil {
		f, ferr := strconv.ParseFloat(string(raw), 64)
		if ferr != nil || f != float64(int64(f)) {
			return 0, false, nil
		}
		n = int64(f)
	}
	return n, true, nil
}

// Raw passes a value and returns its bytes.
func (s *Scan) Raw() ([]byte, error) {
	s.space()
	from := s.i
	err := s.Skip()
	return s.b[from:s.i], err
}

// Skip passes a value.
func (s *Scan) Skip() error {
	switch c := s.Peek(); c {
	case '"':
		_, err := s.rawString()
		return err
	case '{':
		return s.Object(func([]byte) error { return s.Skip() })
	case '[':
		return s.Array(s.Skip)
	}
	from := s.i
	for s.i < len(s.b) && isWord(s.b[s.i]) {
		s.i++
	}
	if !json.Valid(s.b[from:s.i]) {
		return ErrSyntax
	}
	return nil
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// unescape appends the value of a raw string. Half a surrogate pair is appended
// in its three-byte form, see [Runes].
func unescape(dst, raw []byte) ([]byte, error) {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...), nil
		}
		dst = append(dst, raw[:n]...)
		raw = raw[n+1:]
		if len(raw) == 0 {
			return dst, ErrSyntax
		}
		c := raw[0]
		raw = raw[1:]
		if c != 'u' {
			const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
			k := bytes.IndexByte([]byte(from), c)
			if k < 0 {
				return dst, ErrSyntax
			}
			dst = append(dst, to[k])
			continue
		}
		unit, ok := hex4(raw)
		if !ok {
			return dst, ErrSyntax
		}
		raw = raw[4:]
		if unit >= 0xD800 && unit < 0xDC00 && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
			if low, ok := hex4(raw[2:]); ok && low >= 0xDC00 && low < 0xE000 {
				dst = utf8.AppendRune(dst, (unit-0xD800)<<10+(low-0xDC00)+0x10000)
				raw = raw[6:]
				continue
			}
		}
		if unit >= 0xD800 && unit < 0xE000 {
			dst = append(dst, 0xED, 0x80|byte(unit>>6&0x3F), 0x80|byte(unit&0x3F))
			continue
		}
		dst = utf8.AppendRune(dst, unit)
	}
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var n rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | rune(c)
	}
	return n, true
}
