package builtin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

func patchOf(lines ...string) m {
	return m{"patch": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"}
}

func (d *desk) missing(name string) {
	d.t.Helper()
	if _, err := os.Lstat(filepath.Join(d.dir, name)); !errors.Is(err, os.ErrNotExist) {
		d.t.Errorf("%s is there (%v)", name, err)
	}
}

// proves TOL-20: one patch adds, edits, moves and deletes, and says so.
func TestAPatchChangesSeveralFilesInOneGo(t *testing.T) {
	d := newDesk(t)
	d.put("a.go", "package a\n\nfunc one() int {\n\treturn 1\n}\n\nfunc two() int {\n\treturn 1\n}\n")
	d.put("old.txt", "one\ntwo\n")
	d.put("gone.txt", "bye\n")
	d.ok("read", m{"path": "gone.txt"})
	e := d.do("apply_patch", patchOf(
		"*** Add File: sub/dir/new.txt", "+hello", "+", "+world",
		"*** Update File: a.go", "@@ func two() int {", "-\treturn 1", "+\treturn 2", " }",
		"*** Update File: old.txt", "*** Move to: moved/new.txt", "@@", " one", "-two", "+TWO",
		"*** Delete File: gone.txt"))
	if !e.Result.Success {
		t.Fatal(e.Err)
	}
	d.holds("sub/dir/new.txt", "hello\n\nworld\n")
	d.holds("a.go", "package a\n\nfunc one() int {\n\treturn 1\n}\n\nfunc two() int {\n\treturn 2\n}\n")
	d.holds("moved/new.txt", "one\nTWO\n")
	d.missing("old.txt")
	d.missing("gone.txt")
	want := "patched 4 files:\nadded sub/dir/new.txt (3 lines)\nedited a.go (-1 +1)\nmoved old.txt → moved/new.txt (-1 +1)\ndeleted gone.txt"
	if got := e.Result.Content.Text(); got != want {
		t.Errorf("%q", got)
	}
	for _, part := range []string{"+++ b/sub/dir/new.txt", "-\treturn 1\n+\treturn 2", "--- a/old.txt\n+++ b/moved/new.txt", "-bye"} {
		if !strings.Contains(e.Result.Diff, part) {
			t.Errorf("the diff lacks %q:\n%s", part, e.Result.Diff)
		}
	}
	d.ok("write", m{"path": "a.go", "content": "x"}) // what was patched is known
}

// proves TOL-03, TOL-20: one section that does not fit leaves every file.
func TestNothingIsWrittenWhenOneSectionDoesNotFit(t *testing.T) {
	good := []string{"*** Update File: good", "@@", "-one", "+ONE", "*** Add File: fresh/file", "+x"}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"context":      {[]string{"*** Update File: bad", "@@", " alpha", "-beta", "+BETA", "@@", "-nowhere", "+x"}, `hunk 2 of bad (line 13 of the patch): its old lines, from "nowhere" on, do not stand below line 2 of the file`},
		"white space":  {[]string{"*** Update File: bad", "@@", "-  gamma", "+x"}, "at line 3 something differs from them in white space only"},
		"order":        {[]string{"*** Update File: bad", "@@", "-gamma", "+x", "@@", "-alpha", "+y"}, "but above, at line 1"},
		"twice":        {[]string{"*** Update File: bad", "@@", "-same", "+x"}, "stand 2 times, at lines 4, 6: give more"},
		"head":         {[]string{"*** Update File: bad", "@@ func none", "-same", "+x"}, `the line "func none" after @@ does not stand in the file`},
		"end":          {[]string{"*** Update File: bad", "@@", "-alpha", "+x", "*** End of File"}, "at the end of the file (but at line 1)"},
		"adds nowhere": {[]string{"*** Update File: bad", "@@", "+x"}, "does not say where"},
		"no file":      {[]string{"*** Update File: none", "@@", "-a", "+b"}, "none does not exist"},
		"exists":       {[]string{"*** Add File: bad", "+x"}, "bad exists already"},
		"move onto":    {[]string{"*** Update File: bad", "*** Move to: other"}, "other exists already"},
		"unread":       {[]string{"*** Delete File: bad"}, "you have not read it"},
		"named twice":  {[]string{"*** Update File: ./good", "@@", "-one", "+x"}, "good is named twice"},
		"folder":       {[]string{"*** Update File: .", "@@", "-one", "+x"}, "is a folder"},
		"binary":       {[]string{"*** Update File: bin", "@@", "-a", "+b"}, "bin is binary"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.put("good", "one\n")
			d.put("bad", "alpha\nbeta\ngamma\nsame\nx\nsame\n")
			d.put("other", "o")
			d.put("bin", "a\x00b\n")
			d.refused("apply_patch", patchOf(append(good, c.lines...)...), c.want)
			d.holds("good", "one\n")
			d.holds("bad", "alpha\nbeta\ngamma\nsame\nx\nsame\n")
			d.missing("fresh")
		})
	}
}

