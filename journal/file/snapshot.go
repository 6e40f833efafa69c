package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

const (
	snapshotName = "snapshot"
	snapshotTemp = "snapshot.new"
	snapshotMax  = 1 << 30 // bytes; a larger one is not read
	headMax      = 4 << 10
)

// snapshotHead is a snapshot file's first line; the state follows it.
type snapshotHead struct {
	V     int           `json:"v"`   // 2
	Sum   string        `json:"sum"` // sha256 of all that follows
	Place journal.Place `json:"place"`
	Bytes int64         `json:"bytes"` // of the state
	State string        `json:"state"` // sha256 of it: who wants the place alone need not read it
}

const snapshotVersion = 2

// headOf is the head of a snapshot at a place.
func headOf(at journal.Place, state []byte) snapshotHead {
	sum := sha256.Sum256(state)
	h := snapshotHead{V: snapshotVersion, Place: at, Bytes: int64(len(state)), State: hex.EncodeToString(sum[:])}
	h.Sum = h.sum()
	return h
}

func (h snapshotHead) sum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %+v %d %s", h.V, h.Place, h.Bytes, h.State))
	return hex.EncodeToString(sum[:])
}

// holds reports whether state is the one that was kept.
func (h snapshotHead) holds(state []byte) bool {
	sum := sha256.Sum256(state)
	return int64(len(state)) == h.Bytes && hex.EncodeToString(sum[:]) == h.State
}

// Snapshot is what this writer began behind.
func (w *writer) Snapshot() *journal.Snapshot { return w.snapshot }

// Keep returns what stores state as the fold of everything acknowledged. While
// something is not, nothing is stored: state may hold what a power cut takes.
func (w *writer) Keep(state []byte) func() error {
	if w.ledger.Unsynced() > 0 {
		return func() error { return fmt.Errorf("session %s: keep a snapshot: sync the journal first", w.id) }
	}
	at := w.ledger.Acked()
	s, id := w.s, w.id
	return func() error { return s.keep(id, at, state) }
}

// keep writes the snapshot beside the old one and takes its name. Only a file
// that was synced does: a name that outlives a power cut is whole.
func (s *Store) keep(id event.SessionID, at journal.Place, state []byte) error {
	head, err := json.Marshal(headOf(at, state))
	if err != nil {
		return err
	}
	temp := s.path(id, snapshotTemp)
	f, err := s.fs.Open(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return s.storage(id, "keep a snapshot", err)
	}
	_, err = f.Write(append(append(head, '\n'), state...))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.fs.Rename(temp, s.path(id, snapshotName))
	}
	if err != nil {
		return s.storage(id, "keep a snapshot", errors.Join(err, s.fs.RemoveAll(temp)))
	}
	if s.foundDamaged(id) { // it would hide from the next one to open what is known here
		s.dropSnapshot(id)
	}
	return nil
}

// snapshotPlace returns where the session's snapshot stands, if the record that
// it names is there. The state is not read.
func (s *Store) snapshotPlace(id event.SessionID, f File, size int64) (at journal.Place, ok bool) {
	b, _, ok := s.snapshotFile(id, headMax)
	if !ok {
		return at, false
	}
	head, _, ok := parseHead(b)
	return head.Place, ok && standsWhole(f, head.Place, size)
}

// loadSnapshot returns the session's snapshot if it is whole and stands on the
// journal's bytes.
func (s *Store) loadSnapshot(id event.SessionID, f File, size int64) *journal.Snapshot {
	b, _, ok := s.snapshotFile(id, snapshotMax)
	if !ok {
		return nil
	}
	head, n, ok := parseHead(b)
	if !ok || !head.holds(b[n:]) || !standsWhole(f, head.Place, size) {
		s.log.Info("a snapshot does not stand on its journal, which is read as a whole", "session", id)
		return nil
	}
	return &journal.Snapshot{At: head.Place, State: b[n:]}
}

// snapshotFile reads up to limit bytes of the snapshot file.
func (s *Store) snapshotFile(id event.SessionID, limit int64) (b []byte, size int64, ok bool) {
	f, err := s.fs.Open(s.path(id, snapshotName), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > snapshotMax {
		return nil, 0, false
	}
	b = make([]byte, min(limit, info.Size()))
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, false
	}
	return b[:n], info.Size(), true
}

// parseHead reads the first line and judges it by its own sum; n is where the
// state begins.
func parseHead(b []byte) (head snapshotHead, n int, ok bool) {
	n = bytes.IndexByte(b[:min(len(b), headMax)], '\n') + 1
	if n == 0 || json.Unmarshal(b[:n], &head) != nil || head.V != snapshotVersion || head.sum() != head.Sum {
		return head, 0, false
	}
	return head, n, true
}

// standsWhole reports whether the record at the end of which a snapshot was
// taken is there, with the sum that chains it to all before it.
func standsWhole(f File, at journal.Place, size int64) bool {
	if at.Seq < 0 || at.Bare || at.Off < 0 || at.End <= at.Off || at.End > size || at.End-at.Off > snapshotMax {
		return false
	}
	line := make([]byte, at.End-at.Off)
	if _, err := f.ReadAt(line, at.Off); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	if line[len(line)-1] != '\n' {
		return false
	}
	line = line[:len(line)-1]
	sum, ok := event.LineSum(line)
	return ok && sum == at.Sum && event.ChainSum(at.Prev, line) == sum
}

// foundDamaged reports whether a whole read of the journal found it damaged.
// Who finds that remembers it first and drops the snapshot then: one that is
// being kept meanwhile is dropped by one of the two.
func (s *Store) foundDamaged(id event.SessionID) bool {
	info, err := s.fs.Stat(s.path(id, journalName))
	return err == nil && s.remembered(id, info) != nil
}

// dropSnapshot removes what was derived from bytes that are not what they were.
func (s *Store) dropSnapshot(id event.SessionID) {
	if err := s.fs.RemoveAll(s.path(id, snapshotName)); err != nil {
		s.log.Warn("a snapshot of a damaged journal could not be removed", "session", id, "error", err)
	}
}
