package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const about = `Ripcord is a terminal agent whose turns can be stopped at any instant.

Press Esc and the turn stops in order; kill the process and the journal is
closed when the session is opened again. Nothing restarts by itself.

Exit codes of run, continue, retry and compact:
    0  the turn completed (a failing tool is not an error)
    1  failed or stalled            2  wrong use
    3  settings or credentials      4  budget, truncated or looped
    5  blocked, or approval needed  6  session in use elsewhere
    7  session damaged              8  in place of 1 or 4: some effects are not known
  124  --timeout  129 SIGHUP  130 SIGINT or another interrupt  143 SIGTERM`

// newRoot builds the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ripcord",
		Short: "A terminal agent whose turns can be stopped at any instant",
		Long:  about,
		Example: `  ripcord                          open the chat
  ripcord run "fix the test"       one turn, its text on stdout
  ripcord resume s_01              open the chat on a session
  ripcord interrupt s_01           stop a turn from another terminal`,
		Args:              cobra.NoArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), "") },
	}
	root.SetOut(a.out)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("see `"+cmd.CommandPath()+" --help`", "%v", err)
	})
	a.modelFlags(root)
	a.chatFlags(root)
	root.AddCommand(runCmd(a), continueCmd(a), retryCmd(a), resumeCmd(a), interruptCmd(a), sendCmd(a), rewindCmd(a), forkCmd(a), compactCmd(a), sessionsCmd(a), logCmd(a), guardCmd(a),
		jobsCmd(a), modelCmd(a), configCmd(a), trustCmd(a), mcpCmd(a), doctorCmd(a), demoCmd(a), versionCmd(a), completionCmd(a))
	root.AddCommand(laterCmds()...)
	strict(root)
	return root
}

// modelFlags are for verbs that ask a model.
func (a *app) modelFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.model, "model", "", "model to ask (RIPCORD_MODEL)")
	f.StringVar(&a.flags.provider, "provider", "", "openai-chat, openai-responses, anthropic or scripted (RIPCORD_PROVIDER)")
	f.StringVar(&a.flags.baseURL, "base-url", "", "address of the model server, with /v1 (RIPCORD_BASE_URL)")
	f.StringVar(&a.flags.stallGuard, "stall-guard", "", "what is done about a silent model: off, warn or act (RIPCORD_STALL_GUARD)")
	a.cwdFlag(cmd)
}

func (a *app) cwdFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.flags.cwd, "cwd", "", "workspace folder (default: the session's own; for a new one the current folder)")
}

// strict makes wrong arguments a usage error with the next step, on every verb.
func strict(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return misused(c, args, err)
			}
			if _, what, _ := strings.Cut(c.Use, " "); len(args) > 0 && args[0] == "" && namesSession(what) {
				return usagef("`ripcord sessions list` shows what there is", "no session is named")
			}
			return nil
		}
	}
	var names []string
	for _, sub := range cmd.Commands() {
		strict(sub)
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	if cmd.RunE == nil && len(names) > 0 {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(c *cobra.Command, args []string) error {
			what := "nothing was asked of it"
			if len(args) > 0 {
				what = "it has no " + args[0]
			}
			return usagef("use one of "+strings.Join(names, ", "), "%s: %s", c.CommandPath(), what)
		}
	}
}

// misused says what is wrong with the number of a verb's arguments.
func misused(c *cobra.Command, args []string, err error) error {
	help := "see `" + c.CommandPath() + " --help`"
	if !c.HasParent() { // a prompt without its verb, most likely
		return usagef(fmt.Sprintf("`ripcord run %q` asks a model; %s", clip(strings.Join(args, " "), 60), help), "%v", err)
	}
	var wants []string
	for _, w := range strings.Fields(c.Use)[1:] {
		if !strings.ContainsAny(w[:1], "[-") {
			wants = append(wants, w)
		}
	}
	switch n := len(args); {
	case n >= len(wants):
		return usagef(help, "%v", err)
	case namesSession(wants[n]):
		return usagef("name one; `ripcord sessions list` shows them", "no session is named")
	case wants[n] == "JOB":
		return usagef("name one; `ripcord jobs list` shows them", "no job is named")
	default:
		return usagef(help, "the %s is missing", wants[n])
	}
}

// namesSession reports whether a verb's first argument is a session: an empty one,
// such as a variable that is not set, must not mean a new session or all.
func namesSession(args string) bool {
	first, _, _ := strings.Cut(strings.Trim(args, "[]"), " ")
	return first == "ID" || first == "SESSION"
}

// laterCmds are verbs whose names are taken and that are not here yet: each is
// refused with one sentence.
func laterCmds() []*cobra.Command {
	verbs := []struct{ use, instead string }{
		{"man", "`ripcord VERB --help` says all there is to say"},
		{"serve", "each live session has a control socket for `ripcord interrupt` and `ripcord jobs`"},
		{"acp", "use `ripcord run`"},
		{"attach", "use `ripcord log follow ID`"},
		{"nodes", "sessions are this machine's alone for now"},
		{"routine", "use cron with `ripcord run`"},
	}
	var out []*cobra.Command
	for _, v := range verbs {
		out = append(out, refused(v.use, "`ripcord "+v.use+"`", v.instead))
	}
	return out
}

// refused is a verb that only says that it comes later.
func refused(use, what, instead string) *cobra.Command {
	return &cobra.Command{
		Use: use, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return later(what, instead) },
	}
}
