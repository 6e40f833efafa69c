package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// tree makes a workspace of small files.
func (d *desk) tree(files map[string]string) {
	d.t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(d.dir, filepath.Dir(name)), 0o755); err != nil {
			d.t.Fatal(err)
		}
		d.put(name, content)
	}
}

func (d *desk) gives(name string, args m, want string) {
	d.t.Helper()
	if got := d.ok(name, args); got != want {
		d.t.Errorf("%s %v gives\n%s\nwant\n%s", name, args, got, want)
	}
}

func grove(t *testing.T) *desk {
	d := newDesk(t)
	d.tree(map[string]string{
		".gitignore": "*.log\n/build/\n", "a.go": "package a\n\n// TODO one\nfunc A() {}\n", "b/b.go": "package b\n// todo two\n// TODO three\n",
		"b/x.log": "TODO in a log\n", "build/out.go": "TODO built\n", "b/.ignore": "hidden.txt\n", "b/hidden.txt": "TODO hidden\n",
		".git/config": "TODO git\n", "pic": "TODO\x00", "b/deep/c.txt": "last\r\nTODO\r\n",
	})
	return d
}

// proves TOL-20: grep gives lines with their place, and knows what to leave out.
func TestGrepFindsLinesAndLeavesOutWhatIsIgnored(t *testing.T) {
	d := grove(t)
	d.gives("grep", m{"pattern": "TODO"}, "a.go:3:// TODO one\nb/b.go:3:// TODO three\nb/deep/c.txt:2:TODO\n[1 binary file not searched]\n")
	d.gives("grep", m{"pattern": "todo", "ignore_case": true, "path": "b/b.go"}, "b/b.go:2:// todo two\nb/b.go:3:// TODO three\n")
	d.gives("grep", m{"pattern": "^// TODO", "glob": "*.go", "mode": "files"}, "a.go\nb/b.go\n")
	d.gives("grep", m{"pattern": "(?i)todo", "glob": "b/**", "mode": "count"}, "b/b.go: 2\nb/deep/c.txt: 1\n")
	d.gives("grep", m{"pattern": "one", "context": 1}, "a.go-2-\na.go:3:// TODO one\na.go-4-func A() {}\n[1 binary file not searched]\n")
	d.gives("grep", m{"pattern": "TODO", "path": "b", "all": true}, "b/b.go:3:// TODO three\nb/deep/c.txt:2:TODO\nb/hidden.txt:1:TODO hidden\nb/x.log:1:TODO in a log\n")
	d.gives("grep", m{"pattern": "TODO", "path": "build"}, "build/out.go:1:TODO built\n") // asked for by name
	d.gives("grep", m{"pattern": "TODO$"}, "b/deep/c.txt:2:TODO\n[1 binary file not searched]\n")
	d.gives("grep", m{"pattern": "nowhere", "glob": "*.go"}, "[no match in 2 files]\n")
	d.gives("grep", m{"pattern": "TODO", "limit": 1}, "a.go:3:// TODO one\n[there is more: 1 matching line found so far; make the pattern, the path or the glob narrower]\n")
	d.refused("grep", m{"pattern": "a("}, "not a regular expression of RE2")
	d.refused("grep", m{"pattern": ""}, "the pattern is empty")
	d.refused("grep", m{"pattern": "a", "path": "none"}, "none does not exist")
	d.refused("grep", m{"pattern": "a", "path": "pic/x"}, "pic/x")
	d.refused("grep", m{"pattern": "a", "glob": "[a"}, "is not valid")
}

