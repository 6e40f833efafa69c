package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/gate"
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
