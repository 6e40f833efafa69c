package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/gate/shell"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/ask"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/web"
	"github.com/ripcord-go/ripcord/tool/workflow"
	"github.com/ripcord-go/ripcord/turn"
)

// theCall is the call that a cell is about.
const theCall event.CallID = "c1"

// mode is what a decorator does to the call.
type mode string

const (
	asItIs mode = ""
	late   mode = "late"   // the result comes long after the stop
	hold   mode = "hold"   // the result comes when it is let go
	before mode = "before" // the tool begins when it is let go
	door   mode = "door"   // the tool begins when the stop is there
	fatal  mode = "fatal"  // the result is thrown away, the turn is to end
	panics mode = "panic"
)

// lateBy is older than a stop may be for an end to count as ordinary.
const lateBy = 2200 * time.Millisecond

// setting says what a runtime is made of. A victim gets it as JSON.
type setting struct {
	Dir   string // everything of the cell is below
	URL   string // of the model
	Wire  string
	Site  string // of the web server
	Mark  string // carried by what tools start
	Kind  string
	Tool  string
	Mode  mode
	Deny  bool
	Bound time.Duration // of a call after a stop; 0: the usual
	Ready bool          // a turn before this one prepares it
}

func (s setting) root() string   { return filepath.Join(s.Dir, "root") }
func (s setting) cwd() string    { return filepath.Join(s.Dir, "cwd") }
func (s setting) ledger() string { return filepath.Join(s.Dir, "ledger") }
func (s setting) hooks() string  { return filepath.Join(s.Dir, "hooks") }
func (s setting) served() string { return filepath.Join(s.Dir, "served") } // by the MCP server
func (s setting) held() string   { return filepath.Join(s.Dir, "held") }

// mcpMark is what the servers of tools carry: they live as long as their
// runtime, not as long as a call.
func (s setting) mcpMark() string { return s.Mark + "-server" }

// cast is a runtime and what belongs to it.
type cast struct {
	rt      *ripcord.Runtime
	release chan struct{} // closed: what is held may go on
	ends    []func(context.Context) error
}

