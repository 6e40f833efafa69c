package mem

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

type writer struct {
	s      *Store
	id     event.SessionID
	x      *session
	ledger *journal.Ledger
	found  journal.Recovered
	done   bool
	err    error
}

var _ journal.Writer = (*writer)(nil)

func (s *Store) newWriter(id event.SessionID, x *session, at journal.Place, check journal.Checker, torn *journal.Torn) *writer {
	w := &writer{s: s, id: id, x: x, found: journal.Recovered{Last: at.Seq, Epoch: at.Epoch, Torn: torn}}
	w.ledger = journal.NewLedger(id, at, check, w.recheck)
	return w
}

// recheck returns a judge that has seen what stands in the journal.
func (w *writer) recheck() (journal.Checker, error) {
	check := w.s.o.Check()
	if check == nil {
		return nil, nil
	}
	return check, scan(w.s.Bytes(w.id), check).Err(w.id, "")
}

// Recovered is what opening found.
func (w *writer) Recovered() journal.Recovered { return w.found }

func (w *writer) open(ctx context.Context) error {
	switch {
	case w.done:
		return fmt.Errorf("session %s: its writer is closed: %w", w.id, fs.ErrClosed)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return w.owning(func() {})
}

// owning has do change the journal under the lock, or returns the fenced error
// if this writer does not hold it: a crash comes before both or behind both.
func (w *writer) owning(do func()) error {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.ledger.Fenced() || w.s.sessions[w.id] != w.x || w.x.writer != w {
		w.ledger.Fence()
		return fmt.Errorf("session %s: %w; open it again", w.id, journal.ErrFenced)
	}
	do()
	return nil
}

// Append writes recs. On an error none of them is kept.
func (w *writer) Append(ctx context.Context, expected event.Seq, epoch event.Epoch, recs []event.Record) (event.Seq, error) {
	if err := w.open(ctx); err != nil {
		return w.ledger.Tip().Seq, err
	}
	lines, at, err := w.ledger.Draft(expected, epoch, recs)
	if err != nil || len(recs) == 0 {
		return w.ledger.Tip().Seq, err
	}
	if err = w.s.fault(w.id, "append"); err == nil {
		err = w.owning(func() {
			w.x.bytes = append(w.x.bytes, lines...) // readers hold shorter slices of it
			w.s.changed()
		})
	}
	if err != nil {
		w.ledger.Dropped()
		return w.ledger.Tip().Seq, err
	}
	w.ledger.Wrote(lines, at)
	return at.Seq, nil
}

// Sync returns once everything appended counts as durable.
func (w *writer) Sync(ctx context.Context) (event.Seq, error) {
	if err := w.open(ctx); err != nil {
		return w.ledger.Acked().Seq, err
	}
	return w.sync()
}

func (w *writer) sync() (event.Seq, error) {
	acked := w.ledger.Acked().Seq
	if w.ledger.Unsynced() == 0 {
		return acked, nil
	}
	if d := w.s.o.Delay; d > 0 {
		<-time.After(d) // as a disk, it cannot be hurried
	}
	if err := w.s.fault(w.id, "sync"); err != nil {
		return acked, err
	}
	if err := w.owning(func() { w.x.synced = w.ledger.Tip().End }); err != nil {
		return acked, err
	}
	w.ledger.Synced()
	return w.ledger.Acked().Seq, nil
}

// Free does nothing: there is no reserve.
func (w *writer) Free() {}

// Close syncs what it can and gives the journal up.
func (w *writer) Close() error {
	if w.done {
		return w.err
	}
	if w.owning(func() {}) == nil {
		_, w.err = w.sync()
	}
	w.done = true
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.x.writer == w {
		w.x.writer = nil
	}
	w.s.changed()
	return w.err
}
