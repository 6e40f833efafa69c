package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

type edit struct{ memory *memory }

// Spec implements [tool.Tool].
func (e *edit) Spec() tool.Spec {
	return tool.Spec{Name: "edit", Effect: tool.Unsafe, AsksCall: e.asks, Touches: e.memory.touches,
		Description: "Replace one passage of a text file. old must be exactly what stands in the file, white space included, without " +
			"line numbers, and must stand there once, unless replace_all is true.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{` +
			`"path":{"type":"string","description":"absolute, or relative to the workspace"},` +
			`"old":{"type":"string","description":"the passage as it stands in the file"},` +
			`"new":{"type":"string","description":"what is to stand in its place"},` +
			`"replace_all":{"type":"boolean","description":"replace every place where old stands"}}}`)}
}

type editArgs struct {
	Path string  `json:"path"`
	Old  string  `json:"old"`
	New  *string `json:"new"`
	All  bool    `json:"replace_all"`
}

func (e *edit) asks(call *tool.Call) (prompt string, ask bool) {
	var a editArgs
	if tool.DecodeArgs(call.Args, &a) != nil || a.New == nil {
		return "edit a file that is not named", true
	}
	p := e.memory.asking(call, a.Path)
	return fmt.Sprintf("edit %s (-%d +%d lines)%s", tool.OneLine(p.show, 500), countLines([]byte(a.Old)), countLines([]byte(*a.New)), beyond(p)), true
}

// Execute implements [tool.Tool].
func (e *edit) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a editArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	switch {
	case a.New == nil:
		return tool.Result{}, tool.Replyf("there is no new; send the call again, with an empty new to take old away")
	case a.Old == "":
		return tool.Result{}, tool.Replyf("old is empty; give the passage to replace, or use write for a new file")
	case a.Old == *a.New:
		return tool.Result{}, tool.Replyf("old and new are the same; nothing was changed")
	}
	p, err := e.memory.locate(call, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	r := replacement{place: p}
	before, err := r.load(call, e.memory)
	if err != nil {
		return tool.Result{}, err
	}
	a.adopt(before)
	n, err := a.count(p, before)
	if err != nil {
		return tool.Result{}, err
	}
	if size := len(before) + n*(len(*a.New)-len(a.Old)); size > mostWhole {
		return tool.Result{}, tool.Replyf("%s would have %d bytes, the most is %d; nothing was changed, change it in bash", p.show, size, mostWhole)
	}
	r.content = bytes.ReplaceAll(before, []byte(a.Old), []byte(*a.New))
	now, err := r.commit(call)
	if err != nil {
		return tool.Result{}, err
	}
	e.memory.see(call, p.real, now)
	line := 1 + bytes.Count(before[:bytes.Index(before, []byte(a.Old))], []byte("\n"))
	res := tool.Text(fmt.Sprintf("edited %s: %s replaced, the first at line %d", p.show, plural(n, "passage"), line))
	res.Diff = diff(p.show, before, r.content)
	return res, nil
}

// adopt gives old and new the line ending of a file all of whose lines end in
// "\r\n": a model sees no difference and would mix them.
func (a *editArgs) adopt(content []byte) {
	crlf := bytes.Count(content, []byte("\r\n"))
	if crlf == 0 || crlf != bytes.Count(content, []byte("\n")) || strings.Contains(a.Old+*a.New, "\r") {
		return
	}
	a.Old = strings.ReplaceAll(a.Old, "\n", "\r\n")
	wide := strings.ReplaceAll(*a.New, "\n", "\r\n")
	a.New = &wide
}

// count returns how often old stands in content, or why that is no edit.
func (a editArgs) count(p place, content []byte) (int, error) {
	old := []byte(a.Old)
	n := bytes.Count(content, old)
	switch {
	case n == 0:
		return 0, tool.Replyf("old does not stand in %s%s; read the file and give the passage exactly as it is", p.show, hint(content, a.Old))
	case n > 1 && !a.All:
		return 0, tool.Replyf("old stands %d times in %s, at lines %s; give more of what is around it, or set replace_all", n, p.show, linesOf(content, old))
	}
	return n, nil
}

const mostNamed = 8 // lines named in a hint

func linesOf(content, old []byte) string {
	var at []string
	line, from := 1, 0
	for len(at) < mostNamed {
		i := bytes.Index(content[from:], old)
		if i < 0 {
			return strings.Join(at, ", ")
		}
		line += bytes.Count(content[from:from+i], []byte("\n"))
		at = append(at, fmt.Sprint(line))
		line += bytes.Count(old, []byte("\n"))
		from += i + len(old)
	}
	return strings.Join(at, ", ") + ", …"
}

// hint says what comes near to old.
func hint(content []byte, old string) string {
	if bytes.Contains(content, []byte("\r\n")) && bytes.Contains(content, []byte(strings.ReplaceAll(old, "\n", "\r\n"))) {
		return ` (its lines end in "\r\n", old's in "\n")`
	}
	return newBody(content).spaced(old)
}

// spaced says where something stands that differs from old in white space only.
func (b *body) spaced(old string) string {
	lines := strings.Split(strings.Trim(old, "\n"), "\n")
	if strings.TrimSpace(lines[0]) == "" {
		return ""
	}
	if at := b.alike(lines, 0); len(at) > 0 {
		return fmt.Sprintf(" (at line %d something differs from it in white space only)", at[0]+1)
	}
	return ""
}
