package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ripcord-go/ripcord/session"
)

// A select of what is there and what has ended picks either: an answer that had
// come would be thrown away by a coin.
//
// proves TRN-19
func TestAnAnswerThatIsThereIsTakenWhateverHasEnded(t *testing.T) {
	gone := make(chan struct{})
	close(gone)
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller has gone")
	cancel(why)
	for range 200 {
		for name, w := range map[string]struct {
			ctx  context.Context
			gone chan struct{}
			err  error
		}{"the session has": {t.Context(), gone, session.ErrClosed}, "the caller has": {ended, nil, why}} {
			ch := make(chan int, 1)
			if v, err := session.Awaited(w.ctx, w.gone, ch); v != 0 || !errors.Is(err, w.err) {
				t.Fatalf("%s: %d, %v", name, v, err)
			}
			ch <- 7
			if v, err := session.Awaited(w.ctx, w.gone, ch); v != 7 || err != nil {
				t.Fatalf("%s: %d, %v", name, v, err)
			}
			// It comes as the wait begins: then a select may pick either.
			late := lateContext{w.ctx, ch}
			if v, err := session.Awaited(late, w.gone, ch); v != 8 || err != nil {
				t.Fatalf("%s, and it comes late: %d, %v", name, v, err)
			}
		}
	}
}

// lateContext brings the answer at the moment at which somebody waits.
type lateContext struct {
	context.Context
	ch chan int
}

func (c lateContext) Done() <-chan struct{} {
	c.ch <- 8
	return c.Context.Done()
}