// proves TOL-20: what is no patch is refused with the line.
func TestAPatchThatIsNoneIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "does not begin with",
		"hello":                             "does not begin with",
		"*** Begin Patch":                   "ends without",
		"*** Begin Patch\n*** End Patch":    "names no file",
		"*** Begin Patch\nx\n*** End Patch": `line 2 of the patch, "x": a section begins with`,
		"*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch":                    `line 4 of the patch, "y": each line of a new file`,
		"*** Begin Patch\n*** Add File:  \n+x\n*** End Patch":                       "line 2",
		"*** Begin Patch\n*** Update File: a\n*** End Patch":                        "no hunk and no move",
		"*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch":                "this hunk changes nothing",
		"*** Begin Patch\n*** Update File: a\n@@\n-x\nzz\n*** End Patch":            `line 5 of the patch, "zz": a line of a hunk`,
		"*** Begin Patch\n*** Update File: a\n@@\n-x\n":                             "a part of it may be missing",
		"*** Begin Patch\n*** Delete File: a\n*** End Patch\nrm -rf":                "behind the end",
		"*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch":                    "a section begins with",
		"*** Begin Patch\n*** Rename File: a\n*** End Patch":                        "a section begins with",
		"*** Begin Patch\n*** Update File: a\n*** Move to: \n@@\n-a\n*** End Patch": "line 3",
	} {
		if n, err := builtin.ParsePatch(text); err == nil || !strings.Contains(err.Error(), want) || tool.IsFatal(err) {
			t.Errorf("%q: %d sections, %v, want %q", text, n, err, want)
		}
	}
	for _, text := range []string{
		"<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n",
		"\n *** Begin Patch\r\n*** Delete File: a\r\n*** End Patch \r\n"[2:],
	} {
		if n, err := builtin.ParsePatch(text); err != nil || n != 1 {
			t.Errorf("%q: %d %v", text, n, err)
		}
	}
}

// proves TOL-20: bytes that the patch does not name stay what they are.
func TestAPatchKeepsWhatItDoesNotName(t *testing.T) {
	update := func(lines ...string) string {
		return "*** Begin Patch\n*** Update File: f\n" + strings.Join(lines, "\n") + "\n*** End Patch"
	}
	for name, c := range map[string]struct{ before, patch, after string }{
		"line endings":       {"a\r\nb\r\nc\r\n", update("@@", " a", "-b", "+B", "+BB"), "a\r\nB\r\nBB\r\nc\r\n"},
		"mark":               {"\uFEFFa\nb\n", update("@@", "-a", "+A"), "\uFEFFA\nb\n"},
		"no last newline":    {"a\nb", update("@@", " a", "-b", "+B"), "a\nB"},
		"added at the end":   {"a\nb", update("@@", " b", "+c"), "a\nb\nc"},
		"not UTF-8":          {"caf\xe9\na\n\xff\n", update("@@", "-a", "+A"), "caf\xe9\nA\n\xff\n"},
		"white space at end": {"a  \nb\t\nc\n", update("@@", " a", "-b", "+B"), "a  \nB\nc\n"},
		"lost space":         {"a\n\nb\n", update("@@", " a", "", "-b", "+B"), "a\n\nB\n"},
		"below a head":       {"f()\nx\ng()\nx\n", update("@@ g()", "-x", "+y"), "f()\nx\ng()\ny\n"},
		"inserted":           {"f()\ng()\n", update("@@ f()", "+x"), "f()\nx\ng()\n"},
		"into nothing":       {"", update("+x"), "x\n"},
		"the whole end":      {"x\ny\nx\n", update("@@", "-x", "*** End of File"), "x\ny\n"},
		"numbers in a head":  {"a\nb\n", update("@@ -1,2 +1,2 @@", "-a", "+A", " b"), "A\nb\n"},
		"mixed endings":      {"a\r\nb\nc\r\nd\r\n", update("@@", "-c", "+C"), "a\r\nb\nC\r\nd\r\n"},
	} {
		got, err := builtin.ApplyPatch([]byte(c.before), c.patch)
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.after)
		}
	}
}

