package mem_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/journaltest"
	"github.com/ripcord-go/ripcord/journal/mem"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proves LOG-01, LOG-02, LOG-04, LOG-05, LOG-07, LOG-10, LOG-11, LOG-12, LOG-15, REC-02, REC-06, PRF-02
func TestStore(t *testing.T) {
	var faults sync.Map // by store, then operation
	journaltest.Run(t, journaltest.Driver{
		Open: func(_ *testing.T, check func() journal.Checker) journal.Store {
			var s *mem.Store
			s = mem.New(mem.Options{Check: check, Fault: func(op string) error {
				if m, ok := faults.Load(s); ok && m.(fault).op == op {
					return m.(fault).err
				}
				return nil
			}})
			return s
		},
		Crash:  func(_ *testing.T, s journal.Store) journal.Store { s.(*mem.Store).Crash(true); return s },
		Bytes:  func(_ *testing.T, s journal.Store, id event.SessionID) []byte { return s.(*mem.Store).Bytes(id) },
		Put:    func(_ *testing.T, s journal.Store, id event.SessionID, b []byte) { s.(*mem.Store).Put(id, b) },
		Fail:   func(_ *testing.T, s journal.Store, op string, err error) { faults.Store(s, fault{op, err}) },
		Stride: stride,
	})
}

type fault struct {
	op  string
	err error
}

// proves LOG-11: between the look whether a writer holds its journal and what it
// changes no crash fits.
func TestAWriterLooksAndChangesUnderOneLock(t *testing.T) {
	s := mem.New(mem.Options{})
	w, err := s.Create(t.Context(), "s_1")
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	change := func() {
		changed++
		if !mem.Locked(s) {
			t.Error("a crash fits between the look and the change")
		}
	}
	if err := mem.Owning(w, change); err != nil || changed != 1 {
		t.Errorf("its holder changed it %d times: %v", changed, err)
	}
	s.Crash(true)
	if err := mem.Owning(w, change); !errors.Is(err, journal.ErrFenced) || changed != 1 {
		t.Errorf("a dead writer: %v, changed %d times", err, changed)
	}
}
