package tui

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// OnInterrupt says what becomes of texts that wait when a person stops a turn.
type OnInterrupt string

const (
	// Restore puts them into the line. They stay held in the inbox until the
	// line is sent, so that nothing that was typed is lost. It is the default.
	Restore OnInterrupt = "restore"
	Hold    OnInterrupt = "hold" // they stay listed, until one key sends or drops them
	Drop    OnInterrupt = "drop" // they are dropped unrun, and that is said
)

// heldKeys are the ways out of what is held.
const heldKeys = "enter on an empty line sends, ctrl+x drops"

// send takes the line to the session: at once when idle, else it waits as its
// priority says.
func (c *chat) send(p event.Priority) []effect {
	m := c.line()
	sent := m
	sent.ids = nil
	c.remember(sent)
	if len(m.pics) > mostPictures {
		return c.say("no more than " + itoa(mostPictures) + " pictures to one message: ↑ and ctrl+c part them")
	}
	out := []effect{c.load(message{})}
	c.mode = ""
	return append(out, c.offer(m, p)...)
}

// offer submits m. It is on its way until it was answered.
func (c *chat) offer(m message, p event.Priority) []effect {
	c.onTop, c.note, c.again = false, "", ""
	c.asked++
	c.sends = with(c.sends, c.asked, &m)
	if c.phase == idle {
		c.begin()
	}
	return []effect{submit{c.asked, m, p}}
}

// priority is what Enter means: steer the turn that runs, else wait for a turn
// of its own.
func (c *chat) priority() event.Priority {
	if (c.phase == running || c.phase == sending) && !c.piped && c.turn.kind != event.TurnCompact {
		return event.PriorityNext
	}
	return event.PriorityLater
}

// now stops the turn for the line; with an empty line for what waits first.
func (c *chat) now(time.Time) []effect {
	if strings.HasPrefix(c.draft, "/") && len(c.matches()) > 0 {
		return c.say("a command is not sent; Enter gives it")
	}
	if !c.line().blank() {
		return c.send(event.PriorityNow)
	}
	if c.phase == idle && len(c.inbox) > 0 {
		return c.resume(onHeld)
	}
	for i := range c.inbox {
		w := c.inbox[i]
		if w.kind == event.TurnWake || w.priority == event.PriorityNow || c.underwayIn(w.id) {
			continue
		}
		return c.offer(message{text: w.text, ids: []event.InputID{w.id}, mode: w.mode, as: &w}, event.PriorityNow)
	}
	return c.say("nothing to send now")
}

// underwayIn reports whether id is in a message that was not answered yet.
func (c *chat) underwayIn(id event.InputID) bool {
	for _, m := range c.sends {
		if slices.Contains(m.ids, id) {
			return true
		}
	}
	return false
}

// takeLast takes the last input that waits back into the line: a held one is
// lent, one that a turn would take leaves the inbox first.
func (c *chat) takeLast() []effect {
	var w *waiting
	for i := range c.inbox {
		it := &c.inbox[i]
		if it.mine() && !slices.Contains(c.lent, it.id) && !c.underwayIn(it.id) && !c.taking[it.id] && (w == nil || it.seq > w.seq) {
			w = it
		}
	}
	switch {
	case w == nil:
		return c.say("nothing of yours waits")
	case w.held && !c.lines:
		return append([]effect{c.join(w.message())}, c.say("it stays held until the line is sent")...)
	}
	c.taking = with(c.taking, w.id, true)
	return []effect{takeBack{*w}}
}

func (w *waiting) message() message {
	return message{text: w.text, pics: w.pics, ids: []event.InputID{w.id}, mode: w.mode}
}

func (c *chat) wasTaken(in tookBack) []effect {
	c.taking = with(c.taking, in.w.id, false)
	switch {
	case isStale(in.err):
		return c.say("it is in the turn already; your line is as it was")
	case in.err != nil:
		return c.say("not taken back: " + in.err.Error())
	}
	m := in.w.message()
	m.ids = nil
	if c.lines {
		c.remember(m)
		return c.print(lines(quiet("taken back: " + in.w.label())))
	}
	return append([]effect{c.join(m)}, c.say("taken back: no turn takes it now")...)
}

func isStale(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == "stale"
}

// clearQueue drops what waits, on one key.
func (c *chat) clearQueue() []effect {
	if len(c.inbox) == 0 {
		return c.say("nothing waits")
	}
	return []effect{clearInbox{}}
}