// proves TOL-20, B028 for a tool: what a write error or a closed fence left in
// between is told file by file.
func TestAPatchThatIsCutInBetweenTellsWhatIsChanged(t *testing.T) {
	tl, _ := newDesk(t).set.Lookup("apply_patch")
	for open, want := range map[int]string{ // one folder is made, then a put for each file
		2: "changed: a; not changed: b, c",
		3: "changed: a, b; not changed: c",
		1: "no file was changed",
		0: "turn 3 is closed",
	} {
		d := newDesk(t)
		for _, f := range []string{"a", "b"} {
			d.put(f, "old\n")
		}
		raw, _ := json.Marshal(patchOf("*** Update File: a", "@@", "-old", "+new", "*** Update File: b", "@@", "-old", "+new", "*** Update File: c", "@@", "-old", "+new"))
		d.put("c", "old\n")
		asked, stages := 0, 3 // a folder's handle is taken behind the fence too
		r := &tool.Run{Tool: tl, Call: &tool.Call{ID: "c_1", Name: "apply_patch", Args: raw, Dir: d.dir}, Book: &tooltest.Book{}, Fence: func() error {
			if asked++; asked > stages+open-1 {
				return errors.New("turn 3 is closed")
			}
			return nil
		}}
		e, _ := r.Do(t.Context())
		if e.Result.Success || !strings.Contains(e.Err, want) || !strings.Contains(e.Err, "turn 3 is closed") {
			t.Errorf("open %d: %s", open, e.Err)
		}
		if n := strings.Count(e.Result.Diff, "+new"); n != max(0, open-1) {
			t.Errorf("open %d: the diff shows %d changes", open, n)
		}
		for i, f := range []string{"a", "b", "c"} {
			d.holds(f, map[bool]string{true: "new\n", false: "old\n"}[i < open-1])
		}
	}
}

// proves INT-02, TOL-07, TOL-20: a stop before the first write leaves nothing;
// one after it lets the patch finish.
func TestAStopOfAPatchIsCleanOrTooLate(t *testing.T) {
	tl, _ := newDesk(t).set.Lookup("apply_patch")
	for _, when := range []string{"before", "after"} {
		d := newDesk(t)
		d.put("a", "old\n")
		d.put("b", "old\n")
		raw, _ := json.Marshal(patchOf("*** Update File: a", "@@", "-old", "+new", "*** Update File: b", "@@", "-old", "+new", "*** Add File: n/c", "+x"))
		c := interrupt.New(interrupt.Options{})
		asked := 0
		r := &tool.Run{Tool: tl, Call: &tool.Call{ID: "c_1", Name: "apply_patch", Args: raw, Dir: d.dir}, Signal: c.Signal(), Book: &tooltest.Book{}, Fence: func() error {
			asked++
			if when == "before" && asked == 2 || when == "after" && asked == 4 { // three are staged, then put
				_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
			}
			return nil
		}}
		e, _ := r.Do(t.Context())
		if when == "before" {
			if e.Outcome != event.CallStopped || e.Result.Success || !strings.Contains(e.Result.Content.Text(), "no file was changed") {
				t.Errorf("%s: %s %s", when, e.Outcome, e.Result.Content.Text())
			}
			d.holds("a", "old\n")
			d.holds("b", "old\n")
			d.missing("n")
			continue
		}
		if e.Outcome != event.CallFinished || !e.Result.Success {
			t.Errorf("%s: %s %s", when, e.Outcome, e.Err)
		}
		d.holds("a", "new\n")
		d.holds("b", "new\n")
		d.holds("n/c", "x\n")
	}
}

