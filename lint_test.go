package ripcord_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	maxFunc = 70  // lines of a function that is not a test
	maxFile = 600 // lines of a Go file
	maxTest = 800 // lines of a file of tests: tables are long
)

// exemptions are the places that may break a rule, each with its reason. A key
// is "rule path" or "rule path name"; one that no longer exempts anything
// fails, so that the list cannot rot.
var exemptions = map[string]string{
	"detach interrupt/detach.go":     "the four named detachers live here (TRN-03)",
	"process proc/main.go":           "a guardian is a process of its own: its end is its result",
	"global proc/main.go mainCalled": "a fact about the process, not about a host: whether main begins with proc.Main",
	"promotion agents.go":            "a session's end, and a stop of the call that waits, reach its sub-agents under this name (INT-07)",
	"promotion turn/flow.go":         "a turn that failed stops its own calls; its outcome is failed, whatever their reason says",
}

// excused notes which exemptions were needed.
var excused sync.Map

func excuse(keys ...string) bool {
	for _, k := range keys {
		if _, ok := exemptions[k]; ok {
			excused.Store(k, true)
			return true
		}
	}
	return false
}

// TestLint runs every rule over every file.
//
// proves TRN-03, TRN-04, PRF-05, INT-34
func TestLint(t *testing.T) {
	g := tree(t)
	for _, rule := range []struct {
		name  string
		check func(g *goTree, f *goFile) []string
	}{
		{"no context is made below main", lintBackground},
		{"one file detaches contexts", lintDetach},
		{"nobody sleeps to synchronise", lintSleep},
		{"only a command ends the process or prints", lintProcess},
		{"functions and files have a size", lintSize},
		{"no package keeps mutable state", lintGlobals},
		{"goroutines are declared", lintGoroutines},
		{"one place promotes the caller's end", lintPromotion},
		{"nothing is left to do", lintLeftovers},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for _, f := range g.files {
				for _, complaint := range rule.check(g, f) {
					t.Error(complaint)
				}
			}
		})
	}
	t.Run("no bubble holds the real world", func(t *testing.T) {
		for _, complaint := range lintBubbles(g) {
			t.Error(complaint)
		}
	})
	t.Run("every exemption is needed", func(t *testing.T) {
		for k, why := range exemptions {
			if _, used := excused.Load(k); !used {
				t.Errorf("exemption %q (%s) exempts nothing: take it out", k, why)
			}
		}
	})
}

// calls visits each call of pkg.name (as imported, by its usual name).
func calls(n ast.Node, visit func(pkg, name string, at token.Pos)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if pkg, name, ok := selector(call.Fun); ok {
				visit(pkg, name, call.Pos())
			}
		}
		return true
	})
}

func selector(e ast.Expr) (pkg, name string, ok bool) {
	if ix, isIndex := e.(*ast.IndexExpr); isIndex {
		e = ix.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", "", false
	}
	return id.Name, sel.Sel.Name, true
}

func lintBackground(g *goTree, f *goFile) (out []string) {
	if f.test || f.kit() || f.main() {
		return nil
	}
	calls(f.ast, func(pkg, name string, at token.Pos) {
		if pkg == "context" && (name == "Background" || name == "TODO") && !excuse("background "+f.path) {
			out = append(out, fmt.Sprintf("%s: context.%s below main: take the context by parameter (TRN-03)", g.at(f, at), name))
		}
	})
	return out
}

func lintDetach(g *goTree, f *goFile) (out []string) {
	if f.test {
		return nil
	}
	calls(f.ast, func(pkg, name string, at token.Pos) {
		if pkg == "context" && name == "WithoutCancel" && !excuse("detach "+f.path) {
			out = append(out, g.at(f, at)+": context.WithoutCancel: use a helper of interrupt/detach.go (TRN-03)")
		}
	})
	return out
}

