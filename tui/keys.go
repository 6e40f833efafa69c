package tui

import (
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// press gives one key its one meaning. What it does not take, the line editor
// gets before press is called; press sees only keys that [bound] names.
func (c *chat) press(now time.Time, p pressed) []effect {
	before := c.pressed
	c.pressed, c.draft = now, p.draft
	switch p.key {
	case "esc":
		return c.esc(now)
	case "ctrl+c":
		return c.ctrlC(now)
	case "ctrl+d":
		return c.ctrlD()
	case "ctrl+l":
		return []effect{redraw{}}
	case "ctrl+z":
		return []effect{suspend{}}
	case "enter":
		return c.enter(now)
	case "tab":
		return c.tab()
	case "alt+enter", "ctrl+enter":
		return c.now(now)
	case "alt+up":
		return c.takeLast()
	case "ctrl+x", "delete":
		return c.clearQueue()
	case "up":
		return c.older()
	case "down":
		return c.newer()
	case "y", "n":
		return c.answer(now, before, p.key)
	case "c", "r", "e":
		return c.holdLetter(p.key)
	case "x":
		return c.killPicked()
	}
	if why := later(p.key); why != "" {
		return c.say(why)
	}
	return nil
}

// bound reports whether key has a meaning now; all others belong to the line
// editor. draft is the line as it stands, first and last say whether the
// cursor is on its first or last row.
func (c *chat) bound(key, draft string, first, last bool) bool {
	switch key {
	case "esc", "ctrl+c", "ctrl+l", "ctrl+z", "enter", "tab", "alt+enter", "ctrl+enter", "alt+up":
		return true
	case "ctrl+d":
		return draft == ""
	case "ctrl+x", "delete":
		return draft == "" && len(c.inbox) > 0
	case "up":
		return c.picking() || first
	case "down":
		return c.picking() || last && c.at < len(c.history)
	case "y", "n":
		return draft == "" && len(c.approvals) > 0 && !c.approvals[0].Question && c.layer == noLayer
	case "c", "r", "e":
		return draft == "" && c.onTop && len(c.approvals) == 0 && c.phase == idle && c.layer == noLayer && (key == "c" || c.retryable)
	case "x":
		return draft == "" && c.layer == jobsLayer
	}
	return later(key) != ""
}

// later says of a key that it has no meaning yet; nothing is silently ignored.
func later(key string) string {
	switch key {
	case "ctrl+b":
		return "moving a running tool to the background (Ctrl+B) comes later"
	case "shift+tab":
		return "changing the approval mode (Shift+Tab) comes later"
	case "ctrl+t", "ctrl+o":
		return "the transcript view comes later: ripcord log show"
	case "ctrl+g", "ctrl+r":
		return "the external editor and history search come later"
	case "alt+esc":
		return "Alt+Esc means nothing here; Esc alone interrupts"
	}
	return ""
}

// escMeans says what Esc will do; its order is esc's.
func (c *chat) escMeans() string {
	switch {
	case c.layer != noLayer:
		return "esc close"
	case c.completing():
		return "esc close list"
	case !c.line().blank():
		return "esc put draft away"
	case len(c.approvals) > 0:
		return "esc stop the turn"
	case c.phase == sending, c.phase == running:
		return "esc interrupt"
	case c.phase == stopping:
		return "esc again: kill now"
	case c.phase == killing:
		return "esc: already killing"
	}
	return "esc nothing to stop"
}

// esc closes the top layer, else stops the turn: one press, one meaning.
func (c *chat) esc(now time.Time) []effect {
	burst := now.Sub(c.escLast) <= rewindWindow
	c.escLast = now
	switch {
	case c.layer != noLayer:
		c.layer = noLayer
		return nil
	case c.completing():
		c.complete = true
		return nil
	case !c.line().blank():
		return c.putAway("draft put away")
	case len(c.approvals) > 0:
		return c.settle(now, event.Abort)
	case c.phase.busy():
		return c.stop(now)
	}
	switch {
	case now.Sub(c.escIdle) <= rewindWindow:
		c.escIdle = time.Time{}
		return c.pickTurn()
	case !burst: // a row of presses that was meant for something else opens nothing
		c.escIdle = now
	}
	return c.say("nothing is running; Esc Esc goes back to an earlier turn")
}

// ctrlC is the key, the byte 0x03 and a real SIGINT alike.
func (c *chat) ctrlC(now time.Time) []effect {
	if !c.line().blank() {
		return c.putAway("draft cleared")
	}
	if c.armed(now) {
		return []effect{leave{130}}
	}
	c.knock = now
	if !c.phase.busy() {
		return c.arm("Ctrl+C again to leave")
	}
	out := c.stop(now)
	return append(out, c.arm("interrupting; Ctrl+C again within 2 s to leave")...)
}

func (c *chat) arm(line string) []effect {
	c.say(line)
	return []effect{after{knockWindow + 50*time.Millisecond, timeUp{knockTimer, c.noteNo}}}
}

func (c *chat) ctrlD() []effect {
	if c.phase.busy() {
		return c.say("a turn is running: Esc interrupts it, Ctrl+C twice leaves")
	}
	return []effect{leave{0}}
}

// enter sends the line, answers a question, or sends what is held.
func (c *chat) enter(now time.Time) []effect {
	text := strings.TrimSpace(c.draft)
	switch {
	case c.layer == jobsLayer && text == "":
		return c.say("x ends the marked job, Esc closes the list")
	case c.layer == rewindLayer && text == "" && c.turnAt < len(c.turns):
		return c.rewindTo(c.turns[c.turnAt].no)
	case c.letter != "" && text == c.letter:
		return c.cardLetter(now)
	case len(c.approvals) > 0 && c.approvals[0].Question:
		return c.reply(text)
	case text == "" && len(c.approvals) > 0:
		return c.settle(now, event.Deny)
	case c.line().blank() && c.phase == idle && len(c.inbox) > 0:
		c.lent = nil
		return c.resume(onHeld)
	case c.line().blank():
		return c.say("nothing to send")
	case strings.HasPrefix(c.draft, "/"):
		return c.command(text)
	case c.again != "" && c.draft == c.again && c.retryable && c.phase == idle:
		return append([]effect{c.load(message{})}, c.resume(again)...)
	}
	return c.send(c.priority())
}

// tab queues for a turn of its own; on a command it completes.
func (c *chat) tab() []effect {
	if m := c.matches(); len(m) > 0 {
		return []effect{c.put(m[0].name + " ")}
	}
	if c.line().blank() {
		return c.say("Tab queues what is on the line; the line is empty")
	}
	if strings.HasPrefix(c.draft, "/") {
		return c.say("no command begins so; /help lists them")
	}
	return c.send(event.PriorityLater)
}

// answer takes y or n for the open question, unless the key belonged to a text
// that was being typed when the question came up.
func (c *chat) answer(now, before time.Time, key string) []effect {
	q := c.approvals[0]
	if !before.IsZero() && q.since.Sub(before) < typingGuard && now.Sub(q.since) < typingGuard {
		out := c.say("a question has just come up: press " + key + " again to answer it")
		c.noteOf = q.ID
		return out
	}
	if key == "y" {
		return c.settle(now, event.Allow)
	}
	return c.settle(now, event.Deny)
}

// reply answers a tool's question with words; a number names one of its options,
// "/skip" says that there will be no answer.
func (c *chat) reply(text string) []effect {
	q := c.approvals[0]
	d := api.DecideRequest{Session: c.session, Approval: q.ID, Decision: event.Allow, By: who, Why: text}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Options) {
		d.Why = q.Options[n-1]
	}
	switch {
	case text == "":
		return c.say("type an answer, or /skip to give none; Esc stops the turn")
	case text == "/skip":
		d.Decision, d.Why = event.Deny, ""
	case strings.HasPrefix(text, "/"):
		return c.command(text)
	}
	c.remember(message{text: c.draft})
	c.unask(q.ID, "")
	return []effect{c.put(""), decide{d}}
}

