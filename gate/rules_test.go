package gate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
)

// at is a call of name in dir that touches paths.
func at(dir, name, args string, paths ...string) (*tool.Call, func(tool.Effect, bool) tool.Spec) {
	return &tool.Call{Name: name, Dir: dir, Args: json.RawMessage(args)}, func(e tool.Effect, asks bool) tool.Spec {
		s := tool.Spec{Name: name, Effect: e}
		if asks {
			s.Asks = asking
		}
		if len(paths) > 0 {
			s.Touches = func(*tool.Call) ([]string, bool) { return paths, true }
		}
		return s
	}
}

// proves HOK-04: deny before ask before allow, whatever their order.
func TestDenyComesBeforeAskBeforeAllowWhateverTheirOrder(t *testing.T) {
	allow := gate.Rule{Name: "allow", Tool: "bash", Command: "git"}
	ask := gate.Rule{Name: "ask", Tool: "bash", Command: "git push", Ask: true}
	deny := gate.Rule{Name: "deny", Tool: "bash", Command: "git push --force", Deny: true}
	for _, list := range [][]gate.Rule{{allow, ask, deny}, {deny, ask, allow}, {ask, allow, deny}} {
		for cmd, want := range map[string]gate.Decision{
			"git status": gate.Allow, "git push": gate.Ask, "git push origin": gate.Ask, "git push --force": gate.Block,
			"git push; true": gate.Ask, "make": gate.Ask,
		} {
			args, _ := json.Marshal(map[string]string{"command": cmd})
			call, spec := at("/w", "bash", string(args))
			v, err := gate.Rules{List: list}.Judge(t.Context(), call, spec(tool.Unsafe, true))
			if err != nil || v.Decision != want {
				t.Errorf("%q: %+v %v, want %d", cmd, v, err, want)
			}
		}
	}
	// An asking rule is about what asks for nothing, too, and the policy
	// decides where nobody can be asked.
	call, spec := at("/w", "read", `{}`, "/w/secrets/a")
	r := gate.Rules{List: []gate.Rule{{Name: "s", Tool: "*", Path: "secrets", Ask: true}, {Name: "all", Tool: "*"}}}
	for policy, want := range map[gate.Policy]gate.Decision{gate.AskPerson: gate.Ask, gate.DenyAll: gate.Block, gate.YesAll: gate.Allow} {
		r.Policy = policy
		if v, _ := r.Judge(t.Context(), call, spec(tool.Pure, false)); v.Decision != want || policy == gate.DenyAll && !v.Final {
			t.Errorf("policy %d: %+v", policy, v)
		}
	}
}

