package tool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// Agents lets a running call have others work for its session: each in a child
// session of the same store, linked in both journals (TOL-23). A child is
// addressed by its session's id, by the session that started it and by nobody
// else. Errors are replies: no more sub-agents, no such one, not started.
type Agents interface {
	// Run starts a child on t and waits until the child's books are closed and
	// nothing of it is left. When the call's signal trips the child is
	// interrupted with PARENT_CANCELLED, and forced when the signal is; Run
	// still returns the child's own account, whose Outcome says how it ended.
	// A trip that came before the child had begun is an interrupted error.
	Run(ctx context.Context, call *Call, t Task) (AgentReport, error)
	// Spawn starts a child that lives on after the call and its turn, and
	// returns once the child's first input is durable.
	Spawn(ctx context.Context, call *Call, t Task) (event.SessionID, error)
	// Send gives a child more work: after what it does now, or, if it has
	// ended, in a new turn in the background.
	Send(ctx context.Context, call *Call, id event.SessionID, text string) error
	// Status says how a child stands; with a wait it waits that long for the
	// child's end, or until the call's signal trips.
	Status(ctx context.Context, call *Call, id event.SessionID, wait time.Duration) (AgentReport, error)
	// List says how the children that were started in the background stand, in
	// the order of their start.
	List(ctx context.Context, call *Call) ([]AgentReport, error)
	// Stop interrupts a child with TASK_CANCELLED and waits for its end, or
	// until the call's signal trips: the child is being stopped all the same.
	Stop(ctx context.Context, call *Call, id event.SessionID) (AgentReport, error)
}

// Task is what a child is to do.
type Task struct {
	Prompt string
	Title  string   // a few words, for lists; may be empty
	Tools  []string // of the parent's; empty: all of them
}

// AgentReport is a child's account of its last turn, from its journal. What is
// not known is zero; Outcome is empty while the turn runs and if there was none.
type AgentReport struct {
	Session event.SessionID
	Title   string
	Running bool
	Outcome event.TurnOutcome
	Reason  string
	Who     string
	Steps   int
	Usage   event.Tokens
	Calls   []AgentCall
	Text    string // the last words of the turn, whole or partial
	Held    int    // inputs that wait and that nothing runs by itself
	Error   *event.Failure
	Note    string // what else is to be said of it
}

// AgentCall is one call of that turn; Outcome is empty while it runs.
type AgentCall struct {
	ID        event.CallID
	Name      string
	Outcome   event.CallOutcome
	Text      string
	Survivors []int
}

// Well reports whether the child reached an end of its own that has an answer.
func (r AgentReport) Well() bool {
	switch r.Outcome {
	case event.TurnCompleted, event.TurnTruncated, event.TurnBudget, event.TurnLooped:
		return true
	case event.TurnAborted, event.TurnInterrupted, event.TurnFailed, event.TurnBlocked, event.TurnStalled:
	}
	return false
}

// Survivors lists the processes that outlived a stop in the child's calls.
func (r AgentReport) Survivors() (pids []int) {
	for _, c := range r.Calls {
		pids = append(pids, c.Survivors...)
	}
	return pids
}

const (
	mostCalls   = 20   // calls that a report tells of one by one
	callExcerpt = 1000 // bytes of each
)

// Words tells the report to a model, in about limit bytes: how the turn ended,
// what became of each call that did not simply finish, and what was said.
func (r AgentReport) Words(limit int) string {
	var b strings.Builder
	b.WriteString(r.head())
	r.calls(&b)
	if r.Error != nil {
		fmt.Fprintf(&b, "error: %s\n", r.Error.Message)
	}
	if r.Held > 0 {
		fmt.Fprintf(&b, "%d messages wait and are not run by themselves\n", r.Held)
	}
	if r.Note != "" {
		b.WriteString(r.Note + "\n")
	}
	head, _ := Bounded(b.String(), limit)
	switch text := strings.TrimSpace(r.Text); {
	case text == "" && r.Outcome == "":
		return strings.TrimRight(head, "\n")
	case text == "":
		return head + "it had said nothing"
	default:
		what := "its answer:\n"
		if !r.Well() {
			what = "its last words:\n"
		}
		text, _ = Bounded(text, max(limit-len(head), limit/2))
		return head + what + text
	}
}

// head is one line: who, how, how much.
func (r AgentReport) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sub-agent %s", r.Session)
	if r.Title != "" {
		fmt.Fprintf(&b, " (%s)", r.Title)
	}
	switch {
	case r.Running:
		b.WriteString(": running")
	case r.Outcome == "":
		b.WriteString(": no turn of it has begun")
	default:
		fmt.Fprintf(&b, ": %s", r.Outcome)
	}
	var why []string
	for _, s := range []string{r.Reason, r.Who} {
		if s != "" {
			why = append(why, s)
		}
	}
	if len(why) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(why, ", "))
	}
	fmt.Fprintf(&b, "; steps %d, calls %d", r.Steps, len(r.Calls))
	if u := r.Usage; u.Input != nil && u.Output != nil {
		fmt.Fprintf(&b, "; tokens %d in, %d out", *u.Input, *u.Output)
	}
	b.WriteString("\n")
	return b.String()
}

// calls counts what finished and tells of the rest one by one, the last ones
// first when there are too many.
func (r AgentReport) calls(b *strings.Builder) {
	finished := 0
	var rest []AgentCall
	for _, c := range r.Calls {
		if c.Outcome == event.CallFinished {
			finished++
			continue
		}
		rest = append(rest, c)
	}
	if finished > 0 {
		fmt.Fprintf(b, "calls that finished: %d\n", finished)
	}
	if n := len(rest) - mostCalls; n > 0 {
		fmt.Fprintf(b, "calls that did not, not told of here: %d\n", n)
		rest = rest[n:]
	}
	for _, c := range rest {
		outcome := string(c.Outcome)
		if outcome == "" {
			outcome = "running"
		}
		text, _ := Bounded(strings.TrimSpace(c.Text), callExcerpt)
		fmt.Fprintf(b, "call %s (%s): %s", c.Name, c.ID, outcome)
		if text != "" {
			b.WriteString(": " + strings.ReplaceAll(text, "\n", "\n  "))
		}
		b.WriteString("\n")
	}
}

const agentsKey Key[Agents] = "tool.agents"

// AgentsOf returns the call's way to sub-agents; ok is false where there are
// none.
func AgentsOf(call *Call) (Agents, bool) { return ValueOf(call, agentsKey) }

// WithAgents gives a call that way; who joins the rooms does, and tests.
func WithAgents(call *Call, a Agents) *Call { return WithValue(call, agentsKey, a) }
