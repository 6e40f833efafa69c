package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

const (
	sessionsName = "sessions"
	journalName  = "journal.jsonl"
	lockName     = "lock"
	reserveName  = "reserve"
	blobsName    = "blobs"
	tornName     = "journal.torn."
	trashName    = ".trash-"
)

// DefaultReserve is the space kept back for the closers of one session.
const DefaultReserve = 64 << 10

// Options tune a store; the zero value is ready to use.
type Options struct {
	// Check makes a judge of the order of records for one journal; nil means
	// no rules.
	Check func() journal.Checker
	// CheckFrom makes the judge that stands where a snapshot's state does. nil:
	// snapshots are kept and not begun behind.
	CheckFrom func(state []byte) (journal.Checker, error)
	// Log hears of what the store could work around; nil is silent.
	Log *slog.Logger
	// FS is the file system; nil is [OS].
	FS FS
	// Reserve is how many bytes each writer keeps back for a full disk: 0 is
	// [DefaultReserve], less than 0 none.
	Reserve int64
}

// Store is a [journal.Store] of files. It may be used from any goroutine.
type Store struct {
	dir     string
	fs      FS
	check   func() journal.Checker
	from    func(state []byte) (journal.Checker, error)
	log     *slog.Logger
	reserve int64
	self    event.Owner

	mu       sync.Mutex
	wake     map[event.SessionID]chan struct{} // closed at the next append
	verdicts map[event.SessionID]verdict
	named    map[event.SessionID]bool // their folders of blobs are durable by name
}

// verdict remembers what a whole read found, for listings, which read little.
type verdict struct {
	info fs.FileInfo
	err  error
}

var _ journal.Store = (*Store)(nil)

// Open returns the store of the sessions under dir. It creates nothing: the
// folder appears with the first session.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("open sessions: no data folder was given")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open sessions: %w", err)
	}
	s := &Store{
		dir: dir, fs: o.FS, check: o.Check, from: o.CheckFrom, log: o.Log, reserve: o.Reserve, self: Self(),
		wake: make(map[event.SessionID]chan struct{}), verdicts: make(map[event.SessionID]verdict),
		named: make(map[event.SessionID]bool),
	}
	if s.fs == nil {
		s.fs = OS{}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.check == nil {
		s.check = func() journal.Checker { return nil }
	}
	if s.reserve == 0 {
		s.reserve = DefaultReserve
	}
	return s, nil
}

// path returns the name of something in a session's folder; id was checked.
func (s *Store) path(id event.SessionID, name string) string {
	return filepath.Join(s.dir, sessionsName, string(id), name)
}

// Dir returns the session's folder, empty for an id that is not one.
func (s *Store) Dir(id event.SessionID) string {
	if journal.CheckID(id) != nil {
		return ""
	}
	return s.path(id, "")
}

func (s *Store) storage(id event.SessionID, doing string, err error) error {
	return fmt.Errorf("session %s: %s: %w: %w", id, doing, journal.ErrStorage, err)
}

// missing names a session that is not there, or why it cannot be opened.
func (s *Store) missing(id event.SessionID, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w; `ripcord sessions` lists them", id, journal.ErrNotFound)
	}
	return s.storage(id, "open", err)
}

// Create makes an empty journal and takes it for writing.
func (s *Store) Create(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	exists := fmt.Errorf("session %s: %w", id, journal.ErrExists)
	if _, err := s.fs.Stat(s.path(id, journalName)); err == nil {
		return nil, exists
	}
	dirs := s.missingDirs(s.path(id, ""))
	if err := s.fs.MkdirAll(s.path(id, ""), 0o700); err != nil {
		return nil, s.storage(id, "create", err)
	}
	lock, err := s.takeLock(ctx, id)
	if busy := (*journal.BusyError)(nil); errors.As(err, &busy) {
		return nil, exists
	}
	if err != nil {
		return nil, err
	}
	f, err := s.fs.Open(s.path(id, journalName), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		lock.Close()
		return nil, exists
	}
	if err != nil {
		lock.Close()
		return nil, s.storage(id, "create", err)
	}
	return s.newWriter(id, f, lock, journal.Origin(), s.check(), nil, dirs), nil
}

// missingDirs returns the session's folder dir, those above it up to the
// store's, the ones above that which are not there yet, and the first that is:
// they change when dir and a file in it are made. The store's is among them in
// any case: who made the folder of sessions may have died before it was durable.
func (s *Store) missingDirs(dir string) []string {
	dirs := []string{dir, filepath.Dir(dir), s.dir}
	for d := s.dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := s.fs.Stat(d); err == nil {
			break
		}
		dirs = append(dirs, filepath.Dir(d))
	}
	return dirs
}

// Acquire takes an existing journal for writing.
func (s *Store) Acquire(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, err
	}
	if _, err := s.fs.Stat(s.path(id, journalName)); err != nil {
		return nil, s.missing(id, err)
	}
	lock, err := s.takeLock(ctx, id)
	if err != nil {
		return nil, err
	}
	w, err := s.acquire(ctx, id, lock)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return w, nil
}

