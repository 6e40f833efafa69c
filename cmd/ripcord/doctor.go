package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/proc"
)

// check is one thing that doctor looked at.
type check struct {
	Name  string   `json:"name"`
	State string   `json:"state"` // "ok", "warn", "fail"
	Found string   `json:"found"`
	Next  []string `json:"next"` // commands or settings that help
}

func ok(name, format string, args ...any) check {
	return check{name, "ok", fmt.Sprintf(format, args...), []string{}}
}

func warn(name, next, format string, args ...any) check {
	return check{name, "warn", fmt.Sprintf(format, args...), []string{next}}
}

func bad(name, next, format string, args ...any) check {
	return check{name, "fail", fmt.Sprintf(format, args...), []string{next}}
}

func doctorCmd(a *app) *cobra.Command {
	var asJSON, bundle bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check storage, processes, model, terminal, clock and sessions", Args: cobra.NoArgs,
		Long:    "Check what Ripcord stands on. Secrets are never printed. Exit 1 if something does not work.",
		Example: "  ripcord doctor\n  ripcord doctor --json",
		RunE: a.plain(func(ctx context.Context, _ []string) error {
			if bundle {
				return later("`ripcord doctor --bundle`", "`ripcord doctor --json` says what was found, without secrets")
			}
			checks := a.examine(ctx)
			failed := slices.ContainsFunc(checks, func(c check) bool { return c.State == "fail" })
			if asJSON {
				a.out.write(line(struct {
					OK     bool    `json:"ok"`
					Checks []check `json:"checks"`
				}{!failed, checks}))
			} else {
				a.printChecks(checks)
			}
			if failed {
				return exitError(exitFailed)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&bundle, "bundle", false, "")
	_ = cmd.Flags().MarkHidden("bundle") // it is there, so it can't fail
	a.modelFlags(cmd)
	return cmd
}

func (a *app) printChecks(checks []check) {
	for _, c := range checks {
		mark := map[string]string{"ok": "ok  ", "warn": "warn", "fail": "FAIL"}[c.State]
		a.print("%s  %s %s\n", mark, pad(c.Name, 9), oneLine(c.Found))
		for _, n := range c.Next {
			a.print("      %s %s\n", pad("", 9), oneLine(n))
		}
	}
}

func (a *app) examine(ctx context.Context) []check {
	v := buildVersion()
	checks := []check{ok("binary", "ripcord %s %s/%s, %s, journal format %d", v.Version, v.OS, v.Arch, v.Go, v.Format)}
	root, err := dataRoot(a.env)
	if err != nil {
		checks = append(checks, bad("storage", "set RIPCORD_HOME to a folder that can be written", "%v", err))
	} else {
		checks = append(checks, checkStorage(root))
	}
	asked, choice := a.checkModel(ctx)
	checks = append(checks, checkProcesses(root), a.checkSettings(), asked, a.checkGuards(choice), a.checkTerminal(), a.checkSocket())
	if err == nil {
		checks = append(checks, a.checkSessions(ctx)...)
	}
	return checks
}

// quick is how fast a sync is that cannot have reached a device.
const quick = 15 * time.Microsecond

// checkStorage writes a page and syncs it, a few times.
func checkStorage(root string) check {
	took, err := timeSync(root)
	if err != nil {
		return bad("storage", "set RIPCORD_HOME to a folder that can be written", "%s: a file cannot be written and synced: %v", root, err)
	}
	kind, volatile := fileSystem(root)
	switch {
	case volatile:
		return warn("storage", "set RIPCORD_HOME to a folder on a disk", "%s is on %s: what is synced there is gone after a power cut", root, kind)
	case took < quick:
		return warn("storage", "set RIPCORD_HOME to a folder on a disk that syncs", "%s (%s): a sync takes %s, too fast to be one: sessions may lose their last records in a power cut", root, kind, took)
	}
	return ok("storage", "%s (%s), a sync takes %s", root, kind, took.Round(10*time.Microsecond))
}

// timeSync returns the median time of syncing a written page.
func timeSync(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range 5 {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func checkProcesses(root string) check {
	scratch := ""
	if root != "" {
		scratch = filepath.Join(root, "tmp")
	}
	h, err := proc.NewHost(proc.Options{Scratch: scratch, Prestart: -1})
	if err != nil {
		return bad("processes", "set RIPCORD_HOME to a folder that can be written", "tools cannot run commands here: %v", err)
	}
	defer h.Close()
	d := proc.Describe(h)
	if d.Lane == proc.LaneGroup {
		return warn("processes", "look with `ps` for what commands left behind", "lane %s: %s; a command that leaves its process group is not seen", d.Lane, d.Why)
	}
	return ok("processes", "lane %s: %s", d.Lane, d.Why)
}

// checkSettings says whose word is taken.
func (a *app) checkSettings() check {
	cwd, err := a.workspace()
	if err != nil {
		return bad("settings", "name a folder that is there", "%v", err)
	}
	set, err := a.settings(cwd, true)
	if err != nil {
		e := explain(err)
		return bad("settings", e.Hint, "%s", e.Message)
	}
	if notice := set.Notice(); notice != "" {
		return warn("settings", "ripcord trust --show", "%s", notice)
	}
	return ok("settings", "project trust: %s; %d hooks, %d rules; `ripcord config show --origin` lists all", set.Project.Trust, len(set.Hooks), len(set.Permissions.Rules))
}

// checkGuards says what watches a turn, and what somebody switched off.
func (a *app) checkGuards(c model.Choice) check {
	cwd, err := a.workspace()
	if err != nil {
		return bad("guards", "name a folder that is there", "%v", err)
	}
	set, err := a.settings(cwd, true)
	if err != nil {
		e := explain(err)
		return bad("guards", e.Hint, "%s", e.Message)
	}
	g := set.GuardsFor(c.Provider, c.BaseURL)
	wake := "a stall wakes the model"
	if !g.Wake {
		wake = "a stall wakes nothing"
	}
	found := fmt.Sprintf("stalls: %s (first event within %s, then %s; %s), repetition in a stream: %s, calls that go round: %s",
		g.OnStall, within(g.Stall.First), within(g.Stall.Idle), wake, g.OnLoop, g.OnCalls)
	if g.OnStall == guard.Off || g.OnLoop == guard.Off || g.OnCalls == guard.Off {
		return warn("guards", "ripcord config show --origin", "%s", found)
	}
	return ok("guards", "%s", found)
}

func within(d time.Duration) string {
	if d < 0 {
		return "any time"
	}
	return d.String()
}

// checkModel asks the model that would be asked, and says which that is.
func (a *app) checkModel(ctx context.Context) (check, model.Choice) {
	var none model.Choice
	cwd, err := a.workspace()
	if err != nil {
		return bad("model", "name a folder that is there", "%v", err), none
	}
	set, err := a.settings(cwd, true)
	if err != nil {
		e := explain(err)
		return bad("model", e.Hint, "%s", e.Message), none
	}
	peers := model.Loopback(ctx, time.Second)
	c, err := model.Choose(set.Value, a.modelChoice(), true, peers)
	if err != nil {
		e := explain(err)
		return bad("model", e.Hint, "%s", e.Message), none
	}
	if c.Provider == model.Scripted && set.Value("RIPCORD_PROVIDER") == "" && a.flags.provider == "" {
		return warn("model", "`ripcord run` needs RIPCORD_PROVIDER, RIPCORD_BASE_URL or a key", "the scripted model, no AI: %s", c.Why), c
	}
	if c.Provider == model.Scripted {
		return ok("model", "the scripted model, no AI: %s", c.Why), c
	}
	key := "no key"
	if c.Key != "" {
		key = "key from " + c.KeyVar
	}
	switch first, err := peers.First(c.BaseURL, c.Key); {
	case err != nil:
		return bad("model", "check the address, the network and the key", "%s at %s (%s, %s) could not be asked: %v", c.Model, c.BaseURL, c.Why, key, err), c
	case first == "":
		return bad("model", "check the address, the network and the key", "%s at %s (%s, %s) lists no models", c.Model, c.BaseURL, c.Why, key), c
	}
	return ok("model", "%s at %s (%s, %s), reachable", c.Model, c.BaseURL, c.Why, key), c
}

func (a *app) modelChoice() model.Flags {
	return model.Flags{Provider: a.flags.provider, BaseURL: a.flags.baseURL, Model: a.flags.model}
}

func (a *app) checkTerminal() check {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return ok("terminal", "none: `ripcord run` works, the chat needs one")
	}
	w, h, err := term.GetSize(os.Stdout.Fd())
	name := a.env("TERM")
	if err != nil || w < 20 || h < 5 {
		return warn("terminal", "use `ripcord` with --plain or a larger window", "%s, %d×%d", name, w, h)
	}
	if name == "" || name == "dumb" {
		return warn("terminal", "set TERM; until then the chat prints plain lines", "TERM is %q, %d×%d", name, w, h)
	}
	color := "colours"
	if a.env("NO_COLOR") != "" {
		color = "no colours (NO_COLOR)"
	}
	return ok("terminal", "%s, %d×%d, %s", name, w, h, color)
}

func (a *app) checkSocket() check {
	dir, err := runtimeDir(a.env)
	if err != nil {
		return warn("socket", "set XDG_RUNTIME_DIR to a folder of yours alone", "needed only where the sessions' folder has a long name: %v", err)
	}
	return ok("socket", "control sockets beside each session, or in %s", dir)
}

// checkSessions counts what there is, names what is damaged with the next
// command, and looks whether the clock agrees with what was written.
func (a *app) checkSessions(ctx context.Context) []check {
	e, err := a.wire(ctx, a, need{quiet: true})
	if err != nil {
		return []check{bad("sessions", "see `ripcord sessions list`", "%v", err)}
	}
	all, err := e.svc.Sessions(ctx)
	if cerr := e.close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		return []check{bad("sessions", "see `ripcord sessions list`", "%v", err)}
	}
	return []check{checkClock(all, time.Now()), summary(all)}
}

func checkClock(all []api.SessionInfo, now time.Time) check {
	for _, s := range all {
		if s.Updated != nil && s.Updated.After(now.Add(time.Minute)) {
			return warn("clock", "check the system's clock; nothing of ours is ordered by it", "session %s was written %s from now", s.ID, s.Updated.Sub(now).Round(time.Second))
		}
	}
	if now.Year() < 2026 {
		return warn("clock", "check the system's clock", "it says %s", now.Format(time.RFC3339))
	}
	return ok("clock", "%s, %s", now.Format(time.RFC3339), runtime.GOOS)
}

func summary(all []api.SessionInfo) check {
	n := map[string]int{}
	next := []string{}
	for _, s := range all {
		n[s.State]++
		switch s.State {
		case "open_turn":
			next = append(next, "ripcord log repair "+string(s.ID)+" --dry-run")
		case "damaged", "forked":
			next = append(next, "ripcord log verify "+string(s.ID))
		}
	}
	var parts []string
	for _, st := range []string{"running", "idle", "open_turn", "damaged", "forked", "future"} {
		if n[st] > 0 {
			parts = append(parts, itoa(n[st])+" "+st)
		}
	}
	c := ok("sessions", "%d in all %s", len(all), strings.Join(parts, ", "))
	if n["damaged"]+n["forked"] > 0 {
		c.State = "warn"
	}
	c.Next = next
	return c
}
