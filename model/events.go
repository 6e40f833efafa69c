package model

import (
	"bytes"
	"errors"
	"io"
)

var errLongEvent = errors.New("event too long")

// events reads server-sent events and keeps their data. It takes LF, CRLF and CR
// as line ends, drops a byte order mark, passes over comments and other
// fields, and holds at most max bytes of one event.
type events struct {
	r       io.Reader
	max     int
	buf     []byte
	from    int // start of the unread part
	to      int // its end
	looked  int // no line end before here
	afterCR bool
	begun   bool
	data    []byte
	has     bool   // data holds at least one line
	fault   bool   // the event says by its name that it is an error
	found   bool   // an event was returned
	head    []byte // the body's first bytes, until an event is found
	err     error
}

const (
	readSize = 8 << 10
	headSize = 2 << 10
)

// next returns the data of the next event, valid until the call after. A clean
// end gives what is pending first and then io.EOF; other errors give up what
// is pending. [DONE] does not wait for its empty line.
func (s *events) next() ([]byte, error) {
	s.data, s.has, s.fault = s.data[:0], false, false
	for {
		line, err := s.line()
		if err != nil {
			if err == io.EOF && s.has {
				s.found = true
				return s.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if s.has {
				s.found, s.head = true, nil
				return s.data, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
		case "error": // llama.cpp reports failures in a field of its own
			s.fault = true
		case "event":
			s.fault = string(value) == "error"
			continue
		default:
			continue
		}
		if len(s.data)+len(value) >= s.max {
			return nil, errLongEvent
		}
		if s.has {
			s.data = append(s.data, '\n')
		}
		s.data, s.has = append(s.data, value...), true
		if string(s.data) == "[DONE]" {
			s.found = true
			return s.data, nil
		}
	}
}

// line returns the next line without its end, valid until the next call.
func (s *events) line() ([]byte, error) {
	for {
		if s.afterCR && s.from < s.to {
			if s.buf[s.from] == '\n' {
				s.from++
			}
			s.afterCR = false
		}
		s.looked = max(s.looked, s.from)
		if end := lineEnd(s.buf[s.looked:s.to]); end >= 0 {
			end += s.looked
			line := s.buf[s.from:end]
			s.afterCR = s.buf[end] == '\r'
			s.from = end + 1
			return line, nil
		}
		s.looked = s.to
		if s.err != nil {
			if s.err == io.EOF && s.from < s.to {
				line := s.buf[s.from:s.to]
				s.from = s.to
				return line, nil
			}
			return nil, s.err
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

func lineEnd(b []byte) int {
	nl := bytes.IndexByte(b, '\n')
	if nl >= 0 {
		b = b[:nl]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return nl
}

// fill reads once.
func (s *events) fill() error {
	if s.to-s.from >= s.max {
		return errLongEvent
	}
	if s.from > 0 {
		n := copy(s.buf, s.buf[s.from:s.to])
		s.looked -= s.from
		s.from, s.to = 0, n
	}
	if len(s.buf)-s.to < readSize {
		s.buf = append(s.buf, make([]byte, max(readSize, len(s.buf)))...)
	}
	n, err := s.r.Read(s.buf[s.to:])
	s.to += n
	s.err = err
	if !s.found && len(s.head) < headSize {
		s.head = append(s.head, s.buf[s.to-n:s.to]...)
	}
	if !s.begun && (s.to >= 3 || err != nil) {
		s.begun = true
		if bytes.HasPrefix(s.buf[:s.to], []byte("\xEF\xBB\xBF")) {
			s.from = 3
		}
	}
	return nil
}
