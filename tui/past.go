package tui

import (
	"strconv"
	"strings"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// starting is how a turn is asked for that is not made of the line.
type starting int

const (
	onNothing starting = iota // continue
	onHeld                    // everything that is held
	again                     // retry the last turn
	summary                   // compact
)

// pastTurn is a turn that can be gone back to.
type pastTurn struct {
	no   int
	text string
}

// resume starts a turn that is not made of the line.
func (c *chat) resume(how starting) []effect {
	c.onTop, c.note, c.again = false, "", ""
	c.asked++
	c.begin()
	return []effect{goOn{c.asked, how}}
}

// retry asks the last turn again.
func (c *chat) retry() []effect {
	switch {
	case c.phase.busy():
		return c.say("a turn is running: Esc stops it, then /retry asks it again")
	case !c.retryable:
		return c.say("the last turn can't be asked again: it came to its own end, was hidden, or a summary stands for it")
	}
	return c.resume(again)
}

// rewindTo hides the turns from no on; 0 is the last one. Its text comes back.
func (c *chat) rewindTo(no int) []effect {
	if c.phase.busy() {
		return c.say("a turn is running: Esc stops it first")
	}
	c.layer, c.onTop = noLayer, false
	return []effect{rewind{api.RewindRequest{Session: c.session, Turn: no, Restore: true, By: who}}}
}

func (c *chat) wasRewound(in rewound) []effect {
	if in.err != nil {
		return c.say("not rewound: " + in.err.Error())
	}
	var back message
	for _, r := range in.got.Returned {
		w := waitingOf(event.InboxAccepted{ID: r.ID, Input: r.Input, Priority: r.Priority, By: r.By})
		if known := c.waits(r.ID); known != nil {
			w.mode, known.held = known.mode, true
		}
		if w.mine() {
			back = both(back, w.message())
		}
	}
	switch {
	case len(back.ids) == 0:
		return c.say("hidden; no text of yours was in it")
	case c.lines:
		c.lent = back.ids
		return c.print(lines("  held: "+oneLine(label(back.text, back.pics)),
			quiet("  your next line is sent in its place; an empty line sends it as it was")))
	}
	return append([]effect{c.join(back)}, c.say("your text is back: it stays held until you send it; no file was touched")...)
}

// waits returns the waiting input, nil if it does not wait.
func (c *chat) waits(id event.InputID) *waiting {
	for i := range c.inbox {
		if c.inbox[i].id == id {
			return &c.inbox[i]
		}
	}
	return nil
}

// hidden folds a rewind: what it hides can't be gone back to, nor asked again.
func (c *chat) hidden(b event.Rewound) []effect {
	for n := len(c.turns); n > 0 && c.turns[n-1].no >= b.From; n-- {
		c.turns = c.turns[:n-1]
	}
	c.retryable, c.onTop, c.again, c.why = false, false, "", b.Why
	what := "turn " + itoa(b.From)
	if b.From < c.turn.no {
		what = "turns " + itoa(b.From) + " to " + itoa(c.turn.no)
	}
	for _, back := range b.Returns {
		c.returned(back)
	}
	says := "↶ " + what + " hidden from the model; the journal keeps all of it, no file was touched"
	if b.Why == "retry" {
		says = "↻ " + what + " asked again from its start; what it had done to files is not undone"
	}
	if c.loading {
		kept := c.past[:0]
		for _, p := range c.past {
			if p.turn < b.From {
				kept = append(kept, p)
			}
		}
		c.past = kept
	}
	return c.print(lines(quiet(says)))
}

// returned puts an input back that a hidden turn had taken.
func (c *chat) returned(b event.Returned) {
	w, ok := c.taken[b.ID]
	if !ok {
		w = waiting{id: b.ID, text: "(its text is in the journal)"}
	}
	delete(c.taken, b.ID)
	w.priority, w.held = b.Priority, c.why != "retry"
	c.inbox = append(c.inbox, w)
	c.sortInbox()
}

func (c *chat) wasForked(in forked) []effect {
	if in.err != nil {
		return c.say("not forked: " + in.err.Error())
	}
	return c.print(lines("⑂ forked: the new session is "+oneLine(string(in.id)),
		quiet("  open it with: ripcord resume "+oneLine(string(in.id))+" · this session goes on as it was · no file was touched")))
}

// turnNumber reads the N of /rewind and /fork; 0 where there is none.
func turnNumber(text string) (int, bool) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0
}

// pickTurn opens the list of turns to go back to.
func (c *chat) pickTurn() []effect {
	switch {
	case c.phase.busy():
		return c.say("a turn is running: Esc stops it first")
	case len(c.turns) == 0:
		return c.say("there is no turn to go back to")
	}
	c.layer, c.turnAt = rewindLayer, len(c.turns)-1
	return nil
}

// pick moves in the open list; it reports false where none is open.
func (c *chat) pick(by int) bool {
	switch c.layer {
	case jobsLayer:
		c.jobAt = min(max(0, c.jobAt+by), max(0, len(c.jobList)-1))
	case rewindLayer:
		c.turnAt = min(max(0, c.turnAt+by), max(0, len(c.turns)-1))
	case noLayer, helpLayer, queueLayer:
		return false
	}
	return true
}

// shownPast is how many turns the list shows at once.
const shownPast = 8

func (c *chat) rewindRows() []string {
	keys := "  ↑↓ choose · enter hides that turn and all after it; its text comes back · esc close"
	if c.lines {
		keys = "  go back with: /rewind N; it hides turn N and all after it, its text comes back"
	}
	out := []string{bold("rewind") + quiet(keys), quiet("  nothing is removed from the journal, no file is touched")}
	from := max(0, min(c.turnAt-shownPast/2, len(c.turns)-shownPast))
	if c.lines {
		from = max(0, len(c.turns)-2*shownPast)
	}
	for i := from; i < len(c.turns) && (c.lines || i < from+shownPast); i++ {
		at := "  "
		if i == c.turnAt && !c.lines {
			at = "› "
		}
		out = append(out, at+itoa(c.turns[i].no)+"  "+short(oneLine(c.turns[i].text), 100))
	}
	return out
}
