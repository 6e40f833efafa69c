package interrupt_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

const never = -1 * time.Second

// work is something to be ended, in virtual time.
type work struct {
	gone        chan struct{}
	once        sync.Once
	onAsk       time.Duration // time from Ask to its end; never: ignores it
	onForce     time.Duration
	asks, kills []time.Duration
	start       time.Time
}

func (w *work) rungs() interrupt.Rungs {
	w.start = time.Now()
	end := func(after time.Duration) {
		switch {
		case after == 0:
			w.end()
		case after > 0:
			time.AfterFunc(after, w.end)
		}
	}
	return interrupt.Rungs{
		Ask:   func() { w.asks = append(w.asks, time.Since(w.start)); end(w.onAsk) },
		Force: func() { w.kills = append(w.kills, time.Since(w.start)); end(w.onForce) },
		Gone:  w.gone,
	}
}

func (w *work) end() { w.once.Do(func() { close(w.gone) }) }

// proves INT-54, TOL-10
func TestTheLadderAsksWaitsForcesWaitsAndSaysWhatItSaw(t *testing.T) {
	l := interrupt.Ladder{Grace: 2 * time.Second, Bound: 30 * time.Second}
	for _, c := range []struct {
		name           string
		ladder         interrupt.Ladder
		onAsk, onForce time.Duration
		hurry          time.Duration // never: nobody hurries; 0: before the climb
		want           interrupt.Climbed
		forcedAt       time.Duration
	}{
		{"obeys at once", l, 0, 0, never, interrupt.Climbed{Gone: true}, never},
		{"obeys in time", l, time.Second, 0, never, interrupt.Climbed{Gone: true, Took: time.Second}, never},
		{"ends in the grace's last instant", l, 2 * time.Second, 0, never, interrupt.Climbed{Gone: true, Took: 2 * time.Second}, never},
		{"ignores the asking", l, never, 0, never, interrupt.Climbed{Forced: true, Gone: true, Took: 2 * time.Second}, 2 * time.Second},
		{"dies slowly", l, never, time.Second, never, interrupt.Climbed{Forced: true, Gone: true, Took: 3 * time.Second}, 2 * time.Second},
		{"cannot be ended", l, never, never, never, interrupt.Climbed{Forced: true, Took: 32 * time.Second}, 2 * time.Second},
		{"is hurried", l, never, 0, time.Second, interrupt.Climbed{Forced: true, Gone: true, Took: time.Second}, time.Second},
		{"was hurried before", l, never, time.Second, 0, interrupt.Climbed{Forced: true, Gone: true, Took: time.Second}, 0},
		{"is hurried too late to matter", l, time.Second, 0, time.Minute, interrupt.Climbed{Gone: true, Took: time.Second}, never},
		{"hurry does not shorten the bound", l, never, never, 5 * time.Second, interrupt.Climbed{Forced: true, Took: 32 * time.Second}, 2 * time.Second},
		{"no grace", interrupt.Ladder{Bound: time.Second}, time.Hour, 0, never, interrupt.Climbed{Forced: true, Gone: true}, 0},
		{"the zero ladder waits for nothing", interrupt.Ladder{}, never, never, never, interrupt.Climbed{Forced: true}, 0},
		{"the zero ladder sees what obeys at once", interrupt.Ladder{}, 0, 0, never, interrupt.Climbed{Gone: true}, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &work{gone: make(chan struct{}), onAsk: c.onAsk, onForce: c.onForce}
				var hurry chan struct{}
				if c.hurry >= 0 {
					hurry = make(chan struct{})
					if c.hurry == 0 {
						close(hurry)
					} else {
						time.AfterFunc(c.hurry, func() { close(hurry) })
					}
				}
				got := c.ladder.Climb(w.rungs(), hurry)
				// Two timers of one instant fire in any order: work that ends in the
				// last instant may have been forced, but it is gone all the same.
				last := c.onAsk == c.ladder.Grace && c.onAsk > 0
				if last {
					got.Forced = c.want.Forced
				}
				if got != c.want {
					t.Errorf("Climb = %+v, want %+v", got, c.want)
				}
				if len(w.asks) != 1 || w.asks[0] != 0 {
					t.Errorf("asked at %v, want once, first", w.asks)
				}
				if forced := c.forcedAt >= 0; !last && (len(w.kills) == 1) != forced {
					t.Errorf("forced at %v", w.kills)
				} else if forced && w.kills[0] != c.forcedAt {
					t.Errorf("forced at %v, want %v", w.kills[0], c.forcedAt)
				}
			})
		})
	}
}

// proves INT-54
func TestTheLadderLeavesAloneWhatIsGone(t *testing.T) {
	w := &work{gone: make(chan struct{})}
	w.end()
	if got := (interrupt.Ladder{Grace: time.Hour}).Climb(w.rungs(), nil); !got.Gone || got.Forced {
		t.Errorf("Climb = %+v", got)
	}
	if len(w.asks)+len(w.kills) != 0 {
		t.Error("it touched what was gone: by then its number may be a stranger's")
	}
}

// A second press ends the grace of the first: the signal's Forced is the hurry.
//
// proves INT-23
func TestForceEndsTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := interrupt.New(interrupt.Options{})
		if c.Force() {
			t.Error("forced before anybody asked")
		}
		ask(t, c)
		w := &work{gone: make(chan struct{}), onAsk: never}
		time.AfterFunc(300*time.Millisecond, func() { c.Force() })
		got := interrupt.Ladder{Grace: time.Hour, Bound: time.Hour}.Climb(w.rungs(), c.Signal().Forced())
		if !got.Forced || !got.Gone || got.Took != 300*time.Millisecond {
			t.Errorf("Climb = %+v", got)
		}
	})
}
