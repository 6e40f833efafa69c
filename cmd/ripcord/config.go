package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/gate/shell"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/turn"
)

// settings are what is in force in the workspace, read once a run. What a
// project may not set is said then, once.
func (a *app) settings(cwd string, quiet bool) (*config.Settings, error) {
	if a.set != nil && a.setDir == cwd {
		return a.set, nil
	}
	root, err := dataRoot(a.env)
	if err != nil {
		root = "" // no project is trusted; whoever needs a place says why there is none
	}
	s, err := config.Load(config.Options{Env: a.env, Dir: cwd, Root: root, Hidden: proc.DefaultDeny(), Flags: map[string]string{
		"provider": a.flags.provider, "base_url": a.flags.baseURL, "model": a.flags.model, "stall_guard": a.flags.stallGuard}})
	if err != nil {
		return nil, err
	}
	if notice := s.Notice(); notice != "" && !quiet {
		a.say("%s", notice)
	}
	a.set, a.setDir = s, cwd
	return s, nil
}

// allNow is what --yes gives up.
const allNow = "--yes: every tool call runs without asking: commands, changes to protected files and to files outside the workspace, requests to any host, tools of servers; only denying rules and hooks are left"

// rules is the gate that the settings make.
func rules(set *config.Settings, n need) gate.Rules {
	r := gate.Rules{Policy: gate.DenyAll, List: set.Permissions.Rules, Protected: set.Permissions.Protected, Boundary: true}
	switch {
	case n.yes:
		r.Policy = gate.YesAll
	case n.chat:
		r.Policy = set.Permissions.Policy
	}
	return r
}

// hooks makes the settings' hooks runnable; nil if there are none.
func hooks(set *config.Settings, host proc.Host, root string) (*shell.Hooks, error) {
	if len(set.Hooks) == 0 {
		return nil, nil
	}
	o := shell.Options{Host: host, Env: proc.Environ(os.Environ(), set.HiddenFromHooks), Parallel: set.ParallelHooks, Scratch: filepath.Join(root, "tmp")}
	for _, h := range set.Hooks {
		o.Hooks = append(o.Hooks, shell.Hook{Name: h.Name, Points: h.Points, Tool: h.Tool, Argv: h.Command, Line: h.Run,
			Timeout: h.Timeout, FailOpen: h.FailOpen, Env: h.Env})
	}
	made, err := shell.New(o)
	if err != nil {
		return nil, configf("correct it in the settings", "%v", err)
	}
	return made, nil
}

// limits are the settings' bounds.
func limits(set *config.Settings) ripcord.Limits {
	l := set.Limits
	return ripcord.Limits{MaxCost: l.MaxCost, Session: l.Session, Price: turn.Price(set.Prices), Context: l.Context, CompactAt: l.CompactAt,
		MaxSteps: l.MaxSteps, MaxCalls: l.MaxCalls, MaxTokens: l.MaxTokens, MaxWall: l.MaxWall,
		Attempts: l.Attempts, Parallel: l.Parallel, ToolBound: l.ToolBound, Idle: l.Idle, JobGrace: l.JobGrace,
		Agents: l.Agents, AgentsTotal: l.AgentsTotal, AgentDepth: l.AgentDepth}
}

// guards are those for the provider that was chosen.
func guards(set *config.Settings, provider, baseURL string) turn.Guards {
	g := set.GuardsFor(provider, baseURL)
	return turn.Guards{Stall: g.Stall, Loop: g.Loop, Calls: g.Calls, OnStall: g.OnStall, OnLoop: g.OnLoop, OnCalls: g.OnCalls, NoWake: !g.Wake}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// dataRoot is where sessions live: RIPCORD_HOME, else the XDG state folder. It
// is made if it is not there, and its links are resolved, so that two
// processes name its sockets alike.
func dataRoot(env func(string) string) (string, error) {
	root := env("RIPCORD_HOME")
	if root == "" {
		state := env("XDG_STATE_HOME")
		if state == "" || !filepath.IsAbs(state) {
			home := env("HOME")
			if home == "" {
				return "", configf("set RIPCORD_HOME to a folder", "neither RIPCORD_HOME nor HOME is set, so there is no place for sessions")
			}
			state = filepath.Join(home, ".local", "state")
		}
		root = filepath.Join(state, "ripcord")
	}
	root, err := filepath.Abs(root)
	if err == nil {
		err = os.MkdirAll(root, 0o700)
	}
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", configf("set RIPCORD_HOME to a folder that can be written", "the folder for sessions cannot be used: %v", err)
	}
	return root, nil
}

// runtimeDir is a folder of this user's alone for sockets whose own place has
// too long a name.
func runtimeDir(env func(string) string) (string, error) {
	dir := env("XDG_RUNTIME_DIR")
	if dir != "" && filepath.IsAbs(dir) {
		dir = filepath.Join(dir, "ripcord")
	} else {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("ripcord-%d", os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUs(info) {
		return "", fmt.Errorf("%s is not a folder of yours alone; remove it or set XDG_RUNTIME_DIR", dir)
	}
	return dir, nil
}
