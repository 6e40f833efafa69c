package ripcord

import (
	"context"
	"iter"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
)

// Keeper is what a room keeps for each session beside its journal, such as
// terminals or a mode. A Keeper hears of a session's life; every field may be
// nil. The calls about one session come one after the other, on the goroutine
// that opens or closes it.
type Keeper struct {
	// Needs picks the records that this room's fold lives on. They are kept
	// beside the journal, so that a long one need not be read again; the end of
	// a call whose request is picked, and the bounds of the turn that a picked
	// record stands in, come with it.
	Needs func(rec *event.Record) bool
	// Opened comes when the session's records are complete, recovery's
	// included, before its first turn, with the records that were picked.
	Opened func(ctx context.Context, id event.SessionID, recs iter.Seq2[event.Record, error])
	// Readopted comes for each kept job that was found alive, after Opened.
	Readopted func(id event.SessionID, job event.JobID, tree proc.Tree)
	// Offered comes before an input with these options is offered to the
	// session, on the caller's goroutine; decided, if not nil, is told whether
	// it was accepted by that, which the repeat of an accepted one is not, and the
	// turn that was open at that moment, 0 if none was.
	Offered func(ctx context.Context, id event.SessionID, o event.SubmitOptions) (decided func(accepted bool, turn int))
	// Closed comes when the session's journal is given up.
	Closed func(id event.SessionID)
}

func (r *Runtime) opened(ctx context.Context, l *session.Live, id event.SessionID, dir string) {
	needed := l.Needed()
	for _, k := range r.cfg.Keepers {
		if k.Opened != nil {
			k.Opened(ctx, id, func(yield func(event.Record, error) bool) {
				for _, rec := range needed {
					if !yield(rec, nil) {
						return
					}
				}
			})
		}
	}
	r.readopt(ctx, l, id, dir)
}

func (r *Runtime) forgotten(id event.SessionID) {
	for _, k := range r.cfg.Keepers {
		if k.Closed != nil {
			k.Closed(id)
		}
	}
}

// offered tells the keepers of an input, and gives back what tells them of its
// acceptance.
func (r *Runtime) offered(ctx context.Context, id event.SessionID, o event.SubmitOptions) (decided func(accepted bool, turn int)) {
	var all []func(bool, int)
	for _, k := range r.cfg.Keepers {
		if k.Offered == nil {
			continue
		}
		if d := k.Offered(ctx, id, o); d != nil {
			all = append(all, d)
		}
	}
	return func(accepted bool, turn int) {
		for _, d := range all {
			d(accepted, turn)
		}
	}
}

// needs picks what the sub-agents of a session and its keepers live on. Which
// of them are another session's a fork's beginning says.
func (r *Runtime) needs(rec *event.Record) bool {
	if rec.Type == event.TypeSubAgentLinked || rec.Type == event.TypeSessionForked {
		return true
	}
	for _, k := range r.cfg.Keepers {
		if k.Needs != nil && k.Needs(rec) {
			return true
		}
	}
	return false
}
