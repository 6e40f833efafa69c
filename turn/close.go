package turn

import (
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// How says why a turn is being closed before its own end. Close is one
// function for all of them (decision 19).
type How struct {
	Outcome event.TurnOutcome
	Cause   *interrupt.Cause // aborted turns: who asked, when
	Reason  string           // other outcomes: what blocked, which budget
	Error   *event.Failure
	Marker  bool // tell the model that the turn was cut
	// Text overrides the marker's constant; empty leaves it.
	Text string

	wake  string // a stall's notice: the turn that it starts follows
	stall *cutAt // the stall
}

// Draft is a record without its place.
type Draft struct {
	Payload event.Payload
	Turn    int
	Step    int
	Call    event.CallID
}

// Closing is a turn's ending in its three parts: between them stand the hooks
// and the syncs (TRN-06).
type Closing struct {
	Books  []Draft // voids, salvaged message, results, compaction, jobs, step end
	Marker []Draft
	End    Draft
}

// Close returns the closers of the open turn, in order: open approvals void,
// the salvaged message, one result for every unanswered call in request order,
// compaction, jobs, step/end; then the marker; then turn/end. It is a pure
// function of the ledger and the evidence. With no turn open only what belongs
// to the session is closed and End has no payload.
func Close(l *Ledger, evidence []event.Evidence, how How) Closing {
	b := booker{l: l, how: how, evidence: evidence}
	if l.Turn != nil && l.turn != 0 {
		b.turn = l.turn
	}
	if s := l.open; s != nil {
		b.step = s.Number
		b.approvals(s)
		b.salvage(s)
		b.results(s)
	}
	switch {
	case l.compact && l.summed: // it stands, whatever came then
		b.add(event.CompactionEnded{Installed: true}, "")
	case l.compact:
		b.add(event.CompactionEnded{Error: how.Error}, "")
	}
	b.jobs()
	if l.open != nil {
		b.add(event.StepEnded{}, "")
	}
	out := Closing{Books: b.out}
	if b.turn == 0 {
		return out
	}
	if how.Marker && !l.Turn.Marked && !l.unheard() {
		text := how.Text
		if text == "" {
			text = TextAbortedTurn
		}
		out.Marker = []Draft{{Payload: event.TurnMarked{Text: text}, Turn: b.turn}}
	}
	out.End = Draft{Payload: b.end(), Turn: b.turn}
	return out
}

// unheard reports whether the open turn is a summary's own and left nothing in
// the context: a marker would say of the turn before it that it was stopped,
// where a summary that was not made changes nothing (TRN-12).
func (l *Ledger) unheard() bool {
	p := l.past[l.turn]
	return l.Turn.Kind == event.TurnCompact && (p == nil || len(l.History) == p.before)
}

type booker struct {
	l        *Ledger
	how      How
	evidence []event.Evidence
	turn     int
	step     int
	text     string  // of a salvaged message
	salvaged []*Call // calls that only the salvaged message knows
	out      []Draft
}

func (b *booker) add(p event.Payload, call event.CallID) {
	b.out = append(b.out, Draft{p, b.turn, b.step, call})
}

func (b *booker) approvals(s *Step) {
	for _, c := range s.Calls {
		why := "the turn ended: " + string(b.how.Outcome)
		if c.Approval != "" {
			b.add(event.ApprovalVoided{ID: c.Approval, Why: why}, c.ID)
		}
		for _, q := range c.Questions {
			b.add(event.ApprovalVoided{ID: q.ID, Why: why}, c.ID)
		}
	}
}

// salvage makes the partial message of the chunks if the step has none, and
// requests the message's calls that no record asks for yet, so that they are
// answered like any other: a crash can fall between a message and its requests.
func (b *booker) salvage(s *Step) {
	content := s.Content
	if !s.Message {
		content = assemble(s, true).content()
		if !speaks(content) {
			return
		}
		recovery := b.how.Outcome == event.TurnInterrupted
		b.add(event.AssistantMessage{Attempt: s.Attempt, Content: content, Partial: true, Made: recovery}, "")
		b.text = content.Text()
	}
	for i, c := range content.Calls() {
		if s.Call(c.ID) == nil {
			b.add(event.CallRequested{Name: c.Name, Args: c.Args, Index: i}, c.ID)
			b.salvaged = append(b.salvaged, &Call{ID: c.ID, Name: c.Name})
		}
	}
}

func (b *booker) results(s *Step) {
	for _, c := range s.Calls {
		if c.Ended == nil {
			b.add(b.result(c), c.ID)
		}
	}
	for _, c := range b.salvaged {
		b.add(b.result(c), c.ID)
	}
}

func (b *booker) find(id event.CallID) *event.Evidence {
	for i := range b.evidence {
		if b.evidence[i].Call == id {
			return &b.evidence[i]
		}
	}
	return nil
}

// result answers one call that has no end: with what is known, and no more.
func (b *booker) result(c *Call) event.CallEnded {
	recovery := b.how.Outcome == event.TurnInterrupted
	made := func(o event.CallOutcome, text, cause string) event.CallEnded {
		return event.CallEnded{Outcome: o, Error: true, Content: event.TextOf(text), Synthetic: true, Cause: cause}
	}
	switch {
	case c.Started && recovery:
		return b.crashed(c)
	case c.Started:
		return made(event.CallSkipped, TextNotDurable, "storage")
	case c.Asked: // its approval may have been voided already, by an ending that was cut
		return made(event.CallSkipped, TextWaiting, "approval void")
	case recovery:
		return made(event.CallSkipped, TextNeverStarted, "crash")
	case b.how.Outcome == event.TurnBudget && (b.how.Reason == budgetCalls || b.how.Reason == sessionBudget+budgetCalls):
		return made(event.CallSkipped, TextOverBudget, "budget")
	default:
		return made(event.CallSkipped, TextSkipped, "interrupt")
	}
}

func (b *booker) crashed(c *Call) event.CallEnded {
	e := b.find(c.ID)
	if e == nil || !e.Ended || len(c.Inner) > 0 { // a process of a call that makes calls is not the call
		text := unknownText(e) + innerText(c, b.find)
		end := event.CallEnded{Outcome: event.CallUnknown, Error: true, Content: event.TextOf(text), Synthetic: true, Cause: "crash"}
		if e != nil && e.Bytes > 0 {
			end.Output = &event.Output{Bytes: e.Bytes, Truncated: int64(len(e.Output)) < e.Bytes}
		}
		return end
	}
	ran := true
	cause := "crash: taken from the exit record"
	if e.Child != "" {
		cause = "crash: taken from the sub-agent's journal"
	}
	return event.CallEnded{Outcome: event.CallFinished, Success: &ran, Content: event.TextOf(finishedText(e)),
		ExitCode: e.ExitCode, Signal: e.Signal, TimedOut: e.TimedOut, RanMS: e.RanMS, Synthetic: true, Cause: cause}
}

// jobs closes those not found alive and re-adopts the others. Only recovery
// has evidence about jobs; in an ordinary abort they live on.
func (b *booker) jobs() {
	if b.how.Outcome != event.TurnInterrupted {
		return
	}
	ended := map[string]bool{} // owners whose job's end tells of the process too
	for _, j := range b.l.OpenJobs() {
		ended[string(j.ID)], ended[string(j.Tree())] = true, j.Call != ""
		b.add(b.job(j), "")
	}
	for _, p := range b.l.Procs {
		if ended[p.ID] || b.kept(p) {
			continue
		}
		if e := b.find(event.CallID(p.ID)); e != nil && len(e.Survivors) > 0 {
			b.add(event.ProcessSurvived{Owner: p.Owner, ID: p.ID, PIDs: e.Survivors, Why: notEnded}, "")
			continue // it stays open: the next recovery looks for it again
		}
		b.add(event.ProcessEnded{Owner: p.Owner, ID: p.ID, PID: p.PID, How: "reaped"}, "")
	}
}

const notEnded = "alive after KILL by recovery"

func (b *booker) kept(p event.ProcessStarted) bool {
	for _, e := range b.evidence {
		if e.Kept && (string(e.Job) == p.ID || (e.Call != "" && string(e.Call) == p.ID)) {
			return true
		}
	}
	return false
}

// job closes or re-adopts one job. The end that a call's guardian wrote down is
// the command's, not of what the command left running.
func (b *booker) job(j *Job) event.Payload {
	for _, e := range b.evidence {
		own := e.Ended && (j.Call == "" || e.Call != j.Tree())
		switch {
		case e.Job != j.ID:
		case e.Kept:
			return event.JobAdopted{ID: j.ID, PIDs: e.Alive}
		case len(e.Survivors) > 0:
			return event.ProcessSurvived{Owner: "job", ID: string(j.ID), PIDs: e.Survivors, Why: notEnded}
		case len(e.Alive) > 0:
			return event.JobEnded{ID: j.ID, State: event.JobKilled, Signal: "SIGKILL", By: "recovery"}
		case own && e.Signal != "":
			return event.JobEnded{ID: j.ID, State: event.JobKilled, Signal: e.Signal, By: "found by recovery"}
		case own:
			return event.JobEnded{ID: j.ID, State: event.JobExited, ExitCode: e.ExitCode, By: "found by recovery"}
		}
	}
	return event.JobEnded{ID: j.ID, State: event.JobLost, By: "recovery"}
}

func (b *booker) end() event.TurnEnded {
	t := b.l.Turn
	end := event.TurnEnded{Outcome: b.how.Outcome, Reason: b.how.Reason, Error: b.how.Error,
		Usage: t.Usage.Tokens, Whole: wholeUsage(b.l), Steps: t.Step, Text: t.Text}
	if b.text != "" {
		end.Text = b.text
	}
	if c := b.how.Cause; c != nil {
		at := c.At.UTC()
		if b.how.Reason == "" {
			end.Reason = string(c.Reason)
		}
		end.Who, end.At = c.Who, &at
	}
	return end
}

// wholeUsage reports whether every request of the turn had its tokens counted
// to the end.
func wholeUsage(l *Ledger) bool {
	return l.Turn.Usage.Complete && l.Turn.Asked > 0 && l.Turn.Counted == l.Turn.Asked
}

// speaks reports whether content makes a message: blank text does not, and
// neither does thinking of which nothing is shown.
func speaks(c event.Content) bool {
	for _, p := range c {
		switch p := p.(type) {
		case event.Text:
			if strings.TrimSpace(p.Text) != "" {
				return true
			}
		case event.ToolCall, event.Image, event.File:
			return true
		case event.Reasoning:
			if p.Text != "" || p.Data != "" {
				return true
			}
		}
	}
	return false
}
