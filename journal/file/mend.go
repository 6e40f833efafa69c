package file

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// mend makes the file hold exactly the acknowledged and the pending bytes
// again. It is called before anything is written or synced.
func (w *writer) mend() error {
	switch w.health {
	case sound:
		return nil
	case ragged:
		if w.trim() {
			return nil
		}
		return w.reopen() // if the descriptor cannot cut, perhaps another can
	case dead:
		return w.reopen()
	}
	return nil
}

// trim cuts off what a failed append left behind the tip. Nothing there was
// ever acknowledged.
func (w *writer) trim() bool {
	tip := w.ledger.Tip()
	info, err := w.f.Stat()
	if err != nil || info.Size() < tip.End || info.Size() > tip.End+int64(len(w.spill)) {
		return false
	}
	if info.Size() > tip.End {
		if err := w.f.Truncate(tip.End); err != nil {
			return false
		}
	}
	w.health, w.spill = sound, nil
	return true
}

// reopen gives the descriptor up for a new one, verifies the acknowledged end
// and writes again what is pending. A failed sync leaves pages that claim to be
// clean, so nothing since the last good sync may be believed.
func (w *writer) reopen() (err error) {
	f, err := w.s.fs.Open(w.s.path(w.id, journalName), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return w.s.storage(w.id, "open the journal again", err)
	}
	defer func() {
		if err != nil && w.f != f {
			f.Close()
		}
	}()
	acked := w.ledger.Acked()
	size, err := w.sameFile(f)
	if err != nil {
		return err
	}
	if err := w.verifyAcked(f, acked, size); err != nil {
		return err
	}
	foreign, err := w.foreign(f, acked, size)
	if err != nil {
		return w.s.storage(w.id, "read the journal again", err)
	}
	if foreign {
		return w.fence("there are records behind byte %d that this writer did not write", acked.End)
	}
	if err := f.Truncate(acked.End); err != nil {
		return w.s.storage(w.id, "cut back to the acknowledged end", err)
	}
	if err := w.f.Close(); err != nil {
		w.s.log.Debug("the failed descriptor did not close cleanly", "session", w.id, "error", err)
	}
	w.f, w.spill = f, nil
	if p := w.ledger.Pending(); len(p) > 0 {
		if err := w.put(p, acked.End); err != nil {
			w.health = dead // the pending bytes are not all there
			return err
		}
	}
	w.health = sound
	w.s.log.Info("the journal was opened again after a fault", "session", w.id, "rewritten", len(w.ledger.Pending()))
	return nil
}

// sameFile makes sure that f is the file this writer has locked, and returns
// its size.
func (w *writer) sameFile(f File) (int64, error) {
	was, err := w.f.Stat()
	if err != nil {
		return 0, w.s.storage(w.id, "look at the journal", err)
	}
	is, err := f.Stat()
	if err != nil {
		return 0, w.s.storage(w.id, "look at the journal", err)
	}
	if !os.SameFile(was, is) {
		return 0, w.fence("the journal was replaced by another file")
	}
	return is.Size(), nil
}

// verifyAcked reads the last acknowledged record back and checks its sum.
func (w *writer) verifyAcked(f File, acked journal.Place, size int64) error {
	if acked.Seq < 0 {
		return nil
	}
	line := make([]byte, acked.End-acked.Off)
	if acked.End <= size {
		if _, err := f.ReadAt(line, acked.Off); err != nil && !errors.Is(err, io.EOF) {
			return w.s.storage(w.id, "read the journal again", err)
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if sum, ok := event.LineSum(line); ok && sum == acked.Sum && event.ChainSum(acked.Prev, line) == sum {
			return nil
		}
	}
	return w.s.storage(w.id, "verify the journal", errors.New("the last acknowledged record cannot be read back; check the disk, then `ripcord log verify`"))
}

// foreign reports whether somebody else's record stands behind the
// acknowledged end. Bytes that are no record, or are our own, are not foreign:
// after a failed sync anything may stand there.
func (w *writer) foreign(f File, acked journal.Place, size int64) (bool, error) {
	ours := append(bytes.Clone(w.ledger.Pending()), w.spill...)
	if size > acked.End+int64(len(ours)) {
		return true, nil
	}
	sc := journal.NewScanner(f, size, journal.ScanOptions{Start: &acked})
	for sc.Next() {
		it := sc.Item()
		if it.Kind != journal.ItemRecord {
			return true, nil
		}
		from := it.Place.Off - acked.End
		if !bytes.HasPrefix(ours[from:], it.Line) {
			return true, nil
		}
	}
	return false, sc.Err()
}

// recheck returns a judge that has seen exactly what stands in the ledger.
func (w *writer) recheck() (journal.Checker, error) {
	check := w.s.check()
	if check == nil {
		return nil, nil
	}
	acked := w.ledger.Acked()
	pending := w.ledger.Pending()
	src := spliced{w.f, acked.End, pending}
	sc := journal.NewScanner(src, acked.End+int64(len(pending)), journal.ScanOptions{Check: check})
	for sc.Next() {
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	return check, sc.Found().Err(w.id, w.s.path(w.id, journalName))
}

// spliced reads the first n bytes of a file and then rest.
type spliced struct {
	f    io.ReaderAt
	n    int64
	rest []byte
}

func (s spliced) ReadAt(b []byte, off int64) (n int, err error) {
	if off < s.n {
		part := b[:min(int64(len(b)), s.n-off)]
		if n, err = s.f.ReadAt(part, off); n < len(part) || n == len(b) {
			return n, err
		}
	}
	n += copy(b[n:], s.rest[off+int64(n)-s.n:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
