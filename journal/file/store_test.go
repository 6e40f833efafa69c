package file_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// proves LOG-01, LOG-02, LOG-04, LOG-05, LOG-07, LOG-10, LOG-11, LOG-12, LOG-14, LOG-15, REC-02, REC-06, PRF-02
func TestStore(t *testing.T) {
	var mu sync.Mutex
	disks := map[journal.Store]*faulty{}
	dirs := map[journal.Store]string{}
	name := func(s journal.Store, id event.SessionID) string {
		mu.Lock()
		defer mu.Unlock()
		return filepath.Join(dirs[s], "sessions", string(id), "journal.jsonl")
	}
	add := func(t *testing.T, dir string, check func() journal.Checker) journal.Store {
		disk := newFaulty()
		s := open(t, dir, file.Options{Check: check, FS: disk})
		mu.Lock()
		defer mu.Unlock()
		disks[s], dirs[s] = disk, dir
		return s
	}
	journaltest.Run(t, journaltest.Driver{
		Open: func(t *testing.T, check func() journal.Checker) journal.Store { return add(t, t.TempDir(), check) },
		Crash: func(t *testing.T, s journal.Store) journal.Store {
			disks[s].crash()
			return add(t, dirs[s], nil)
		},
		Bytes: func(t *testing.T, s journal.Store, id event.SessionID) []byte {
			b, err := os.ReadFile(name(s, id))
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		Put: func(t *testing.T, s journal.Store, id event.SessionID, b []byte) {
			if err := os.MkdirAll(filepath.Dir(name(s, id)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name(s, id), b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		Fail: func(_ *testing.T, s journal.Store, op string, err error) {
			disks[s].fail(map[string]string{"append": "write", "sync": "sync"}[op], err)
		},
		Stride: 7 * 31,
	})
}

// proves LOG-11: a lock is given up even while a process that is just
// being started has a copy of its descriptor
func TestALockIsGivenUpWhoeverHasItsDescriptor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	for _, shared := range []bool{false, true} {
		f, err := file.OS{}.Open(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Lock(shared); err != nil {
			t.Fatal(err)
		}
		raw, err := f.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		copied := -1
		if cerr := raw.Control(func(fd uintptr) { copied, err = unix.Dup(int(fd)) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
		defer unix.Close(copied)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := file.OS{}.Open(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Lock(false); err != nil {
			t.Errorf("shared %v: closed, and still %v", shared, err)
		}
		again.Close()
	}
}
