package ripcord

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

const childWords = 8 << 10 // bytes of a child's account in its parent's closer

// lineage is what recovery of one session knows of its sub-agents.
type lineage struct {
	r     *Runtime
	id    event.SessionID
	links []link
	seen  bool // they were looked at

	copied event.Seq // last record that another session's journal begins with, too; 0: none
}

// note keeps the links of rec.
//
// Those in a copied prefix are the other session's.
func (n *lineage) note(rec *event.Record) {
	if rec.Type != event.TypeSubAgentLinked && rec.Type != event.TypeSessionForked {
		return
	}
	p, err := rec.Body()
	if err != nil {
		return
	}
	switch p := p.(type) {
	case event.SessionForked:
		n.copied = p.Upto
	case event.SubAgentLinked:
		if n.copied == 0 || rec.Seq > n.copied {
			n.links = append(n.links, link{p.Child, rec.Call, p.Background})
		}
	}
}

// begin has the session begin behind the snapshot that its writer began behind,
// and returns the first record that is still to be read.
func (n *lineage) begin(cfg *session.Config, w journal.Writer) (event.Seq, error) {
	sw, ok := w.(journal.SnapshotWriter)
	if !ok || sw.Snapshot() == nil {
		return 0, nil
	}
	snap := sw.Snapshot()
	recs, err := session.Needed(snap.State)
	if err != nil {
		return 0, err // the writer has read it before
	}
	for i := range recs {
		n.note(&recs[i])
	}
	cfg.Snapshot = snap.State
	return snap.At.Seq + 1, nil
}

// noting hands records on and notes the links in them, so that a long journal
// is read once.
func (n *lineage) noting(recs iter.Seq2[event.Record, error]) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for rec, err := range recs {
			if err == nil {
				n.note(&rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// observe is what could be found out about the session's open work: its
// sub-agents' books are closed first, so that the leaves come before the root.
// With dry set nothing is changed.
func (n *lineage) observe(ctx context.Context, l *turn.Ledger, dry bool) []event.Evidence {
	told := n.children(ctx, l, dry)
	out := observe(ctx, n.r.cfg.Store.Dir(n.id), l, dry)
	for _, e := range told {
		for i := range out { // what a call's own traces say is less
			if out[i].Call == e.Call && out[i].Job == "" {
				out[i].Call = ""
			}
		}
	}
	return append(told, out...)
}

// children closes the books of the sub-agents that may have been at work, and
// returns what they say about the calls that waited for them.
func (n *lineage) children(ctx context.Context, l *turn.Ledger, dry bool) (out []event.Evidence) {
	n.seen = true
	waits := map[event.CallID]bool{}
	for _, c := range turn.OpenCalls(l) {
		waits[c.ID] = true
	}
	done := map[event.SessionID]bool{}
	for _, link := range n.links {
		if done[link.child] && !waits[link.call] || !waits[link.call] && !link.background {
			continue
		}
		done[link.child] = true
		rep, err := n.r.settle(ctx, n.id, link.child, dry)
		if err != nil {
			n.r.log.Warn("a sub-agent's journal is left as it is", "session", n.id, "child", link.child, "error", err)
		}
		if waits[link.call] {
			out = append(out, evidenceOf(link, rep, err))
		}
	}
	return out
}

// evidenceOf says of a call what its sub-agent's journal says.
func evidenceOf(l link, rep tool.AgentReport, err error) event.Evidence {
	e := event.Evidence{Call: l.call, Child: l.child}
	switch {
	case errors.Is(err, journal.ErrNotFound):
		e.Note = fmt.Sprintf("Its sub-agent %s had not begun: it has no journal.", l.child)
		return e
	case err != nil:
		e.Note = fmt.Sprintf("What its sub-agent %s has done could not be read: %v.", l.child, err)
		return e
	}
	e.Output = rep.Words(childWords)
	e.Bytes = int64(len(e.Output))
	e.Ended = rep.Well() && !rep.Running // its answer is a fact
	if l.background {
		e.Ended, e.Note = false, fmt.Sprintf("It was to start sub-agent %s in the background.", l.child)
	}
	return e
}

// settle closes the books of one child, if they are open, and returns its
// account. With dry set it says what they would be.
func (r *Runtime) settle(ctx context.Context, parent, child event.SessionID, dry bool) (tool.AgentReport, error) {
	l, recs, err := r.fold(ctx, child)
	switch {
	case err != nil:
		return tool.AgentReport{}, err
	case child == parent || l.Header.Parent != parent && l.Header.ID != "":
		return tool.AgentReport{}, fmt.Errorf("session %s is not its sub-agent", child)
	case l.Last() < 0:
		return tool.AgentReport{}, fmt.Errorf("%w: its journal is empty", journal.ErrNotFound)
	case r.isLive(child): // it was opened before its parent was
		return reportOf(l), nil
	}
	n := &lineage{r: r, id: child}
	for i := range recs {
		n.note(&recs[i])
	}
	if !turn.NeedsRecovery(l) {
		n.children(ctx, l, dry) // those in the background may have outlived its turn
		return reportOf(l), nil
	}
	if dry {
		evidence := n.observe(ctx, l, true)
		epoch := recs[len(recs)-1].Epoch + 1
		if err := r.before(ctx, child, l, epoch); err != nil {
			return tool.AgentReport{}, err
		}
		if _, err := turn.Recover(l, epoch, evidence, r.options(r.tools)); err != nil {
			return tool.AgentReport{}, err
		}
		return reportOf(l), nil
	}
	recovered := false
	err = r.borrow(ctx, child, event.SessionOpened{Parent: parent}, func(*session.Live) error { recovered = true; return nil })
	switch {
	case !recovered:
		return tool.AgentReport{}, err
	case err != nil:
		r.log.Warn("a recovered sub-agent could not be closed again", "session", child, "error", err)
	}
	if l, _, err = r.fold(ctx, child); err != nil {
		return tool.AgentReport{}, err
	}
	return reportOf(l), nil
}

func (r *Runtime) isLive(id event.SessionID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id] != nil
}
