package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

func say(text string) event.Delta { return event.TextDelta{Text: text} }

// waits returns how long the machine waits before the next attempt; it fails
// the test if the wait is not in the journal before it begins.
func waits(t *testing.T, effects []turn.Effect) time.Duration {
	t.Helper()
	written := int64(-2)
	for _, e := range effects {
		switch e := e.(type) {
		case turn.Append:
			for _, f := range payloads[event.AttemptFailed](t, e.Records) {
				written = f.RetryIn
			}
		case turn.SetTimer:
			if e.Timer == turn.TimerBackoff {
				if written != e.After.Milliseconds() {
					t.Errorf("waits %v, recorded %d ms", e.After, written)
				}
				return e.After
			}
		}
	}
	return -1
}

// proves TRN-10, MOD-01, B061
func TestAFailedAttemptIsTriedAgainAfterAGrowingWait(t *testing.T) {
	busy := event.Failure{Code: event.FailOverloaded, Message: "busy"}
	asking := func(after time.Duration) event.Failure {
		f := event.Failure{Code: event.FailRateLimit, Message: "slow down", RetryAfter: after.Milliseconds()}
		return f
	}
	for name, c := range map[string]struct {
		opts  turn.Options
		fails []event.Failure
		waits []time.Duration // -1: none, the turn failed
	}{
		"doubled":                      {turn.Options{Attempts: 5, Backoff: time.Second}, []event.Failure{busy, busy, busy, busy, busy}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, -1}},
		"bounded":                      {turn.Options{Attempts: 9, Backoff: time.Second, BackoffMax: 3 * time.Second}, []event.Failure{busy, busy, busy, busy}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		"as the provider asks":         {turn.Options{Backoff: time.Second}, []event.Failure{asking(7 * time.Second), asking(time.Millisecond)}, []time.Duration{7 * time.Second, 2 * time.Second}},
		"longer than anybody may wait": {turn.Options{RetryAfter: time.Minute}, []event.Failure{asking(time.Hour)}, []time.Duration{-1}},
		"by default four times":        {turn.Options{}, []event.Failure{busy, busy, busy, busy}, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.opts)
			d.submit("go")
			for i, f := range c.fails {
				d.effects = []turn.Effect{must[turn.Ask](d)}
				d.fail(f)
				if got := waits(t, d.effects); got != c.waits[i] {
					t.Fatalf("attempt %d: waits %v, want %v", i+1, got, c.waits[i])
				}
				if c.waits[i] < 0 {
					if end := d.ending(); end.Outcome != event.TurnFailed || end.Error.Message != f.Message {
						t.Errorf("ended %+v", end)
					}
					return
				}
				d.effects = nil
				d.tell(turn.Fired{Timer: turn.TimerBackoff})
				if n := must[turn.Ask](d).Attempt; n != i+2 {
					t.Errorf("attempt %d asks as attempt %d", i+2, n)
				}
			}
		})
	}
}

// proves TRN-10, B068: what is refused for good is asked once
func TestWhatIsRefusedForGoodIsAskedOnce(t *testing.T) {
	for _, code := range []event.FailureCode{event.FailAuth, event.FailRequest, event.FailContext, event.FailConfig, event.FailInternal} {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		if got := waits(t, d.fail(event.Failure{Code: code, Message: "no"})); got != -1 {
			t.Errorf("%s: waits %v", code, got)
		}
		if n := len(all[turn.Ask](d.effects)); n != 1 {
			t.Errorf("%s: asked %d times", code, n)
		}
		if end := d.ending(); end.Outcome != event.TurnFailed || end.Error.Code != code {
			t.Errorf("%s: ended %+v", code, end)
		}
		if f := payloads[event.AttemptFailed](t, d.recs); len(f) != 1 || f[0].RetryIn != -1 {
			t.Errorf("%s: recorded %+v", code, f)
		}
	}
}

// proves INT-45, INT-55, TRN-10, B066
func TestAStopInABackoffEndsTheTurnAndNothingIsAskedAgain(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(say("cut"))
	d.fail(event.Failure{Code: event.FailTransport, Message: "gone"})
	d.effects = nil
	d.trip(interrupt.UserSIGINT, "me")
	stopped := false
	for _, e := range all[turn.StopTimer](d.effects) {
		stopped = stopped || e.Timer == turn.TimerBackoff
	}
	if !stopped {
		t.Error("the timer of the wait runs on")
	}
	d.tell(turn.Fired{Timer: turn.TimerBackoff}) // it was on its way
	if asks := all[turn.Ask](d.effects); len(asks) > 0 {
		t.Errorf("asked again: %+v", asks)
	}
	if end := d.ending(); end.Outcome != event.TurnAborted {
		t.Errorf("ended %+v", end)
	}
	if n := len(payloads[event.AttemptFailed](t, d.recs)); n != 1 {
		t.Errorf("%d failed attempts in the journal", n)
	}
}

