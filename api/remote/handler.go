package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime/debug"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Handler serves svc. It may be used by many connections at once; a
// connection's end cancels the context of its own call alone. It checks no
// credentials: who may connect is the listener's affair. faults are told of a
// call that panicked, with its stack, on that call's goroutine.
func Handler(svc api.Service, faults ...func(error)) http.Handler {
	mux := http.NewServeMux()
	sessionMethods(mux, svc)
	turnMethods(mux, svc)
	inboxMethods(mux, svc)
	journalMethods(mux, svc)
	jobMethods(mux, svc)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, &api.Error{Code: "unsupported", Message: "no such method: " + r.Method + " " + r.URL.Path,
			Hint: "use the same version of ripcord on both sides"})
	})
	return contained(mux, faults)
}

func sessionMethods(mux *http.ServeMux, svc api.Service) {
	method(mux, "open", func(ctx context.Context, a api.OpenRequest) (wireState, error) {
		s, err := svc.Open(ctx, a)
		return wireState{s, toWire(s.Last)}, err
	})
	method(mux, "status", func(ctx context.Context, a sessionArg) (wireState, error) {
		s, err := svc.Status(ctx, a.Session)
		return wireState{s, toWire(s.Last)}, err
	})
	method(mux, "release", func(ctx context.Context, a sessionArg) (none, error) {
		return none{}, svc.Release(ctx, a.Session)
	})
	method(mux, "sessions", func(ctx context.Context, _ none) ([]api.SessionInfo, error) {
		return svc.Sessions(ctx)
	})
	method(mux, "delete", func(ctx context.Context, a sessionArg) (none, error) {
		return none{}, svc.Delete(ctx, a.Session)
	})
}

func turnMethods(mux *http.ServeMux, svc api.Service) {
	method(mux, "submit", svc.Submit)
	method(mux, "continue", func(ctx context.Context, a sessionArg) (api.Submitted, error) {
		return svc.Continue(ctx, a.Session)
	})
	method(mux, "run-held", func(ctx context.Context, a sessionArg) (api.Submitted, error) {
		return svc.RunHeld(ctx, a.Session)
	})
	method(mux, "run-next", func(ctx context.Context, a sessionArg) (api.Submitted, error) {
		return svc.RunNext(ctx, a.Session)
	})
	method(mux, "wait", func(ctx context.Context, a inputArg) (*wireResult, error) {
		r, err := svc.Wait(ctx, a.Session, a.Input)
		return toWire(&r), err
	})
	method(mux, "interrupt", svc.Interrupt)
	method(mux, "decide", func(ctx context.Context, a api.DecideRequest) (none, error) {
		return none{}, svc.Decide(ctx, a)
	})
}

func inboxMethods(mux *http.ServeMux, svc api.Service) {
	method(mux, "inbox", func(ctx context.Context, a sessionArg) ([]api.Waiting, error) {
		return svc.Inbox(ctx, a.Session)
	})
	method(mux, "edit_input", func(ctx context.Context, a api.EditRequest) (none, error) {
		return none{}, svc.EditInput(ctx, a)
	})
	method(mux, "remove_input", func(ctx context.Context, a api.RemoveRequest) (none, error) {
		return none{}, svc.RemoveInput(ctx, a)
	})
	method(mux, "clear_inbox", svc.ClearInbox)
	method(mux, "retry", svc.Retry)
	method(mux, "rewind", svc.Rewind)
	method(mux, "fork", svc.Fork)
	method(mux, "compact", func(ctx context.Context, a sessionArg) (api.Submitted, error) {
		return svc.Compact(ctx, a.Session)
	})
}

func journalMethods(mux *http.ServeMux, svc api.Service) {
	stream(mux, "follow", func(ctx context.Context, a streamArg) iter.Seq2[api.Frame, error] {
		return svc.Follow(ctx, a.Session, a.From, a.Live)
	})
	stream(mux, "records", func(ctx context.Context, a streamArg) iter.Seq2[api.Frame, error] {
		return svc.Records(ctx, a.Session, a.From)
	})
	method(mux, "verify", func(ctx context.Context, a sessionArg) (api.VerifyReport, error) {
		return svc.Verify(ctx, a.Session)
	})
	method(mux, "preview_repair", func(ctx context.Context, a sessionArg) (api.RepairPreview, error) {
		return svc.PreviewRepair(ctx, a.Session)
	})
}

