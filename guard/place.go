package guard

import (
	"crypto/sha256"
	"encoding/hex"
)

// Place is where a stream was cut.
type Place struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Tool     string `json:"tool,omitempty"` // empty: in text or reasoning
	Prefix   string `json:"prefix"`
	Stream   int    `json:"stream"`   // code points of what was cut
	Argument int    `json:"argument"` // code points of its longest string
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

// Same reports whether two cuts are one place (GRD-04): equal content and
// nearly equal position. Size or time alone say nothing.
func (p Place) Same(q Place) bool {
	return p.Provider == q.Provider && p.Model == q.Model && p.Tool == q.Tool && p.Prefix == q.Prefix &&
		near(p.Stream, q.Stream)
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
