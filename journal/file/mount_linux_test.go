package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// mounted returns a folder on a file system of its own of 1 MiB.
func mounted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs the right to mount a small file system (root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all the space that is left.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 4096); ; {
		if _, err := f.Write(b); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// proves LOG-14, B031
func TestAFullDiskIsSaidTheClosersFitAndTheWriterWorksOn(t *testing.T) {
	dir := mounted(t)
	s := open(t, dir, file.Options{})
	p := create(t, s)
	p.append(journaltest.Turn(t, 1)...)
	p.sync()
	fill(t, dir)
	for range 2 {
		if err := p.try(text(t, 20_000)); !errors.Is(err, journal.ErrStorage) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("on a full disk append said %v", err)
		}
	}
	p.w.Free()
	p.append(text(t, 20_000)) // the closers
	p.sync()
	fill(t, dir)
	if err := p.try(text(t, 20_000)); !errors.Is(err, journal.ErrStorage) {
		t.Fatalf("on a full disk append said %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	p.append(journaltest.Turn(t, 2)...)
	p.sync()
	if n := len(readAll(t, s)); n != 16 {
		t.Errorf("%d records of 16", n)
	}
	if info, err := os.Stat(path(dir, "reserve")); err != nil || info.Size() != file.DefaultReserve {
		t.Errorf("the reserve was not made again: %v, %v", info, err)
	}
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path(dir, "reserve")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an idle session keeps a reserve: %v", err)
	}
}

// proves LOG-14: a read-only remount ends, and the same writer works on.
func TestAReadOnlyDiskIsSaidAndTheWriterWorksOn(t *testing.T) {
	dir := mounted(t)
	s := open(t, dir, file.Options{Reserve: -1})
	p := create(t, s)
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	if n := len(readAll(t, s)); n != 1 {
		t.Errorf("%d records of 1 can be read", n)
	}
	if _, err := s.Acquire(t.Context(), id); !errors.Is(err, journal.ErrStorage) || !errors.Is(err, syscall.EROFS) {
		t.Errorf("acquire said %v", err)
	}
	if _, err := s.Create(t.Context(), "s_new"); !errors.Is(err, journal.ErrStorage) {
		t.Errorf("create said %v", err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].State != journal.StateIdle {
		t.Errorf("list says %+v, %v", list, err)
	}
	remount(0)
	w, err := s.Acquire(t.Context(), id)
	p = newPen(t, w, err)
	p.append(journaltest.Turn(t, 1)...)
	p.sync()
}
