package session_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// A live session is one goroutine that owns a journal. Most programs reach it
// through the root package; this is what that does.
func Example() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	store := mem.New(mem.Options{})
	w, err := store.Create(ctx, "s_1")
	check(err)
	tools, err := tool.NewSet()
	check(err)
	live, err := session.Open(ctx, session.Config{ID: "s_1", Header: event.SessionOpened{ID: "s_1"}, Writer: w, Records: store.Read(ctx, "s_1", 0),
		Model: &puppet{talks: []talk{hangs("half an answer")}}, Tools: tools, Turn: turn.Options{Config: event.ModelConfig{Model: "m"}}})
	check(err)

	id, err := live.Submit(ctx, session.Input{Input: event.UserInput{Content: event.TextOf("hello")}})
	check(err) // it is durable now, and its turn can be stopped
	state, err := live.Interrupt(session.Address{Input: id}, interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "a person", At: time.Now()}, false)
	check(err)
	fmt.Println(state == session.Stopping)
	sum, err := live.Wait(ctx, id)
	check(err)
	fmt.Println(sum.Outcome, sum.Reason, "by", sum.Who)

	state, err = live.Interrupt(session.Address{Input: id}, interrupt.Cause{Reason: interrupt.UserSIGINT, At: time.Now()}, false)
	check(err)
	fmt.Println(state == session.StopIdle)
	check(live.Close(ctx, interrupt.SessionReleased))
	// Output:
	// true
	// aborted USER_SIGINT by a person
	// true
}