// acquire judges the journal, sets a torn tail aside and makes sure that what
// is kept is durable before a new batch claims it.
func (s *Store) acquire(ctx context.Context, id event.SessionID, lock File) (_ *writer, err error) {
	f, err := s.fs.Open(s.path(id, journalName), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, s.missing(id, err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	found, check, snap, err := s.judge(ctx, id, f)
	if err != nil {
		return nil, err
	}
	if err := found.Err(id, s.path(id, journalName)); err != nil {
		return nil, err
	}
	if found.Torn != nil && found.Torn.Bytes > 0 {
		if err := s.setAside(id, f, found.Torn); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil {
		return nil, s.storage(id, "sync", err)
	}
	// A creator that died may not have got to syncing the names.
	dirs := []string{s.path(id, ""), filepath.Join(s.dir, sessionsName), s.dir}
	w := s.newWriter(id, f, lock, found.Tip, check, found.Torn, dirs)
	w.snapshot = snap
	return w, nil
}

// judge reads the journal behind its snapshot, if there is one that stands, and
// the whole of it where the tail is not in order, or was found damaged before.
func (s *Store) judge(ctx context.Context, id event.SessionID, f File) (*journal.Found, journal.Checker, *journal.Snapshot, error) {
	if info, err := f.Stat(); err == nil && s.from != nil && s.remembered(id, info) == nil {
		if snap := s.loadSnapshot(id, f, info.Size()); snap != nil {
			check, err := s.from(snap.State)
			if err == nil {
				found, err := s.tail(ctx, id, f, info.Size(), snap.At, check)
				if err == nil && found.Err(id, "") == nil {
					return found, check, snap, nil
				}
			}
			if ctx.Err() != nil {
				return nil, nil, nil, context.Cause(ctx)
			}
			s.log.Info("a journal is read as a whole: its snapshot is of no use", "session", id, "error", err)
		}
	}
	check := s.check()
	found, err := s.scan(ctx, id, f, check)
	return found, check, nil, err
}

// setAside saves and syncs the torn tail beside the journal, then cuts it.
func (s *Store) setAside(id event.SessionID, f File, t *journal.Torn) error {
	name, err := s.saveTorn(id, f, t)
	if err != nil {
		return s.storage(id, "save the torn tail", err)
	}
	t.File = name
	if err := f.Truncate(t.Offset); err != nil {
		return s.storage(id, "cut the torn tail", err)
	}
	s.log.Info("a torn tail was set aside", "session", id, "offset", t.Offset, "bytes", t.Bytes, "file", name)
	return nil
}

func (s *Store) saveTorn(id event.SessionID, f File, t *journal.Torn) (string, error) {
	base := fmt.Sprintf("%s%d", tornName, t.Offset)
	for i, name := 1, base; ; i++ {
		out, err := s.fs.Open(s.path(id, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) { // of an earlier tear at the same place
			name = fmt.Sprintf("%s.%d", base, i)
			continue
		}
		if err != nil {
			return "", err
		}
		err = copyRange(out, f, t.Offset, t.Bytes)
		if err == nil {
			err = out.Sync()
		}
		if err = errors.Join(err, out.Close()); err == nil {
			err = s.fs.SyncDir(s.path(id, ""))
		}
		if err != nil {
			return "", errors.Join(err, s.fs.RemoveAll(s.path(id, name)))
		}
		return name, nil
	}
}

func copyRange(dst File, src File, off, n int64) error {
	buf := make([]byte, min(n, 1<<18))
	for n > 0 {
		part := buf[:min(n, int64(len(buf)))]
		if _, err := src.ReadAt(part, off); err != nil {
			return err
		}
		if _, err := dst.Write(part); err != nil {
			return err
		}
		off, n = off+int64(len(part)), n-int64(len(part))
	}
	return nil
}

// Delete removes a session. It vanishes from listings at once.
func (s *Store) Delete(ctx context.Context, id event.SessionID) error {
	if err := journal.CheckID(id); err != nil {
		return err
	}
	if _, err := s.fs.Stat(s.path(id, "")); err != nil {
		return s.missing(id, err)
	}
	lock, err := s.takeLock(ctx, id)
	if err != nil {
		return err
	}
	defer lock.Close()
	trash := filepath.Join(s.dir, sessionsName, trashName+string(id))
	err = s.fs.RemoveAll(trash)
	if err == nil {
		err = s.fs.Rename(s.path(id, ""), trash)
	}
	if err == nil {
		err = s.fs.SyncDir(filepath.Join(s.dir, sessionsName))
	}
	if err == nil {
		err = s.fs.RemoveAll(trash)
	}
	if err != nil {
		return s.storage(id, "delete", err)
	}
	s.notify(id)
	return nil
}
