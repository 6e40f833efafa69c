package turn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

func full() event.Failure { return event.Failure{Code: event.FailStorage, Message: "full"} }

// A stop that comes while a turn is ending changes nothing of that end, and what
// waits behind it does not run by itself.
//
// proves TRN-14, INT-23, B040
func TestAStopInATurnsLastMomentHoldsWhatWaits(t *testing.T) {
	for _, c := range []struct {
		reason interrupt.Reason
		runs   bool
	}{{interrupt.UserSIGINT, false}, {interrupt.SystemShutdown, false}, {interrupt.NowPriorityInput, true}} {
		d := newDesk(t, turn.Options{})
		d.noHooks = true
		d.submit("first")
		d.submit("second")
		d.stream(say("done"))
		d.finish(event.FinishStop)
		d.trip(c.reason, "me")
		d.tell(turn.Hooked{})
		if sum := must[turn.Publish](d).Summary; sum.Outcome != event.TurnCompleted || slices.Equal(sum.Held, []string{"second"}) == c.runs {
			t.Errorf("%s: %s, held %v", c.reason, sum.Outcome, sum.Held)
		}
		if runs := d.s.Turn.Number == 2; runs != c.runs {
			t.Errorf("%s: turn %d, the machine is %v", c.reason, d.s.Turn.Number, d.s.Phase())
		}
	}
}

// proves PRC-05, IFC-13: whoever keeps a job that has ended meanwhile is told
// so, and no turn pays for it
func TestAJobThatHasEndedIsNotKept(t *testing.T) {
	d := inCall(t)
	fact := func(p event.Payload) turn.Reply {
		t.Helper()
		d.token++
		r, _ := d.replyTo(turn.Fact{Turn: 1, Call: "c1", Payload: p, Token: d.token})
		return r
	}
	if r := fact(event.JobStarted{ID: "j1", Command: "serve"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	d.token++
	if r, _ := d.replyTo(turn.Fact{Payload: event.JobKept{ID: "j1", Keep: true}, Token: d.token}); r.Err != nil {
		t.Error(r.Err)
	}
	d.token++
	if r, _ := d.replyTo(turn.Fact{Payload: event.JobEnded{ID: "j1", State: event.JobExited}, Token: d.token}); r.Err != nil {
		t.Fatal(r.Err)
	}
	d.token++
	if r, _ := d.replyTo(turn.Fact{Payload: event.JobKept{ID: "j1", Keep: true}, Token: d.token}); !errors.Is(r.Err, turn.ErrNotNow) {
		t.Errorf("kept: %v", r.Err)
	}
	if d.s.Phase() != turn.PhaseCalling || slices.ContainsFunc(all[turn.Show](d.effects), func(s turn.Show) bool { return s.State == "bug" }) {
		t.Errorf("the machine is %v", d.s.Phase())
	}
}

// proves TRN-17, B047: who clears drops all that waits; what belongs to a stop
// spares what came after it
func TestClearingWhileATurnUnwindsDropsWhatCameSince(t *testing.T) {
	for _, ofStop := range []bool{false, true} {
		d := newDesk(t, turn.Options{})
		d.submit("first")
		d.trip(interrupt.UserSIGINT, "me")
		d.submit("second")
		d.tell(turn.Clear{By: "me", Stop: ofStop, Token: 99})
		if n := len(d.s.Box.Waiting()); n == 1 != ofStop {
			t.Errorf("of the stop: %v, %d wait", ofStop, n)
		}
		d.cut()
	}
}

// proves LOG-13, LOG-14, B047: what cannot be written is not done: nothing is
// taken back or cleared while the disk is full
func TestNothingIsTakenBackWhileItCannotBeWritten(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("first")
	d.submit("second")
	d.tell(turn.StorageFailed{Failure: full()})
	id := d.waitingIDs()[0]
	for what, in := range map[string]turn.Input{"remove": turn.Remove{ID: id, By: "me", Token: 98}, "clear": turn.Clear{By: "me", Token: 98}} {
		d.take()
		d.tell(in)
		var no *turn.RefusedError
		if r, _ := d.replied(98); !errors.As(r.Err, &no) || no.Failure.Code != event.FailStorage || !slices.Equal(d.waitingIDs(), []event.InputID{id}) {
			t.Errorf("%s: %+v, waiting %v", what, r, d.waitingIDs())
		}
	}
	d.tell(turn.StorageWorks{})
	d.tell(turn.Remove{ID: id, By: "me", Token: 97})
	if r, ok := d.replied(97); !ok || r.Err != nil || len(d.waitingIDs()) > 0 {
		t.Errorf("%+v, waiting %v", r, d.waitingIDs())
	}
}

// proves LOG-13, TOL-24, law 6: an inner call whose start could not be written
// never ran, and nobody is told that it had started
func TestAnInnerCallWhoseStartIsNotDurableNeverRan(t *testing.T) {
	d := inCall(t)
	if r := d.beginInner("c1", "read"); r.Err != nil {
		t.Fatal(r.Err)
	}
	d.endInner("c1", 1)
	d.token++
	d.s.Step(d.now, turn.BeginInner{Turn: 1, Call: "c1", Started: event.InnerStarted{Tool: "bash", Args: []byte("{}"), By: "yes"}, Token: d.token})
	d.tell(turn.StorageFailed{Failure: full(), Refused: []turn.Token{d.token}})
	if err := d.end("c1", ended(event.CallStopped)); err != nil {
		t.Fatal(err)
	}
	text := results(t, d.recs)["c1"].Content.Text()
	if strings.Contains(text, "had started") || !strings.Contains(text, "Inner call 2 (bash) never ran") || !strings.Contains(text, "1 call of its own had ended") {
		t.Errorf("it says: %q", text)
	}
}
