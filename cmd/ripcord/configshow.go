package main

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/model"
)

func configCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the settings in force", Example: "  ripcord config show --origin"}
	var origin, asJSON bool
	show := &cobra.Command{
		Use: "show", Short: "List every setting in force and where it comes from", Args: cobra.NoArgs,
		Long: `List every setting in force in this workspace. A flag goes before the environment,
that before the project's file, that before your own, that before the default.
Secrets are never printed. What an untrusted project may not set is listed as
ignored.

With --origin each default of a guard says why it is what it is. Times are
written as "90s", lengths of arguments in characters, those of repetitions in
bytes, money in US dollars; [guards.stall], [guards.loop] and [guards.calls]
hold for all providers, [providers.NAME.guards.stall] and the like for one:
openai-chat, openai-responses, anthropic, scripted, or local, which is whatever
runs on this machine. RIPCORD_STALL_GUARD=0 keeps a stall from waking the model.`,
		Example: "  ripcord config show --origin\n  ripcord config show --json",
		RunE: a.plain(func(context.Context, []string) error {
			set, err := a.inForce(true)
			if err != nil {
				return err
			}
			entries := a.chosen(set)
			if asJSON {
				a.out.write(line(shownSettings(set, entries)))
				return nil
			}
			a.printSettings(set, entries, origin)
			return nil
		}),
	}
	show.Flags().BoolVar(&origin, "origin", false, "say where each comes from: file and line, variable, flag, default")
	show.Flags().BoolVar(&asJSON, "json", false, "one JSON object, origins included")
	a.modelFlags(show)
	cmd.AddCommand(show)
	return cmd
}

// inForce are the settings of the workspace.
func (a *app) inForce(quiet bool) (*config.Settings, error) {
	cwd, err := a.workspace()
	if err != nil {
		return nil, err
	}
	return a.settings(cwd, quiet)
}

// chosen are the settings with what follows from them where nobody set a value:
// a usual key alone names the provider, its address and its model. No server is
// asked.
func (a *app) chosen(set *config.Settings) []config.Entry {
	entries := slices.Clone(set.Entries())
	c, err := model.Choose(set.Value, a.modelChoice(), false, model.Peers{})
	if err != nil || c.Provider == model.Scripted { // whoever asks a model is told; a script needs nothing
		return entries
	}
	for i := range entries {
		e := &entries[i]
		if e.Value != "" || e.Origin.Layer != config.Default {
			continue
		}
		switch e.Key {
		case "provider":
			e.Value, e.Why = c.Provider, c.Why
		case "base_url":
			e.Value = c.BaseURL
		case "model":
			e.Value = c.Model
		case "api_key":
			if e.Value = config.Secret(c.Key).String(); c.Key != "" {
				e.Origin = config.Origin{Layer: config.Environment, Name: c.KeyVar}
			}
		}
	}
	return entries
}

func (a *app) printSettings(set *config.Settings, entries []config.Entry, origin bool) {
	wide := 0
	for _, e := range entries {
		wide = min(max(wide, len(e.Key)), 40)
	}
	for _, e := range entries {
		value := oneLine(e.Value)
		if value == "" {
			value = "-"
		}
		if origin {
			value = pad(value, 40) + "  " + e.Origin.String()
			if e.Why != "" {
				value += " (" + oneLine(e.Why) + ")"
			}
		}
		a.print("%s  %s\n", pad(e.Key, wide), value)
	}
	for _, i := range set.Ignored {
		a.print("ignored: %s at %s: %s\n", i.Key, i.Origin, oneLine(i.What))
	}
	if notice := set.Notice(); notice != "" {
		a.print("%s\n", oneLine(notice))
	}
}

// shownOrigin, shownEntry and shownProject are settings as data.
type shownOrigin struct {
	Layer string `json:"layer"`
	Name  string `json:"name,omitempty"`
	Line  int    `json:"line,omitempty"`
}

type shownEntry struct {
	Key    string      `json:"key"`
	Value  string      `json:"value"`
	Origin shownOrigin `json:"origin"`
	Why    string      `json:"why,omitempty"` // of a default: where it comes from
}

type shownProject struct {
	Dir   string       `json:"dir"`
	Trust config.Trust `json:"trust"`
	Hash  string       `json:"hash,omitempty"`
	Why   string       `json:"why,omitempty"`
	Needs []shownEntry `json:"needs"`
}

