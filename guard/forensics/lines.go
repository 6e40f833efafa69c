package forensics

import (
	"bufio"
	"bytes"
	"io"
)

// source reads a file once, line by line or piece by piece.
type source struct {
	in    *bufio.Reader
	buf   []byte
	line  int64 // number of the line given last, from 1
	bytes int64
}

const headBytes = 1 << 20 // what the kind is told from

func newSource(r io.Reader) *source { return &source{in: bufio.NewReaderSize(r, headBytes)} }

// head returns the file's beginning without reading past it.
func (s *source) head() ([]byte, error) {
	b, err := s.in.Peek(headBytes)
	if err == io.EOF || err == bufio.ErrBufferFull {
		err = nil
	}
	return b, err
}

// next returns the next line without its newline; it is valid until the next
// call. long says that it had more than [MaxLine] bytes and is not given, bare
// that the file ends without a newline. The error is io.EOF at the end.
func (s *source) next() (line []byte, long, bare bool, err error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		s.bytes += int64(len(part))
		if len(s.buf)+len(part) > MaxLine+1 {
			long = true
			s.buf = s.buf[:0]
		}
		if !long {
			s.buf = append(s.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(s.buf) == 0 && !long:
			return nil, false, false, io.EOF
		case err != nil && err != io.EOF:
			return nil, false, false, err
		}
		s.line++
		bare = err == io.EOF
		return bytes.TrimSuffix(bytes.TrimSuffix(s.buf, []byte("\n")), []byte("\r")), long, bare, nil
	}
}

// piece returns the next bytes as they come; io.EOF at the end.
func (s *source) piece(buf []byte) (int, error) {
	n, err := s.in.Read(buf)
	s.bytes += int64(n)
	s.line += int64(bytes.Count(buf[:n], []byte("\n")))
	return n, err
}
