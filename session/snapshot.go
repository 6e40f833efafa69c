package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/turn"
)

// snapshot is what a session is made of besides the tail of its journal. It is
// derived from the journal and disposable.
type snapshot struct {
	Ledger json.RawMessage   `json:"ledger"`
	Past   []turn.Summary    `json:"past,omitempty"`
	Needed []json.RawMessage `json:"needed,omitempty"` // lines of records, see [Config.Needs]
}

// snapshotEvery is how many records stand between two snapshots.
const snapshotEvery = 2000

// CheckFrom makes the judge of a journal's order that stands where a snapshot
// of a session does; a store that is given it begins to read there.
func CheckFrom(state []byte) (journal.Checker, error) {
	var s snapshot
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	c, err := turn.CheckFrom(s.Ledger)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Needed returns the records that a snapshot keeps for folds of other rooms.
func Needed(state []byte) ([]event.Record, error) {
	var s snapshot
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return s.records()
}

func (s *snapshot) records() ([]event.Record, error) {
	out := make([]event.Record, 0, len(s.Needed))
	for _, line := range s.Needed {
		r, err := event.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		out = append(out, r)
	}
	return out, nil
}

// restore makes what a snapshot was taken of.
func restore(state []byte) (*turn.Ledger, []turn.Summary, []event.Record, error) {
	var s snapshot
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, nil, nil, fmt.Errorf("snapshot: %w", err)
	}
	l, err := turn.RestoreLedger(s.Ledger)
	if err != nil {
		return nil, nil, nil, err
	}
	needed, err := s.records()
	return l, s.Past, needed, err
}

// sieve picks the records that folds of other rooms need, with what they need
// of them to be understood: the end of a call whose request was picked, and the
// turn that they stand in.
type sieve struct {
	needs func(*event.Record) bool
	kept  []event.Record
	calls map[event.CallID]bool // picked and not ended
	turn  *event.Record         // the open turn's start, not picked yet
	open  bool                  // the open turn's start was picked
}

func (s *sieve) take(r *event.Record) {
	if s.needs == nil {
		return
	}
	switch r.Type {
	case event.TypeTurnStarted:
		rec := *r
		s.turn, s.open = &rec, false
	case event.TypeTurnEnded:
		if s.open {
			s.kept = append(s.kept, *r)
		}
		s.turn, s.open = nil, false
		clear(s.calls)
		return
	}
	need := s.needs(r)
	if r.Type == event.TypeCallEnded && s.calls[r.Call] {
		need = true
		delete(s.calls, r.Call)
	}
	if !need {
		return
	}
	if s.turn != nil && !s.open {
		s.open = true
		s.kept = append(s.kept, *s.turn)
	}
	if r.Type == event.TypeTurnStarted {
		return
	}
	s.kept = append(s.kept, *r)
	if r.Type == event.TypeCallRequested {
		if s.calls == nil {
			s.calls = map[event.CallID]bool{}
		}
		s.calls[r.Call] = true
	}
}

// Needed returns the records that [Config.Needs] picked, in order, up to now.
// It is for who opened the session, before its first turn.
func (l *Live) Needed() []event.Record { return slices.Clone(l.needed) }

// keepSnapshot writes down what the session is, now and then, while no turn is
// open and everything is durable: the next process then reads the journal's
// tail alone. What it costs beyond the encoding is done beside the driver.
func (l *Live) keepSnapshot() {
	w, keeps := l.cfg.Writer.(journal.SnapshotWriter)
	if !keeps || l.state.Phase() != turn.PhaseIdle || l.state.Last()-l.keptAt < snapshotEvery || !l.book.durable() || l.saving.Swap(true) {
		return
	}
	state, err := l.encode()
	if err != nil {
		l.saving.Store(false)
		l.log.Debug("no snapshot now", "error", err)
		return
	}
	l.keptAt = l.state.Last()
	store := w.Keep(state)
	l.work.Go(func() {
		defer l.saving.Store(false)
		if err := store(); err != nil {
			l.log.Warn("a snapshot could not be kept; opening will take longer", "error", err)
		}
	})
}

func (l *Live) encode() ([]byte, error) {
	ledger, err := l.state.Snapshot()
	if err != nil {
		return nil, err
	}
	s := snapshot{Ledger: ledger}
	for _, r := range l.sieve.kept {
		if r.Line == nil {
			return nil, fmt.Errorf("record %d is not written yet", r.Seq)
		}
		s.Needed = append(s.Needed, r.Line)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		if o := l.results[id]; o.err == nil && (len(s.Past) == 0 || s.Past[len(s.Past)-1].Turn != o.sum.Turn) {
			s.Past = append(s.Past, bare(o.sum))
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // what is raw in it stays the bytes that the journal has
	err = enc.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// bare is a summary without what its calls printed: who asks late is told how
// they ended.
func bare(s turn.Summary) turn.Summary {
	s.Calls = slices.Clone(s.Calls)
	for i := range s.Calls {
		s.Calls[i].End.Content, s.Calls[i].End.Diff = nil, ""
	}
	return s
}

// Verify has what stands before the snapshot read beside the session: until
// then only the journal's tail is known to be what was written. Damage is told
// to every subscriber as a warning. verify runs on a goroutine that the
// session's end waits for, and ends with its context.
func (l *Live) Verify(verify func(context.Context) (damaged bool, err error)) {
	l.verified(VerifiedTail)
	l.work.Go(func() {
		switch damaged, err := verify(l.ctx); {
		case l.ctx.Err() != nil:
		case err != nil:
			l.log.Warn("the journal could not be verified as a whole", "error", err)
		case damaged:
			l.log.Error("the journal is damaged before its snapshot; see `ripcord log verify`")
			l.hub.warn(fmt.Sprintf("the journal is damaged before the part that was read to open the session: `ripcord log verify %s` shows where", l.cfg.ID))
			l.verified(VerifiedNot)
		default:
			l.verified(VerifiedFull)
		}
	})
}

// How much of a journal is known to be what was written.
const (
	VerifiedFull = "full"
	VerifiedTail = "tail"
	VerifiedNot  = "damaged"
)

func (l *Live) verified(how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Verified = how
}