// proves HOK-04: protected places ask in the workspace too, unless a rule
// names them; reading is free where only changes are protected.
func TestAProtectedPlaceAsksUnlessARuleNamesIt(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, Protected: []gate.Protected{{Path: ".git"}, {Path: "ci/deploy"}, {Path: "/data", Reads: true}},
		List: []gate.Rule{{Name: "edits", Tool: "edit"}, {Name: "hooks", Tool: "edit", Path: ".git/hooks"}, {Name: "cat", Tool: "bash", Command: "cat"}}}
	for _, c := range []struct {
		name, path string
		effect     tool.Effect
		asks       bool
		by         string
	}{
		{"edit", "/w/a.go", tool.Unsafe, true, "rule:edits"},
		{"edit", "/w/.git/config", tool.Unsafe, true, "policy:headless"},
		{"edit", "/w/sub/.GIT/config", tool.Unsafe, true, "policy:headless"},
		{"edit", "/w/.git", tool.Unsafe, true, "policy:headless"},
		{"edit", "/w/.github/x", tool.Unsafe, true, "rule:edits"},
		{"edit", "/w/.git/hooks/pre-commit", tool.Unsafe, true, "rule:hooks"},
		{"edit", "/w/ci/deploy/x", tool.Unsafe, true, "policy:headless"},
		{"edit", "/w/a/ci/deploy/x", tool.Unsafe, true, "rule:edits"},
		{"quiet", "/w/.git/config", tool.Unsafe, false, "policy:headless"}, // a tool that never asks
		{"quiet", "/w/a", tool.Unsafe, false, "rule:no-approval-needed"},
		{"read", "/w/.git/HEAD", tool.Pure, false, "rule:read-only"},
		{"read", "/data/trust", tool.Pure, false, "policy:headless"},
		{"grep", "/", tool.Pure, false, "policy:headless"}, // it goes through all of it
		{"grep", "/w", tool.Pure, false, "rule:read-only"},
	} {
		call, spec := at("/w", c.name, `{}`, c.path)
		if v, _ := r.Judge(t.Context(), call, spec(c.effect, c.asks)); v.By != c.by {
			t.Errorf("%s %s: %+v, want %s", c.name, c.path, v, c.by)
		}
	}
	for cmd, by := range map[string]string{"cat a": "rule:cat", "cat .git/config": "policy:headless", "cat /data/x": "policy:headless", "cat a/../.git/config": "policy:headless"} {
		args, _ := json.Marshal(map[string]string{"command": cmd})
		call, spec := at("/w", "bash", string(args))
		if v, _ := r.Judge(t.Context(), call, spec(tool.Unsafe, true)); v.By != by {
			t.Errorf("%q: %+v, want %s", cmd, v, by)
		}
	}
	// The folders above the workspace are not in it.
	call, spec := at("/x/.git/w", "edit", `{}`, "/x/.git/w/a")
	if v, _ := r.Judge(t.Context(), call, spec(tool.Unsafe, true)); v.By != "rule:edits" {
		t.Errorf("%+v", v)
	}
}

// proves HOK-04: the workspace is a boundary; only a rule with a path leads
// out of it.
func TestARuleWithoutAPathEndsAtTheWorkspace(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, Boundary: true, List: []gate.Rule{{Name: "edits", Tool: "edit"}, {Name: "tmp", Tool: "edit", Path: "/tmp/x"}}}
	for path, by := range map[string]string{"/w/a": "rule:edits", "/w": "rule:edits", "/other/a": "policy:headless", "/w2/a": "policy:headless", "/tmp/x/a": "rule:tmp"} {
		call, spec := at("/w", "edit", `{}`, path)
		if v, _ := r.Judge(t.Context(), call, spec(tool.Unsafe, true)); v.By != by {
			t.Errorf("%s: %+v, want %s", path, v, by)
		}
	}
	call, spec := at("/w", "glob", `{}`, "/other")
	if v, _ := r.Judge(t.Context(), call, spec(tool.Pure, false)); v.By != "policy:headless" || !strings.Contains(v.Prompt, "outside the workspace") {
		t.Errorf("a tool that forgot to ask: %+v", v)
	}
}

// proves HOK-04: a search goes through what a narrowing rule names.
func TestANarrowingRuleCoversTheFoldersThatHoldItsPath(t *testing.T) {
	r := gate.Rules{List: []gate.Rule{{Name: "s", Tool: "*", Path: "a/secrets", Deny: true}, {Name: "docs", Tool: "grep", Path: "a/docs/x"}}}
	for path, want := range map[string]gate.Decision{"/w": gate.Block, "/w/a": gate.Block, "/w/a/secrets/x": gate.Block, "/w/b": gate.Ask, "/w/a/docs": gate.Ask, "/w/a/docs/x": gate.Allow} {
		call, spec := at("/w", "grep", `{}`, path)
		if v, _ := r.Judge(t.Context(), call, spec(tool.Pure, true)); v.Decision != want {
			t.Errorf("%s: %+v", path, v)
		}
	}
}

// proves HOK-04: a denying rule follows its own links, an allowing one never.
func TestALinkWidensNoRuleAndEscapesNone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, elsewhere := filepath.Join(dir, "w"), filepath.Join(dir, "elsewhere")
	for _, d := range []string{w, elsewhere} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(w, "docs")); err != nil {
		t.Fatal(err)
	}
	call, spec := at(w, "edit", `{}`, filepath.Join(elsewhere, "f"))
	for _, c := range []struct {
		rule gate.Rule
		want gate.Decision
	}{
		{gate.Rule{Tool: "edit", Path: "docs"}, gate.Ask},
		{gate.Rule{Tool: "edit", Path: "docs", Deny: true}, gate.Block},
		{gate.Rule{Tool: "edit", Path: elsewhere}, gate.Allow},
	} {
		if v, _ := (gate.Rules{List: []gate.Rule{c.rule}}).Judge(t.Context(), call, spec(tool.Unsafe, true)); v.Decision != c.want {
			t.Errorf("%+v: %+v", c.rule, v)
		}
	}
}

