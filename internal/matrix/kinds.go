package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// What was really done, as the world shows it.
const (
	none  = "nothing"
	begun = "begun and not finished"
	whole = "all of it"
)

// kind is one way of doing something.
type kind struct {
	name, tool string
	// args are those of the call; long asks for work that does not end.
	args func(s setting, long bool) map[string]any
	// under says, from the disk and the world, that a long call is at work. nil:
	// the tool is over too fast, and is held by a decorator.
	under func(c *cell) bool
	// done says what was done. nil: the tool changes nothing that could be seen.
	done func(c *cell) string
	// want are the exceptions to what a rule says was done.
	want map[event.CallOutcome]string
	// says are words of the result, beside those of the rule.
	says map[event.CallOutcome]string
	// cant are the ends that the kind has not, each with its reason.
	cant map[event.CallOutcome]string
	// extra looks at what only this kind has.
	extra func(c *cell, o event.CallOutcome) []string
	ready bool // a turn before it opens a terminal
}

// ran is how often the tool really worked.
func (c *cell) ran() int {
	if c.before {
		return 0
	}
	return rules[c.o].started
}

// work is a command that writes down how far it came.
func work(s setting, long bool) string {
	wait := ""
	if long {
		wait = "(setsid sleep 300 &); sleep 300 && "
	}
	return fmt.Sprintf("echo half of it; echo begin >>'%s'; %secho end >>'%s'", s.ledger(), wait, s.ledger())
}

// ledger says how far a command came.
func ledger(c *cell) string {
	switch got := strings.Join(lines(c.s.ledger()), " "); got {
	case "":
		return none
	case "begin":
		return begun
	case "begin end":
		return whole
	default:
		return "in the ledger: " + got
	}
}

// commanded says that a long command is at work, known to the journal, and that
// what it printed was caught.
func commanded(c *cell) bool {
	spools, _ := filepath.Glob(filepath.Join(c.s.root(), "sessions", "*", "spool", "*.out"))
	return ledger(c) == begun && slices.ContainsFunc(spools, func(p string) bool {
		raw, _ := os.ReadFile(p)
		return strings.Contains(string(raw), "half of it")
	}) && c.recorded(event.TypeProcessStarted)
}

const content = "one line\nanother\n"

// fileOf says what became of the file.
func fileOf(c *cell) string {
	switch raw, err := os.ReadFile(filepath.Join(c.s.cwd(), "made")); {
	case os.IsNotExist(err):
		return none
	case err == nil && string(raw) == content:
		return whole
	default:
		return fmt.Sprintf("the file holds %q, %v", raw, err)
	}
}

// how reads what a server wrote down.
func how(log []string) string {
	switch {
	case slices.Contains(log, "served"):
		return whole
	case slices.Contains(log, "asked"):
		return begun
	case len(log) == 0:
		return none
	}
	return "the server says " + strings.Join(log, " ")
}

type ends = map[event.CallOutcome]string

func command(s setting, long bool) map[string]any { return map[string]any{"command": work(s, long)} }

// caught is what a command prints before it is stopped or its runtime dies.
var caught = ends{event.CallFinished: "half of it", event.CallFinishedLate: "half of it", event.CallStopped: "half of it", event.CallUnknown: "half of it"}

// kinds are the rows of the matrix.
func kinds() []kind { return append(atHome(), abroad()...) }