// proves TRN-10, B059
func TestAttemptsAreNeverMixed(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	dead := must[turn.Ask](d).Ticket
	d.stream(say("Hello wor"), event.CallStart{Block: 1, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 1, Text: `{"cm`})
	d.fail(event.Failure{Code: event.FailTransport, Message: "cut"})
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	d.tell(turn.Streamed{Ticket: dead, Delta: say("late words")})
	d.tell(turn.Streamed{Ticket: dead, Delta: event.Finish{Reason: event.FinishStop}})
	d.tell(turn.Answered{Ticket: dead})
	d.stream(say("Hello world"))
	d.finish(event.FinishStop)
	if end := d.ending(); end.Outcome != event.TurnCompleted || end.Text != "Hello world" {
		t.Errorf("ended %+v", end)
	}
	if got := d.s.History[len(d.s.History)-1].Content; len(got) != 1 || got.Text() != "Hello world" {
		t.Errorf("the model will read %+v", got)
	}
	if n := len(payloads[event.CallRequested](t, d.recs)); n > 0 {
		t.Errorf("%d calls of the dead attempt were made", n)
	}
	words := map[int]string{} // the journal keeps both
	for _, c := range payloads[event.Chunk](t, d.recs) {
		words[c.Attempt] += c.Text
	}
	same(t, map[int]string{1: `Hello wor{"cm`, 2: "Hello world"}, words)
}

// proves TRN-10, B065
func TestAStreamThatEndsWithoutItsFinishIsNoAnswer(t *testing.T) {
	d := newDesk(t, turn.Options{Attempts: 2})
	d.submit("go")
	for attempt := range 2 {
		d.stream(event.CallStart{Block: 0, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 0, Text: `{}`}, event.CallEnd{Block: 0})
		d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket})
		if attempt == 0 {
			d.tell(turn.Fired{Timer: turn.TimerBackoff})
		}
	}
	if n := len(all[turn.RunCall](d.effects)) + len(all[turn.Judge](d.effects)); n > 0 {
		t.Errorf("%d calls were taken up", n)
	}
	if end := d.ending(); end.Outcome != event.TurnFailed || end.Error.Code != event.FailProtocol || !strings.Contains(end.Error.Message, "without its finish") {
		t.Errorf("ended %+v", end)
	}
	paired(t, d.recs)
	valid(t, d.s.History)
}

// proves TRN-10: an answer with nothing in it is tried again, and is no message
func TestAnEmptyAnswerIsTriedAgain(t *testing.T) {
	d := newDesk(t, turn.Options{Attempts: 2})
	d.submit("go")
	d.stream(say(" \n"))
	d.finish(event.FinishStop)
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	d.finish(event.FinishStop)
	if end := d.ending(); end.Outcome != event.TurnFailed || end.Error.Code != event.FailEmpty {
		t.Errorf("ended %+v", end)
	}
	if n := len(payloads[event.AssistantMessage](t, d.recs)); n > 0 {
		t.Errorf("%d messages", n)
	}
	valid(t, d.s.History)
}