// proves TOL-20: a file that changed since the model read it stays.
func TestAPatchRefusesAFileThatChangedSinceItWasRead(t *testing.T) {
	d := newDesk(t)
	d.put("f", "one\ntwo\n")
	d.ok("read", m{"path": "f"})
	d.put("f", "one\nTWO\n")
	d.refused("apply_patch", patchOf("*** Update File: f", "@@", "-one", "+x"), "changed by somebody else")
	d.refused("apply_patch", patchOf("*** Delete File: f"), "changed by somebody else")
	d.holds("f", "one\nTWO\n")
	again, err := tool.NewSet(builtin.Tools(builtin.Options{})...) // as after a restart
	if err != nil {
		t.Fatal(err)
	}
	d.set = again
	d.refused("apply_patch", patchOf("*** Delete File: f"), "what was read before a restart is not remembered")
	d.refused("write", m{"path": "f", "content": "x"}, "what was read before a restart is not remembered")
	d.ok("read", m{"path": "f"})
	d.ok("apply_patch", patchOf("*** Delete File: f"))
	d.missing("f")
	d.ok("write", m{"path": "f", "content": "new\n"})
}

// proves TOL-20: every file that a patch names is judged, where it leads.
func TestEveryFileOfAPatchIsJudged(t *testing.T) {
	d := newDesk(t)
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(d.dir, "away")); err != nil {
		t.Fatal(err)
	}
	d.put("in", "x\n")
	spec, _ := d.set.Spec("apply_patch")
	rules := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{{Name: "edits", Tool: "apply_patch", Path: "."}, {Name: "keep", Tool: "*", Path: "secret", Deny: true}}}
	for name, c := range map[string]struct {
		args m
		by   string
	}{
		"inside":  {patchOf("*** Add File: a", "+x", "*** Update File: in", "@@", "-x", "+y"), "rule:edits"},
		"link":    {patchOf("*** Add File: a", "+x", "*** Add File: away/b", "+x"), "policy:headless"},
		"move":    {patchOf("*** Update File: in", "*** Move to: ../b"), "policy:headless"},
		"denied":  {patchOf("*** Add File: a", "+x", "*** Add File: secret/b", "+x"), "rule:keep"},
		"garbage": {m{"patch": "rm"}, "rule:keep"},
	} {
		raw, _ := json.Marshal(c.args)
		v, err := rules.Judge(t.Context(), &tool.Call{ID: event.CallID("c_" + name), Name: "apply_patch", Args: raw, Dir: d.dir}, spec)
		if err != nil || v.By != c.by {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
	raw, _ := json.Marshal(patchOf("*** Add File: away/b", "+x", "*** Update File: in", "@@", "-x", "+y"))
	prompt, ask := spec.Asking(&tool.Call{Name: "apply_patch", Args: raw, Dir: d.dir})
	if want := "patch: add " + out + "/b (-0 +1), edit in (-1 +1) (outside the workspace: " + out + "/b)"; !ask || prompt != want {
		t.Errorf("%v %q", ask, prompt)
	}
}

// proves TOL-20: a link that is put in the way after the look leads nowhere.
func TestAFolderSwappedForALinkDoesNotLeadAPatchOut(t *testing.T) {
	d := newDesk(t)
	out := t.TempDir()
	sub := filepath.Join(d.dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tl := range []struct {
		name string
		args m
	}{{"apply_patch", patchOf("*** Add File: sub/f", "+x")}, {"write", m{"path": "sub/f", "content": "x"}}} {
		raw, _ := json.Marshal(tl.args)
		impl, _ := d.set.Lookup(tl.name)
		swapped := false
		r := &tool.Run{Tool: impl, Call: &tool.Call{ID: "c_s", Name: tl.name, Args: raw, Dir: d.dir}, Book: &tooltest.Book{}, Fence: func() error {
			if !swapped { // after the path was resolved, before the folder is opened
				swapped = true
				return errors.Join(os.Rename(sub, sub+".was"), os.Symlink(out, sub))
			}
			return nil
		}}
		if e, _ := r.Do(t.Context()); e.Result.Success {
			t.Errorf("%s went through the link", tl.name)
		}
		if left, err := os.ReadDir(out); err != nil || len(left) != 0 {
			t.Errorf("%s left %v outside", tl.name, left)
		}
		if err := errors.Join(os.Remove(sub), os.Rename(sub+".was", sub)); err != nil {
			t.Fatal(err)
		}
	}
}

// proves TOL-20: a folder that takes nothing leaves all files and one sentence.
func TestAPatchIntoAReadOnlyFolderChangesNothing(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is read-only for this user")
	}
	d := newDesk(t)
	d.put("a", "old\n")
	shut := filepath.Join(d.dir, "shut")
	if err := os.Mkdir(shut, 0o555); err != nil {
		t.Fatal(err)
	}
	d.refused("apply_patch", patchOf("*** Update File: a", "@@", "-old", "+new", "*** Add File: shut/b", "+x"), "nothing was changed")
	d.holds("a", "old\n")
}

// proves TOL-20: the same, where even root is refused: no file can be made
// below a folder of /proc.
func TestAPatchThatCantBeStagedChangesNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("there is no /proc")
	}
	d := newDesk(t)
	d.put("a", "old\n")
	d.refused("apply_patch", patchOf("*** Update File: a", "@@", "-old", "+new", "*** Add File: /proc/self/b", "+x"), "nothing was changed")
	d.holds("a", "old\n")
	d.refused("apply_patch", patchOf("*** Update File: a", "@@", "-old", "+new", "*** Add File: a/b", "+x"), "a/b")
	d.holds("a", "old\n")
}

