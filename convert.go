package ripcord

import (
	"errors"
	"os"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// resultOf puts a turn's summary into the shape of IFC-01. The exit code is a
// process's affair and is set by the command line.
func resultOf(id event.SessionID, s turn.Summary) api.Result {
	res := api.Result{Kind: "result", Schema: 1, Session: &id, Turn: &s.Turn, Outcome: &s.Outcome, Text: s.Text,
		Usage: &api.Usage{Input: s.Usage.Input, Output: s.Usage.Output, Complete: s.Whole},
		Calls: []api.CallResult{}, DroppedUnrun: list(s.Dropped), Held: list(s.Held), Jobs: list(s.Jobs),
		UnknownEffects: s.Unclear(), Who: s.Who, Step: s.Step, Next: s.Next}
	if e := s.Estimate; e != (event.Tokens{}) {
		res.Usage.Estimated = &api.Estimated{Input: e.Input, Output: e.Output}
	}
	res.Usage.Cost = s.Cost
	if s.Reason != "" {
		res.Reason = &s.Reason
	}
	for _, c := range s.Calls {
		cr := api.CallResult{ID: c.ID, Name: c.Name, Outcome: c.End.Outcome, ExitCode: c.End.ExitCode, TimedOut: c.End.TimedOut, RanMS: c.End.RanMS}
		if c.End.Signal != "" {
			cr.Signal = &c.End.Signal
		}
		res.Calls = append(res.Calls, cr)
	}
	if s.Error != nil {
		res.Error = &api.ErrorInfo{Code: string(s.Error.Code), Message: s.Error.Message, Hint: s.Error.Hint}
	}
	return res
}

// list is never nil, so that it is [] on the wire.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func (r *Runtime) stateOf(l *session.Live) api.SessionState {
	st := l.Status()
	out := api.SessionState{ID: st.Header.ID, Cwd: st.Header.Cwd, Running: st.Running, Stopping: st.Stopping, Turn: st.Turn,
		Seq: st.Seq, Held: st.Held, Retryable: st.Retryable, Verified: st.Verified, Storage: st.Storage, Unwinding: st.Unwinding,
		Model: api.ModelInfo{Provider: st.Model.Provider, Model: st.Model.Model}}
	if r.cfg.Model != nil {
		out.Model.Why = r.cfg.Model.Info().Why
	}
	for _, q := range st.Approvals {
		out.Approvals = append(out.Approvals, api.Approval{ID: q.Asked.ID, Call: q.Call, Tool: q.Asked.Tool, Prompt: q.Asked.Prompt,
			Question: q.Asked.Question, Options: q.Asked.Options})
	}
	if st.Last != nil {
		res := resultOf(st.Header.ID, *st.Last)
		out.Last = &res
	}
	if rec := st.Recovered; rec != nil {
		out.Recovered = &api.Recovery{Turn: rec.Turn, Added: rec.Added, Torn: rec.Torn, File: rec.File}
		for _, k := range rec.Kept {
			out.Recovered.Adopted = append(out.Recovered.Adopted, string(k.Job))
		}
	}
	return out
}

func liveOf(id event.SessionID, f *session.LiveFrame) *api.Live {
	out := &api.Live{Kind: api.LiveKind(f.Kind), Turn: f.Turn, Step: f.Step, Block: f.Block, Off: f.Off,
		Call: f.Call, Name: f.Name, Text: f.Text, State: f.State}
	if f.Summary != nil {
		res := resultOf(id, *f.Summary)
		out.Result = &res
	}
	return out
}

// toError puts err into the shape that edges understand: a code for programs, a
// sentence for people, the next step.
func toError(err error) error {
	if err == nil {
		return nil
	}
	var already *api.Error
	var refused *turn.RefusedError
	var busy *journal.BusyError
	var damaged *journal.DamagedError
	var future *journal.FutureError
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &refused):
		return &api.Error{Code: refused.Failure.Code, Message: refused.Failure.Message, Hint: refused.Failure.Hint, Err: err}
	case errors.As(err, &busy):
		return &api.Error{Code: event.FailBusy, Message: busy.Error(), Owner: &api.OwnerInfo{PID: busy.Owner.PID, Host: busy.Owner.Host}, Err: err}
	case errors.As(err, &damaged):
		return &api.Error{Code: event.FailDamaged, Message: damaged.Error(), Err: err}
	case errors.As(err, &future):
		return &api.Error{Code: "future", Message: future.Error(), Err: err}
	case errors.Is(err, session.ErrDropped):
		return &api.Error{Code: "dropped", Message: err.Error(), Hint: "submit it again if it is still wanted", Err: err}
	case errors.Is(err, session.ErrClosed):
		return &api.Error{Code: event.FailUsage, Message: err.Error(), Hint: "open it again", Err: err}
	case errors.Is(err, session.ErrNoJob):
		return &api.Error{Code: "not_found", Message: err.Error(), Hint: "see `ripcord jobs list`", Err: err}
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, session.ErrNoInput):
		return &api.Error{Code: "not_found", Message: err.Error(), Hint: "see `ripcord sessions list`", Err: err}
	case errors.Is(err, journal.ErrStorage) && errors.Is(err, os.ErrPermission):
		return &api.Error{Code: event.FailStorage, Message: err.Error(), Hint: "ask who owns the file, or set RIPCORD_HOME to a folder of your own", Err: err}
	case errors.Is(err, journal.ErrStorage):
		return &api.Error{Code: event.FailStorage, Message: err.Error(), Hint: "make room or mend the disk, then try again", Err: err}
	default:
		return &api.Error{Code: event.FailInternal, Message: err.Error(), Err: err}
	}
}
