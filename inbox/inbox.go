package inbox

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/ripcord-go/ripcord/event"
)

// Entry is one waiting input.
type Entry struct {
	event.InboxAccepted
	Seq event.Seq // of its acceptance
	// Replaced wait again if this one is refused.
	Replaced []Entry `json:",omitempty"`
}

// Box is the fold. The zero value is an empty inbox. Taking what stands first,
// and adding at the end, cost the same however much waits.
type Box struct {
	lines   [3][]*Entry // what waits, a line for each priority, in order; what stands in one is never changed: views share it
	waiting map[event.InputID]*Entry
	known   map[event.InputID]bool
	keys    map[string]event.InputID
	echoes  map[event.InputID]bool  // replaced; the record that says so is to come
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
		b.taken.Replaced = nil
		b.claimed[p.ID] = b.taken
	case event.Rewound:
		for _, r := range p.Returns {
			if _, ok := b.claimed[r.ID]; !ok {
				return fmt.Errorf("input %s is returned but is in no turn that can be hidden", r.ID)
			}
		}
		for _, r := range p.Returns {
			b.put(r)
		}
	case event.InboxDropped:
		return b.drop(p)
	case event.InboxEdited:
		e := b.waiting[p.ID]
		if e == nil {
			return fmt.Errorf("input %s is edited but does not wait", p.ID)
		}
		b.reword(e, p.Input)
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
	for i, id := range p.Replaces {
		if b.waiting[id] == nil || slices.Contains(p.Replaces[:i], id) {
			return fmt.Errorf("input %s is replaced but does not wait", id)
		}
	}
	b.begin()
	b.known[p.ID] = true
	if p.Key != "" {
		b.keys[p.Key] = p.ID
	}
	e := &Entry{InboxAccepted: p, Seq: seq}
	for _, id := range p.Replaces {
		old := b.waiting[id]
		b.remove(old)
		b.echoes[id] = true
		e.Replaced = append(e.Replaced, *old)
	}
	b.insert(e)
	return nil
}

// begin makes the maps; an empty inbox has none.
func (b *Box) begin() {
	if b.known == nil {
		b.known, b.keys = map[event.InputID]bool{}, map[string]event.InputID{}
		b.waiting, b.echoes = map[event.InputID]*Entry{}, map[event.InputID]bool{}
	}
}

func (b *Box) drop(p event.InboxDropped) error {
	if p.Why == event.DroppedReplaced && b.echoes[p.ID] {
		delete(b.echoes, p.ID)
		return nil
	}
	if err := b.take(p.ID, "dropped"); err != nil {
		return err
	}
	if p.Why == event.DroppedRefused {
		delete(b.keys, b.taken.Key)
		for _, old := range b.taken.Replaced {
			delete(b.echoes, old.ID)
			b.insert(&old)
		}
	}
	b.taken.Replaced = nil
	return nil
}

// insert keeps the order: by priority, then by acceptance, so that what is
// returned stands where it stood.
func (b *Box) insert(e *Entry) {
	line := &b.lines[rank(e.Priority)]
	at := len(*line)
	if at > 0 && (*line)[at-1].Seq > e.Seq {
		at, _ = slices.BinarySearchFunc(*line, e.Seq, bySeq)
	}
	if at == len(*line) {
		*line = append(*line, e)
	} else {
		*line = slices.Concat((*line)[:at], []*Entry{e}, (*line)[at:])
	}
	b.waiting[e.ID] = e
	b.changes++
}

func bySeq(e *Entry, seq event.Seq) int { return cmp.Compare(e.Seq, seq) }

// remove takes e out of its line.
func (b *Box) remove(e *Entry) {
	line := &b.lines[rank(e.Priority)]
	switch at, _ := slices.BinarySearchFunc(*line, e.Seq, bySeq); at {
	case 0: // the usual one: nothing is moved
		*line = (*line)[1:]
	default:
		*line = slices.Concat((*line)[:at], (*line)[at+1:])
	}
	delete(b.waiting, e.ID)
	b.changes++
}

// reword gives a waiting entry other words.
func (b *Box) reword(old *Entry, in event.UserInput) {
	e := *old
	e.Input = in
	line := &b.lines[rank(e.Priority)]
	at, _ := slices.BinarySearchFunc(*line, e.Seq, bySeq)
	*line = slices.Clone(*line)
	(*line)[at], b.waiting[e.ID] = &e, &e
	b.changes++
}

// View is what waited when it was taken. It never changes, and costs nothing to
// take; the zero value is empty.
type View struct{ lines [3][]*Entry }

// View returns what waits now.
func (b *Box) View() (v View) {
	for i, line := range b.lines {
		v.lines[i] = slices.Clip(line)
	}
	return v
}

// Entries returns what waited, in order. The slice is the caller's.
func (v View) Entries() []Entry {
	out := make([]Entry, 0, len(v.lines[0])+len(v.lines[1])+len(v.lines[2]))
	for _, line := range v.lines {
		for _, e := range line {
			out = append(out, *e)
		}
	}
	return out
}

// Changes counts what happened to the inbox: while it stands still, [Box.Waiting]
// returns the same.
func (b *Box) Changes() int { return b.changes }

// put returns an input, which is in the history, to the inbox.
func (b *Box) put(p event.Returned) {
	e := b.claimed[p.ID]
	delete(b.claimed, p.ID)
	e.Priority = p.Priority
	if p.Options != nil {
		e.Options = *p.Options
	}
	b.insert(&e)
}

// Forget lets go of the words of what was claimed: nothing of it can be
// returned any more.
func (b *Box) Forget() { b.claimed = nil }

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
	e := b.waiting[id]
	if e == nil {
		return fmt.Errorf("input %s is %s but does not wait", id, verb)
	}
	b.taken = *e
	b.remove(e)
	return nil
}

// All ranges over what waits, in order. The inbox must not change meanwhile.
func (b *Box) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, line := range b.lines {
			for _, e := range line {
				if !yield(*e) {
					return
				}
			}
		}
	}
}

// Waiting returns what waits, in order. The slice is the caller's.
func (b *Box) Waiting() []Entry {
	out := make([]Entry, 0, len(b.waiting))
	for e := range b.All() {
		out = append(out, e)
	}
	return out
}

// Get returns the waiting entry id.
func (b *Box) Get(id event.InputID) (Entry, bool) {
	if e := b.waiting[id]; e != nil {
		return *e, true
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