// proves TOL-20: files of lines that are all alike are not looked at for ever.
func TestAPatchOfManyLikeLinesIsBounded(t *testing.T) {
	content := bytes.Repeat([]byte("a\n"), 1<<20)
	patch := "*** Begin Patch\n*** Update File: f\n@@\n" + strings.Repeat(" a\n", 1<<17) + "-b\n*** End Patch"
	if _, err := builtin.ApplyPatch(content, patch); err == nil || !strings.Contains(err.Error(), "alike") {
		t.Errorf("%.200v", err)
	}
	// Each @@ line is in the next line of the file, after all the others were
	// looked at for one that is exactly so.
	heads := "*** Begin Patch\n*** Update File: f\n" + strings.Repeat("@@ a\n", 2_000) + "-ab\n*** End Patch"
	if work, err := builtin.PatchWork(bytes.Repeat([]byte("ab\n"), 20_000), heads); work > builtin.MostWork || err == nil || !strings.Contains(err.Error(), "alike") {
		t.Errorf("%.200v after %d", err, work)
	}
	many := "*** Begin Patch\n*** Update File: f\n@@\n" + strings.Repeat("\n", 1<<20) + "-b\n*** End Patch"
	if _, err := builtin.ParsePatch(many); err != nil {
		t.Error(err)
	}
	var files []string
	for n := range 101 {
		files = append(files, fmt.Sprintf("*** Delete File: f%d", n))
	}
	if _, err := builtin.ParsePatch(patchOf(files...)["patch"].(string)); err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Error(err)
	}
}

// proves TOL-20: taking a file apart and putting it together loses nothing.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), "*** Begin Patch\n*** Update File: f\n@@ a\n-b\n+c\n*** End of File\n*** End Patch")
	f.Add([]byte("\uFEFFx"), "<<EOF\n*** Begin Patch\n*** Add File: f\n+x\n*** Delete File: g\n*** End Patch\nEOF")
	f.Add([]byte("\n\n"), "*** Begin Patch\r\n*** Update File: f\r\n*** Move to: g\r\n\r\n+\r\n*** End Patch")
	f.Fuzz(func(t *testing.T, content []byte, patch string) {
		if got := builtin.SameBody(content); !bytes.Equal(got, content) {
			t.Errorf("%q became %q", content, got)
		}
		if _, err := builtin.ApplyPatch(content, patch); err != nil && tool.IsFatal(err) {
			t.Error(err)
		}
	})
}
