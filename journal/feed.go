package journal

import (
	"context"
	"fmt"

	"github.com/ripcord-go/ripcord/event"
)

// Feed gives a scan's items the way [Store.Read] and [Store.Follow] owe them.
type Feed struct {
	sc      *Scanner
	id      event.SessionID
	path    string
	from    event.Seq
	next    event.Seq
	begun   bool  // a record was given
	left    bool  // the reader wants no more
	pending error // damage that may still turn out to stand before from
}

// NewFeed returns a feed of the records from seq on. path names the raw file
// in messages.
func NewFeed(sc *Scanner, id event.SessionID, path string, from event.Seq) *Feed {
	return &Feed{sc: sc, id: id, path: path, from: from, next: from}
}

// Next is the seq that follows the last record given.
func (f *Feed) Next() event.Seq { return f.next }

// Left reports whether the reader broke off.
func (f *Feed) Left() bool { return f.left }

// Give yields what the scan finds up to its present end; false if the reader
// broke off, ctx is done, or nothing more can come. Damage before the first
// record that was asked for is not reported; any behind it is, once, and a
// fork always. Records of a second branch are given where they stand.
func (f *Feed) Give(ctx context.Context, yield func(event.Record, error) bool) bool {
	give := func(r event.Record, err error) bool {
		f.left = !yield(r, err)
		return !f.left
	}
	for n := 1; f.sc.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return false
		}
		it := f.sc.Item()
		switch it.Kind {
		case ItemFuture:
			give(event.Record{}, f.sc.Found().Err(f.id, f.path))
			return false
		case ItemDamage:
			if !f.release(give) {
				return false
			}
			f.pending = &DamagedError{ID: f.id, Ranges: []Damage{it.Damage}, Forked: it.Fork}
			if it.Fork && !f.release(give) {
				return false
			}
		case ItemRecord:
			if !f.record(it, give) {
				return false
			}
		}
	}
	if !f.release(give) {
		return false
	}
	if err := f.sc.Err(); err != nil {
		give(event.Record{}, fmt.Errorf("session %s: read: %w: %w", f.id, ErrStorage, err))
		return false
	}
	return true
}

func (f *Feed) record(it *Item, give func(event.Record, error) bool) bool {
	seq := it.Place.Seq
	if !f.begun && f.from > 0 && seq <= f.from {
		f.pending = nil
	}
	if seq < f.from {
		return true
	}
	if !f.release(give) {
		return false
	}
	r, err := it.Record()
	if err != nil {
		err = &DamagedError{ID: f.id, Ranges: []Damage{{From: it.Place.Off, To: it.Place.End, Why: err.Error()}}}
	}
	f.begun = true
	if it.Branch == 0 {
		f.next = seq + 1
	}
	return give(r, err)
}

func (f *Feed) release(give func(event.Record, error) bool) bool {
	err := f.pending
	f.pending = nil
	return err == nil || give(event.Record{}, err)
}
