package crashtest

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// Point is a place in a write at which a process may die.
type Point string

const (
	BeforeWrite Point = "before-write"
	AfterWrite  Point = "after-write" // written, not synced
	BeforeSync  Point = "before-sync"
	AfterSync   Point = "after-sync"   // durable, nobody was told
	AfterAck    Point = "after-ack"    // the writer was told, and asks for the next write or for its end
	OnClose     Point = "before-close" // of the writer
)

// Points lists the points in the order in which a write passes them.
func Points() []Point {
	return []Point{BeforeWrite, AfterWrite, BeforeSync, AfterSync, AfterAck, OnClose}
}

// Tap is a [journal.Store] that notes what its writers were told.
type Tap struct {
	journal.Store
	// At, if set, is asked at each point with the records concerned: those of
	// an append, or those that a sync covers. It may end the process. An error
	// makes the operation fail as storage; only BeforeWrite and BeforeSync may
	// return one.
	At func(p Point, recs []event.Record) error
	// Told, if set, hears of each acknowledgement, before the writer does. Calls
	// about one session come one after the other, those about two side by side.
	Told func(id event.SessionID, acked event.Seq)
	// Folder, if set, is where the store says that sessions have their files.
	Folder string

	mu    sync.Mutex
	acked map[event.SessionID]event.Seq
}

// NewTap returns a tap on s.
func NewTap(s journal.Store) *Tap { return &Tap{Store: s, acked: map[event.SessionID]event.Seq{}} }

// Acked returns the last record of a session that a sync has acknowledged, -1
// before the first.
func (t *Tap) Acked(id event.SessionID) event.Seq {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq, ok := t.acked[id]; ok {
		return seq
	}
	return -1
}

// Dir implements [journal.Store].
func (t *Tap) Dir(id event.SessionID) string {
	if t.Folder == "" {
		return t.Store.Dir(id)
	}
	return filepath.Join(t.Folder, string(id))
}

// Create implements [journal.Store].
func (t *Tap) Create(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	w, err := t.Store.Create(ctx, id)
	return t.wrap(id, w, err)
}

// Acquire implements [journal.Store].
func (t *Tap) Acquire(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	w, err := t.Store.Acquire(ctx, id)
	return t.wrap(id, w, err)
}

func (t *Tap) wrap(id event.SessionID, w journal.Writer, err error) (journal.Writer, error) {
	if err != nil {
		return nil, err
	}
	return &tapped{Writer: w, t: t, id: id}, nil
}

func (t *Tap) at(p Point, recs []event.Record) error {
	if t.At == nil {
		return nil
	}
	return t.At(p, recs)
}

type tapped struct {
	journal.Writer
	t       *Tap
	id      event.SessionID
	pending []event.Record // appended, not synced
	told    []event.Record // of the last sync; nil once AfterAck was passed
}

func (w *tapped) Append(ctx context.Context, expected event.Seq, epoch event.Epoch, recs []event.Record) (event.Seq, error) {
	if w.told != nil {
		if err := w.t.at(AfterAck, w.told); err != nil {
			return expected, err
		}
		w.told = nil
	}
	if err := w.t.at(BeforeWrite, recs); err != nil {
		return expected, err
	}
	last, err := w.Writer.Append(ctx, expected, epoch, recs)
	if err == nil {
		w.pending = append(w.pending, recs...)
		_ = w.t.at(AfterWrite, recs) // what is written is written
	}
	return last, err
}

func (w *tapped) Sync(ctx context.Context) (event.Seq, error) {
	if err := w.t.at(BeforeSync, w.pending); err != nil {
		return w.t.Acked(w.id), err
	}
	acked, err := w.Writer.Sync(ctx)
	if err != nil {
		return acked, err
	}
	_ = w.t.at(AfterSync, w.pending) // what is synced is synced
	w.t.mu.Lock()
	w.t.acked[w.id] = acked
	w.t.mu.Unlock()
	if w.t.Told != nil && len(w.pending) > 0 {
		w.t.Told(w.id, acked)
	}
	w.told, w.pending = w.pending, nil
	return acked, nil
}

func (w *tapped) Close() error {
	if w.told != nil {
		_ = w.t.at(AfterAck, w.told)
		w.told = nil
	}
	_ = w.t.at(OnClose, w.pending) // a close cannot be refused
	return w.Writer.Close()
}
