package turn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/inbox"
)

// SameLedgers reports how two ledgers differ, in every field that they have:
// one that a snapshot forgets shows here.
func SameLedgers(a, b *Ledger) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(Turn{}, Ledger{}, Checker{}, past{}, Spent{}, source{}, inbox.Box{}, guard.Places{}, Call{}, stage{}),
		cmpopts.EquateEmpty(), cmpopts.IgnoreFields(inbox.Box{}, "taken", "changes"),
		cmpopts.IgnoreFields(Call{}, "asks"), cmpopts.IgnoreFields(Checker{}, "calls"))
}

// proves LOG-16: a snapshot of another shape is not read
func TestASnapshotOfAnotherShapeIsRefused(t *testing.T) {
	for name, raw := range map[string]string{"another version": `{"version":99}`, "no JSON": `{"version":1`, "a turn behind its history": `{"version":1,"past":{"1":{"before":3}}}`} {
		if _, err := RestoreLedger([]byte(raw)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	l := NewLedger()
	r, err := event.New(event.SessionOpened{ID: "s_1"}, l.LastAt)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Apply(&r); err != nil {
		t.Fatal(err)
	}
	s, err := event.New(event.TurnStarted{Kind: event.TurnInput}, l.LastAt)
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.Turn = 1, 1
	if err := l.Apply(&s); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Snapshot(); err == nil {
		t.Error("an open turn is kept in a snapshot")
	}
}
