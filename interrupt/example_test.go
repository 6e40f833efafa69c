package interrupt_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ripcord-go/ripcord/interrupt"
)

// A host asks; the work learns of it at its next checkpoint, through its
// context, and through what it registered.
func Example() {
	turn := interrupt.New(interrupt.Options{})
	defer turn.Close() // from here on nothing can stop this turn

	request, stop := turn.Context(context.Background())
	defer stop()
	turn.Signal().OnCancel(func() { fmt.Println("close the connection") })

	first, err := turn.Request(interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "esc"})
	fmt.Println(first, err)
	fmt.Println(turn.Signal().Checkpoint())
	fmt.Println(context.Cause(request))
	// Output:
	// close the connection
	// true <nil>
	// Interrupted: USER_SIGINT
	// Interrupted: USER_SIGINT
}

// A verdict that has arrived is used, though the turn was tripped meanwhile.
func ExampleWait() {
	turn := interrupt.New(interrupt.Options{})
	defer turn.Close()
	verdict := make(chan string, 1)

	verdict <- "allow"
	_, _ = turn.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
	fmt.Println(interrupt.Wait(turn.Signal(), verdict))

	_, _, err := interrupt.Wait(turn.Signal(), verdict)
	fmt.Println(errors.Is(err, interrupt.ErrInterrupted))
	// Output:
	// allow true <nil>
	// true
}
