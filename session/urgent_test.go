package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
)

// An urgent input that can't be stored is refused, and the turn ends by the disk,
// not by an input that nobody has.
//
// proves INT-24, LOG-13, TRN-13
func TestAnUrgentInputThatIsNotStoredStopsNothing(t *testing.T) {
	var disk faults
	r := newRig(t, plan{store: mem.Options{Fault: disk.fault}, talks: []talk{hangs("so far")}})
	id := r.submit("go")
	r.until("it is asked", func() bool { return r.model.count() == 1 })
	disk.fail(0)
	if taken, err := r.live.Offer(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("now")}, Priority: event.PriorityNow}); err == nil {
		t.Fatalf("taken: %+v", taken)
	}
	sum := r.wait(id)
	if sum.Outcome != event.TurnFailed || sum.Error == nil || sum.Error.Code != event.FailStorage {
		t.Errorf("it ended %s %s: %+v", sum.Outcome, sum.Reason, sum.Error)
	}
	disk.on.Store(false)
	r.until("it works again", func() bool { return r.live.Status().Storage == "" })
}

// A summary that has no end is hung up on, and the turn that waits for it ends.
//
// proves TRN-12, IFC-13
func TestASummaryWithoutAnEndFails(t *testing.T) {
	r := newRig(t, plan{talks: []talk{says("hello"), func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
		for say(event.TextDelta{Text: strings.Repeat("on and on ", 1000)}) {
		}
		return nil
	}}})
	r.run("go")
	id, err := r.live.Compact(r.ctx, "me")
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnFailed || sum.Error == nil || !strings.Contains(sum.Error.Message, "longer than") {
		t.Errorf("%+v %+v", sum, sum.Error)
	}
	if l := r.holds(); len(l.History) != 2 {
		t.Errorf("%d messages", len(l.History))
	}
}
