package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

func forkCmd(a *app) *cobra.Command {
	var turn int
	var title string
	var asJSON bool
	var chosen func(flag string) bool
	cmd := &cobra.Command{
		Use: "fork SESSION", Short: "Make a session that begins with a copy of another's history", Args: cobra.ExactArgs(1),
		Long: `Make a session that begins with a copy of another's history, up to the end of a
turn. The other session stays as it is; no file is touched. Jobs and sub-agents
stay the other session's, and so does input that waits there.

A session that somebody runs a turn in is forked at a turn that has ended: name
one with --turn.`,
		Example: `  ripcord fork s_01
  ripcord fork s_01 --turn 3 --title "another way"`,
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			if turn < 0 || turn == 0 && chosen("turn") {
				return usagef("turns count from 1", "--turn %d is no turn", turn)
			}
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			id, err := svc.Fork(ctx, api.ForkRequest{Session: s.ID, Turn: turn, Title: title})
			if err != nil {
				return err
			}
			if asJSON {
				a.out.write(line(forked{id, s.ID}))
			} else {
				a.print("%s\n", id)
			}
			made, err := resolve(ctx, svc, string(id))
			if err != nil {
				return err
			}
			a.say("%s begins with a copy of %s up to the end of turn %d; no file was touched", id, s.ID, made.Turns)
			if turn == 0 && made.Turns < s.Turns {
				a.say("what stands behind turn %d is not in it: see `ripcord log verify %s`", made.Turns, s.ID)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	chosen = f.Changed
	f.IntVar(&turn, "turn", 0, "copy up to the end of this turn (default: the last one)")
	f.StringVar(&title, "title", "", "its title (default: the other's)")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// forked is what fork prints with --json.
type forked struct {
	Session event.SessionID `json:"session"`
	From    event.SessionID `json:"from"`
}
