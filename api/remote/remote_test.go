package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a service of which a test sets what it needs.
type stub struct {
	api.Service
	open      func(context.Context, api.OpenRequest) (api.SessionState, error)
	submit    func(context.Context, api.SubmitRequest) (api.Submitted, error)
	wait      func(context.Context, event.SessionID, event.InputID) (api.Result, error)
	interrupt func(context.Context, api.InterruptRequest) (api.Interrupted, error)
	follow    func(context.Context, event.SessionID, event.Seq, bool) iter.Seq2[api.Frame, error]
}

func (s stub) Open(ctx context.Context, r api.OpenRequest) (api.SessionState, error) {
	return s.open(ctx, r)
}
func (s stub) Submit(ctx context.Context, r api.SubmitRequest) (api.Submitted, error) {
	return s.submit(ctx, r)
}
func (s stub) Wait(ctx context.Context, id event.SessionID, in event.InputID) (api.Result, error) {
	return s.wait(ctx, id, in)
}
func (s stub) Interrupt(ctx context.Context, r api.InterruptRequest) (api.Interrupted, error) {
	return s.interrupt(ctx, r)
}
func (s stub) Follow(ctx context.Context, id event.SessionID, from event.Seq, live bool) iter.Seq2[api.Frame, error] {
	return s.follow(ctx, id, from, live)
}
func (s stub) Records(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[api.Frame, error] {
	return s.follow(ctx, id, from, false)
}
func (s stub) KillJob(context.Context, event.SessionID, event.JobID) error { panic("inside") }

// over serves svc on a control socket for the test's life.
func over(t *testing.T, svc api.Service) *remote.Client {
	t.Helper()
	path := socket(t)
	l, err := remote.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- remote.Serve(ctx, l, svc) }()
	c := remote.Dial(path)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "ctl")
}

func bg(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// proves IFC-01: nulls, lists and what a card needs come through whole.
func TestAResultComesThroughAsItWas(t *testing.T) {
	id, turn, out, reason := event.SessionID("s_1"), 3, event.TurnAborted, "USER_SIGINT"
	n, sig, timed, ms := int64(7), "SIGKILL", false, int64(12)
	want := api.Result{Kind: "result", Schema: 1, Session: &id, Turn: &turn, Outcome: &out, Reason: &reason,
		ExitCode: 130, Text: "<a & b>\u2028", Usage: &api.Usage{Input: &n},
		Calls:        []api.CallResult{{ID: "c", Name: "bash", Outcome: event.CallStopped, Signal: &sig, TimedOut: &timed, RanMS: &ms}},
		DroppedUnrun: []string{"x"}, Held: []string{}, Jobs: []event.JobID{"j"}, Who: "somebody", Step: 2}
	c := over(t, stub{
		wait: func(context.Context, event.SessionID, event.InputID) (api.Result, error) { return want, nil },
		open: func(_ context.Context, r api.OpenRequest) (api.SessionState, error) {
			return api.SessionState{ID: r.ID, Cwd: r.Cwd, Last: &want, Held: []string{"h"}}, nil
		},
	})
	got, err := c.Wait(bg(t), "s_1", "i_1")
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("wait: %v\n%s", err, cmp.Diff(want, got))
	}
	st, err := c.Open(bg(t), api.OpenRequest{ID: "s_1", Cwd: "/w"})
	wantState := api.SessionState{ID: "s_1", Cwd: "/w", Last: &want, Held: []string{"h"}}
	if err != nil || !cmp.Equal(st, wantState) {
		t.Errorf("open: %v\n%s", err, cmp.Diff(wantState, st))
	}
}

// proves IFC-08, B103: a refusal keeps its code, its words and who holds the session.
func TestAnErrorComesThroughWithCodeHintAndOwner(t *testing.T) {
	want := &api.Error{Code: event.FailBusy, Message: "in use", Hint: "wait", Owner: &api.OwnerInfo{PID: 7, Host: "h"}}
	c := over(t, stub{open: func(context.Context, api.OpenRequest) (api.SessionState, error) {
		return api.SessionState{}, fmt.Errorf("wrapped: %w", want)
	}})
	_, err := c.Open(bg(t), api.OpenRequest{})
	var got *api.Error
	if !errors.As(err, &got) || !cmp.Equal(got, want) {
		t.Errorf("got %#v, want %#v", err, want)
	}
}