func jobMethods(mux *http.ServeMux, svc api.Service) {
	method(mux, "jobs", func(ctx context.Context, a sessionArg) ([]api.JobInfo, error) {
		return svc.Jobs(ctx, a.Session)
	})
	method(mux, "job_log", func(ctx context.Context, a jobArg) (string, error) {
		return svc.JobLog(ctx, a.Session, a.Job)
	})
	method(mux, "kill_job", func(ctx context.Context, a jobArg) (none, error) {
		return none{}, svc.KillJob(ctx, a.Session, a.Job)
	})
	method(mux, "keep_job", func(ctx context.Context, a jobArg) (none, error) {
		return none{}, svc.KeepJob(ctx, a.Session, a.Job, a.Keep)
	})
}

// method serves one question with one answer.
func method[A, R any](mux *http.ServeMux, name string, f func(context.Context, A) (R, error)) {
	mux.HandleFunc("POST "+prefix+name, func(w http.ResponseWriter, r *http.Request) {
		var arg A
		if err := readArg(w, r, &arg); err != nil {
			fail(w, err)
			return
		}
		res, err := f(r.Context(), arg)
		if err != nil {
			fail(w, err)
			return
		}
		body, err := encode(res)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the peer is gone: nobody is left to be told
	})
}

// stream serves frames, one a line, each sent as soon as it is there.
func stream(mux *http.ServeMux, name string, f func(context.Context, streamArg) iter.Seq2[api.Frame, error]) {
	mux.HandleFunc("POST "+prefix+name, func(w http.ResponseWriter, r *http.Request) {
		var arg streamArg
		if err := readArg(w, r, &arg); err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
		flusher := http.NewResponseController(w)
		if flusher.Flush() != nil {
			return
		}
		var buf []byte
		for frame, err := range f(r.Context(), arg) {
			if err == nil {
				buf, err = appendFrame(buf[:0], frame)
			}
			if err != nil {
				buf = lastLine(asError(err))
			}
			if _, werr := w.Write(buf); werr != nil || flusher.Flush() != nil || err != nil {
				return
			}
		}
		_, _ = w.Write(lastLine(nil))
	})
}

func lastLine(e *wireError) []byte {
	if e == nil {
		return []byte("{\"end\":true}\n")
	}
	b, err := encode(struct {
		Error *wireError `json:"error"`
	}{e})
	if err != nil {
		return []byte("{\"error\":{\"code\":\"internal\",\"message\":\"an error could not be encoded\"}}\n")
	}
	return b
}

// readArg reads one JSON object, bounded, with nothing behind it.
func readArg(w http.ResponseWriter, r *http.Request, arg any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody))
	err := dec.Decode(arg)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("something follows the object")
			if more != nil {
				err = more
			}
		}
	}
	var big *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &big):
		return &api.Error{Code: event.FailUsage, Message: "the request is larger than 32 MiB", Hint: "send less at once"}
	}
	return &api.Error{Code: event.FailUsage, Message: "the request is not the JSON object that this method takes: " + err.Error(),
		Hint: "use the same version of ripcord on both sides", Err: err}
}

func fail(w http.ResponseWriter, err error) {
	e := asError(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(e.Code))
	_, _ = w.Write(lastLine(e))
}

// contained keeps a panic of one call from taking the process down: it may
// hold turns that have nothing to do with that call.
func contained(next http.Handler, faults []func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			e := &api.Error{Code: event.FailInternal, Message: "the method " + r.URL.Path + " failed inside; this is a bug"}
			for _, fault := range faults {
				e.Hint = "see what the process that serves it says"
				fault(fmt.Errorf("%s: %v\n%s", r.URL.Path, p, debug.Stack()))
			}
			fail(w, e)
		}()
		next.ServeHTTP(w, r)
	})
}
