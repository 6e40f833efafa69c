package ripcord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// Sessions implements [api.Service]: the newest first.
func (r *Runtime) Sessions(ctx context.Context) ([]api.SessionInfo, error) {
	entries, err := r.cfg.Store.List(ctx)
	if err != nil {
		return nil, toError(err)
	}
	out := make([]api.SessionInfo, 0, len(entries))
	for _, e := range entries {
		out = append(out, infoOf(e))
	}
	sort.SliceStable(out, func(i, j int) bool { return later(out[i].Updated, out[j].Updated) })
	return out, nil
}

func later(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a != nil
	}
	return a.After(*b)
}

func infoOf(e journal.Entry) api.SessionInfo {
	info := api.SessionInfo{ID: e.ID, State: string(e.State), Bytes: e.Bytes, Turns: e.Turn}
	if e.Owner != nil {
		info.Owner = &api.OwnerInfo{PID: e.Owner.PID, Host: e.Owner.Host}
	}
	if e.Head != nil {
		if p, err := e.Head.Body(); err == nil {
			switch h, ok := p.(event.SessionOpened); {
			case !ok:
			case h.ID != "" && h.ID != e.ID:
				info.Title = fmt.Sprintf("a copy of %s", h.ID) // it is not opened, so it is no workspace's newest
			default:
				info.Title, info.Cwd, info.Parent = h.Title, h.Cwd, h.Parent
			}
		}
	}
	for i := range e.Tail {
		t := e.Tail[i].Time
		info.Updated = &t
	}
	return info
}

// latest is the newest session that was opened in cwd, a damaged one too: going
// on in an older one instead would be going on somewhere else.
func (r *Runtime) latest(ctx context.Context, cwd string) (event.SessionID, error) {
	all, err := r.Sessions(ctx)
	if err != nil {
		return "", err
	}
	unread := 0
	for _, s := range all {
		if s.Cwd == cwd && s.Parent == "" { // a sub-agent's session is nobody's newest
			return s.ID, nil
		}
		if s.Cwd == "" && s.Bytes > 0 {
			unread++
		}
	}
	none := &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("no session was opened in %s yet", cwd), Hint: "leave out --continue to start one"}
	if unread > 0 {
		none.Message += fmt.Sprintf(", but of %d sessions it cannot be read where they were opened", unread)
		none.Hint = "see `ripcord sessions list`, then name one with --session, or leave out --continue to start one"
	}
	return "", none
}

// Delete implements [api.Service]. A session whose kept job lives is not
// deleted: nothing would be left that knows of the job.
func (r *Runtime) Delete(ctx context.Context, id event.SessionID) error {
	if l, _, err := r.fold(ctx, id); err == nil { // one that can't be read can be deleted all the same
		for _, j := range l.OpenJobs() {
			if pids := remaining(l, j); len(pids) > 0 {
				return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf("job %s of session %s still runs (processes %v)", j.ID, id, pids),
					Hint: fmt.Sprintf("end it with `ripcord jobs kill %s/%s` first", id, j.ID)}
			}
		}
	}
	return toError(r.cfg.Store.Delete(ctx, id))
}

// Verify implements [api.Service].
func (r *Runtime) Verify(ctx context.Context, id event.SessionID) (api.VerifyReport, error) {
	rep, err := r.cfg.Store.Verify(ctx, id)
	if err != nil {
		return api.VerifyReport{}, toError(err)
	}
	out := api.VerifyReport{OK: rep.OK, Records: rep.Records, Bytes: rep.Bytes, Damage: []api.DamageInfo{}, Verified: rep.Verified, Unknown: rep.Unknown}
	if rep.Torn != nil {
		out.Torn = &api.TornInfo{Offset: rep.Torn.Offset, Bytes: rep.Torn.Bytes}
	}
	for _, d := range rep.Damage {
		out.Damage = append(out.Damage, api.DamageInfo(d))
	}
	if rep.OpenTurn != 0 {
		out.OpenTurn = &rep.OpenTurn
	}
	return out, nil
}

// fold reads a session without taking it.
func (r *Runtime) fold(ctx context.Context, id event.SessionID) (*turn.Ledger, []event.Record, error) {
	l := turn.NewLedger()
	var recs []event.Record
	for rec, err := range r.cfg.Store.Read(ctx, id, 0) {
		if err != nil {
			return nil, nil, toError(err)
		}
		if err := l.Apply(&rec); err != nil {
			return nil, nil, toError(err)
		}
		recs = append(recs, rec)
	}
	return l, recs, nil
}

