package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ripcord-go/ripcord/event"
)

// Bounds of the live part, in rows.
const (
	liveOutput  = 5
	liveThought = 2
	liveQueue   = 4
)

// live returns the rows between the printed text and the line: what streams,
// what runs, the question, the queue, the open layer. Each is one row of at
// most width columns; no more than height rows come back.
func (c *chat) rows(now time.Time, width, height int) []string {
	var below []string
	below = append(below, c.askRows(width)...)
	below = append(below, c.queueRows(width)...)
	below = append(below, c.layerRows(now)...)
	below = append(below, c.statusRows(now)...)
	below = append(below, c.chipRow()...)
	above := c.callRows(now)
	room := height - len(below) - len(above)
	rows := append(c.streamRows(width, room), above...)
	rows = append(rows, below...)
	for i := range rows {
		rows[i] = short(rows[i], width)
	}
	if over := len(rows) - max(1, height); over > 0 {
		rows = rows[over:]
	}
	return rows
}

// streamRows shows the end of what streams. Only a bounded piece of it is
// wrapped, however long it is.
func (c *chat) streamRows(width, room int) []string {
	if c.phase == idle {
		return nil
	}
	const piece = 4 << 10
	if tail := c.stream.tail(); strings.TrimSpace(tail) != "" {
		cut := tail[max(0, len(tail)-piece):]
		text := ansi.Wrap(strings.ReplaceAll(clean(strings.ToValidUTF8(cut, "")), "\t", "    "), max(4, width-1), "")
		return lastLines(text, max(1, min(room, 12)))
	}
	if c.stream.think != "" && c.stream.said == "" {
		think := ansi.Wrap(clean(c.stream.think), max(4, width-3), "")
		var out []string
		for _, l := range lastLines(think, liveThought) {
			out = append(out, quiet("· "+l))
		}
		return out
	}
	return nil
}

// callRows shows each running call with its time and the end of its output.
func (c *chat) callRows(now time.Time) []string {
	if c.phase == idle {
		return nil
	}
	var out []string
	for i := range c.turn.calls {
		k := &c.turn.calls[i]
		if !k.started || k.how() != "" {
			continue
		}
		out = append(out, "● "+bold(k.name)+" "+k.args+quiet(" · "+seconds(now.Sub(k.from))))
		for _, l := range lastLines(clean(k.tail), liveOutput) {
			out = append(out, quiet("  "+strings.ReplaceAll(l, "\t", "    ")))
		}
	}
	return out
}

func (c *chat) askRows(width int) []string {
	if len(c.approvals) == 0 {
		return nil
	}
	q := c.approvals[0]
	var out []string
	for i, l := range strings.Split(ansi.Wrap(q.Tool+": "+q.Prompt, max(8, width-4), ""), "\n") {
		if i == 0 {
			l = bold(l)
		}
		out = append(out, yellow("? ")+l)
	}
	more := ""
	if n := len(c.approvals) - 1; n > 0 {
		more = " · " + itoa(n) + " more after it"
	}
	if q.Question {
		for i, o := range q.Options {
			out = append(out, "  "+itoa(i+1)+" "+ansi.Truncate(oneLine(o), max(8, width-6), "…"))
		}
		return append(out, quiet("  type the answer and press enter"+numbered(q.Options)+" · /skip gives none"+more))
	}
	if c.draft != "" {
		return append(out, quiet("  empty the line to answer (esc puts it away)"+more))
	}
	return append(out, "  allow? [y/N]"+quiet(more))
}

func numbered(options []string) string {
	if len(options) == 0 {
		return ""
	}
	return " (a number picks one)"
}

// queueRows lists what waits, each with its kind, and the ways out. What
// stands in the line is not said twice.
func (c *chat) queueRows(width int) []string {
	if c.phase == sending || c.layer == queueLayer {
		return nil
	}
	var out []string
	n, lent := 0, 0
	for i := range c.inbox {
		w := &c.inbox[i]
		switch {
		case slices.Contains(c.lent, w.id):
			lent++
			continue
		case c.underwayIn(w.id):
			continue
		}
		if n++; n <= liveQueue {
			out = append(out, quiet("  ↳ "+w.place()+": ")+short(w.label(), width))
		}
	}
	if n > liveQueue {
		out = append(out, quiet("  … "+itoa(n-liveQueue)+" more: /queue"))
	}
	switch {
	case lent > 0:
		out = append(out, quiet("  ")+c.heldLine())
	case n > 0 && c.phase == idle:
		out = append(out, "  "+c.heldLine())
	case n > 0:
		out = append(out, quiet("  alt+↑ takes the last one back · alt+enter sends the first now · ctrl+x drops them"))
	}
	return out
}

// place says where an input waits.
func (w *waiting) place() string {
	switch {
	case w.held:
		return "held"
	case w.kind == event.TurnWake:
		return "wake"
	case w.priority == event.PriorityNow:
		return "now"
	case w.priority == event.PriorityNext:
		return "steer after this step"
	}
	return "queue next turn"
}