// atHome are the kinds that work on files and processes.
func atHome() []kind {
	return []kind{
		{name: "write", tool: "write", done: fileOf,
			args: func(setting, bool) map[string]any { return map[string]any{"path": "made", "content": content} },
			want: ends{event.CallUnknown: whole},
			says: ends{event.CallUnknown: "The file made was "},
			cant: ends{event.CallStopped: "write never looks at the stop: one rename, then its result"}},
		{name: "apply_patch", tool: "apply_patch", done: fileOf,
			args: func(setting, bool) map[string]any {
				return map[string]any{"patch": "*** Begin Patch\n*** Add File: made\n+one line\n+another\n*** End Patch\n"}
			},
			want: ends{event.CallUnknown: whole, event.CallStopped: none}},
		{name: "grep", tool: "grep",
			args: func(setting, bool) map[string]any { return map[string]any{"pattern": "needle", "path": "."} },
			says: ends{event.CallFinished: "a needle in it", event.CallFinishedLate: "a needle in it"}},
		{name: "bash", tool: "bash", args: command, under: commanded, done: ledger, says: caught},
		{name: "hooked bash", tool: "bash", args: command, under: commanded, done: ledger, says: caught, extra: hooked},
		{name: "terminal", tool: "terminal_start", under: commanded, done: ledger, says: caught,
			args: func(s setting, long bool) map[string]any {
				return map[string]any{"command": work(s, long), "wait_ms": 600000, "quiet_ms": 0}
			}},
		{name: "poll", tool: "terminal_poll", ready: true, extra: older,
			under: func(c *cell) bool { return len(all[event.CallStarted](c.records(), theCall)) == 1 },
			args: func(_ setting, long bool) map[string]any {
				if long {
					return map[string]any{"id": "j1", "wait_ms": 600000, "quiet_ms": 0}
				}
				return map[string]any{"id": "j1", "wait_ms": 10}
			},
			says: ends{event.CallFinished: "terminal j1 runs", event.CallFinishedLate: "terminal j1 runs", event.CallStopped: "terminal j1 runs on"}},
	}
}

// abroad are the kinds that work through others: sessions, servers, people.
func abroad() []kind {
	return []kind{
		{name: "task", tool: "task", under: commanded, done: ledger, extra: child,
			args: func(setting, bool) map[string]any { return map[string]any{"prompt": part} },
			says: ends{event.CallFinished: "The part is done.", event.CallFinishedLate: "The part is done.",
				event.CallStopped: "half of it", event.CallUnknown: "half of it"}},
		{name: "workflow", tool: "workflow", under: commanded, done: ledger, extra: inner,
			args: func(s setting, long bool) map[string]any {
				return map[string]any{"script": fmt.Sprintf("return (await tool('bash', {command: %q})).text", work(s, long))}
			},
			says: ends{event.CallFinished: "half of it", event.CallFinishedLate: "half of it",
				event.CallStopped: "bash: stopped", event.CallUnknown: "half of it"}},
		{name: "web_fetch", tool: "web_fetch", extra: left,
			under: func(c *cell) bool { return len(c.site.log()) > 0 },
			done:  func(c *cell) string { return how(c.site.log()) },
			args: func(s setting, long bool) map[string]any {
				if long {
					return map[string]any{"url": s.Site + "/endless"}
				}
				return map[string]any{"url": s.Site + "/page"}
			},
			says: ends{event.CallFinished: "the whole page", event.CallFinishedLate: "the whole page"}},
		{name: "mcp", tool: "mcp__own__work", extra: told,
			under: func(c *cell) bool { return len(lines(c.s.served())) > 0 },
			done:  func(c *cell) string { return how(lines(c.s.served())) },
			args: func(_ setting, long bool) map[string]any {
				if long {
					return map[string]any{"how": "long"}
				}
				return map[string]any{"how": "short"}
			},
			says: ends{event.CallFinished: "the server has worked", event.CallFinishedLate: "the server has worked"}},
		{name: "ask_user", tool: "ask_user", extra: asked,
			under: func(c *cell) bool { return c.recorded(event.TypeApprovalAsked) },
			done: func(c *cell) string {
				switch {
				case c.answered:
					return whole
				case c.recorded(event.TypeApprovalAsked):
					return begun
				}
				return none
			},
			args: func(setting, bool) map[string]any { return map[string]any{"question": "Which colour?"} },
			says: ends{event.CallFinished: "answered: green", event.CallFinishedLate: "answered: green", event.CallStopped: "nobody refused"}},
	}
}

// hooked compares the hook's own account with the journal's.
func hooked(c *cell, o event.CallOutcome) []string {
	want := 1
	if o == event.CallSkipped {
		want = 0
	}
	var ran, said int
	for _, h := range all[event.HookVerdict](c.records(), theCall) {
		if ran++; (h.Verdict == "block") == (o == event.CallWasDenied) {
			said++
		}
	}
	seen := len(lines(c.s.hooks()))
	if o == event.CallSkipped {
		seen-- // the call before it
	}
	if ran != want || said != want || seen != want {
		return []string{fmt.Sprintf("the hook ran %d times by its own account, %d by the journal, %d with the right verdict, want %d", seen, ran, said, want)}
	}
	return nil
}

