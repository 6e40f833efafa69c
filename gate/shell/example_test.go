package shell_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/gate/shell"
	"github.com/ripcord-go/ripcord/proc"
)

func Example() {
	host, err := proc.NewHost(proc.Options{Prestart: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	hooks, err := shell.New(shell.Options{Host: host, Env: proc.Environ(os.Environ(), nil), Hooks: []shell.Hook{{
		Name: "no-pushes", Points: []gate.Point{gate.PreTool}, Tool: "bash",
		Line: `grep -q 'git push' && { echo "pushing is mine to do" >&2; exit 2; } || exit 0`,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hooks.Close()
	v, _ := hooks.Judge(context.Background(), gate.Moment{
		Point: gate.PreTool, Dir: os.TempDir(), Tool: "bash", Args: []byte(`{"command":"git push"}`)})
	fmt.Println(v.Decision == gate.Block, v.Why)
	// Output: true hook no-pushes: pushing is mine to do
}
