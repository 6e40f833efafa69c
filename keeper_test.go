package ripcord_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
)

// laggard is the context of a caller that is slow when its end is asked for the
// at-th time: with an input that is first when it is handed over, then when the
// answer is waited for.
type laggard struct {
	context.Context
	asked atomic.Int32
	at    int32
	wait  func()
}

func (l *laggard) Done() <-chan struct{} {
	if l.asked.Add(1) == l.at {
		l.wait()
	}
	return l.Context.Done()
}

// told is what a keeper was told of one input.
type told struct {
	mode     string
	accepted bool
	turn     int
}

// A keeper hears of the turn that was open when an input was accepted, however
// late its caller looks; and the repeat of an accepted input, whose answer was
// lost, is no second acceptance.
//
// proves TOL-27, LOG-12
func TestAKeeperHearsOfAnAcceptanceAsTheJournalHasIt(t *testing.T) {
	var mu sync.Mutex
	var heard []told
	b := newBench(t, "T'Well.' HANG", func(c *ripcord.Config) {
		c.Keepers = []ripcord.Keeper{{Offered: func(_ context.Context, _ event.SessionID, o event.SubmitOptions) func(bool, int) {
			var mode string
			if json.Unmarshal(o.Attributes[gate.ModeAttribute], &mode) != nil {
				return nil
			}
			return func(accepted bool, turn int) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, told{mode, accepted, turn})
			}
		}}}
	})
	submit := func(ctx context.Context, mode, key string) event.InputID {
		t.Helper()
		sub, err := b.rt.Submit(ctx, api.SubmitRequest{Session: b.id, Key: key, Input: event.UserInput{Content: event.TextOf("go")},
			Options: event.SubmitOptions{Attributes: map[string]json.RawMessage{gate.ModeAttribute: json.RawMessage(`"` + mode + `"`)}}})
		if err != nil {
			t.Fatal(err)
		}
		return sub.Input
	}
	late := &laggard{Context: b.ctx, at: 2, wait: func() {
		b.until("its turn runs", func() bool {
			st, err := b.rt.Status(b.ctx, b.id)
			return err != nil || st.Running && st.Turn == 1
		})
	}}
	first := submit(late, gate.ModeAct, "k")
	if late.asked.Load() < 2 {
		t.Fatal("the answer was not waited for as this test needs it")
	}
	submit(b.ctx, gate.ModePlan, "")
	if again := submit(b.ctx, gate.ModeAct, "k"); again != first {
		t.Errorf("the repeat is input %s, want %s", again, first)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []told{{gate.ModeAct, true, 0}, {gate.ModePlan, true, 1}, {gate.ModeAct, false, 0}}; !slices.Equal(heard, want) {
		t.Errorf("the keeper was told %+v, want %+v", heard, want)
	}
}
