package builtin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/builtin"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// desk is a workspace and one set of tools for it.
type desk struct {
	t   *testing.T
	dir string
	set *tool.Set
	n   int

	session event.SessionID
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	set, err := tool.NewSet(builtin.Tools(builtin.Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, dir: dir, set: set}
}

// do runs one call and returns its end.
func (d *desk) do(name string, args map[string]any) tool.Ended {
	d.t.Helper()
	d.n++
	raw, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	tl, ok := d.set.Lookup(name)
	if !ok {
		d.t.Fatalf("there is no %s", name)
	}
	e, _ := (&tool.Run{Tool: tl, Call: &tool.Call{ID: event.CallID(fmt.Sprint("c_", d.n)), Name: name, Args: raw, Dir: d.dir, Session: d.session}, Book: &tooltest.Book{}}).Do(d.t.Context())
	if e.Outcome != event.CallFinished && e.Outcome != event.CallInvalid {
		d.t.Errorf("%s %s: %s %s", name, raw, e.Outcome, e.Err)
	}
	return e
}

func (d *desk) ok(name string, args map[string]any) string {
	d.t.Helper()
	e := d.do(name, args)
	if !e.Result.Success {
		d.t.Errorf("%s: %s", name, e.Err)
	}
	return e.Result.Content.Text()
}

func (d *desk) refused(name string, args map[string]any, want string) {
	d.t.Helper()
	if e := d.do(name, args); e.Result.Success || !strings.Contains(e.Err, want) {
		d.t.Errorf("%s %v: success %v, %q, want %q", name, args, e.Result.Success, e.Err, want)
	}
}

func (d *desk) put(name, content string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) holds(name, want string) {
	d.t.Helper()
	if got, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || string(got) != want {
		d.t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
	for _, f := range d.list(filepath.Dir(name)) {
		if strings.Contains(f, ".ripcord-") {
			d.t.Errorf("%s was left behind", f)
		}
	}
}

func (d *desk) list(dir string) (names []string) {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.dir, dir))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

type m = map[string]any

// proves TOL-20: ranges, numbers, long lines, what is not shown.
func TestReadGivesNumberedRangesAndSaysWhatIsLeft(t *testing.T) {
	d := newDesk(t)
	d.put("f", "one\ntwo\n\nfour")
	if got := d.ok("read", m{"path": "f"}); got != "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n" {
		t.Errorf("%q", got)
	}
	if got := d.ok("read", m{"path": "f", "offset": 2, "limit": 2}); got != "     2\ttwo\n     3\t\n[there is more: go on with offset=4]\n" {
		t.Errorf("%q", got)
	}
	d.refused("read", m{"path": "f", "offset": 9}, "f has 4 lines; give an offset from 1 to 4")
	d.put("empty", "")
	if got := d.ok("read", m{"path": "empty"}); got != "[empty is empty]" {
		t.Errorf("%q", got)
	}
	d.put("long", strings.Repeat("é", 3000)+"\nnext\n")
	got := d.ok("read", m{"path": "long"})
	if !strings.Contains(got, "[… 4000 bytes of this line are left out]\n     2\tnext") || strings.Contains(got, "UTF-8") {
		t.Errorf("%q", got[max(0, len(got)-120):])
	}
	d.put("many", strings.Repeat("0123456789\n", 5000))
	got = d.ok("read", m{"path": "many"})
	if !strings.HasSuffix(got, "[there is more: go on with offset=2001]\n") && !strings.Contains(got, "there is more") || len(got) > 60<<10 {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-60:])
	}
	d.put("odd", "caf\xe9\n")
	if got = d.ok("read", m{"path": "odd"}); !utf8.ValidString(got) || !strings.Contains(got, "not UTF-8") {
		t.Errorf("%q", got)
	}
}

