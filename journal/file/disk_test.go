package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

func create(t *testing.T, s *file.Store) *pen {
	t.Helper()
	w, err := s.Create(t.Context(), id)
	p := newPen(t, w, err)
	p.append(journaltest.Open(t))
	p.sync()
	return p
}

func text(t testing.TB, n int) event.Record {
	return journaltest.Rec(t, event.UserMessage{Content: event.TextOf(strings.Repeat("x", n))}, 0, 0)
}

// proves LOG-12: the data, then the names it is found by, then the answer.
func TestTheFirstAcknowledgementWaitsForTheNames(t *testing.T) {
	disk, dir := newFaulty(), filepath.Join(t.TempDir(), "new", "home")
	s := open(t, dir, file.Options{FS: disk})
	w, err := s.Create(t.Context(), id)
	p := newPen(t, w, err)
	p.append(journaltest.Open(t))
	var ops []string
	disk.set(func(op, name string) error {
		if op == "sync" || op == "syncdir" {
			ops = append(ops, op+" "+name)
		}
		return nil
	})
	p.sync()
	if want := []string{"sync journal.jsonl", "syncdir s_file", "syncdir sessions", "syncdir home", "syncdir new"}; len(ops) < len(want) || !slices.Equal(ops[:len(want)], want) {
		t.Errorf("synced %q, want %q first", ops, want)
	}
	ops = nil
	p.append(text(t, 1))
	p.sync()
	if !slices.Equal(ops, []string{"sync journal.jsonl"}) {
		t.Errorf("then synced %q", ops)
	}
	disk.set(func(op, _ string) error {
		if op == "syncdir" {
			return syscall.EIO
		}
		return nil
	})
	w, err = s.Create(t.Context(), "s_other")
	q := newPen(t, w, err)
	q.append(journaltest.Open(t))
	if acked, err := w.Sync(t.Context()); !errors.Is(err, syscall.EIO) || acked != -1 {
		t.Errorf("a name that is not durable was acknowledged: %d, %v", acked, err)
	}
	disk.set(nil)
	q.sync()
}

// proves LOG-12: nobody relies on what a dead process was about to make durable.
func TestAFolderThatADeadProcessMadeIsNamedDurably(t *testing.T) {
	disk, dir := newFaulty(), filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(dir, "sessions", "s_dead"), 0o700); err != nil { // it died right behind that
		t.Fatal(err)
	}
	var ops []string
	disk.set(func(op, name string) error {
		if op == "syncdir" {
			ops = append(ops, name)
		}
		return nil
	})
	s := open(t, dir, file.Options{FS: disk})
	create(t, s)
	if want := []string{"s_file", "sessions", "home"}; !slices.Equal(ops, want) {
		t.Errorf("synced the folders %q, want %q", ops, want)
	}
	ops = nil
	first := journaltest.Open(t)
	first.Epoch = 1
	if err := s.Seed(t.Context(), "s_seed", []event.Record{first}, id, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(ops, "home") {
		t.Errorf("a whole session synced the folders %q", ops)
	}
}

