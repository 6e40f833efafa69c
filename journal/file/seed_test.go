package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// mortal is a file system whose process dies at its n-th change: from then on
// nothing works any more.
type mortal struct {
	file.OS
	left int // changes until then
}

var errDead = errors.New("the process is dead")

func (m *mortal) step() error {
	if m.left--; m.left < 0 {
		return errDead
	}
	return nil
}

func (m *mortal) Open(name string, flag int, perm fs.FileMode) (file.File, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	f, err := m.OS.Open(name, flag, perm)
	return mortalFile{f, m}, err
}

func (m *mortal) MkdirAll(name string, perm fs.FileMode) error {
	return errors.Join(m.step(), m.OS.MkdirAll(name, perm))
}

func (m *mortal) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.OS.Rename(from, to)
}

func (m *mortal) RemoveAll(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.OS.RemoveAll(name)
}

func (m *mortal) Link(old, name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.OS.Link(old, name)
}

func (m *mortal) SyncDir(name string) error { return errors.Join(m.step(), m.OS.SyncDir(name)) }

type mortalFile struct {
	file.File
	m *mortal
}

func (f mortalFile) Write(b []byte) (int, error) {
	if err := f.m.step(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f mortalFile) Sync() error { return errors.Join(f.m.step(), f.File.Sync()) }

// A death at any moment leaves the whole new session or none of it, and the
// other one as it was.
//
// proves RTY-10
func TestADeathWhileASessionIsMadeLeavesNoHalfOfIt(t *testing.T) {
	recs := append([]event.Record{journaltest.Open(t)}, journaltest.Turn(t, 1)...)
	for i := range recs {
		recs[i].Epoch = 1
	}
	for n := 0; n < 100; n++ {
		dir := t.TempDir()
		alive, err := file.Open(dir, file.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := alive.Create(t.Context(), "s_from")
		if err != nil {
			t.Fatal(err)
		}
		ref, err := alive.Blobs("s_from").Put(t.Context(), []byte("large"))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		m := &mortal{left: n}
		dying, err := file.Open(dir, file.Options{FS: m})
		if err != nil {
			t.Fatal(err)
		}
		made := dying.Seed(t.Context(), journaltest.ID, recs, "s_from", []event.BlobRef{ref})
		list, err := alive.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		there := len(list) == 2
		for _, e := range list {
			if e.ID != "s_from" && e.ID != journaltest.ID || e.State != journal.StateIdle {
				t.Errorf("after %d changes: %+v", n, e)
			}
		}
		if made == nil && !there {
			t.Errorf("after %d changes it is said to be made and is not there", n)
		}
		if there {
			rep, err := alive.Verify(t.Context(), journaltest.ID)
			if err != nil || !rep.OK || rep.Torn != nil || rep.Records != int64(len(recs)) {
				t.Errorf("after %d changes: %+v, %v", n, rep, err)
			}
			if _, err := alive.Blobs(journaltest.ID).Get(t.Context(), ref); err != nil {
				t.Errorf("after %d changes: its blob: %v", n, err)
			}
		}
		if made == nil {
			if _, err := os.Stat(filepath.Join(dir, "sessions", ".seed-"+string(journaltest.ID))); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was laid ready is still there: %v", err)
			}
			if n < 8 {
				t.Fatalf("it was made by %d changes: the sweep sees nothing", n)
			}
			return
		}
	}
	t.Error("it was never made")
}
