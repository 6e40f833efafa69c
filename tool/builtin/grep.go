package builtin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Bounds of grep.
const (
	someMatches  = 200 // lines shown, if the call does not say
	mostMatches  = 2000
	mostAround   = 20        // lines of context on each side
	mostShown    = 500       // bytes of a line that are shown
	mostGrepped  = 1 << 30   // bytes that are looked at in one call
	mostGrepFile = 256 << 20 // bytes of one file
	grepBlock    = 64 << 10  // bytes between two looks at the signal, and the longest line
)

type grep struct{ memory *memory }

// InterruptBehaviour implements [interrupt.Behaviourer].
func (g *grep) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Spec implements [tool.Tool].
func (g *grep) Spec() tool.Spec {
	return tool.Spec{Name: "grep", Effect: tool.Pure, Concurrent: true, AsksCall: g.memory.asksBeyond("search"), Touches: g.memory.folderTouches,
		Description: "Search the text of files, line by line, for a regular expression (RE2 syntax). Binary files, .git and what .gitignore and " +
			".ignore leave out are not searched; all also searches ignored files.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{` +
			`"pattern":{"type":"string","description":"a regular expression"},` +
			`"path":{"type":"string","description":"the file or folder to search; the workspace if it is not given"},` +
			`"glob":{"type":"string","description":"only files whose name or path matches, such as *.go or cmd/**"},` +
			`"ignore_case":{"type":"boolean"},` +
			`"context":{"type":"integer","minimum":0,"maximum":20,"description":"lines to show around each match"},` +
			`"mode":{"type":"string","enum":["lines","files","count"],"description":"show lines (the default), only names, or a count for each file"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":2000,"description":"number of lines or files shown; 200 if it is not given"},` +
			`"all":{"type":"boolean","description":"also what ignore files leave out"}}}`)}
}

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Fold    bool   `json:"ignore_case"`
	Context int    `json:"context"`
	Mode    string `json:"mode"`
	Limit   int    `json:"limit"`
	All     bool   `json:"all"`
}

// search is one grep under way.
type search struct {
	grepArgs
	walker
	re    *regexp.Regexp
	place place

	out     strings.Builder
	shownN  int // lines or files in out
	files   int // that were searched
	hits    int // files with a match
	lines   int // that matched
	bytes   int64
	binary  int
	failed  int
	cut     bool // there is more that matches than was looked for
	partial bool // a file was too big to be searched to its end
}

func (a *grepArgs) compile() (*regexp.Regexp, error) {
	if a.Pattern == "" || len(a.Pattern) > mostPattern*8 {
		return nil, tool.Replyf("the pattern is empty or longer than %d bytes; give a regular expression", mostPattern*8)
	}
	if a.Glob != "" {
		if err := checkGlob(a.Glob); err != nil {
			return nil, err
		}
	}
	if a.Limit <= 0 {
		a.Limit = someMatches
	}
	a.Limit, a.Context = min(a.Limit, mostMatches), min(max(a.Context, 0), mostAround)
	flags := ""
	if a.Fold {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + a.Pattern)
	if err != nil {
		return nil, tool.Replyf("the pattern is not a regular expression of RE2: %w; correct it (put a \\ before a character that is meant itself)", err)
	}
	return re, nil
}

// Execute implements [tool.Tool].
func (g *grep) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	s := &search{}
	if err := tool.DecodeArgs(call.Args, &s.grepArgs); err != nil {
		return tool.Result{}, err
	}
	var err error
	if s.re, err = s.compile(); err != nil {
		return tool.Result{}, err
	}
	if s.place, err = g.memory.locate(call, or(s.Path, ".")); err != nil {
		return tool.Result{}, err
	}
	s.walker.signal, s.walker.all, s.visit = tool.SignalOf(call), s.All, s.entry
	fi, err := os.Stat(s.place.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Result{}, tool.Replyf("%s does not exist; check the path, or find it with glob", s.place.show)
	case err != nil:
		return tool.Result{}, tool.Replyf("%s can't be searched: %w", s.place.show, err)
	case !fi.IsDir():
		return s.one(call)
	}
	if s.root, s.top, err = openTop(call, s.place); err != nil {
		return tool.Result{}, err
	}
	defer s.root.Close()
	s.hidden = g.memory.hides(s.place, s.top)
	return s.result(s.walk())
}

// one searches a single file.
func (s *search) one(call *tool.Call) (tool.Result, error) {
	f, _, err := openFile(s.place, call.Dir)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	err = s.file(s.place.show, f)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return s.result(err)
}

// entry searches one entry of the walk.
func (s *search) entry(rel string, e fs.DirEntry) error {
	if !e.Type().IsRegular() || s.Glob != "" && !s.wanted(fromTop(s.top, rel)) {
		return nil
	}
	if err := s.walker.signal.Checkpoint(); err != nil {
		return err
	}
	f, _, err := openRegular(s.root, rel)
	if err != nil {
		s.failed++
		return nil
	}
	defer f.Close()
	return s.file(s.shown(s.place, rel), f)
}

