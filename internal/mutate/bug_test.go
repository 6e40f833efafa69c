package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// Cheap enough for every run of the tests: each bug still has its place and
// its test. That the test goes red is shown by running the command.
//
// proves PRF-09
func TestEverySeededBugHasItsPlaceAndItsTest(t *testing.T) {
	bugs, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{} // by folder
	for _, b := range bugs {
		src, err := b.apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if filepath.Ext(b.file) == ".go" {
			if _, err := parser.ParseFile(token.NewFileSet(), b.file, src, parser.SkipObjectResolution); err != nil {
				t.Errorf("bug %s is no Go: %v", b.id, err)
			}
		}
		for _, target := range b.tests {
			if tests[target.pkg] == nil {
				tests[target.pkg] = testsOf(t, filepath.Join(root, target.pkg))
			}
			top, _, _ := strings.Cut(target.pattern, "/")
			if !slices.ContainsFunc(tests[target.pkg], regexp.MustCompile(top).MatchString) {
				t.Errorf("bug %s: %s has no test that matches %s", b.id, target.pkg, target.pattern)
			}
		}
	}
}

// testsOf lists the tests of a folder.
func testsOf(t *testing.T, dir string) (tests []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	return tests
}

// A module of two files, so that the command itself is held to its word: it
// must not believe a bug that nobody sees, that does not compile, that has
// lost its place, or whose test is red anyway.
//
// proves PRF-09
func TestTheCommandBelievesOnlyWhatItSaw(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/sum\n\ngo 1.26\n")
	write("sum.go", "package sum\n\nfunc Sum(a, b int) int { return a + b }\n\nfunc Unseen() int { return 1 }\n")
	write("sum_test.go", `package sum
import ("os"; "testing")
func TestSum(t *testing.T) { if Sum(2, 3) != 5 { t.Error("wrong") } }
func TestPanics(t *testing.T) { if Sum(2, 3) != 5 { panic("wrong") } }
func TestRed(t *testing.T) { if os.Getenv("HOME") != "no such" { t.Error("always") } }
`)
	bug := func(id, test, find, replace string) {
		write("internal/mutate/bugs/"+id+".txt", "file: sum.go\ntest: . "+test+"\nwhy: x\n--- find\n"+find+"\n--- replace\n"+replace+"\n")
	}
	bug("good", "TestSum", "a + b", "a - b")
	bug("good-panic", "TestPanics", "a + b", "a - b")
	bug("bad-unseen", "TestSum", "return 1", "return 2")
	bug("bad-compile", "TestSum", "a + b", "a + c")
	bug("bad-place", "TestSum", "a * b", "a - b")
	bug("bad-twice", "TestSum", "return", "panic(1); return")
	bug("bad-red", "TestRed", "a + b", "a - b")
	bug("bad-name", "TestNone", "a + b", "a - b")
	t.Chdir(dir)

	var out bytes.Buffer
	err := run(context.Background(), &out, false, "", 0)
	if err == nil || !strings.Contains(err.Error(), "6 of 8") {
		t.Errorf("run = %v", err)
	}
	for line, want := range map[string]string{
		"good ": "red: TestSum", "good-panic": "red: TestPanics", "bad-unseen": "stays green", "bad-compile": "does not compile",
		"bad-place": "stands 0 times", "bad-twice": "stands 2 times", "bad-red": "fails without the bug", "bad-name": "has no test",
	} {
		_, rest, _ := strings.Cut(out.String(), line)
		if first, _, _ := strings.Cut(rest, "\n"); !strings.Contains(first, want) {
			t.Errorf("%s: %q, want %q", line, first, want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	out.Reset()
	if err := run(context.Background(), &out, false, "good,good-panic", 0); err != nil {
		t.Errorf("the good ones: %v\n%s", err, &out)
	}
	out.Reset()
	if err := run(context.Background(), &out, true, "", 3); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("-list -n 3: %v\n%s", err, &out)
	}
	if err := run(context.Background(), &out, false, "nosuch", 0); err == nil {
		t.Error("an unknown id is no error")
	}
}

func TestABugFileIsReadStrictly(t *testing.T) {
	const good = "file: a.go\ntest: ./a TestA\nwhy: x\n--- find\na\n\tb\n--- replace\nc\n"
	b, err := parseBug("an-id", good)
	if err != nil || b.find != "a\n\tb" || b.replace != "c" || b.tests[0] != (target{"./a", "TestA"}) {
		t.Errorf("parseBug = %+v, %v", b, err)
	}
	for name, text := range map[string]string{
		"no find":       strings.Replace(good, "--- find", "", 1),
		"no replace":    strings.Replace(good, "--- replace", "", 1),
		"no file":       strings.Replace(good, "file: a.go\n", "", 1),
		"no reason":     strings.Replace(good, "why: x\n", "", 1),
		"no test":       strings.Replace(good, "test: ./a TestA\n", "", 1),
		"no pattern":    strings.Replace(good, "./a TestA", "./a", 1),
		"bad pattern":   strings.Replace(good, "TestA", "Test(", 1),
		"other field":   "colour: red\n" + good,
		"same":          strings.Replace(good, "\nc\n", "\na\n\tb\n", 1),
		"nothing found": strings.Replace(good, "a\n\tb\n", "", 1),
	} {
		if _, err := parseBug("an-id", text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := parseBug("Bad ID", good); err == nil {
		t.Error("a bad id is no error")
	}
}
