package crashtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/turn"
)

// Gear is what a scenario adds to a rig: the product's own tools and gates,
// over hosts and servers that are made up.
type Gear struct {
	Tools   []tool.Tool
	Hooks   gate.Hooks
	Gate    func(gate.Gate) gate.Gate // put in front of the rig's; nil: nothing
	Keepers []ripcord.Keeper
	Limits  func(*ripcord.Limits) // changes the rig's; nil: nothing
	Guards  turn.Guards
	Folder  string // where sessions have their files; empty: they have none
	ends    []func(context.Context) error
}

// close ends what the gear has started, the last one first.
func (g *Gear) close(ctx context.Context) error {
	var errs []error
	for i := len(g.ends) - 1; i >= 0; i-- {
		errs = append(errs, g.ends[i](ctx))
	}
	return errors.Join(errs...)
}

// allowing is the rig's policy with one more rule.
func allowing(tools string) func(gate.Gate) gate.Gate {
	return func(g gate.Gate) gate.Gate {
		r, _ := g.(gate.Rules)
		r.List = append(r.List[:len(r.List):len(r.List)], gate.Rule{Name: "allowed", Tool: tools})
		return r
	}
}

func withAgents(context.Context) (*Gear, error) { return &Gear{Tools: builtin.TaskTools()}, nil }

func withPeople(context.Context) (*Gear, error) { return &Gear{Tools: []tool.Tool{ask.User()}}, nil }

// withPlans is plan mode as a session has it: entered by an input's attribute.
func withPlans(context.Context) (*Gear, error) {
	plans := &gate.Plans{}
	return &Gear{
		Tools: []tool.Tool{ask.ExitPlan(plans)},
		Gate:  func(g gate.Gate) gate.Gate { return gate.PlanMode(g, plans) },
		Keepers: []ripcord.Keeper{{Offered: func(_ context.Context, id event.SessionID, o event.SubmitOptions) func(bool, int) {
			if plan, said := gate.ModeOf(o.Attributes); said && plan {
				plans.Enter(id)
			}
			return nil
		}}},
	}, nil
}

// rules are hooks that answer from a table; at points that it does not name
// there are none.
type rules map[gate.Point]func(m gate.Moment) gate.Decision

// hooked makes gear of such hooks.
func hooked(r rules) func(context.Context) (*Gear, error) {
	return func(context.Context) (*Gear, error) { return &Gear{Hooks: r}, nil }
}

// Any implements [gate.Hooks].
func (r rules) Any(p gate.Point, _ string) bool { return r[p] != nil }

// Judge implements [gate.Hooks].
func (r rules) Judge(_ context.Context, m gate.Moment) (gate.Verdict, []gate.Ran) {
	v := gate.Verdict{Decision: r[m.Point](m), By: "hook:table", Why: "the table says so"}
	word := "allow"
	switch v.Decision {
	case gate.Block:
		word = "block"
	case gate.Ask:
		word = "ask"
	case gate.Allow:
	}
	return v, []gate.Ran{{Hook: "table", Verdict: word, Why: v.Why}}
}

// Report implements [gate.Hooks].
func (r rules) Report(_ context.Context, m gate.Moment) []gate.Ran {
	r[m.Point](m)
	return []gate.Ran{{Hook: "table", Verdict: "report"}}
}

// withServer is a server of tools over HTTP, in this process.
func withServer(ctx context.Context) (*Gear, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "site", Version: "1"}, nil)
	life, end := context.WithCancel(ctx)
	type say struct{}
	text := func(s string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: s}} }
	sdk.AddTool(server, &sdk.Tool{Name: "look"}, func(context.Context, *sdk.CallToolRequest, say) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: text("seen at the server")}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, say) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: text("the server can't"), IsError: true}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ say) (*sdk.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-life.Done(): // a call that nobody cancelled ends with the server
			return nil, nil, life.Err()
		}
	})
	web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil),
		BaseContext: func(net.Listener) context.Context { return life }}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(ln) }) // until it is closed
	m := mcp.Start(ctx, []mcp.Server{{Name: "site", URL: "http://" + ln.Addr().String(), Trusted: true}}, mcp.Options{Connect: patience, Settle: 50 * time.Millisecond})
	g := &Gear{Tools: m.Tools(), Gate: allowing("mcp__*")}
	g.ends = append(g.ends, func(context.Context) error {
		end()
		err := web.Close()
		serving.Wait()
		return err
	}, m.Close)
	if len(g.Tools) != 3 {
		bound, done := interrupt.Cleanup(ctx, patience)
		defer done()
		return nil, errors.Join(errors.New("the server of tools did not start: "+m.Status()[0].Why), g.close(bound))
	}
	return g, nil
}

// withTerminals has the product's terminals on a host whose processes never
// were.
func withTerminals(context.Context) (*Gear, error) {
	folder, err := os.MkdirTemp("", "crashtest-")
	if err != nil {
		return nil, err
	}
	terms := terminal.New(terminal.Options{Host: nowhere{}, Env: []string{}, Grace: -1, Settle: time.Millisecond})
	g := &Gear{Tools: terms.Tools(), Gate: allowing("terminal_*"), Folder: folder}
	g.ends = append(g.ends, func(context.Context) error { return os.RemoveAll(folder) }, func(context.Context) error { return terms.Close() })
	return g, nil
}

// nowhere is a host of processes that never were: each runs until it is
// stopped.
type nowhere struct{}

// Start implements [proc.Host].
func (nowhere) Start(_ context.Context, spec proc.Spec) (proc.Tree, error) {
	return &shade{spec: spec, gone: make(chan struct{})}, nil
}

// Adopt implements [proc.Host].
func (nowhere) Adopt(context.Context, event.ProcessStarted, string) (proc.Tree, error) {
	return nil, errors.New("nothing of it is left")
}

// Lane implements [proc.Host].
func (nowhere) Lane() proc.Lane { return proc.LaneGuardian }

// Close implements [proc.Host].
func (nowhere) Close() error { return nil }

type shade struct {
	spec proc.Spec
	once sync.Once
	gone chan struct{}
}

func (s *shade) Started() event.ProcessStarted {
	return event.ProcessStarted{Owner: s.spec.Owner, ID: s.spec.ID, PID: noPID, Start: 1, Boot: "none", Lane: "guardian", Command: "shade", Spool: s.spec.Spool}
}

func (s *shade) PIDs() []int {
	select {
	case <-s.gone:
		return nil
	default:
		return []int{noPID}
	}
}

func (s *shade) Exited() <-chan struct{} { return s.gone }
func (s *shade) Gone() <-chan struct{}   { return s.gone }
func (s *shade) Keep(bool) error         { return nil }

func (s *shade) Exit() (proc.Exit, bool) {
	select {
	case <-s.gone:
		return proc.Exit{Signal: "SIGKILL"}, true
	default:
		return proc.Exit{}, false
	}
}

func (s *shade) Output(int) proc.Output { return proc.Output{Text: "ready\n", Bytes: 6} }

func (s *shade) Stop(interrupt.Ladder) proc.Stopped {
	s.once.Do(func() { close(s.gone) })
	return proc.Stopped{Climbed: interrupt.Climbed{Gone: true}}
}
