package event

import "fmt"

// scanner walks the top-level fields of one JSON object without decoding the
// values, so that a journal of any size is scanned at the speed of its sums.
type scanner struct {
	b   []byte
	i   int // next byte
	end int // end of the field last returned
}

func (s *scanner) eat(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// field returns the next key and the raw bytes of its value; more is false
// after the object's last field.
func (s *scanner) field() (key string, val []byte, more bool, err error) {
	k := s.i
	if !s.str() {
		return "", nil, false, fmt.Errorf("%w: no key at byte %d", ErrSyntax, k)
	}
	key = string(s.b[k+1 : s.i-1])
	if !s.eat(':') {
		return "", nil, false, fmt.Errorf("%w: no colon at byte %d", ErrSyntax, s.i)
	}
	v := s.i
	if !s.value() {
		return "", nil, false, fmt.Errorf("%w: no value at byte %d", ErrSyntax, v)
	}
	val, s.end = s.b[v:s.i], s.i
	switch {
	case s.eat(','):
		return key, val, true, nil
	case s.eat('}'):
		return key, val, false, nil
	}
	return "", nil, false, fmt.Errorf("%w: object cut at byte %d", ErrSyntax, s.i)
}

// str passes one string, quotes included.
func (s *scanner) str() bool {
	if !s.eat('"') {
		return false
	}
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '\\':
			s.i += 2
		case '"':
			s.i++
			return true
		default:
			s.i++
		}
	}
	return false
}

// value passes one value. Numbers and words are passed to the next delimiter;
// whether they are well-formed is found when they are decoded.
func (s *scanner) value() bool {
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"':
		return s.str()
	case '{', '[':
		return s.nested()
	}
	from := s.i
	for s.i < len(s.b) && s.b[s.i] != ',' && s.b[s.i] != '}' && s.b[s.i] != ']' {
		s.i++
	}
	return s.i > from
}

func (s *scanner) nested() bool {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if !s.str() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return true
		}
	}
	return false
}
