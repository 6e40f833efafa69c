package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/turn"
)

func envOf(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// proves CLI-03: what a folder brings along neither hangs nor floods, be it a
// link to a device.
func TestInstructionsAreReadOnlyFromAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if text := instructions(dir); text != "" {
		t.Errorf("a device as instructions: %d bytes", len(text))
	}
}

// proves IFC-09, CLI-03: a wrong setting is exit 3, whoever finds it.
func TestAWrongSettingIsAnErrorOfSettings(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "config.toml"), "modle = 'x'\n")
	a := &app{env: envOf(map[string]string{"RIPCORD_CONFIG": path}), stops: newStops()}
	_, err := a.settings(t.TempDir(), true)
	if err == nil || refusalCode(explain(err).Code) != exitConfig || !strings.Contains(explain(err).Hint, "did you mean model?") {
		t.Errorf("%v", err)
	}
}

// proves IFC-11, HOK-04: which policy stands behind the rules.
func TestThePolicyBehindTheRules(t *testing.T) {
	var deny config.Settings
	deny.Permissions.Policy = gate.DenyAll
	for _, c := range []struct {
		set  config.Settings
		n    need
		want gate.Policy
	}{
		{config.Settings{}, need{}, gate.DenyAll}, {config.Settings{}, need{chat: true}, gate.AskPerson}, {deny, need{chat: true}, gate.DenyAll},
		{deny, need{yes: true}, gate.YesAll}, {config.Settings{}, need{yes: true, chat: true}, gate.YesAll},
	} {
		if r := rules(&c.set, c.n); r.Policy != c.want || !r.Boundary {
			t.Errorf("%+v: %+v", c.n, r)
		}
	}
}

// proves IFC-09, CLI-03: RIPCORD_HOME, else the XDG state folder.
func TestTheDataRoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"RIPCORD_HOME": dir + "/h", "XDG_STATE_HOME": dir + "/x"}, dir + "/h"},
		{map[string]string{"XDG_STATE_HOME": dir + "/x", "HOME": dir}, dir + "/x/ripcord"},
		{map[string]string{"HOME": dir}, dir + "/.local/state/ripcord"},
	} {
		got, err := dataRoot(envOf(c.env))
		if err != nil || got != c.want {
			t.Errorf("%v: %q, %v; want %q", c.env, got, err, c.want)
		}
	}
	if _, err := dataRoot(envOf(nil)); err == nil {
		t.Error("no place at all was taken")
	}
}

// proves GRD-09, TRN-11: what the settings say about guards and budgets is what
// the runtime gets.
func TestTheRuntimeGetsTheGuardsAndBudgetsOfTheSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	text := "[guards.stall]\nidle='20s'\nwake=false\n[guards.loop]\nmode='warn'\nwords=1024\n[guards.calls]\nsame=-1\n[providers.local.guards.calls]\nmode='off'\n" +
		"[limits]\nmax_cost=1.5\ncontext=8000\ncompact_at=0.5\n[limits.session]\nmax_tokens=9\nmax_cost=2.5\n[prices]\ninput=1\noutput=4\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := config.Load(config.Options{Env: envOf(map[string]string{"RIPCORD_CONFIG": file}), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := limits(set)
	if l.MaxCost != 1.5 || l.Context != 8000 || l.CompactAt != 0.5 || l.Session != (guard.Budget{Tokens: 9, Cost: 2.5}) || l.Price != (turn.Price{Input: 1, Output: 4}) {
		t.Errorf("%+v", l)
	}
	g := guards(set, "openai-chat", "http://10.0.0.1/v1")
	if !g.NoWake || g.Stall.Idle != 20*time.Second || g.Stall.First != 5*time.Minute || g.OnLoop != guard.Warn || g.Loop.Words != 1024 || g.Calls.Same != -1 || g.OnCalls != guard.Act || g.OnStall != guard.Act {
		t.Errorf("%+v", g)
	}
	if g := guards(set, "openai-chat", "http://127.0.0.1:1/v1"); g.OnCalls != guard.Off || g.Stall.First >= 0 {
		t.Errorf("on this machine: %+v", g)
	}
}

// proves GRD-08, GRD-09: a replay measures against what a turn here would have,
// whoever names the provider: the files, the environment, or its key.
func TestAReplayMeasuresAgainstWhatIsInForce(t *testing.T) {
	file := put(t, filepath.Join(t.TempDir(), "config.toml"), "[providers.anthropic.guards.stall]\nidle='33s'\n[providers.local.guards.stall]\nidle='44s'\n")
	for what, c := range map[string]struct {
		env  map[string]string
		want time.Duration
	}{
		"a variable": {map[string]string{"RIPCORD_PROVIDER": "anthropic", "RIPCORD_API_KEY": "k"}, 33 * time.Second},
		"no key":     {map[string]string{"RIPCORD_PROVIDER": "anthropic"}, 33 * time.Second},
		"a key":      {map[string]string{"ANTHROPIC_API_KEY": "k"}, 33 * time.Second},
		"an address": {map[string]string{"RIPCORD_BASE_URL": "http://127.0.0.1:1/v1"}, 44 * time.Second},
	} {
		c.env["RIPCORD_CONFIG"] = file
		a := &app{env: envOf(c.env), stops: newStops()}
		a.flags.cwd = t.TempDir()
		o, err := a.replayOptions(&replayFlags{}, "")
		if err != nil || o.Stall.Idle != c.want {
			t.Errorf("%s: idle %v (%v), want %v", what, o.Stall.Idle, err, c.want)
		}
	}
}