// proves TOL-20: long lines, long files and many matches stay within bounds.
func TestGrepIsBounded(t *testing.T) {
	d := newDesk(t)
	d.put("wide", strings.Repeat("é", 200_000)+"needle\nnext needle\n")
	got := d.ok("grep", m{"pattern": "needle"})
	if !strings.HasSuffix(got, " bytes more]\nwide:2:next needle\n") || len(got) > 2000 {
		t.Errorf("%d bytes, %q", len(got), got[max(0, len(got)-100):])
	}
	d.put("many", strings.Repeat("x\n", 5000))
	if got = d.ok("grep", m{"pattern": "x", "path": "many", "limit": 2000, "context": 1}); strings.Count(got, "\n") != 2001 || !strings.Contains(got, "there is more") {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
	d.put("odd", "caf\xe9 x\n")
	d.gives("grep", m{"pattern": "caf", "path": "odd"}, "odd:1:caf\uFFFD x\n")
	d.put("line\nbreak", "zzz\n")
	d.gives("grep", m{"pattern": "zzz"}, "\"line\\nbreak\":1:zzz\n")
	huge := d.put("huge", "first needle\n")
	if err := os.Truncate(huge, 1<<40); err != nil { // a hole of NUL bytes
		t.Skip(err)
	}
	d.gives("grep", m{"pattern": "needle", "path": "huge"}, "[no match in 0 files]\n[1 binary file not searched]\n")
}

// proves TOL-20: glob finds by name, at every depth, in order.
func TestGlobFindsFilesByName(t *testing.T) {
	d := grove(t)
	d.gives("glob", m{"pattern": "*.go"}, "a.go\nb/b.go\n")
	d.gives("glob", m{"pattern": "./b/**/*.{txt,go}"}, "b/b.go\nb/deep/c.txt\n")
	d.gives("glob", m{"pattern": "**/*.txt", "path": "b", "all": true}, "b/deep/c.txt\nb/hidden.txt\n")
	d.gives("glob", m{"pattern": "c.txt", "path": "b/deep"}, "b/deep/c.txt\n")
	d.gives("glob", m{"pattern": "*.rs"}, "[no file matches *.rs]\n")
	d.gives("glob", m{"pattern": "*", "limit": 2}, ".gitignore\na.go\n[4 more match; make the pattern or the path narrower]\n")
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Time{"a.go": old, "b/b.go": old.Add(time.Hour)} {
		if err := os.Chtimes(filepath.Join(d.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d.gives("glob", m{"pattern": "*.go", "sort": "newest"}, "b/b.go\na.go\n")
	for pattern, want := range map[string]string{"": "is empty", "/etc/*": "from path down", "../*": "from path down", "[a": "not valid",
		strings.Repeat("{a,b}", 30): "too many alternatives", strings.Repeat("a", 1000): "1000 bytes"} {
		d.refused("glob", m{"pattern": pattern}, want)
	}
	d.refused("glob", m{"pattern": "*", "path": "a.go"}, "a.go")
	d.refused("glob", m{"pattern": "*", "path": "none"}, "none")
}

// proves TOL-20: ls says what each entry is.
func TestLsSaysWhatEachEntryIs(t *testing.T) {
	d := newDesk(t)
	d.tree(map[string]string{"b/c": "x", "a.txt": "12345", "z\x1b[31m": ""})
	if err := os.Symlink("b/c", filepath.Join(d.dir, "link")); err != nil {
		t.Fatal(err)
	}
	d.gives("ls", m{}, "file          5  a.txt\ndir           -  b/\nlink          -  link -> b/c\nfile          0  \"z\\x1b[31m\"\n")
	d.gives("ls", m{"path": "b"}, "file          1  c\n")
	d.gives("ls", m{"path": "b/c"}, "file          1  c\n")
	d.gives("ls", m{"limit": 1}, "file          5  a.txt\n[1 of 4 entries; give a limit, or look for files with glob]\n")
	if err := os.Mkdir(filepath.Join(d.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.gives("ls", m{"path": "empty"}, "[empty is empty]\n")
	d.refused("ls", m{"path": "none"}, "none does not exist")
}

// proves TOL-20: a search follows no link and waits for no pipe.
func TestASearchFollowsNoLink(t *testing.T) {
	d := newDesk(t)
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "secret.txt"), []byte("needle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.put("in.txt", "needle\n")
	for name, to := range map[string]string{"away": out, "round": ".", "file.txt": filepath.Join(out, "secret.txt"), ".gitignore": filepath.Join(out, "secret.txt")} {
		if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.gives("grep", m{"pattern": "needle"}, "in.txt:1:needle\n")
	d.gives("glob", m{"pattern": "*.txt"}, "file.txt\nin.txt\n")
	d.gives("grep", m{"pattern": "needle", "path": out}, filepath.Join(out, "secret.txt")+":1:needle\n") // approved, as it were
	for _, name := range []string{"grep", "glob", "ls"} {
		spec, _ := d.set.Spec(name)
		for path, outside := range map[string]bool{"": false, ".": false, "in.txt": false, "away": true, "..": true, "/": true, "\x00": true} {
			raw, _ := json.Marshal(m{"path": path, "pattern": "*"})
			call := &tool.Call{ID: "c_t", Name: name, Args: raw, Dir: d.dir}
			if prompt, ask := spec.Asking(call); ask != outside || outside != strings.Contains(prompt, "outside the workspace") {
				t.Errorf("%s %q asks %v: %s", name, path, ask, prompt)
			}
			touched, ok := spec.Touches(call)
			if want := path != "\x00"; ok != want || ok && !strings.HasPrefix(touched[0], "/") {
				t.Errorf("%s %q touches %v", name, path, touched)
			}
		}
	}
}

// proves TOL-20: what settings protect does not come out by a search.
func TestASearchShowsNothingThatIsHidden(t *testing.T) {
	d := grove(t)
	tools, err := tool.NewSet(builtin.Tools(builtin.Options{Hidden: func(path string) bool {
		return path == filepath.Join(d.dir, "b", "deep") || path == filepath.Join(d.dir, "a.go")
	}})...)
	if err != nil {
		t.Fatal(err)
	}
	d.set = tools
	const note = "[some of it is protected and is not shown here]\n"
	d.gives("grep", m{"pattern": "TODO", "glob": "*.{go,txt}"}, "b/b.go:3:// TODO three\n"+note)
	d.gives("grep", m{"pattern": "TODO", "path": "b"}, "b/b.go:3:// TODO three\n"+note)
	d.gives("glob", m{"pattern": "*.{go,txt}"}, "b/b.go\n"+note)
	d.gives("ls", m{"path": "b"}, "file         11  .ignore\nfile         36  b.go\nfile         12  hidden.txt\nfile         14  x.log\n"+note)
}

// counting trips its coordinator at the n-th look.
type counting struct {
	interrupt.Signal
	c     *interrupt.Coordinator
	left  int
	looks int
}

func (s *counting) look() {
	s.looks++
	if s.left--; s.left == 0 {
		_, _ = s.c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
	}
}
func (s *counting) Checkpoint() error { s.look(); return s.Signal.Checkpoint() }

// proves INT-02, TOL-07, TOL-20: a search looks at its signal between entries
// and blocks and gives what it had.
func TestASearchStopsBetweenBlocksWithWhatItHad(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "needle\n")
	d.put("b.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)+"needle\n")
	raw, _ := json.Marshal(m{"pattern": "needle"})
	tl, _ := d.set.Lookup("grep")
	for _, at := range []int{3, 10, 25} {
		c := interrupt.New(interrupt.Options{})
		sig := &counting{Signal: c.Signal(), c: c, left: at}
		e, _ := (&tool.Run{Tool: tl, Call: &tool.Call{ID: "c_1", Name: "grep", Args: raw, Dir: d.dir}, Signal: sig, Book: &tooltest.Book{}}).Do(t.Context())
		if e.Outcome != event.CallStopped || strings.Contains(e.Result.Content.Text(), "b.txt") || sig.looks > at+2 {
			t.Errorf("at %d: %s %q after %d looks", at, e.Outcome, e.Result.Content.Text(), sig.looks)
		}
		if had := strings.Contains(e.Result.Content.Text(), "a.txt:1:needle"); had != (at > 5) {
			t.Errorf("at %d: what it had: %q", at, e.Result.Content.Text())
		}
	}
}

// proves TOL-20: our reading of ignore files is git's.
func TestIgnoreFilesAreReadAsGitReadsThem(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git to compare with")
	}
	d := newDesk(t)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = d.dir
		own := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") }) // of a git that runs us
		cmd.Env = append(own, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("init", "-q", ".")
	var files []string
	for _, dir := range []string{"", "a/", "a/b/", "foo/", "a/foo/", "a/foo/b/", "{x}/"} {
		for _, f := range []string{"foo", "bar.txt", "foo.o", "#c", "!d", "x y", "abc", "a-c", "{x}"} {
			if f == "foo" && (dir == "" || dir == "a/") || f == "{x}" && dir == "" {
				continue
			}
			files = append(files, dir+f)
		}
	}
	tree := map[string]string{}
	for _, f := range files {
		tree[f] = "x"
	}
	d.tree(tree)
	for _, rules := range []string{
		"foo\n", "/foo\n", "foo/\n", "/foo/\n", "*.o\n!a/foo.o\n", "a/*\n!a/b/\n", "a/**\n", "**/foo\n", "a/**/b\n", "**/b/*.txt\n",
		"\\#c\n", "# c\n#c\n", "\\!d\n", "!d\n", "x y \n", "x\\ y\n", "a?c\n", "a[a-c]c\n", "a[!b]c\n", "*\n!*/\n!*.txt\n", "\uFEFFfoo.o\n", "bar.txt\r\nabc\r\n",
		"foo**\n", "a/foo/**/\n", "{x}\n", "{x}/\n", "[\nabc\n", "/\nabc\n", "*.{o,txt}\n", "\n\nabc", "a/foo\n!a/foo/bar.txt\n", "**\n!a/\n", "b/\n", "a/b/\n!/a/b/abc\n",
	} {
		d.put(".gitignore", rules)
		want := map[string]bool{}
		for line := range strings.SplitSeq(run("-c", "core.quotePath=false", "ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
			want[line] = line != ""
		}
		got := map[string]bool{}
		for line := range strings.SplitSeq(d.ok("glob", m{"pattern": "**", "limit": 5000}), "\n") {
			got[line] = true
		}
		for _, f := range files {
			if got[f] != want[f] {
				t.Errorf("rules %q: %s is found %v, git says %v", rules, f, got[f], want[f])
			}
		}
	}
}

// proves TOL-20: no ignore file and no pattern takes the search down.
func FuzzIgnore(f *testing.F) {
	f.Add("*.o\n!a/**/b\n/x/\n", "a/b/c.o", "**/*.{a,b}")
	f.Add("[[:alpha:]]\n\\\n{a,b\n***/**/**a\n", "a/b", "{,{,a}}**")
	f.Fuzz(func(t *testing.T, rules, rel, pattern string) {
		builtin.Ignored(rules, rel, false)
		builtin.Ignored(rules, rel, true)
		if err := builtin.CheckGlob(pattern); err != nil && tool.IsFatal(err) {
			t.Error(err)
		}
	})
}

// proves TOL-27: the list is what the last call says; a wrong one changes nothing.
func TestTheListOfThingsToDoIsTheLastCall(t *testing.T) {
	d := newDesk(t)
	item := func(text, state string) m { return m{"text": text, "state": state} }
	d.gives("todo", m{"items": []m{item("look", "done"), item("write", "in_progress"), item("te\x1bst", "pending")}},
		"1. [x] look\n2. [>] write\n3. [ ] te\\x1bst\n1 of 3 done\n")
	d.gives("todo", m{"items": []m{}}, "[the list is empty]\n")
	d.refused("todo", m{"items": []m{item("a", "in_progress"), item("b", "in_progress")}}, "at most one")
	d.refused("todo", m{"items": []m{item(" ", "done")}}, "no text")
	d.refused("todo", m{"items": []m{item("a", "later")}}, "one of")
	d.refused("todo", m{"items": []m{item(strings.Repeat("a", 501), "done")}}, "501 bytes")
	many := make([]m, 101)
	for i := range many {
		many[i] = item(fmt.Sprint("n", i), "pending")
	}
	d.refused("todo", m{"items": many}, "101 items")
	d.refused("todo", m{}, "missing")
	raw, _ := json.Marshal(m{"items": []m{item("look", "done")}})
	if got, err := builtin.Todos(raw); err != nil || len(got) != 1 || got[0] != (builtin.TodoItem{Text: "look", State: "done"}) {
		t.Errorf("%v %v", got, err)
	}
}

// atLook trips its coordinator when it is looked at for the nth time.
type atLook struct {
	interrupt.Signal
	trip func()
	n    int
}

func (a *atLook) Cancelled() bool {
	if a.n--; a.n == 0 {
		a.trip()
	}
	return a.Signal.Cancelled()
}

// proves TOL-07, TOL-20: a list that was stopped lacks an entry, and one that
// lacks none was not stopped, whenever the stop comes.
func TestAListThatIsWholeWasNotStopped(t *testing.T) {
	d := newDesk(t)
	d.tree(map[string]string{"a": "", "b": "", "c": ""})
	tl, ok := d.set.Lookup("ls")
	if !ok {
		t.Fatal("there is no ls")
	}
	stops, wholes := 0, 0
	for n, tripped := 1, true; tripped; n++ {
		c := interrupt.New(interrupt.Options{})
		tripped = false
		sig := &atLook{Signal: c.Signal(), n: n, trip: func() {
			tripped = true
			_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
		}}
		e, _ := (&tool.Run{Tool: tl, Call: &tool.Call{ID: "c_1", Name: "ls", Args: json.RawMessage(`{}`), Dir: d.dir}, Signal: sig, Book: &tooltest.Book{}}).Do(t.Context())
		whole := strings.Count(e.Result.Content.Text(), "file ") == 3
		switch {
		case e.Outcome == event.CallStopped && !whole:
			stops++
		case e.Outcome == event.CallFinished && whole:
			wholes++
		case e.Outcome != event.CallSkipped:
			t.Errorf("a stop at look %d: %s, %q", n, e.Outcome, e.Result.Content.Text())
		}
	}
	if stops == 0 || wholes < 2 {
		t.Errorf("%d lists were stopped, %d were whole", stops, wholes)
	}
}
