package inbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ripcord-go/ripcord/event"
)

// Entry is one waiting input.
type Entry struct {
	event.InboxAccepted
	Seq event.Seq // of its acceptance
}

// Box is the fold. The zero value is an empty inbox.
type Box struct {
	waiting []Entry
	known   map[event.InputID]bool
	keys    map[string]event.InputID
	taken   Entry // the last one claimed or dropped
}

// Apply takes one record's payload into the fold. It returns an error for what
// cannot be true of a journal in order: a claim, edit or drop of what does not
// wait, an id or key accepted twice. Other payloads are ignored.
func (b *Box) Apply(seq event.Seq, p event.Payload) error {
	switch p := p.(type) {
	case event.InboxAccepted:
		return b.accept(seq, p)
	case event.InboxClaimed:
		return b.take(p.ID, "claimed")
	case event.InboxDropped:
		if err := b.take(p.ID, "dropped"); err != nil {
			return err
		}
		if p.Why == event.DroppedRefused {
			delete(b.keys, b.taken.Key)
		}
	case event.InboxEdited:
		i := b.index(p.ID)
		if i < 0 {
			return fmt.Errorf("input %s is edited but does not wait", p.ID)
		}
		b.waiting[i].Input = p.Input
	}
	return nil
}

func (b *Box) accept(seq event.Seq, p event.InboxAccepted) error {
	if b.known[p.ID] {
		return fmt.Errorf("input %s is accepted twice", p.ID)
	}
	if p.Key != "" && b.keys[p.Key] != "" {
		return fmt.Errorf("idempotency key of %s was accepted before as %s", p.ID, b.keys[p.Key])
	}
	if b.known == nil {
		b.known, b.keys = map[event.InputID]bool{}, map[string]event.InputID{}
	}
	b.known[p.ID] = true
	if p.Key != "" {
		b.keys[p.Key] = p.ID
	}
	b.waiting = append(b.waiting, Entry{p, seq})
	slices.SortStableFunc(b.waiting, func(x, y Entry) int { return cmp.Compare(rank(x.Priority), rank(y.Priority)) })
	return nil
}

func rank(p event.Priority) int {
	switch p {
	case event.PriorityNow:
		return 0
	case event.PriorityNext:
		return 1
	case event.PriorityLater:
		return 2
	}
	return 2
}

func (b *Box) take(id event.InputID, verb string) error {
	i := b.index(id)
	if i < 0 {
		return fmt.Errorf("input %s is %s but does not wait", id, verb)
	}
	b.taken = b.waiting[i]
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return nil
}

func (b *Box) index(id event.InputID) int {
	return slices.IndexFunc(b.waiting, func(e Entry) bool { return e.ID == id })
}

// Waiting returns what waits, in order. The slice is the caller's.
func (b *Box) Waiting() []Entry { return slices.Clone(b.waiting) }

// Get returns the waiting entry id.
func (b *Box) Get(id event.InputID) (Entry, bool) {
	if i := b.index(id); i >= 0 {
		return b.waiting[i], true
	}
	return Entry{}, false
}

// Taken returns the entry that was claimed or dropped last: a claim's record
// names its input, the words were in the inbox.
func (b *Box) Taken() Entry { return b.taken }

// ByKey returns the input that was accepted under an idempotency key, whether
// it still waits or not.
func (b *Box) ByKey(key string) (event.InputID, bool) {
	id, ok := b.keys[key]
	return id, ok && key != ""
}

// Len is how many wait.
func (b *Box) Len() int { return len(b.waiting) }
