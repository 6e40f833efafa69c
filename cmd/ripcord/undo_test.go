package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/ripcord-go/ripcord/event"
)

// tale is a journal of calls in turns, as far as files are told of.
type tale struct {
	t    *testing.T
	dir  string
	recs []event.Record
	n    int
}

func newTale(t *testing.T) *tale {
	t.Helper()
	x := &tale{t: t, dir: t.TempDir()}
	put(t, filepath.Join(x.dir, ".git"), "gitdir: elsewhere\n")
	x.add(event.SessionOpened{ID: "s_1", Cwd: x.dir}, 0, 0, "")
	return x
}

func (x *tale) add(p event.Payload, turn, step int, call event.CallID) {
	x.t.Helper()
	r, err := event.New(p, time.Unix(1, 0))
	if err != nil {
		x.t.Fatal(err)
	}
	r.Seq, r.Epoch, r.Batch, r.Turn, r.Step, r.Call = event.Seq(len(x.recs)), 1, 1, turn, step, call
	x.recs = append(x.recs, r)
}

// turn adds one turn of calls.
func (x *tale) turn(n int, calls ...func(n int)) {
	x.add(event.TurnStarted{Kind: event.TurnInput}, n, 0, "")
	x.add(event.StepStarted{}, n, 1, "")
	x.add(event.ModelRequest{Attempt: 1}, n, 1, "")
	for i, c := range calls {
		x.n++
		c(i)
	}
	x.add(event.StepEnded{}, n, 1, "")
	x.add(event.TurnEnded{Outcome: event.TurnCompleted}, n, 0, "")
}

// call is one that ended as e says.
func (x *tale) call(turn int, tool, effect string, e event.CallEnded) func(int) {
	return func(i int) {
		id := event.CallID("c" + itoa(x.n))
		x.add(event.CallRequested{Name: tool, Args: json.RawMessage(`{}`), Index: i}, turn, 1, id)
		x.add(event.CallApproved{By: "yes"}, turn, 1, id)
		x.add(event.CallStarted{Effect: effect}, turn, 1, id)
		if e.Outcome == "" {
			e.Outcome = event.CallFinished
		}
		x.add(e, turn, 1, id)
	}
}

// wrote is a call of a writing tool that turned one text into another; nil is
// no file.
func (x *tale) wrote(turn int, name string, before, after *string) func(int) {
	from, to, a, b := "a/"+name, "b/"+name, "", ""
	if before == nil {
		from = nowhere
	} else {
		a = *before
	}
	if after == nil {
		to = nowhere
	} else {
		b = *after
	}
	return x.call(turn, "edit", "unsafe", event.CallEnded{Diff: udiff.Unified(from, to, a, b)})
}

func (x *tale) has(name, want string) {
	x.t.Helper()
	got, err := os.ReadFile(filepath.Join(x.dir, name))
	if err != nil || string(got) != want {
		x.t.Errorf("%s is %q (%v), want %q", name, got, err, want)
	}
}

// untouched checks that nothing but what names say is in the folder.
func (x *tale) holds(names ...string) {
	x.t.Helper()
	var got []string
	for _, e := range dirOf(x.t, x.dir) {
		if e != ".git" {
			got = append(got, e)
		}
	}
	if !slices.Equal(got, names) {
		x.t.Errorf("there are %v, want %v", got, names)
	}
}

func dirOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func text(lines ...string) *string { s := strings.Join(lines, "\n"); return &s }