// lintSleep allows a sleep inside a synctest bubble, where it is virtual time.
func lintSleep(g *goTree, f *goFile) (out []string) {
	bubbles := bubblesOf(f)
	calls(f.ast, func(pkg, name string, at token.Pos) {
		inBubble := slices.ContainsFunc(bubbles, func(b ast.Node) bool { return b.Pos() <= at && at < b.End() })
		if pkg == "time" && name == "Sleep" && !inBubble && !excuse("sleep "+f.path) {
			out = append(out, g.at(f, at)+": time.Sleep: wait for a condition, a channel or a timer that the signal cuts; in tests also testing/synctest")
		}
	})
	return out
}

func lintProcess(g *goTree, f *goFile) (out []string) {
	if f.test || f.kit() || f.main() {
		return nil
	}
	calls(f.ast, func(pkg, name string, at token.Pos) {
		bad := pkg == "os" && name == "Exit" || pkg == "fmt" && strings.HasPrefix(name, "Print") ||
			pkg == "log" && (strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic"))
		if bad && !excuse("process "+f.path) {
			out = append(out, fmt.Sprintf("%s: %s.%s outside a command: return an error, hand in a writer", g.at(f, at), pkg, name))
		}
	})
	return out
}

func lintSize(g *goTree, f *goFile) (out []string) {
	limit := maxFile
	if f.test {
		limit = maxTest
	}
	if n := bytes.Count(f.src, []byte("\n")); n > limit && !excuse("file "+f.path) {
		out = append(out, fmt.Sprintf("%s has %d lines, more than %d: is there a second noun in it?", f.path, n, limit))
	}
	if f.test {
		return out
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if n := g.line(fn.End()) - g.line(fn.Pos()) + 1; n > maxFunc && !excuse("func "+f.path+" "+fn.Name.Name) {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, more than %d: which part computes, which decides?", g.at(f, fn.Pos()), fn.Name.Name, n, maxFunc))
		}
	}
	return out
}

// lintGlobals finds package variables that hold state: without a value (an
// embedded file excepted), of a kind that is made to change, or assigned to in
// a function of their file.
func lintGlobals(g *goTree, f *goFile) (out []string) {
	if f.test {
		return nil
	}
	assigned := assignedNames(f)
	for _, d := range f.ast.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, s := range gen.Specs {
			spec := s.(*ast.ValueSpec)
			for i, id := range spec.Names {
				why := ""
				switch {
				case id.Name == "_":
				case assigned[id.Name]:
					why = "is assigned to in a function"
				case len(spec.Values) == 0 && !embedded(gen, spec):
					why = "has no value"
				case i < len(spec.Values) && changeable(spec.Values[i]):
					why = "is of a kind that is made to change"
				}
				if why != "" && !excuse("global "+f.path+" "+id.Name) {
					out = append(out, fmt.Sprintf("%s: package variable %s %s: put it into a struct with an owner", g.at(f, id.Pos()), id.Name, why))
				}
			}
		}
	}
	return out
}

func embedded(gen *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{gen.Doc, spec.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// changeable reports whether a value is a channel, an empty map, or of a type
// of sync or atomic.
func changeable(v ast.Expr) bool {
	if u, ok := v.(*ast.UnaryExpr); ok {
		v = u.X
	}
	switch v := v.(type) {
	case *ast.CallExpr:
		id, ok := v.Fun.(*ast.Ident)
		return ok && (id.Name == "make" || id.Name == "new")
	case *ast.CompositeLit:
		if _, isMap := v.Type.(*ast.MapType); isMap {
			return len(v.Elts) == 0
		}
		pkg, _, ok := selector(v.Type)
		return ok && (pkg == "sync" || pkg == "atomic")
	}
	return false
}

// assignedNames lists the names that functions of f assign to without having
// declared them.
func assignedNames(f *goFile) map[string]bool {
	names := map[string]bool{}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		own := declaredIn(fn)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			var targets []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					targets = n.Lhs
				}
			case *ast.IncDecStmt:
				targets = []ast.Expr{n.X}
			}
			for _, e := range targets {
				if id := root(e); id != nil && !own[id.Name] {
					names[id.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// declaredIn lists every name that fn declares anywhere: receiver, parameters,
// results, variables.
func declaredIn(fn *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				own[id.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						own[id.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				own[id.Name] = true
			}
		}
		return true
	})
	return own
}

// startsGoroutine returns a place where f starts one, not valid if none.
func startsGoroutine(f *goFile) (at token.Pos) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if stmt, ok := n.(*ast.GoStmt); ok {
			at = stmt.Pos()
		}
		return true
	})
	calls(f.ast, func(_, name string, pos token.Pos) {
		if name == "AfterFunc" || name == "Go" {
			at = pos
		}
	})
	return at
}

