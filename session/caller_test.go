package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

func (r *rig) driven(caller context.Context, text string) event.InputID {
	r.Helper()
	id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf(text)}, Caller: caller})
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// Whoever drives a turn can leave it at any point: the turn is aborted, says
// that its caller went, and its books are closed; the next one does not notice.
// No hook stands anywhere here: it does not take one to see that he went.
//
// proves INT-33, INT-34, INT-35, INT-36, INT-37, INT-41 (a and c), TRN-02
func TestACallerThatLeavesAbortsItsTurnAndNoOther(t *testing.T) {
	slow := deed("slow", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		<-tool.SignalOf(c).Done()
		return tool.Result{}, tool.SignalOf(c).Checkpoint()
	})
	for name, c := range map[string]struct {
		talks []talk
		at    string // recorded when the caller leaves; empty: before the submit
	}{
		"before the turn": {[]talk{says("fine")}, ""},
		"in the stream":   {[]talk{hangs("half"), says("fine")}, "model/request"},
		"in a call":       {[]talk{calls("c1", "slow", "c2", "slow"), says("fine")}, "call/started"},
		"in a backoff": {[]talk{func(context.Context, model.Request, func(event.Delta) bool) error { return errGone }, says("fine")},
			"model/failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plan{talks: c.talks, tools: []tool.Tool{slow}, turn: turn.Options{Backoff: time.Minute}})
			caller, leave := context.WithCancelCause(context.Background())
			defer leave(nil)
			if c.at == "" {
				leave(errGone)
			}
			id := r.driven(caller, "go")
			if c.at != "" {
				r.until(c.at, func() bool { return strings.Contains(r.types(), c.at) && r.model.count() == 1 })
				leave(errGone)
			}
			sum := r.wait(id)
			if sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.ParentCancelled) {
				t.Errorf("%+v", sum)
			}
			if c.at == "" && r.model.count() > 0 {
				t.Error("a request was sent for a caller that had left")
			}
			next := r.driven(context.Background(), "again")
			if two := r.wait(next); two.Outcome != event.TurnCompleted {
				t.Errorf("%+v", two)
			}
			r.holds()
		})
	}
}

// Both sources at once: one ending, the first reason stands, and it is one of
// the two.
//
// proves INT-34, INT-36, INT-12, INT-14
func TestACallerThatLeavesWhileSomebodyStops(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half")}})
	reasons := map[string]int{}
	for i := range rounds() / 4 {
		caller, leave := context.WithCancel(context.Background())
		id := r.driven(caller, fmt.Sprint(i))
		done := make(chan struct{})
		go func() { defer close(done); jitter(r.ctx, 100*time.Microsecond); leave() }()
		jitter(r.ctx, 100*time.Microsecond)
		r.stop(session.Address{Input: id})
		<-done
		sum := r.wait(id)
		if sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.ParentCancelled) && (sum.Reason != string(interrupt.UserSIGINT) || sum.Who != "me") {
			t.Fatalf("round %d: %+v", i, sum)
		}
		reasons[sum.Reason]++
	}
	t.Logf("reasons %v", reasons)
	r.holds()
}

// A caller that leaves while its input waits has it taken back, as a recorded
// act: it never runs for nobody.
//
// proves INT-35, TRN-13, TRN-17
func TestACallerThatLeavesBeforeItsTurnBeginsTakesItsInputBack(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("first"), says("fine")}})
	first := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	second := r.submit("second")
	third := r.submit("third")
	if err := r.live.Withdraw(r.ctx, second, "caller"); err != nil {
		t.Fatal(err)
	}
	if err := r.live.Withdraw(r.ctx, first, "caller"); !errors.Is(err, session.ErrNoInput) {
		t.Errorf("what runs is taken back: %v", err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, bound)
	defer cancel()
	if _, err := r.live.Wait(ctx, second); !errors.Is(err, session.ErrDropped) {
		t.Errorf("who waits for it hears %v", err)
	}
	if err := r.live.Withdraw(r.ctx, second, "caller"); !errors.Is(err, session.ErrNoInput) {
		t.Errorf("it is taken back twice: %v", err)
	}
	r.stop(session.Address{Input: first})
	r.wait(first)
	if _, err := r.live.Continue(r.ctx, "me", true); err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(third); sum.Outcome != event.TurnCompleted || sum.Turn != 2 {
		t.Errorf("%+v", sum)
	}
	drops := payloads[event.InboxDropped](t, r.records())
	if len(drops) != 1 || drops[0].ID != second || drops[0].Why != "removed" || drops[0].By != "caller" {
		t.Errorf("recorded %+v", drops)
	}
	r.holds()
}

// proves IFC-07, REC-06: an input that nobody accepted is an error, not a wait
func TestWaitingForWhatWasNeverAcceptedIsAnError(t *testing.T) {
	r := newRig(t, plan{})
	if _, err := r.live.Wait(r.ctx, "i_nobody"); !errors.Is(err, session.ErrNoInput) {
		t.Errorf("%v", err)
	}
	id := r.submit("go")
	r.wait(id)
	r.close()
	r.reopen() // a client that asks the next process gets the answer all the same
	if sum := r.wait(id); sum.Outcome != event.TurnCompleted || sum.Turn != 1 || sum.Text != "fine" {
		t.Errorf("%+v", sum)
	}
}

// A close that could not wait long enough can be repeated, and then ends.
//
// proves INT-16, TRN-04, TRN-17
func TestACloseThatRanOutOfTimeCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, plan{tools: []tool.Tool{waits(release)}, talks: []talk{calls("c1", "slow"), says("fine")}})
		id := r.submit("go")
		r.until("the call has started", func() bool { return strings.Contains(r.types(), "call/started") })
		short, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
		defer cancel()
		if err := r.live.Close(short, interrupt.SystemShutdown); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed though a call runs: %v", err)
		}
		if _, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("more")}}); err == nil {
			t.Error("a closing session takes input")
		}
		close(release)
		if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.SystemShutdown) || sum.Who != "close" {
			t.Errorf("%+v", sum)
		}
		r.close()
		r.close()
		if _, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("more")}}); !errors.Is(err, session.ErrClosed) {
			t.Errorf("a closed session answers %v", err)
		}
		r.holds()
	})
}
