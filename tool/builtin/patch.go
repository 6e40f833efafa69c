package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

const mostPatch = 4 << 20 // bytes of one patch

type patch struct{ memory *memory }

// InterruptBehaviour implements [interrupt.Behaviourer]: until its first file
// is changed a patch can be stopped, and nothing was done.
func (p *patch) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Spec implements [tool.Tool].
func (p *patch) Spec() tool.Spec {
	return tool.Spec{Name: "apply_patch", Effect: tool.Unsafe, AsksCall: p.asks, Touches: p.touches,
		Description: "Change several files in one go. The patch is text:\n" +
			"*** Begin Patch\n*** Add File: new.txt\n+each line of it\n*** Update File: old.go\n*** Move to: other.go   (optional)\n" +
			"@@ func above the change()   (optional: a line that stands above)\n a line that stays\n-a line that goes\n+a line that comes\n" +
			"*** Delete File: gone.txt\n*** End Patch\n" +
			"Lines that stay or go must stand in the file exactly so; give about three around each change. *** End of File after a hunk " +
			"says that it is at the end. All files are checked before the first is written.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["patch"],"properties":{` +
			`"patch":{"type":"string","description":"the patch, from *** Begin Patch to *** End Patch"}}}`)}
}

type patchArgs struct {
	Patch string `json:"patch"`
}

func (p *patch) sections(call *tool.Call) ([]section, error) {
	var a patchArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return nil, err
	}
	if len(a.Patch) > mostPatch {
		return nil, tool.Replyf("the patch has %d bytes, the most is %d; send it in parts", len(a.Patch), mostPatch)
	}
	return parsePatch(a.Patch)
}

// paths lists what the sections name, in order.
func paths(sections []section) (out []string) {
	for _, s := range sections {
		if out = append(out, s.path); s.move != "" {
			out = append(out, s.move)
		}
	}
	return out
}

func (p *patch) asks(call *tool.Call) (prompt string, ask bool) {
	sections, err := p.sections(call)
	if err != nil {
		return "apply a patch that can't be read", true
	}
	var away []string
	shown := map[string]string{}
	for _, path := range paths(sections) {
		at := p.memory.asking(call, path)
		shown[path] = tool.OneLine(at.show, 200)
		if at.outside {
			away = append(away, shown[path])
		}
	}
	prompt = "patch: " + describe(sections, func(path string) string { return shown[path] })
	switch {
	case len(away) > mostNamed:
		prompt += fmt.Sprintf(" (outside the workspace: %s and %d more)", strings.Join(away[:mostNamed], ", "), len(away)-mostNamed)
	case len(away) > 0:
		prompt += fmt.Sprintf(" (outside the workspace: %s)", strings.Join(away, ", "))
	}
	return prompt, true
}

func (p *patch) touches(call *tool.Call) (out []string, ok bool) {
	sections, err := p.sections(call)
	if err != nil {
		return nil, false
	}
	for _, path := range paths(sections) {
		at, err := p.memory.judge(call, path)
		if err != nil {
			return nil, false
		}
		out = append(out, at.real)
	}
	return out, true
}

// change is what is to be done for one section: one or, for a move, two
// replacements, in this order.
type change struct {
	section
	show   string
	steps  []*replacement
	before []byte
}

// Execute implements [tool.Tool].
//
//	parse ▶ look at every file, in memory ▶ stage every file ▶ put each ▶ settle
//	└────────── a stop or an error leaves nothing ──────────┘ └ told file by file
func (p *patch) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	sections, err := p.sections(call)
	if err != nil {
		return tool.Result{}, err
	}
	signal := tool.SignalOf(call)
	var changes []*change
	defer func() {
		for _, c := range changes {
			for _, w := range c.steps {
				w.close()
			}
		}
	}()
	taken := map[string]bool{}
	for _, s := range sections {
		if signal.Cancelled() {
			return untouched()
		}
		c, err := p.plan(call, s, taken)
		if err != nil {
			return tool.Result{}, err
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		for _, w := range c.steps {
			if signal.Cancelled() {
				return untouched()
			}
			if err := w.stage(call); err != nil {
				return tool.Result{}, err
			}
		}
	}
	if signal.Cancelled() {
		return untouched()
	}
	return p.commit(call, changes)
}

// untouched is the end of a patch that was stopped before its first change.
func untouched() (tool.Result, error) {
	res := tool.Text("no file was changed: the patch was stopped before its first write")
	res.Success, res.Stopped = false, true
	return res, nil
}