// lintGoroutines wants the page of a package that starts goroutines to say so;
// those of a kit end with their test.
func lintGoroutines(g *goTree, f *goFile) (out []string) {
	starts := startsGoroutine(f)
	if f.test || f.kit() || !starts.IsValid() {
		return nil
	}
	for _, other := range g.files {
		if other.dir == f.dir && path.Base(other.path) == "doc.go" && other.ast.Doc != nil &&
			strings.Contains(strings.ToLower(other.ast.Doc.Text()), "goroutine") {
			return nil
		}
	}
	return []string{g.at(f, starts) + ": starts a goroutine, but the package's doc.go names none: say who starts it and who waits for it"}
}

// lintPromotion keeps interrupt.Tripped the only place that turns a caller's
// end into a trip.
func lintPromotion(g *goTree, f *goFile) (out []string) {
	if f.test || f.dir == "interrupt" || f.kit() {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if pkg, name, ok := selector(e); ok && pkg == "interrupt" && name == "ParentCancelled" && !excuse("promotion "+f.path) {
			out = append(out, g.at(f, e.Pos())+": interrupt.ParentCancelled: only interrupt.Tripped promotes a caller's end (INT-34)")
		}
		return true
	})
	return out
}

func lintLeftovers(g *goTree, f *goFile) (out []string) {
	left := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	for _, group := range f.ast.Comments {
		if word := left.FindString(group.Text()); word != "" {
			out = append(out, fmt.Sprintf("%s: a comment says %s: do it or say in docs/limits.md that it is not done", g.at(f, group.Pos()), word))
		}
	}
	return out
}

// bubblesOf returns the functions that f hands to synctest.Test.
func bubblesOf(f *goFile) (out []ast.Node) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if pkg, name, ok := selector(call.Fun); ok && pkg == "synctest" && name == "Test" && len(call.Args) == 2 {
			out = append(out, call.Args[1])
		}
		return true
	})
	return out
}

// real lists the calls that leave a bubble: there a time-out never fires.
func realCall(pkg, name string) bool {
	switch pkg {
	case "exec":
		return name == "Command" || name == "CommandContext"
	case "net":
		return strings.HasPrefix(name, "Listen") || strings.HasPrefix(name, "Dial")
	case "httptest":
		return name == "NewServer" || name == "NewTLSServer" || name == "NewUnstartedServer"
	case "os":
		return slices.Contains([]string{"Create", "OpenFile", "WriteFile", "Mkdir", "MkdirAll", "StartProcess", "Pipe"}, name)
	case "proc":
		return name == "New" || name == "Open"
	case "pty":
		return true
	}
	return false
}

// lintBubbles follows each bubble into the functions of its package that it
// calls by name.
func lintBubbles(g *goTree) (out []string) {
	funcs := map[string]*ast.FuncDecl{} // dir and name
	for _, f := range g.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil {
				funcs[f.dir+" "+fn.Name.Name] = fn
			}
		}
	}
	for _, f := range g.files {
		todo := bubblesOf(f)
		seen := map[ast.Node]bool{}
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			if seen[n] {
				continue
			}
			seen[n] = true
			ast.Inspect(n, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if fn := funcs[f.dir+" "+id.Name]; fn != nil {
						todo = append(todo, fn.Body)
					}
				}
				return true
			})
			calls(n, func(pkg, name string, at token.Pos) {
				if realCall(pkg, name) && !excuse("bubble "+f.path) {
					out = append(out, fmt.Sprintf("%s: %s.%s is reached from a synctest bubble of %s: real processes, sockets and files are tested in real time (PRF-05)", g.fset.Position(at), pkg, name, f.path))
				}
			})
		}
	}
	return out
}

