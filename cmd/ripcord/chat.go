package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/tui"
)

func resumeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Open the chat on a session", Args: cobra.ExactArgs(1),
		Long: `Open the chat on a session. A turn that a crash cut off is closed first; nothing
is run again, and what goes on from there is up to you.`,
		Example: "  ripcord resume s_01\n  ripcord sessions list   # the ids",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.chat(cmd.Context(), args[0]) },
	}
	a.modelFlags(cmd)
	a.chatFlags(cmd)
	return cmd
}

func (a *app) chatFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.flags.plain, "plain", false, "lines only: no cursor movement, no colours")
	cmd.Flags().BoolVar(&a.flags.yes, "yes", false, "run every tool call without asking (dangerous)")
}

// chat opens the terminal UI on a session, a new one if name is empty.
func (a *app) chat(ctx context.Context, name string) error {
	stdout, isFile := a.out.w.(*os.File)
	if !isFile || !isTerminal(a.stdin) || !isTerminal(stdout) {
		return usagef("use `ripcord run \"…\"`", "the chat needs a terminal on stdin and stdout")
	}
	wiring, wired := a.stoppable(ctx)
	req, e, err := a.wireChat(wiring, name)
	wired()
	if err != nil {
		return err
	}
	if a.flags.yes {
		a.say(allNow)
	}
	set, err := a.settings(req.Cwd, true) // wire has said what there is to say of it
	if err != nil {
		return errors.Join(err, e.close(ctx))
	}
	exit, err := a.converse(ctx, e, req, stdout, tui.OnInterrupt(set.OnInterrupt))
	a.closeBooks(e)
	if err != nil {
		return err
	}
	if exit != exitDone {
		return exitError(exit)
	}
	return nil
}

// wireChat says what is to be opened, a new session if name is empty, and makes a
// runtime that is right for it.
func (a *app) wireChat(ctx context.Context, name string) (req api.OpenRequest, e *engine, err error) {
	if name != "" {
		if req.ID, err = a.goOn(ctx, name); err != nil {
			return req, nil, err
		}
	}
	if req.Cwd, err = a.workspace(); err != nil {
		return req, nil, err
	}
	e, err = a.wire(ctx, a, need{model: true, chat: true, yes: a.flags.yes})
	return req, e, err
}

// converse opens the session and hands it to the chat, which takes the signals
// from then on; one that came before has ended the opening.
func (a *app) converse(ctx context.Context, e *engine, req api.OpenRequest, stdout *os.File, waiting tui.OnInterrupt) (int, error) {
	opening, opened := a.stoppable(ctx)
	st, err := e.svc.Open(opening, req)
	opened()
	sigs := make(chan os.Signal, 8)
	defer a.stops.forward(sigs)()
	if c := a.stops.cause(); c != noCause {
		return c.exit(), nil
	}
	if err != nil {
		return 0, err
	}
	exit, err := tui.Run(ctx, tui.Options{
		Service: e.svc, Session: st.ID, State: st, In: a.stdin, Out: stdout,
		OnInterrupt: waiting, Plain: a.flags.plain, NoColor: a.env("NO_COLOR") != "", Notice: e.model, Signals: sigs,
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		a.say("the chat ended: %v", err)
		if exit.Code == exitDone {
			exit.Code = exitFailed
		}
	}
	return exit.Code, nil
}
