package tui_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/tui"
)

// Without a terminal at its ends the chat is a loop over lines.
func ExampleRun() {
	in, feed, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		_, _ = feed.WriteString("hello\n")
		_ = feed.Close()
	}()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	exit, err := tui.Run(context.Background(), tui.Options{
		Service: newFake(nil), Session: session, State: api.SessionState{ID: session},
		In: in, Out: os.Stdout, Notice: "model scripted (a demo)",
		Now: func() time.Time { return noon },
	})
	fmt.Println(exit.Code, err)
	// Output:
	// model scripted (a demo)
	// › hello
	// **answer** to hello
	// ✓ done
	// session s_test · go on with: ripcord resume s_test
	// 0 <nil>
}