// proves TOL-20: what is read stays within what one record holds in line.
func TestAReadFitsInLine(t *testing.T) {
	d := newDesk(t)
	d.put("wide", strings.Repeat(strings.Repeat("x", 99)+"\n", 3000))
	e := d.do("read", m{"path": "wide"})
	if e.Result.Output != nil || len(e.Result.Content.Text()) > 32<<10 {
		t.Errorf("%d bytes, bounded again: %+v", len(e.Result.Content.Text()), e.Result.Output)
	}
	var next int
	text := e.Result.Content.Text()
	if _, err := fmt.Sscanf(text[strings.LastIndex(text, "offset="):], "offset=%d", &next); err != nil {
		t.Fatal(err)
	}
	if again := d.ok("read", m{"path": "wide", "offset": next}); !strings.HasPrefix(again, fmt.Sprintf("%6d\t", next)) || !strings.Contains(text, fmt.Sprintf("%6d\t", next-1)) {
		t.Errorf("going on at %d leaves a gap", next)
	}
}

// proves TOL-20, B168: a huge file is read in its range only, within bounds.
func TestAHugeFileIsReadByItsRangeOnly(t *testing.T) {
	d := newDesk(t)
	path := d.put("huge", "first\nsecond\n")
	if err := os.Truncate(path, 3<<30); err != nil { // a hole: one line of NUL bytes
		t.Fatal(err)
	}
	if got := d.ok("read", m{"path": "huge", "limit": 2}); got != "     1\tfirst\n     2\tsecond\n[there is more: go on with offset=3]\n" {
		t.Errorf("%q", got)
	}
	d.refused("read", m{"path": "huge", "offset": 4}, "use sed")
	if got := d.ok("read", m{"path": "huge", "offset": 2, "limit": 1}); got != "     2\tsecond\n[there is more: go on with offset=3]\n" {
		t.Errorf("%q", got)
	}
	d.put("line", strings.Repeat("x", 9<<20)+"\nlast\n")
	if got := d.ok("read", m{"path": "line"}); !strings.HasSuffix(got, "[… 9435184 bytes of this line are left out]\n     2\tlast\n") {
		t.Errorf("%q", got[max(0, len(got)-100):])
	}
	d.refused("edit", m{"path": "huge", "old": "first", "new": "x"}, "change it with bash")
}

