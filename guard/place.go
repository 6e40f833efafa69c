package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Place is where a stream was cut.
type Place struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Tool     string `json:"tool,omitempty"` // empty: in text or reasoning
	Prefix   string `json:"prefix"`         // see [Prefix]
	Sums     string `json:"sums,omitempty"` // see [Sums]; empty in older records
	Stream   int    `json:"stream"`         // code points of what was cut
	Argument int    `json:"argument"`       // code points of its longest string
}

// prefixRunes is how much of a content decides whether two are the same: more
// than any preamble that different files share, less than where streams were
// seen to be cut.
const prefixRunes = 4096

// Prefix sums the beginning of what was cut.
func Prefix(content string) string {
	n := 0
	for i := range content {
		if n == prefixRunes {
			content = content[:i]
			break
		}
		n++
	}
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}

// shortestSum is the least beginning that is compared for a content whose end
// another one has not reached: sentences that go apart share a few words.
const shortestSum = 64

// Sums sums some beginnings of what was cut, as "length:sum" and longest first,
// so that a content below [prefixRunes] is known again where it was cut a little
// earlier or later. The lengths are its own and the last two multiples of 16 and
// of 64 in it: of two contents whose positions are near, so are the lengths, and
// one of these is in both.
func Sums(content string) string {
	n := min(utf8.RuneCountInString(content), prefixRunes)
	var lengths []int
	for _, at := range []int{n, n &^ 15, n&^15 - 16, n &^ 63, n&^63 - 64} {
		if at == n || at >= shortestSum {
			lengths = append(lengths, at)
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	h, from, runes, next := sha256.New(), 0, 0, 0
	var sums []string
	for i := 0; next < len(lengths); runes++ {
		if runes == lengths[next] {
			h.Write([]byte(content[from:i]))
			from = i
			sums = append(sums, strconv.Itoa(runes)+":"+hex.EncodeToString(h.Sum(nil)[:8]))
			next++
		}
		if i < len(content) {
			_, size := utf8.DecodeRuneInString(content[i:])
			i += size
		}
	}
	slices.Reverse(sums)
	return strings.Join(sums, ",")
}

// Same reports whether two cuts are one place (GRD-04): equal content and
// nearly equal position. Size or time alone say nothing.
func (p Place) Same(q Place) bool {
	return p.Provider == q.Provider && p.Model == q.Model && p.Tool == q.Tool && p.begins(q) &&
		near(p.Stream, q.Stream)
}

// begins reports whether two contents are equal as far as both go: by the longest
// beginning that both have a sum of.
func (p Place) begins(q Place) bool {
	if p.Prefix == q.Prefix {
		return true
	}
	of := map[string]string{}
	for one := range strings.SplitSeq(q.Sums, ",") {
		n, sum, _ := strings.Cut(one, ":")
		of[n] = sum
	}
	for one := range strings.SplitSeq(p.Sums, ",") {
		n, sum, ok := strings.Cut(one, ":")
		if other, both := of[n]; ok && both {
			return sum == other
		}
	}
	return false
}

// near is the tolerance of a position: 8 code points, or two in a thousand.
func near(a, b int) bool {
	return max(a-b, b-a) <= max(8, max(a, b)/500)
}

// placesKept bounds what is remembered of a session's cuts.
const placesKept = 64

// Places are the cuts that a session remembers, newest last. The zero value
// remembers none.
type Places struct{ all []Place }

// Seen returns the newest earlier cut at the same place.
func (p *Places) Seen(x Place) (Place, bool) {
	for i := len(p.all) - 1; i >= 0; i-- {
		if p.all[i].Same(x) {
			return p.all[i], true
		}
	}
	return Place{}, false
}

// Note remembers a cut.
func (p *Places) Note(x Place) {
	if len(p.all) == placesKept {
		p.all = append(p.all[:0:0], p.all[1:]...)
	}
	p.all = append(p.all, x)
}

// All returns what is remembered, oldest first.
func (p *Places) All() []Place { return p.all }

// PlacesOf returns a memory of all.
func PlacesOf(all []Place) Places { return Places{all} }
