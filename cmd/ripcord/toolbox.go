package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/web"
	"github.com/ripcord-go/ripcord/tool/workflow"
)

// toolbox is what a session's tools are made of and what they keep.
type toolbox struct {
	tools   []tool.Tool
	plans   *gate.Plans
	keepers []ripcord.Keeper
	servers *mcp.Manager // nil: none are configured
	running ripcord.Processes
	owned   closers
}

// newToolbox makes every tool that the settings leave on. Servers of tools are
// started and waited for, each within its bound.
func newToolbox(ctx context.Context, set *config.Settings, r gate.Rules, host proc.Host, store journal.Store, cwd string) (*toolbox, error) {
	b := &toolbox{plans: &gate.Plans{}}
	terms := terminal.New(terminal.Options{Host: host, Deny: set.Hidden})
	b.owned = append(b.owned, terms)
	b.keepers = []ripcord.Keeper{
		{Readopted: terms.Readopt, Closed: terms.Forget},
		planning(b.plans, store),
	}
	b.tools = builtin.Tools(builtin.Options{Host: host, Deny: set.Hidden, Hidden: hidden(r, cwd)})
	b.tools = append(append(b.tools, builtin.TaskTools()...), terms.Tools()...)
	b.tools = append(b.tools,
		web.New(web.Config{Allow: fetched(r), AllowPrivate: named(r), Decode: charset.NewReaderLabel, UserAgent: "ripcord/" + ripcord.Version}),
		workflow.New(workflow.Options{Host: host}), ask.User(), ask.ExitPlan(b.plans))
	servers, err := serversOf(set)
	if err != nil {
		return nil, err
	}
	if len(servers) > 0 {
		b.servers = mcp.Start(ctx, servers, mcp.Options{Host: host, Dir: cwd, Env: os.Environ(), Deny: set.Hidden, Name: "ripcord", Version: ripcord.Version, Record: b.running.Record})
		b.owned = append(b.owned, closing(b.servers.Close))
		b.tools = append(b.tools, b.servers.Tools()...)
	}
	b.tools = slices.DeleteFunc(b.tools, func(t tool.Tool) bool { return !set.ToolOn(t.Spec().Name) })
	return b, nil
}

// planning keeps plan mode: a fold over the journal, followed while the session
// lives.
func planning(plans *gate.Plans, store journal.Store) ripcord.Keeper {
	load := func(ctx context.Context, id event.SessionID) {
		_ = plans.Load(id, store.Read(ctx, id, 0)) // what can't be read leaves it in plan mode
	}
	return ripcord.Keeper{
		Needs: gate.PlanNeeds,
		Opened: func(_ context.Context, id event.SessionID, recs iter.Seq2[event.Record, error]) {
			_ = plans.Load(id, recs) // what can't be read leaves it in plan mode
		},
		Closed: plans.Forget,
		Offered: func(ctx context.Context, id event.SessionID, o event.SubmitOptions) func(bool, int) {
			plan, said := gate.ModeOf(o.Attributes)
			switch {
			case !said:
				return nil
			case plan:
				plans.Enter(id) // at once: its own turn is held to it
			}
			return func(accepted bool, turn int) {
				switch {
				case !accepted:
					load(ctx, id)
				case !plan:
					plans.Act(id, turn)
				}
			}
		},
	}
}

// closing makes a closer of what needs a bound.
type closing func(context.Context) error

const closeServers = 10 * time.Second

func (c closing) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeServers)
	defer cancel()
	return c(ctx)
}

var _ io.Closer = closing(nil)

// serversOf reads the servers of all layers; of two of one name the later is
// meant.
func serversOf(set *config.Settings) ([]mcp.Server, error) {
	var out []mcp.Server
	var faults []error
	for _, s := range set.Servers {
		list, err := mcp.Parse(s.JSON, os.LookupEnv)
		if err != nil {
			faults = append(faults, configf("correct it", "%s: %v", s.Origin, err))
		}
		for _, one := range list {
			one.Trusted = s.Mine
			out = append(slices.DeleteFunc(out, func(o mcp.Server) bool { return o.Name == one.Name }), one)
		}
	}
	return out, errors.Join(faults...)
}

// hidden says which paths searches leave out: what is protected against being
// read.
func hidden(r gate.Rules, cwd string) func(string) bool {
	if !slices.ContainsFunc(r.Protected, func(p gate.Protected) bool { return p.Reads }) {
		return nil
	}
	return func(path string) bool { return r.Hides(path, cwd) }
}

// fetched says which places a rule lets be fetched without asking.
func fetched(r gate.Rules) func(string) bool {
	return func(place string) bool {
		open, _ := r.Fetches("web_fetch", place)
		return open
	}
}

// named says which places a rule names as they are: they may be at an address
// of this machine or its network.
func named(r gate.Rules) func(string) bool {
	return func(place string) bool {
		_, as := r.Fetches("web_fetch", place)
		return as
	}
}
