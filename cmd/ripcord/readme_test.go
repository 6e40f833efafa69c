package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/mcp"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/proc"
)

// readme is the page, and what stands in its first block of a language.
func readme(t *testing.T, language string) (page, block string) {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(b), "```"+language+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("there is no block of %s on the page", language)
	}
	return string(b), block
}

// The library example on the README's page is a program that builds, and is as
// short as it is said to be.
//
// proves LIB-01
func TestTheReadmesProgramBuilds(t *testing.T) {
	_, code := readme(t, "go")
	if n := strings.Count(code, "\n"); n > 30 {
		t.Errorf("embedding takes %d lines, more than 30", n)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The settings and the servers on the README's page are ones that count.
//
// proves IFC-09, HOK-04, TOL-26
func TestTheReadmesSettingsAreRead(t *testing.T) {
	_, text := readme(t, "toml")
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"RIPCORD_CONFIG": file}[name] }
	set, err := config.Load(config.Options{Env: env, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Hooks) != 1 || set.Hooks[0].Points[0] != gate.PreTool || len(set.Permissions.Rules) != 1 || len(set.Ignored) != 0 {
		t.Errorf("hooks %+v, rules %+v, ignored %+v", set.Hooks, set.Permissions.Rules, set.Ignored)
	}
	_, servers := readme(t, "json")
	list, err := mcp.Parse([]byte(servers), func(string) (string, bool) { return "secret", true })
	if err != nil || len(list) != 2 {
		t.Errorf("%v: %v", list, err)
	}
}

// Each line that says with whom to begin chooses that one, and each tool that
// is offered stands on the page.
//
// proves MOD-05, IFC-09
func TestTheReadmeNamesProvidersAndTools(t *testing.T) {
	page, _ := readme(t, "go")
	chosen := map[string]int{}
	for line := range strings.Lines(page) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[len(words)-1] != "ripcord" || !strings.Contains(words[0], "=") {
			continue
		}
		env := map[string]string{}
		for _, w := range words[:len(words)-1] {
			name, value, _ := strings.Cut(w, "=")
			env[name] = value
		}
		c, err := model.Choose(func(name string) string { return env[name] }, model.Flags{}, false, model.Peers{})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		chosen[c.Provider]++
	}
	for _, p := range []string{model.OpenAIChat, model.OpenAIResponses, model.Anthropic} {
		if chosen[p] == 0 {
			t.Errorf("no line chooses %s: %v", p, chosen)
		}
	}
	set, err := config.Load(config.Options{Env: func(string) string { return "" }, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	host, err := proc.NewHost(proc.Options{Prestart: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	box, err := newToolbox(t.Context(), set, gate.Rules{}, host, mem.New(mem.Options{}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer box.owned.close()
	for _, tl := range box.tools {
		if name := tl.Spec().Name; !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name the tool %s", name)
		}
	}
}
