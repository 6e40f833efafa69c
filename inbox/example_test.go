package inbox_test

import (
	"fmt"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
)

// The inbox is what the journal says: each input waits until the record that
// puts it into the history.
func ExampleBox() {
	var box inbox.Box
	say := func(text string) event.UserInput { return event.UserInput{Content: event.TextOf(text)} }
	for seq, p := range []event.Payload{
		event.InboxAccepted{ID: "i_1", Input: say("write tests"), Priority: event.PriorityLater},
		event.InboxAccepted{ID: "i_2", Input: say("then commit"), Priority: event.PriorityLater},
		event.InboxAccepted{ID: "i_3", Input: say("mind the style"), Priority: event.PriorityNext},
		event.InboxEdited{ID: "i_2", Input: say("then push")},
		event.InboxClaimed{ID: "i_1"},
	} {
		if err := box.Apply(event.Seq(seq), p); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("in the history:", box.Taken().Input.Content.Text())
	for _, e := range box.Waiting() {
		fmt.Println("waits:", e.Input.Content.Text())
	}
	fmt.Println(box.Apply(9, event.InboxClaimed{ID: "i_1"}))
	// Output:
	// in the history: write tests
	// waits: mind the style
	// waits: then push
	// input i_1 is claimed but does not wait
}