// older looks whether the terminal of the turn before lives on.
func older(c *cell, _ event.CallOutcome) []string {
	if c.left == 0 {
		return []string{"the terminal of the turn before does not live on"}
	}
	return nil
}

// child looks into the sub-agent's own journal.
func child(c *cell, o event.CallOutcome) (out []string) {
	links := all[event.SubAgentLinked](c.records(), theCall)
	if ran := c.ran(); len(links) != ran {
		return []string{fmt.Sprintf("%d sub-agents, want %d", len(links), ran)}
	}
	want := map[event.CallOutcome]event.TurnOutcome{event.CallStopped: event.TurnAborted, event.CallUnknown: event.TurnInterrupted}[o]
	inside := o
	if want == "" {
		want, inside = event.TurnCompleted, event.CallFinished
	}
	for _, l := range links {
		recs := disk(c.journal(l.Child))
		if e := all[event.TurnEnded](recs, ""); len(e) != 1 || e[0].Outcome != want {
			out = append(out, fmt.Sprintf("the sub-agent's turn ended %+v, want %s", e, want))
		}
		if e := all[event.CallEnded](recs, ""); len(e) != 1 || e[0].Outcome != inside {
			out = append(out, fmt.Sprintf("the sub-agent's call ended %+v, want %s", e, inside))
		}
	}
	return out
}

// inner looks at the script's own call.
func inner(c *cell, o event.CallOutcome) []string {
	began, ended := all[event.InnerStarted](c.records(), theCall), all[event.InnerEnded](c.records(), theCall)
	n := c.ran()
	over := n
	if o == event.CallUnknown {
		over = 0
	}
	if len(began) != n || len(ended) != over {
		return []string{fmt.Sprintf("inner calls: %d began, %d ended, want %d, %d", len(began), len(ended), n, over)}
	}
	want := event.CallFinished
	if o == event.CallStopped {
		want = o
	}
	if over == 1 && ended[0].Ended.Outcome != want {
		return []string{fmt.Sprintf("the inner call ended %s, want %s", ended[0].Ended.Outcome, want)}
	}
	return nil
}

// left looks whether the web server saw the client go, where it was to.
func left(c *cell, o event.CallOutcome) []string {
	if o != event.CallStopped && o != event.CallUnknown {
		return nil
	}
	if err := until(c.ctx, "the web server sees the client leave", func() bool { return slices.Contains(c.site.log(), "left") }); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// told looks what the server of tools was told: that a call is not wanted any
// more, if it is so, and nothing else.
func told(c *cell, o event.CallOutcome) []string {
	if o == event.CallStopped {
		if err := until(c.ctx, "the server is told that the call is cancelled", func() bool { return slices.Contains(lines(c.s.served()), "cancelled") }); err != nil {
			return []string{err.Error()}
		}
	}
	log := lines(c.s.served())
	if n := strings.Count(strings.Join(log, " "), "asked"); n != c.ran() {
		return []string{fmt.Sprintf("the server was asked %d times", n)}
	}
	if o != event.CallStopped && slices.Contains(log, "cancelled") {
		return []string{"the server was told of a cancellation that was none"}
	}
	return nil
}

// asked looks at the question's own end.
func asked(c *cell, o event.CallOutcome) []string {
	recs := c.records()
	put, answers, void := len(all[event.ApprovalAsked](recs, theCall)), len(all[event.ApprovalDecided](recs, theCall)), len(all[event.ApprovalVoided](recs, theCall))
	n := c.ran()
	gone := 0
	if o == event.CallStopped || o == event.CallUnknown {
		gone = n
	}
	if put != n || answers != n-gone || void != gone {
		return []string{fmt.Sprintf("the question was put %d times, answered %d, withdrawn %d", put, answers, void)}
	}
	return nil
}
