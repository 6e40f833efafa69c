package turn

import (
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Summary is a turn's terminal event: one shape for all outcomes (TRN-06).
// What is not known is nil, never zero.
type Summary struct {
	Turn    int
	Inputs  []event.InputID
	Outcome event.TurnOutcome
	Reason  string
	Who     string
	Step    int // 1-based
	Text    string
	Usage   event.Tokens
	// Estimate is our guess of what no provider counted, Cost that of both; nil
	// where there is none.
	Estimate event.Tokens
	Cost     *float64
	Whole    bool
	Calls    []CallSummary
	Dropped  []string // thrown away unrun by the interrupt
	Held     []string // waiting, not run by itself
	// Next is the input whose turn begins by itself behind this one; empty if
	// none does. It is not in the journal.
	Next    event.InputID
	Jobs    []event.JobID
	Error   *event.Failure
	Unsaved bool // the ending could not be written: see Error
}

// CallSummary is one call of the turn.
type CallSummary struct {
	ID   event.CallID
	Name string
	End  event.CallEnded
}

// Unclear reports whether a call's effects are not known.
func (s Summary) Unclear() bool {
	for _, c := range s.Calls {
		if c.End.Outcome == event.CallUnknown || c.End.Outcome == event.CallQuarantined {
			return true
		}
	}
	return false
}

// Summarize returns the summary of the ledger's last turn, which must have
// ended.
func Summarize(l *Ledger) Summary {
	t := l.Turn
	sum := Summary{Turn: t.Number, Inputs: t.Inputs, Step: t.Step, Text: t.Text, Usage: t.Usage.Tokens, Estimate: t.Usage.Estimate}
	if t.Usage.Cost > 0 {
		cost := t.Usage.Cost
		sum.Cost = &cost
	}
	if t.Address != "" && !slices.Contains(t.Inputs, t.Address) {
		sum.Inputs = append(slices.Clone(t.Inputs), t.Address) // who asked for it waits under this name
	}
	if e := t.End; e != nil {
		sum.Outcome, sum.Reason, sum.Who, sum.Error, sum.Whole = e.Outcome, e.Reason, e.Who, e.Error, e.Whole
		sum.Text = e.Text
	}
	for _, c := range t.Calls {
		if c.Ended != nil {
			sum.Calls = append(sum.Calls, CallSummary{c.ID, c.Name, *c.Ended})
		}
	}
	for _, j := range l.OpenJobs() {
		sum.Jobs = append(sum.Jobs, j.ID)
	}
	return sum
}

func (s *State) summary() Summary {
	sum := Summarize(s.Ledger)
	if s.address != "" && !slices.Contains(sum.Inputs, s.address) {
		sum.Inputs = append(slices.Clone(sum.Inputs), s.address)
	}
	sum.Dropped, sum.Held = s.dropped, s.Held()
	if e, ok := s.following(); ok {
		sum.Next = e.ID
	}
	return sum
}

// unsaved is the summary of a turn whose ending could not be written.
func (s *State) unsaved() Summary {
	sum := s.summary()
	sum.Outcome, sum.Error, sum.Unsaved = event.TurnFailed, s.broken, true
	if s.lost {
		sum.Outcome, sum.Reason, sum.Who = event.TurnAborted, string(interrupt.LeaseLost), ""
	}
	return sum
}
