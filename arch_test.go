package ripcord_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/ripcord-go/ripcord"

// architecture is a statement of policy, read by TestArchitecture.
//
// A line "a: b c" says that package a may import b and c and nothing else of
// this module. "+x" lets it import third-party packages at or below x; a bare
// "+" any of them; "*" any of ours; "#" begins a reason. A package without a
// line fails: decide its room first. A line without a package fails, unless it
// says "later".
//
// Do not change a line to make a build pass; change it in the commit that says
// why.
const architecture = `
# words: no I/O, import nothing of ours
event:
interrupt:

# pure: what decides
guard:               event
guard/forensics:     event guard   # the guards over what a session left behind
inbox:               event
turn:                event interrupt guard inbox   # its ledger is one fold over the journal, queue included: both are pure

# contracts: one noun each
journal:             event
proc:                event interrupt +golang.org/x/sys
model:               event
tool:                event interrupt
gate:                event interrupt tool
api:                 event

# drivers, one level below their contract
journal/file:        event journal +golang.org/x/sys
journal/mem:         event journal
model/openai:        event model +github.com/openai/openai-go
model/anthropic:     event model +github.com/anthropics/anthropic-sdk-go
model/scripted:      event model
tool/builtin:        event interrupt tool proc +github.com/aymanbagabas/go-udiff +golang.org/x/sys +github.com/bmatcuk/doublestar +github.com/creack/pty
tool/terminal:       event interrupt tool proc +github.com/creack/pty +golang.org/x/sys
tool/workflow:       event interrupt tool proc +github.com/dop251/goja
tool/ask:            event interrupt tool
tool/web:            event interrupt tool +github.com/JohannesKaufmann/html-to-markdown
gate/shell:          event interrupt tool gate proc   # hooks are processes
api/remote:          event api +golang.org/x/sys   # the peer of a socket is checked by its uid

# the one goroutine, the one writer
session:             event interrupt turn guard inbox journal proc model tool gate

# the root joins the rooms
.:                   event interrupt turn guard inbox journal proc model tool gate session api

# settings: what the files and the environment say, and who may be believed
config:              gate guard +github.com/pelletier/go-toml

# edges: over api alone
tui:                 event api +charm.land +github.com/charmbracelet
mcp:                 event interrupt tool proc +github.com/modelcontextprotocol/go-sdk
cmd/ripcord:         * +

# kits
interrupt/interrupttest: interrupt
journal/journaltest: event journal
proc/proctest:       event interrupt proc +golang.org/x/sys
model/modeltest:     event model model/scripted +go.uber.org/goleak   # a leak is a finding of the suite
tool/tooltest:       event interrupt tool
api/apitest:         event api api/remote   # one suite, in process and over the wire
guard/guardtest:     event guard   # the labelled corpus

# proof
crashtest:           * +
bench:               * +
internal/guardeval:  guard guard/guardtest   # scores the corpus
internal/demo:       *   # shows the promise on the real parts
internal/matrix:     * +
internal/mutate:
`

type importRule struct {
	own, foreign []string
	later        bool
}

// systems are those whose imports are checked: a file that only one of them
// builds is bound by the rules too.
var systems = []string{"linux", "darwin"}

// TestArchitecture holds every import to the line of its package.
//
// proves INT-19, INT-46
func TestArchitecture(t *testing.T) {
	rules := parseRules(t, architecture)
	seen := map[string]bool{}
	for _, goos := range systems {
		for _, p := range listPackages(t, goos) {
			name := local(p.ImportPath)
			rule, ok := rules[name]
			if !ok {
				t.Errorf("package %q has no line in the architecture: decide its room and write one", name)
				continue
			}
			seen[name] = true
			for _, imp := range p.Imports {
				if !rule.allows(imp) {
					t.Errorf("package %q must not import %q (%s)", name, imp, goos)
				}
			}
		}
	}
	for name, rule := range rules {
		if !seen[name] && !rule.later {
			t.Errorf("the architecture names package %q, which does not exist", name)
		}
		if seen[name] && rule.later {
			t.Logf("package %q exists: take \"later\" from its line", name)
		}
	}
	if !seen["interrupt"] || !seen["event"] {
		t.Error("the list of packages does not hold event and interrupt: nothing was checked")
	}
}

