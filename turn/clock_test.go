package turn_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/turn"
)

// A clock that jumps, back or ahead, leaves a journal as valid as it was, and
// the model reads the same: nothing is ordered by it.
//
// proves LOG-01, LOG-06
func TestAClockThatJumpsChangesNothingButTheTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recs := played(t, rapid.Uint64().Draw(rt, "seed"))
		want, err := turn.Fold(recs)
		if err != nil {
			rt.Fatal(err)
		}
		rules := turn.Check()
		for i := range recs {
			recs[i].Time = time.Unix(rapid.Int64Range(0, 1<<36).Draw(rt, "at"), 0).UTC()
			if err := rules.Next(&recs[i]); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := turn.Fold(recs)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want.History, got.History); diff != "" {
			rt.Fatal(diff)
		}
	})
}
