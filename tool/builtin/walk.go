package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Bounds of a search.
const (
	mostEntries = 200_000 // that are looked at
	mostDepth   = 64      // folders below the one that is searched
	mostFolder  = 100_000 // entries of one folder
	batch       = 1024    // entries between two looks at the signal
)

// walker goes through the files below a folder, by name, folder by folder. It
// follows no link and looks at its signal between entries.
type walker struct {
	root   *os.Root // the workspace, or the folder itself where that is outside
	top    string   // where the walk begins, from root
	signal interrupt.Signal
	all    bool // ignore files say nothing
	hidden func(rel string) bool
	visit  func(rel string, e fs.DirEntry) error

	entries int
	closed  int    // folders that could not be read
	secret  int    // entries that are hidden
	bound   string // the bound that ended the walk, "" if none did
}

// errEnough ends a walk that has what it was to find.
var errEnough = errors.New("the walk has enough")

// openTop opens the folder that a search is about.
func openTop(call *tool.Call, p place) (root *os.Root, top string, err error) {
	fi, err := os.Stat(p.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", tool.Replyf("%s does not exist; check the path", p.show)
	case err == nil && !fi.IsDir():
		return nil, "", tool.Replyf("%s is not a folder; give the folder to look in", p.show)
	}
	at, top := call.Dir, filepath.ToSlash(p.show)
	if p.outside {
		at, top = p.real, "."
	}
	if root, err = os.OpenRoot(at); err != nil {
		return nil, "", tool.Replyf("%s can't be opened as a folder: %w", p.show, err)
	}
	return root, top, nil
}

// walk visits every entry that is not ignored. The error is the signal's, or
// what visit returned apart from errEnough.
func (w *walker) walk() error {
	var g ignores
	if !w.all {
		g = w.above()
	}
	err := w.folder(w.top, g, 0)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// above gathers the rules of the folders above the top. A top that they ignore
// was asked for by name: then they are not asked.
func (w *walker) above() (g ignores) {
	if w.top == "." {
		return nil
	}
	at := "."
	for name := range strings.SplitSeq(w.top, "/") {
		g = append(g, w.rules(at)...)
		if at = path.Join(at, name); g.ignored(at, true) {
			return nil
		}
	}
	return g
}

// rules reads the ignore files of the folder at.
func (w *walker) rules(at string) (g ignores) {
	base := at + "/"
	if at == "." {
		base = ""
		g = append(g, w.parse(base, ".git/info/exclude")...)
	}
	for _, name := range ignoreFiles() {
		g = append(g, w.parse(base, path.Join(at, name))...)
	}
	return g
}

func (w *walker) parse(base, name string) ignores {
	f, fi, err := openRegular(w.root, name)
	if err != nil || fi.Size() > mostIgnoreFile {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostIgnoreFile))
	if err != nil {
		return nil
	}
	return parseIgnore(base, content)
}

// openRegular opens a regular file below root and waits for nothing.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	fi, err := root.Stat(name)
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, peek, 0)
	if err != nil {
		return nil, nil, err
	}
	if fi, err = f.Stat(); err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

var errNotRegular = errors.New("it is not a regular file")