// proves LOG-12: the name of the blobs' folder is durable with the first blob
// that is kept in it, whoever had made it.
func TestAFolderThatAFailedPutMadeIsNamedDurably(t *testing.T) {
	disk := newFaulty()
	s := open(t, t.TempDir(), file.Options{FS: disk})
	create(t, s)
	var ops []string
	full := true
	disk.set(func(op, name string) error {
		if full && op == "write" && strings.HasPrefix(name, ".new-") {
			return syscall.ENOSPC
		}
		if op == "syncdir" {
			ops = append(ops, name)
		}
		return nil
	})
	put := func(text string) error {
		ops = nil
		_, err := s.Blobs(id).Put(t.Context(), []byte(text))
		return err
	}
	if err := put("one"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	full = false
	if err := put("one"); err != nil || !slices.Equal(ops, []string{"blobs", "s_file"}) {
		t.Errorf("the first that is kept: %v, synced the folders %q", err, ops)
	}
	if err := put("two"); err != nil || !slices.Equal(ops, []string{"blobs"}) {
		t.Errorf("the next: %v, synced the folders %q", err, ops)
	}
	if err := os.RemoveAll(filepath.Join(s.Dir(id), "blobs")); err != nil {
		t.Fatal(err)
	}
	if err := put("two"); err != nil || !slices.Equal(ops, []string{"blobs", "s_file"}) {
		t.Errorf("in a folder that is new: %v, synced the folders %q", err, ops)
	}
}

// proves REC-02: saved and synced, then cut.
func TestATornTailIsSavedBeforeItIsCut(t *testing.T) {
	disk, dir := newFaulty(), t.TempDir()
	s := open(t, dir, file.Options{FS: disk})
	p := create(t, s)
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, _ := os.ReadFile(path(dir, "journal.jsonl"))
	tail := bytes.Repeat([]byte("torn \x00\xff"), 50_000)
	if err := os.WriteFile(path(dir, "journal.jsonl"), append(bytes.Clone(whole), tail...), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := fmt.Sprintf("journal.torn.%d", len(whole))
	for _, fault := range []string{"write " + saved, "sync " + saved, "syncdir s_file", "truncate journal.jsonl"} {
		disk.set(func(op, name string) error {
			if op+" "+name == fault {
				return syscall.EIO
			}
			return nil
		})
		if _, err := s.Acquire(t.Context(), id); !errors.Is(err, journal.ErrStorage) {
			t.Fatalf("with %s failing, acquire says %v", fault, err)
		}
		if now, _ := os.ReadFile(path(dir, "journal.jsonl")); len(now) != len(whole)+len(tail) {
			t.Fatalf("with %s failing, the journal was cut", fault)
		}
	}
	disk.set(nil)
	w, err := s.Acquire(t.Context(), id)
	newPen(t, w, err)
	torn := w.Recovered().Torn
	if torn == nil || !strings.HasPrefix(torn.File, saved) {
		t.Fatalf("recovered %+v", torn)
	}
	if kept, err := os.ReadFile(path(dir, torn.File)); err != nil || !bytes.Equal(kept, tail) {
		t.Errorf("%d bytes were saved of %d: %v", len(kept), len(tail), err)
	}
	if now, _ := os.ReadFile(path(dir, "journal.jsonl")); !bytes.Equal(now, whole) {
		t.Error("what is left is not the valid prefix")
	}
}

// proves REC-02: a new batch says that the one before it is durable, so opening
// makes it so.
func TestOpeningSyncsWhatItFound(t *testing.T) {
	disk := newFaulty()
	s := open(t, t.TempDir(), file.Options{FS: disk})
	p := create(t, s)
	p.append(journaltest.Turn(t, 1)...)
	disk.crash()
	disk.fail("sync", syscall.EIO)
	if _, err := s.Acquire(t.Context(), id); !errors.Is(err, journal.ErrStorage) {
		t.Errorf("acquire over bytes that cannot be made durable says %v", err)
	}
	disk.set(nil)
	w, err := s.Acquire(t.Context(), id)
	if q := newPen(t, w, err); q.last != 7 {
		t.Errorf("%d records of 8", q.last+1)
	}
}

// proves LOG-14: after a failed sync the pages lie; everything since the last
// good one is written again through a new descriptor.
func TestAfterAFailedSyncTheBytesAreWrittenAgain(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string, acked int64){
		"the bytes seem to be there": func(*testing.T, string, int64) {},
		"they are gone": func(t *testing.T, path string, acked int64) {
			if err := os.Truncate(path, acked); err != nil {
				t.Fatal(err)
			}
		},
		"they read as zeros": func(t *testing.T, path string, acked int64) {
			b, _ := os.ReadFile(path)
			clear(b[acked:])
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(b[acked:], acked); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk, dir := newFaulty(), t.TempDir()
			s := open(t, dir, file.Options{FS: disk})
			p := create(t, s)
			acked, _ := os.ReadFile(path(dir, "journal.jsonl"))
			p.append(journaltest.Turn(t, 1)...)
			want, _ := os.ReadFile(path(dir, "journal.jsonl"))
			disk.fail("sync", syscall.EIO)
			if n, err := p.w.Sync(t.Context()); !errors.Is(err, syscall.EIO) || n != 0 {
				t.Fatalf("sync said %d, %v", n, err)
			}
			lose(t, path(dir, "journal.jsonl"), int64(len(acked)))
			opened, written := 0, 0
			disk.set(func(op, name string) error {
				if name == "journal.jsonl" {
					switch op {
					case "open":
						opened++
					case "write":
						written++
					}
				}
				return nil
			})
			p.sync()
			if opened != 1 || written != 1 {
				t.Errorf("opened again %d times, written again %d times", opened, written)
			}
			if got, _ := os.ReadFile(path(dir, "journal.jsonl")); !bytes.Equal(got, want) {
				t.Error("what was written again is not what was written")
			}
		})
	}
}

