package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
)

func compactCmd(a *app) *cobra.Command {
	var t turnFlags
	cmd := &cobra.Command{
		Use:   "compact SESSION",
		Short: "Have the model sum up a session's context",
		Long: `Have the model sum up what a session's context holds, as a turn that can be
stopped: the summary stands for it in later requests, or nothing has changed.
The journal keeps everything. What is summed up cannot be retried or rewound any
more.`,
		Example: `  ripcord compact s_01
  ripcord compact s_01 --output json --timeout 2m`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.turn(cmd.Context(), job{turnFlags: t, find: args[0],
				begin: func(ctx context.Context, svc api.Service, s api.SessionState, _ string) (api.Submitted, error) {
					return svc.Compact(ctx, s.ID)
				}})
		},
	}
	t.register(cmd)
	a.modelFlags(cmd)
	return cmd
}