func TestAPanicOfOneCallIsAnErrorAndTheServerLivesOn(t *testing.T) {
	c := over(t, stub{interrupt: func(context.Context, api.InterruptRequest) (api.Interrupted, error) {
		return api.Interrupted{Noop: "idle"}, nil
	}})
	var e *api.Error
	if err := c.KillJob(bg(t), "s", "j"); !errors.As(err, &e) || e.Code != event.FailInternal {
		t.Errorf("a panic gave %v, want code internal", err)
	}
	if got, err := c.Interrupt(bg(t), api.InterruptRequest{Session: "s"}); err != nil || got.Noop != "idle" {
		t.Errorf("after the panic: %+v, %v", got, err)
	}
	for _, told := range []bool{false, true} { // nobody is sent to look where nothing is said
		var heard error
		faults := []func(error){func(err error) { heard = err }}
		if !told {
			faults = nil
		}
		w := httptest.NewRecorder()
		remote.Handler(stub{}, faults...).ServeHTTP(w, httptest.NewRequest("POST", "/v1/kill_job", strings.NewReader(`{"session":"s","job":"j"}`)))
		if hint := !strings.Contains(w.Body.String(), `"hint":""`); hint != told || told && (heard == nil || !strings.Contains(heard.Error(), "goroutine")) {
			t.Errorf("told %v: %s, heard %v", told, w.Body, heard)
		}
	}
}

// proves IFC-03, IFC-13: a record's bytes are not touched on the way, whatever
// spaces, characters or unknown fields they hold.
func TestARecordsLineIsCarriedVerbatim(t *testing.T) {
	line := `{"crc":"00000000","v":1,"b":1,"epoch":1,"seq":4,"time":"2026-01-02T03:04:05Z","type":"x/new","later":[1, 2],"data":{ "a" : "<&>` + "\u2028" + `"}}`
	result := api.Result{Kind: "result", Who: "w"}
	c := over(t, stub{follow: func(ctx context.Context, _ event.SessionID, from event.Seq, live bool) iter.Seq2[api.Frame, error] {
		return func(yield func(api.Frame, error) bool) {
			_ = yield(api.Frame{Line: []byte(line)}, nil) &&
				yield(api.Frame{Live: &api.Live{Kind: api.LiveState, State: "ended", Result: &result}}, nil) &&
				yield(api.Frame{}, &api.Error{Code: event.FailDamaged, Message: "no more"})
		}
	}})
	var frames []api.Frame
	var last error
	for f, err := range c.Follow(bg(t), "s", 4, true) {
		if last = err; err == nil {
			frames = append(frames, f)
		}
	}
	if len(frames) != 2 || string(frames[0].Line) != line || frames[0].Record == nil || frames[0].Record.Seq != 4 {
		t.Fatalf("frames %+v, want the line untouched:\n%s", frames, line)
	}
	if l := frames[1].Live; l == nil || l.State != "ended" || l.Result == nil || l.Result.Who != "w" {
		t.Errorf("live frame %+v", l)
	}
	var e *api.Error
	if !errors.As(last, &e) || e.Code != event.FailDamaged {
		t.Errorf("the stream's error is %v, want damaged", last)
	}
}

// proves IFC-08: each frame is there before the next is made.
func TestEveryFrameIsSentAtOnce(t *testing.T) {
	seen := make(chan struct{})
	c := over(t, stub{follow: func(ctx context.Context, _ event.SessionID, _ event.Seq, _ bool) iter.Seq2[api.Frame, error] {
		return func(yield func(api.Frame, error) bool) {
			for range 3 {
				if !yield(api.Frame{Live: &api.Live{Kind: api.LiveText, Text: "x"}}, nil) {
					return
				}
				select {
				case <-seen:
				case <-ctx.Done():
					return
				}
			}
		}
	}})
	n := 0
	for _, err := range c.Follow(bg(t), "s", 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		seen <- struct{}{}
	}
	if n != 3 {
		t.Errorf("%d frames, want 3", n)
	}
}

