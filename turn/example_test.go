package turn_test

import (
	"fmt"
	"log"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// A journal that ends in the middle of a turn is closed by a pure function of
// what stands in it: the call that had started may have done anything, so its
// result says just that.
func ExampleRecover() {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	ledger := turn.NewLedger()
	write := func(p event.Payload, turn, step int, call event.CallID) {
		r, err := event.New(p, at)
		if err != nil {
			log.Fatal(err)
		}
		r.Seq, r.Epoch, r.Turn, r.Step, r.Call = ledger.Last()+1, 1, turn, step, call
		if err := ledger.Apply(&r); err != nil {
			log.Fatal(err)
		}
	}
	write(event.SessionOpened{ID: "s_1"}, 0, 0, "")
	write(event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("clean up")}}, 0, 0, "")
	write(event.TurnStarted{Kind: event.TurnInput, Input: "i_1"}, 1, 0, "")
	write(event.StepStarted{}, 1, 1, "")
	write(event.InboxClaimed{ID: "i_1"}, 1, 1, "")
	write(event.ModelRequest{Attempt: 1}, 1, 1, "")
	write(event.CallRequested{Name: "bash"}, 1, 1, "c1")
	write(event.CallApproved{By: "yes"}, 1, 1, "c1")
	write(event.CallStarted{}, 1, 1, "c1") // and here the process died

	added, err := turn.Recover(ledger, 2, nil, turn.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range added {
		p, err := added[i].Body()
		if err != nil {
			log.Fatal(err)
		}
		switch p := p.(type) {
		case event.CallEnded:
			fmt.Println(added[i].Type, added[i].Call, p.Outcome)
		case event.TurnEnded:
			fmt.Println(added[i].Type, p.Outcome)
		default:
			fmt.Println(added[i].Type)
		}
	}
	again, err := turn.Recover(ledger, 3, nil, turn.Options{})
	fmt.Println("a second recovery adds", len(again), "records,", err)
	// Output:
	// repair/begin
	// call/ended c1 unknown
	// step/end
	// marker/aborted
	// turn/end interrupted
	// repair/commit
	// a second recovery adds 0 records, <nil>
}
