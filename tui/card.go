package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// ended is what is printed at a turn's end: one quiet line when it completed,
// else the card of TUI-02 without its last row, see onward.
func (c *chat) ended(now time.Time, e ending) block {
	took := ""
	if d := now.Sub(c.turn.from); d > 0 && !c.turn.from.IsZero() {
		took = " after " + seconds(d)
	}
	var head string
	switch e.outcome {
	case event.TurnCompleted:
		return lines(quiet("✓ done" + took + c.turn.used.String()))
	case event.TurnAborted:
		head = yellow("■") + bold(" Stopped "+by(e)+took+".") + " Nothing was rolled back."
	case event.TurnInterrupted:
		head = yellow("■") + bold(" Interrupted: the process died (not you).") + " Nothing was run again."
	case event.TurnFailed:
		head = red("✗") + bold(" The turn failed"+took) + cause(e)
	case event.TurnBlocked:
		head = yellow("■") + bold(" Blocked"+took) + cause(e)
	case event.TurnTruncated:
		head = yellow("■") + bold(" The answer was cut at the model's length limit"+took) + cause(e)
	case event.TurnBudget:
		head = yellow("■") + bold(" A budget is used up"+took) + cause(e)
	case event.TurnStalled:
		head = yellow("■") + bold(" Nothing came any more: stalled"+took) + cause(e)
	case event.TurnLooped:
		head = yellow("■") + bold(" Going in circles: stopped by the guard"+took) + cause(e)
	default:
		head = yellow("■") + bold(" Ended: "+oneLine(string(e.outcome))+took) + cause(e)
	}
	out := []string{head}
	if c.turn.fails > 0 {
		out = append(out, row("model", counted(c.turn.fails, "attempt")+" failed before this"))
	}
	if used := c.turn.used.String(); used != "" {
		out = append(out, row("tokens", strings.TrimPrefix(used, " · ")))
	}
	for i := range c.turn.calls {
		k := c.turn.calls[i]
		word := verdict(k)
		if k.how() == event.CallStopped {
			word += kept(k)
		}
		out = append(out, row(k.name, short(k.args, 40)+quiet("  "+word)))
	}
	for _, j := range c.jobs {
		out = append(out, row("job", short(j.command, 40)+quiet("  still running · /jobs")))
	}
	if n := len(c.turn.dropped); n > 0 {
		for _, text := range c.turn.dropped[:min(n, liveQueue)] {
			out = append(out, row("dropped", short(text, 50)))
		}
		out = append(out, row("", counted(n, "message")+" dropped unrun · ↑ brings them back"))
	}
	c.wayOn = c.ways(e) // printed where it is known what stands in the line
	return lines(out...)
}

// onward is the card's last row. Its letters are keys on an empty line alone, so
// that with a text in the line the way to them is said.
func (c *chat) onward() []effect {
	if !c.lettered() || c.draft == "" || c.lines {
		return c.print(lines(c.wayOn))
	}
	return c.print(lines("  enter sends the line, or ctrl+c, then " + strings.TrimSpace(strings.TrimSuffix(c.wayOn, orType))))
}

// lettered reports whether the card's last row names keys.
func (c *chat) lettered() bool { return strings.HasPrefix(c.wayOn, "  [c]") }

const orType = "   or just type"

// ways are the ways on from a card; only those that hold.
func (c *chat) ways(e ending) string {
	switch {
	case c.turn.woken:
		return quiet("  the stall guard has the model try another way; esc stops it")
	case e.reason == "NOW_PRIORITY_INPUT":
		return quiet("  your message is next")
	case !c.retryable:
		return "  [c]ontinue" + orType
	case e.outcome == event.TurnInterrupted:
		return "  [c]ontinue from what is known   [r]etry from the start (what ran is not undone)   [e]dit first" + orType
	}
	return "  [c]ontinue   [r]etry from the start of this turn   [e]dit and retry" + orType
}

func row(name, text string) string { return fmt.Sprintf("  %-8s %s", short(name, 12), text) }

// by says who stopped a turn, and why if it was not a person.
func by(e ending) string {
	name := oneLine(e.who)
	if name == who {
		name = "you"
	}
	why := map[string]string{
		"USER_SIGINT":        "",
		"NOW_PRIORITY_INPUT": "for a message that was sent now",
		"BUDGET_EXCEEDED":    "because a budget was used up",
		"PARENT_CANCELLED":   "because its caller went away",
		"TASK_CANCELLED":     "because the task was cancelled",
		"SYSTEM_SHUTDOWN":    "for a shutdown",
		"SESSION_RELEASED":   "because the session was released",
		"LEASE_LOST":         "because another process took the session",
		"HOLDER_LOST":        "because the holder went away",
	}
	reason, known := why[e.reason]
	switch {
	case !known && e.reason != "":
		reason = "(" + oneLine(e.reason) + ")"
	case name == "" && (reason == "" || e.reason == ""):
		name = "you"
		if e.reason != "USER_SIGINT" {
			return "by request"
		}
	}
	if name != "" {
		return strings.TrimSpace("by " + name + " " + reason)
	}
	return reason
}

// cause says why a turn ended that nobody stopped, and the next step.
func cause(e ending) string {
	if e.err != nil {
		return ": " + oneLine(e.err.Error())
	}
	if e.reason != "" {
		return ": " + oneLine(e.reason)
	}
	return "."
}
