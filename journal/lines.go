package journal

import (
	"bytes"
	"errors"
	"io"
)

const window = 1 << 18 // bytes read at once

// line is one line of a journal; b shares the reader's memory and is valid
// until its next call.
type line struct {
	off, end int64 // end is behind the newline
	b        []byte
	bare     bool // the file ends without a newline
	long     bool // longer than MaxRecord; b holds its beginning only
}

// lines reads a source line by line with bounded memory.
type lines struct {
	src  io.ReaderAt
	size int64
	max  int
	buf  []byte
	at   int64 // offset in src of buf[0]
	r, w int   // unread part of buf
	err  error // of the source, end of file not counted
}

func newLines(src io.ReaderAt, size, at int64) lines {
	return lines{src: src, size: size, max: MaxRecord, at: at}
}

// seek goes on reading at off.
func (l *lines) seek(off int64) {
	if off >= l.at && off <= l.at+int64(l.w) {
		l.r = int(off - l.at)
		return
	}
	l.at, l.r, l.w = off, 0, 0
}

// next returns the next line; ok is false at the end.
func (l *lines) next() (ln line, ok bool) {
	seen := 0 // unread bytes known to hold no newline
	for {
		if i := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); i >= 0 {
			return l.take(seen+i, 1), true
		}
		seen = l.w - l.r
		if seen > l.max {
			return l.skip(), true
		}
		if !l.fill() {
			if l.w == l.r {
				return line{}, false
			}
			return l.take(l.w-l.r, 0), true
		}
	}
}

func (l *lines) take(n, newline int) line {
	ln := line{off: l.at + int64(l.r), b: l.buf[l.r : l.r+n], bare: newline == 0, long: n > l.max}
	l.r += n + newline
	ln.end = l.at + int64(l.r)
	return ln
}

// fill reads more behind the unread part; false at the end of the source.
func (l *lines) fill() bool {
	if l.err != nil || l.at+int64(l.w) >= l.size {
		return false
	}
	if l.r > 0 {
		copy(l.buf, l.buf[l.r:l.w])
		l.at += int64(l.r)
		l.w -= l.r
		l.r = 0
	}
	if want := min(int64(window), l.size-l.at-int64(l.w)); len(l.buf)-l.w < int(want) {
		grown := make([]byte, max(int(min(window, l.size-l.at)), min(2*len(l.buf), l.max+window)))
		copy(grown, l.buf[:l.w])
		l.buf = grown
	}
	room := l.buf[l.w:min(int64(len(l.buf)), l.size-l.at)]
	n, err := l.src.ReadAt(room, l.at+int64(l.w))
	l.w += n
	if err != nil && n < len(room) {
		l.size = l.at + int64(l.w) // what cannot be read is the end
		if !errors.Is(err, io.EOF) {
			l.err = err
		}
	}
	return n > 0
}

// skip passes the rest of a line that is too long without keeping it.
func (l *lines) skip() line {
	ln := line{off: l.at + int64(l.r), long: true, bare: true}
	head := bytes.Clone(l.buf[l.r:min(l.r+256, l.w)])
	for {
		l.r = l.w
		if !l.fill() {
			break
		}
		if i := bytes.IndexByte(l.buf[l.r:l.w], '\n'); i >= 0 {
			l.r += i + 1
			ln.bare = false
			break
		}
	}
	ln.end, ln.b = l.at+int64(l.r), head
	return ln
}