// PreviewRepair implements [api.Service].
func (r *Runtime) PreviewRepair(ctx context.Context, id event.SessionID) (api.RepairPreview, error) {
	l, recs, err := r.fold(ctx, id)
	if err != nil {
		return api.RepairPreview{}, err
	}
	out := api.RepairPreview{Turn: l.OpenTurn(), Adds: []json.RawMessage{}, Why: []string{}}
	if !turn.NeedsRecovery(l) {
		return out, nil
	}
	if out.Owner, err = r.owner(ctx, id); err != nil || out.Owner != nil { // what looks left open is being worked on
		return out, err
	}
	for i := range recs {
		if recs[i].Turn == out.Turn && out.Turn != 0 {
			out.Cutting.Records++
			out.Cutting.Bytes += int64(len(recs[i].Line)) + 1
			if recs[i].Type == event.TypeCallEnded {
				out.Cutting.Results++
			}
		}
	}
	n := &lineage{r: r, id: id}
	for i := range recs {
		n.note(&recs[i])
	}
	evidence := n.observe(ctx, l, true)
	epoch := recs[len(recs)-1].Epoch + 1
	if err := r.before(ctx, id, l, epoch); err != nil {
		return api.RepairPreview{}, toError(err)
	}
	closers, err := turn.Recover(l, epoch, evidence, r.options(r.tools))
	if err != nil {
		return api.RepairPreview{}, toError(err)
	}
	var sum event.Sum
	for i := range closers {
		var line []byte
		if line, sum, err = event.Encode(nil, sum, &closers[i]); err != nil {
			return api.RepairPreview{}, toError(err)
		}
		out.Adds = append(out.Adds, line)
		out.Why = append(out.Why, why(&closers[i]))
	}
	return out, nil
}

// owner is who holds session id, here or elsewhere; nil if nobody does.
func (r *Runtime) owner(ctx context.Context, id event.SessionID) (*api.OwnerInfo, error) {
	all, err := r.Sessions(ctx)
	for _, s := range all {
		if s.ID == id {
			return s.Owner, err
		}
	}
	return nil, err
}

// before folds into l what opening writes in front of the closers, so that the
// preview numbers them as they will be.
func (r *Runtime) before(ctx context.Context, id event.SessionID, l *turn.Ledger, epoch event.Epoch) error {
	first := []event.Payload{event.LeaseTaken{Owner: proc.Self()}}
	rep, err := r.cfg.Store.Verify(ctx, id)
	if err != nil {
		return err
	}
	if t := rep.Torn; t != nil {
		first = append(first, event.TornSaved{Offset: t.Offset, Bytes: t.Bytes})
	}
	for _, p := range first {
		rec, err := event.New(p, time.Now())
		if err != nil {
			return err
		}
		rec.Seq, rec.Epoch, rec.Batch = l.Last()+1, epoch, l.LastBatch()
		if err := l.Apply(&rec); err != nil {
			return err
		}
	}
	return nil
}

// why says in one line for what a closer is there.
func why(rec *event.Record) string {
	p, err := rec.Body()
	if err != nil {
		return err.Error()
	}
	switch p := p.(type) {
	case event.RepairBegun:
		return "opens the group: all of it is written, or none"
	case event.ApprovalVoided:
		return "nobody had answered this question; it is no refusal"
	case event.AssistantMessage:
		return "keeps what the model had said before the end"
	case event.CallRequested:
		return "the model had asked for this call in full"
	case event.CallEnded:
		return fmt.Sprintf("call %s had no result: %s", rec.Call, p.Outcome)
	case event.JobAdopted:
		return fmt.Sprintf("job %s was told to live on, and does", p.ID)
	case event.JobEnded:
		return fmt.Sprintf("job %s was not found alive: %s", p.ID, p.State)
	case event.ProcessEnded:
		return fmt.Sprintf("process %d does not run any more", p.PID)
	case event.StepEnded:
		return "every call of the step is answered"
	case event.TurnMarked:
		return "tells the model that the turn was cut"
	case event.TurnEnded:
		return "the turn ended with its process"
	case event.RepairCommitted:
		return "closes the group"
	default:
		return string(rec.Type)
	}
}

