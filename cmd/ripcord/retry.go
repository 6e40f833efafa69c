package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
)

func retryCmd(a *app) *cobra.Command {
	var t turnFlags
	var latest bool
	cmd := &cobra.Command{
		Use:   "retry [SESSION]",
		Short: "Ask the last turn again, as if it had never been",
		Long: `Ask the last turn again with its own input and options, as if it had never been:
what it left is hidden from the model, nothing is removed from the journal and
no file is touched. It needs a turn that was stopped, cut off or failed, with no
summary made since. Words that steered it steer the new turn by themselves.`,
		Example: `  ripcord retry s_01
  ripcord retry --continue --output json   the newest session of this workspace`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			j := job{turnFlags: t, open: api.OpenRequest{Latest: latest},
				begin: func(ctx context.Context, svc api.Service, s api.SessionState, _ string) (api.Submitted, error) {
					return svc.Retry(ctx, api.RetryRequest{Session: s.ID, By: who()})
				}}
			switch {
			case len(args) == 1 && latest:
				return usagef("give one of them", "--continue and %s both name a session", args[0])
			case len(args) == 0 && !latest:
				return usagef("write `ripcord retry SESSION`, or --continue for the newest session of this workspace", "no session is named")
			case len(args) == 1:
				j.find = args[0]
			}
			return a.turn(cmd.Context(), j)
		},
	}
	t.register(cmd)
	cmd.Flags().BoolVar(&latest, "continue", false, "in the newest session of this workspace")
	a.modelFlags(cmd)
	return cmd
}
