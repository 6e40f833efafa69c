package inbox

import (
	"maps"
	"slices"

	"github.com/ripcord-go/ripcord/event"
)

// Snapshot is a box as it can be kept beside the journal that it was folded
// from.
type Snapshot struct {
	Waiting []Entry                  `json:"waiting,omitempty"`
	Claimed map[event.InputID]Entry  `json:"claimed,omitempty"`
	Known   []event.InputID          `json:"known,omitempty"` // sorted
	Keys    map[string]event.InputID `json:"keys,omitempty"`
}

// Snapshot returns the box as it stands. It shares memory with the box and is
// to be encoded before the box changes.
func (b *Box) Snapshot() Snapshot {
	return Snapshot{b.waiting, b.claimed, slices.Sorted(maps.Keys(b.known)), b.keys}
}

// Restore returns the box that s was taken of.
func Restore(s Snapshot) Box {
	b := Box{waiting: s.Waiting, claimed: s.Claimed, keys: s.Keys}
	if len(s.Known) > 0 {
		b.known = make(map[event.InputID]bool, len(s.Known))
		for _, id := range s.Known {
			b.known[id] = true
		}
		if b.keys == nil {
			b.keys = map[string]event.InputID{}
		}
	}
	return b
}
