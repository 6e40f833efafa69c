package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/internal/demo"
)

// self is this program, as it was called.
func self() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return path, nil
	}
	return os.Executable()
}

func demoCmd(a *app) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "demo [esc|kill9|cut]", Short: "See a turn stopped, killed and gone on with, and every claim checked", Args: cobra.MaximumNArgs(1),
		Long: `Shows three scenarios on real processes, with the scripted model: Esc in the
middle of a tool, kill -9 of the runtime and a restart, and the same crash with
the turn cut off, counted side by side. Each claim is asked of the process
table and of the journal on disk. Nothing leaves this machine.

Exit 1 if a claim does not hold; it is named.`,
		Example:   "  ripcord demo\n  ripcord demo kill9\n  ripcord demo --check",
		ValidArgs: demo.Scenarios(),
		RunE: a.plain(func(ctx context.Context, args []string) error {
			only := ""
			if len(args) > 0 {
				only = args[0]
			}
			if only != "" && !slices.Contains(demo.Scenarios(), only) {
				return usagef("name one of esc, kill9, cut, or none for all", "there is no scenario %q", only)
			}
			exe, err := self()
			if err != nil {
				return err
			}
			failed, err := demo.Run(ctx, demo.Options{Out: a.out, Only: only, Check: check, Exe: exe})
			if err != nil {
				return err
			}
			if len(failed) > 0 {
				a.say("these claims do not hold: %s", fmt.Sprintf("%q", failed))
				return exitError(exitFailed)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&check, "check", false, "only the claims, and exit 1 if one does not hold")
	return cmd
}