// proves API-01 (a client that is gone ends its own call), B145.
func TestAFollowersEndEndsItsCallOnly(t *testing.T) {
	ended := make(chan struct{})
	c := over(t, stub{follow: func(ctx context.Context, _ event.SessionID, _ event.Seq, _ bool) iter.Seq2[api.Frame, error] {
		return func(yield func(api.Frame, error) bool) {
			defer close(ended)
			yield(api.Frame{Live: &api.Live{Kind: api.LiveText}}, nil)
			<-ctx.Done()
		}
	}, interrupt: func(context.Context, api.InterruptRequest) (api.Interrupted, error) {
		return api.Interrupted{Noop: "idle"}, nil
	}})
	ctx, cancel := context.WithCancel(bg(t))
	defer cancel()
	n := 0
	for _, err := range c.Follow(ctx, "s", 0, true) {
		if err != nil {
			t.Fatalf("an end by the caller is no error: %v", err)
		}
		n++
		cancel()
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the serving end still follows for a client that is gone")
	}
	if _, err := c.Interrupt(bg(t), api.InterruptRequest{}); err != nil || n != 1 {
		t.Errorf("after it: %v; %d frames", err, n)
	}
}

func TestAStreamThatIsCutSaysSo(t *testing.T) {
	path := socket(t)
	l, err := remote.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"live":{"live":"text"}}`+"\n")
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	c := remote.Dial(path)
	t.Cleanup(c.Close)
	var last error
	for _, err := range c.Records(bg(t), "s", 0) {
		last = err
	}
	var e *api.Error
	if !errors.As(last, &e) || e.Code != event.FailTransport {
		t.Errorf("a cut stream ended with %v, want code transport", last)
	}
}

// proves API-02: bodies are bounded on both sides.
func TestABodyOverTheBoundIsRefused(t *testing.T) {
	h := remote.Handler(stub{submit: func(context.Context, api.SubmitRequest) (api.Submitted, error) {
		t.Error("it was accepted")
		return api.Submitted{}, nil
	}})
	w := httptest.NewRecorder()
	body := io.MultiReader(strings.NewReader(`{"key":"`), bytes.NewReader(bytes.Repeat([]byte("a"), remote.MaxBody)), strings.NewReader(`"}`))
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/submit", body))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "32 MiB") {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
	for _, bad := range []string{"", "[]", `{} {}`, `{"session":7}`} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/submit", strings.NewReader(bad)))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code":"usage"`) {
			t.Errorf("%q: status %d, %s", bad, w.Code, w.Body)
		}
	}
	c := remote.Dial("/nonexistent/ctl")
	_, err := c.Submit(bg(t), api.SubmitRequest{Key: strings.Repeat("a", remote.MaxBody)})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != event.FailUsage {
		t.Errorf("the client sent it: %v", err)
	}
}

// proves IFC-08: 0600, a dead process's socket is replaced, a live one's name
// is not removed by the one it replaced.
func TestASocketIsPrivateAndReplacesADeadOne(t *testing.T) {
	path := socket(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	if _, err := remote.Dial(path).Sessions(bg(t)); !remote.Absent(err) {
		t.Errorf("a dead socket: %v, want it to be told as absent", err)
	}
	first, err := remote.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("socket %v, %v: want mode 0600", info.Mode(), err)
	}
	second, err := remote.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the old listener removed the new one's name: %v", err)
	}
	_ = second.Close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name outlived its listener: %v", err)
	}
}

// proves IFC-08: over 104 bytes (the end byte counted) a hashed name.
func TestALongSocketPathIsHashed(t *testing.T) {
	dir := func(n int) string { return "/" + strings.Repeat("d", n-len("/")-len("/ctl")) }
	for n, plain := range map[int]bool{40: true, 103: true, 104: false, 300: false} {
		p := remote.SocketPath(dir(n), "/run/user/1000/ripcord")
		if got := p == dir(n)+"/ctl"; got != plain {
			t.Errorf("a path of %d bytes became %s", n, p)
		}
		if len(p) > 103 {
			t.Errorf("%s is over the limit", p)
		}
	}
	if remote.SocketPath(dir(200), "/r") == remote.SocketPath(dir(201), "/r") {
		t.Error("two sessions share a socket")
	}
	if _, err := remote.Listen(dir(200) + "/ctl"); err == nil {
		t.Error("a path over the limit was taken")
	}
}
