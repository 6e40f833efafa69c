package journal

import (
	"fmt"

	"github.com/ripcord-go/ripcord/event"
)

// Seeded returns the bytes of a whole journal of recs, for [Store.Seed]: a batch
// for each epoch. check, which may be nil, judges them.
func Seeded(id event.SessionID, recs []event.Record, check Checker) ([]byte, error) {
	if len(recs) == 0 || recs[0].Type != event.TypeSessionOpened {
		return nil, fmt.Errorf("make session %s: %w: the first record must be %s", id, ErrRule, event.TypeSessionOpened)
	}
	var out []byte
	at := Origin()
	for from := 0; from < len(recs); {
		epoch, upto := recs[from].Epoch, from
		for upto < len(recs) && recs[upto].Epoch == epoch {
			upto++
		}
		if epoch <= at.Epoch {
			return nil, fmt.Errorf("make session %s: %w: epoch %d after %d", id, ErrRule, epoch, at.Epoch)
		}
		var err error
		if out, at, err = Frame(out, at, at.Batch+1, epoch, recs[from:upto]); err != nil {
			return nil, fmt.Errorf("make session %s: %w", id, err)
		}
		from = upto
	}
	for i := range recs {
		if check == nil {
			break
		}
		if err := check.Next(&recs[i]); err != nil {
			return nil, fmt.Errorf("make session %s: %w: record %d (%s): %w", id, ErrRule, recs[i].Seq, recs[i].Type, err)
		}
	}
	return out, nil
}
