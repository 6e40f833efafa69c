package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/tool"
)

type write struct{ memory *memory }

// Spec implements [tool.Tool].
func (w *write) Spec() tool.Spec {
	return tool.Spec{Name: "write", Effect: tool.Unsafe, AsksCall: w.asks, Touches: w.memory.touches,
		Description: "Write a whole file, making its folders as needed. A file that exists has to be read first and must not have " +
			"changed since. To change a part of a file use edit.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{` +
			`"path":{"type":"string","description":"absolute, or relative to the workspace"},` +
			`"content":{"type":"string","description":"the whole new content"}}}`)}
}

type writeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func (w *write) asks(call *tool.Call) (prompt string, ask bool) {
	var a writeArgs
	if tool.DecodeArgs(call.Args, &a) != nil || a.Content == nil {
		return "write a file that is not named", true
	}
	p := w.memory.asking(call, a.Path)
	return fmt.Sprintf("write %s (%s, %s)%s", tool.OneLine(p.show, 500), plural(countLines([]byte(*a.Content)), "line"),
		plural(len(*a.Content), "byte"), beyond(p)), true
}

func beyond(p place) string {
	if p.outside {
		return " (outside the workspace)"
	}
	return ""
}

// Execute implements [tool.Tool].
func (w *write) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a writeArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	if a.Content == nil {
		return tool.Result{}, tool.Replyf("there is no content; send the call again with the whole new content")
	}
	p, err := w.memory.locate(call, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	r := replacement{place: p, content: []byte(*a.Content)}
	before, err := w.base(call, &r)
	if err != nil {
		return tool.Result{}, err
	}
	now, err := r.commit(call)
	if err != nil {
		return tool.Result{}, err
	}
	w.memory.see(call, p.real, now)
	res := tool.Text(fmt.Sprintf("wrote %s: %s, %s", p.show, plural(countLines(r.content), "line"), plural(len(r.content), "byte")))
	switch {
	case r.was == nil:
		res.Diff = renamedDiff("", p.show, nil, r.content)
	case r.was.Size() <= mostDiff: // of a larger one nobody has looked at what was there
		res.Diff = diff(p.show, before, r.content)
	}
	return res, nil
}

// base fills in what r replaces and returns its content, nil for a new file.
func (w *write) base(call *tool.Call, r *replacement) (before []byte, err error) {
	fi, err := os.Stat(r.place.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, tool.Replyf("%s can't be looked at: %w", r.place.show, err)
	case !fi.Mode().IsRegular():
		return nil, tool.Replyf("%s is not a regular file (%s); choose another path", r.place.show, fi.Mode().Type())
	}
	seen, ok := w.memory.of(call, r.place.real)
	if !ok {
		return nil, tool.Replyf("%s exists and you have not read it; read it first, then write it (what was read before a restart is not remembered)", r.place.show)
	}
	r.base, r.was = &seen, fi
	dir, err := openFolder(call, r.place, false)
	if err != nil {
		return nil, r.failed("its folder can't be opened", err)
	}
	defer dir.close(true)
	r.dir = dir
	err = r.still()
	r.dir = nil
	if _, reply := errors.AsType[*tool.Error](err); reply || err == nil {
		if err == nil && fi.Size() <= mostDiff {
			before, _ = dir.content(r.name(), mostDiff) // for the diff alone
		}
		return before, err
	}
	return nil, r.failed("it can't be looked at", err)
}

func countLines(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
