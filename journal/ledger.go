package journal

import (
	"bytes"
	"fmt"

	"github.com/ripcord-go/ripcord/event"
)

// MaxPending bounds the bytes a writer keeps that are not acknowledged. One
// append to an empty ledger may exceed it.
const MaxPending = 8 << 20

// Ledger is a writer's account of its journal, the same for every store: where
// the acknowledged part ends, what was written behind it, and which records
// may follow. It does no input or output; the store writes what it drafts.
//
//	Draft ──▶ the store writes ──▶ Wrote ──▶ … ──▶ the store syncs ──▶ Synced
//	               └─ failed ──▶ Dropped                └─ failed: nothing changes
//
// After Fence every Draft is refused. A Ledger is not safe for concurrent use.
type Ledger struct {
	id      event.SessionID
	acked   Place
	tip     Place
	batch   int64       // of what is written next
	floor   event.Epoch // lowest epoch that may write
	pending [][]byte    // the lines between acked and tip, as written: a draft each
	size    int         // of pending
	fenced  bool

	check   Checker
	stale   bool // check has seen records that were not written
	recheck func() (Checker, error)
}

// NewLedger returns the ledger of a journal whose synced bytes end behind at.
// The first epoch to write must be higher than at's. check, which may be nil,
// has seen the records up to at; recheck returns one that has seen everything
// up to the ledger's tip, and is asked when drafted records were not written.
func NewLedger(id event.SessionID, at Place, check Checker, recheck func() (Checker, error)) *Ledger {
	return &Ledger{id: id, acked: at, tip: at, batch: at.Batch + 1, floor: at.Epoch + 1, check: check, recheck: recheck}
}

// Draft judges recs and returns their lines and the place behind them. The
// errors are [ErrFenced] for a stale epoch or position, [ErrRule] for records
// that break the order, and [ErrPending] when too much is unacknowledged; with
// any of them nothing may be written. After a draft, Wrote or Dropped is owed.
func (l *Ledger) Draft(expected event.Seq, epoch event.Epoch, recs []event.Record) ([]byte, Place, error) {
	switch {
	case l.fenced:
		return nil, l.tip, fmt.Errorf("append to session %s: %w; open it again", l.id, ErrFenced)
	case expected != l.tip.Seq:
		return nil, l.tip, fmt.Errorf("append to session %s behind record %d, but the last is %d: %w", l.id, expected, l.tip.Seq, ErrFenced)
	case epoch < l.floor || epoch < l.tip.Epoch:
		return nil, l.tip, fmt.Errorf("append to session %s under epoch %d, but %d is in force: %w", l.id, epoch, max(l.floor, l.tip.Epoch), ErrFenced)
	case len(recs) == 0:
		return nil, l.tip, nil
	case l.tip.Seq < 0 && recs[0].Type != event.TypeSessionOpened:
		return nil, l.tip, fmt.Errorf("append to session %s: %w: the first record must be %s, not %s", l.id, ErrRule, event.TypeSessionOpened, recs[0].Type)
	}
	lines, at, err := Frame(nil, l.tip, l.batch, epoch, recs)
	if err != nil {
		return nil, l.tip, fmt.Errorf("append to session %s: %w", l.id, err)
	}
	if l.size > 0 && l.size+len(lines) > MaxPending {
		return nil, l.tip, fmt.Errorf("append to session %s: %w: %w (%d bytes)", l.id, ErrStorage, ErrPending, l.size)
	}
	return lines, at, l.judge(recs)
}

// judge asks the rules about recs.
func (l *Ledger) judge(recs []event.Record) error {
	if l.stale {
		check, err := l.recheck()
		if err != nil {
			return fmt.Errorf("session %s: read back the rules' state: %w: %w", l.id, ErrStorage, err)
		}
		l.check, l.stale = check, false
	}
	if l.check == nil {
		return nil
	}
	for i := range recs {
		if err := l.check.Next(&recs[i]); err != nil {
			l.stale = true
			return fmt.Errorf("append to session %s: %w: record %d (%s): %w", l.id, ErrRule, recs[i].Seq, recs[i].Type, err)
		}
	}
	return nil
}

// Wrote takes a draft into the account: its lines stand behind the tip. It keeps
// them, without a copy.
func (l *Ledger) Wrote(lines []byte, at Place) {
	l.pending = append(l.pending, lines)
	l.size += len(lines)
	l.tip = at
}

// Dropped says that a draft was not written.
func (l *Ledger) Dropped() { l.stale = l.check != nil }

// Synced says that everything up to the tip is durable: it is acknowledged, and
// the next batch begins.
func (l *Ledger) Synced() {
	if l.tip.Seq > l.acked.Seq {
		l.batch++
	}
	l.acked = l.tip
	l.pending, l.size = nil, 0 // a session that waits holds no batch
}

// Fence ends the account: another writer was seen.
func (l *Ledger) Fence() { l.fenced = true }

// Fenced reports whether Fence was called.
func (l *Ledger) Fenced() bool { return l.fenced }

// Acked is the place behind the last acknowledged record.
func (l *Ledger) Acked() Place { return l.acked }

// Tip is the place behind the last written record.
func (l *Ledger) Tip() Place { return l.tip }

// Unsynced is how many bytes of lines stand between the two.
func (l *Ledger) Unsynced() int { return l.size }

// Pending is those lines; they are not to be changed.
func (l *Ledger) Pending() []byte {
	if len(l.pending) > 1 { // after a fault only
		l.pending = [][]byte{bytes.Join(l.pending, nil)}
	}
	if len(l.pending) == 0 {
		return nil
	}
	return l.pending[0]
}