// TestNothingNamesTheWorkshop keeps paths and words of the machines that this
// was built on out of the tree.
func TestNothingNamesTheWorkshop(t *testing.T) {
	hints := []string{"wor" + "k/", "ro" + "ot/", ".libr" + "ary", "far" + "m", "/var/fold" + "ers/", `C:\Us` + `ers`} // what the words need; quicker to look for
	words := regexp.MustCompile(`(^|[^\w.])/(wor` + `k|ro` + `ot)/|\.libr` + `ary\b|\bfar` + `m\b|/var/fold` + `ers/|C:\\Users`)
	hinted := func(line string) bool {
		return slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(line, h) })
	}
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	names := strings.Fields(string(out))
	if len(names) < 10 {
		t.Fatalf("git lists %d files: nothing was checked", len(names))
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue // deleted, a folder, or not text
		}
		if !hinted(string(b)) {
			continue
		}
		for i, line := range strings.Split(string(b), "\n") {
			if !hinted(line) {
				continue
			}
			if word := words.FindString(line); word != "" {
				t.Errorf("%s:%d holds %q", name, i+1, word)
			}
		}
	}
	for _, planted := range []string{"cd /wor" + "k/main", "see /ro" + "ot/x", "the far" + "m"} {
		if !words.MatchString(planted) || !hinted(planted) {
			t.Errorf("the rule does not see %q", planted)
		}
	}
	if words.MatchString("https://example.org/framework/root/") {
		t.Error("the rule sees a path in an address")
	}
}

// TestLintSeesPlantedViolations shows that each rule can fail.
func TestLintSeesPlantedViolations(t *testing.T) {
	long := "func f() {\n" + strings.Repeat("\tg()\n", maxFunc) + "}\n"
	for _, c := range []struct {
		rule      string
		check     func(*goTree, *goFile) []string
		path, src string
	}{
		{"background", lintBackground, "turn/x.go", "func f() { _ = context.Background() }"},
		{"detach", lintDetach, "interrupt/other.go", "func f() { _ = context.WithoutCancel(ctx) }"},
		{"sleep", lintSleep, "turn/x_test.go", "func f() { time.Sleep(1) }"},
		{"process", lintProcess, "turn/x.go", "func f() { os.Exit(1) }"},
		{"size", lintSize, "turn/x.go", long},
		{"file", lintSize, "turn/x.go", strings.Repeat("\n", maxFile)},
		{"file of tests", lintSize, "turn/x_test.go", strings.Repeat("\n", maxTest)},
		{"global without value", lintGlobals, "turn/x.go", "var n int"},
		{"global that changes", lintGlobals, "turn/x.go", "var n = 1\nfunc f() { n++ }"},
		{"global map", lintGlobals, "turn/x.go", "var m = map[int]int{}"},
		{"goroutine", lintGoroutines, "turn/x.go", "func f() { go g() }"},
		{"promotion", lintPromotion, "turn/x.go", "func f() { c.Request(interrupt.Cause{Reason: interrupt.ParentCancelled}) }"},
		{"leftover", lintLeftovers, "turn/x.go", "// FIX" + "ME later\nfunc f() {}"},
		{"bubble", func(g *goTree, _ *goFile) []string { return lintBubbles(g) }, "turn/x_test.go",
			"func T() { synctest.Test(t, func(t *testing.T) { helper() }) }\nfunc helper() { exec.Command(\"true\") }"},
	} {
		g := &goTree{fset: token.NewFileSet()}
		src := "package x\n" + c.src + "\n"
		parsed, err := parser.ParseFile(g.fset, c.path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		f := &goFile{c.path, path.Dir(c.path), strings.HasSuffix(c.path, "_test.go"), []byte(src), parsed}
		g.files = []*goFile{f}
		if len(c.check(g, f)) == 0 {
			t.Errorf("the rule %q does not see its violation", c.rule)
		}
	}
}