// proves TRN-07, TRN-06, B019, B140
func TestAStopKeepsWhatIsWholeAndNotWhatIsHalf(t *testing.T) {
	r := func(block int, text, sig string) event.Delta {
		return event.ReasoningDelta{Block: block, Text: text, Signature: sig, Provider: "sim"}
	}
	for name, c := range map[string]struct {
		deltas []event.Delta
		want   event.Content
		text   string
	}{
		"nothing yet": {nil, nil, ""},
		"blank":       {[]event.Delta{say(" \n\t")}, nil, ""},
		"text":        {[]event.Delta{say("half an "), say("answer")}, event.Content{event.Text{Text: "half an answer"}}, "half an answer"},
		"signed thinking, half text": {[]event.Delta{r(0, "think", ""), r(0, "", "sig1"), event.TextDelta{Block: 1, Text: "half an ans"}},
			event.Content{event.Reasoning{Text: "think", Signature: "sig1", Provider: "sim"}, event.Text{Text: "half an ans"}}, "half an ans"},
		"a whole call and a half one": {[]event.Delta{say("ok"), event.CallStart{Block: 1, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 1, Text: `{"a":`},
			event.ArgsDelta{Block: 1, Text: `1}`}, event.CallEnd{Block: 1}, event.CallStart{Block: 2, ID: "c2", Name: "bash"}, event.ArgsDelta{Block: 2, Text: `{"a":1}`}},
			event.Content{event.Text{Text: "ok"}, event.ToolCall{ID: "c1", Name: "bash", Args: []byte(`{"a":1}`)}}, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.stream(c.deltas...)
			ask := must[turn.Ask](d)
			d.trip(interrupt.UserSIGINT, "me")
			before := len(d.recs)
			d.tell(turn.Streamed{Ticket: ask.Ticket, Delta: say(" and what came after")})
			if len(d.recs) > before {
				t.Error("the stream is recorded after the trip")
			}
			d.tell(turn.Answered{Ticket: ask.Ticket, Cut: true})
			if end := d.ending(); end.Text != c.text {
				t.Errorf("the ending says %q", end.Text)
			}
			msgs := payloads[event.AssistantMessage](t, d.recs)
			if c.want == nil {
				if len(msgs) > 0 {
					t.Errorf("%+v", msgs)
				}
				return
			}
			same(t, []event.AssistantMessage{{Attempt: 1, Content: c.want, Partial: true}}, msgs)
			paired(t, d.recs)
			valid(t, d.s.History)
		})
	}
}

// A block that is cut inside its second thought keeps its bytes; whether it may
// be sent again is for the driver to say, which knows its provider.
//
// proves B019, TRN-07
func TestASignedThoughtIsKeptByteForByte(t *testing.T) {
	const thought, sig = "th\u00efnk\n\"quoted\" \\ \u2028 end ", "c2ln+/=="
	d := newDesk(t, turn.Options{})
	d.submit("go")
	for _, p := range []string{thought[:3], thought[3:9], thought[9:]} {
		d.stream(event.ReasoningDelta{Block: 0, Text: p, Provider: "sim"})
	}
	d.stream(event.ReasoningDelta{Block: 0, Signature: sig, Provider: "sim"}, event.ReasoningDelta{Block: 1, Data: "b3BhcXVl", Provider: "sim"},
		event.ReasoningDelta{Block: 2, Text: "unfinished", Provider: "sim"})
	d.trip(interrupt.UserSIGINT, "me")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	got := payloads[event.AssistantMessage](t, d.recs)[0].Content
	want := event.Content{event.Reasoning{Text: thought, Signature: sig, Provider: "sim"}, event.Reasoning{Data: "b3BhcXVl", Provider: "sim"}, event.Reasoning{Text: "unfinished", Provider: "sim"}}
	if len(got) == 3 {
		want[2] = got[2] // an unfinished block has no signature, whoever it names
		if u, ok := got[2].(event.Reasoning); !ok || u.Signature != "" || u.Data != "" {
			t.Errorf("the unfinished block is %+v", got[2])
		}
	}
	same(t, want, got)
}

// Thinking that a provider keeps out of sight is a signature and no more. It is
// kept, for the provider wants it back; alone it is no answer, and of a cut one
// nothing is made.
//
// proves B019, TRN-07, MOD-01
func TestASignatureAloneIsKeptAndIsNoAnswer(t *testing.T) {
	hidden := event.ReasoningDelta{Block: 0, Signature: "c2ln", Provider: "sim"}
	d := newDesk(t, turn.Options{Attempts: 2})
	d.submit("go")
	d.stream(hidden)
	d.finish(event.FinishStop)
	if fails := payloads[event.AttemptFailed](t, d.recs); len(fails) != 1 || fails[0].Error.Code != event.FailEmpty {
		t.Fatalf("%+v", fails)
	}
	d.tell(turn.Fired{Timer: turn.TimerBackoff})
	d.stream(hidden, event.TextDelta{Block: 1, Text: "so"})
	d.finish(event.FinishStop)
	same(t, event.Content{event.Reasoning{Signature: "c2ln", Provider: "sim"}, event.Text{Text: "so"}}, payloads[event.AssistantMessage](t, d.recs)[0].Content)
	d.take()
	d.submit("again")
	d.stream(hidden)
	d.trip(interrupt.UserSIGINT, "me")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	if got := payloads[event.AssistantMessage](t, d.recs); len(got) != 1 {
		t.Errorf("a message was made of nothing that is seen: %+v", got[1:])
	}
	valid(t, d.s.History)
}

