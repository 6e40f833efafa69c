package ripcord

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// Fork implements [api.Service]. The new journal begins with the records of the
// other one: the first is its own opening, the second says where it comes from,
// every other one stands where it stood, so that what names a record still
// names it. Behind them it is written, under an epoch of its own, that nothing
// of the other session's is open here. The other session is read and not taken,
// unless it has to be recovered first (REC-01).
func (r *Runtime) Fork(ctx context.Context, req api.ForkRequest) (event.SessionID, error) {
	p, err := r.prefix(ctx, req)
	if err != nil {
		return "", toError(err)
	}
	id := session.NewSessionID(time.Now())
	recs, err := p.fork(id, req)
	if err != nil {
		return "", toError(err)
	}
	if err := r.cfg.Store.Seed(ctx, id, recs, req.Session, blobsOf(recs)); err != nil {
		return "", toError(err)
	}
	r.log.Info("forked", "session", req.Session, "upto", p.last, "fork", id)
	return id, nil
}

// prefix is the part of a journal that is copied.
type prefix struct {
	recs []event.Record
	last event.Seq
	turn int // the last one in it
	l    *turn.Ledger
}

// prefix finds what a request means. A turn that a live owner runs is no end to
// copy up to; one that a crash left open is closed first, if it is the one that
// is meant.
func (r *Runtime) prefix(ctx context.Context, req api.ForkRequest) (*prefix, error) {
	meant := func(open int) bool { return open != 0 && (req.Turn == 0 || req.Turn == open) }
	p, open, err := r.ended(ctx, req)
	if err == nil && meant(open) {
		opened := func(*session.Live) error { return nil } // being taken is what it needs
		if err = r.borrow(ctx, req.Session, event.SessionOpened{}, opened); err != nil {
			return nil, err // somebody else runs it, or it cannot be recovered
		}
		p, open, err = r.ended(ctx, req)
	}
	switch {
	case err != nil:
		return nil, err
	case meant(open):
		return nil, &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("turn %d of session %s is running", open, req.Session),
			Hint: "wait for its end or interrupt it, or name a turn that has ended"}
	}
	return p, p.found(req)
}

// found says whether the prefix ends with the turn that is meant.
func (p *prefix) found(req api.ForkRequest) error {
	switch {
	case p.turn == 0:
		return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("session %s has no turn that has ended", req.Session), Hint: "start a new session instead"}
	case req.Turn != 0 && p.turn != req.Turn:
		return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("session %s has no turn %d that has ended: the last is %d", req.Session, req.Turn, p.turn),
			Hint: fmt.Sprintf("`ripcord sessions show %s` lists the turns", req.Session)}
	}
	return nil
}

// ended reads the journal up to the end of the turn that is meant, or of the
// last one, and returns the turn that is open behind it, 0 if none is. What is
// behind damage is not there. For the last turn what followed it counts, too:
// that it was hidden since, say.
func (r *Runtime) ended(ctx context.Context, req api.ForkRequest) (p *prefix, open int, err error) {
	p = &prefix{last: -1}
	l, upto := turn.NewLedger(), event.Seq(math.MaxInt64)
	if live, lerr := r.get(req.Session); lerr == nil { // what is not durable yet may never have been
		sub, shown := live.Subscribe()
		sub.Close()
		upto = shown
	}
	var recs []event.Record
	for rec, rerr := range r.cfg.Store.Read(ctx, req.Session, 0) {
		if rerr == nil && rec.Seq > upto {
			break
		}
		if err = rerr; err == nil {
			err = l.Apply(&rec)
		}
		if err != nil {
			break
		}
		recs = append(recs, rec)
		// A turn that recovery closed ends with the group that says so.
		quiet := l.OpenTurn() == 0 && !l.InRepair() && l.Turn != nil && l.Turn.End != nil
		if quiet && (req.Turn == 0 || l.Turn.Number <= req.Turn && p.turn != l.Turn.Number) {
			p.last, p.turn = rec.Seq, l.Turn.Number
		}
	}
	var damaged *journal.DamagedError
	switch {
	case err == nil:
		open = l.OpenTurn()
	case !errors.As(err, &damaged) && !errors.Is(err, journal.ErrRule) || p.turn == 0 || p.found(req) != nil:
		return nil, 0, err
	}
	if p.turn == 0 {
		return p, open, nil
	}
	p.recs = recs[:p.last+1]
	if p.l, err = turn.Fold(p.recs); err != nil {
		return nil, 0, err
	}
	return p, open, nil
}

// fork makes the records of the new session.
func (p *prefix) fork(id event.SessionID, req api.ForkRequest) ([]event.Record, error) {
	now := time.Now()
	head := p.l.Header
	head.ID, head.Parent, head.Product = id, "", "ripcord "+Version
	if req.Title != "" {
		head.Title = req.Title
	}
	out := append([]event.Record(nil), p.recs...)
	var err error
	put := func(at int, payload event.Payload) {
		rec, nerr := event.New(payload, now)
		err = errors.Join(err, nerr)
		rec.Epoch = out[at].Epoch
		out[at] = rec
	}
	put(0, head)
	put(1, event.SessionForked{From: req.Session, Upto: p.last, Reason: fmt.Sprintf("up to the end of turn %d", p.turn)})
	epoch := p.recs[len(p.recs)-1].Epoch + 1
	for _, payload := range p.closers() {
		rec, nerr := event.New(payload, now)
		err = errors.Join(err, nerr)
		rec.Epoch = epoch
		out = append(out, rec)
	}
	return out, err
}

// closers say that nothing of the prefix is open in the fork. They are about
// what is written here: the jobs and processes are the other session's, and are
// left alone.
func (p *prefix) closers() []event.Payload {
	out := []event.Payload{event.LeaseTaken{Owner: proc.Self()}}
	for _, j := range p.l.OpenJobs() {
		out = append(out, event.JobEnded{ID: j.ID, State: event.JobLost, By: turn.ByFork})
	}
	for _, q := range p.l.Procs {
		out = append(out, event.ProcessEnded{Owner: q.Owner, ID: q.ID, PID: q.PID, How: "lost"})
	}
	for _, e := range p.l.Box.Waiting() {
		out = append(out, event.InboxDropped{ID: e.ID, Why: "canceled", By: turn.ByFork})
	}
	return out
}

var digests = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// blobsOf lists the blobs that records may name. Where a text only looks like
// one, there is none of that name, or it costs a name.
func blobsOf(recs []event.Record) (out []event.BlobRef) {
	seen := map[string]bool{}
	for i := range recs {
		for _, d := range digests.FindAll(recs[i].Data, -1) {
			if name := string(d); !seen[name] {
				seen[name] = true
				out = append(out, event.BlobRef{Digest: name})
			}
		}
	}
	return out
}
