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
	Echoes  []event.InputID          `json:"echoes,omitempty"` // sorted
}

// Snapshot returns the box as it stands. It shares memory with the box and is
// to be encoded before the box changes.
func (b *Box) Snapshot() Snapshot {
	return Snapshot{b.Waiting(), b.claimed, slices.Sorted(maps.Keys(b.known)), b.keys, slices.Sorted(maps.Keys(b.echoes))}
}

// Restore returns the box that s was taken of.
func Restore(s Snapshot) Box {
	b := Box{claimed: s.Claimed}
	if len(s.Known) == 0 {
		return b
	}
	b.begin()
	if s.Keys != nil {
		b.keys = s.Keys
	}
	for _, id := range s.Known {
		b.known[id] = true
	}
	for _, id := range s.Echoes {
		b.echoes[id] = true
	}
	for _, e := range s.Waiting {
		b.insert(&e)
	}
	b.changes = 0
	return b
}