// proves B021, TOL-03
func TestCallsWithoutUsableIdsGetTheirOwn(t *testing.T) {
	for name, ids := range map[string][2]string{"empty": {"", ""}, "the same": {"a", "a"}, "endless": {strings.Repeat("x", 500), "b"}, "its own": {"toolu_1", "toolu_2"}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.calls(ids[0], "read", ids[1], "read")
			got := payloads[event.AssistantMessage](t, d.recs)[0].Content.Calls()
			one, two := got[0].ID, got[1].ID
			if one == "" || two == "" || one == two || len(one) > 128 {
				t.Fatalf("ids %q and %q", one, two)
			}
			if name == "its own" && (one != "toolu_1" || two != "toolu_2") {
				t.Errorf("ids %q and %q", one, two)
			}
			d.allow(one, two)
			for _, id := range []event.CallID{two, one} { // the second ends first
				if err := d.begin(id); err != nil {
					t.Fatal(err)
				}
				if err := d.end(id, finished("of "+string(id))); err != nil {
					t.Fatal(err)
				}
			}
			l, err := turn.Fold(d.recs)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range l.History[len(l.History)-2:] {
				if want := got[i].ID; m.Call != want || m.Content.Text() != "of "+string(want) {
					t.Errorf("result %d: %+v", i, m)
				}
			}
			d.calls(ids[0], "read") // the next step: an id is unique in the session
			if third := d.s.OpenStep().Calls[0].ID; third == one || third == two {
				t.Errorf("id %q comes again", third)
			}
		})
	}
}

// proves B062, TOL-03, TRN-05
func TestArgumentsThatWereCutAreNeverRun(t *testing.T) {
	for name, c := range map[string]struct {
		args   string
		finish event.FinishReason
		says   string
		want   event.TurnOutcome
	}{
		"at the limit": {"{\"path\":\"a\",\"text\":\"line1\nli", event.FinishLength, "cut at the output limit", event.TurnTruncated},
		"not JSON":     {`{"path":`, event.FinishTools, "not a JSON object", event.TurnCompleted},
		"no object":    {`[1,2]`, event.FinishTools, "not a JSON object", event.TurnCompleted},
		"two objects":  {`{"a":1}{"b":2}`, event.FinishTools, "not a JSON object", event.TurnCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, turn.Options{})
			d.submit("go")
			d.stream(event.CallStart{Block: 0, ID: "c1", Name: "bash"}, event.ArgsDelta{Block: 0, Text: c.args})
			if c.finish != event.FinishLength {
				d.stream(event.CallEnd{Block: 0})
			}
			d.finish(c.finish)
			if n := len(all[turn.Judge](d.effects)) + len(all[turn.RunCall](d.effects)); n > 0 {
				t.Fatalf("%d calls were taken up", n)
			}
			e := results(t, d.recs)["c1"]
			if e.Outcome != event.CallInvalid || e.Success == nil || *e.Success || !e.Error || !strings.Contains(e.Content.Text(), c.says) || !strings.Contains(e.Content.Text(), "Nothing of it ran") {
				t.Errorf("answered %+v", e)
			}
			if req := payloads[event.CallRequested](t, d.recs)[0]; req.BadArgs != c.args || string(req.Args) != "{}" {
				t.Errorf("recorded as %+v", req)
			}
			valid(t, d.s.History)
			d.stream(say("sorry"))
			d.finish(event.FinishStop)
			if end := d.ending(); end.Outcome != c.want {
				t.Errorf("ended %+v", end)
			}
		})
	}
}

// proves TOL-03: the model is told which tools there are
func TestACallOfAToolThatDoesNotExistIsAnswered(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.calls("c1", "nosuch", "c2", "read")
	e := results(t, d.recs)["c1"]
	if text := e.Content.Text(); e.Outcome != event.CallInvalid || !strings.Contains(text, `"nosuch"`) || !strings.Contains(text, "bash, read") {
		t.Errorf("answered %+v", e)
	}
	if j := all[turn.Judge](d.effects); len(j) != 1 || j[0].Call.ID != "c2" {
		t.Errorf("taken up: %+v", j)
	}
}

