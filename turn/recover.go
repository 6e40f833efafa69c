package turn

import (
	"fmt"

	"github.com/ripcord-go/ripcord/event"
)

// NeedsRecovery reports whether the journal that folded to l was left with
// work open: a turn, a job, a process.
func NeedsRecovery(l *Ledger) bool {
	return l.turn != 0 || len(l.OpenJobs()) > 0 || len(l.Procs) > 0 || l.compact
}

// Recover returns the records that close what a crash left open, numbered
// behind the ledger's last, as one group: all of it or, torn, none of it. It is
// a pure function of the valid prefix and the evidence; ids and times are
// derived from them, so that recovering twice gives the same records, and a
// recovered journal gives none. The outcome `interrupted` is written here and
// nowhere else. Of opts only the marker's are read.
//
// The ledger is moved to the state behind the group.
func Recover(l *Ledger, epoch event.Epoch, evidence []event.Evidence, opts Options) ([]event.Record, error) {
	if !NeedsRecovery(l) {
		return nil, nil
	}
	c := Close(l, evidence, How{Outcome: event.TurnInterrupted, Reason: "crash", Marker: !opts.NoMarker, Text: opts.MarkerText})
	reason := "the runtime ended in the middle of its work"
	if l.turn == 0 {
		reason = "processes outlived their runtime, or it died before it saw their end"
	}
	drafts := []Draft{{Payload: event.RepairBegun{Why: reason, Upto: l.Last(), Evidence: evidence}}}
	drafts = append(drafts, c.Books...)
	drafts = append(drafts, c.Marker...)
	if c.End.Payload != nil {
		drafts = append(drafts, c.End)
	}
	drafts = append(drafts, Draft{Payload: event.RepairCommitted{Records: len(drafts) + 1}})
	at := l.LastAt
	out := make([]event.Record, 0, len(drafts))
	for _, d := range drafts {
		r, err := event.New(d.Payload, at)
		if err != nil {
			return nil, fmt.Errorf("recover: %w", err)
		}
		r.Seq, r.Epoch, r.Batch, r.Turn, r.Step, r.Call = l.next, epoch, l.batch, d.Turn, d.Step, d.Call
		if err := l.Apply(&r); err != nil {
			return nil, fmt.Errorf("recover: %w", err)
		}
		out = append(out, r)
	}
	return out, nil
}

// OpenCalls lists the started calls without a result, in request order.
func OpenCalls(l *Ledger) []*Call {
	var out []*Call
	if l.open == nil {
		return nil
	}
	for _, c := range l.open.Calls {
		if c.Started && c.Ended == nil {
			out = append(out, c)
		}
	}
	return out
}