// wasDropped tells of an input that left the inbox unrun. Its words stay
// within reach of ↑.
func (c *chat) wasDropped(b event.InboxDropped) []effect {
	w, ok := c.takeWaiting(b.ID)
	c.lent = without(c.lent, b.ID)
	if b.Why == event.DroppedRefused { // it could not be stored: what it stood for waits on
		for _, old := range w.instead {
			old.held = true
			c.inbox = append(c.inbox, old)
		}
		c.sortInbox()
	}
	if !ok || b.Why != "canceled" || c.loading {
		return nil
	}
	if w.mine() {
		c.remember(message{text: w.text, pics: w.pics, mode: w.mode})
	}
	if c.phase >= stopping {
		c.turn.dropped = append(c.turn.dropped, w.label())
		return nil
	}
	return c.print(lines(quiet("dropped unrun: " + short(w.label(), 60))))
}

func without(ids []event.InputID, id event.InputID) []event.InputID {
	return slices.DeleteFunc(slices.Clone(ids), func(x event.InputID) bool { return x == id })
}

// looked takes how the inbox stands: what is held there is for a person to
// send. After a stop of this person's it goes back to the line.
func (c *chat) wasLooked(in looked) []effect {
	held := map[event.InputID]bool{}
	for _, w := range in.waiting {
		held[w.ID] = w.Held
	}
	lentBefore := len(c.lent)
	for i := range c.inbox {
		c.inbox[i].held = in.err != nil || held[c.inbox[i].id]
	}
	if in.err == nil {
		c.lent = slices.DeleteFunc(slices.Clone(c.lent), func(id event.InputID) bool { return !held[id] })
	}
	var out []effect
	if n := lentBefore - len(c.lent); n > 0 {
		out = c.say(counted(n, "text") + " of your line is in a turn already: look at what is left to say")
	}
	if in.end == 0 {
		return out
	}
	out = append(out, c.handBack(in.restore)...)
	if c.onTop && c.lettered() && c.phase == idle && in.end == c.turn.no { // its card still waits for its last row
		out = append(out, c.onward()...)
	}
	return out
}

// handBack says on the card what is held behind a turn, and puts it into the
// line if that is wanted. It stays in the inbox.
func (c *chat) handBack(restore bool) []effect {
	var rows []string
	var back message
	for i := range c.inbox {
		w := &c.inbox[i]
		switch {
		case !w.held || slices.Contains(c.lent, w.id):
		case restore && w.mine() && len(c.pics)+len(back.pics)+len(w.pics) <= mostPictures:
			rows = append(rows, row("draft", short(w.label(), 50)+quiet("  back in your line")))
			back = both(back, w.message())
		default:
			rows = append(rows, row("held", short(w.label(), 50)))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	var lend []effect
	if len(back.ids) > 0 {
		lend = append(lend, c.join(back)) // first: the row below says how it stands then
		lend = append(lend, c.say(counted(len(back.ids), "text")+" back in the line: enter sends, ctrl+c leaves them held")...)
	}
	return append(c.print(lines(append(rows, row("", c.heldLine()))...)), lend...)
}

// both is one message of two, a blank line between their words.
func both(a, b message) message {
	switch {
	case a.text == "":
		a.text = b.text
	case b.text != "":
		a.text += "\n\n" + b.text
	}
	a.pics, a.ids = append(a.pics, b.pics...), append(a.ids, b.ids...)
	if b.mode != "" {
		a.mode = b.mode
	}
	return a
}

// heldLine shows the ways out of a held queue.
func (c *chat) heldLine() string {
	n := 0
	for i := range c.inbox {
		if c.inbox[i].held {
			n++
		}
	}
	if c.lines {
		return itoa(n) + " held · an empty line sends · /clear-queue drops"
	}
	if c.lentHere() > 0 {
		return itoa(n) + " held · enter sends the line in their place · ctrl+c leaves them held"
	}
	return itoa(n) + " held · enter sends · alt+↑ edit · ctrl+x drops"
}

// giveBack returns what was not taken to the line, if nothing else was typed.
func (c *chat) giveBack(m *message) []effect {
	switch {
	case m == nil || m.blank():
		return nil
	case m.as != nil:
		return nil // it waits where it waited
	case c.line().blank() && !c.lines:
		return []effect{c.load(*m)}
	}
	c.remember(*m)
	return nil
}