// TestArchitectureSeesPlantedViolations shows that the rules can fail.
func TestArchitectureSeesPlantedViolations(t *testing.T) {
	rules := parseRules(t, architecture)
	for _, c := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"event", module + "/interrupt", false}, // proves INT-50: no fact and no wire can hold a signal
		{"api", module + "/interrupt", false},
		{"interrupt", module + "/tool", false}, // proves INT-19
		{"interrupt", "context", true},
		{"model", module + "/interrupt", false}, // proves INT-46
		{"model/openai", module + "/interrupt", false},
		{"model/openai", "github.com/openai/openai-go/v3", true},
		{"model/openai", "github.com/openai/openai-gopher", false},
		{"turn", module + "/journal", false},
		{"guard", module, false},
		{"tool", module + "/gate", false},
		{"gate", module + "/tool", true},
		{"tui", module + "/session", false},
		{"cmd/ripcord", module + "/tui", true},
		{"cmd/ripcord", "github.com/spf13/cobra", true},
		{"journal", "golang.org/x/sys/unix", false},
		{"journal/file", "golang.org/x/sys/unix", true},
		{"interrupt/interrupttest", module + "/interrupt", true},
	} {
		rule, ok := rules[c.pkg]
		if !ok {
			t.Fatalf("no line for %q", c.pkg)
		}
		if got := rule.allows(c.imp); got != c.ok {
			t.Errorf("%s → %s: allowed %v, want %v", c.pkg, c.imp, got, c.ok)
		}
	}
}

func (r importRule) allows(imp string) bool {
	switch {
	case imp == module || strings.HasPrefix(imp, module+"/"):
		return slices.Contains(r.own, local(imp)) || slices.Contains(r.own, "*")
	case !strings.Contains(strings.Split(imp, "/")[0], "."):
		return true // the standard library
	default:
		return slices.ContainsFunc(r.foreign, func(prefix string) bool {
			return prefix == "" || imp == prefix || strings.HasPrefix(imp, prefix+"/")
		})
	}
}

func local(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func parseRules(t *testing.T, text string) map[string]importRule {
	t.Helper()
	rules := map[string]importRule{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, imports, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("architecture: no colon in %q", line)
		}
		if _, twice := rules[name]; twice {
			t.Fatalf("architecture: two lines for %q", name)
		}
		var r importRule
		for _, f := range strings.Fields(imports) {
			prefix, foreign := strings.CutPrefix(f, "+")
			switch {
			case f == "later":
				r.later = true
			case foreign:
				r.foreign = append(r.foreign, prefix)
			default:
				r.own = append(r.own, f)
			}
		}
		rules[name] = r
	}
	return rules
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T, goos string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// goFile is one parsed file of this module.
type goFile struct {
	path string // slash-separated, from the root
	dir  string // its folder, "." for the root
	test bool   // a _test.go file
	src  []byte
	ast  *ast.File
}

// kit reports whether the file belongs to a test kit or to a proof: code that
// runs under "go test" or as a tool of the house, never below a user's main.
func (f *goFile) kit() bool {
	return strings.HasSuffix(f.dir, "test") || f.dir == "internal/mutate" || f.dir == "bench"
}

// main reports whether the file belongs to a command.
func (f *goFile) main() bool {
	return strings.HasPrefix(f.dir, "cmd/") || f.dir == "internal/matrix" || f.dir == "internal/guardeval"
}

type goTree struct {
	fset  *token.FileSet
	files []*goFile
}

func (g *goTree) line(p token.Pos) int { return g.fset.Position(p).Line }

func (g *goTree) at(f *goFile, p token.Pos) string {
	return f.path + ":" + strconv.Itoa(g.line(p))
}

var loadTree = sync.OnceValues(func() (*goTree, error) {
	g := &goTree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (err == nil || strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "vendor", "node_modules"}, d.Name())) {
				return fs.SkipDir // not this module's
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(g.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		g.files = append(g.files, &goFile{slash, path.Dir(slash), strings.HasSuffix(name, "_test.go"), src, parsed})
		return nil
	})
	return g, err
})

func tree(t *testing.T) *goTree {
	t.Helper()
	g, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.files) < 10 {
		t.Fatalf("only %d Go files found: the lints would prove nothing", len(g.files))
	}
	return g
}
