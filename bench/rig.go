package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/turn"
)

// closable is a model with connections of its own.
type closable interface {
	model.Model
	Close() error
}

// dialling makes the model at a server's address.
type dialling func(url string) (closable, error)

func chat(url string) (closable, error) {
	return openai.New(openai.Config{BaseURL: url, Model: "bench"})
}

// rig is a runtime on a file store with the scripted model.
type rig struct {
	rt     *ripcord.Runtime
	server *scripted.Server
	model  closable
	host   proc.Host
	id     event.SessionID
	dir    string
}

func (l *lab) rig(ctx context.Context, script string, grace time.Duration, extra ...tool.Tool) (*rig, error) {
	return l.rigOn(ctx, chat, script, grace, func(proc.Host) []tool.Tool { return extra })
}

// rigOn is rig with a model of another wire, and tools that need the host.
func (l *lab) rigOn(ctx context.Context, dial dialling, script string, grace time.Duration, extra func(proc.Host) []tool.Tool) (*rig, error) {
	r, store, err := l.modelled(dial, script)
	if err != nil {
		return nil, err
	}
	if r.host, err = proc.NewHost(proc.Options{Scratch: filepath.Join(r.dir, "tmp")}); err != nil {
		return nil, err
	}
	tools := append(builtin.Tools(builtin.Options{Host: r.host, Grace: grace}), extra(r.host)...)
	r.rt, err = ripcord.New(ripcord.Config{Store: store, Model: r.model, Host: r.host, Tools: tools, Gate: gate.Rules{Policy: gate.YesAll}})
	if err != nil {
		return nil, err
	}
	s, err := r.rt.Open(ctx, api.OpenRequest{Cwd: r.dir})
	r.id = s.ID
	return r, err
}

// modelled is a rig without its runtime: a model that answers by script, and a
// store of files.
func (l *lab) modelled(dial dialling, script string) (*rig, journal.Store, error) {
	dir, err := os.MkdirTemp(l.dir, "rig-")
	if err != nil {
		return nil, nil, err
	}
	sc, err := scripted.Parse(script)
	if err != nil {
		return nil, nil, err
	}
	r := &rig{dir: dir}
	if r.server, err = scripted.NewServer(sc, scripted.Options{Lenient: true}); err != nil {
		return nil, nil, err
	}
	if r.model, err = dial(r.server.URL()); err != nil {
		return nil, nil, err
	}
	store, err := file.Open(dir, file.Options{Check: func() journal.Checker { return turn.Check() }, CheckFrom: session.CheckFrom})
	return r, store, err
}

// fresh goes on in a new session.
func (r *rig) fresh(ctx context.Context) error {
	if err := r.rt.Release(ctx, r.id); err != nil {
		return err
	}
	s, err := r.rt.Open(ctx, api.OpenRequest{Cwd: r.dir})
	r.id = s.ID
	return err
}

func (r *rig) close(ctx context.Context) error {
	ctx, cancel := interrupt.Cleanup(ctx, 20*time.Second)
	defer cancel()
	return errors.Join(r.rt.Close(ctx), r.model.Close(), r.host.Close(), r.server.Close(), os.RemoveAll(r.dir))
}

func (r *rig) submit(ctx context.Context, text string) (event.InputID, error) {
	sub, err := r.rt.Submit(ctx, api.SubmitRequest{Session: r.id, Input: event.UserInput{Content: event.TextOf(text)}})
	return sub.Input, err
}

// stop interrupts the turn of input and returns how long it took until its end
// was durable.
func (r *rig) stop(ctx context.Context, input event.InputID, force bool) (time.Duration, error) {
	began := time.Now()
	if _, err := r.rt.Interrupt(ctx, api.InterruptRequest{Session: r.id, Input: input, Force: force}); err != nil {
		return 0, err
	}
	_, err := r.rt.Wait(ctx, r.id, input)
	return time.Since(began), err
}

// build makes the program that cold starts are measured on, as it ships.
func build(ctx context.Context, dir string) (string, error) {
	exe := filepath.Join(dir, "ripcord")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", exe, "github.com/ripcord-go/ripcord/cmd/ripcord")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return exe, cmd.Run()
}