// Jobs implements [api.Service].
func (r *Runtime) Jobs(ctx context.Context, id event.SessionID) ([]api.JobInfo, error) {
	l, recs, err := r.fold(ctx, id)
	if err != nil {
		return nil, err
	}
	owned := proc.Alive(l.Lease)
	if _, err := r.get(id); err != nil && l.Lease == proc.Self() {
		owned = false // it was ours and was released
	}
	out := []api.JobInfo{}
	for _, j := range l.Jobs {
		info := api.JobInfo{ID: j.ID, Session: id, Owner: "job", Call: j.Call, Command: j.Command, PIDs: list(j.PIDs), State: event.JobRunning, Started: j.At, Keep: j.Keep}
		if e := j.Ended; e != nil {
			info.State, info.ExitCode = e.State, e.ExitCode
			if e.Signal != "" {
				info.Signal = &e.Signal
			}
		} else if !owned && len(remaining(l, j)) == 0 {
			info.State = event.JobLost // its runtime died and nothing of it is left
		}
		out = append(out, info)
	}
	out = append(out, othersOf(l, recs, id)...)
	if _, err := r.get(id); err == nil && l.Header.Parent == "" && r.cfg.Processes != nil {
		for _, p := range r.cfg.Processes() {
			p.Session = id
			out = append(out, p)
		}
	}
	return out, nil
}

// othersOf lists the calls and hooks that run, as their processes are recorded.
// The tree of a call that became a job is the job's.
func othersOf(l *turn.Ledger, recs []event.Record, id event.SessionID) (out []api.JobInfo) {
	jobs := map[string]bool{}
	for _, j := range l.OpenJobs() {
		jobs[string(j.ID)], jobs[string(j.Tree())] = true, true
	}
	for _, p := range l.Procs {
		if p.Owner != "hook" && p.Owner != "call" || jobs[p.ID] {
			continue
		}
		pids := proc.Find(p).PIDs
		if len(pids) == 0 {
			continue // what is left of it is for recovery to say
		}
		info := api.JobInfo{ID: event.JobID(p.ID), Session: id, Owner: p.Owner, Command: p.Command, PIDs: pids, State: event.JobRunning}
		if p.Owner == "call" {
			info.Call = event.CallID(p.ID)
		}
		for i := range recs {
			if recs[i].Type != event.TypeProcessStarted {
				continue
			}
			if q, _ := recs[i].Body(); sameProcess(q, p) {
				info.Started = recs[i].Time
			}
		}
		out = append(out, info)
	}
	return out
}

func sameProcess(q event.Payload, p event.ProcessStarted) bool {
	s, ok := q.(event.ProcessStarted)
	return ok && s.Owner == p.Owner && s.ID == p.ID && s.PID == p.PID
}

// remaining lists the processes of a job that are alive now.
func remaining(l *turn.Ledger, j *turn.Job) []int {
	for _, p := range l.Procs {
		if p.ID == string(j.ID) || p.ID == string(j.Tree()) && p.ID != "" {
			return proc.Find(p).PIDs
		}
	}
	return nil
}

const jobLogLimit = 256 << 10

// JobLog implements [api.Service].
func (r *Runtime) JobLog(ctx context.Context, id event.SessionID, job event.JobID) (string, error) {
	if l, err := r.get(id); err == nil {
		if text, err := l.Output(job, jobLogLimit); err == nil {
			return text, nil
		}
	}
	l, _, err := r.fold(ctx, id)
	if err != nil {
		return "", err
	}
	j := l.Job(job)
	if j == nil {
		return "", toError(fmt.Errorf("%w: %s", session.ErrNoJob, job))
	}
	out, err := proc.ReadOutput(spoolPath(r.cfg.Store.Dir(id), j.Spool), jobLogLimit)
	if err != nil {
		return "", &api.Error{Code: "not_found", Message: fmt.Sprintf("the output of job %s is not there any more", job), Err: err}
	}
	return out.Text, nil
}

// spoolPath resolves a spool path that a record holds.
func spoolPath(dir, spool string) string {
	if spool == "" || filepath.IsAbs(spool) {
		return spool
	}
	return filepath.Join(dir, spool)
}

// KillJob implements [api.Service]. A session that nobody holds is taken for
// as long as it needs.
func (r *Runtime) KillJob(ctx context.Context, id event.SessionID, job event.JobID) error {
	if l, err := r.get(id); err == nil {
		return toError(l.Kill(job, "user"))
	}
	return toError(r.borrow(ctx, id, event.SessionOpened{}, func(l *session.Live) error { return l.Kill(job, "user") }))
}

// KeepJob implements [api.Service].
func (r *Runtime) KeepJob(ctx context.Context, id event.SessionID, job event.JobID, keep bool) error {
	l, err := r.get(id)
	if err != nil {
		return err
	}
	if err := l.Keep(ctx, job, keep); err != nil && !errors.Is(err, session.ErrNoJob) {
		return &api.Error{Code: "unsupported", Message: err.Error(), Err: err}
	} else if err != nil {
		return toError(err)
	}
	return nil
}
