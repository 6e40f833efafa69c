package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
)

func mcpCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Servers of tools (Model Context Protocol)",
		Example: "  ripcord mcp list",
	}
	cmd.AddCommand(mcpListCmd(a))
	return cmd
}

func mcpListCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Start the configured servers, say how each does, and end them", Args: cobra.NoArgs,
		Long: `Start every server of .mcp.json and of the settings as a session would, say what
came of it, and end them. A project's servers count once the project is trusted.`,
		Example: "  ripcord mcp list\n  ripcord mcp list --json",
		RunE: a.plain(func(ctx context.Context, _ []string) error {
			all, err := a.tryServers(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				a.out.write(array(all))
				return nil
			}
			for _, s := range all {
				a.print("%-20s  %-10s  %3d tools  %s%s\n", s.Name, s.State, len(s.Tools), s.Where, because(s.Why))
			}
			if len(all) == 0 {
				a.say("no servers are configured: name them in .mcp.json, and see `ripcord config show --origin`")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON array")
	a.cwdFlag(cmd)
	return cmd
}

// sayServers names the servers that this run does without: nobody else would
// say why their tools are missing.
func (a *app) sayServers(m *mcp.Manager) {
	if m == nil {
		return
	}
	for _, s := range m.Status() {
		if s.State != mcp.Ready && s.State != mcp.Disabled {
			a.say("the server %s is %s%s; its tools are not offered: `ripcord mcp list` tries it", s.Name, s.State, because(s.Why))
		}
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// tryServers starts the servers as a session would and ends them.
func (a *app) tryServers(ctx context.Context) (all []mcp.Status, err error) {
	set, err := a.inForce(false)
	if err != nil {
		return nil, err
	}
	servers, err := serversOf(set)
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	cwd, err := a.workspace()
	if err != nil {
		return nil, err
	}
	root, err := dataRoot(a.env)
	if err != nil {
		return nil, err
	}
	host, err := proc.NewHost(proc.Options{Scratch: filepath.Join(root, "tmp")})
	if err != nil {
		return nil, err
	}
	owned := closers{host}
	m := mcp.Start(ctx, servers, mcp.Options{Host: host, Dir: cwd, Env: os.Environ(), Deny: set.Hidden, Name: "ripcord", Version: ripcord.Version})
	owned = append(owned, closing(m.Close))
	all = m.Status()
	return all, owned.close()
}
