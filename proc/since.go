package proc

import (
	"os"
	"unicode/utf8"
)

// stretch is the bytes [from, to) of an output.
type stretch struct{ from, to int64 }

// safe reports whether what was read of s was not overwritten meanwhile, when
// the file is now laid out so.
func (s stretch) safe(now layout) bool {
	return s.to <= now.head || max(s.from, now.head) >= now.oldest()
}

// readSince is [Since] of a spool file; whole says that nothing is to come.
func readSince(f *os.File, from int64, limit int, whole bool) (out Output, next int64, err error) {
	for tries := 0; ; tries++ {
		l, err := measure(f)
		if err != nil {
			return Output{}, from, err
		}
		v := sight{layout: l, f: f, from: min(max(from, 0), l.total), to: l.total, limit: limit}
		if !whole {
			v.to -= v.unfinished()
		}
		if v.limit <= 0 {
			v.limit = int(v.to-v.from)*utf8.UTFMax + omissionRoom
		}
		out, took, err := v.look()
		if err != nil {
			return out, from, err
		}
		now, err := measure(f)
		if err != nil {
			return out, from, err
		}
		if took[0].safe(now) && took[1].safe(now) || tries == 3 {
			return out, v.to, nil
		}
	}
}

// sight is one look at the bytes [from, to) of a spool.
type sight struct {
	layout
	f        *os.File
	from, to int64
	limit    int // bytes of text, more than 0
}

// unfinished counts the last bytes that begin a character and do not end it.
func (v sight) unfinished() int64 {
	b, err := v.read(v.f, max(v.from, v.oldestOf(v.to-utf8.UTFMax+1)), v.to)
	if err != nil {
		return 0
	}
	for n := 1; n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return int64(n)
		}
	}
	return 0
}

// oldestOf is at, or the first byte after it that was not overwritten.
func (v sight) oldestOf(at int64) int64 {
	if at < v.head {
		return at
	}
	return max(at, v.oldest())
}

// look reads all of it, or a head and a tail, and says what it took.
func (v sight) look() (out Output, took [2]stretch, err error) {
	lost := stretch{max(v.head, v.from), max(v.oldest(), v.from)}
	out = Output{Bytes: v.total, Dropped: max(0, lost.to-lost.from)}
	if out.Dropped == 0 && v.to-v.from <= int64(v.limit) {
		b, err := v.read(v.f, v.from, v.to)
		if err != nil {
			return out, took, err
		}
		text, odd := mend(b)
		if len(text) <= v.limit {
			out.Text, out.Binary = text, binaryLike(odd, len(b))
			return out, [2]stretch{{v.from, v.to}}, nil
		}
	}
	half := int64(max(v.limit-omissionRoom, v.limit/2)) / 2
	took[0], took[1] = stretch{v.from, min(v.from+half, v.to)}, stretch{v.to - half, v.to}
	if out.Dropped > 0 {
		took[0].to = min(took[0].to, lost.from)
		took[1].from = max(took[1].from, lost.to)
	}
	took[1].from = max(took[1].from, took[0].to)
	head, err := v.read(v.f, took[0].from, took[0].to)
	if err != nil {
		return out, took, err
	}
	end, err := v.read(v.f, took[1].from, took[1].to)
	if err != nil {
		return out, took, err
	}
	head, end = head[:headOf(head, int(half))], end[len(end)-tailOf(end, int(half)):]
	first, odd1 := mend(head)
	last, odd2 := mend(end)
	out.Binary = binaryLike(odd1+odd2, len(head)+len(end))
	out.Text, out.Truncated = first+omission(v.to-v.from-int64(len(head)+len(end)))+last, true
	return out, took, nil
}
