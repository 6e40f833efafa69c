package guard

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// LoopLimits are the numbers of the stream loop guard; zero fields get the
// defaults.
type LoopLimits struct {
	Window int // bytes of the tail that is looked at, 4 to 512 KiB; 0 means 64 KiB

	// How many bytes must stand again and again before it is degenerate, by
	// what is repeated; 0 means the default. docs/notes/0016 has the reasons.
	Words  int // wording: 2 KiB at least, see [Wording]
	Code   int // words between signs, a statement or a record: 16 KiB
	Markup int // elements and table rows: 32 KiB
	Layout int // nothing but signs, digits, white space or long tokens: 48 KiB
}

// Filled returns l with its defaults.
func (l LoopLimits) Filled() LoopLimits {
	fill := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	fill(&l.Window, 64<<10)
	fill(&l.Words, 2<<10)
	fill(&l.Code, 16<<10)
	fill(&l.Markup, 32<<10)
	fill(&l.Layout, 48<<10)
	return l
}

// need is how many bytes of exact repetition, the first copy included, are
// degenerate for a unit of that length and texture. It is never less than what
// wording needs, because that is where a run is judged first.
func (l LoopLimits) need(unit int, t Texture) int {
	words := max(4*unit, min(7*unit, 4*l.Words), l.Words)
	switch t {
	case Wording, Flood:
		return words
	case Code:
		return max(words, 20*unit, l.Code)
	case Markup:
		return max(words, 40*unit, l.Markup)
	case Layout:
		return max(words, l.Layout)
	}
	panic("guard: no texture " + string(t))
}

// Repeat is what a stream fell into.
type Repeat struct {
	Period int    `json:"period"` // code points
	Count  int    `json:"count"`  // times that it stands in a row
	Sample string `json:"sample"` // one period, shortened
	At     int64  `json:"at"`     // bytes of the stream when it was found
}

// Loop watches one channel of a stream for degenerate repetition (GRD-05).
//
// It follows one distance at a time: how long has each byte equalled the one
// that far back. A distance comes from a table that says where the last 16
// bytes stood before; it is kept until a byte differs, then another is looked
// up. A run that is long enough is judged by what it repeats.
//
//	searching --16 bytes seen before--> following --long enough--> judged --needs more--> following
//	    ^                                   |                         |
//	    +----------- a byte differs --------+                         +--> found (the end)
//
// Work and memory for a byte are constant: a run is judged once, after at
// least four times the bytes that the judgement reads. A Loop belongs to one
// goroutine. It takes 6 KiB at the first byte and doubles that as the stream gets
// longer, up to one and a half times its window; it is dropped with the stream.
type Loop struct {
	limits LoopLimits

	ring  []byte   // the last bytes; a power of two
	seen  []uint32 // where 16 bytes ended, for every eighth place, by their hash
	shift uint     // what makes an index and a tag of a hash
	unit  []byte   // a period, while it is judged

	n             int64  // bytes so far
	recent, older uint64 // the last 16 bytes

	period  uint32  // the distance that is followed; 0 while searching
	run     int     // bytes that equal the one a period back
	next    int     // run at which decide is asked
	texture Texture // of the run's unit, once judged

	longest int // bytes of the longest exact repetition before this run
	found   bool
}

const (
	gram      = 16 // bytes that are looked up: fewer stand by chance in any prose
	stride    = 8  // one place in so many is remembered
	tagBits   = 16 // of a remembered place that tell its bytes from others
	minWindow = 4 << 10
	maxWindow = stride << tagBits // what the other bits of a place can name

	// Odd numbers without a pattern: the high bits of the products depend on all
	// of the bytes.
	mixRecent = 0x9E3779B97F4A7C15
	mixOlder  = 0xC2B2AE3D27D4EB4F
)

// NewLoop returns a guard for one channel.
func NewLoop(l LoopLimits) *Loop {
	l = l.Filled()
	l.Window = 1 << bits.Len(uint(min(max(l.Window, minWindow), maxWindow)-1))
	return &Loop{limits: l}
}