// Several changes of several turns go back as one, exactly, to the bit: endings
// of lines, a missing last one, a mode.
//
// proves RTY-10
func TestWhatTurnsWroteIsTakenBackExactly(t *testing.T) {
	x := newTale(t)
	far := make([]string, 60)
	for i := range far {
		far[i] = "line " + itoa(i)
	}
	one, two := text(far...), slices.Clone(far)
	two[3], two[50] = "--- a dashing line", "+++ another"
	three := slices.Insert(slices.Clone(two), 20, "in between")
	dos, unix := text("a\r", "b\r", ""), text("a\r", "c\r", "")
	x.turn(1, x.wrote(1, "kept.txt", nil, text("kept", "")))
	x.turn(2, x.wrote(2, "far.txt", one, text(two...)), x.wrote(2, "dos.txt", dos, unix), x.wrote(2, "new/deep.txt", nil, text("new")))
	x.turn(3, x.wrote(3, "far.txt", text(two...), text(three...)), x.wrote(3, "gone.txt", text("gone"), nil), x.wrote(3, "empty.txt", text("full", ""), text("")),
		x.call(3, "bash", "unsafe", event.CallEnded{}), x.call(3, "read", "pure", event.CallEnded{}),
		x.call(3, "edit", "unsafe", event.CallEnded{Error: true, Content: event.TextOf("old does not stand in it")}),
		x.call(3, "apply_patch", "unsafe", event.CallEnded{Error: true, Content: event.TextOf("the patch is applied in part")}),
		x.call(3, "write", "unsafe", event.CallEnded{Outcome: event.CallUnknown, Synthetic: true}))
	for name, s := range map[string]*string{"kept.txt": text("kept", ""), "far.txt": text(three...), "dos.txt": unix, "new/deep.txt": text("new"), "empty.txt": text("")} {
		put(t, filepath.Join(x.dir, name), *s)
	}
	if err := os.Chmod(filepath.Join(x.dir, "far.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	u, err := RewindFiles(x.dir, x.recs, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"dos.txt", "empty.txt", "far.txt", "gone.txt", "new/deep.txt"}; !slices.Equal(u.Names(), want) {
		t.Errorf("it changes %v, want %v", u.Names(), want)
	}
	if want := []string{"bash {} in turn 3", "apply_patch in turn 3", "write in turn 3"}; !slices.Equal(u.Unknown, want) {
		t.Errorf("it leaves %q, want %q", u.Unknown, want)
	}
	x.has("far.txt", *text(three...)) // nothing was written yet
	if err := u.Apply(); err != nil {
		t.Fatal(err)
	}
	x.has("far.txt", *one)
	x.has("dos.txt", *dos)
	x.has("gone.txt", "gone")
	x.has("empty.txt", "full\n")
	x.has("kept.txt", "kept\n")
	x.holds("dos.txt", "empty.txt", "far.txt", "gone.txt", "kept.txt", "new")
	if left := dirOf(t, filepath.Join(x.dir, "new")); len(left) != 0 {
		t.Errorf("in new there is %v", left)
	}
	if info, err := os.Stat(filepath.Join(x.dir, "far.txt")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
}

// One file that is not as the turn left it keeps all of them as they are.
//
// proves RTY-10
func TestNothingIsTakenBackInPart(t *testing.T) {
	before, after := text("one", "two", ""), text("one", "TWO", "")
	for what, spoil := range map[string]func(x *tale, path string){
		"changed":             func(x *tale, path string) { put(x.t, path, "one\nTWo\n") },
		"gone":                func(x *tale, path string) { _ = os.Remove(path) },
		"shorter":             func(x *tale, path string) { put(x.t, path, "one\n") },
		"shifted":             func(x *tale, path string) { put(x.t, path, "zero\none\nTWO\n") },
		"no longer a file":    func(x *tale, path string) { _ = os.Remove(path); _ = os.Mkdir(path, 0o755) },
		"a link out of there": func(x *tale, path string) { _ = os.Remove(path); _ = os.Symlink("/etc/hostname", path) },
	} {
		t.Run(what, func(t *testing.T) {
			x := newTale(t)
			x.turn(1)
			x.turn(2, x.wrote(2, "a.txt", before, after), x.wrote(2, "b.txt", before, after))
			put(t, filepath.Join(x.dir, "a.txt"), *after)
			put(t, filepath.Join(x.dir, "b.txt"), *after)
			spoil(x, filepath.Join(x.dir, "b.txt"))
			if u, err := RewindFiles(x.dir, x.recs, 2); err == nil || !strings.Contains(err.Error(), "b.txt") {
				t.Errorf("%+v, %v: want an error that names the file", u, err)
			}
			x.has("a.txt", *after)
		})
	}
}

// What can't be told apart is refused: a diff that does not say whether the file
// was there, one of another place, one that is cut.
//
// proves RTY-10
func TestADiffThatIsNotClearIsRefused(t *testing.T) {
	for what, diff := range map[string]string{
		"was it there?":              "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n",
		"outside":                    "--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-one\n+one\n",
		"absolute":                   "--- a//tmp/a.txt\n+++ b//tmp/a.txt\n@@ -1 +1 @@\n-one\n+one\n",
		"cut":                        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n",
		"no names":                   "@@ -1 +1 @@\n-one\n+two\n",
		"no file":                    "--- /dev/null\n+++ /dev/null\n",
		"counts":                     "--- a/a.txt\n+++ b/a.txt\n@@ -x +1 @@\n+one\n",
		"a made file has more in it": "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+one\n",
	} {
		x := newTale(t)
		x.turn(1, x.call(1, "edit", "unsafe", event.CallEnded{Diff: diff}))
		put(t, filepath.Join(x.dir, "a.txt"), "one\n")
		put(t, filepath.Join(x.dir, "b.txt"), "one\nmore\n")
		if u, err := RewindFiles(x.dir, x.recs, 1); err == nil {
			t.Errorf("%s: %v", what, u.Names())
		}
		x.holds("a.txt", "b.txt")
	}
}

// Where writing fails half-way, what was put in its place is taken back; where a
// file changed after it was looked at, nothing begins.
//
// proves RTY-10
func TestAFailureHalfWayLeavesTheFilesAsTheyWere(t *testing.T) {
	before, after := text("one", ""), text("two", "")
	x := newTale(t)
	x.turn(1, x.wrote(1, "a.txt", before, after), x.wrote(1, "b.txt", nil, after), x.wrote(1, "z.txt", text("gone", ""), nil))
	put(t, filepath.Join(x.dir, "a.txt"), *after)
	put(t, filepath.Join(x.dir, "b.txt"), *after)
	u, err := RewindFiles(x.dir, x.recs, 1)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(x.dir, "b.txt"), "three\n")
	if err := u.Apply(); err == nil {
		t.Error("a file that changed in between was taken back")
	}
	x.has("a.txt", *after)
	put(t, filepath.Join(x.dir, "b.txt"), *after)
	if err := os.MkdirAll(filepath.Join(x.dir, "z.txt", "in the way"), 0o755); err != nil { // no file can get this name
		t.Fatal(err)
	}
	if err := u.Apply(); err == nil {
		t.Error("a file took the place of a folder")
	}
	x.has("a.txt", *after)
	x.has("b.txt", *after)
	x.holds("a.txt", "b.txt", "z.txt")
}

// What was hidden and taken back before is not taken back again.
//
// proves RTY-10
func TestATurnThatWasTakenBackBeforeIsLeftOut(t *testing.T) {
	one, two, three := text("one", ""), text("two", ""), text("three", "")
	x := newTale(t)
	x.turn(1, x.wrote(1, "a.txt", one, two))
	x.turn(2, x.wrote(2, "a.txt", two, three))
	x.add(event.Rewound{From: 2, Why: "rewind"}, 0, 0, "")
	for _, now := range []*string{two, three} { // taken back with turn 2, and not
		put(t, filepath.Join(x.dir, "a.txt"), *now)
		u, err := RewindFiles(x.dir, x.recs, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Apply(); err != nil {
			t.Fatal(err)
		}
		x.has("a.txt", *one)
	}
}

// proves RTY-10, pitfall: a recorded change whose places are nonsense is refused
// like any that does not fit
func TestAChangeAtNoPlaceIsRefused(t *testing.T) {
	for _, at := range []string{"9223372036854775807", "-9223372036854775808", "9223372036854775806", "0", "7"} {
		diffs, err := parseDiff("--- a/f\n+++ b/f\n@@ -1,1 +" + at + ",2 @@\n-a\n+b\n+c\n")
		if err != nil {
			continue
		}
		for _, d := range diffs {
			if was, err := d.revert([]byte("b\nc\n")); err == nil {
				t.Errorf("at %s: %q", at, was)
			}
		}
	}
}

// proves RTY-10: each folder in which a name changed is made durable after the
// change, those that were made for it and theirs, too; where that fails the files
// are as they were.
func TestTheFoldersOfWhatIsPutBackAreDurable(t *testing.T) {
	gone, one, two := text("gone", ""), text("one", ""), text("two", "")
	x := newTale(t)
	x.turn(1, x.wrote(1, "a.txt", one, two), x.wrote(1, "in/b.txt", one, two), x.wrote(1, "far/away/gone.txt", gone, nil))
	put(t, filepath.Join(x.dir, "a.txt"), *two)
	put(t, filepath.Join(x.dir, "in", "b.txt"), *two)
	undone := func() *undo {
		u, err := RewindFiles(x.dir, x.recs, 1)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := undone()
	u.sync = func(*os.Root, string) error { return errors.New("the disk is gone") }
	if err := u.Apply(); err == nil || !strings.Contains(err.Error(), "as they were") {
		t.Errorf("without a sync: %v", err)
	}
	x.has("a.txt", *two)
	x.has("in/b.txt", *two)
	if err := os.RemoveAll(filepath.Join(x.dir, "far")); err != nil {
		t.Fatal(err)
	}
	u = undone()
	var synced []string
	u.sync = func(root *os.Root, folder string) error {
		for _, name := range []string{"a.txt", "in/b.txt", "far/away/gone.txt"} {
			if b, err := fs.ReadFile(root.FS(), name); err != nil || strings.Contains(string(b), "two") {
				t.Errorf("%s was synced before %s was in its place", folder, name)
			}
		}
		synced = append(synced, folder)
		return syncFolder(root, folder)
	}
	if err := u.Apply(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(synced)
	if want := []string{".", "far", "far/away", "in"}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
}