func shown(o config.Origin) shownOrigin { return shownOrigin{o.Layer.String(), o.Name, o.Line} }

func shownKeys(list []config.Ignored) []shownEntry {
	out := []shownEntry{}
	for _, i := range list {
		out = append(out, shownEntry{i.Key, i.What, shown(i.Origin), ""})
	}
	return out
}

func shownOf(p config.ProjectState) shownProject {
	return shownProject{p.Folder.Dir, p.Trust, p.Hash, p.Why, shownKeys(p.Needs)}
}

func shownSettings(set *config.Settings, entries []config.Entry) any {
	values := []shownEntry{}
	for _, e := range entries {
		values = append(values, shownEntry{e.Key, e.Value, shown(e.Origin), e.Why})
	}
	return struct {
		Values  []shownEntry `json:"values"`
		Ignored []shownEntry `json:"ignored"`
		Project shownProject `json:"project"`
	}{values, shownKeys(set.Ignored), shownOf(set.Project)}
}

func trustCmd(a *app) *cobra.Command {
	var show, revoke, asJSON bool
	cmd := &cobra.Command{
		Use: "trust", Short: "Let this project's files set what opens a door", Args: cobra.NoArgs,
		Long: `Take this project's word for what opens a door: where requests go and with which
key, hooks, calls that need no approval, servers of tools, limits that rise,
guards that see less, waiting texts that are dropped. The word holds for the
content of .ripcord, .ripcord.toml and .mcp.json as it is now: whoever changes a
byte takes it away. Look first: --show.`,
		Example: "  ripcord trust --show\n  ripcord trust\n  ripcord trust --revoke",
		RunE: a.plain(func(context.Context, []string) error {
			if show && revoke {
				return usagef("give one of them", "--show and --revoke are two things")
			}
			set, err := a.inForce(true)
			if err != nil && !revoke {
				return err
			}
			switch {
			case show && asJSON:
				a.out.write(line(shownOf(set.Project)))
				return nil
			case show:
				a.printProject(set.Project)
				return nil
			case revoke:
				return a.revoke()
			}
			return a.trust(set.Project)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&show, "show", false, "say whether it is trusted and what that would let it set; change nothing")
	f.BoolVar(&revoke, "revoke", false, "take the trust away")
	f.BoolVar(&asJSON, "json", false, "with --show: one JSON object")
	a.cwdFlag(cmd)
	return cmd
}

func (a *app) printProject(p config.ProjectState) {
	if p.Trust == config.NoProject {
		a.print("no project's files of settings here\n")
		return
	}
	a.print("%s: %s\n", p.Folder.Dir, p.Trust)
	if p.Why != "" {
		a.print("it cannot be trusted: %s\n", oneLine(p.Why))
	}
	for _, n := range p.Needs {
		a.print("  %s at %s: %s\n", n.Key, n.Origin, oneLine(n.What))
	}
	if len(p.Needs) == 0 {
		a.print("  it sets nothing that needs trust\n")
	}
}

func (a *app) trust(p config.ProjectState) error {
	root, err := dataRoot(a.env)
	switch {
	case err != nil:
		return err
	case p.Trust == config.NoProject:
		return usagef("a project has .ripcord/config.toml, .ripcord.toml or .mcp.json", "there is nothing to trust here")
	case p.Why != "":
		return configf("mend that first", "the project %s cannot be trusted: %s", p.Folder.Dir, p.Why)
	}
	if err := config.StoreOf(root).Put(p.Folder, p.Hash, time.Now()); err != nil {
		return configf("set RIPCORD_HOME to a folder that can be written", "the trust could not be noted: %v", err)
	}
	p.Trust = config.Trusted
	a.printProject(p)
	return nil
}

// revoke works on settings that cannot be read, too.
func (a *app) revoke() error {
	cwd, err := a.workspace()
	if err != nil {
		return err
	}
	root, err := dataRoot(a.env)
	if err != nil {
		return err
	}
	f, err := config.FindFolder(cwd)
	if err != nil || f.Dir == "" { // its files may be gone
		f = config.Folder{Dir: filepath.Clean(cwd)}
	}
	was, err := config.StoreOf(root).Revoke(f)
	switch {
	case err != nil:
		return configf("set RIPCORD_HOME to a folder that can be written", "the trust could not be taken away: %v", err)
	case was:
		a.print("%s: no longer trusted\n", f.Dir)
	default:
		a.print("%s: it was not trusted\n", f.Dir)
	}
	return nil
}
