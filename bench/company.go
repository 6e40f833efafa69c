package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

const (
	levels   = 3
	perLevel = 10 * time.Millisecond
	mark     = "up" // a file in the workspace: what is to be stopped runs
)

// up waits until the mark is there and takes it away.
func (r *rig) up(ctx context.Context) error {
	name := filepath.Join(r.dir, mark)
	ctx, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	for os.Remove(name) != nil {
		if pause(ctx, time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("what is to be stopped does not run: %w", context.Cause(ctx))
		}
	}
	return nil
}

// stopMarked runs a turn until its mark is there and interrupts it.
func (r *rig) stopMarked(ctx context.Context, text string, force bool) (time.Duration, error) {
	if err := r.fresh(ctx); err != nil { // the script looks at the history
		return 0, err
	}
	input, err := r.submit(ctx, text)
	if err != nil {
		return 0, err
	}
	if err := r.up(ctx); err != nil {
		return 0, err
	}
	return r.stop(ctx, input, force)
}

// agents measures a forced interrupt of a line of sub-agents whose lowest one
// runs a tree that ignores TERM, against a turn that runs it itself.
func (l *lab) agents(ctx context.Context) (_ []figure, err error) {
	command := strings.Replace(deaf, "echo ready", "echo ready >"+mark, 1)
	tools := func(proc.Host) []tool.Tool { return builtin.TaskTools() }
	deep, err := l.rigOn(ctx, chat, crashtest.AgentTree(levels, command), 0, tools)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, deep.close(ctx)) }()
	flat, err := l.rigOn(ctx, chat, crashtest.AgentTree(0, command), 0, tools)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, flat.close(ctx)) }()
	var ours, one sample
	round := func(r *rig, s *sample) error {
		took, err := r.stopMarked(ctx, "level 0 please", true)
		*s = append(*s, took)
		return err
	}
	for range l.rounds(50) {
		if err := errors.Join(round(deep, &ours), round(flat, &one), round(flat, &one), round(deep, &ours)); err != nil {
			return nil, err
		}
	}
	most := one.at(.5) + levels*perLevel
	what := fmt.Sprintf("a tree below %d levels of sub-agents", levels)
	return []figure{{"BEN-01", "interrupt of " + what + ", zero grace", fmt.Sprintf("≤ one turn's + %s a level, p50", short(perLevel)),
		fmt.Sprintf("%s = + %s a level", ours, short((ours.at(.5)-one.at(.5))/levels)), "one turn with the same tree: " + one.String(), ours.at(.5) <= most},
		survivors(what, len(ours)+len(one))}, nil
}

const (
	asServer = "RIPCORD_BENCH_SERVER" // in the environment: this program is a server of tools
	honours  = "honours"
	ignores  = "ignores"
	settle   = 500 * time.Millisecond // what a server gets for its answer
)

