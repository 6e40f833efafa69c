package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/aymanbagabas/go-udiff"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// undo is the reverse of what turns wrote to files, worked out and not written
// yet.
type undo struct {
	dir   string
	files map[string]*fileState // by slash path below dir

	// Unknown is what the turns did besides, one line each: nobody recorded what
	// it changed.
	Unknown []string

	sync func(root *os.Root, folder string) error // makes a folder's names durable
}

// fileState is one file as it is and as it shall be.
type fileState struct {
	now, then     []byte
	exists, shall bool
	mode          fs.FileMode
}

func (f *fileState) changes() bool {
	return f.exists != f.shall || !bytes.Equal(f.now, f.then)
}

// RewindFiles works out the reverse of what the calls of turns from `from` on
// wrote to files below dir, newest first. It changes nothing. It is an error
// where a file is not exactly as those turns left it: the whole is put back, or
// nothing is.
func RewindFiles(dir string, recs []event.Record, from int) (*undo, error) {
	if !inRepository(dir) {
		return nil, usagef("leave out --files: the turns can be hidden all the same", "%s is in no git repository, and files are taken back only where their history is kept", dir)
	}
	all, err := writesOf(recs, from, nil)
	if err != nil {
		return nil, err
	}
	u, err := all.reversed(dir)
	if err == nil {
		return u, nil
	}
	// What was hidden before may have been taken back before, too.
	l, ferr := turn.Fold(recs)
	if ferr != nil {
		return nil, ferr
	}
	seen, werr := writesOf(recs, from, l.Hideable)
	if werr != nil || len(seen.diffs) == len(all.diffs) {
		return nil, err
	}
	if u, serr := seen.reversed(dir); serr == nil {
		return u, nil
	}
	return nil, err
}

// inRepository reports whether dir or a folder above it is a git work tree. It
// runs no program: a repository's settings name programs.
func inRepository(dir string) bool {
	for d := filepath.Clean(dir); filepath.IsAbs(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return true
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return false
}

// writes is what turns did: the recorded changes in order, and the rest.
type writes struct {
	diffs   []string
	unknown []string
}

// deed is one call, outer or inner, as far as files go.
type deed struct {
	what   string
	effect string
	writer bool // a tool that records what it changes
	diff   string
	ended  *event.CallEnded
	at     int // its end's place among the records
}

// writesOf collects what the turns from `from` on did; take, if not nil, says
// which of them count.
func writesOf(recs []event.Record, from int, take func(int) bool) (w writes, err error) {
	deeds := map[string]*deed{}
	var order []string
	names := map[event.CallID]string{}
	begin := func(key, tool, effect string, n int) {
		deeds[key] = &deed{what: fmt.Sprintf("%s in turn %d", tool, n), effect: effect, writer: slices.Contains([]string{"write", "edit", "apply_patch"}, tool)}
		order = append(order, key)
	}
	end := func(key string, e event.CallEnded, at int) {
		if d := deeds[key]; d != nil {
			d.ended, d.at = &e, at
			if e.Diff != "" {
				d.diff = e.Diff
			}
		}
	}
	for i := range recs {
		r := &recs[i]
		p, err := r.Body()
		if err != nil {
			return w, err
		}
		in := r.Turn >= from && (take == nil || take(r.Turn))
		outer := string(r.Call)
		switch p := p.(type) {
		case event.CallRequested:
			names[r.Call] = clip(p.Name+" "+string(p.Args), 70)
			if slices.Contains([]string{"write", "edit", "apply_patch"}, p.Name) {
				names[r.Call] = p.Name
			}
		case event.CallStarted:
			if in {
				begin(outer, names[r.Call], p.Effect, r.Turn)
			}
		case event.CallEnded:
			end(outer, p, i)
		case event.LateResult:
			end(outer, p.Ended, i)
		case event.InnerStarted:
			if in {
				begin(fmt.Sprint(outer, ".", p.N), p.Tool, p.Effect, r.Turn)
			}
		case event.InnerEnded:
			end(fmt.Sprint(outer, ".", p.N), p.Ended, i)
		default: // nothing that a tool did
		}
	}
	return collected(deeds, order), nil
}

// collected parts what is recorded from what is not.
func collected(deeds map[string]*deed, order []string) (w writes) {
	var known []*deed
	for _, key := range order {
		d := deeds[key]
		switch e := d.ended; {
		case d.diff != "":
			known = append(known, d)
		case d.effect == "pure", d.writer && refusedToWrite(e):
		case d.writer && e != nil && e.Success != nil && *e.Success:
			w.unknown = append(w.unknown, d.what+" (too large to be recorded, or not text)")
		default:
			w.unknown = append(w.unknown, d.what)
		}
	}
	slices.SortStableFunc(known, func(x, y *deed) int { return x.at - y.at })
	for _, d := range known {
		w.diffs = append(w.diffs, d.diff)
	}
	return w
}

// refusedToWrite says of a call of a writing tool that it changed nothing: it
// came to its own end with an error, and not half-way.
func refusedToWrite(e *event.CallEnded) bool {
	return e != nil && e.Error && (e.Outcome == event.CallFinished || e.Outcome == event.CallFinishedLate) &&
		!strings.Contains(e.Content.Text(), "in part")
}

// reversed takes the changes back, newest first, in memory.
func (w writes) reversed(dir string) (*undo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usagef("leave out --files", "the session's workspace cannot be opened: %v", err)
	}
	defer root.Close()
	u := &undo{dir: dir, files: map[string]*fileState{}, Unknown: w.unknown, sync: syncFolder}
	for _, text := range slices.Backward(w.diffs) {
		changes, err := parseDiff(text)
		if err != nil {
			return nil, usagef("leave out --files and use `git diff`", "a recorded change cannot be read: %v", err)
		}
		for _, c := range slices.Backward(changes) {
			if err := u.reverse(root, c); err != nil {
				return nil, usagef("look at it with `git diff`; leave out --files to hide the turns alone", "nothing was changed: %v", err)
			}
		}
	}
	return u, nil
}

