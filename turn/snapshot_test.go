package turn_test

import (
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// proves LOG-16, LOG-06: whatever a session went through, a ledger that is made
// of a snapshot is the ledger of the whole journal, there and behind every
// record that follows
func TestASnapshotAndTheTailAreTheWholeJournal(t *testing.T) {
	taken := 0
	for seed := range 40 {
		w := newWorld(uint64(seed), wild(uint64(seed)))
		for range 60 {
			w.next(true)
		}
		for i := 0; w.next(false) && i < 5000; i++ {
		}
		recs := w.recs
		whole := turn.NewLedger()
		for i := range recs {
			if err := whole.Apply(&recs[i]); err != nil {
				t.Fatal(err)
			}
			if recs[i].Type != event.TypeTurnEnded && i%17 != 0 {
				continue
			}
			raw, err := whole.Snapshot()
			if err != nil {
				continue // something is open
			}
			taken++
			again, err := turn.RestoreLedger(raw)
			if err != nil {
				t.Fatal(err)
			}
			if d := turn.SameLedgers(whole, again); d != "" {
				t.Fatalf("seed %d, record %d: a snapshot forgets:\n%s", seed, i, d)
			}
			for j := i + 1; j < len(recs); j++ {
				if err := again.Apply(&recs[j]); err != nil {
					t.Fatalf("seed %d: behind the snapshot at %d: %v", seed, i, err)
				}
			}
			end, err := turn.Fold(recs)
			if err != nil {
				t.Fatal(err)
			}
			if d := turn.SameLedgers(end, again); d != "" {
				t.Fatalf("seed %d: from a snapshot at %d the end is another:\n%s", seed, i, d)
			}
			check, err := turn.CheckFrom(raw)
			if err != nil {
				t.Fatal(err)
			}
			for j := i + 1; j < len(recs); j++ {
				if err := check.Next(&recs[j]); err != nil {
					t.Fatalf("seed %d: the rules behind the snapshot at %d: %v", seed, i, err)
				}
			}
		}
	}
	if taken < 100 {
		t.Errorf("%d snapshots: nothing was shown", taken)
	}
}