// proves LOG-14: ENOSPC, EMFILE and a short write leave a writer that works on.
func TestFaultsOfTheDiskPass(t *testing.T) {
	for name, fault := range map[string]func(op, name string) error{
		"short write, no space": func(op, name string) error {
			if op == "write" && name == "journal.jsonl" {
				return syscall.ENOSPC
			}
			return nil
		},
		"short write that cannot be cut": func(op, name string) error {
			if (op == "write" || op == "truncate") && name == "journal.jsonl" {
				return syscall.ENOSPC
			}
			return nil
		},
		"remounted read-only": func(op, _ string) error {
			if op == "write" || op == "truncate" {
				return syscall.EROFS
			}
			return nil
		},
		"write error, no descriptors left": func(op, name string) error {
			switch {
			case op == "write" && name == "journal.jsonl":
				return syscall.EIO
			case op == "open":
				return syscall.EMFILE
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk, dir := newFaulty(), t.TempDir()
			s := open(t, dir, file.Options{FS: disk})
			p := create(t, s)
			p.append(journaltest.Turn(t, 1)[:3]...)
			for range 3 {
				before := len(must(os.ReadFile(path(dir, "journal.jsonl"))))
				disk.set(fault)
				if err := p.try(journaltest.Turn(t, 1)[3:]...); !errors.Is(err, journal.ErrStorage) {
					t.Fatalf("append said %v", err)
				}
				if after := len(must(os.ReadFile(path(dir, "journal.jsonl")))); name == "short write, no space" && after != before {
					t.Errorf("a failed append keeps %d bytes of a full disk", after-before)
				}
				disk.set(nil)
				p.append(text(t, 10))
			}
			p.sync()
			if n := len(readAll(t, s)); n != 7 {
				t.Errorf("%d records of 7", n)
			}
			rep, err := s.Verify(t.Context(), id)
			if err != nil || !rep.OK || rep.Torn != nil {
				t.Errorf("verify says %+v, %v", rep, err)
			}
		})
	}
}

// locks is a file system whose locks bind only one store's own files, as if the
// real ones were broken between processes.
func locks(disk *faulty) *faulty {
	held := map[string]*faultyFile{}
	disk.lock = func(f *faultyFile) error {
		disk.mu.Lock()
		defer disk.mu.Unlock()
		if h := held[f.name]; h != nil && disk.open[h] {
			return file.ErrLocked
		}
		held[f.name] = f
		return nil
	}
	return disk
}

// proves LOG-11: with a broken lock the loser never acknowledges.
func TestWithABrokenLockTheFormerWriterIsFenced(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, file.Options{FS: locks(newFaulty())})
	b := open(t, dir, file.Options{FS: locks(newFaulty())})
	p := create(t, a)
	w, err := b.Acquire(t.Context(), id)
	q := newPen(t, w, err)
	q.append(journaltest.Turn(t, 1)...)
	q.sync()
	if err := p.try(journaltest.Turn(t, 1)...); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the former writer was told %v", err)
	}
	if _, err := p.w.Sync(t.Context()); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the former writer's sync said %v", err)
	}
	q.append(text(t, 1))
	q.sync()
	if n := len(readAll(t, b)); n != 9 {
		t.Errorf("%d records of 9", n)
	}
}

