package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// ended is what is printed at a turn's end: one quiet line when it completed,
// else the card of TUI-02.
func (c *chat) ended(now time.Time, e ending) block {
	took := ""
	if d := now.Sub(c.turn.from); d > 0 && !c.turn.from.IsZero() {
		took = " after " + seconds(d)
	}
	var head string
	switch e.outcome {
	case event.TurnCompleted:
		return lines(quiet("✓ done" + took + tokens(e.usage)))
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
	for _, w := range c.inbox {
		out = append(out, row("held", short(oneLine(w.text), 50)))
	}
	if len(c.inbox) > 0 {
		out = append(out, row("", c.heldLine()))
	}
	return lines(append(out, "  [c]ontinue   "+quiet("[r]etry and [e]dit come later   or just type"))...)
}

func row(name, text string) string { return fmt.Sprintf("  %-8s %s", short(name, 12), text) }

// heldLine shows the way out of a held queue.
func (c *chat) heldLine() string { return itoa(len(c.inbox)) + " held · enter sends" }

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

func tokens(t event.Tokens) string {
	if t.Input == nil || t.Output == nil {
		return ""
	}
	return fmt.Sprintf(" · %d in · %d out", *t.Input, *t.Output)
}
