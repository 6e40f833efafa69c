package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// MaxBody bounds a request's body, bytes.
const MaxBody = 32 << 20

// maxLine bounds one line of an answer's stream, bytes: a record may hold what
// a request may hold, and its envelope.
const maxLine = MaxBody + 1<<20

const prefix = "/v1/"

// sessionArg, inputArg and jobArg are the arguments of the methods that take
// no request struct.
type sessionArg struct {
	Session event.SessionID `json:"session"`
}

type inputArg struct {
	Session event.SessionID `json:"session"`
	Input   event.InputID   `json:"input"`
}

type streamArg struct {
	Session event.SessionID `json:"session"`
	From    event.Seq       `json:"from"`
	Live    bool            `json:"live"`
}

type jobArg struct {
	Session event.SessionID `json:"session"`
	Job     event.JobID     `json:"job"`
	Keep    bool            `json:"keep"`
}

type none struct{}

// wireResult adds to a result what IFC-01's object does not show but a card
// does.
type wireResult struct {
	api.Result
	Who  string        `json:"x_who"`
	Step int           `json:"x_step"`
	Next event.InputID `json:"x_next,omitempty"`
}

func toWire(r *api.Result) *wireResult {
	if r == nil {
		return nil
	}
	return &wireResult{Result: *r, Who: r.Who, Step: r.Step, Next: r.Next}
}

func (w *wireResult) result() *api.Result {
	if w == nil {
		return nil
	}
	r := w.Result
	r.Who, r.Step, r.Next = w.Who, w.Step, w.Next
	return &r
}

type wireState struct {
	api.SessionState
	Last *wireResult `json:"last"` // in place of SessionState's
}

func (w wireState) state() api.SessionState {
	s := w.SessionState
	s.Last = w.Last.result()
	return s
}

type wireLive struct {
	api.Live
	Result *wireResult `json:"result,omitempty"` // in place of Live's
}

// wireFrame is one line of a stream as it is read; lines are written by hand
// so that a record's bytes are not touched on the way.
type wireFrame struct {
	Line  json.RawMessage `json:"line"`
	Live  *wireLive       `json:"live"`
	End   bool            `json:"end"`
	Error *wireError      `json:"error"`
}

type wireError struct {
	Code    event.FailureCode `json:"code"`
	Message string            `json:"message"`
	Hint    string            `json:"hint"`
	Owner   *api.OwnerInfo    `json:"owner"`
}

func (e *wireError) api() *api.Error {
	return &api.Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Owner: e.Owner}
}

// asError brings any error of a service into the one shape of the wire.
func asError(err error) *wireError {
	var e *api.Error
	if errors.As(err, &e) {
		return &wireError{e.Code, e.Message, e.Hint, e.Owner}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &wireError{Code: event.FailTransport, Message: "the request was given up before it was answered", Hint: "ask again"}
	}
	return &wireError{Code: event.FailInternal, Message: err.Error()}
}

func statusOf(code event.FailureCode) int {
	switch code {
	case event.FailUsage, event.FailRequest, event.FailContext, "unsupported":
		return http.StatusBadRequest
	case "not_found":
		return http.StatusNotFound
	case event.FailBusy, event.FailDamaged, "stale":
		return http.StatusConflict
	case event.FailAuth, event.FailConfig:
		return http.StatusForbidden
	case event.FailRateLimit:
		return http.StatusTooManyRequests
	case event.FailOverloaded, event.FailTransport, event.FailProtocol, event.FailEmpty,
		event.FailStall, event.FailStorage, event.FailTool, event.FailInternal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// encode writes v without HTML escapes, so that text stays as it was.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b.Bytes(), nil
}

// appendFrame appends one line of a stream, newline included.
func appendFrame(dst []byte, f api.Frame) ([]byte, error) {
	if f.Live != nil {
		b, err := encode(struct {
			Live wireLive `json:"live"`
		}{wireLive{Live: *f.Live, Result: toWire(f.Live.Result)}})
		return append(dst, b...), err
	}
	if len(f.Line) == 0 || bytes.IndexByte(f.Line, '\n') >= 0 {
		return dst, errors.New("a frame holds neither one record's line nor a live frame")
	}
	dst = append(dst, `{"line":`...)
	dst = append(dst, f.Line...)
	return append(dst, '}', '\n'), nil
}

// frame turns a line that was read into a frame; done says that it was the
// stream's last.
func (w *wireFrame) frame() (f api.Frame, done bool, err error) {
	switch {
	case w.Error != nil:
		return f, true, w.Error.api()
	case w.End:
		return f, true, nil
	case w.Live != nil:
		l := w.Live.Live
		l.Result = w.Live.Result.result()
		return api.Frame{Live: &l}, false, nil
	case len(w.Line) > 0:
		rec, err := event.Parse(w.Line)
		if err != nil {
			return f, true, protocolError("a record could not be read", err)
		}
		return api.Frame{Line: w.Line, Record: &rec}, false, nil
	}
	return f, true, protocolError("a line of the stream is of no kind that is known here", nil)
}

func protocolError(what string, err error) *api.Error {
	return &api.Error{Code: event.FailProtocol, Message: "the other process answered in a way that is not understood: " + what,
		Hint: "use the same version of ripcord on both sides", Err: err}
}