// Feed takes the next piece of the stream. It returns true once, when
// repetition is found; after that nothing more is looked at. Where the pieces
// are cut, in a code point even, changes nothing.
func (l *Loop) Feed(text string) (Repeat, bool) {
	if l.found || text == "" {
		return Repeat{}, false
	}
	for text != "" {
		piece := text
		if len(l.ring) < l.limits.Window { // a short answer needs little
			if l.n == int64(len(l.ring)) {
				l.grow()
			}
			piece = text[:min(len(text), len(l.ring)-int(l.n))]
		}
		if l.period == 0 {
			text = text[l.search(piece):]
		} else if text = text[l.follow(piece):]; l.found {
			return l.repeat(), true
		}
	}
	return Repeat{}, false
}

// search takes bytes until the last 16 stood before, and returns how many. From
// there on a distance is followed.
func (l *Loop) search(text string) int {
	ring, seen, mask, shift := l.ring, l.seen, uint32(len(l.ring)-1), l.shift
	pos, recent, older := uint32(l.n), l.recent, l.older
	longest := uint32(min(len(ring)-1, l.limits.Window/2))
	i := 0
	for i < len(text) {
		c := text[i]
		i++
		ring[pos&mask] = c
		older = older<<8 | recent>>56
		recent = recent<<8 | uint64(c)
		sum := (recent*mixRecent + older*mixOlder) >> (shift & 63)
		place := seen[sum>>tagBits]
		if pos%stride == 0 {
			seen[sum>>tagBits] = pos/stride<<tagBits | uint32(uint16(sum))
		}
		pos++
		if uint16(place) != uint16(sum) {
			continue
		}
		// One byte ahead spares most of the distances that would not last; where
		// there is none yet, following finds the same.
		back := (pos - 1 - place>>tagBits*stride) & (maxWindow - 1)
		if back-1 < longest && ring[(pos-1-back)&mask] == c && (i == len(text) || ring[(pos-back)&mask] == text[i]) {
			l.period, l.run, l.next, l.texture = back, 0, gram, ""
			break
		}
	}
	l.n += int64(i)
	l.recent, l.older = recent, older
	return i
}

// follow takes bytes as long as they equal those a period back, and returns how
// many. It ends before a byte that differs, or where the run is found degenerate.
func (l *Loop) follow(text string) int {
	ring, mask, shift := l.ring, uint32(len(l.ring)-1), l.shift
	pos, recent, older := uint32(l.n), l.recent, l.older
	period, run, next := l.period, l.run, l.next
	i := 0
	for i < len(text) {
		c := text[i]
		if ring[(pos-period)&mask] != c {
			if run >= gram {
				l.longest = max(l.longest, run+int(period))
			}
			period = 0
			break
		}
		i++
		ring[pos&mask] = c
		older = older<<8 | recent>>56
		recent = recent<<8 | uint64(c)
		if pos%stride == 0 {
			sum := (recent*mixRecent + older*mixOlder) >> (shift & 63)
			l.seen[sum>>tagBits] = pos/stride<<tagBits | uint32(uint16(sum))
		}
		pos++
		if run++; run == next {
			l.period, l.run = period, run
			l.decide(pos)
			period, run, next = l.period, l.run, l.next
			if l.found {
				break
			}
		}
	}
	l.n += int64(i)
	l.period, l.run, l.next = period, run, next
	l.recent, l.older = recent, older
	return i
}

// Longest tells the most bytes that stood in exact repetition so far, the first
// copy included: what was measured where nothing was found.
func (l *Loop) Longest() int {
	if l.period == 0 || l.run < gram {
		return l.longest
	}
	return max(l.longest, l.run+int(l.period))
}