// proves HOK-04 (TOL-25): rules by host, whole names only.
func TestARuleByHostMatchesWholeNamesOnly(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{
		{Name: "docs", Tool: "web_fetch", Host: "go.dev"}, {Name: "sub", Tool: "web_fetch", Host: "*.example.org"},
		{Name: "port", Tool: "web_fetch", Host: "localhost:8080"}, {Name: "bad", Tool: "*", Host: "evil.example.org", Deny: true}}}
	for u, by := range map[string]string{
		"https://go.dev/doc": "rule:docs", "https://GO.DEV./x": "rule:docs", "http://go.dev:81/": "rule:docs",
		"https://go.dev.evil.com/": "policy:headless", "https://notgo.dev/": "policy:headless", "https://go.dev@evil.com/": "rule:bad",
		"https://a.example.org": "rule:sub", "https://example.org": "policy:headless", "https://xexample.org": "policy:headless",
		"https://evil.example.org/": "rule:bad", "http://localhost:8080/": "rule:port", "http://localhost/": "policy:headless",
		"file://go.dev/etc": "rule:bad", "go.dev": "rule:bad", "": "rule:bad", "https://[::1": "rule:bad",
	} {
		args, _ := json.Marshal(map[string]string{"url": u})
		call, spec := at("/w", "web_fetch", string(args))
		if v, _ := r.Judge(t.Context(), call, spec(tool.Pure, true)); v.By != by {
			t.Errorf("%q: %+v, want %s", u, v, by)
		}
	}
}

// Tools with open schemas hand their arguments on as they are, and who reads them
// decides what a name is. What can be read in two ways is allowed by no rule and
// forbidden by each that could be meant.
//
// proves HOK-04: what a rule reads is what the tool reads.
func TestAnArgumentThatCanBeReadInTwoWaysIsAllowedByNoRule(t *testing.T) {
	const allowed, denied, neither, unsure = "allowed", "denied", "neither", "unsure"
	for _, c := range []struct {
		name, other, escaped string // other letters, the second as JSON may write them
		good, bad, plain     string
		allow, deny          gate.Rule
	}{
		{"url", "URL", `\u0055rl`, "https://example.com/", "http://evil/", "http://elsewhere/", gate.Rule{Host: "example.com"}, gate.Rule{Host: "evil"}},
		{"command", "Command", `c\u004fmmand`, "go test", "rm -r x", "ls", gate.Rule{Command: "go test"}, gate.Rule{Command: "rm"}},
	} {
		object := func(namesAndValues ...string) string {
			var fields []string
			for i := 0; i < len(namesAndValues); i += 2 {
				fields = append(fields, fmt.Sprintf(`"%s":"%s"`, namesAndValues[i], namesAndValues[i+1]))
			}
			return "{" + strings.Join(fields, ",") + "}"
		}
		c.allow.Name, c.allow.Tool, c.deny.Name, c.deny.Tool, c.deny.Deny = "ok", "mcp__x__*", "no", "*", true
		asks := c.allow
		asks.Ask = true
		for args, want := range map[string]string{
			object(c.name, c.good):  allowed,
			object(c.name, c.bad):   denied,
			object(c.name, c.plain): neither,
			object(fmt.Sprintf(`\u%04x`, c.name[0])+c.name[1:], c.good):         allowed, // the exact name
			`{"a":` + object(c.other, c.bad) + `,` + object(c.name, c.good)[1:]: allowed, // what is further in is no argument

			object(c.other, c.good):                    unsure,
			object(c.escaped, c.good):                  unsure,
			object(c.name, c.good, c.other, c.good):    unsure,
			object(c.name, c.bad, c.other, c.good):     unsure,
			object(c.other, c.bad, c.name, c.good):     unsure,
			object(c.name, c.good, c.other, c.bad):     unsure,
			object(c.other, c.good, c.name, c.bad):     unsure,
			object(c.name, c.plain, c.escaped, c.good): unsure,
			object(c.name, c.good, c.name, c.bad):      unsure,
			object(c.name, c.bad, c.name, c.good):      unsure,
			object(c.name, c.good) + "{}":              unsure,
			object(c.name, c.good)[1:]:                 unsure,
			"[" + object(c.name, c.good) + "]":         unsure,
			`{"` + c.name + `":["` + c.good + `"]}`:    unsure,
			"":                                         unsure,
		} {
			call, spec := at("/w", "mcp__x__get", args)
			for _, r := range []struct {
				gate.Rules
				by map[string]string
			}{
				{gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{c.allow, c.deny}},
					map[string]string{allowed: "rule:ok", denied: "rule:no", neither: "policy:headless", unsure: "rule:no"}},
				{gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{c.allow}},
					map[string]string{allowed: "rule:ok", denied: "policy:headless", neither: "policy:headless", unsure: "policy:headless"}},
				{gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{{Name: "all", Tool: "*"}, asks}},
					map[string]string{allowed: "policy:headless", denied: "rule:all", neither: "rule:all", unsure: "policy:headless"}},
			} {
				if v, err := r.Judge(t.Context(), call, spec(tool.Unsafe, true)); err != nil || v.By != r.by[want] {
					t.Errorf("%s: %+v, %v, want %s", args, v, err, r.by[want])
				}
			}
		}
	}
}

