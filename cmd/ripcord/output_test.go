package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// proves IFC-01, B150: one fixed shape, whatever came of the run: every field
// is there, unknown is null, lists are lists.
func TestTheResultObjectHasOneShape(t *testing.T) {
	want := []string{"calls", "dropped_unrun", "error", "exit_code", "held", "jobs", "outcome", "reason",
		"schema", "session", "text", "turn", "type", "unknown_effects", "usage"}
	whole := turnResult(event.TurnAborted, "SIGINT")
	whole.Calls = []api.CallResult{{ID: "c", Name: "bash", Outcome: event.CallQuarantined}}
	whole.Usage = &api.Usage{}
	for name, o := range map[string]outcome{
		"a turn":                 {session: "s_1", result: &whole},
		"stopped before":         {stop: causeINT, err: errStopped},
		"refused":                {err: &api.Error{Code: event.FailConfig, Message: "m", Hint: "h"}},
		"left open":              {session: "s_1", stop: causeTERM, leftOpen: true},
		"an error of no kind":    {err: errors.New("x")},
		"an empty result object": {session: "s_1", result: func() *api.Result { r := turnResult(event.TurnCompleted, ""); return &r }()},
	} {
		b := line(resultOf(o))
		var got map[string]json.RawMessage
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, b)
		}
		var keys []string
		for k := range got {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if !slices.Equal(keys, want) {
			t.Errorf("%s: fields %v, want %v", name, keys, want)
		}
		if string(got["type"]) != `"result"` || string(got["schema"]) != "1" || string(got["outcome"]) == "null" {
			t.Errorf("%s: %s", name, b)
		}
		for _, list := range []string{"calls", "dropped_unrun", "held", "jobs"} {
			if got[list][0] != '[' {
				t.Errorf("%s: %s is %s", name, list, got[list])
			}
		}
		if strings.Count(string(b), "\n") != 1 {
			t.Errorf("%s: it is not one line: %q", name, b)
		}
	}
	var call struct {
		Calls []map[string]json.RawMessage
		Usage map[string]json.RawMessage
		Error map[string]json.RawMessage
	}
	if err := json.Unmarshal(line(resultOf(outcome{result: &whole})), &call); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"exit_code", "signal", "timed_out", "ran_ms"} {
		if string(call.Calls[0][k]) != "null" {
			t.Errorf("a call's unknown %s is %s", k, call.Calls[0][k])
		}
	}
	if string(call.Usage["input_tokens"]) != "null" || string(call.Usage["complete"]) != "false" {
		t.Errorf("usage %s", call.Usage)
	}
}

// proves IFC-01: with text the same facts are one line, safe for a terminal.
func TestTheFactsAreOneLine(t *testing.T) {
	r := turnResult(event.TurnAborted, "SIGINT")
	n, ms, reason, code := int64(5), int64(12), "USER_SIGINT", 3
	r.Reason, r.Usage = &reason, &api.Usage{Input: &n}
	r.Calls = []api.CallResult{{ID: "c", Name: "bash", Outcome: event.CallStopped, ExitCode: &code, RanMS: &ms}}
	r.Held, r.DroppedUnrun, r.Jobs = []string{"a\nb"}, []string{"x"}, []event.JobID{"j1"}
	r.Error = &api.ErrorInfo{Code: "x", Message: "broken\x1b[31m", Hint: "mend it"}
	got := facts(resultOf(outcome{session: "s_1", result: &r, stop: causeINT}))
	for _, want := range []string{"aborted", "USER_SIGINT", "exit 130", "s_1", "turn 1", "5 in ? out", "incomplete",
		"bash stopped exit 3 12ms", `"a\nb"`, `"x"`, "j1", "broken", "mend it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("it is not one safe line: %q", got)
	}
}

// broken is a stdout whose reader left after some bytes.
type broken struct{ room, tries int }