// reverse takes one file's change back.
func (u *undo) reverse(root *os.Root, c fileDiff) error {
	name := c.to
	if c.deletes() {
		name = c.from
	}
	f, err := u.file(root, name)
	if err != nil {
		return err
	}
	if f.shall == c.deletes() {
		return fmt.Errorf("%s is not as the turn left it: %s", name, map[bool]string{true: "it is there again", false: "it is gone"}[f.shall])
	}
	before, err := c.revert(f.then)
	if err != nil {
		return fmt.Errorf("%s is not as the turn left it: %w", name, err)
	}
	switch {
	case c.creates():
		if len(before) > 0 {
			return fmt.Errorf("%s has more in it than the turn wrote", name)
		}
		f.then, f.shall = nil, false
	case c.from == c.to || c.deletes():
		f.then, f.shall = before, true
	default: // it was moved
		old, err := u.file(root, c.from)
		if err != nil {
			return err
		}
		if old.shall {
			return fmt.Errorf("%s is there again", c.from)
		}
		old.then, old.shall, old.mode = before, true, f.mode
		f.then, f.shall = nil, false
	}
	return nil
}

const largestUndo = 4 << 20 // bytes of a file; recorded changes are of smaller ones

// file is a file's state, looked at once. Only regular files of the workspace
// are touched.
func (u *undo) file(root *os.Root, name string) (*fileState, error) {
	if f := u.files[name]; f != nil {
		return f, nil
	}
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%q is outside the workspace", name)
	}
	f := &fileState{mode: unknownMode}
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.files[name] = f
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > largestUndo:
		return nil, fmt.Errorf("%s is not as the turn left it: it has %d bytes", name, info.Size())
	}
	if f.now, err = root.ReadFile(name); err != nil {
		return nil, err
	}
	f.then, f.exists, f.shall, f.mode = f.now, true, true, info.Mode().Perm()
	u.files[name] = f
	return f, nil
}

// Root is the workspace.
func (u *undo) Root() string { return u.dir }

// Names lists the files that change, in order.
func (u *undo) Names() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(u.files)) {
		if u.files[name].changes() {
			out = append(out, name)
		}
	}
	return out
}

// Diff shows people what Apply will do.
func (u *undo) Diff() string {
	var b strings.Builder
	for _, name := range u.Names() {
		f := u.files[name]
		from, to := "a/"+name, "b/"+name
		if !f.exists {
			from = nowhere
		}
		if !f.shall {
			to = nowhere
		}
		b.WriteString(udiff.Unified(from, to, string(f.now), string(f.then)))
	}
	return b.String()
}

// Apply writes it, durable when it returns: everything is checked and laid ready
// beside its place first, then put there. Where that fails half-way, what was
// put there is taken back.
func (u *undo) Apply() (err error) {
	root, err := os.OpenRoot(u.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := u.Names()
	for _, name := range names {
		now, err := root.ReadFile(name)
		if there := err == nil; there != u.files[name].exists || there && !bytes.Equal(now, u.files[name].now) {
			return usagef("try again", "nothing was changed: %s was changed just now", name)
		}
	}
	ready, old := map[string]string{}, map[string]string{} // by name: what is laid ready, and what was there
	defer func() {
		for _, temp := range slices.Concat(slices.Collect(maps.Values(ready)), slices.Collect(maps.Values(old))) {
			_ = root.Remove(temp) // most have found their place
		}
	}()
	folders := map[string]bool{}
	for _, name := range names {
		f := u.files[name]
		changed(root, path.Dir(name), folders)
		if err = root.MkdirAll(path.Dir(name), 0o755); err == nil && f.shall {
			ready[name], err = lay(root, name, f.then, f.mode)
		}
		if err == nil && f.exists {
			old[name], err = lay(root, name, f.now, f.mode)
		}
		if err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
	}
	placed := 0
	for ; placed < len(names) && err == nil; placed++ {
		err = place(root, names[placed], ready[names[placed]])
	}
	if err != nil {
		placed-- // the last one was not
	}
	for folder := range folders {
		if err == nil {
			err = u.sync(root, folder)
		}
	}
	if err == nil {
		return nil
	}
	for _, done := range slices.Backward(names[:placed]) {
		err = errors.Join(err, place(root, done, old[done]))
	}
	return fmt.Errorf("the files are as they were: %w", err)
}

// changed notes folder, in which a name will change, and those above it that will
// be made for it.
func changed(root *os.Root, folder string, into map[string]bool) {
	for {
		into[folder] = true
		if _, err := root.Lstat(folder); err == nil || folder == "." {
			return
		}
		folder = path.Dir(folder)
	}
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(root *os.Root, folder string) error {
	d, err := root.Open(folder)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// place puts what was laid ready at name, or takes name away where that is "".
func place(root *os.Root, name, temp string) error {
	if temp == "" {
		return root.Remove(name)
	}
	return root.Rename(temp, name)
}

// unknownMode is of a file that is not there any more: nobody recorded its mode,
// and it is not to be open to more than a file that is made now.
const unknownMode = fs.ModeIrregular

// lay writes content beside name, durable.
func lay(root *os.Root, name string, content []byte, mode fs.FileMode) (temp string, err error) {
	temp = path.Join(path.Dir(name), ".ripcord-"+rand.Text())
	made := mode
	if mode == unknownMode {
		made = 0o666 // the umask has its say
	}
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, made)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && mode != unknownMode {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(temp)
	}
	return temp, err
}
