package turn_test

import (
	"errors"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// proves B044, TRN-13: words that stand for a waiting input leave the inbox in
// its place, once; where a turn has taken it meanwhile they are not accepted
func TestWordsThatStandForAWaitingInputAreSaidOnce(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	must[turn.Ask](d)
	waits := d.submit("a")
	instead := func(id event.InputID) turn.Reply {
		d.token++
		return all[turn.Reply](d.tell(turn.Submit{Token: d.token, Replaces: []event.InputID{waits},
			Accepted: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf("a")}, Priority: event.PriorityNow}}))[0]
	}
	if r := instead("i_now"); r.Err != nil || r.Value.(turn.Taken).Where != turn.Interrupting {
		t.Fatalf("sent now: %+v", r)
	}
	var refused *turn.RefusedError
	if r := instead("i_again"); !errors.As(r.Err, &refused) || refused.Failure.Code != "stale" {
		t.Errorf("sent again for what does not wait any more: %+v", r)
	}
	if w := d.s.Box.Waiting(); len(w) != 1 || w[0].ID != "i_now" {
		t.Errorf("waiting: %+v", w)
	}
}