func (b *broken) Write(p []byte) (int, error) {
	b.tries++
	if b.room -= len(p); b.room < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// proves B149: a reader that left costs one failed write.
func TestADeadStdoutIsTriedOnce(t *testing.T) {
	b := &broken{room: 3}
	s := &sink{w: b}
	for range 5 {
		s.write([]byte("ab"))
	}
	s.last([]byte("the end"), time.Second)
	if b.tries != 2 || !s.closed() || s.lost() != nil {
		t.Errorf("%d writes were tried, want 2; lost: %v", b.tries, s.lost())
	}
}

// proves IFC-04, B149: what is missing on stdout for another reason than that
// its reader left is said; a list that could not be printed is no success.
func TestWhatIsMissingOnStdoutIsSaid(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no full device")
	}
	defer full.Close()
	var errs strings.Builder
	a := &app{env: envOf(map[string]string{"RIPCORD_HOME": t.TempDir()}), stderr: &errs, stops: newStops(), out: &sink{w: full}, wire: wire}
	if code := a.main([]string{"sessions", "list", "--json"}); code != exitFailed || !strings.Contains(errs.String(), "stdout is not whole") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

// proves TUI-03, B149: a model's words cannot drive the terminal they are
// printed on; a pipe gets them as they are.
func TestWordsDoNotDriveTheTerminal(t *testing.T) {
	words := "a\x1b]0;title\x07\x1b[2J\u202eb\r\n\tc"
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer master.Close()
	defer tty.Close()
	done := event.TurnCompleted
	var onTTY, piped bytes.Buffer
	for w, out := range map[io.Writer]*bytes.Buffer{tty: &onTTY, &piped: &piped} {
		a := &app{stderr: io.Discard, out: &sink{w: w}}
		a.report(formatText, api.Result{Outcome: &done, Text: words})
		if out == &onTTY {
			b := make([]byte, 1<<10)
			n, err := master.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(b[:n])
		}
	}
	if got := onTTY.String(); strings.ContainsAny(got, "\x1b\x07\u202e") || !strings.Contains(got, "c") {
		t.Errorf("a terminal gets %q", got)
	}
	if piped.String() != words+"\n" {
		t.Errorf("a pipe gets %q", piped.String())
	}
}

// proves IFC-04: the last write is bounded.
func TestAReaderThatDoesNotReadDoesNotHoldTheExitUp(t *testing.T) {
	r, w := io.Pipe()
	s := &sink{w: w}
	s.last([]byte("x"), 10*time.Millisecond)
	if s.lost() == nil {
		t.Error("what was not read is not told")
	}
	_ = r.Close() // ends the write that was left behind
}

// proves IFC-04, IFC-05, B149: a stderr that nobody reads holds up neither the last
// sentence's exit nor a stop; before a stop it is waited for.
func TestAStderrThatNobodyReadsDoesNotHoldTheExitUp(t *testing.T) {
	wrongUse := func(a *app) int { return a.main([]string{"sessions"}) } // it touches nothing of the real world
	synctest.Test(t, func(t *testing.T) {
		made := func() *app {
			r, w := io.Pipe()                   // one each: writers of one would wait for a lock, which no bubble sees
			t.Cleanup(func() { _ = r.Close() }) // ends what was left behind
			return &app{stderr: w, stops: newStops(), out: &sink{w: io.Discard}}
		}
		if code := wrongUse(made()); code != exitUsage {
			t.Errorf("wrong use exits %d", code)
		}
		done := event.TurnCompleted
		made().report(formatText, api.Result{Outcome: &done})
		a, said := made(), make(chan struct{})
		go func() {
			defer close(said)
			a.say("a word before the turn")
			a.say("and another")
		}()
		synctest.Wait()
		select {
		case <-said:
			t.Error("a word was dropped before any stop")
		default:
		}
		from := time.Now()
		a.stops.note(causeTERM)
		<-said
		if took := time.Since(from); took != lastWrite {
			t.Errorf("after a stop it took %v, want %v for all of it", took, lastWrite)
		}
	})
}

type following struct {
	api.Service
	frames []api.Frame
}

func (f following) Follow(ctx context.Context, _ event.SessionID, _ event.Seq, _ bool) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		for _, fr := range f.frames {
			if !yield(fr, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// proves IFC-03, B150: records verbatim, live frames without seq, and no
// second terminal event.
func TestStreamJSONShowsRecordsVerbatim(t *testing.T) {
	rec := []byte(`{"crc":"00000000","v":1,"b":1,"epoch":1,"seq":4,"time":"2026-01-02T03:04:05Z","type":"turn/end","turn":2,"data":{"x":"<&>"}}`)
	parsed, err := event.Parse(rec)
	if err != nil {
		t.Fatal(err)
	}
	ended := api.Result{Kind: "result"}
	var out strings.Builder
	a := &app{out: &sink{w: &out}}
	f := followTo(context.Background(), following{frames: []api.Frame{
		{Live: &api.Live{Kind: api.LiveText, Turn: 2, Text: "hi <b>"}},
		{Line: rec, Record: &parsed},
		{Live: &api.Live{Kind: api.LiveState, State: "ended", Result: &ended}},
	}}, a.streamed, "s_1", 0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f.finish(ctx, 2)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if lines[0] != `{"live":"text","turn":2,"text":"hi <b>"}` || lines[1] != string(rec) {
		t.Errorf("lines %q", lines)
	}
	if strings.Contains(out.String(), `"result"`) {
		t.Errorf("a result object is in the stream: %s", out.String())
	}
}
