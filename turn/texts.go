package turn

import (
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// The words that stand in a model's context for what did not happen, or is not
// known to have happened. They are written for the model to act on and stand
// nowhere else (decision 19). Tests and users may rely on them.
const (
	// TextSkipped answers a call that the turn's interrupt kept from starting.
	TextSkipped = "Interrupted — skipped: the turn was cancelled before this tool started"

	// TextNeverStarted answers a call that a crash kept from starting.
	TextNeverStarted = "This call was requested but never started: the runtime ended first. Nothing of it ran. Retry it if it is still needed."

	// TextWaiting answers a call whose approval nobody had given or refused.
	TextWaiting = "This call was waiting for approval when the turn ended. It never ran and it was not refused. Ask for it again if it is still needed."

	// TextOverBudget answers a call that the budget of calls had no room for.
	TextOverBudget = "This call was not run: the limit on tool calls was reached before it. Nothing of it ran. Ask for it again if it is still needed."

	// TextUnknown answers a call that had started when the runtime died.
	TextUnknown = "The outcome of this call is unknown: it had started when the runtime died, and no result was recorded. It may have done all, part or none of its work. Do not retry blindly. Repeat it only if it is read-only or safe to run twice; otherwise check the state of the outside first, or ask the user."

	// TextQuarantined answers a call that would not stop.
	TextQuarantined = "This call did not stop in time and was cut off from the session. It may still be running; what it still does can no longer reach this session, and its outcome is unknown. Check the state of the outside before repeating it."

	// TextNotDurable answers a call whose start could not be written down.
	TextNotDurable = "This call never ran: its start could not be written to the journal, and nothing runs without that."

	// TextAbortedTurn is the marker after a turn that was stopped (TRN-08). It
	// is one text for every reason: what the model reads does not depend on
	// who pressed.
	TextAbortedTurn = "<turn_aborted>\nThe turn above was stopped before its end. Background terminals and jobs may still be running. A tool that was stopped may have done part of its work: check before anything is repeated.\n</turn_aborted>"
)

// stoppedText is what a stopped call says: for how long it ran, that its
// effects may be partial, and what it had printed so far (TOL-07).
func stoppedText(cause *interrupt.Cause, ran time.Duration, survivors []int, soFar, inner string) string {
	var b strings.Builder
	secs := max(ran.Seconds(), 0.1)
	switch {
	case cause == nil || cause.Reason == interrupt.UserSIGINT:
		fmt.Fprintf(&b, "aborted by user after %.1fs", secs)
	default:
		fmt.Fprintf(&b, "aborted after %.1fs (%s)", secs, string(cause.Reason))
	}
	b.WriteString(". Its effects may be partial: check before repeating it.")
	if len(survivors) > 0 {
		fmt.Fprintf(&b, " Still alive after the stop: process %v.", survivors)
	}
	if strings.TrimSpace(soFar) == "" {
		b.WriteString(" It had printed nothing.")
	} else {
		b.WriteString(" Output so far:\n" + soFar)
		inner = apart(soFar, inner)
	}
	return b.String() + inner
}

// apart is what innerText says, behind words that are not ours: on a line of its
// own.
func apart(words, inner string) string {
	if inner = strings.TrimLeft(inner, " \n"); inner != "" && words != "" && !strings.HasSuffix(words, "\n") {
		inner = "\n" + inner
	}
	return inner
}

// innerText says what became of the calls that c had made, where c itself has
// no end of its own to tell it: those that ended are counted, each that did not
// is named. find gives what recovery found out about one; it may be nil.
func innerText(c *Call, find func(event.CallID) *event.Evidence) string {
	var b strings.Builder
	n := len(c.Inner) - c.openInner()
	for _, in := range c.Inner {
		if in.neverRan() {
			n--
		}
	}
	if n > 0 {
		fmt.Fprintf(&b, " %s of its own had ended.", plural(n, "call"))
	}
	for _, in := range c.Inner {
		var e *event.Evidence
		if find != nil {
			e = find(in.ID)
		}
		switch {
		case in.neverRan():
			fmt.Fprintf(&b, "\nInner call %d (%s) never ran: its start could not be written to the journal.", in.N, in.Tool)
		case in.Ended != nil:
		case e != nil && e.Ended:
			fmt.Fprintf(&b, "\nInner call %d (%s) finished; its result was not recorded.%s", in.N, in.Tool, strings.TrimPrefix(finishedText(e), finishedBegin))
		case e != nil:
			fmt.Fprintf(&b, "\nInner call %d (%s) had started; its outcome is unknown.%s", in.N, in.Tool, strings.TrimPrefix(unknownText(e), TextUnknown))
		default:
			fmt.Fprintf(&b, "\nInner call %d (%s) had started; its outcome is unknown.", in.N, in.Tool)
		}
	}
	return b.String()
}

// neverRan reports whether the call was refused behind its start.
func (in *Inner) neverRan() bool { return in.Ended != nil && in.Ended.Outcome == event.CallSkipped }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *Call) openInner() (n int) {
	for _, in := range c.Inner {
		if in.Ended == nil {
			n++
		}
	}
	return n
}

