package ripcord_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// withoutExample lists the packages that need no runnable example: they are
// reached through another package, or are run, not imported.
var withoutExample = map[string]string{
	"crashtest": "a proof, not a library",
	"bench":     "a proof, not a library",
	"api":       "plain data and one interface; the root's example speaks it",
	"model":     "a contract; the root's example asks a driver",
}

// Each package has a page, in doc.go; each room has an example that runs.
func TestEveryPackageHasItsPage(t *testing.T) {
	pages, examples, dirs := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, f := range tree(t).files {
		if !f.test {
			dirs[f.dir] = true
			if f.ast.Doc != nil {
				if was, twice := pages[f.dir]; twice {
					t.Errorf("%s and %s both hold the comment of package %s: keep it in doc.go", was, f.path, f.dir)
				}
				pages[f.dir] = f.path
			}
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
				examples[f.dir] = true
			}
		}
	}
	for dir := range dirs {
		if path.Base(pages[dir]) != "doc.go" {
			t.Errorf("package %s has no comment in doc.go", dir)
		}
		if !examples[dir] && room(dir) && withoutExample[dir] == "" {
			t.Errorf("package %s has no runnable example: write example_test.go", dir)
		}
	}
	for dir := range withoutExample {
		if examples[dir] {
			t.Errorf("package %s has an example: take it from the list of exemptions", dir)
		}
	}
}

// room reports whether dir is a package that others import by its own name:
// the rooms themselves, not what lies below them.
func room(dir string) bool { return !strings.Contains(dir, "/") }

// Names that a reader knows from the standard library say what they do.
var selfExplaining = []string{"String", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "Type", "Read", "Write", "Close",
	"Init", "Update", "View", "ServeHTTP", "Format", "LogValue"}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	g := tree(t)
	contracts := map[string]bool{} // folder and method of an interface: its comment is there
	for _, f := range g.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, id := range m.Names {
						contracts[f.dir+" "+id.Name] = true
					}
				}
			}
			return true
		})
	}
	checked := 0
	for _, f := range g.files {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			for _, id := range undocumented(d) {
				if isFunc && fn.Recv != nil && contracts[f.dir+" "+id.Name] {
					continue
				}
				t.Errorf("%s: %s has no comment", g.at(f, id.Pos()), id.Name)
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("only %d declarations looked at", checked)
	}
}

func undocumented(d ast.Decl) (out []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && !exempt(d) {
			out = append(out, d.Name)
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		typed := false // a constant of the block names its type: the type's comment speaks for all
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					out = append(out, s.Name)
				}
			case *ast.ValueSpec:
				typed = typed || d.Tok == token.CONST && s.Type != nil
				for _, id := range s.Names {
					if id.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil && !typed {
						out = append(out, id)
					}
				}
			}
		}
	}
	return out
}

// exempt reports whether a method explains itself, or belongs to a type that
// nobody outside can name.
func exempt(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return false
	}
	if slices.Contains(selfExplaining, fn.Name.Name) {
		return true
	}
	id := root(fn.Recv.List[0].Type)
	return id != nil && !id.IsExported()
}

// ids says how many numbers each prefix of the requirements has. A name that
// is not in it is no requirement.
var ids = map[string]int{
	"ACP": 1, "API": 2, "BEN": 12, "CLI": 3, "CLU": 10, "GRD": 10, "HOK": 4, "IFC": 13, "INT": 76,
	"LIB": 1, "LOG": 16, "MOD": 5, "OBS": 1, "PRC": 8, "PRF": 10, "REC": 9, "RTN": 7, "RTY": 10, "TOL": 27,
	"TRN": 20, "TUI": 3, "WEB": 3,
}

// never lists numbers that were left out.
var never = []string{"LOG-09", "TOL-11", "TOL-12", "TOL-13", "TOL-14", "TOL-15", "TOL-16", "TOL-17", "TOL-18", "TOL-19"}

// cases lists the given cases, B001 and on.
var cases = []int{
	1, 2, 3, 5, 8, 9, 10, 13, 14, 15, 19, 21, 22, 23, 24, 27, 28, 31, 33, 34, 36, 37, 39, 40,
	43, 44, 47, 48, 49, 50, 54, 56, 57, 59, 61, 62, 65, 66, 68, 69, 70, 73, 75, 76, 77, 79, 80,
	82, 84, 85, 87, 90, 91, 92, 94, 95, 98, 100, 101, 103, 104, 106, 107, 111, 112, 114, 115,
	117, 118, 119, 122, 124, 126, 127, 128, 130, 133, 134, 136, 138, 140, 141, 143, 145, 146,
	148, 149, 150, 153, 155, 157, 158, 159, 161, 163, 164, 166, 168, 169,
}

func isID(s string) bool {
	if prefix, number, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.Atoi(number)
		return err == nil && n > 0 && n <= ids[prefix] && !slices.Contains(never, s)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "B"))
	return err == nil && slices.Contains(cases, n)
}

var idPattern = regexp.MustCompile(`\b([A-Z]{3}-\d{2}|B\d{3})\b`)

// TestCitationsNameRequirements keeps the citations of tests honest: each id
// exists.
func TestCitationsNameRequirements(t *testing.T) {
	g := tree(t)
	for _, f := range g.files {
		if !f.test {
			continue
		}
		for _, group := range f.ast.Comments {
			for line := range strings.Lines(group.Text()) {
				if !strings.Contains(line, "proves") {
					continue
				}
				for _, id := range idPattern.FindAllString(line, -1) {
					if !isID(id) {
						t.Errorf("%s cites %s, which is no requirement", g.at(f, group.Pos()), id)
					}
				}
			}
		}
	}
}

