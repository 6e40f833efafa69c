package turn_test

import (
	"slices"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// Where one turn at a time is wanted, what waits behind a turn is held and
// reported with its end; each is run, alone and in order, when somebody says
// so. What a turn made way for goes on by itself.
//
// proves IFC-06, TRN-13, TRN-14
func TestOneTurnAtATime(t *testing.T) {
	d := newDesk(t, turn.Options{Hold: true})
	d.submit("one")
	two, three := d.submit("two"), d.submit("three")
	d.stream(event.TextDelta{Text: "done"})
	d.finish(event.FinishStop)
	if p := must[turn.Publish](d); p.Summary.Next != "" || !slices.Equal(p.Summary.Held, []string{"two", "three"}) || d.s.Phase() != turn.PhaseIdle {
		t.Fatalf("behind the first turn: %+v, the machine is %v", p.Summary, d.s.Phase())
	}
	for i, want := range []event.InputID{two, three} {
		d.token++
		d.tell(turn.Go{First: true, Token: d.token})
		if r := must[turn.Reply](d); r.Err != nil || r.Value != want {
			t.Fatalf("the next of what waits is %v (%v), want %s", r.Value, r.Err, want)
		}
		d.stream(event.TextDelta{Text: "done"})
		d.finish(event.FinishStop)
		if p := must[turn.Publish](d); p.Summary.Turn != i+2 || !slices.Equal(p.Summary.Inputs, []event.InputID{want}) {
			t.Fatalf("it ran as %+v", p.Summary)
		}
	}
	d.token++
	d.tell(turn.Go{First: true, Token: d.token})
	if r := must[turn.Reply](d); r.Err == nil {
		t.Error("a turn was started on nothing")
	}

	d.submit("four")
	d.submit("five")
	d.tell(turn.Submit{Accepted: event.InboxAccepted{ID: "i_now", Input: event.UserInput{Content: event.TextOf("now")}, Priority: event.PriorityNow}})
	d.trip(interrupt.NowPriorityInput, "")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	p := must[turn.Publish](d)
	if p.Summary.Next != "i_now" || !slices.Equal(p.Summary.Held, []string{"five"}) || d.s.Phase() != turn.PhaseAsking {
		t.Errorf("behind the turn that made way: %+v, the machine is %v", p.Summary, d.s.Phase())
	}
}