func (w *walker) folder(at string, g ignores, depth int) error {
	entries, err := w.list(at)
	if err != nil {
		return err
	}
	if !w.all {
		g = slices.Concat(g, w.rules(at)) // a copy: a sibling's rules are not ours
	}
	for i, e := range entries {
		if i%batch == 0 {
			if err := w.signal.Checkpoint(); err != nil {
				return err
			}
		}
		if w.entries++; w.entries > mostEntries {
			w.bound = fmt.Sprintf("only the first %d entries were looked at", mostEntries)
			return errEnough
		}
		rel := path.Join(at, e.Name())
		if e.IsDir() && e.Name() == ".git" || g.ignored(rel, e.IsDir()) {
			continue
		}
		if w.hidden(rel) {
			w.secret++
			continue
		}
		if err := w.visit(rel, e); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		if depth == mostDepth {
			w.bound = fmt.Sprintf("folders more than %d deep were not looked into", mostDepth)
			continue
		}
		if err := w.folder(rel, g, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// list gives the entries of a folder by name.
func (w *walker) list(at string) (entries []fs.DirEntry, err error) {
	f, err := w.root.Open(at)
	if err != nil {
		w.closed++
		return nil, nil
	}
	defer f.Close()
	for len(entries) < mostFolder {
		if err := w.signal.Checkpoint(); err != nil {
			return nil, err
		}
		more, err := f.ReadDir(batch)
		entries = append(entries, more...)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.closed++
			}
			break
		}
	}
	if len(entries) >= mostFolder {
		w.bound = fmt.Sprintf("of a folder only %d entries were looked at", len(entries))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// notes says what a search did not look at, in lines for the model.
func (w *walker) notes() string {
	var b strings.Builder
	if w.bound != "" {
		b.WriteString("[" + w.bound + "; search a smaller folder]\n")
	}
	if w.closed > 0 {
		b.WriteString("[" + plural(w.closed, "folder") + " could not be read]\n")
	}
	return b.String() + hiddenNote(w.secret)
}

func hiddenNote(n int) string {
	if n == 0 {
		return ""
	}
	return "[some of it is protected and is not shown here]\n"
}

// hides is the memory's word about what is at rel from top, which is at p.
func (m *memory) hides(p place, top string) func(rel string) bool {
	return func(rel string) bool { return m.hidden(filepath.Join(p.real, filepath.FromSlash(fromTop(top, rel)))) }
}

// shown is rel, which is from root, as a path that other tools take.
func (w *walker) shown(p place, rel string) string {
	if p.outside {
		return filepath.Join(p.real, filepath.FromSlash(rel))
	}
	return filepath.FromSlash(rel)
}

// folderTouches is what a search touches, for rules about paths: the folder,
// with a separator at its end: all that is below it.
func (m *memory) folderTouches(call *tool.Call) (paths []string, ok bool) {
	var a struct {
		Path string `json:"path"`
	}
	if tool.DecodeArgs(call.Args, &a) != nil {
		return nil, false
	}
	p, err := m.judge(call, or(a.Path, "."))
	if err != nil {
		return nil, false
	}
	if fi, err := os.Stat(p.real); err == nil && fi.IsDir() {
		return []string{strings.TrimSuffix(p.real, string(filepath.Separator)) + string(filepath.Separator)}, true
	}
	return []string{p.real}, true
}

// asksBeyond makes the approval question of a tool that only looks: it asks
// outside the workspace.
func (m *memory) asksBeyond(what string) func(call *tool.Call) (prompt string, ask bool) {
	return func(call *tool.Call) (prompt string, ask bool) {
		var a struct {
			Path string `json:"path"`
		}
		if tool.DecodeArgs(call.Args, &a) != nil {
			return what + " a folder that is not named", true
		}
		p := m.asking(call, or(a.Path, "."))
		return what + " " + tool.OneLine(p.show, 500) + beyond(p), p.outside
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// checkGlob refuses a pattern that can't be matched in bounded time.
func checkGlob(pattern string) error {
	if len(pattern) > mostPattern {
		return tool.Replyf("the pattern has %d bytes, the most is %d; give a shorter one", len(pattern), mostPattern)
	}
	ways := 1
	for group := range strings.SplitSeq(pattern, "{") {
		if ways *= 1 + strings.Count(group, ","); ways > mostWays {
			return tool.Replyf("the pattern has too many alternatives in braces; make several searches of it")
		}
	}
	if strings.Count(pattern, "{") > mostBraces || strings.Count(pattern, "**") > mostBraces {
		return tool.Replyf("the pattern has more than %d braces or **; give a simpler one", mostBraces)
	}
	if !doublestarValid(pattern) {
		return tool.Replyf("the pattern %q is not valid; close its brackets and braces", pattern)
	}
	return nil
}

const (
	mostPattern = 512 // bytes
	mostBraces  = 8
	mostWays    = 256 // alternatives, all braces multiplied
)
