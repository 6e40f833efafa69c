package turn_test

import (
	"errors"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// A stop is seen at the beginning of a step, in front of each call and at the
// step's end: what stands behind the boundary does not happen, what stands
// before it stays.
//
// proves INT-27, INT-03
func TestAStopIsSeenAtEachBoundaryOfAStep(t *testing.T) {
	for name, c := range map[string]struct {
		play         func(t *testing.T, d *desk)
		asked, began int
	}{
		"before the first request": {func(_ *testing.T, d *desk) {
			d.token++
			in := turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("go")}, Priority: event.PriorityLater}}
			for _, e := range d.s.Step(d.now, in) { // the turn is armed, and has not been taken up
				if e, ok := e.(turn.Append); ok {
					d.recs = append(d.recs, e.Records...)
				}
			}
			d.trip(interrupt.UserSIGINT, "me")
			d.tell(turn.Woken{})
		}, 0, 0},
		"in front of a call": {func(t *testing.T, d *desk) {
			d.submit("go")
			d.calls("c0", "bash", "c1", "bash")
			d.ran("c0")
			d.allow("c1")
			d.trip(interrupt.UserSIGINT, "me")
			if err := d.begin("c1"); !errors.Is(err, turn.ErrNotNow) {
				t.Errorf("a call starts behind the stop: %v", err)
			}
			if err := d.end("c1", ended(event.CallSkipped)); err != nil {
				t.Error(err)
			}
		}, 1, 1},
		"at the end of the step": {func(t *testing.T, d *desk) {
			d.submit("go")
			d.calls("c0", "bash")
			d.allow("c0")
			if err := d.begin("c0"); err != nil {
				t.Error(err)
			}
			d.trip(interrupt.UserSIGINT, "me")
			if err := d.end("c0", finished("real")); err != nil {
				t.Error(err)
			}
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			c.play(t, d)
			if end := d.ending(); end.Outcome != event.TurnAborted {
				t.Errorf("ended %+v", end)
			}
			if n := len(all[turn.Ask](d.effects)); n != c.asked {
				t.Errorf("the model was asked %d times, want %d", n, c.asked)
			}
			if n := len(payloads[event.CallStarted](t, d.recs)); n != c.began {
				t.Errorf("%d calls began, want %d", n, c.began)
			}
			if r, ran := results(t, d.recs)["c0"]; ran && r.Outcome != event.CallFinished {
				t.Errorf("what had ended is now %s", r.Outcome)
			}
			paired(t, d.recs)
			valid(t, d.s.History)
		})
	}
}