// plan looks at the files of one section and works the change out in memory.
func (p *patch) plan(call *tool.Call, s section, taken map[string]bool) (*change, error) {
	at, err := p.take(call, s.path, taken)
	if err != nil {
		return nil, err
	}
	c := &change{section: s, show: at.show}
	if s.verb == verbAdd {
		if err := absent(at, `use "*** Update File: " to change it`); err != nil {
			return nil, err
		}
		c.steps = []*replacement{{place: at, content: []byte(s.text)}}
		return c, nil
	}
	old := &replacement{place: at, gone: s.verb == verbDelete}
	if c.before, err = old.load(call, p.memory); err != nil {
		return nil, err
	}
	if s.verb == verbDelete {
		if _, seen := p.memory.of(call, at.real); !seen {
			return nil, tool.Replyf("%s is to be deleted and you have not read it; read it first, or delete it in bash (what was read before a restart is not remembered)", at.show)
		}
		c.steps = []*replacement{old}
		return c, nil
	}
	b := newBody(c.before)
	if err := b.apply(s); err != nil {
		return nil, err
	}
	old.content = b.bytes()
	c.steps = []*replacement{old}
	if len(old.content) > mostWhole {
		return nil, tool.Replyf("%s would have %d bytes, the most is %d; change it in bash", at.show, len(old.content), mostWhole)
	}
	if s.move == "" {
		return c, nil
	}
	to, err := p.take(call, s.move, taken)
	if err != nil {
		return nil, err
	}
	if err := absent(to, "choose another path to move to"); err != nil {
		return nil, err
	}
	c.show += " → " + to.show
	c.steps = []*replacement{{place: to, content: old.content, was: old.was}, {place: at, base: old.base, was: old.was, gone: true}}
	return c, nil
}

// take resolves a path; two sections about one file are refused.
func (p *patch) take(call *tool.Call, path string, taken map[string]bool) (place, error) {
	at, err := p.memory.locate(call, path)
	if err != nil {
		return at, err
	}
	if taken[at.real] {
		return at, tool.Replyf("%s is named twice in the patch; nothing was changed, put all that is to be done to it into one section", at.show)
	}
	taken[at.real] = true
	return at, nil
}

// absent refuses a path where something is.
func absent(at place, instead string) error {
	_, err := os.Lstat(at.real)
	switch {
	case err == nil:
		return tool.Replyf("%s exists already; nothing was changed, %s", at.show, instead)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return tool.Replyf("%s can't be made: %w; nothing was changed, choose another path", at.show, err)
}

// commit puts each change in its place and makes all durable. Nothing stops it
// on the way but an error, which is told with what is changed and what is not.
func (p *patch) commit(call *tool.Call, changes []*change) (tool.Result, error) {
	var res tool.Result
	var done []string
	for i, c := range changes {
		if err := c.put(call, p.memory); err != nil {
			if len(done) == 0 && !c.steps[0].done {
				return res, tool.Replyf("%w; no file was changed", err)
			}
			return res, p.partly(changes, i, err)
		}
		done = append(done, c.told())
		res.Diff += c.diff()
	}
	synced := map[string]bool{}
	for _, c := range changes {
		for _, w := range c.steps {
			dir := filepath.Dir(w.place.real)
			if synced[dir] && len(w.dir.made) == 0 {
				continue
			}
			if err := w.settle(); err != nil {
				return res, err
			}
			synced[dir] = true
		}
	}
	out := tool.Text("patched " + plural(len(done), "file") + ":\n" + strings.Join(done, "\n"))
	out.Diff = res.Diff
	return out, nil
}

func (c *change) put(call *tool.Call, m *memory) error {
	for _, w := range c.steps {
		if err := w.put(call); err != nil {
			return err
		}
		if w.gone {
			m.forget(call, w.place.real)
		} else {
			m.see(call, w.place.real, w.now)
		}
	}
	return nil
}

// partly says what a patch did that could not be finished.
func (p *patch) partly(changes []*change, failed int, err error) error {
	var is, isNot []string
	for i, c := range changes {
		switch {
		case i < failed:
			is = append(is, c.show)
		case i > failed:
			isNot = append(isNot, c.show)
		case c.steps[0].done: // a move that left the old file
			is = append(is, fmt.Sprintf("%s (written, but %s is still there)", c.steps[0].place.show, c.steps[1].place.show))
		default:
			isNot = append(isNot, c.show)
		}
	}
	text := "the patch is applied in part: changed: " + strings.Join(is, ", ")
	if len(isNot) > 0 {
		text += "; not changed: " + strings.Join(isNot, ", ")
	}
	return tool.Replyf("%s; the reason: %w; look at the files before you go on", text, err)
}

func (c *change) told() string {
	minus, plus := c.counts()
	switch c.verb {
	case verbAdd:
		return fmt.Sprintf("added %s (%s)", c.show, plural(plus, "line"))
	case verbDelete:
		return "deleted " + c.show
	case verbUpdate:
	}
	if c.move != "" {
		return fmt.Sprintf("moved %s (-%d +%d)", c.show, minus, plus)
	}
	return fmt.Sprintf("edited %s (-%d +%d)", c.show, minus, plus)
}

// diff shows the change to people.
func (c *change) diff() string {
	first, last := c.steps[0], c.steps[len(c.steps)-1]
	after := first.content
	switch {
	case first.gone:
		return renamedDiff(first.place.show, "", c.before, nil)
	case c.verb == verbAdd:
		return renamedDiff("", first.place.show, nil, after)
	}
	if bytes.Equal(c.before, after) && c.move != "" {
		return fmt.Sprintf("--- a/%s\n+++ b/%s\n", last.place.show, first.place.show)
	}
	return renamedDiff(last.place.show, first.place.show, c.before, after)
}
