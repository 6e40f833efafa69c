package tui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// message is what a person says: words, what is attached to them, and the
// waiting inputs whose words they are. Those stay in the inbox until it is
// sent.
type message struct {
	text string
	pics []attachment
	ids  []event.InputID
	mode string   // what it says of plan mode: plan, act or nothing
	as   *waiting // it is this input as it stands: refused, it is no draft
}

func (m message) blank() bool { return strings.TrimSpace(m.text) == "" && len(m.pics) == 0 }

// content is what is sent of it. A picture that has no bytes and no reference
// to them is read again before.
func (m message) content() event.Content {
	if m.as != nil {
		return m.as.in.Content
	}
	c := event.TextOf(m.text)
	for _, p := range m.pics {
		c = append(c, p.part)
	}
	return c
}

// label is the message as it is shown in one piece.
func label(text string, pics []attachment) string {
	for _, p := range pics {
		text = strings.TrimSpace(text + " " + p.chip())
	}
	return text
}

// waiting is an input in the inbox, or one that a turn has taken.
type waiting struct {
	id       event.InputID
	in       event.UserInput
	text     string // of it, clean
	pics     []attachment
	priority event.Priority
	kind     event.TurnKind
	by       string
	mode     string
	instead  []waiting // of these it was accepted
	seq      event.Seq // of its acceptance
	held     bool      // no turn takes it by itself
}

func waitingOf(b event.InboxAccepted) waiting {
	w := waiting{id: b.ID, priority: b.Priority, kind: b.Kind, by: b.By}
	w.say(b.Input)
	_ = json.Unmarshal(b.Options.Attributes["mode"], &w.mode) // none: it says nothing of it
	return w
}

func (w *waiting) say(in event.UserInput) {
	w.in, w.text, w.pics = in, clean(in.Content.Text()), nil
	for _, p := range in.Content {
		switch p.(type) {
		case event.Image, event.File:
			w.pics = append(w.pics, attachment{part: p})
		case event.Text, event.Reasoning, event.ToolCall:
		}
	}
}

// mine reports whether this person typed it: only that goes back to the line.
func (w *waiting) mine() bool { return w.by == who && w.kind != event.TurnWake }

// accepted puts an input into the inbox, in the place of those whose words are
// in it.
func (c *chat) accepted(b event.InboxAccepted, at event.Seq) {
	w := waitingOf(b)
	w.seq = at
	for _, id := range b.Replaces {
		if old, ok := c.takeWaiting(id); ok {
			w.instead = append(w.instead, old)
			c.lent = without(c.lent, id)
		}
	}
	c.inbox = append(c.inbox, w)
	c.sortInbox()
}

// sortInbox keeps the order in which it will be taken.
func (c *chat) sortInbox() {
	rank := func(w waiting) int {
		return slices.Index([]event.Priority{event.PriorityNow, event.PriorityNext}, w.priority) & 3 // none of them: last
	}
	slices.SortStableFunc(c.inbox, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.seq, b.seq))
	})
}

func (w *waiting) label() string { return oneLine(label(w.text, w.pics)) }

// line is the draft with all that belongs to it.
func (c *chat) line() message {
	return message{text: c.draft, pics: c.pics, ids: c.lent, mode: c.mode}
}

// put makes text the draft and leaves what is attached.
func (c *chat) put(text string) effect {
	c.draft, c.complete = text, false
	return setDraft{text: text}
}

// load makes m the draft.
func (c *chat) load(m message) effect {
	c.pics, c.lent = m.pics, m.ids
	if m.mode != "" {
		c.mode = m.mode
	}
	return c.put(m.text)
}

// join puts m behind what is typed already; the cursor stays.
func (c *chat) join(m message) effect {
	typed := c.draft
	c.pics = append(c.pics[:len(c.pics):len(c.pics)], m.pics...)
	c.lent = append(c.lent[:len(c.lent):len(c.lent)], m.ids...)
	if m.mode != "" {
		c.mode = m.mode
	}
	switch {
	case strings.TrimSpace(typed) == "":
		return c.put(m.text)
	case m.text == "":
		return c.put(typed)
	}
	c.draft, c.complete = typed+"\n\n"+m.text, false
	return setDraft{text: c.draft, stay: true}
}

// putAway empties the line; ↑ brings it back, and what was lent to it waits on.
func (c *chat) putAway(what string) []effect {
	c.remember(c.line())
	says := what + ": ↑ brings it back"
	if n := c.lentHere(); n > 0 {
		c.mode = "" // it is theirs
		says = what + ": " + counted(n, "text") + " of it still held: " + heldKeys
	}
	out := append(c.say(says), c.load(message{}))
	c.again = ""
	return out
}

// lentHere counts the waiting inputs whose words stand in the line.
func (c *chat) lentHere() (n int) {
	for i := range c.inbox {
		if slices.Contains(c.lent, c.inbox[i].id) {
			n++
		}
	}
	return n
}

// remember keeps m for ↑: of a picture that came from a file only where it is.
func (c *chat) remember(m message) {
	n := len(c.history)
	if !m.blank() && (n == 0 || c.history[n-1].text != m.text || len(m.pics)+len(c.history[n-1].pics) > 0) {
		pics := slices.Clone(m.pics)
		for i := range pics {
			pics[i].forget()
		}
		m.pics = pics
		c.history = append(c.history, m)
		if over := len(c.history) - longestHistory; over > 0 {
			c.history = slices.Clone(c.history[over:])
		}
	}
	c.at = len(c.history)
}

// longestHistory bounds what ↑ brings back, in messages.
const longestHistory = 1000

// recall makes a remembered message the draft. What it lent from the inbox is
// lent again as far as it still waits.
func (c *chat) recall(m message) effect {
	m.ids = slices.DeleteFunc(slices.Clone(m.ids), func(id event.InputID) bool {
		return !slices.ContainsFunc(c.inbox, func(w waiting) bool { return w.id == id && w.held })
	})
	return c.load(m)
}

func (c *chat) older() []effect {
	if moved := c.pick(-1); moved {
		return nil
	}
	if c.at == 0 {
		return c.say("nothing older")
	}
	at := c.at - 1
	if c.at == len(c.history) && !c.line().blank() {
		c.remember(c.line())
		if at = len(c.history) - 2; at < 0 {
			c.at = 0
			return nil
		}
	}
	c.at = at
	return []effect{c.recall(c.history[at])}
}

func (c *chat) newer() []effect {
	if moved := c.pick(1); moved {
		return nil
	}
	if c.at++; c.at >= len(c.history) {
		c.at = len(c.history)
		return []effect{c.load(message{})}
	}
	return []effect{c.recall(c.history[c.at])}
}