// settle answers the first open question.
func (c *chat) settle(now time.Time, d event.Decision) []effect {
	q := c.approvals[0]
	c.unask(q.ID, "")
	if d == event.Abort {
		c.phase, c.turn.asked, c.freed = stopping, now, false
		if c.onInterrupt == Drop && len(c.inbox) > 0 { // the answer stops the turn, it drops nothing
			return []effect{clearInbox{}, decide{api.DecideRequest{Session: c.session, Approval: q.ID, Decision: d, By: who}}}
		}
	}
	return []effect{decide{api.DecideRequest{Session: c.session, Approval: q.ID, Decision: d, By: who}}}
}

// holdLetter waits whether a c, r or e under a card is a command or the first
// letter of a text; the letter stands in the line meanwhile.
func (c *chat) holdLetter(key string) []effect {
	c.letter = key
	c.noteNo++
	return []effect{c.put(key), after{letterWait, timeUp{letterTimer, c.noteNo}}}
}

func (c *chat) cardLetter(time.Time) []effect {
	letter := c.letter
	c.letter = ""
	out := []effect{c.put("")}
	switch letter {
	case "c":
		return append(out, c.resume(onNothing)...)
	case "r":
		return append(out, c.retry()...)
	}
	return append(out, c.rewindTo(0)...)
}

