package forensics

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Bounds of what is held of one message, whatever a file says.
const (
	maxParts = 1 << 16 // of one line: a part takes a hundred times the bytes of "{}"
	maxWords = MaxLine // bytes of text, or of calls, of one message; a stream that long was found by every guard before
)

// parts reads a list, part by part, so that a long line of empty ones is not
// taken apart as a whole.
func parts[T any](raw json.RawMessage, field string) (out []T, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if first, terr := dec.Token(); terr != nil || first != json.Delim('[') {
		if err := json.Unmarshal(raw, &out); err != nil {
			return nil, inField(err, field)
		}
		return out, nil
	}
	for dec.More() {
		if len(out) == maxParts {
			return nil, fmt.Errorf("its %s has more than %d parts", field, maxParts)
		}
		var part T
		if err := dec.Decode(&part); err != nil {
			return nil, inField(err, field)
		}
		out = append(out, part)
	}
	return out, nil
}

// words gathers a message's text as far as it is held. The zero value is empty.
type words struct{ b []byte }

func (w *words) add(text string) { w.b = append(w.b, text[:min(len(text), maxWords-len(w.b))]...) }

func (w *words) String() string { return string(w.b) }

// streams gathers a message's calls: of too many the first are let go, since
// what is cut is the last.
type streams struct {
	calls []streamed
	bytes int
}

func (s *streams) add(c streamed) {
	s.calls, s.bytes = append(s.calls, c), s.bytes+len(c.args)+len(c.text)
	for len(s.calls) > 1 && (len(s.calls) > maxStep || s.bytes > maxWords) {
		s.bytes -= len(s.calls[0].args) + len(s.calls[0].text)
		s.calls[0] = streamed{}
		s.calls = s.calls[1:]
	}
}
