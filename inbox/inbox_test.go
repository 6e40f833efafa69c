package inbox_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
)

func accepted(id event.InputID, p event.Priority, key string) event.InboxAccepted {
	return event.InboxAccepted{ID: id, Priority: p, Key: key, Input: event.UserInput{Content: event.TextOf(string(id))}}
}

// proves TRN-13, TRN-16, LOG-06: whatever happens to it, an input waits, was
// taken, or was never accepted; the order is by priority, then by acceptance
func TestAnInputIsInOnePlaceAndInItsOrder(t *testing.T) {
	rank := map[event.Priority]int{event.PriorityNow: 0, event.PriorityNext: 1, event.PriorityLater: 2}
	rapid.Check(t, func(t *rapid.T) {
		var box inbox.Box
		var waits []event.InboxAccepted // the model: a list
		taken, seen := map[event.InputID]bool{}, map[event.InputID]bool{}
		for seq := range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := event.InputID(fmt.Sprintf("i_%d", rapid.IntRange(0, 12).Draw(t, "id")))
			at := slices.IndexFunc(waits, func(a event.InboxAccepted) bool { return a.ID == id })
			var p event.Payload
			ok := at >= 0
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				a := accepted(id, rapid.SampledFrom([]event.Priority{event.PriorityNow, event.PriorityNext, event.PriorityLater}).Draw(t, "priority"), "")
				if p, ok = a, !seen[id]; ok {
					waits, seen[id] = append(waits, a), true
				}
			case 2:
				p = event.InboxClaimed{ID: id}
			case 3:
				p = event.InboxDropped{ID: id}
			case 4:
				p = event.InboxEdited{ID: id, Input: event.UserInput{Content: event.TextOf("edited")}}
				if ok {
					waits[at].Input = event.UserInput{Content: event.TextOf("edited")}
				}
			}
			if _, edit := p.(event.InboxEdited); at >= 0 && ok && !edit {
				if _, accept := p.(event.InboxAccepted); !accept {
					waits, taken[id] = slices.Delete(waits, at, at+1), true
				}
			}
			if err := box.Apply(event.Seq(seq), p); (err == nil) != ok {
				t.Fatalf("%T of %s: %v", p, id, err)
			}
			want := slices.Clone(waits)
			slices.SortStableFunc(want, func(a, b event.InboxAccepted) int { return rank[a.Priority] - rank[b.Priority] })
			got := box.Waiting()
			if len(got) != len(want) || box.Len() != len(want) {
				t.Fatalf("%d wait, want %d", len(got), len(want))
			}
			for i, e := range got {
				if e.ID != want[i].ID || e.Input.Content.Text() != want[i].Input.Content.Text() {
					t.Fatalf("place %d: %s %q, want %s", i, e.ID, e.Input.Content.Text(), want[i].ID)
				}
			}
			if _, there := box.Get(id); there == taken[id] && seen[id] {
				t.Fatalf("%s waits %v, was taken %v", id, there, taken[id])
			}
		}
	})
}

// proves TRN-13: a key stands for one input, also once that was taken
func TestAKeyIsRememberedLongerThanItsInputWaits(t *testing.T) {
	var box inbox.Box
	for seq, p := range []event.Payload{accepted("i_1", event.PriorityLater, "k"), event.InboxClaimed{ID: "i_1"}} {
		if err := box.Apply(event.Seq(seq), p); err != nil {
			t.Fatal(err)
		}
	}
	if id, ok := box.ByKey("k"); !ok || id != "i_1" {
		t.Errorf("%q %v", id, ok)
	}
	if err := box.Apply(2, accepted("i_2", event.PriorityLater, "k")); err == nil {
		t.Error("one key is accepted twice")
	}
	if _, ok := box.ByKey(""); ok {
		t.Error("no key is a key")
	}
}
