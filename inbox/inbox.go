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
	waiting []Entry // what stands in it is never changed: it is handed out
	known   map[event.InputID]bool
	keys    map[string]event.InputID
	taken   Entry                   // the last one claimed or dropped
	claimed map[event.InputID]Entry // in the history, until [Box.Forget]
	changes int
}

// Apply takes one record's payload into the fold. It returns an error for what
// cannot be true of a journal in order: a claim, edit or drop of what does not
// wait, an id or key accepted twice. Other payloads are ignored.
func (b *Box) Apply(seq event.Seq, p event.Payload) error {
	switch p := p.(type) {
	case event.InboxAccepted:
		return b.accept(seq, p)
	case event.InboxClaimed:
		if err := b.take(p.ID, "claimed"); err != nil {
			return err
		}
		if b.claimed == nil {
			b.claimed = map[event.InputID]Entry{}
		}
		b.claimed[p.ID] = b.taken
	case event.InboxReturned:
		return b.put(p)
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
		b.waiting = slices.Clone(b.waiting)
		b.waiting[i].Input = p.Input
		b.changes++
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
	b.insert(Entry{p, seq})
	return nil
}

// insert keeps the order: by priority, then by acceptance, so that what is
// returned stands where it stood.
func (b *Box) insert(e Entry) {
	at, _ := slices.BinarySearchFunc(b.waiting, e, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(rank(x.Priority), rank(y.Priority)), cmp.Compare(x.Seq, y.Seq))
	})
	if at == len(b.waiting) {
		b.waiting = append(b.waiting, e)
	} else {
		b.waiting = slices.Concat(b.waiting[:at], []Entry{e}, b.waiting[at:])
	}
	b.changes++
}

// Changes counts what happened to the inbox: while it stands still, [Box.Waiting]
// returns the same.
func (b *Box) Changes() int { return b.changes }

// put returns an input to the inbox.
func (b *Box) put(p event.InboxReturned) error {
	e, ok := b.claimed[p.ID]
	if !ok {
		return fmt.Errorf("input %s is returned but is in no turn that can be hidden", p.ID)
	}
	delete(b.claimed, p.ID)
	e.Priority = p.Priority
	if p.Options != nil {
		e.Options = *p.Options
	}
	b.insert(e)
	return nil
}

// Forget lets go of the words of what was claimed: nothing of it can be
// returned any more.
func (b *Box) Forget() { b.claimed = nil }

// Claimed returns an input that is in the history and can be returned.
func (b *Box) Claimed(id event.InputID) (Entry, bool) {
	e, ok := b.claimed[id]
	return e, ok
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
	if i == 0 {
		b.waiting = b.waiting[1:]
	} else {
		b.waiting = slices.Concat(b.waiting[:i], b.waiting[i+1:])
	}
	b.changes++
	return nil
}

func (b *Box) index(id event.InputID) int {
	return slices.IndexFunc(b.waiting, func(e Entry) bool { return e.ID == id })
}

// Waiting returns what waits, in order. The slice is shared with whoever asked
// before: it never changes, and nobody may change it.
func (b *Box) Waiting() []Entry { return slices.Clip(b.waiting) }

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
