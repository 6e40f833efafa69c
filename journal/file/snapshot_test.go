package file_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
)

// keeping is a journal of n records with a snapshot of all of them, and k more
// behind it.
func keeping(t *testing.T, n, k int) (dir string, state []byte) {
	t.Helper()
	dir, state = t.TempDir(), []byte(`{"what":"it folds to"}`)
	s := opened(t, dir, nil)
	w, err := s.Create(t.Context(), "s_1")
	if err != nil {
		t.Fatal(err)
	}
	last := event.Seq(-1)
	add := func(n int) {
		for range n {
			p := event.Payload(event.LeaseTaken{Owner: event.Owner{PID: int(last) + 2}})
			if last < 0 {
				p = event.SessionOpened{ID: "s_1"}
			}
			r, err := event.New(p, time.Unix(1000, 0))
			if err != nil {
				t.Fatal(err)
			}
			if last, err = w.Append(t.Context(), last, 1, []event.Record{r}); err != nil {
				t.Fatal(err)
			}
			if _, err = w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(n)
	keep := w.(journal.SnapshotWriter).Keep(state)
	add(k) // what comes while it is written is not in it
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, state
}

// opened is the store with a judge of snapshots' states; nil trusts all.
func opened(t *testing.T, dir string, judge func([]byte) (journal.Checker, error)) *file.Store {
	t.Helper()
	if judge == nil {
		judge = func([]byte) (journal.Checker, error) { return nil, nil }
	}
	s, err := file.Open(dir, file.Options{CheckFrom: judge})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take acquires the session and returns what it began behind and found.
func take(t *testing.T, s *file.Store) (*journal.Snapshot, journal.Recovered) {
	t.Helper()
	w, err := s.Acquire(t.Context(), "s_1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.(journal.SnapshotWriter).Snapshot(), w.Recovered()
}

func seqs(t *testing.T, s *file.Store, from event.Seq) (out []event.Seq) {
	t.Helper()
	for r, err := range s.Read(t.Context(), "s_1", from) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Seq)
	}
	return out
}

// proves LOG-16: a session is opened behind its snapshot, and reads give what
// they give without it
func TestAJournalIsTakenBehindItsSnapshot(t *testing.T) {
	dir, state := keeping(t, 20, 5)
	s := opened(t, dir, nil)
	snap, found := take(t, s)
	if snap == nil || snap.At.Seq != 19 || !bytes.Equal(snap.State, state) {
		t.Fatalf("began behind %+v", snap)
	}
	if found.Last != 24 || found.Torn != nil {
		t.Errorf("found %+v", found)
	}
	for _, from := range []event.Seq{0, 1, 19, 20, 24, 25} {
		got := seqs(t, s, from)
		if len(got) != 25-int(from) || len(got) > 0 && got[0] != from {
			t.Errorf("from %d: %v", from, got)
		}
	}
	if rep, err := s.Verify(t.Context(), "s_1"); err != nil || !rep.OK || rep.Records != 25 || rep.Verified != "full" {
		t.Errorf("%+v, %v", rep, err)
	}
}

// proves LOG-16, pitfall: a snapshot is derived; one that is not whole, not of
// these bytes, or not understood costs time and nothing else
func TestASnapshotThatDoesNotStandIsNotBegunBehind(t *testing.T) {
	dir, _ := keeping(t, 20, 5)
	path := filepath.Join(dir, "sessions", "s_1", "snapshot")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	none := func(name string, s *file.Store) {
		t.Helper()
		if snap, found := take(t, s); snap != nil || found.Last != 24 {
			t.Errorf("%s: began behind %+v, last %d", name, snap, found.Last)
		}
		if got := seqs(t, s, 21); len(got) != 4 {
			t.Errorf("%s: read %v", name, got)
		}
	}
	put := func(b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		put(bad)
		if got := seqs(t, opened(t, dir, nil), 20); len(got) != 5 {
			t.Fatalf("with byte %d flipped %v is read", i, got)
		}
		snap, found := take(t, opened(t, dir, nil))
		if found.Last != 24 || snap != nil && !bytes.Equal(snap.State, whole[bytes.IndexByte(whole, '\n')+1:]) {
			t.Fatalf("with byte %d flipped it is begun behind %+v", i, snap)
		}
	}
	for n := range len(whole) {
		put(whole[:n])
		if snap, _ := take(t, opened(t, dir, nil)); snap != nil {
			t.Fatalf("%d bytes of a snapshot are taken for one", n)
		}
	}
	put(whole)
	none("not understood", opened(t, dir, func([]byte) (journal.Checker, error) { return nil, errors.New("another version") }))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	none("removed", opened(t, dir, nil))

	other, _ := keeping(t, 23, 2)
	foreign, err := os.ReadFile(filepath.Join(other, "sessions", "s_1", "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	put(bytes.Replace(foreign, []byte(`"PID"`), []byte(`"PID"`), 1))
	if snap, found := take(t, opened(t, dir, nil)); found.Last != 24 || snap != nil && snap.At.Seq != 22 {
		t.Errorf("of another journal with the same records: %+v", snap)
	}
}

// proves LOG-16, REC-02: damage behind a snapshot is judged on the whole
// journal; damage before it is found by who reads all, and takes the snapshot
// away, so that the next one to open is refused
func TestDamageIsFoundOnBothSidesOfASnapshot(t *testing.T) {
	dir, _ := keeping(t, 20, 5)
	path := filepath.Join(dir, "sessions", "s_1", "journal.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	flip := func(line int) {
		off := len(bytes.Join(lines[:line], nil)) + 30
		b := bytes.Clone(whole)
		b[off] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var damaged *journal.DamagedError
	flip(21) // behind it, and not in the last batch
	if _, err := opened(t, dir, nil).Acquire(t.Context(), "s_1"); !errors.As(err, &damaged) {
		t.Errorf("behind the snapshot: %v", err)
	}
	flip(19) // the record that it names
	if _, err := opened(t, dir, nil).Acquire(t.Context(), "s_1"); !errors.As(err, &damaged) {
		t.Errorf("at the snapshot: %v", err)
	}
	flip(5) // before it
	s := opened(t, dir, nil)
	if snap, found := take(t, s); snap == nil || found.Last != 24 {
		t.Errorf("before the snapshot: %+v, %+v", snap, found)
	}
	w, err := s.Acquire(t.Context(), "s_1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if rep, err := s.Verify(t.Context(), "s_1"); err != nil || rep.OK {
		t.Errorf("the whole is verified: %+v, %v", rep, err)
	}
	kept := filepath.Join(filepath.Dir(path), "snapshot")
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the snapshot stays: %v", err)
	}
	if err := w.(journal.SnapshotWriter).Keep([]byte(`{}`))(); err != nil { // of who writes on
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another one takes its place: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, dir, nil).Acquire(t.Context(), "s_1"); !errors.As(err, &damaged) {
		t.Errorf("once it is known: %v", err)
	}
}

// proves LOG-16, pitfall: of what is not durable yet no snapshot is kept: a power
// cut would leave a session that goes on from what was never written
func TestOnlyWhatIsAcknowledgedIsKept(t *testing.T) {
	dir, _ := keeping(t, 3, 0)
	s := opened(t, dir, nil)
	w, err := s.Acquire(t.Context(), "s_1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := event.New(event.LeaseTaken{}, time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), 2, 2, []event.Record{r}); err != nil {
		t.Fatal(err)
	}
	keep := w.(journal.SnapshotWriter).Keep
	if err := keep([]byte(`{"of":"four records"}`))(); err == nil {
		t.Error("a snapshot of a record that nothing has synced is kept")
	}
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keep([]byte(`{"of":"four records"}`))(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if snap, _ := take(t, s); snap == nil || snap.At.Seq != 3 {
		t.Errorf("began behind %+v", snap)
	}
}
