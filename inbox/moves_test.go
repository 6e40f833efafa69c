package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
)

func names(b *inbox.Box) string {
	var out []string
	for _, e := range b.Waiting() {
		out = append(out, string(e.ID)+":"+string(e.Priority))
	}
	return strings.Join(out, " ")
}

// proves TRN-13, LOG-06, INT-75: what one record moves it moves whole, or it is
// refused and nothing has moved
func TestARecordMovesAllThatItNamesOrNothing(t *testing.T) {
	steps := 3
	for name, c := range map[string]struct {
		play []event.Payload
		last event.Payload
		want string // waiting then; an error where it starts with "!"
	}{
		"a stand-in":             {nil, event.InboxAccepted{ID: "n", Priority: event.PriorityLater, Replaces: []event.InputID{"a", "b"}}, "c:later n:later"},
		"for one that is gone":   {[]event.Payload{event.InboxClaimed{ID: "b"}}, event.InboxAccepted{ID: "n", Replaces: []event.InputID{"a", "b"}}, "!a:next c:later"},
		"for one twice":          {nil, event.InboxAccepted{ID: "n", Replaces: []event.InputID{"a", "a"}}, "!b:next a:next c:later"},
		"its echo":               {[]event.Payload{event.InboxAccepted{ID: "n", Priority: event.PriorityLater, Replaces: []event.InputID{"a"}}}, event.InboxDropped{ID: "a", Why: event.DroppedReplaced}, "b:next c:later n:later"},
		"its echo again":         {[]event.Payload{event.InboxAccepted{ID: "n", Priority: event.PriorityLater, Replaces: []event.InputID{"a"}}, event.InboxDropped{ID: "a", Why: event.DroppedReplaced}}, event.InboxDropped{ID: "a", Why: event.DroppedReplaced}, "!b:next c:later n:later"},
		"refused":                {[]event.Payload{event.InboxAccepted{ID: "n", Priority: event.PriorityNow, Replaces: []event.InputID{"a", "b"}}}, event.InboxDropped{ID: "n", Why: event.DroppedRefused}, "b:next a:next c:later"},
		"canceled":               {[]event.Payload{event.InboxAccepted{ID: "n", Priority: event.PriorityNow, Replaces: []event.InputID{"a", "b"}}}, event.InboxDropped{ID: "n", Why: "canceled"}, "c:later"},
		"returned":               {[]event.Payload{event.InboxClaimed{ID: "c"}, event.InboxClaimed{ID: "b"}}, event.Rewound{From: 1, Returns: []event.Returned{{ID: "c", Priority: event.PriorityLater, Options: &event.SubmitOptions{MaxSteps: &steps}}, {ID: "b", Priority: event.PriorityNext}}}, "b:next a:next c:later"},
		"returned, one was not":  {[]event.Payload{event.InboxClaimed{ID: "c"}}, event.Rewound{From: 1, Returns: []event.Returned{{ID: "c"}, {ID: "b"}}}, "!b:next a:next"},
		"returned, and replaced": {[]event.Payload{event.InboxAccepted{ID: "n", Priority: event.PriorityLater, Replaces: []event.InputID{"a"}}, event.InboxClaimed{ID: "n"}}, event.Rewound{From: 1, Returns: []event.Returned{{ID: "n", Priority: event.PriorityNext}}}, "b:next n:next c:later"},
	} {
		t.Run(name, func(t *testing.T) {
			var b inbox.Box
			seq := event.Seq(0)
			apply := func(p event.Payload) error { seq++; return b.Apply(seq, p) }
			for _, p := range append([]event.Payload{event.InboxAccepted{ID: "b", Priority: event.PriorityNext}, event.InboxAccepted{ID: "c", Priority: event.PriorityLater},
				event.InboxAccepted{ID: "a", Priority: event.PriorityNext}}, c.play...) {
				if err := apply(p); err != nil {
					t.Fatal(err)
				}
			}
			err := apply(c.last)
			want, refused := strings.CutPrefix(c.want, "!")
			if (err != nil) != refused || names(&b) != want {
				t.Errorf("waiting %q, want %q: %v", names(&b), want, err)
			}
			if e, there := b.Get("c"); there && name == "returned" && *e.Options.MaxSteps != 3 {
				t.Errorf("%+v", e)
			}
			again := inbox.Restore(b.Snapshot())
			if names(&again) != names(&b) || again.Len() != b.Len() {
				t.Errorf("from a snapshot: %q", names(&again))
			}
		})
	}
}

// proves TRN-13: whatever is taken from wherever, the order is by priority, then
// by acceptance
func TestTheLinesKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b inbox.Box
		var want []inbox.Entry
		rank := map[event.Priority]int{event.PriorityNow: 0, event.PriorityNext: 1, event.PriorityLater: 2}
		n := 0
		for seq := range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(want) == 0 || rapid.Bool().Draw(t, "in") {
				n++
				p := rapid.SampledFrom([]event.Priority{event.PriorityNow, event.PriorityNext, event.PriorityLater}).Draw(t, "priority")
				a := event.InboxAccepted{ID: event.InputID(fmt.Sprint("i_", n)), Priority: p}
				want = append(want, inbox.Entry{InboxAccepted: a, Seq: event.Seq(seq)})
				slices.SortStableFunc(want, func(x, y inbox.Entry) int { return rank[x.Priority] - rank[y.Priority] })
				if err := b.Apply(event.Seq(seq), a); err != nil {
					t.Fatal(err)
				}
			} else {
				at := rapid.IntRange(0, len(want)-1).Draw(t, "at")
				if err := b.Apply(event.Seq(seq), event.InboxClaimed{ID: want[at].ID}); err != nil {
					t.Fatal(err)
				}
				want = slices.Delete(want, at, at+1)
			}
			got := b.Waiting()
			if !slices.EqualFunc(got, want, func(x, y inbox.Entry) bool { return x.ID == y.ID }) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}