// unknownText says what could be found out about a call that had started.
func unknownText(e *event.Evidence) string {
	if e == nil {
		return TextUnknown
	}
	var b strings.Builder
	b.WriteString(TextUnknown)
	switch {
	case len(e.Survivors) > 0:
		fmt.Fprintf(&b, " Its processes %v were found alive; %v could not be ended and still run.", e.Alive, e.Survivors)
	case len(e.Alive) > 0:
		fmt.Fprintf(&b, " Its processes %v were found alive and were ended.", e.Alive)
	case e.Child == "": // a sub-agent's account has its own
		b.WriteString(" No process of it is left.")
	}
	if e.Note != "" {
		b.WriteString(" " + e.Note)
	}
	switch {
	case e.Child != "" && e.Output != "":
		b.WriteString(" What its sub-agent's journal says:\n" + e.Output)
	case e.Child != "":
	case strings.TrimSpace(e.Output) != "":
		fmt.Fprintf(&b, " Output that was caught (%d bytes in all):\n%s", e.Bytes, e.Output)
	default:
		b.WriteString(" No output was caught.")
	}
	return b.String()
}

const finishedBegin = "This call finished, but the runtime died before its result was recorded; this is what its guardian kept."

// finishedText is the result of a call whose end the guardian wrote down while
// the runtime was dead: it is known to have finished.
func finishedText(e *event.Evidence) string {
	if e.Child != "" {
		return finishedBegin[:strings.Index(finishedBegin, "this is")] + "this is what its sub-agent's journal says:\n" + e.Output
	}
	var b strings.Builder
	b.WriteString(finishedBegin)
	switch {
	case e.ExitCode != nil:
		fmt.Fprintf(&b, " Exit code %d.", *e.ExitCode)
	case e.Signal != "":
		fmt.Fprintf(&b, " Ended by signal %s.", e.Signal)
	}
	if e.TimedOut != nil && *e.TimedOut {
		b.WriteString(" It had run into its time limit.")
	}
	if strings.TrimSpace(e.Output) == "" {
		b.WriteString(" It had printed nothing.")
	} else {
		fmt.Fprintf(&b, " Output (%d bytes in all):\n%s", e.Bytes, e.Output)
	}
	return b.String()
}

// ByFork names, in a record, the copying of a journal into a new session.
const ByFork = "fork"

// jobText tells the model of a background job's end: what is known of it, and
// no exit code that nobody saw.
func jobText(j *Job) string {
	how := "it ended; its exit code is not known"
	switch e := j.Ended; {
	case e.State == event.JobLost && e.By == ByFork:
		how = "it belongs to the session that this one was forked from, and may still run there"
	case e.State == event.JobLost:
		how = "it does not run any more; how it ended is not known"
	case e.State == event.JobKilled && e.Signal != "":
		how = "it was ended by signal " + e.Signal
	case e.State == event.JobKilled:
		how = "it was ended from outside"
	case e.ExitCode != nil:
		how = fmt.Sprintf("it ended with exit code %d", *e.ExitCode)
	}
	command := j.Command
	if len(command) > 200 {
		command = strings.ToValidUTF8(command[:200], "") + "…"
	}
	return fmt.Sprintf("<system-reminder>\nBackground job %s (%s): %s.\n</system-reminder>", j.ID, command, how)
}

func deniedText(by, why string) string {
	if why != "" {
		why = ": " + why
	}
	return fmt.Sprintf("This call was not run: it was denied by %s%s. Nothing of it happened.", by, why)
}
