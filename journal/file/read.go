package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// Follow looks at the file this often: quickly after news, slowly when idle. A
// writer of the same store wakes it at once.
const (
	pollFast = 5 * time.Millisecond
	pollSlow = 50 * time.Millisecond
)

// scan reads the whole journal and judges it.
func (s *Store) scan(ctx context.Context, id event.SessionID, f File, check journal.Checker) (*journal.Found, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, s.storage(id, "read", err)
	}
	sc := journal.NewScanner(f, info.Size(), journal.ScanOptions{Check: check})
	for n := 0; sc.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, s.storage(id, "read", err)
	}
	s.remember(id, info, sc.Found().Err(id, s.path(id, journalName)))
	return sc.Found(), nil
}

// tail reads what stands behind at.
func (s *Store) tail(ctx context.Context, id event.SessionID, f File, size int64, at journal.Place, check journal.Checker) (*journal.Found, error) {
	sc := journal.NewScanner(f, size, journal.ScanOptions{Check: check, Start: &at})
	for n := 0; sc.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, s.storage(id, "read", err)
	}
	return sc.Found(), nil
}

// begin is where a read of the records from seq on may start: behind the
// snapshot, if that stands before them.
func (s *Store) begin(id event.SessionID, f File, size int64, from event.Seq) journal.ScanOptions {
	if from > 0 {
		if at, ok := s.snapshotPlace(id, f, size); ok && at.Seq < from {
			return journal.ScanOptions{Start: &at}
		}
	}
	return journal.ScanOptions{}
}

func (s *Store) openRead(id event.SessionID) (File, fs.FileInfo, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, nil, err
	}
	f, err := s.fs.Open(s.path(id, journalName), os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, s.missing(id, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, s.storage(id, "read", err)
	}
	return f, info, nil
}

// Verify reads the whole journal and reports on it.
func (s *Store) Verify(ctx context.Context, id event.SessionID) (journal.Report, error) {
	f, _, err := s.openRead(id)
	if err != nil {
		return journal.Report{}, err
	}
	defer f.Close()
	found, err := s.scan(ctx, id, f, s.check())
	if err != nil {
		return journal.Report{}, err
	}
	if found.Future != nil {
		return journal.Report{}, found.Err(id, s.path(id, journalName))
	}
	if len(found.Damage) > 0 {
		s.dropSnapshot(id)
	}
	return found.Report(), nil
}

// Read yields the records from seq on as they stand now.
func (s *Store) Read(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		f, info, err := s.openRead(id)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		defer f.Close()
		sc := journal.NewScanner(f, info.Size(), s.begin(id, f, info.Size(), from))
		feed := journal.NewFeed(sc, id, s.path(id, journalName), from)
		if !feed.Give(ctx, yield) && !feed.Left() && ctx.Err() != nil {
			yield(event.Record{}, context.Cause(ctx))
		}
	}
}

// Follow yields the records from seq on and waits for more until ctx is done.
// When the file was replaced, it goes on in the new one.
func (s *Store) Follow(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for next := from; ctx.Err() == nil; {
			var again bool
			if next, again = s.follow(ctx, id, next, yield); !again {
				return
			}
		}
	}
}

// follow yields from one open file until it is replaced (again), or all is
// over.
func (s *Store) follow(ctx context.Context, id event.SessionID, from event.Seq, yield func(event.Record, error) bool) (next event.Seq, again bool) {
	f, info, err := s.openRead(id)
	if err != nil {
		yield(event.Record{}, err)
		return from, false
	}
	defer f.Close()
	sc := journal.NewScanner(f, info.Size(), s.begin(id, f, info.Size(), from))
	feed := journal.NewFeed(sc, id, s.path(id, journalName), from)
	seen, wait := info, pollFast
	for {
		woken := s.woken(id)
		now, err := s.fs.Stat(s.path(id, journalName))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			yield(event.Record{}, s.missing(id, err))
			return feed.Next(), false
		case err != nil: // not now, such as too many open files: look again
			now = seen
		case !os.SameFile(now, seen):
			return feed.Next(), true
		}
		if now.Size() != seen.Size() || !now.ModTime().Equal(seen.ModTime()) {
			if !stands(f, sc.Found().Tip) {
				return feed.Next(), true
			}
			sc.Resume(now.Size())
			seen, wait = now, pollFast
		}
		if !feed.Give(ctx, yield) {
			return feed.Next(), false
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return feed.Next(), false
		case <-woken:
			t.Stop()
			wait = pollFast
		case <-t.C:
			wait = min(2*wait, pollSlow)
		}
	}
}

// stands reports whether the record behind which place the scan stands is
// still there: a record that was read before it was synced may be taken back.
func stands(f File, at journal.Place) bool {
	if at.Seq < 0 {
		return true
	}
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, at.Off)
	sum, ok := event.LineSum(b[:n])
	return ok && sum == at.Sum
}

// woken returns a channel that is closed at the session's next append through
// this store.
func (s *Store) woken(id event.SessionID) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.wake[id]
	if !ok {
		c = make(chan struct{})
		s.wake[id] = c
	}
	return c
}

// notify wakes the session's followers.
func (s *Store) notify(id event.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.wake[id]; ok {
		close(c)
		delete(s.wake, id)
	}
}

// remember keeps the verdict of a whole read for listings.
func (s *Store) remember(id event.SessionID, info fs.FileInfo, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.verdicts, id)
		return
	}
	s.verdicts[id] = verdict{info, err}
}

// remembered returns the verdict on a file that has only grown since.
func (s *Store) remembered(id event.SessionID, info fs.FileInfo) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.verdicts[id]
	if !ok || !os.SameFile(v.info, info) || info.Size() < v.info.Size() {
		return nil
	}
	return v.err
}