// What streams in any pieces, packed at any moment, is recorded whole: joined
// again it is the stream, and each record says where its pieces began.
//
// proves LOG-08, LOG-01
func TestChunksArePackedAndGiveTheStreamBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t, turn.Options{PackBytes: rapid.IntRange(1, 200).Draw(rt, "bytes")})
		d.submit("go")
		want := map[int]string{}
		pieces := map[int][]int{} // where each piece of a block began
		for i := range rapid.IntRange(1, 150).Draw(rt, "pieces") {
			block := rapid.IntRange(0, 2).Draw(rt, "block")
			text := rapid.StringN(1, 30, 60).Draw(rt, "text")
			d.pass(time.Duration(rapid.IntRange(0, 9).Draw(rt, "ms")) * time.Millisecond)
			pieces[block] = append(pieces[block], len(want[block]))
			want[block] += text
			if block == 2 {
				d.stream(event.ReasoningDelta{Block: block, Text: text})
			} else {
				d.stream(event.TextDelta{Block: block, Text: text})
			}
			if rapid.IntRange(0, 9).Draw(rt, "fire") == 0 {
				d.tell(turn.Fired{Timer: turn.TimerPack})
			}
			_ = i
		}
		d.finish(event.FinishStop)
		got, begun := map[int]string{}, map[int][]int{}
		for i := range d.recs {
			c, ok := body(t, &d.recs[i]).(event.Chunk)
			if !ok {
				continue
			}
			marks := d.recs[i].Span
			if len(marks) == 0 {
				marks = []event.Mark{{}}
			}
			for j, m := range marks {
				if m.Off > len(c.Text) || j > 0 && (m.Off < marks[j-1].Off || m.MS < marks[j-1].MS) {
					rt.Fatalf("marks %v of %d bytes", marks, len(c.Text))
				}
				begun[c.Block] = append(begun[c.Block], len(got[c.Block])+m.Off)
			}
			got[c.Block] += c.Text
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got %v\nwant %v", got, want)
		}
		if fmt.Sprint(begun) != fmt.Sprint(pieces) {
			rt.Fatalf("pieces began at %v\nrecorded %v", pieces, begun)
		}
	})
}

// proves LOG-08: many small pieces are few records, and each is bounded
func TestPackingBoundsARecordInBytesPiecesAndTime(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	set := must[turn.Ask](d)
	for i := range 1000 {
		d.stream(say(fmt.Sprintf("w%d ", i*i)))
	}
	chunks := payloads[event.Chunk](t, d.recs)
	if n := len(chunks); n < 1000/64 || n > 20 {
		t.Errorf("1000 pieces became %d records", n)
	}
	timers := 0
	for _, s := range all[turn.SetTimer](d.effects) {
		if s.Timer == turn.TimerPack && s.After == 50*time.Millisecond {
			timers++
		}
	}
	if timers < len(chunks) {
		t.Errorf("%d records, %d timers", len(chunks), timers)
	}
	before := len(d.recs)
	d.tell(turn.Streamed{Ticket: set.Ticket, Delta: say(strings.Repeat("x", 5000))}) // one piece: more than a record holds
	if len(d.recs) == before {
		t.Error("5000 bytes wait for a timer")
	}
	for i := range d.recs {
		if len(d.recs[i].Span) > 64 {
			t.Errorf("a record packs %d pieces", len(d.recs[i].Span))
		}
	}
}

// proves B082 (bytes), TRN-05: an answer without an end is cut at its bound,
// what came is kept, and the stream is told to stop
func TestAnAnswerWithoutAnEndIsCutAtItsBound(t *testing.T) {
	d := newDesk(t, turn.Options{Answer: 1000})
	d.submit("go")
	for range 20 {
		if d.s.Stopping() {
			break
		}
		d.stream(say(strings.Repeat("x", 99)))
	}
	if !d.s.Stopping() {
		t.Fatal("2,000 bytes were taken where 1,000 are allowed")
	}
	d.tell(turn.Tripped{Cause: must[turn.Trip](d).Cause})
	d.tell(turn.Fired{Timer: turn.TimerGrace})
	end := d.ending()
	if end.Outcome != event.TurnFailed || end.Error == nil || !strings.Contains(end.Error.Message, "longer than 1000 bytes") {
		t.Errorf("ended %+v", end)
	}
	if len(end.Text) < 900 {
		t.Errorf("%d bytes of what came are kept", len(end.Text))
	}
}

// proves B082 (bytes): what a provider wants back unread is part of the answer
// that has a bound, and so are the ids that it gives
func TestSignaturesHaveTheAnswersBound(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, delta := range map[string]func(i int) event.Delta{
		"signatures": func(i int) event.Delta { return event.ReasoningDelta{Block: i, Signature: long, Provider: "p"} },
		"ids":        func(i int) event.Delta { return event.CallStart{Block: i, ID: long, Name: "read"} },
	} {
		d := newDesk(t, turn.Options{Answer: 10_000})
		d.submit("go")
		for i := 0; i < 20 && !d.s.Stopping(); i++ {
			d.stream(delta(i))
		}
		if !d.s.Stopping() {
			t.Errorf("%s: 20,000 bytes were taken where 10,000 are allowed", name)
		}
	}
}
