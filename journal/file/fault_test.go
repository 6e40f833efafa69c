package file_test

import (
	"io/fs"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
)

// faulty is the real file system with faults, for the tests of one store.
type faulty struct {
	file.OS
	mu   sync.Mutex
	open map[*faultyFile]bool
	// hook runs before each operation, named "open", "write", "sync",
	// "truncate", "lock", "syncdir", "read", and may fail it. A failing write
	// leaves half its bytes behind.
	hook func(op, name string) error
	// lock replaces the locking when it is set.
	lock func(f *faultyFile) error
	read int64 // bytes
}

func newFaulty() *faulty { return &faulty{open: make(map[*faultyFile]bool)} }

func (s *faulty) set(hook func(op, name string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

func (s *faulty) before(op, name string) error {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(op, filepath.Base(name))
}

// fail makes one operation on journals fail.
func (s *faulty) fail(op string, err error) {
	s.set(func(o, name string) error {
		if o == op && name == "journal.jsonl" {
			return err
		}
		return nil
	})
}

// crash closes every file behind the store's back, as a dying process would.
func (s *faulty) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.open {
		f.File.Close()
	}
	clear(s.open)
}

func (s *faulty) Open(name string, flag int, perm fs.FileMode) (file.File, error) {
	if err := s.before("open", name); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := s.OS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	ff := &faultyFile{f, s, name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[ff] = true
	return ff, nil
}

func (s *faulty) SyncDir(name string) error {
	if err := s.before("syncdir", name); err != nil {
		return err
	}
	return s.OS.SyncDir(name)
}

type faultyFile struct {
	file.File
	s    *faulty
	name string
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.s.before("write", f.name); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.s.before("read", f.name); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(b, off)
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.read += int64(n)
	return n, err
}

func (f *faultyFile) Sync() error {
	if err := f.s.before("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(n int64) error {
	if err := f.s.before("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

func (f *faultyFile) Lock(shared bool) error {
	if err := f.s.before("lock", f.name); err != nil {
		return err
	}
	if f.s.lock != nil {
		return f.s.lock(f)
	}
	return f.File.Lock(shared)
}

func (f *faultyFile) Close() error {
	f.s.mu.Lock()
	delete(f.s.open, f)
	f.s.mu.Unlock()
	return f.File.Close()
}

func open(t testing.TB, dir string, o file.Options) *file.Store {
	t.Helper()
	s, err := file.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const id = event.SessionID("s_file")

func path(dir string, name string) string { return filepath.Join(dir, "sessions", string(id), name) }

// pen writes through a Writer and keeps account.
type pen struct {
	t    testing.TB
	w    journal.Writer
	last event.Seq
}

func newPen(t testing.TB, w journal.Writer, err error) *pen {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &pen{t, w, w.Recovered().Last}
}

func (p *pen) try(recs ...event.Record) (err error) {
	p.last, err = p.w.Append(p.t.Context(), p.last, p.w.Recovered().Epoch+1, recs)
	return err
}

func (p *pen) append(recs ...event.Record) {
	p.t.Helper()
	if err := p.try(recs...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pen) sync() {
	p.t.Helper()
	if acked, err := p.w.Sync(p.t.Context()); err != nil || acked != p.last {
		p.t.Fatalf("sync acknowledged %d of %d: %v", acked, p.last, err)
	}
}

// readAll returns the records of a journal without damage.
func readAll(t testing.TB, s journal.Store) (recs []event.Record) {
	t.Helper()
	for r, err := range s.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	return recs
}
