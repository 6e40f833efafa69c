package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// A listing holds the lock, shared, for microseconds to see whether it is
// taken, and a new owner needs a moment to write its name: a lock that nobody
// alive is named on is tried again for this long.
const (
	lockPatience = 100 * time.Millisecond
	lockAgain    = 2 * time.Millisecond
)

// Self names this process.
func Self() event.Owner {
	host, _ := os.Hostname()
	return event.Owner{PID: os.Getpid(), Start: startTime(os.Getpid()), Boot: bootID(), Host: host}
}

// takeLock locks the session for writing. The caller closes the file to give
// it up.
func (s *Store) takeLock(ctx context.Context, id event.SessionID) (File, error) {
	giveUp := time.Now().Add(lockPatience)
	for {
		f, err := s.fs.Open(s.path(id, lockName), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, s.storage(id, "open the lock", err)
		}
		err = f.Lock(false)
		if err == nil && s.current(f, id) {
			if err = s.holds(f, id); err == nil {
				s.nameOwner(f)
				return f, nil
			}
			return nil, err
		}
		if err != nil && !errors.Is(err, ErrLocked) {
			f.Close()
			return nil, s.storage(id, "lock", err)
		}
		owner := readOwner(f)
		f.Close()
		if err != nil && (s.alive(owner) || time.Now().After(giveUp)) {
			return nil, &journal.BusyError{ID: id, Owner: owner}
		}
		if _, err := s.fs.Stat(s.path(id, "")); err != nil {
			return nil, s.missing(id, err) // deleted while we waited
		}
		if err := sleep(ctx, lockAgain); err != nil {
			return nil, err
		}
	}
}

// current reports whether f is still the file of that name: a deleted
// session's lock binds nobody.
func (s *Store) current(f File, id event.SessionID) bool {
	named, err := s.fs.Stat(s.path(id, lockName))
	if err != nil {
		return false
	}
	held, err := f.Stat()
	return err == nil && os.SameFile(held, named)
}

// holds makes sure that the file system keeps locks at all: some accept them
// and do nothing. It closes f if not.
func (s *Store) holds(f File, id event.SessionID) error {
	again, err := s.fs.Open(s.path(id, lockName), os.O_RDONLY, 0)
	if err != nil {
		f.Close()
		return s.storage(id, "check the lock", err)
	}
	defer again.Close()
	if again.Lock(false) == nil {
		f.Close()
		return fmt.Errorf("session %s: %w: this file system does not keep locks; put the data folder on a local disk", id, journal.ErrStorage)
	}
	return nil
}

// nameOwner writes who holds the lock. It is for messages alone, so a full
// disk is no reason to stop.
func (s *Store) nameOwner(f File) {
	b, err := json.Marshal(s.self)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.Write(append(b, '\n'))
		}
	}
	if err != nil {
		s.log.Warn("the lock file does not name its owner", "error", err)
	}
}

func readOwner(f File) (o event.Owner) {
	b := make([]byte, 1024)
	n, _ := f.ReadAt(b, 0)
	_ = json.Unmarshal(b[:n], &o) // empty or half written: nobody is named
	return o
}

// alive reports whether the named process is known to run on this machine.
func (s *Store) alive(o event.Owner) bool {
	return o.PID > 0 && o.Host == s.self.Host && o.Boot == s.self.Boot && o.Start == startTime(o.PID) &&
		!errors.Is(unix.Kill(o.PID, 0), unix.ESRCH) // where a start time is not known, this is all that is
}

// owner returns who holds the session, nil if nobody does.
func (s *Store) owner(id event.SessionID) *event.Owner {
	f, err := s.fs.Open(s.path(id, lockName), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if err := f.Lock(true); !errors.Is(err, ErrLocked) {
		return nil
	}
	o := readOwner(f)
	return &o
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
