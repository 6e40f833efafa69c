package mem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// Options tune a store; the zero value is ready to use.
type Options struct {
	// Check makes a judge of the order of records for one journal; nil means
	// no rules.
	Check func() journal.Checker
	// Fault is asked before each operation, "create", "acquire", "append",
	// "sync", "read", "blob.put", "blob.get", and makes it fail with the error
	// it returns. It may be called from any goroutine, never under a lock. Nil
	// means no faults.
	Fault func(op string) error
	// Delay is how long each Sync with something to sync takes.
	Delay time.Duration
}

// Store is a [journal.Store] in memory.
type Store struct {
	o Options

	mu       sync.Mutex
	sessions map[event.SessionID]*session
	wake     chan struct{} // closed at the next change of any journal
}

type session struct {
	bytes  []byte // never changed in place: readers share it
	synced int64
	gen    int // counts the times that bytes were replaced, not appended to
	writer *writer
	blobs  map[string][]byte
	beside map[string][]byte // torn tails
}

var _ journal.Store = (*Store)(nil)

// New returns an empty store.
func New(o Options) *Store {
	if o.Check == nil {
		o.Check = func() journal.Checker { return nil }
	}
	if o.Fault == nil {
		o.Fault = func(string) error { return nil }
	}
	return &Store{o: o, sessions: make(map[event.SessionID]*session), wake: make(chan struct{})}
}

func (s *Store) fault(id event.SessionID, op string) error {
	if err := s.o.Fault(op); err != nil {
		return fmt.Errorf("session %s: %s: %w: %w", id, op, journal.ErrStorage, err)
	}
	return nil
}

func notFound(id event.SessionID) error {
	return fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
}

// changed wakes all followers; the caller holds the lock.
func (s *Store) changed() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// Bytes returns a copy of a journal as it stands, synced or not; nil if there
// is no such session.
func (s *Store) Bytes(id event.SessionID) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return slices.Clone(x.bytes)
	}
	return nil
}

// Synced returns how many bytes of a journal are durable.
func (s *Store) Synced(id event.SessionID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return x.synced
	}
	return 0
}

// Put makes b the journal of a session, durable as it is. A writer of it is
// fenced. Blobs stay.
func (s *Store) Put(id event.SessionID, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil {
		x = &session{}
		s.sessions[id] = x
	}
	x.bytes, x.synced, x.writer = slices.Clone(b), int64(len(b)), nil
	x.gen++
	s.changed()
}

// Crash ends every writer as the death of its process would. With unsynced
// false, what was not synced is gone, as by a power cut.
func (s *Store) Crash(unsynced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.writer = nil
		if !unsynced {
			x.bytes = slices.Clone(x.bytes[:x.synced])
			x.gen++
		}
	}
	s.changed()
}

// Torn returns the bytes of a tail that was set aside.
func (s *Store) Torn(id event.SessionID, name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return slices.Clone(x.beside[name])
	}
	return nil
}

func self() event.Owner {
	host, _ := os.Hostname()
	return event.Owner{PID: os.Getpid(), Host: host}
}

// Create makes an empty journal and takes it for writing.
func (s *Store) Create(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.fault(id, "create"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] != nil {
		return nil, fmt.Errorf("session %s: %w", id, journal.ErrExists)
	}
	x := &session{}
	s.sessions[id] = x
	x.writer = s.newWriter(id, x, journal.Origin(), s.o.Check(), nil)
	return x.writer, nil
}

// Acquire takes an existing journal for writing.
func (s *Store) Acquire(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.fault(id, "acquire"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	switch {
	case x == nil:
		return nil, notFound(id)
	case x.writer != nil:
		return nil, &journal.BusyError{ID: id, Owner: self()}
	}
	check := s.o.Check()
	found := scan(x.bytes, check)
	if err := found.Err(id, ""); err != nil {
		return nil, err
	}
	if t := found.Torn; t != nil {
		t.File = fmt.Sprintf("journal.torn.%d", t.Offset)
		for i := 1; x.beside[t.File] != nil; i++ {
			t.File = fmt.Sprintf("journal.torn.%d.%d", t.Offset, i)
		}
		if x.beside == nil {
			x.beside = make(map[string][]byte)
		}
		x.beside[t.File] = slices.Clone(x.bytes[t.Offset:])
		x.bytes = slices.Clone(x.bytes[:t.Offset])
		x.gen++
		s.changed()
	}
	x.synced = int64(len(x.bytes))
	x.writer = s.newWriter(id, x, found.Tip, check, found.Torn)
	return x.writer, nil
}

func scan(b []byte, check journal.Checker) *journal.Found {
	sc := journal.NewScanner(bytes.NewReader(b), int64(len(b)), journal.ScanOptions{Check: check})
	for sc.Next() {
	}
	return sc.Found()
}

// view is a journal at one moment.
type view struct {
	bytes []byte
	gen   int
	wake  <-chan struct{} // closed when any journal changes
}

func (s *Store) view(id event.SessionID) (view, error) {
	if err := journal.CheckID(id); err != nil {
		return view{}, err
	}
	if err := s.fault(id, "read"); err != nil {
		return view{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil {
		return view{}, notFound(id)
	}
	return view{x.bytes, x.gen, s.wake}, nil
}

// Verify reads the whole journal and reports on it.
func (s *Store) Verify(ctx context.Context, id event.SessionID) (journal.Report, error) {
	v, err := s.view(id)
	if err != nil {
		return journal.Report{}, err
	}
	if ctx.Err() != nil {
		return journal.Report{}, context.Cause(ctx)
	}
	found := scan(v.bytes, s.o.Check())
	if found.Future != nil {
		return journal.Report{}, found.Err(id, "")
	}
	return found.Report(), nil
}

// Read yields the records from seq on as they stand now.
func (s *Store) Read(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		v, err := s.view(id)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		sc := journal.NewScanner(bytes.NewReader(v.bytes), int64(len(v.bytes)), journal.ScanOptions{})
		feed := journal.NewFeed(sc, id, "", from)
		if !feed.Give(ctx, yield) && !feed.Left() && ctx.Err() != nil {
			yield(event.Record{}, context.Cause(ctx))
		}
	}
}

// Follow yields the records from seq on and waits for more until ctx is done.
func (s *Store) Follow(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		now := &moving{}
		var sc *journal.Scanner
		var feed *journal.Feed
		for next := from; ctx.Err() == nil; {
			v, err := s.view(id)
			if err != nil {
				yield(event.Record{}, err)
				return
			}
			if sc != nil && v.gen != now.gen && !now.stands(v, sc.Found().Tip) {
				sc, next = nil, feed.Next() // what was read is no longer there
			}
			now.view = v
			if sc == nil {
				sc = journal.NewScanner(now, int64(len(v.bytes)), journal.ScanOptions{})
				feed = journal.NewFeed(sc, id, "", next)
			} else {
				sc.Resume(int64(len(v.bytes)))
			}
			if !feed.Give(ctx, yield) {
				return
			}
			select {
			case <-ctx.Done():
			case <-v.wake:
			}
		}
	}
}

// moving is a source that is exchanged between scans.
type moving struct{ view }

func (m *moving) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.bytes).ReadAt(p, off)
}

