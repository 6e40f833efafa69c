package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool/builtin"
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
	store, err := file.Open(root, file.Options{Check: func() journal.Checker { return turn.Check() }})
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
		cfg.Tools = builtin.Tools(builtin.Options{Host: host})
		cfg.Gate = gate.Rules{Policy: policy(n)}
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

// policy is what happens to calls that ask.
func policy(n need) gate.Policy {
	switch {
	case n.yes:
		return gate.YesAll
	case n.chat:
		return gate.AskPerson
	}
	return gate.DenyAll
}

// wireModel chooses the model and says why.
func (a *app) wireModel(ctx context.Context, n need, cfg *ripcord.Config, e *engine, owned *closers) error {
	cwd, err := a.workspace()
	if err != nil {
		return err
	}
	set, err := readSettings(a.env, cwd)
	if err != nil {
		return err
	}
	c, err := model.Choose(set.value, a.modelChoice(), n.chat, model.Loopback(ctx, 0))
	if err != nil {
		return err
	}
	mc := openai.Config{BaseURL: c.BaseURL, Key: c.Key, KeyVar: c.KeyVar, Model: c.Model, Provider: c.Provider, Why: c.Why}
	switch c.Provider {
	case model.Scripted:
		script := scripted.Coder()
		if path := a.env("RIPCORD_SCRIPT"); path != "" {
			if script, err = readScript(path); err != nil {
				return err
			}
		}
		server, err := scripted.NewServer(script, scripted.Options{})
		if err != nil {
			return err
		}
		*owned = append(*owned, server)
		mc.BaseURL, mc.Echo = server.URL(), true
		c.Why += "; a script, no AI"
	default:
		if a.env("RIPCORD_SCRIPT") != "" {
			return configf("set RIPCORD_PROVIDER=scripted or unset it", "RIPCORD_SCRIPT is set, but the provider is %s", c.Provider)
		}
	}
	m, err := openai.New(mc)
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

// closers are closed last first.
type closers []io.Closer

func (c closers) close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i].Close())
	}
	return errors.Join(errs...)
}