// proves TOL-20: pictures are shown, other binaries refused with a sentence.
func TestPicturesAreShownAndBinariesRefused(t *testing.T) {
	d := newDesk(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	d.put("p.txt", b.String()) // by content, not by name
	e := d.do("read", m{"path": "p.txt"})
	if len(e.Result.Content) != 2 {
		t.Fatalf("%+v", e)
	}
	if img, ok := e.Result.Content[1].(event.Image); !ok || img.MediaType != "image/png" || !bytes.Equal(img.Data, b.Bytes()) || img.Name != "p.txt" {
		t.Errorf("%+v", e.Result.Content[1])
	}
	big := d.put("big.png", b.String())
	if err := os.Truncate(big, 6<<20); err != nil {
		t.Fatal(err)
	}
	d.refused("read", m{"path": "big.png"}, "make it smaller")
	d.put("bin", "MZ\x00\x01")
	d.refused("read", m{"path": "bin"}, "bin is binary (4 bytes, a Windows program or library)")
	d.refused("edit", m{"path": "bin", "old": "MZ", "new": "x"}, "is binary")
}

// proves TOL-20: a write makes folders, keeps the mode, shows its change.
func TestWriteMakesTheFileBeItsNewContent(t *testing.T) {
	d := newDesk(t)
	d.ok("write", m{"path": "a/b/new.txt", "content": "one\n"})
	d.holds("a/b/new.txt", "one\n")
	path := d.put("run.sh", "old\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	d.ok("read", m{"path": "run.sh"})
	e := d.do("write", m{"path": path, "content": "new\n"})
	d.holds("run.sh", "new\n")
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", fi.Mode())
	}
	if want := "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-old\n+new\n"; e.Result.Diff != want {
		t.Errorf("diff %q", e.Result.Diff)
	}
	d.ok("write", m{"path": "run.sh", "content": ""}) // what was written is known
	d.holds("run.sh", "")
	d.refused("write", m{"path": "run.sh/x", "content": "x"}, "can't be")
	d.refused("write", m{"path": ".", "content": "x"}, "not a regular file")
}

// proves TOL-20: a file that exists and was not read, or changed since, stays.
func TestWriteAndEditRefuseAFileThatChangedSinceItWasRead(t *testing.T) {
	d := newDesk(t)
	path := d.put("f", "one\n")
	d.refused("write", m{"path": "f", "content": "x"}, "you have not read it; read it first")
	d.holds("f", "one\n")
	d.ok("read", m{"path": "f"})
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.ok("edit", m{"path": "f", "old": "one", "new": "two"}) // a new time is no change
	d.put("f", "TWO\n")                                      // of the same size
	d.refused("write", m{"path": "f", "content": "x"}, "changed by somebody else; nothing was written, read it again")
	d.refused("edit", m{"path": "f", "old": "TWO", "new": "x"}, "changed by somebody else")
	d.holds("f", "TWO\n")
	d.ok("read", m{"path": "f"})
	d.ok("write", m{"path": "f", "content": "three\n"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.ok("write", m{"path": "f", "content": "four\n"}) // gone is new
	d.holds("f", "four\n")
	d.session = "s_other"
	d.refused("write", m{"path": "f", "content": "x"}, "read it first") // another model saw it
}

// proves TOL-03, TOL-20: an edit is exact, once, and a mismatch says how near it was.
func TestEditReplacesOneExactPassage(t *testing.T) {
	d := newDesk(t)
	d.put("f.go", "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n")
	d.refused("edit", m{"path": "f.go", "old": "return 1", "new": "return 2"}, "stands 2 times in f.go, at lines 2, 6; give more")
	d.refused("edit", m{"path": "f.go", "old": "return 3", "new": "x"}, "does not stand in f.go; read the file")
	d.refused("edit", m{"path": "f.go", "old": "func b() {\n    return 1", "new": "x"}, "at line 5 something differs from it in white space only")
	d.refused("edit", m{"path": "f.go", "old": "", "new": "x"}, "old is empty")
	d.refused("edit", m{"path": "f.go", "old": "x", "new": "x"}, "the same")
	d.refused("edit", m{"path": "gone", "old": "x", "new": "y"}, "does not exist")
	if got := d.ok("edit", m{"path": "f.go", "old": "func b() {\n\treturn 1", "new": "func b() {\n\treturn 2"}); got != "edited f.go: 1 passage replaced, the first at line 5" {
		t.Errorf("%q", got)
	}
	if got := d.ok("edit", m{"path": "f.go", "old": "return", "new": "yield", "replace_all": true}); !strings.Contains(got, "2 passages") {
		t.Errorf("%q", got)
	}
	d.holds("f.go", "func a() {\n\tyield 1\n}\n\nfunc b() {\n\tyield 2\n}\n")
	d.put("mixed", "a\r\nb\r\nc\n")
	d.refused("edit", m{"path": "mixed", "old": "a\nb", "new": "x"}, `its lines end in "\r\n"`)
	d.put("aaa", strings.Repeat("a\n", 20))
	d.refused("edit", m{"path": "aaa", "old": "a", "new": "b"}, "stands 20 times in aaa, at lines 1, 2, 3, 4, 5, 6, 7, 8, …")
}

// proves TOL-20: the new content takes the old one's place in one step: whoever
// has the old file open reads it whole to its end.
func TestAWriteTakesTheOldFilesPlaceInOneStep(t *testing.T) {
	d := newDesk(t)
	old := strings.Repeat("old\n", 1000)
	path := d.put("f", old)
	for name, args := range map[string]m{
		"write": {"path": "f", "content": "new\n"},
		"edit":  {"path": "f", "old": "old\n", "new": "", "replace_all": true},
	} {
		d.put("f", old)
		d.ok("read", m{"path": "f"})
		before, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		d.ok(name, args)
		if b, err := io.ReadAll(before); err != nil || string(b) != old {
			t.Errorf("%s: who had the old file open reads %d bytes of %d, %v", name, len(b), len(old), err)
		}
	}
}

// What comes near to a passage that is not there is looked for within a bound,
// which counts the bytes that are looked at: lines may all be alike, and long.
//
// proves TOL-20
func TestTheHintForAPassageThatIsNotThereIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		line        string
		lines, part int
		whole       bool // it is looked at to its end
	}{
		"long lines":   {strings.Repeat("a ", 200), 600, 300, false},
		"a short part": {"a", 100_000, 3, true},
	} {
		content := []byte(strings.Repeat(c.line+"\n", c.lines) + "the\tend\n")
		old := strings.Repeat(c.line+" \n", c.part)
		where, work := builtin.Spaced(content, old+"b")
		if most := builtin.MostWork + len(old) + c.part; where != "" || work > most || (work < builtin.MostWork) != c.whole {
			t.Errorf("%s: %q after %d, the most is %d", name, where, work, most)
		}
		if !c.whole {
			continue
		}
		where, _ = builtin.Spaced(content, old+"the  end")
		if want := fmt.Sprintf("at line %d ", c.lines-c.part+1); !strings.Contains(where, want) {
			t.Errorf("%s: %q, want %q", name, where, want)
		}
	}
	for line, same := range map[string]bool{"a b": true, "\ta\t b ": true, "a\u00a0b\r": true, "ab": false, "a": false, "a b c": false, "a bc": false, "": false} {
		if where, _ := builtin.Spaced([]byte("x\n"+line+"\n"), "  a  b"); (where != "") != same {
			t.Errorf("%q: %q", line, where)
		}
	}
}

// proves INT-02, TOL-20: through a trip the file is the new one, never half.
func TestAWriteFinishesThroughATrip(t *testing.T) {
	d := newDesk(t)
	c := interrupt.New(interrupt.Options{})
	content := strings.Repeat("line\n", 200_000)
	raw, _ := json.Marshal(m{"path": "f", "content": content})
	tl, _ := d.set.Lookup("write")
	book := &tooltest.Book{}
	r := &tool.Run{Tool: tool.Decorate(tl, decorated(func() {
		_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
	})), Call: &tool.Call{Name: "write", Args: raw, Dir: d.dir}, Signal: c.Signal(), Book: book}
	if e, _ := r.Do(t.Context()); e.Outcome != event.CallFinished || !e.Result.Success {
		t.Errorf("%s %s", e.Outcome, e.Err)
	}
	d.holds("f", content)
}

// proves TOL-10, B037: a quarantined call's write is refused.
func TestAFencedWriteChangesNothing(t *testing.T) {
	for _, name := range []string{"write", "edit"} {
		d := newDesk(t)
		d.put("f", "old\n")
		d.ok("read", m{"path": "f"})
		c := interrupt.New(interrupt.Options{})
		release := make(chan struct{})
		raw, _ := json.Marshal(m{"path": "f", "content": "new\n"})
		if name == "edit" {
			raw, _ = json.Marshal(m{"path": "f", "old": "old", "new": "new"})
		}
		tl, _ := d.set.Lookup(name)
		book := &tooltest.Book{}
		r := &tool.Run{Tool: tool.Decorate(tl, decorated(func() {
			_, _ = c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT})
			c.Force()
			<-release
		})), Call: &tool.Call{Name: name, Args: raw, Dir: d.dir}, Signal: c.Signal(), Book: book}
		e, left := r.Do(t.Context())
		if e.Outcome != event.CallQuarantined {
			t.Fatalf("%s: %s", name, e.Outcome)
		}
		close(release)
		<-left
		d.holds("f", "old\n")
		late := book.Lates()
		if len(late) != 1 || late[0].Result.Success || !strings.Contains(late[0].Err, "the call is over") {
			t.Errorf("%s: %+v", name, late)
		}
		for open := range 2 { // it closes before the call, or on its way to the rename
			asked := 0
			turn := &tool.Run{Tool: tl, Call: &tool.Call{Name: name, Args: raw, Dir: d.dir}, Book: &tooltest.Book{}, Fence: func() error {
				if asked++; asked > open {
					return errors.New("turn 3 is closed")
				}
				return nil
			}}
			if e, _ := turn.Do(t.Context()); e.Result.Success || !strings.Contains(e.Err, "turn 3 is closed") {
				t.Errorf("%s through a closed turn: %s", name, e.Err)
			}
			d.holds("f", "old\n")
		}
	}
}

