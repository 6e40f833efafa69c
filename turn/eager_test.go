package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// whole streams one complete call.
func (d *desk) whole(block int, id, name, args string) {
	d.t.Helper()
	d.stream(event.CallStart{Block: block, ID: id, Name: name}, event.ArgsDelta{Block: block, Text: args}, event.CallEnd{Block: block})
}

func aheadOf(effects []turn.Effect) (out []event.CallID) {
	for _, j := range all[turn.Judge](effects) {
		out = append(out, j.Call.ID)
	}
	return out
}

func ids(calls []event.CallID) string {
	var b strings.Builder
	for _, id := range calls {
		b.WriteString(string(id) + " ")
	}
	return strings.TrimSpace(b.String())
}

// valid holds the history of what is recorded to a strict provider's rules.
func (d *desk) valid() *turn.Ledger {
	d.t.Helper()
	l, err := turn.Fold(d.recs)
	if err != nil {
		d.t.Fatal(err)
	}
	history := append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")})
	if err := scripted.Validate(history); err != nil {
		d.t.Errorf("the history is not valid: %v\n%s", err, d.types())
	}
	return l
}

// proves TOL-09, TOL-08: requested, approved and started in the journal while
// its answer still streams; the message that lists it comes later, the results
// are in request order
func TestACallStartsWhileItsAnswerStillStreams(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(event.TextDelta{Text: "look: "})
	d.whole(1, "c1", "read", `{"a":1}`)
	d.whole(2, "c2", "read", `{"a":2}`)
	if got := ids(aheadOf(d.effects)); got != "c1 c2" {
		t.Fatalf("judged while it streams: %q", got)
	}
	d.allow("c2", "c1")
	if err := d.begin("c2"); err != nil {
		t.Fatal(err)
	}
	if kinds := order(d.effects[len(d.effects)-3:]); kinds != "append sync reply" {
		t.Errorf("a start that is not durable first: %s", kinds)
	}
	if err := d.end("c2", finished("two")); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(d.types(), "message/assistant") {
		t.Fatal("the answer was taken for whole")
	}
	d.stream(event.TextDelta{Block: 3, Text: " so"})
	d.whole(4, "c3", "bash", `{}`)
	d.finish(event.FinishTools)
	if got := len(payloads[event.CallRequested](t, d.recs)); got != 3 {
		t.Errorf("%d requests for three calls\n%s", got, d.types())
	}
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	if err := d.end("c1", finished("one")); err != nil {
		t.Fatal(err)
	}
	d.ran("c3")
	for i, c := range payloads[event.CallRequested](t, d.recs) {
		if c.Index != i {
			t.Errorf("call %d has index %d", i, c.Index)
		}
	}
	l := d.valid()
	h := l.History[len(l.History)-3:]
	if h[0].Call != "c1" || h[1].Call != "c2" || h[2].Call != "c3" || h[1].Content.Text() != "two" {
		t.Errorf("results out of order: %+v", h)
	}
	if n := len(payloads[event.ModelRequest](t, d.recs)); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// proves TOL-09, B062, B065: only a prefix of calls that are whole, known and
// may run beside others goes ahead
func TestOnlyASafePrefixGoesAhead(t *testing.T) {
	for name, c := range map[string]struct {
		opts  turn.Options
		calls [][2]string // name, args
		want  string
	}{
		"all may":             {turn.Options{}, [][2]string{{"read", `{}`}, {"read", `{}`}}, "c1 c2"},
		"an exclusive first":  {turn.Options{}, [][2]string{{"bash", `{}`}, {"read", `{}`}}, ""},
		"an exclusive second": {turn.Options{}, [][2]string{{"read", `{}`}, {"bash", `{}`}, {"read", `{}`}}, "c1"},
		"bad arguments":       {turn.Options{}, [][2]string{{"read", `{"a":`}, {"read", `{}`}}, ""},
		"no such tool":        {turn.Options{}, [][2]string{{"read", `{}`}, {"nosuch", `{}`}, {"read", `{}`}}, "c1"},
		"switched off":        {turn.Options{NoEager: true}, [][2]string{{"read", `{}`}}, ""},
		"no room for calls":   {turn.Options{Budget: guard.Budget{Calls: 1}}, [][2]string{{"read", `{}`}, {"read", `{}`}}, "c1"},
		"the last step":       {turn.Options{Budget: guard.Budget{Steps: 1}}, [][2]string{{"read", `{}`}}, "c1"},
		"the cap":             {turn.Options{Parallel: 1}, [][2]string{{"read", `{}`}, {"read", `{}`}}, "c1"},
	} {
		d := newDesk(t, c.opts)
		d.submit("go")
		for i, call := range c.calls {
			d.whole(i, "c"+string(rune('1'+i)), call[0], call[1])
		}
		if got := ids(aheadOf(d.effects)); got != c.want {
			t.Errorf("%s: %q went ahead, want %q", name, got, c.want)
		}
	}
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(event.CallStart{Block: 1, ID: "c1", Name: "read"}, event.ArgsDelta{Block: 1, Text: `{"a"`})
	d.whole(2, "c2", "read", `{}`)
	if got := ids(aheadOf(d.effects)); got != "" {
		t.Errorf("%q overtook a call that is not whole", got)
	}
	d.stream(event.ArgsDelta{Block: 1, Text: `:1}`}, event.CallEnd{Block: 1})
	if got := ids(aheadOf(d.effects)); got != "c1 c2" {
		t.Errorf("then %q", got)
	}
	d.stream(event.ArgsDelta{Block: 1, Text: `junk`}, event.CallStart{Block: 1, ID: "c9", Name: "bash"}, event.CallEnd{Block: 1})
	d.finish(event.FinishTools)
	if calls := payloads[event.AssistantMessage](t, d.recs)[0].Content.Calls(); len(calls) != 2 || calls[0].ID != "c1" || string(calls[0].Args) != `{"a":1}` {
		t.Errorf("what came late changed a call that runs: %+v", calls)
	}
}

// An attempt that fails behind a call that started is not asked again as if
// nothing had happened.
//
// proves TOL-09, TRN-10, B059, REC-08
func TestAnAttemptThatFailsBehindAStartedCallIsKeptUpToIt(t *testing.T) {
	d := newDesk(t, turn.Options{Attempts: 3, Backoff: time.Second})
	d.submit("go")
	d.stream(event.TextDelta{Text: "look: "})
	d.whole(1, "c1", "read", `{}`)
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.whole(2, "c2", "bash", `{}`) // whole, and never requested
	d.stream(event.TextDelta{Block: 3, Text: "and then"}, event.CallStart{Block: 4, ID: "c3", Name: "read"})
	d.take()
	ask := len(payloads[event.ModelRequest](t, d.recs))
	d.tell(turn.Answered{Ticket: 1, Failure: &event.Failure{Code: event.FailTransport, Message: "cut"}})
	if n := len(payloads[event.ModelRequest](t, d.recs)); n != ask {
		t.Fatal("it was asked again at once")
	}
	m := payloads[event.AssistantMessage](t, d.recs)
	if len(m) != 1 || !m[0].Partial || m[0].Content.Text() != "look: " || len(m[0].Content.Calls()) != 1 {
		t.Fatalf("kept %+v", m)
	}
	if f := payloads[event.AttemptFailed](t, d.recs); len(f) != 1 || f[0].RetryIn != 1000 {
		t.Errorf("%+v", f)
	}
	if err := d.end("c1", finished("one")); err != nil {
		t.Fatal(err)
	}
	if timer := must[turn.SetTimer](d); timer.Timer != turn.TimerBackoff || timer.After != time.Second || d.s.Phase() != turn.PhaseWaiting {
		t.Errorf("%+v, %v", timer, d.s.Phase())
	}
	d.pass(time.Second)
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	next := must[turn.Ask](d)
	if next.Step != 2 || next.Attempt != 1 {
		t.Errorf("%+v", next)
	}
	if err := scripted.Validate(next.Messages); err != nil {
		t.Error(err)
	}
	d.valid()
}

// proves TRN-10, TOL-09: failures behind started calls are counted over steps,
// and one that nothing can mend ends the turn
func TestFailuresBehindStartedCallsAreBounded(t *testing.T) {
	d := newDesk(t, turn.Options{Attempts: 3})
	d.submit("go")
	for i := range 3 {
		id := "c" + string(rune('1'+i))
		d.whole(1, id, "read", `{}`)
		d.allow(event.CallID(id))
		if err := d.begin(event.CallID(id)); err != nil {
			t.Fatal(err)
		}
		if err := d.end(event.CallID(id), finished("ok")); err != nil {
			t.Fatal(err)
		}
		d.fail(event.Failure{Code: event.FailTransport, Message: "cut"})
		d.pass(time.Minute)
		d.tell(turn.Fired{Timer: turn.TimerBackoff})
	}
	if e := d.ending(); e.Outcome != event.TurnFailed || e.Steps != 3 {
		t.Errorf("%+v", e)
	}
	d.valid()

	d = newDesk(t, turn.Options{})
	d.submit("go")
	d.whole(1, "c1", "read", `{}`)
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.fail(event.Failure{Code: event.FailRequest, Message: "no"})
	must[turn.Trip](d) // what runs is asked to stop
	if err := d.end("c1", ended(event.CallStopped)); err != nil {
		t.Fatal(err)
	}
	if e := d.ending(); e.Outcome != event.TurnFailed || len(payloads[event.ModelRequest](t, d.recs)) != 1 {
		t.Errorf("%+v", e)
	}
	d.valid()
}

// proves TOL-09, INT-29, TRN-06, TRN-07: a stop in the middle of the stream lets
// what runs come to its end, skips what has not started, and keeps what streamed
func TestAStopMidStreamSettlesWhatWentAhead(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	for i := 1; i <= 3; i++ {
		d.whole(i, "c"+string(rune('0'+i)), "read", `{}`)
	}
	d.allow("c1", "c2") // c3 is being judged
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.whole(4, "c4", "bash", `{}`) // never requested
	d.stream(event.TextDelta{Block: 5, Text: "tail"}, event.CallStart{Block: 6, ID: "c5", Name: "read"})
	d.trip(interrupt.UserSIGINT, "p")
	d.tell(turn.Judged{Call: "c3", Verdict: turn.VerdictAllow, By: "late"})
	if err := d.begin("c2"); err == nil {
		t.Error("a call starts after the trip")
	}
	if err := d.end("c2", event.CallEnded{Outcome: event.CallSkipped}); err != nil {
		t.Fatal(err)
	}
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	if d.s.Phase() != turn.PhaseUnwinding {
		t.Fatalf("%v, though a call runs", d.s.Phase())
	}
	if err := d.end("c1", finished("real")); err != nil {
		t.Fatal(err)
	}
	if e := d.ending(); e.Outcome != event.TurnAborted {
		t.Errorf("%+v", e)
	}
	got := results(t, d.recs)
	if len(got) != 4 || got["c1"].Content.Text() != "real" {
		t.Errorf("%+v", got)
	}
	for _, id := range []event.CallID{"c2", "c3", "c4"} {
		if got[id].Outcome != event.CallSkipped || got[id].Content.Text() != turn.TextSkipped {
			t.Errorf("%s: %+v", id, got[id])
		}
	}
	if m := payloads[event.AssistantMessage](t, d.recs); len(m) != 1 || m[0].Content.Text() != "tail" || len(m[0].Content.Calls()) != 4 {
		t.Errorf("%+v", m)
	}
	d.valid()
}

// proves TOL-04, IFC-11, TOL-09: what ends a turn ends it mid-stream as well
func TestABlockOrAFatalCallMidStreamCutsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		cut  func(d *desk)
		want event.TurnOutcome
	}{
		"a block": {func(d *desk) { d.tell(turn.Judged{Call: "c2", Verdict: turn.VerdictBlock, By: "policy"}) }, event.TurnBlocked},
		"a fatal end": {func(d *desk) {
			d.allow("c2")
			_ = d.begin("c2")
			_ = d.endOf(turn.End{Turn: 1, Call: "c2", Ended: ended(event.CallFatal), Fatal: "Fatal error: broken"})
		}, event.TurnFailed},
	} {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.whole(1, "c1", "read", `{}`)
		d.whole(2, "c2", "read", `{}`)
		d.allow("c1")
		if err := d.begin("c1"); err != nil {
			t.Fatal(err)
		}
		c.cut(d)
		must[turn.Trip](d)
		d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
		if err := d.end("c1", ended(event.CallStopped)); err != nil {
			t.Fatal(err)
		}
		if e := d.ending(); e.Outcome != c.want {
			t.Errorf("%s: %+v", name, e)
		}
		d.valid()
	}
}