// grow makes the memory, or doubles it before the first byte would be lost: a
// window, and a table with a place for each of its bytes that is remembered.
func (l *Loop) grow() {
	old := l.ring
	size := max(2*len(old), minWindow)
	l.ring = make([]byte, size)
	l.seen = make([]uint32, size/stride)
	l.shift = uint(64 - tagBits - bits.Len(uint(len(l.seen)-1)))
	copy(l.ring, old)
	var recent, older uint64
	for pos, c := range old {
		older = older<<8 | recent>>56
		recent = recent<<8 | uint64(c)
		if pos%stride == 0 {
			sum := (recent*mixRecent + older*mixOlder) >> l.shift
			l.seen[sum>>tagBits] = uint32(pos)/stride<<tagBits | uint32(uint16(sum))
		}
	}
}

// decide is asked when a run has come to l.next and ends before end. It says how
// long wording may repeat; there it judges the run: it is degenerate, or it may
// get longer.
func (l *Loop) decide(end uint32) {
	if l.texture == "" {
		if words := l.limits.need(int(l.period), Wording) - int(l.period); l.run < words {
			l.next = words
			return
		}
		unit := l.primitive(end, int(l.period))
		l.run += int(l.period) - unit
		l.period = uint32(unit)
		b, token := l.whole(end)
		l.texture = textureOf(b)
		if token {
			l.texture = Layout
		}
		anywhere, afterProse := floods(b)
		if l.texture == Layout && (anywhere || afterProse && textureOf(l.before(end)) == Wording) {
			l.texture = Flood
		}
	}
	l.next = l.limits.need(int(l.period), l.texture) - int(l.period)
	l.found = l.run >= l.next
}

// primitive is the unit of a run. The table remembers every eighth place, so a
// distance may be up to eight units.
func (l *Loop) primitive(end uint32, period int) int {
	b := l.tail(end, period)
	for times := stride; times > 1; times-- {
		unit := len(b) / times
		if len(b)%times == 0 && string(b[unit:]) == string(b[:len(b)-unit]) {
			b, times = b[:unit], stride+1
		}
	}
	return len(b)
}

// As many bytes before a run say whether it broke into prose.
const (
	context      = 256
	contextLeast = 40
)

// before is what stands before the run. The first bytes of a run are not
// counted, they were needed to find it: they are stepped over here.
func (l *Loop) before(end uint32) []byte {
	mask, period := uint32(len(l.ring)-1), l.period
	start := end - uint32(l.run) - period
	for range gram + stride {
		if l.ring[(start-1)&mask] != l.ring[(start-1+period)&mask] {
			break
		}
		start--
	}
	n := min(context, int(start))
	if start > end || n < contextLeast || int(end-start)+n > len(l.ring) {
		return nil
	}
	return l.tail(start, n)
}

// tail copies the n bytes before end. What it returned before is overwritten.
func (l *Loop) tail(end uint32, n int) []byte {
	start, mask := end-uint32(n), uint32(len(l.ring)-1)
	l.unit = l.unit[:0]
	for n > 0 {
		from := int(start & mask)
		piece := l.ring[from:min(from+n, len(l.ring))]
		l.unit = append(l.unit, piece...)
		start, n = start+uint32(len(piece)), n-len(piece)
	}
	return l.unit
}

// whole is the unit of a run that ends before end, turned so that it begins
// where a line, a word or at least a code point does. A run holds several
// units, so any turn of it stands there.
func (l *Loop) whole(end uint32) (unit []byte, token bool) {
	period := int(l.period)
	at, token := seam(l.tail(end, period))
	return l.tail(end-uint32(period-at), period), token
}

// loopSample bounds a sample, in code points.
const loopSample = 120

// repeat reports the run.
func (l *Loop) repeat() Repeat {
	b, _ := l.whole(uint32(l.n))
	unit := string(b)
	r := Repeat{Count: (l.run + len(unit)) / len(unit), At: l.n}
	for i := range len(unit) {
		if utf8.RuneStart(unit[i]) {
			r.Period++
		}
	}
	r.Period = max(r.Period, 1) // of bytes that are no text
	n := 0
	for i := range unit {
		if n++; n > loopSample {
			unit = unit[:i] + "…"
			break
		}
	}
	r.Sample = strings.ToValidUTF8(unit, "\uFFFD")
	return r
}
