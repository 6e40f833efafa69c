package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines reads what a server prints, one line at a time, and never keeps more
// than max bytes of one.
type lines struct {
	r   *bufio.Reader
	max int
	buf []byte
}

func newLines(r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// tooLong is a line that was thrown away.
type tooLong struct {
	bytes int64
	id    int64 // whose answer it was
	known bool  // id is known
}

// next gives the next line, or says what was thrown away. line is valid until
// the next call. A last line without an end is given before the error.
func (l *lines) next() (line []byte, long *tooLong, err error) {
	if l.buf = l.buf[:0]; cap(l.buf) > 1<<20 {
		l.buf = nil // a long line was an exception
	}
	var f finder
	var n int64
	for {
		part, err := l.r.ReadSlice('\n')
		n += int64(len(part))
		switch {
		case n <= int64(l.max):
			l.buf = append(l.buf, part...)
		case len(l.buf) > 0 || n == int64(len(part)):
			f.feed(l.buf)
			f.feed(part)
			l.buf = nil // let it go, it is large
		default:
			f.feed(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n > int64(l.max) {
			id, known := f.answer()
			return nil, &tooLong{bytes: n, id: id, known: known}, nil
		}
		if len(l.buf) > 0 {
			return l.buf, nil, nil // a pending error comes again
		}
		return nil, nil, err
	}
}

// finder reads the id of a message that is too long to be kept, as its bytes
// go by.
type finder struct {
	depth       int
	inText, esc bool
	value       bool // behind the colon of a field of the outermost object
	word        []byte
	key, id     string
	method      bool
}

// mostWord is how many bytes of a name or a value are looked at.
const mostWord = 32

func (f *finder) feed(p []byte) {
	for len(p) > 0 {
		if f.inText && !f.esc && (f.depth != 1 || len(f.word) >= mostWord) {
			i := bytes.IndexAny(p, `"\`) // nothing else matters in there
			if i < 0 {
				return
			}
			p = p[i:]
		}
		f.step(p[0])
		p = p[1:]
	}
}

func (f *finder) step(b byte) {
	if f.inText {
		switch {
		case f.esc:
			f.esc = false
		case b == '\\':
			f.esc = true
		case b == '"':
			if f.inText = false; f.depth == 1 && !f.value {
				f.key = string(f.word)
				f.method = f.method || f.key == "method"
			}
		default:
			f.keep(b)
		}
		return
	}
	switch b {
	case '"':
		f.inText, f.word = true, f.word[:0]
	case '{', '[':
		f.depth++
	case '}', ']':
		f.end()
		f.depth--
	case ':':
		if f.depth == 1 {
			f.value, f.word = true, f.word[:0]
		}
	case ',':
		if f.end(); f.depth == 1 {
			f.value = false
		}
	case ' ', '\t', '\r', '\n':
	default:
		f.keep(b)
	}
}

func (f *finder) keep(b byte) {
	if f.depth == 1 && len(f.word) < mostWord {
		f.word = append(f.word, b)
	}
}

func (f *finder) end() {
	if f.depth == 1 && f.value && f.key == "id" && f.id == "" {
		f.id = string(f.word)
	}
}

// answer is the id, if what went by was an answer to one of our requests.
func (f *finder) answer() (id int64, ok bool) {
	id, err := strconv.ParseInt(f.id, 10, 64)
	return id, err == nil && !f.method
}

// decode makes messages of a line; none means that it was no message. A
// message behind noise on the same line counts if it is an answer.
func decode(line []byte) []jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if line[0] == '[' {
		var raws []json.RawMessage
		if json.Unmarshal(line, &raws) != nil {
			return nil
		}
		var out []jsonrpc.Message
		for _, raw := range raws {
			if msg, err := jsonrpc.DecodeMessage(raw); err == nil {
				out = append(out, msg)
			}
		}
		return out
	}
	if line[0] == '{' && json.Valid(line) {
		if msg, err := jsonrpc.DecodeMessage(line); err == nil {
			return []jsonrpc.Message{msg}
		}
		return nil
	}
	rest := line
	for range mostLooks {
		i := bytes.IndexByte(rest[1:], '{')
		if i < 0 || line[len(line)-1] != '}' {
			return nil
		}
		rest = rest[1+i:]
		if !json.Valid(rest) {
			continue
		}
		if msg, err := jsonrpc.DecodeMessage(rest); err == nil {
			if res, ok := msg.(*jsonrpc.Response); ok {
				return []jsonrpc.Message{res}
			}
		}
		return nil
	}
	return nil
}

// mostLooks is how often a message is looked for on a line of noise.
const mostLooks = 16