// proves REC-03, REC-04, REC-05: a crash in the middle of the stream, behind a
// call that had started
func TestACrashBehindACallThatWentAheadIsTold(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(event.TextDelta{Text: "look"})
	d.whole(1, "c1", "read", `{}`)
	d.whole(2, "c2", "read", `{}`)
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= len(d.recs); n++ {
		l, err := turn.Fold(d.recs[:n])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Recover(l, 2, nil, turn.Options{}); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		history := append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")})
		if err := scripted.Validate(history); err != nil && !strings.Contains(err.Error(), "user messages") {
			t.Errorf("cut at %d: %v", n, err)
		}
		if n == len(d.recs) {
			if c := l.Turn.Calls; len(c) != 2 || c[0].Ended.Outcome != event.CallUnknown || c[1].Ended.Outcome != event.CallSkipped {
				t.Errorf("%+v", c)
			}
		}
	}
}

// proves TRN-07, LOG-04: a provider's id that can't be ours is kept beside it
func TestAnIdThatCannotBeACallsIsKeptAsTheProviders(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct{ given, kept string }{
		"empty": {"", ""}, "taken": {"c1", "c1"}, "an inner call's": {"c1.2", "c1.2"}, "too long": {long, long[:256]}, "usable": {"c7", ""},
	} {
		for _, off := range []bool{false, true} {
			d := newDesk(t, turn.Options{NoEager: off})
			d.submit("go")
			d.whole(1, "c1", "read", `{}`)
			d.whole(2, c.given, "read", `{}`)
			d.finish(event.FinishTools)
			got := payloads[event.CallRequested](t, d.recs)
			if len(got) != 2 || got[0].ProviderID != "" || got[1].ProviderID != c.kept {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}
