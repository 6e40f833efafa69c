package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// wire lists the drivers and joins them into a runtime.
func wire(ctx context.Context, a *app, n need) (_ *engine, err error) {
	root, err := dataRoot(a.env)
	if err != nil {
		return nil, err
	}
	var owned closers
	defer func() {
		if err != nil {
			_ = owned.close() // the first error is the one to tell
		}
	}()
	store, err := file.Open(root, file.Options{Check: func() journal.Checker { return turn.Check() }, CheckFrom: session.CheckFrom})
	if err != nil {
		return nil, err
	}
	opts := proc.Options{Scratch: filepath.Join(root, "tmp")}
	if !n.model { // nothing is started, and a folder that can only be read is enough
		opts = proc.Options{Prestart: -1}
	}
	host, err := proc.NewHost(opts)
	if errors.Is(err, os.ErrPermission) {
		return nil, configf("set RIPCORD_HOME to a folder that can be written", "the folder for sessions cannot be used: %v", err)
	}
	if err != nil {
		return nil, err
	}
	owned = append(owned, host)
	cfg := ripcord.Config{Store: store, Host: host}
	e := &engine{}
	if n.model {
		if err := a.wireModel(ctx, n, &cfg, e, &owned); err != nil {
			return nil, err
		}
		if err := a.wireTools(ctx, n, root, &cfg, e, &owned); err != nil {
			return nil, err
		}
	}
	rt, err := ripcord.New(cfg)
	if err != nil {
		return nil, err
	}
	sockets := &live{Service: rt, socketOf: a.socketOf, say: a.say}
	e.svc = sockets
	e.close = func(ctx context.Context) error {
		return errors.Join(rt.Close(ctx), sockets.close(ctx), owned.close())
	}
	return e, nil
}

// wireTools lists the tools, and what stands before each call of one.
func (a *app) wireTools(ctx context.Context, n need, root string, cfg *ripcord.Config, e *engine, owned *closers) error {
	cwd, err := a.workspace()
	if err != nil {
		return err
	}
	set, err := a.settings(cwd, n.quiet)
	if err != nil {
		return err
	}
	r := rules(set, n)
	box, err := newToolbox(ctx, set, r, cfg.Host, cfg.Store, cwd)
	if err != nil {
		return err
	}
	*owned = append(*owned, box.owned...)
	if !n.quiet {
		a.sayServers(box.servers)
	}
	cfg.Tools, cfg.Keepers, cfg.Processes = box.tools, box.keepers, box.running.List
	cfg.Gate, cfg.Limits, cfg.Alone = gate.PlanMode(r, box.plans, "ask_user", "todo"), limits(set), !n.chat
	cfg.OneTurn = !n.chat // what others have queued waits for who stays
	h, err := hooks(set, cfg.Host, root)
	if err != nil || h == nil {
		return err
	}
	*owned = append(*owned, h) // before the host: it ends what hooks still run
	cfg.Hooks = h
	e.ending = h.Bound(gate.PostTool) + h.Bound(gate.Interrupted) + h.Bound(gate.TurnStop)
	e.closing = e.ending + h.Bound(gate.SessionStart) + h.Bound(gate.SessionEnd)
	return nil
}

// wireModel chooses the model and says why.
func (a *app) wireModel(ctx context.Context, n need, cfg *ripcord.Config, e *engine, owned *closers) error {
	cwd, err := a.workspace()
	if err != nil {
		return err
	}
	set, err := a.settings(cwd, n.quiet)
	if err != nil {
		return err
	}
	c, err := model.Choose(set.Value, a.modelChoice(), n.chat, model.Loopback(ctx, 0))
	if err != nil {
		return err
	}
	cfg.Guards = guards(set, c.Provider, c.BaseURL)
	e.wakes = cfg.Guards.Stall.Filled().InRow
	if c.Provider == model.Scripted {
		script := scripted.Coder()
		if path := a.env("RIPCORD_SCRIPT"); path != "" {
			if script, err = readScript(path); err != nil { // nobody typed it for this command
				return configf("give RIPCORD_SCRIPT a file with a script, or unset it", "RIPCORD_SCRIPT: %s", explain(err).Message)
			}
		}
		server, err := scripted.NewServer(script, scripted.Options{})
		if err != nil {
			return err
		}
		*owned = append(*owned, server)
		c.BaseURL = server.URL()
		c.Why += "; a script, no AI"
	} else if a.env("RIPCORD_SCRIPT") != "" {
		return configf("set RIPCORD_PROVIDER=scripted or unset it", "RIPCORD_SCRIPT is set, but the provider is %s", c.Provider)
	}
	m, err := speak(c)
	if err != nil {
		return err
	}
	*owned = append(*owned, m)
	cfg.Model, cfg.System = m, system(cwd)
	e.info = api.ModelInfo{Provider: c.Provider, Model: c.Model, Why: c.Why}
	e.model = c.Provider + "/" + c.Model + " (" + c.Why + ")"
	if c.Provider == c.Model {
		e.model = c.Provider + " (" + c.Why + ")"
	}
	return nil
}

// closers are closed side by side, so that an exit takes as long as the slowest
// of them; then the first, which holds the processes of all.
type closers []io.Closer

func (c closers) close() error {
	if len(c) == 0 {
		return nil
	}
	errs := make([]error, len(c))
	var wg sync.WaitGroup
	for i := range c[1:] {
		wg.Go(func() { errs[i+1] = c[i+1].Close() })
	}
	wg.Wait()
	errs[0] = c[0].Close()
	return errors.Join(errs...)
}