func (c *chat) layerRows(now time.Time) []string {
	switch c.layer {
	case helpLayer:
		return c.helpRows()
	case jobsLayer:
		out := []string{bold("jobs") + quiet("  ↑↓ choose · x end · esc close")}
		if len(c.jobList) == 0 {
			return append(out, quiet("  none"))
		}
		for i, j := range c.jobList {
			at := "  "
			if i == c.jobAt {
				at = "› "
			}
			out = append(out, at+string(j.ID)+" "+oneLine(string(j.State))+" "+seconds(now.Sub(j.Started))+"  "+oneLine(j.Command))
		}
		return out
	case rewindLayer:
		return c.rewindRows()
	case queueLayer:
		out, ways := []string{bold("waiting") + quiet("  esc close")}, "  alt+↑ takes the last one back · alt+enter sends the first now · /clear-queue drops them"
		if c.lines {
			out, ways = []string{"waiting"}, "  /now sends the first now · /clear-queue drops them"
		}
		for i := range c.inbox {
			w := &c.inbox[i]
			by := ""
			if !w.mine() && w.by != "" {
				by = quiet(" (" + oneLine(w.by) + ")")
			}
			out = append(out, "  "+quiet(w.place()+": ")+w.label()+by)
		}
		return append(out, quiet(ways))
	case noLayer:
	}
	if !c.completing() {
		return nil
	}
	var out []string
	for _, m := range c.matches() {
		out = append(out, "  "+bold(m.name)+quiet("  "+m.help))
	}
	return out
}

// helpRows fit into a small window; lines are not bound by one.
func (c *chat) helpRows() []string {
	out := []string{
		bold("keys"),
		"  enter      send; while a turn runs: steer it, after its step",
		"  tab        queue for a turn of its own    alt+enter  interrupt, send now",
		"  alt+↑      take the last waiting text back    ctrl+x  drop what waits",
		"  esc        close, else interrupt; again: kill now; twice when idle: rewind",
		"  ctrl+c     clear the line, else interrupt; twice within 2 s: leave",
		"  ctrl+j     new line        ↑ ↓  earlier texts",
		"  ctrl+d     leave, on an empty line     ctrl+l  redraw     ctrl+z  suspend",
		"  y n        answer a question; enter is no, esc also stops the turn",
	}
	if c.lines {
		out = append(out, bold("commands"))
		for _, m := range commands() {
			out = append(out, "  "+m.name+strings.Repeat(" ", max(1, 14-len(m.name)))+m.help)
		}
		return out
	}
	row := ""
	var names []string
	for _, m := range commands() {
		if len(row)+len(m.name) > 60 {
			names, row = append(names, row), ""
		}
		row += m.name + " "
	}
	return append(out, append(indent(append(names, row)), quiet("  type / to see what each does"))...)
}

// statusRows says what is going on, in one row.
func (c *chat) statusRows(now time.Time) []string {
	var out []string
	if c.storage != "" {
		out = append(out, red("! "+c.storage+": what happens now may not be kept"))
	}
	switch c.phase {
	case idle:
		if n := c.unwinding(); n > 0 {
			out = append(out, yellow("◌ ")+counted(n, "call")+" of the stopped turn still unwinding")
		}
	case sending:
		out = append(out, "● sending …")
	case running:
		what := "working"
		if c.turn.attempt != "" {
			what = c.turn.attempt
		} else if c.status != "" {
			what = oneLine(c.status)
		}
		if n := c.turn.used.out; n.known {
			what += quiet(" · " + n.String() + " tokens out")
		}
		out = append(out, green("● ")+what+quiet(" · "+seconds(now.Sub(c.turn.from))))
	case stopping, killing:
		word := "Stopping"
		if c.phase == killing {
			word = "Killing"
		}
		since := ""
		if !c.turn.asked.IsZero() {
			since = " · " + seconds(now.Sub(c.turn.asked))
		}
		line := yellow("◌ ") + word + since + quiet(c.asking())
		if c.freed {
			line += quiet(" · the line is yours, texts wait")
		}
		out = append(out, line)
	}
	return out
}

func (c *chat) asking() string {
	var names []string
	for i := range c.turn.calls {
		if k := &c.turn.calls[i]; k.started && k.how() == "" {
			names = append(names, k.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " · " + strings.Join(names, ", ") + " asked to stop"
}

// unwinding counts the calls of the last turn that did not stop in time.
func (c *chat) unwinding() int {
	n := 0
	for i := range c.turn.calls {
		if c.turn.calls[i].loose {
			n++
		}
	}
	return n
}

// footer always says what Esc will do, first: a narrow window cuts the rest.
func (c *chat) footer(now time.Time) string {
	parts := []string{c.escMeans()}
	switch {
	case len(c.approvals) > 0 && c.approvals[0].Question:
		parts = append(parts, "enter answers")
	case len(c.approvals) > 0 && c.draft == "":
		parts = append(parts, "y allow", "n refuse (default)")
	case c.phase.busy():
		enter := "enter steer"
		if c.priority() != event.PriorityNext {
			enter = "enter queue"
		}
		parts = append(parts, enter, "tab queue", "alt+enter now")
	case c.line().blank() && len(c.inbox) > 0:
		parts = append(parts, "enter sends "+itoa(len(c.inbox))+" held", "ctrl+x drops")
	default:
		parts = append(parts, "enter send", "ctrl+j new line")
	}
	if c.armed(now) {
		parts = append(parts, "ctrl+c leave")
	}
	if n := len(c.jobs); n > 0 {
		parts = append(parts, counted(n, "job"))
	}
	return strings.Join(append(parts, "/help"), " · ")
}