// edit follows the line as the editor changed it.
func (c *chat) edit(now time.Time, draft string) []effect {
	if draft != c.draft {
		c.complete = c.complete && strings.HasPrefix(draft, "/")
		c.at = len(c.history)
	}
	c.pressed, c.draft, c.letter = now, draft, ""
	if n := c.lentHere(); n > 0 && c.line().blank() {
		c.lent = nil
		return c.say("the line is empty: " + counted(n, "text") + " still held: " + heldKeys)
	}
	return nil
}

// picking reports whether a list is open in which ↑ and ↓ choose.
func (c *chat) picking() bool { return c.layer == jobsLayer || c.layer == rewindLayer }

// command is one that a line can give.
type command struct{ name, help string }

func commands() []command {
	return []command{
		{"/help", "keys and commands"},
		{"/jobs", "background jobs: list, end"},
		{"/stop", "interrupt the running turn, as Esc does"},
		{"/now", "TEXT: interrupt and send it at once; alone: what waits first (alt+enter)"},
		{"/queue", "what waits, and the ways out"},
		{"/clear-queue", "drop what waits, unrun (ctrl+x on an empty line)"},
		{"/retry", "ask the last turn again, as if it had never been"},
		{"/rewind", "[N]: hide turn N and all after it, its text comes back (esc esc)"},
		{"/fork", "[N]: a new session that begins with a copy up to turn N"},
		{"/compact", "have the model summarize the context; esc stops it"},
		{"/attach", "FILE: a picture goes with your next message"},
		{"/plan", "from your next message on: look and plan, change nothing until you approve"},
		{"/act", "leave plan mode with your next message"},
		{"/quit", "leave; a running turn is interrupted"},
	}
}

// matches lists the commands that the draft may become.
func (c *chat) matches() []command {
	if c.draft == "" || c.draft[0] != '/' || strings.ContainsAny(c.draft, " \n") {
		return nil
	}
	var out []command
	for _, m := range commands() {
		if strings.HasPrefix(m.name, c.draft) {
			out = append(out, m)
		}
	}
	return out
}

// completing reports whether the completion list is open: a layer of its own.
func (c *chat) completing() bool { return !c.complete && len(c.matches()) > 0 }

