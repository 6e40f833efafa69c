package proc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/proc"
)

// reader takes a while for each piece.
type reader time.Duration

func (r reader) Write(p []byte) (int, error) {
	<-time.After(time.Duration(r))
	return len(p), nil
}

// A live reader that is prompt with each piece gets all of them, however many
// there are and wherever a look meets it; one that is stuck in a piece holds up
// nothing.
//
// proves PRC-06
func TestThePromptReaderGetsItAllAndTheStuckOneHoldsUpNothing(t *testing.T) {
	for _, c := range []struct {
		piece time.Duration
		n     int
		all   bool
		most  time.Duration
	}{
		{3 * time.Millisecond, 20, true, 60 * time.Millisecond},
		{4999 * time.Microsecond, 20, true, 100 * time.Millisecond},
		{time.Minute, 1, false, 10 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			fed := proc.AwaitFeed(reader(c.piece), c.n)
			took, all := time.Since(began), false
			select {
			case <-fed:
				all = true
			default:
			}
			if all != c.all || took > c.most {
				t.Errorf("%d pieces of %v: all came %v, after %v", c.n, c.piece, all, took)
			}
			<-fed
		})
	}
}
