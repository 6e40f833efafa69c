package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// A listing reads this much of each session: small journals as a whole, of
// others the head and a tail that grows until it tells whether a turn is open.
const (
	listWhole = 256 << 10
	listHead  = 1 << 20
	listTail  = 64 << 10
	listLimit = 4 << 20
	listKeep  = 8 // records of the tail
)

// List yields every session, ordered by id. What it reads of each is bounded,
// so damage in the middle of a long journal is known only if this process has
// read it as a whole before.
func (s *Store) List(ctx context.Context) ([]journal.Entry, error) {
	names, err := s.fs.ReadDir(filepath.Join(s.dir, sessionsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w: %w", journal.ErrStorage, err)
	}
	var out []journal.Entry
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		id := event.SessionID(name.Name())
		if !name.IsDir() || journal.CheckID(id) != nil {
			continue
		}
		if e, ok := s.entry(id); ok {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b journal.Entry) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out, nil
}

// entry describes one session; ok is false if there is none.
func (s *Store) entry(id event.SessionID) (e journal.Entry, ok bool) {
	e = journal.Entry{ID: id, State: journal.StateIdle}
	f, info, err := s.openRead(id)
	if errors.Is(err, journal.ErrNotFound) {
		return e, false
	}
	if err != nil { // it cannot be read, but it is there
		e.State, e.Err = journal.StateDamaged, err
		return e, true
	}
	defer f.Close()
	e.Bytes, e.Owner = info.Size(), s.owner(id)
	g := glance{f: f, size: info.Size()}
	g.look()
	e.Head, e.Tail, e.Turn = g.head, g.tail, g.turn
	e.Err = g.found.Err(id, s.path(id, journalName))
	if known := s.remembered(id, info); known != nil {
		e.Err = known
	}
	if g.err != nil {
		e.Err = s.storage(id, "read", g.err)
	}
	e.State = stateOf(&e, g.open)
	return e, true
}

func stateOf(e *journal.Entry, open bool) journal.State {
	var damaged *journal.DamagedError
	var future *journal.FutureError
	switch {
	case errors.As(e.Err, &future):
		return journal.StateFuture
	case errors.As(e.Err, &damaged) && damaged.Forked:
		return journal.StateForked
	case e.Err != nil:
		return journal.StateDamaged
	case e.Owner != nil:
		return journal.StateRunning
	case open:
		return journal.StateOpenTurn
	}
	return journal.StateIdle
}

// glance is a bounded look at a journal.
type glance struct {
	f     File
	size  int64
	head  *event.Record
	tail  []event.Record
	turn  int  // the last one that was seen
	open  bool // a turn is open
	known bool // whether one is was seen
	found journal.Found
	err   error
}

func (g *glance) look() {
	if g.size <= listWhole {
		g.walk(journal.NewScanner(g.f, g.size, journal.ScanOptions{}), true)
		return
	}
	sc := journal.NewScanner(g.f, min(g.size, listHead), journal.ScanOptions{})
	if sc.Next() && sc.Item().Kind == journal.ItemRecord {
		g.keepHead(sc.Item())
	} else if f := sc.Found(); f.Future != nil || len(f.Damage) > 0 || sc.Err() != nil {
		g.found, g.err = *f, sc.Err()
		return
	}
	for n := int64(listTail); ; n *= 4 {
		g.tail, g.known = nil, false
		if at, ok := journal.Anchor(g.f, g.size, g.size-n); ok {
			g.walk(journal.NewScanner(g.f, g.size, journal.ScanOptions{Start: &at}), false)
		}
		if g.known || g.found.Future != nil || len(g.found.Damage) > 0 || g.err != nil || n >= min(listLimit, g.size) {
			return
		}
	}
}

func (g *glance) keepHead(it *journal.Item) {
	if r, err := it.Record(); err == nil {
		g.head = &r
	}
}

// walk reads the scan to its end and keeps the last few records.
func (g *glance) walk(sc *journal.Scanner, whole bool) {
	var last [][]byte
	var ofTurn []byte // the last record that belongs to a turn
	for sc.Next() {
		it := sc.Item()
		if it.Kind != journal.ItemRecord {
			continue
		}
		if whole && it.Place.Seq == 0 {
			g.keepHead(it)
		}
		if k, ok := event.KindOf(it.Type); ok && k.Scope != event.ScopeSession {
			g.open, g.known = it.Type != event.TypeTurnEnded, true
			ofTurn = append(ofTurn[:0], it.Line...)
		}
		if len(last) == listKeep {
			last = append(last[1:], append(last[0][:0], it.Line...))
		} else {
			last = append(last, append([]byte(nil), it.Line...))
		}
	}
	g.found, g.err = *sc.Found(), sc.Err()
	if r, err := event.Parse(ofTurn); err == nil {
		g.turn = r.Turn
	}
	for _, line := range last {
		if r, err := event.Parse(line); err == nil {
			g.tail = append(g.tail, r)
		}
	}
}
