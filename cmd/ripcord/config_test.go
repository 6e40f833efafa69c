package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// proves IFC-09: environment before project before user.
func TestEnvironmentComesBeforeProjectBeforeUser(t *testing.T) {
	dir := t.TempDir()
	user := put(t, filepath.Join(dir, "user.toml"), "model = 'u'\nprovider = 'openai-chat'\nbase_url = 'http://u/v1'\n")
	put(t, filepath.Join(dir, "w", ".ripcord.toml"), "model = 'p'\ntimeout = '90s'\n")
	m := map[string]string{"RIPCORD_CONFIG": user}
	s, err := readSettings(envOf(m), filepath.Join(dir, "w"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.value("RIPCORD_MODEL"); got != "p" {
		t.Errorf("model %q, want the project's", got)
	}
	if got := s.value("RIPCORD_BASE_URL"); got != "http://u/v1" {
		t.Errorf("base URL %q, want the user's", got)
	}
	if s.timeout().Seconds() != 90 {
		t.Errorf("timeout %v", s.timeout())
	}
	m["RIPCORD_MODEL"] = "e"
	if got := s.value("RIPCORD_MODEL"); got != "e" {
		t.Errorf("model %q, want the environment's", got)
	}
	if got := s.value("HOME"); got != "" {
		t.Errorf("a name that is no setting gave %q", got)
	}
}

// proves IFC-09, CLI-03: one clear sentence with file, key and line, and never
// a value.
func TestAWrongSettingIsRefusedWithFileLineAndKey(t *testing.T) {
	const secret = "sk-very-secret"
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "model = 'x'\n\nmodle = 'y'\n", ":3: there is no setting modle"},
		{"wrong type", "model = 'x'\ntimeout = 5\n", ":2: timeout must be a string"},
		{"wrong type of a secret", "api_key = ['" + secret + "']\n", ":1: api_key must be a string"},
		{"no duration", "timeout = 'soon'\n", ":1: timeout must be"},
		{"not TOML", "model = 'x'\nprovider = \n", ":2:"},
		{"not TOML near a secret", "api_key = '" + secret + "\n", ":1:"},
		{"hooks", "[hooks]\na = 1\n", "hooks"},
		{"a key set twice", "model = 'x'\nmodel = 'y'\n", ":2: model is set twice"},
	} {
		path := put(t, filepath.Join(t.TempDir(), "config.toml"), c.text)
		_, err := readSettings(envOf(map[string]string{"RIPCORD_CONFIG": path}), t.TempDir())
		if err == nil {
			t.Errorf("%s: it was taken", c.name)
			continue
		}
		e := explain(err)
		if !strings.Contains(e.Message, path+c.want) && !(strings.Contains(e.Message, path) && strings.Contains(e.Message, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, e.Message, path+c.want)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the secret is in the message: %v", c.name, err)
		}
		if refusalCode(e.Code) != exitConfig || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: code %s, %q: want one sentence and exit 3", c.name, e.Code, err)
		}
	}
}

// proves IFC-09: what a project may not set.
func TestAProjectsFileMayNotSetWhatOpensTheDoor(t *testing.T) {
	for _, key := range []string{"base_url = 'http://x/v1'", "api_key = 'k'", "[hooks]\nx = 1", "[approvals]\nallow = ['bash']", "approvals.x = 1"} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, ".ripcord.toml"), "model = 'x'\n"+key+"\n")
		_, err := readSettings(envOf(nil), dir)
		if err == nil || !strings.Contains(err.Error(), path+":2: a project's file may not set") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// proves CLI-03: what a folder brings along neither hangs nor floods, be it a
// link to a device; and an editor's byte-order mark is no error.
func TestWhatAFolderBringsAlongIsReadOnlyIfItIsAFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".ripcord.toml", "AGENTS.md"} {
		if err := os.Symlink("/dev/zero", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readSettings(envOf(nil), dir); err == nil || refusalCode(explain(err).Code) != exitConfig {
		t.Errorf("a device as settings: %v", err)
	}
	if text := instructions(dir); text != "" {
		t.Errorf("a device as instructions: %d bytes", len(text))
	}
	path := put(t, filepath.Join(t.TempDir(), "config.toml"), "\xef\xbb\xbfmodel = 'x'\n")
	if _, err := readSettings(envOf(map[string]string{"RIPCORD_CONFIG": path}), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestTheProjectsFileIsFoundWithinTheRepositoryOnly(t *testing.T) {
	top := t.TempDir()
	outside := put(t, filepath.Join(top, ".ripcord.toml"), "")
	repo := filepath.Join(top, "repo")
	deep := filepath.Join(repo, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := projectFile(deep); got != "" {
		t.Errorf("without a repository %q was taken", got)
	}
	if got := projectFile(top); got != outside {
		t.Errorf("in the workspace itself: %q, want %q", got, outside)
	}
	if err := os.Mkdir(filepath.Join(repo, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := projectFile(deep); got != "" {
		t.Errorf("%q is outside the repository", got)
	}
	in := put(t, filepath.Join(repo, ".ripcord.toml"), "")
	if got := projectFile(deep); got != in {
		t.Errorf("got %q, want %q", got, in)
	}
}

func TestASettingThatIsNotThereYetIsRefused(t *testing.T) {
	_, err := readSettings(envOf(map[string]string{"RIPCORD_STALL_GUARD": "off"}), t.TempDir())
	if err == nil || refusalCode(explain(err).Code) != exitConfig {
		t.Errorf("RIPCORD_STALL_GUARD: %v", err)
	}
	_, err = readSettings(envOf(map[string]string{"RIPCORD_CONFIG": "/nonexistent/c.toml"}), t.TempDir())
	if err == nil || refusalCode(explain(err).Code) != exitConfig {
		t.Errorf("a settings file that is not there: %v", err)
	}
}

func TestASecretNeverShowsItself(t *testing.T) {
	l := layer{APIKey: "sk-1234"}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(l), fmt.Sprintf("%+v %#v %s %q", l, l, l.APIKey, l.APIKey), string(b)} {
		if strings.Contains(s, "1234") {
			t.Errorf("it shows in %s", s)
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
