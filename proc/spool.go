package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A spool file keeps the head and the tail of what a command printed in a
// bounded number of bytes:
//
//	0            head            limit       limit+64
//	├── head ────┼── ring ───────┼─ trailer ─┤
//
// Byte n of the output stands at n while n < head, else at
// head + (n-head) mod (limit-head). As long as nothing was overwritten the
// file is the output, byte for byte, and has no trailer; afterwards the trailer
// holds the counters that unroll the ring. A writer that dies between ring and
// trailer makes the oldest bytes of the tail doubtful, never the newest by more
// than one write.
const (
	defaultLimit = 8 << 20
	minLimit     = 4 << 10
	trailerSize  = 64
)

var trailerMagic = []byte("ripcord-spool-1\n")

// spool writes a spool file. It belongs to one goroutine.
type spool struct {
	f           *os.File
	head, limit int64
	total       int64 // produced
	lost        int64 // produced after a write failed
	err         error // the first failure; nothing is written afterwards
}

func newSpool(f *os.File, limit int64) *spool {
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = max(limit, minLimit)
	return &spool{f: f, head: limit / 2, limit: limit}
}

// write adds p. It never fails: what cannot be stored is counted.
func (s *spool) write(p []byte) {
	if s.err != nil {
		s.total += int64(len(p))
		s.lost += int64(len(p))
		return
	}
	for len(p) > 0 && s.err == nil {
		at := s.place(s.total)
		end := s.limit
		if at < s.head {
			end = s.head
		}
		n := int(min(int64(len(p)), end-at))
		var done int
		done, s.err = s.f.WriteAt(p[:n], at)
		s.total += int64(done)
		p = p[done:]
	}
	if s.err == nil && s.total > s.limit {
		s.err = s.writeTrailer()
	}
	s.total += int64(len(p))
	s.lost += int64(len(p))
}

func (s *spool) place(n int64) int64 { return place(n, s.head, s.limit) }

func place(n, head, limit int64) int64 {
	if n < head {
		return n
	}
	return head + (n-head)%(limit-head)
}

func (s *spool) writeTrailer() error {
	var t [trailerSize]byte
	copy(t[:], trailerMagic)
	binary.LittleEndian.PutUint64(t[16:], uint64(s.total))
	binary.LittleEndian.PutUint64(t[24:], uint64(s.head))
	binary.LittleEndian.PutUint64(t[32:], uint64(s.limit))
	_, err := s.f.WriteAt(t[:], s.limit)
	return err
}

// dropped counts the bytes that are kept nowhere.
func (s *spool) dropped() int64 { return s.lost + max(0, s.total-s.lost-s.limit) }

// layout is how a spool file's bytes are to be read.
type layout struct{ total, head, limit int64 }

func layoutOf(f io.ReaderAt, size int64) layout {
	plain := layout{total: size, head: size, limit: size + 1}
	if size <= trailerSize {
		return plain
	}
	var t [trailerSize]byte
	if _, err := f.ReadAt(t[:], size-trailerSize); err != nil || !bytes.HasPrefix(t[:], trailerMagic) {
		return plain
	}
	l := layout{
		total: int64(binary.LittleEndian.Uint64(t[16:])),
		head:  int64(binary.LittleEndian.Uint64(t[24:])),
		limit: int64(binary.LittleEndian.Uint64(t[32:])),
	}
	if l.limit != size-trailerSize || l.head < 0 || l.head >= l.limit || l.total < l.limit {
		return plain
	}
	return l
}

// oldest is the first byte after the head that was not overwritten.
func (l layout) oldest() int64 { return max(l.head, l.total-(l.limit-l.head)) }

// read returns the output's bytes [from, to), which must not span what was
// overwritten.
func (l layout) read(f io.ReaderAt, from, to int64) ([]byte, error) {
	b := make([]byte, 0, max(0, to-from))
	for from < to {
		at := place(from, l.head, l.limit)
		end := l.limit
		if at < l.head {
			end = l.head
		}
		n := min(to-from, end-at)
		part := b[len(b) : len(b)+int(n)]
		got, err := f.ReadAt(part, at)
		b = b[:len(b)+got]
		if got < len(part) {
			if errors.Is(err, io.EOF) {
				return b, nil
			}
			return b, err
		}
		from += n
	}
	return b, nil
}