// proves LOG-11: forked at N, both branches readable, and the loser fenced.
func TestWritesThatCrossForkTheJournalAndOneIsNeverAcknowledged(t *testing.T) {
	dir := t.TempDir()
	slow := locks(newFaulty())
	a := open(t, dir, file.Options{FS: slow})
	b := open(t, dir, file.Options{FS: locks(newFaulty())})
	p := create(t, a)
	w, err := b.Acquire(t.Context(), id)
	q := newPen(t, w, err)
	slow.set(func(op, name string) error { // between a's look and its write
		if op == "write" && name == "journal.jsonl" {
			slow.set(nil)
			q.append(journaltest.Turn(t, 1)...)
			q.sync()
		}
		return nil
	})
	if err := p.try(journaltest.Turn(t, 1)...); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("a write that landed elsewhere was told %v", err)
	}
	if n, err := p.w.Sync(t.Context()); !errors.Is(err, journal.ErrFenced) || n != 0 {
		t.Errorf("it was acknowledged: %d, %v", n, err)
	}
	rep, err := a.Verify(t.Context(), id)
	if err != nil || rep.OK || rep.Records != 15 || !strings.Contains(rep.Damage[0].Why, "forked at 1") {
		t.Errorf("verify says %+v, %v", rep, err)
	}
	var damaged *journal.DamagedError
	if err := p.w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Acquire(t.Context(), id); !errors.As(err, &damaged) || !damaged.Forked {
		t.Errorf("the next writer is told %v", err)
	}
}

// proves LOG-11: pitfall 16, a file system on which locks do nothing.
func TestAFileSystemWithoutLocksIsRefused(t *testing.T) {
	disk := newFaulty()
	disk.lock = func(*faultyFile) error { return nil }
	s := open(t, t.TempDir(), file.Options{FS: disk})
	if _, err := s.Create(t.Context(), id); !errors.Is(err, journal.ErrStorage) || !strings.Contains(err.Error(), "locks") {
		t.Errorf("create said %v", err)
	}
}

// proves LOG-15: what a listing reads of a session does not grow with it.
func TestAListingReadsABoundedPartOfALongJournal(t *testing.T) {
	disk, dir := newFaulty(), t.TempDir()
	s := open(t, dir, file.Options{FS: disk})
	p := create(t, s)
	for n := 1; n <= 40; n++ {
		p.append(journaltest.Turn(t, n)...)
		p.append(text(t, 500_000))
		p.sync()
	}
	p.append(journaltest.Turn(t, 41)[:4]...)
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sessions", "s_odd", "journal.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	disk.read = 0
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	e := list[0]
	if e.State != journal.StateOpenTurn || e.Head == nil || len(e.Tail) == 0 || e.Tail[len(e.Tail)-1].Type != event.TypeInboxClaimed || e.Bytes < 20_000_000 {
		t.Errorf("listed as %s (%v) with %d records of the tail", e.State, e.Err, len(e.Tail))
	}
	if list[1].State != journal.StateDamaged || list[1].Err == nil {
		t.Errorf("a journal that cannot be read is listed as %+v", list[1])
	}
	if disk.read > 4<<20 {
		t.Errorf("%d bytes of %d were read", disk.read, e.Bytes)
	}
	if err := os.WriteFile(path(dir, "journal.jsonl"), append(must(os.ReadFile(path(dir, "journal.jsonl")))[:10_000_000], "zz\n{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err = s.List(t.Context()); err != nil || list[0].State != journal.StateIdle && list[0].State != journal.StateOpenTurn {
		t.Errorf("with a torn tail it is listed as %+v, %v", list[0], err)
	}
}

func must(b []byte, _ error) []byte { return b }
