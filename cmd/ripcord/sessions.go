package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
)

func sessionsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List, show and remove sessions",
		Example: "  ripcord sessions list\n  ripcord sessions show s_01\n  ripcord sessions rm s_01",
	}
	cmd.AddCommand(sessionsList(a), sessionsShow(a), &cobra.Command{
		Use: "rm ID", Short: "Remove a session and all that is kept beside it",
		Long:    "Remove a session and all that is kept beside it. It is refused while a process holds the session.",
		Example: "  ripcord sessions rm s_01", Args: cobra.ExactArgs(1),
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			if err := svc.Delete(ctx, s.ID); err != nil {
				return err
			}
			a.say("removed %s", s.ID)
			return nil
		}),
	},
		refused("search", "`ripcord sessions search`", "`ripcord sessions list --json` and a filter"),
		refused("export", "`ripcord sessions export`", "`ripcord log show ID --json` gives the records as they are"),
		refused("gc", "`ripcord sessions gc`", "`ripcord sessions rm ID`"))
	return cmd
}

func sessionsList(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, damaged ones too", Args: cobra.NoArgs,
		Example: "  ripcord sessions list\n  ripcord sessions list --json",
		RunE: a.reading(func(ctx context.Context, svc api.Service, _ []string) error {
			all, err := svc.Sessions(ctx)
			if err != nil {
				return err
			}
			for i := range all {
				all[i].Title = titleOf(ctx, svc, all[i])
			}
			if asJSON {
				a.out.write(array(all))
				return nil
			}
			for _, s := range all {
				a.print("%s  %-9s  %3d turns  %s  %s%s%s\n", s.ID, s.State, s.Turns, when(s.Updated), oneLine(s.Cwd), titled(s.Title), of(s.Parent)+held(s.Owner))
			}
			if len(all) == 0 {
				a.say("there are no sessions yet")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON array")
	return cmd
}

// array encodes a list that is never null.
func array[T any](items []T) []byte {
	if items == nil {
		items = []T{}
	}
	return line(items)
}

func when(t *time.Time) string {
	if t == nil {
		return "          -     "
	}
	return t.Local().Format("2006-01-02 15:04")
}

// held names who has the session.
func held(o *api.OwnerInfo) string {
	if o == nil {
		return ""
	}
	return "  (process " + itoa(o.PID) + " on " + oneLine(o.Host) + ")"
}

// of names whose sub-agent a session is.
func of(parent event.SessionID) string {
	if parent == "" {
		return ""
	}
	return "  (sub-agent of " + string(parent) + ")"
}

// firstWords bounds where a session's first input is looked for, in records: it
// stands at the beginning.
const firstWords = 64

// titleOf is a session's title. Where nobody gave it one it is the first line of
// its first input, as far as that can be read.
func titleOf(ctx context.Context, svc api.Service, s api.SessionInfo) string {
	if s.Title != "" {
		return s.Title
	}
	n := 0
	for f, err := range svc.Records(ctx, s.ID, 0) {
		if n++; err != nil || n > firstWords {
			break
		}
		if body, _ := f.Record.Body(); body != nil {
			if in, ok := body.(event.InboxAccepted); ok {
				first, _, _ := strings.Cut(strings.TrimSpace(in.Input.Content.Text()), "\n")
				return clip(first, 60)
			}
		}
	}
	return ""
}

func titled(s string) string {
	if s == "" {
		return ""
	}
	return "  " + oneLine(s)
}

func sessionsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a session's turns; repairs nothing", Args: cobra.ExactArgs(1),
		Example: "  ripcord sessions show s_01\n  ripcord sessions show s_01 --json",
		RunE: a.reading(func(ctx context.Context, svc api.Service, args []string) error {
			s, err := resolve(ctx, svc, args[0])
			if err != nil {
				return err
			}
			s.Title = titleOf(ctx, svc, s)
			if asJSON {
				a.out.write(line(s))
				return nil
			}
			a.print("%s  %s  %d turns  %d bytes  %s%s\n", s.ID, s.State, s.Turns, s.Bytes, oneLine(s.Cwd), titled(s.Title)+of(s.Parent))
			if s.Owner != nil {
				a.print("in use by process %d on %s\n", s.Owner.PID, oneLine(s.Owner.Host))
				a.showHeld(ctx, s.ID)
			}
			return a.showTurns(ctx, svc, s)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object, as in the list")
	return cmd
}

// showHeld asks who holds a session what only they know. Nothing depends on it:
// who does not answer soon is not waited for.
func (a *app) showHeld(ctx context.Context, id event.SessionID) {
	c, err := a.control(id)
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if st, err := c.Status(ctx, id); err == nil {
		a.printHeld(st)
	}
}

func (a *app) printHeld(st api.SessionState) {
	if st.Verified != "" {
		a.print("journal verified: %s\n", oneLine(st.Verified))
	}
	for _, name := range st.Unwinding {
		a.print("still unwinding, its turn is over: %s\n", oneLine(name))
	}
}

// shownTurn is a turn as the list of turns has it.
type shownTurn struct {
	number, retryOf int
	kind            event.TurnKind
	inputs          []event.InputID
	hidden          bool
	end             *event.TurnEnded
}

// showTurns lists the turns, those too that the model does not see any more.
func (a *app) showTurns(ctx context.Context, svc api.Service, s api.SessionInfo) error {
	texts := map[event.InputID]string{}
	var turns []*shownTurn
	var waits inbox.Box
	var fault error // what could be read is shown all the same
	for f, err := range svc.Records(ctx, s.ID, 0) {
		if err != nil {
			fault = err
			break
		}
		body, err := f.Record.Body()
		if err == nil {
			err = waits.Apply(f.Record.Seq, body)
		}
		if err != nil {
			fault = err
			break
		}
		switch b := body.(type) {
		case event.SessionForked:
			a.print("forked from %s, %s\n", b.From, oneLine(b.Reason))
		case event.InboxAccepted:
			texts[b.ID] = b.Input.Content.Text()
		case event.InboxEdited:
			texts[b.ID] = b.Input.Content.Text()
		case event.TurnStarted:
			turns = append(turns, &shownTurn{number: f.Record.Turn, retryOf: b.RetryOf, kind: b.Kind})
		case event.InboxClaimed:
			if n := len(turns); n > 0 {
				turns[n-1].inputs = append(turns[n-1].inputs, b.ID)
			}
		case event.Rewound:
			for _, t := range turns {
				t.hidden = t.hidden || t.number >= b.From
			}
		case event.TurnEnded:
			if n := len(turns); n > 0 {
				turns[n-1].end = &b
			}
		default: // no more of a turn is listed
		}
	}
	for _, t := range turns {
		var words []string
		for _, id := range t.inputs {
			words = append(words, texts[id])
		}
		a.print("turn %d%s  %s\n", t.number, t.marks(), clip(strings.Join(words, " / "), 70))
		if b := t.end; b != nil {
			why := ""
			if b.Reason != "" {
				why = " (" + b.Reason + ")"
			}
			a.print("        %s%s, %d steps  %s\n", b.Outcome, why, b.Steps, clip(b.Text, 60))
		}
	}
	for _, e := range waits.Waiting() {
		a.print("waits (%s)  %s\n", e.Priority, clip(e.Input.Content.Text(), 70))
	}
	if fault != nil {
		return fault
	}
	switch s.State {
	case "open_turn":
		a.say("a turn is open; `ripcord log repair %s --dry-run` shows what opening the session will add", s.ID)
	case "damaged", "forked":
		a.say("the journal is %s; `ripcord log verify %s` shows where", s.State, s.ID)
	}
	return nil
}

// marks says what is special about a turn.
func (t *shownTurn) marks() string {
	var out []string
	if t.kind != event.TurnInput {
		out = append(out, string(t.kind))
	}
	if t.retryOf != 0 {
		out = append(out, "retry of turn "+itoa(t.retryOf))
	}
	if t.hidden {
		out = append(out, "hidden")
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// clip shortens text to n runes on one line.
func clip(s string, n int) string {
	r := []rune(oneLine(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

func versionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  ripcord version\n  ripcord version --json",
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				a.out.write(line(v))
				return nil
			}
			a.print("ripcord %s (%s, %s/%s, journal format %d)\n", v.Version, v.Go, v.OS, v.Arch, v.Format)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func completionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for bash, zsh, fish or powershell",
		Example:   "  source <(ripcord completion bash)\n  ripcord completion fish > ~/.config/fish/completions/ripcord.fish",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	}
	cmd.RunE = func(c *cobra.Command, args []string) error {
		root := c.Root()
		var err error
		switch args[0] {
		case "bash":
			err = root.GenBashCompletionV2(a.out, true)
		case "zsh":
			err = root.GenZshCompletion(a.out)
		case "fish":
			err = root.GenFishCompletion(a.out, true)
		case "powershell":
			err = root.GenPowerShellCompletionWithDesc(a.out)
		default:
			return usagef("use bash, zsh, fish or powershell", "there is no completion for %s", args[0])
		}
		if err != nil {
			return fmt.Errorf("completion: %w", err)
		}
		return nil
	}
	return cmd
}