// readOutput makes an [Output] of a spool file: head and tail, within limit
// bytes of text (0: all that was kept).
func readOutput(f *os.File, limit int) (Output, error) {
	for tries := 0; ; tries++ {
		l, err := measure(f)
		if err != nil {
			return Output{}, err
		}
		out, tail, err := l.render(f, limit)
		if err != nil {
			return out, err
		}
		// The writer may have gone round the ring while we read.
		now, err := measure(f)
		if err != nil {
			return out, err
		}
		if whole := l.total <= now.head || tail >= now.oldest(); whole || tries == 3 {
			return out, nil
		}
	}
}

// withSpool opens the spool unless it is open.
func withSpool(open *os.File, spool string, look func(*os.File) (Output, int64, error)) (Output, int64, error) {
	if open != nil {
		return look(open)
	}
	f, err := os.Open(spool + ".out")
	if err != nil {
		return Output{}, 0, err
	}
	defer f.Close()
	out, next, err := look(f)
	out.File = f.Name()
	return out, next, err
}

func printedIn(f *os.File) (out Output, next int64, err error) {
	l, err := measure(f)
	return Output{Bytes: l.total}, l.total, err
}

func measure(f *os.File) (layout, error) {
	info, err := f.Stat()
	if err != nil {
		return layout{}, err
	}
	return layoutOf(f, info.Size()), nil
}

// render reads head and tail; tail is the first byte that it took of the tail.
func (l layout) render(f io.ReaderAt, limit int) (out Output, tail int64, err error) {
	out.Bytes, out.Dropped = l.total, max(0, l.oldest()-l.head)
	kept := l.total - out.Dropped
	if limit <= 0 {
		limit = int(kept) + omissionRoom
	}
	if out.Dropped == 0 && l.total <= int64(limit) {
		b, err := l.read(f, 0, l.total)
		if err != nil {
			return out, 0, err
		}
		text, odd := mend(b)
		if len(text) <= limit {
			out.Text, out.Binary = text, binaryLike(odd, len(b))
			return out, 0, nil
		}
	}
	budget := int64(max(limit-omissionRoom, limit/2)) / 2
	head, err := l.read(f, 0, min(budget, l.head, l.total))
	if err != nil {
		return out, 0, err
	}
	head = head[:headOf(head, int(budget))]
	tail = max(l.total-budget, l.oldest(), int64(len(head)))
	if out.Dropped == 0 {
		tail = max(l.total-budget, int64(len(head)))
	}
	end, err := l.read(f, tail, l.total)
	if err != nil {
		return out, tail, err
	}
	end = end[len(end)-tailOf(end, int(budget)):]
	first, odd1 := mend(head)
	last, odd2 := mend(end)
	out.Binary = binaryLike(odd1+odd2, len(head)+len(end))
	out.Text, out.Truncated = first+last, false
	if omitted := l.total - int64(len(head)) - int64(len(end)); omitted > 0 {
		out.Text, out.Truncated = first+omission(omitted)+last, true
	}
	return out, tail, nil
}

// binaryLike reports whether so many of n bytes are not text that a person
// would not want to see them. One stray Latin-1 letter is not enough.
func binaryLike(odd, n int) bool { return odd > 0 && odd*20 >= n }

// ReadOutput returns what the spool at base path spool holds, head and tail
// within limit bytes of text (0: all that was kept). It may be called while the
// command runs, and after a crash by anyone.
func ReadOutput(spool string, limit int) (Output, error) {
	name := spool + ".out"
	f, err := os.Open(name)
	if err != nil {
		return Output{}, fmt.Errorf("read captured output: %w", err)
	}
	defer f.Close()
	out, err := readOutput(f, limit)
	out.File = name
	if err != nil {
		return out, fmt.Errorf("read captured output: %w", err)
	}
	return out, nil
}
