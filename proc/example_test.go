//go:build unix

package proc_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// A program's main begins with proc.Main(); here the test binary's does.
func Example() {
	host, err := proc.NewHost(proc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()

	tree, err := host.Start(context.Background(), proc.Spec{
		Owner: "call", ID: "c1", Dir: os.TempDir(),
		Argv: []string{"sh", "-c", "echo serving; sleep 1000 & exit 3"},
		Env:  proc.Environ(os.Environ(), nil),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-tree.Exited() // the command; what it left in the background lives on
	exit, _ := tree.Exit()
	fmt.Print(*exit.Code, " ", len(tree.PIDs()), " ", tree.Output(1000).Text)

	stopped := tree.Stop(interrupt.Ladder{Grace: 2 * time.Second, Bound: 5 * time.Second})
	fmt.Println(stopped.Gone, stopped.Forced, len(tree.PIDs()))
	// Output:
	// 3 1 serving
	// true false 0
}
