package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	someFound = 500    // results of a glob, if the call does not say
	mostFound = 5000   // that a call may ask for
	mostKept  = 50_000 // matches that are kept to be sorted
)

type glob struct{ memory *memory }

// InterruptBehaviour implements [interrupt.Behaviourer].
func (g *glob) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Spec implements [tool.Tool].
func (g *glob) Spec() tool.Spec {
	return tool.Spec{Name: "glob", Effect: tool.Pure, Concurrent: true, AsksCall: g.memory.asksBeyond("list files below"), Touches: g.memory.folderTouches,
		Description: "Find files by name, as in **/*.go or cmd/{a,b}/*.md. A pattern without a slash is looked for at every depth. " +
			"What .gitignore and .ignore leave out is not found, unless all is true; .git never is.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{` +
			`"pattern":{"type":"string","description":"with *, **, ?, [a-z] and {a,b}, from path down"},` +
			`"path":{"type":"string","description":"the folder to look in; the workspace if it is not given"},` +
			`"sort":{"type":"string","enum":["name","newest"],"description":"by name, or newest first; by name if it is not given"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":5000,"description":"number of files; 500 if it is not given"},` +
			`"all":{"type":"boolean","description":"also what ignore files leave out"}}}`)}
}

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Sort    string `json:"sort"`
	Limit   int    `json:"limit"`
	All     bool   `json:"all"`
}

type found struct {
	rel string
	at  time.Time
}

func doublestarValid(pattern string) bool { return doublestar.ValidatePattern(pattern) }

// Execute implements [tool.Tool].
func (g *glob) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a globArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	pattern := strings.TrimPrefix(a.Pattern, "./")
	switch {
	case pattern == "":
		return tool.Result{}, tool.Replyf("the pattern is empty; give one, such as **/*.go")
	case path.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), ".."):
		return tool.Result{}, tool.Replyf("the pattern is from path down; name the folder in path and leave / and .. out of the pattern")
	}
	if err := checkGlob(pattern); err != nil {
		return tool.Result{}, err
	}
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	p, err := g.memory.locate(call, or(a.Path, "."))
	if err != nil {
		return tool.Result{}, err
	}
	root, top, err := openTop(call, p)
	if err != nil {
		return tool.Result{}, err
	}
	defer root.Close()
	var all []found
	w := &walker{root: root, top: top, signal: tool.SignalOf(call), all: a.All, hidden: g.memory.hides(p, top)}
	w.visit = func(rel string, e fs.DirEntry) error {
		if e.IsDir() || !doublestar.MatchUnvalidated(pattern, fromTop(top, rel)) {
			return nil
		}
		f := found{rel: rel}
		if a.Sort == "newest" {
			if fi, err := e.Info(); err == nil {
				f.at = fi.ModTime()
			}
		}
		if all = append(all, f); len(all) == mostKept {
			w.bound = fmt.Sprintf("only the first %d files that match were looked at", mostKept)
			return errEnough
		}
		return nil
	}
	stopped := w.walk() != nil
	return a.result(w, p, all, stopped), nil
}

// fromTop is rel from top on.
func fromTop(top, rel string) string {
	if top == "." {
		return rel
	}
	return strings.TrimPrefix(rel, top+"/")
}

func (a globArgs) result(w *walker, p place, all []found, stopped bool) tool.Result {
	slices.SortStableFunc(all, func(x, y found) int { // by name within one time
		return cmp.Or(y.at.Compare(x.at), strings.Compare(x.rel, y.rel))
	})
	limit := a.Limit
	if limit <= 0 {
		limit = someFound
	}
	limit = min(limit, mostFound)
	var b strings.Builder
	n := 0
	for _, f := range all {
		if n == limit || b.Len() > mostText {
			break
		}
		b.WriteString(pathLine(w.shown(p, f.rel)))
		n++
	}
	switch {
	case len(all) == 0 && !stopped:
		b.WriteString("[no file matches " + tool.OneLine(a.Pattern, 200) + "]\n")
	case n < len(all):
		fmt.Fprintf(&b, "[%d more match; make the pattern or the path narrower]\n", len(all)-n)
	}
	b.WriteString(w.notes())
	res := tool.Text(b.String())
	res.Stopped = stopped
	return res
}

// pathLine is a path on a line of its own: one that would not be one line, or
// is not text, is quoted.
func pathLine(name string) string {
	if plain := tool.OneLine(name, len(name)+1); plain != name {
		return fmt.Sprintf("%q\n", name)
	}
	return name + "\n"
}
