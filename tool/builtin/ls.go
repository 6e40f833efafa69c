package builtin

import (
	"context"
	"encoding/json"
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

const (
	someListed = 1000 // entries that ls shows, if the call does not say
	mostListed = 5000
)

type ls struct{ memory *memory }

// InterruptBehaviour implements [interrupt.Behaviourer].
func (l *ls) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Spec implements [tool.Tool].
func (l *ls) Spec() tool.Spec {
	return tool.Spec{Name: "ls", Effect: tool.Pure, Concurrent: true, AsksCall: l.memory.asksBeyond("list"), Touches: l.memory.folderTouches,
		Description: "List a folder: for each entry its kind, its size in bytes and its name; a folder's name ends in /. Ignored files are shown too. " +
			"To find files at any depth use glob.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
			`"path":{"type":"string","description":"the folder; the workspace if it is not given"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":5000,"description":"number of entries; 1000 if it is not given"}}}`)}
}

type lsArgs struct {
	Path  string `json:"path"`
	Limit int    `json:"limit"`
}

// Execute implements [tool.Tool].
func (l *ls) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a lsArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	p, err := l.memory.locate(call, or(a.Path, "."))
	if err != nil {
		return tool.Result{}, err
	}
	fi, err := os.Stat(p.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Result{}, tool.Replyf("%s does not exist; list the folder above it", p.show)
	case err != nil:
		return tool.Result{}, tool.Replyf("%s can't be looked at: %w", p.show, err)
	case !fi.IsDir():
		return tool.Text(entryLine(fi.Mode(), fi.Size(), filepath.Base(p.show), "")), nil
	}
	root, top, err := openTop(call, p)
	if err != nil {
		return tool.Result{}, err
	}
	defer root.Close()
	return a.list(call, p, root, top, l.memory.hides(p, top))
}

func (a lsArgs) list(call *tool.Call, p place, root *os.Root, top string, hidden func(rel string) bool) (tool.Result, error) {
	f, err := root.Open(top)
	if err != nil {
		return tool.Result{}, tool.Replyf("%s can't be listed: %w", p.show, err)
	}
	defer f.Close()
	var names []string
	signal, stopped := tool.SignalOf(call), false
	for len(names) < mostFolder && !stopped {
		more, err := f.Readdirnames(batch)
		names = append(names, more...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tool.Result{}, tool.Replyf("%s can't be listed to its end: %w", p.show, err)
		}
		stopped = signal.Cancelled()
	}
	all := len(names)
	names = slices.DeleteFunc(names, func(name string) bool { return hidden(path.Join(top, name)) })
	slices.Sort(names)
	limit := a.Limit
	if limit <= 0 {
		limit = someListed
	}
	limit = min(limit, mostListed)
	var b strings.Builder
	n := 0
	more := func() bool { return n < len(names) && n < limit && b.Len() <= mostText }
	for more() && !stopped {
		b.WriteString(line(root, top, names[n]))
		n++
		stopped = more() && signal.Cancelled() // a list that is whole was not stopped
	}
	switch {
	case all == 0:
		b.WriteString("[" + p.show + " is empty]\n")
	case len(names) >= mostFolder:
		fmt.Fprintf(&b, "[%d of at least %d entries; look for files with glob]\n", n, len(names))
	case n < len(names):
		fmt.Fprintf(&b, "[%d of %d entries; give a limit, or look for files with glob]\n", n, len(names))
	}
	res := tool.Text(b.String() + hiddenNote(all-len(names)))
	res.Stopped = stopped
	return res, nil
}

// line describes one entry. What vanished meanwhile has no line.
func line(root *os.Root, top, name string) string {
	at := path.Join(top, name)
	fi, err := root.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return entryLine(fs.ModeIrregular, 0, name, "")
	}
	to := ""
	if fi.Mode()&fs.ModeSymlink != 0 {
		to, _ = root.Readlink(at) // "" if it can't be read
	}
	return entryLine(fi.Mode(), fi.Size(), name, to)
}

func entryLine(mode fs.FileMode, size int64, name, to string) string {
	kind, bytes := "?", "-"
	switch mode.Type() {
	case 0:
		kind, bytes = "file", fmt.Sprint(size)
	case fs.ModeDir:
		kind, name = "dir", name+"/"
	case fs.ModeSymlink:
		kind = "link"
	case fs.ModeNamedPipe:
		kind = "pipe"
	case fs.ModeSocket:
		kind = "sock"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		kind = "dev"
	}
	if to != "" {
		name += " -> " + to
	}
	return fmt.Sprintf("%-4s %10s  %s", kind, bytes, pathLine(name))
}