// serveTools is main of a server of tools over its pipes. Its one tool hangs
// until it is cancelled, or for good.
func serveTools(how string) int {
	server := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	type in struct {
		Mark string `json:"mark"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		if err := os.WriteFile(a.Mark, nil, 0o600); err != nil {
			return nil, nil, err
		}
		if how == ignores {
			<-time.After(time.Hour) // the process is ended before
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// servers measures the interrupt of a call that a server of tools works on: one
// that does as the protocol says, and one that does not listen.
func (l *lab) servers(ctx context.Context) (out []figure, err error) {
	for _, how := range []string{honours, ignores} {
		f, err := l.server(ctx, how)
		if err != nil {
			return nil, fmt.Errorf("a server that %s an interrupt: %w", how, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func (l *lab) server(ctx context.Context, how string) (_ figure, err error) {
	exe, err := os.Executable()
	if err != nil {
		return figure{}, err
	}
	var m *mcp.Manager
	r, err := l.rigOn(ctx, chat, "answer always if not result\n  call mcp__bench__hang -\n  args {\"mark\":\"${user}\"}\n  end\n  finish tool\nanswer always\n  text ok\n  finish stop\n", 0,
		func(h proc.Host) []tool.Tool {
			m = mcp.Start(ctx, []mcp.Server{{Name: "bench", Command: exe, Env: map[string]string{asServer: how}}},
				mcp.Options{Host: h, Dir: l.dir, Env: os.Environ(), Settle: settle})
			return m.Tools()
		})
	if err != nil {
		return figure{}, err
	}
	defer func() { err = errors.Join(err, m.Close(ctx), r.close(ctx)) }()
	if st := m.Status()[0]; st.State != mcp.Ready {
		return figure{}, fmt.Errorf("it is %s: %s", st.State, st.Why)
	}
	var ends sample
	n := 200
	if how == ignores {
		n = 20
	}
	for range l.rounds(n) {
		took, err := r.stopMarked(ctx, filepath.Join(r.dir, mark), false)
		if err != nil {
			return figure{}, err
		}
		ends = append(ends, took)
	}
	if st := m.Status()[0]; st.State != mcp.Ready || st.Restarts != 0 {
		return figure{}, fmt.Errorf("an interrupt ended the server: %s, %d restarts", st.State, st.Restarts)
	}
	if how == ignores {
		return figure{"BEN-01", "interrupt of a server's call that ignores it", "≤ the wait of " + short(settle) + " + 25 ms, p99", ends.String(), "", ends.at(.99) <= settle+25*time.Millisecond}, nil
	}
	return figure{"BEN-01", "interrupt of a server's call that honours it", "p50 ≤ 5 ms, p99 ≤ 25 ms", ends.String(), "", ends.at(.5) <= 5*time.Millisecond && ends.at(.99) <= 25*time.Millisecond}, nil
}

// nap is a tool that takes its time.
type nap struct {
	name   string
	beside bool
}

const napTime = 100 * time.Millisecond

func (n nap) Spec() tool.Spec {
	return tool.Spec{Name: n.name, Description: "waits", Schema: json.RawMessage(`{"type":"object"}`), Effect: tool.Pure, Concurrent: n.beside}
}

func (n nap) Execute(ctx context.Context, _ *tool.Call) (tool.Result, error) {
	pause(ctx, napTime)
	return tool.Text("ok"), nil
}

// eager measures what it gains that a call starts while its answer still
// streams: the same turn with a call that may, and with one that may not.
func (l *lab) eager(ctx context.Context) (_ []figure, err error) {
	one := func(name string) string {
		return fmt.Sprintf("answer always if user %s and not result\n  call %[1]s -\n  args {}\n  end\n  call noop -\n  args {}\n  wait 150ms\n  end\n  finish tool\n", name)
	}
	r, err := l.rig(ctx, one("soon")+one("late")+"answer always\n  text ok\n  finish stop\n", 0, nap{"soon", true}, nap{"late", false}, &noop{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	times := map[string]sample{}
	for range l.rounds(50) {
		for _, name := range []string{"soon", "late", "late", "soon"} {
			if err := r.fresh(ctx); err != nil {
				return nil, err
			}
			began := time.Now()
			res, err := r.rt.Run(ctx, r.id, name)
			if err != nil {
				return nil, err
			}
			if *res.Outcome != event.TurnCompleted || len(res.Calls) != 2 {
				return nil, fmt.Errorf("the turn ended %s after %d calls", *res.Outcome, len(res.Calls))
			}
			times[name] = append(times[name], time.Since(began))
		}
	}
	gain := times["late"].at(.5) - times["soon"].at(.5)
	return []figure{{"TOL-09", "a turn whose call of " + short(napTime) + " is complete 150 ms before its answer is", "gains ≥ 90 % of the call's time, p50",
		fmt.Sprintf("%s: gains %s", times["soon"], short(gain)), "the same, started after the answer: " + times["late"].String(), gain >= napTime*9/10}}, nil
}