// hire makes a runtime with every tool, on the cell's folder.
func hire(ctx context.Context, s setting) (c *cast, err error) {
	c = &cast{release: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	if err := os.MkdirAll(s.cwd(), 0o700); err != nil {
		return c, err
	}
	store, err := file.Open(s.root(), file.Options{Check: func() journal.Checker { return turn.Check() }})
	if err != nil {
		return c, err
	}
	host, err := proc.NewHost(proc.Options{Scratch: filepath.Join(s.Dir, "tmp")})
	if err != nil {
		return c, err
	}
	c.ends = append(c.ends, func(context.Context) error { return host.Close() })
	m, end, err := driver(s)
	if err != nil {
		return c, err
	}
	c.ends = append(c.ends, func(context.Context) error { return end() })
	cfg := ripcord.Config{Store: store, Model: m, Host: host, Gate: gate.Rules{Policy: gate.YesAll},
		Limits: ripcord.Limits{ToolBound: s.Bound, JobGrace: 300 * time.Millisecond, Backoff: time.Millisecond}}
	if err := c.equip(ctx, s, host, &cfg); err != nil {
		return c, err
	}
	c.rt, err = ripcord.New(cfg)
	return c, err
}

// driver makes the driver of the wire.
func driver(s setting) (model.Model, func() error, error) {
	switch s.Wire {
	case "openai-chat":
		m, err := openai.New(openai.Config{BaseURL: s.URL, Model: "matrix"})
		return m, m.Close, err
	case "openai-responses":
		m, err := openai.NewResponses(openai.Config{BaseURL: s.URL, Model: "matrix"})
		return m, m.Close, err
	case "anthropic":
		m, err := anthropic.New(anthropic.Config{BaseURL: s.URL, Model: "matrix"})
		return m, m.Close, err
	}
	return nil, nil, fmt.Errorf("there is no wire %q", s.Wire)
}

// equip gives cfg its tools, hooks and rules.
func (c *cast) equip(ctx context.Context, s setting, host proc.Host, cfg *ripcord.Config) error {
	env := append(proc.Environ(os.Environ(), proc.DefaultDeny()), s.Mark)
	terms := terminal.New(terminal.Options{Host: host, Env: env, Grace: 300 * time.Millisecond})
	c.ends = append(c.ends, func(context.Context) error { return terms.Close() })
	cfg.Keepers = []ripcord.Keeper{{Readopted: terms.Readopt, Closed: terms.Forget}}
	tools := builtin.Tools(builtin.Options{Host: host, Env: env, Grace: 300 * time.Millisecond})
	tools = append(append(tools, builtin.TaskTools()...), terms.Tools()...)
	tools = append(tools, web.New(web.Config{AllowPrivate: func(string) bool { return true }}), workflow.New(workflow.Options{Host: host}), ask.User())
	if s.Kind == "mcp" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		mark, value, _ := strings.Cut(s.mcpMark(), "=")
		m := mcp.Start(ctx, []mcp.Server{{Name: "own", Command: exe, Env: map[string]string{asServer: s.served(), mark: value, "GORACE": "atexit_sleep_ms=0"}}},
			mcp.Options{Host: host, Dir: s.cwd(), Env: os.Environ(), Connect: bound, Settle: 200 * time.Millisecond})
		c.ends = append(c.ends, m.Close)
		for _, st := range m.Status() {
			if st.State != mcp.Ready {
				return fmt.Errorf("the server of tools is %s: %s %s", st.State, st.Why, st.Stderr)
			}
		}
		tools = append(tools, m.Tools()...)
	}
	if s.Kind == "hooked bash" {
		line := "echo asked >>'" + s.hooks() + "'"
		if s.Deny {
			line += "; echo 'not today' >&2; exit 2"
		}
		h, err := shell.New(shell.Options{Host: host, Env: proc.Environ(os.Environ(), proc.DefaultDeny()),
			Hooks: []shell.Hook{{Name: "watch", Points: []gate.Point{gate.PreTool}, Tool: "bash", Line: line}}})
		if err != nil {
			return err
		}
		c.ends = append(c.ends, func(context.Context) error { return h.Close() })
		cfg.Hooks = h
	} else if s.Deny {
		cfg.Gate = gate.Rules{Policy: gate.YesAll, List: []gate.Rule{{Name: "not today", Tool: s.Tool, Deny: true}}}
	}
	for i, t := range tools {
		if t.Spec().Name == s.Tool && s.Mode != asItIs {
			tools[i] = c.decorate(t, s)
		}
	}
	cfg.Tools = tools
	return nil
}

// decorate does to the one call what the mode says, and to no other.
func (c *cast) decorate(t tool.Tool, s setting) tool.Tool {
	return tool.Decorate(t, func(ctx context.Context, call *tool.Call, next tool.Tool) (tool.Result, error) {
		if call.ID != theCall {
			return next.Execute(ctx, call)
		}
		if s.Mode == door || s.Mode == before {
			note(s.held(), "held")
			if s.Mode == door {
				<-tool.SignalOf(call).Done()
			} else {
				<-c.release
			}
			return next.Execute(ctx, call)
		}
		res, err := next.Execute(ctx, call)
		note(s.held(), "held")
		switch s.Mode {
		case late:
			<-tool.SignalOf(call).Done()
			<-time.After(lateBy)
		case hold:
			<-c.release
		case fatal:
			return res, tool.Fatalf("the ground under it is gone")
		case panics:
			panic("the ground under it is gone")
		case asItIs, door, before:
		}
		return res, err
	})
}

// close ends everything in the reverse order of its making.
func (c *cast) close(ctx context.Context) (err error) {
	ctx, cancel := interrupt.Cleanup(ctx, bound)
	defer cancel()
	select {
	case <-c.release:
	default:
		close(c.release)
	}
	if c.rt != nil {
		err = c.rt.Close(ctx)
	}
	for i := len(c.ends) - 1; i >= 0; i-- {
		err = errors.Join(err, c.ends[i](ctx))
	}
	c.rt, c.ends = nil, nil
	return err
}