// stands reports whether v begins with what was read up to at.
func (m *moving) stands(v view, at journal.Place) bool {
	n := min(at.End, int64(len(m.bytes)))
	return int64(len(v.bytes)) >= n && bytes.Equal(v.bytes[:n], m.bytes[:n])
}

// List yields every session, ordered by id.
func (s *Store) List(ctx context.Context) ([]journal.Entry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []journal.Entry
	for id, x := range s.sessions {
		out = append(out, x.entry(id))
	}
	slices.SortFunc(out, func(a, b journal.Entry) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return out, nil
}

func (x *session) entry(id event.SessionID) journal.Entry {
	e := journal.Entry{ID: id, State: journal.StateIdle, Bytes: int64(len(x.bytes))}
	if x.writer != nil {
		o := self()
		e.Owner, e.State = &o, journal.StateRunning
	}
	sc := journal.NewScanner(bytes.NewReader(x.bytes), int64(len(x.bytes)), journal.ScanOptions{})
	open := false
	for sc.Next() {
		it := sc.Item()
		if it.Kind != journal.ItemRecord {
			continue
		}
		if k, ok := event.KindOf(it.Type); ok && k.Scope != event.ScopeSession {
			open = it.Type != event.TypeTurnEnded
		}
		r, err := it.Record()
		if err != nil {
			continue
		}
		if r.Seq == 0 {
			e.Head = &r
		}
		e.Turn = max(e.Turn, r.Turn)
		if len(e.Tail) == 8 {
			e.Tail = e.Tail[1:]
		}
		e.Tail = append(e.Tail, r)
	}
	found := sc.Found()
	e.Err = found.Err(id, "")
	switch {
	case found.Future != nil:
		e.State = journal.StateFuture
	case found.Forked:
		e.State = journal.StateForked
	case e.Err != nil:
		e.State = journal.StateDamaged
	case e.Owner == nil && open:
		e.State = journal.StateOpenTurn
	}
	return e
}

// Delete removes a session that nobody writes.
func (s *Store) Delete(ctx context.Context, id event.SessionID) error {
	if err := journal.CheckID(id); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	switch {
	case x == nil:
		return notFound(id)
	case x.writer != nil:
		return &journal.BusyError{ID: id, Owner: self()}
	}
	delete(s.sessions, id)
	s.changed()
	return nil
}

// Dir is empty: nothing is kept in files.
func (s *Store) Dir(event.SessionID) string { return "" }

// Blobs returns the session's large values.
func (s *Store) Blobs(id event.SessionID) journal.Blobs { return blobs{s, id} }

type blobs struct {
	s  *Store
	id event.SessionID
}

// Put keeps data and returns its name.
func (b blobs) Put(ctx context.Context, data []byte) (event.BlobRef, error) {
	if err := journal.CheckID(b.id); err != nil {
		return event.BlobRef{}, err
	}
	if ctx.Err() != nil {
		return event.BlobRef{}, context.Cause(ctx)
	}
	if err := b.s.fault(b.id, "blob.put"); err != nil {
		return event.BlobRef{}, err
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	x := b.s.sessions[b.id]
	if x == nil {
		return event.BlobRef{}, notFound(b.id)
	}
	sum := sha256.Sum256(data)
	ref := event.BlobRef{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(data))}
	if x.blobs == nil {
		x.blobs = make(map[string][]byte)
	}
	x.blobs[ref.Digest] = slices.Clone(data)
	return ref, nil
}

// Get returns a blob's bytes.
func (b blobs) Get(ctx context.Context, ref event.BlobRef) ([]byte, error) {
	if err := journal.CheckID(b.id); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := b.s.fault(b.id, "blob.get"); err != nil {
		return nil, err
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	x := b.s.sessions[b.id]
	if x != nil {
		if data, ok := x.blobs[ref.Digest]; ok {
			return slices.Clone(data), nil
		}
	}
	return nil, fmt.Errorf("session %s: %w: %s", b.id, journal.ErrNoBlob, ref.Digest)
}