func (c *chat) command(text string) []effect {
	name, rest, _ := strings.Cut(text, " ")
	switch name {
	case "/help":
		c.layer = helpLayer
		return []effect{c.put("")}
	case "/jobs":
		c.layer, c.jobAt = jobsLayer, 0
		if id, ok := strings.CutPrefix(strings.TrimSpace(rest), "kill "); ok {
			return []effect{c.put(""), killJob{event.JobID(strings.TrimSpace(id))}}
		}
		return []effect{c.put(""), askJobs{}}
	case "/stop":
		if !c.phase.busy() {
			return append(c.say("nothing is running"), c.put(""))
		}
		return append(c.stop(c.pressed), c.put(""))
	case "/plan":
		c.mode = "plan"
		return append(c.say("plan mode from your next message on: nothing is changed until you approve the plan; /act takes it back"), c.put(strings.TrimSpace(rest)))
	case "/act":
		c.mode = "act"
		return append(c.say("with your next message calls may change things again, as rules and you allow"), c.put(strings.TrimSpace(rest)))
	case "/quit", "/exit":
		return []effect{c.put(""), leave{0}}
	}
	if out, known := c.pastCommand(name, rest); known {
		return out
	}
	return c.say("no such command: " + name + "; /help lists them, a leading space sends it as text")
}

func (c *chat) killPicked() []effect {
	if c.jobAt >= len(c.jobList) {
		return c.say("no job to end")
	}
	return []effect{killJob{c.jobList[c.jobAt].ID}}
}

func (c *chat) wasListed(in listed) []effect {
	if in.err != nil {
		return c.say("jobs could not be listed: " + in.err.Error())
	}
	c.jobList = in.jobs
	c.jobAt = min(c.jobAt, max(0, len(in.jobs)-1))
	return nil
}

// pastCommand is a command about what waits and what is past; it reports false
// for one that is not.
func (c *chat) pastCommand(name, rest string) (out []effect, known bool) {
	empty := c.put("")
	switch name {
	case "/now":
		c.put(strings.TrimSpace(rest))
		if out = c.now(c.pressed); c.draft != "" {
			return append([]effect{c.put(c.draft)}, out...), true
		}
	case "/queue":
		if c.layer = queueLayer; len(c.inbox) == 0 {
			c.layer = noLayer
			out = c.say("nothing waits")
		}
	case "/clear-queue":
		out = c.clearQueue()
	case "/retry":
		out = c.retry()
	case "/compact":
		if c.phase.busy() {
			out = c.say("a turn is running: Esc stops it first")
			break
		}
		out = c.resume(summary)
	case "/attach":
		return c.attach(rest), true
	case "/rewind", "/fork":
		n, ok := turnNumber(rest)
		switch {
		case !ok:
			return c.say(name + " takes the number of a turn; /rewind alone lists them"), true
		case name == "/fork":
			out = append(c.say("forking …"), fork{n})
		case n > 0:
			out = c.rewindTo(n)
		default:
			out = c.pickTurn()
		}
	default:
		return nil, false
	}
	return append([]effect{empty}, out...), true
}

// enterLine is a whole line in line mode.
func (c *chat) enterLine(now time.Time, line string) []effect {
	c.pressed, c.draft = now, line
	text := strings.TrimSpace(line)
	switch {
	case len(c.approvals) == 0:
	case c.approvals[0].Question: // "no" is an answer in words, too
		return c.reply(text)
	default:
		switch strings.ToLower(text) {
		case "y", "yes":
			return c.settle(now, event.Allow)
		case "n", "no", "":
			return c.settle(now, event.Deny)
		}
	}
	if c.onTop && c.phase == idle && (text == "c" || c.retryable && (text == "r" || text == "e")) {
		c.letter = text
		return c.cardLetter(now)
	}
	if text == "" && (c.phase != idle || len(c.inbox) == 0) {
		return nil
	}
	return c.enter(now)
}