// TestGuaranteesPageIsTrue holds each line of docs/guarantees.md to the tree:
// its ids exist, its test exists in that package and its file cites one of
// them, and its seeded bug exists and names that test.
func TestGuaranteesPageIsTrue(t *testing.T) {
	lines := tableRows(t, "docs/guarantees.md", 4)
	if len(lines) < 10 {
		t.Errorf("docs/guarantees.md has %d lines: nothing was checked", len(lines))
	}
	cites := testFiles(t)
	for _, cells := range lines {
		named, test, bug := cells[0], strings.Trim(cells[2], "`"), strings.Trim(cells[3], "`")
		said, ok := cites[test]
		if !ok {
			t.Errorf("guarantee %s names test %s, which does not exist", named, test)
		}
		proved := false
		for id := range strings.FieldsSeq(strings.ReplaceAll(named, ",", " ")) {
			if !isID(id) {
				t.Errorf("guarantee %q: %s is no requirement", named, id)
			}
			proved = proved || strings.Contains(said, id)
		}
		if ok && !proved {
			t.Errorf("guarantee %s: the file of %s proves none of these ids", named, test)
		}
		if bug == "—" {
			continue
		}
		b, err := os.ReadFile("internal/mutate/bugs/" + bug + ".txt")
		if err != nil {
			t.Errorf("guarantee %s: seeded bug %s: %v", named, bug, err)
		} else if name := test[strings.LastIndexByte(test, '.')+1:]; !strings.Contains(string(b), name) {
			t.Errorf("guarantee %s: seeded bug %s does not name %s", named, bug, name)
		}
	}
}

// testFiles maps each test, as package.Test, to the comments of its file.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	isTest := regexp.MustCompile(`^(Test|Fuzz|Example)`)
	cites := map[string]string{}
	for _, f := range tree(t).files {
		if !f.test {
			continue
		}
		var said strings.Builder
		for _, c := range f.ast.Comments {
			said.WriteString(c.Text())
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isTest.MatchString(fn.Name.Name) {
				cites[f.dir+"."+fn.Name.Name] = said.String()
			}
		}
	}
	return cites
}

var quoted = regexp.MustCompile("`([^`]+)`")

// suiteCase reports whether a suite has a case of that name.
func suiteCase(t *testing.T, name string) bool {
	t.Helper()
	return slices.ContainsFunc(tree(t).files, func(f *goFile) bool {
		return f.kit() && bytes.Contains(f.src, []byte(strconv.Quote(name)))
	})
}

// TestPitfallsArePlaced holds the table of docs/limits.md to its own words: all
// 72 in order, each with a state that exists, each proof a test that exists.
//
// proves PRF-10
func TestPitfallsArePlaced(t *testing.T) {
	tests, open := testFiles(t), 0
	rows := tableRows(t, "docs/limits.md", 4)
	for i, cells := range rows {
		if cells[0] != strconv.Itoa(i+1) {
			t.Errorf("row %d is numbered %s", i+1, cells[0])
		}
		switch cells[2] {
		case "proved":
			named := quoted.FindAllStringSubmatch(cells[3], -1)
			for _, m := range named {
				if _, ok := tests[m[1]]; !ok {
					t.Errorf("pitfall %s: no test %s", cells[0], m[1])
				}
			}
			_, sub, hasCase := strings.Cut(cells[3], "`: ")
			if len(named) == 0 || hasCase && !suiteCase(t, sub) {
				t.Errorf("pitfall %s: no test, or no case %q of a suite", cells[0], sub)
			}
		case "open":
			open++
		case "limit", "not used", "later":
		default:
			t.Errorf("pitfall %s: no state is called %q", cells[0], cells[2])
		}
	}
	if len(rows) != 72 {
		t.Errorf("%d pitfalls, want 72", len(rows))
	}
	t.Logf("%d pitfalls are open", open)
}

// tableRows returns the body rows of the Markdown tables of a page, each with
// want cells.
func tableRows(t *testing.T, page string, want int) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	body := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| --"):
			body = true
		case body:
			var cells []string
			for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(c))
			}
			if len(cells) != want {
				t.Errorf("%s: %d cells, want %d: %s", page, len(cells), want, line)
				continue
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestReadmeAndCIRunTheSameTests keeps the first command that a newcomer
// types the first one that the machine runs.
func TestReadmeAndCIRunTheSameTests(t *testing.T) {
	const command = "go test ./..."
	for file, want := range map[string]string{
		"README.md": command,
		"Makefile":  command,
		".ci/run":   "readme_command='" + command + "'",
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(b), want) {
			t.Errorf("%s does not hold %q", file, want)
		}
	}
}

// TestThreadsPageNamesEveryPackageThatStartsAGoroutine keeps docs/threads.md
// complete; that each line is true is for the reader of the code to see.
//
// proves TRN-04
func TestThreadsPageNamesEveryPackageThatStartsAGoroutine(t *testing.T) {
	named := map[string]bool{}
	for _, cells := range tableRows(t, "docs/threads.md", 5) {
		dir, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "`"), "`")
		named[dir] = true
	}
	for _, f := range tree(t).files {
		if !f.test && !f.kit() && startsGoroutine(f).IsValid() && !named[f.dir] {
			t.Errorf("package %s starts a goroutine (%s), but docs/threads.md has no line for it", f.dir, f.path)
		}
	}
}
