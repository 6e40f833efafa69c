package mem

import (
	"context"
	"fmt"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// Seed makes a whole session at once.
func (s *Store) Seed(ctx context.Context, id event.SessionID, recs []event.Record, from event.SessionID, refs []event.BlobRef) error {
	for _, id := range []event.SessionID{id, from} {
		if err := journal.CheckID(id); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines, err := journal.Seeded(id, recs, s.o.Check())
	if err != nil {
		return err
	}
	if err := s.fault(id, "create"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] != nil {
		return fmt.Errorf("session %s: %w", id, journal.ErrExists)
	}
	x := &session{bytes: lines, synced: int64(len(lines)), blobs: map[string][]byte{}}
	for _, ref := range refs {
		src := s.sessions[from]
		if src == nil {
			break
		}
		if data, ok := src.blobs[ref.Digest]; ok {
			x.blobs[ref.Digest] = data // never changed in place
		}
	}
	s.sessions[id] = x
	s.changed()
	return nil
}