// proves HOK-04, TOL-25: what no call names is judged by the same rules: by
// port, by tool, and denied before allowed.
func TestWhereARedirectLeadsIsJudgedByTheSameRules(t *testing.T) {
	r := gate.Rules{List: []gate.Rule{
		{Name: "port", Tool: "web_fetch", Host: "127.0.0.1:8080"}, {Name: "sub", Tool: "web_fetch", Host: "*.example.org"},
		{Name: "other", Tool: "mcp__x__*", Host: "10.0.0.1"}, {Name: "all", Tool: "web_fetch"}, {Name: "box", Tool: "*", Host: "box.local"},
		{Name: "bad", Tool: "*", Host: "evil.example.org", Deny: true}, {Name: "ask", Tool: "*", Host: "box.local:81", Ask: true},
	}}
	for place, want := range map[string][2]bool{
		"127.0.0.1:8080": {true, true}, "127.0.0.1:8081": {}, "a.example.org:443": {true, false}, "evil.example.org:443": {},
		"10.0.0.1:80": {}, "elsewhere.net:443": {}, "box.local:80": {true, true}, "box.local:81": {}, "[::1]:80": {}, "a b": {}, "": {},
	} {
		if open, named := r.Fetches("web_fetch", place); open != want[0] || named != want[1] {
			t.Errorf("%s: open %v, named %v, want %v", place, open, named, want)
		}
	}
}

// proves HOK-04: one server's tools by pattern; a pattern that cannot be read
// forbids and allows nothing.
func TestToolsAreNamedByPattern(t *testing.T) {
	r := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{{Name: "files", Tool: "mcp__files__*"}, {Name: "no", Tool: "mcp__*__delete*", Deny: true}, {Name: "x", Tool: "[a"}}}
	for name, by := range map[string]string{"mcp__files__list": "rule:files", "mcp__files__delete_all": "rule:no", "mcp__web__get": "policy:headless", "a": "policy:headless"} {
		call, spec := at("/w", name, `{}`)
		if v, _ := r.Judge(t.Context(), call, spec(tool.Unsafe, true)); v.By != by {
			t.Errorf("%s: %+v, want %s", name, v, by)
		}
	}
	call, spec := at("/w", "a", `{}`)
	if v, _ := (gate.Rules{List: []gate.Rule{{Name: "x", Tool: "[a", Deny: true}}}).Judge(t.Context(), call, spec(tool.Unsafe, true)); v.Decision != gate.Block {
		t.Errorf("%+v", v)
	}
}
