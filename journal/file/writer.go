package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"golang.org/x/sys/unix"
)

// health is what the writer knows of the file behind its acknowledged end; the
// package comment has the picture.
type health int

const (
	sound  health = iota // exactly the pending bytes
	ragged               // those, and perhaps part of a failed append
	dead                 // unknown: the descriptor has failed
)

type writer struct {
	s      *Store
	id     event.SessionID
	f      File
	lock   File
	ledger *journal.Ledger
	found  journal.Recovered

	snapshot *journal.Snapshot // what it began behind

	health health
	spill  []byte   // lines of a failed append, parts of which may stand behind the tip
	dirs   []string // names not yet durable
	spare  bool     // the reserve is there
	done   bool
	err    error // of Close
}

var (
	_ journal.Writer         = (*writer)(nil)
	_ journal.SnapshotWriter = (*writer)(nil)
)

// newWriter takes over the two files. dirs are the folders whose names are not
// known to be durable.
func (s *Store) newWriter(id event.SessionID, f, lock File, at journal.Place, check journal.Checker, torn *journal.Torn, dirs []string) *writer {
	w := &writer{
		s: s, id: id, f: f, lock: lock, dirs: dirs,
		found: journal.Recovered{Last: at.Seq, Epoch: at.Epoch, Torn: torn},
	}
	w.ledger = journal.NewLedger(id, at, check, w.recheck)
	w.keepSpare()
	return w
}

// Recovered is what opening found.
func (w *writer) Recovered() journal.Recovered { return w.found }

// Append writes recs by one write. On an error none of them is kept.
func (w *writer) Append(ctx context.Context, expected event.Seq, epoch event.Epoch, recs []event.Record) (event.Seq, error) {
	if err := w.open(ctx); err != nil {
		return w.ledger.Tip().Seq, err
	}
	if err := w.mend(); err != nil {
		return w.ledger.Tip().Seq, err
	}
	lines, at, err := w.ledger.Draft(expected, epoch, recs)
	if err != nil || len(recs) == 0 {
		return w.ledger.Tip().Seq, err
	}
	if err := w.write(lines); err != nil {
		w.ledger.Dropped()
		return w.ledger.Tip().Seq, err
	}
	w.ledger.Wrote(lines, at)
	w.s.notify(w.id)
	return at.Seq, nil
}

// Sync returns once everything appended is durable.
func (w *writer) Sync(ctx context.Context) (event.Seq, error) {
	acked := w.ledger.Acked().Seq
	if err := w.open(ctx); err != nil {
		return acked, err
	}
	return w.sync()
}

func (w *writer) sync() (event.Seq, error) {
	acked := w.ledger.Acked().Seq
	if w.ledger.Unsynced() == 0 {
		return acked, nil
	}
	if err := w.mend(); err != nil {
		return acked, err
	}
	if err := w.f.Sync(); err != nil {
		w.health = dead
		return acked, w.s.storage(w.id, "sync", err)
	}
	for len(w.dirs) > 0 {
		if err := w.s.fs.SyncDir(w.dirs[0]); err != nil {
			return acked, w.s.storage(w.id, "sync the folder", err)
		}
		w.dirs = w.dirs[1:]
	}
	if err := w.unchanged(false); err != nil {
		return acked, err
	}
	w.ledger.Synced()
	w.keepSpare()
	return w.ledger.Acked().Seq, nil
}

// open returns an error unless the writer may write now.
func (w *writer) open(ctx context.Context) error {
	switch {
	case w.done:
		return fmt.Errorf("session %s: its writer is closed: %w", w.id, fs.ErrClosed)
	case w.ledger.Fenced():
		return fmt.Errorf("session %s: %w; open it again", w.id, journal.ErrFenced)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// fence ends this writer: what it wrote since its last sync is not
// acknowledged and never will be.
func (w *writer) fence(why string, args ...any) error {
	w.ledger.Fence()
	return fmt.Errorf("session %s: %s: %w; open it again", w.id, fmt.Sprintf(why, args...), journal.ErrFenced)
}

// unchanged makes sure that the file ends with what this writer wrote last.
// Bytes behind it are tolerated, once, when exact is false: they do not touch
// what is being acknowledged, and the next write will find them.
func (w *writer) unchanged(exact bool) error {
	tip := w.ledger.Tip()
	info, err := w.f.Stat()
	if err != nil {
		return w.s.storage(w.id, "look at the journal", err)
	}
	if size := info.Size(); size < tip.End || exact && size != tip.End {
		return w.fence("the journal has %d bytes and this writer left %d", size, tip.End)
	}
	if !stands(w.f, tip) {
		return w.fence("the journal's last record is not the one this writer wrote")
	}
	return nil
}

// write appends b behind the tip by one write and checks where it landed.
func (w *writer) write(b []byte) error {
	if err := w.unchanged(true); err != nil {
		return err
	}
	return w.put(b, w.ledger.Tip().End)
}

func (w *writer) put(b []byte, at int64) error {
	n, err := w.f.Write(b)
	if err == nil {
		var end int64
		if end, err = w.f.Position(); err == nil && end != at+int64(n) {
			return w.fence("a write meant for byte %d landed at byte %d", at, end-int64(n))
		}
	}
	if err == nil {
		return nil
	}
	w.spill = b
	w.health = dead
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EROFS) {
		w.health = ragged
		w.trim() // give the space back at once; if it fails, the next call mends it
	}
	return w.s.storage(w.id, "write", err)
}

// Close syncs what it can and gives the journal up.
func (w *writer) Close() error {
	if w.done {
		return w.err
	}
	var err error
	if w.ledger.Unsynced() > 0 && !w.ledger.Fenced() {
		_, err = w.sync()
	}
	w.done = true
	w.Free()
	err = errors.Join(err, w.f.Close())
	if terr := w.lock.Truncate(0); terr != nil { // nobody holds it any more
		w.s.log.Debug("the lock file still names its last owner", "session", w.id, "error", terr)
	}
	w.err = errors.Join(err, w.lock.Close())
	w.s.notify(w.id)
	return w.err
}