func (s *search) wanted(rel string) bool {
	if !strings.Contains(s.Glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(s.Glob, "./"), rel)
}

// file goes through one file. What is binary at its beginning is left out.
func (s *search) file(name string, f io.Reader) error {
	src := bufio.NewReaderSize(f, grepBlock)
	head, err := src.Peek(8 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed++
		return nil
	}
	if bytes.IndexByte(head, 0) >= 0 {
		s.binary++
		return nil
	}
	s.files++
	v := &view{search: s, name: name}
	err = v.scan(src)
	if v.hits > 0 {
		s.hits++
		if s.Mode == "count" && s.room() {
			s.put(fmt.Sprintf("%s: %d\n", strings.TrimSuffix(pathLine(name), "\n"), v.hits))
		}
	}
	return err
}

// room reports whether one more line or file may be shown.
func (s *search) room() bool { return s.shownN < s.Limit && s.out.Len() < mostText }

func (s *search) put(line string) { s.shownN++; s.out.WriteString(line) }

// result says what was found and what was not looked at.
func (s *search) result(walked error) (tool.Result, error) {
	stopped := walked != nil
	b := &s.out
	switch {
	case s.lines == 0 && !stopped:
		fmt.Fprintf(b, "[no match in %s]\n", plural(s.files, "file"))
	case s.cut:
		fmt.Fprintf(b, "[there is more: %s found so far; make the pattern, the path or the glob narrower]\n", plural(s.lines, "matching line"))
	}
	b.WriteString(s.notes())
	for _, n := range []struct {
		n    int
		what string
	}{{s.binary, "binary file"}, {s.failed, "file"}} {
		if n.n > 0 {
			fmt.Fprintf(b, "[%s not searched]\n", plural(n.n, n.what))
		}
	}
	if s.partial {
		fmt.Fprintf(b, "[a file was searched only in its first %d bytes]\n", mostGrepFile)
	}
	res := tool.Text(b.String())
	res.Stopped = stopped
	return res, nil
}

// view is one file under search.
type view struct {
	*search
	name   string
	hits   int
	n      int      // of the line
	before []string // the last lines, for context
	after  int      // lines still to be shown after a match
	last   int      // the last line shown
}

// scan goes through the lines. One that is longer than a block is looked at in
// parts.
func (v *view) scan(src *bufio.Reader) error {
	begins, sinceLook, size := true, 0, int64(0)
	for {
		part, err := src.ReadSlice('\n')
		if len(part) == 0 && err != nil {
			break
		}
		if begins {
			v.n++
		}
		begins = !errors.Is(err, bufio.ErrBufferFull)
		sinceLook += len(part)
		size += int64(len(part))
		if sinceLook >= grepBlock {
			sinceLook = 0
			if err := v.walker.signal.Checkpoint(); err != nil {
				return err
			}
		}
		if err := v.line(bytes.TrimRight(part, "\r\n")); err != nil {
			return err
		}
		if v.bytes += int64(len(part)); v.bytes >= mostGrepped {
			v.bound = fmt.Sprintf("only %d bytes were searched", int64(mostGrepped))
			return errEnough
		}
		if size >= mostGrepFile {
			v.partial = true
			return nil
		}
		if v.Mode == "files" && v.hits > 0 {
			return nil
		}
	}
	return nil
}

func (v *view) line(line []byte) error {
	if !v.re.Match(line) {
		if v.after > 0 {
			v.after--
			v.show(v.n, '-', shorten(line))
		} else if v.Context > 0 {
			v.before = append(v.before, shorten(line))
			v.before = v.before[max(0, len(v.before)-v.Context):]
		}
		return nil
	}
	if !v.room() {
		v.cut = true
		return errEnough
	}
	v.hits++
	v.lines++
	switch v.Mode {
	case "files":
		v.put(pathLine(v.name))
		return nil
	case "count":
		return nil
	}
	if v.Context > 0 && v.last > 0 && v.n-len(v.before) > v.last+1 {
		v.out.WriteString("--\n")
	}
	for i, l := range v.before {
		v.show(v.n-len(v.before)+i, '-', l)
	}
	v.before = v.before[:0]
	v.show(v.n, ':', shorten(line))
	v.shownN++
	v.after = v.Context
	return nil
}

// show writes a line with the file's name and its number.
func (v *view) show(n int, sep byte, text string) {
	v.last = n
	fmt.Fprintf(&v.out, "%s%c%d%c%s\n", strings.TrimSuffix(pathLine(v.name), "\n"), sep, n, sep, text)
}

// shorten is a line as it is shown: text, and not too long.
func shorten(line []byte) string {
	if len(line) <= mostShown {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	head := wholeRunes(line[:mostShown])
	return strings.ToValidUTF8(string(head), "\uFFFD") + fmt.Sprintf(" [… %d bytes more]", len(line)-len(head))
}