// proves TOL-20: paths are judged where they lead; outside needs approval.
func TestPathsAreJudgedWhereTheyLead(t *testing.T) {
	d := newDesk(t)
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.put("in", "x")
	link(filepath.Join(out, "nothing-yet"), "dangling")
	link(out, "away")
	link("in", "near")
	link("loop", "loop")
	link("not-yet", "soon")
	link("../"+filepath.Base(d.dir)+"/in", "round")
	for path, outside := range map[string]bool{
		"in": false, "./in": false, "near": false, "soon": false, "round": false, "new/deep/er": false, filepath.Join(d.dir, "in"): false, "..hidden": false, "away/..": false,
		"..": true, "../x": true, "away/x": true, "away/new/x": true, "dangling": true, "loop": true, "/etc/passwd": true,
		filepath.Join(d.dir, "..", "y"): true, d.dir + "2/x": true, "": true,
	} {
		for _, name := range []string{"read", "write", "edit"} {
			args := m{"path": path, "content": "x", "old": "a", "new": "b"}
			raw, _ := json.Marshal(args)
			spec, _ := d.set.Spec(name)
			call := &tool.Call{ID: "c_a", Name: name, Args: raw, Dir: d.dir}
			v, err := gate.Closed(gate.Rules{Policy: gate.DenyAll}).Judge(t.Context(), call, spec)
			want := gate.Allow
			if outside || name != "read" {
				want = gate.Block
			}
			if err != nil || v.Decision != want || outside != strings.Contains(v.Prompt, "outside the workspace") {
				t.Errorf("%s %q: %+v, outside %v", name, path, v, outside)
			}
		}
	}
	inside := gate.Rules{Policy: gate.DenyAll, List: []gate.Rule{{Name: "edits", Tool: "write", Path: "."}}}
	spec, _ := d.set.Spec("write")
	for path, by := range map[string]string{"new": "rule:edits", "soon": "rule:edits", "away/x": "policy:headless", "loop": "policy:headless"} {
		raw, _ := json.Marshal(m{"path": path, "content": "x"})
		if v, _ := inside.Judge(t.Context(), &tool.Call{Name: "write", Args: raw, Dir: d.dir}, spec); v.By != by {
			t.Errorf("a rule for the workspace and %q: %+v", path, v)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.ok("read", m{"path": filepath.Join(out, "secret")}); got != "     1\ts\n" { // approved, as it were
		t.Errorf("%q", got)
	}
	d.ok("write", m{"path": "soon", "content": "z"})
	d.holds("not-yet", "z")
	d.ok("write", m{"path": "away/made", "content": "y"})
	if b, err := os.ReadFile(filepath.Join(out, "made")); err != nil || string(b) != "y" {
		t.Errorf("%q %v", b, err)
	}
}

// proves TOL-20: what was approved is what is done.
func TestAPathThatLeadsElsewhereThanWhenItWasApprovedIsRefused(t *testing.T) {
	d := newDesk(t)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "f"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "write", "edit"} {
		sub := filepath.Join(d.dir, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		d.put(name+"/f", "plain")
		raw, _ := json.Marshal(m{"path": name + "/f", "content": "x", "old": "e", "new": "x"})
		call := &tool.Call{ID: event.CallID("c_" + name), Name: name, Args: raw, Dir: d.dir}
		tl, _ := d.set.Lookup(name)
		spec := tl.Spec()
		spec.Asking(call)
		if err := errors.Join(os.Rename(sub, sub+".was"), os.Symlink(out, sub)); err != nil {
			t.Fatal(err)
		}
		if res, err := tl.Execute(t.Context(), call); err == nil || !strings.Contains(err.Error(), "when it was approved") {
			t.Errorf("%s: %v %v", name, res, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "f")); err != nil || string(b) != "secret" {
		t.Errorf("%q %v", b, err)
	}
}

// A gate looks at a path twice, once for its rules and once for the question. A
// link that is turned in between has one place judged and another one asked
// about: the call is refused wherever the link leads by then.
//
// proves TOL-20, HOK-04: what the rules were asked about is what is done.
func TestAPathThatLedToTwoPlacesWhileItWasJudgedIsRefused(t *testing.T) {
	const moved = "while it was judged"
	for name, c := range map[string]struct {
		looks []string // where the link leads at each look
		runs  string   // and when the call runs
		want  string   // "": it is done
	}{
		"it stays":                   {[]string{"a", "a"}, "a", ""},
		"turned":                     {[]string{"a", "b"}, "b", moved},
		"turned and turned back":     {[]string{"a", "b", "a"}, "a", moved},
		"turned for the question":    {[]string{"a", "b"}, "a", moved},
		"nowhere and then somewhere": {[]string{"link", "b"}, "b", moved}, // to itself: it can't be resolved
		"nowhere, and then approved": {[]string{"link", "link"}, "b", "could not be resolved when it was approved"},
	} {
		for tl, args := range map[string]m{
			"edit": {"path": "link/f", "old": "old", "new": "new"}, "apply_patch": patchOf("*** Update File: link/f", "@@", "-old", "+new"),
		} {
			d := newDesk(t)
			if err := errors.Join(os.Mkdir(filepath.Join(d.dir, "a"), 0o700), os.Mkdir(filepath.Join(d.dir, "b"), 0o700)); err != nil {
				t.Fatal(err)
			}
			d.put("a/f", "old\n")
			d.put("b/f", "old\n")
			turn := func(to string) {
				link := filepath.Join(d.dir, "link")
				_ = os.Remove(link)
				if err := os.Symlink(to, link); err != nil {
					t.Fatal(err)
				}
			}
			raw, _ := json.Marshal(args)
			call := &tool.Call{ID: "c_1", Name: tl, Args: raw, Dir: d.dir}
			spec, _ := d.set.Spec(tl)
			asks := spec.AsksCall
			spec.AsksCall = func(call *tool.Call) (prompt string, ask bool) {
				for _, to := range c.looks[1:] {
					turn(to)
					prompt, ask = asks(call)
				}
				return prompt, ask
			}
			turn(c.looks[0])
			rules := gate.Rules{Policy: gate.YesAll, List: []gate.Rule{{Name: "a", Tool: "*", Path: "a"}}}
			v, err := rules.Judge(t.Context(), call, spec)
			if by := map[bool]string{true: "rule:a", false: "yes"}[c.looks[0] == "a"]; err != nil || v.By != by {
				t.Errorf("%s: %+v, %v", name, v, err)
			}
			turn(c.runs)
			impl, _ := d.set.Lookup(tl)
			res, err := impl.Execute(t.Context(), call)
			if c.want == "" {
				if err != nil || !res.Success {
					t.Errorf("%s: %s: %v", name, tl, err)
				}
				d.holds("a/f", "new\n")
				continue
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", name, tl, err, c.want)
			}
			d.holds("a/f", "old\n")
			d.holds("b/f", "old\n")
		}
	}
}

// proves TOL-20: a write that fails leaves the old file and nothing else.
func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	d := newDesk(t)
	d.put("f", "old")
	d.refused("write", m{"path": "f/below", "content": "x"}, "f/below")
	d.refused("write", m{"path": strings.Repeat("n", 300), "content": "x"}, "name too long")
	d.holds("f", "old")
	if got := d.list("."); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}
