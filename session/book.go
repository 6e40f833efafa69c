package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// book is the driver's hand on the journal. Records that the store would not
// take wait here, in order, and are written before anything that comes later,
// so that the journal and the machine never disagree about the past.
type book struct {
	w      journal.Writer
	epoch  event.Epoch
	last   event.Seq // last record the store took
	behind []event.Record
	loose  int // bytes appended since the last sync
	frames []event.Record
	dirty  bool                // frames hold records that a checkpoint has not made durable
	lost   bool                // another process writes the journal: nothing is written here again
	took   func(*event.Record) // told of each record once the store has it, with its line; may be nil
	log    *slog.Logger
}

const looseLimit = 4 << 20 // unsynced bytes after which a sync is made in between

// append writes recs. That the store did not take them is a failure only once
// too much waits here, or for good: the next checkpoint tries again.
func (b *book) append(ctx context.Context, recs []event.Record) *event.Failure {
	if b.lost {
		return nil
	}
	for i := range recs {
		b.loose += len(recs[i].Data) + 128
	}
	b.behind = append(b.behind, recs...)
	err := b.catchUp(ctx)
	switch {
	case err != nil && b.lost:
		return failureOf(err)
	case b.loose > looseLimit:
		return b.sync(ctx)
	case err != nil:
		b.dirty = true
		b.log.Warn("append", "error", err)
	}
	return nil
}

// lose gives the journal up: it belongs to another writer.
func (b *book) lose() { b.lost, b.dirty, b.behind, b.frames = true, true, nil, nil }

// catchUp hands the store what it has not taken yet. What is too large to go
// behind what waits for its sync, such as the whole of a very long answer, goes
// after it: size alone is no failure.
func (b *book) catchUp(ctx context.Context) error {
	if len(b.behind) == 0 {
		return nil
	}
	last, err := b.w.Append(ctx, b.last, b.epoch, b.behind)
	if errors.Is(err, journal.ErrPending) {
		if _, err = b.w.Sync(ctx); err == nil {
			last, err = b.w.Append(ctx, b.last, b.epoch, b.behind)
		}
	}
	if errors.Is(err, journal.ErrFenced) {
		b.lose()
	}
	if err != nil {
		return err
	}
	if b.took != nil {
		for i := range b.behind {
			b.took(&b.behind[i])
		}
	}
	b.frames = append(b.frames, b.behind...)
	b.last, b.behind = last, nil
	return nil
}

// sync makes everything durable. A failure frees the store's reserve, so that
// the closing records fit, and is reported: what was to happen behind this
// checkpoint does not. An ending is what the reserve is for: it is tried again
// at once.
func (b *book) sync(ctx context.Context) *event.Failure {
	err := b.settle(ctx)
	if err != nil {
		b.w.Free()
		if b.ending() {
			err = b.settle(ctx)
		}
	}
	if err != nil {
		b.dirty = true
		return failureOf(err)
	}
	b.loose, b.dirty = 0, false
	return nil
}

func (b *book) settle(ctx context.Context) error {
	if b.lost {
		return journal.ErrFenced
	}
	if err := b.catchUp(ctx); err != nil {
		return err
	}
	_, err := b.w.Sync(ctx)
	if errors.Is(err, journal.ErrFenced) {
		b.lose()
	}
	return err
}

// ending reports whether a turn's end, or the marker that begins it, waits to
// be made durable.
func (b *book) ending() bool {
	ends := func(r event.Record) bool { return r.Type == event.TypeTurnMarked || r.Type == event.TypeTurnEnded }
	return slices.ContainsFunc(b.behind, ends) || slices.ContainsFunc(b.frames, ends)
}

func failureOf(err error) *event.Failure {
	f := &event.Failure{Code: event.FailStorage, Message: err.Error(), Hint: "make room or mend the disk; the session goes on by itself once it can write"}
	if errors.Is(err, journal.ErrFenced) {
		f.Code, f.Hint = event.FailBusy, "another process writes this session now: release it here and open it again"
	}
	return f
}

// clean reports whether everything recorded so far may be shown: what a
// checkpoint stands for is shown after it.
func (b *book) clean() bool { return !b.dirty }

// durable reports whether nothing that was recorded waits for its sync.
func (b *book) durable() bool { return b.clean() && b.loose == 0 && len(b.behind) == 0 }

// shown returns the records to show and forgets them.
func (b *book) shown() []event.Record {
	if b.dirty {
		return nil
	}
	out := b.frames
	b.frames = nil
	return out
}

func (b *book) close() error { return b.w.Close() }
