package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

func (d *desk) summarized(in turn.Summarized) {
	d.t.Helper()
	in.Ticket = must[turn.AskSummary](d).Ticket
	if in.Bytes == 0 {
		in.Bytes = len(in.Text)
	}
	d.tell(in)
}

// talked is a session of n turns.
func talked(t *testing.T, n int, opts turn.Options) *desk {
	t.Helper()
	d := newDesk(t, opts)
	for i := range n {
		d.submit(fmt.Sprintf("question %d", i))
		d.say(fmt.Sprintf("answer %d", i))
	}
	return d
}

var contextFull = event.Failure{Code: event.FailContext, Message: "too long"}

// proves TRN-12, B068: what did not fit as a request is shortened for its summary,
// and the context itself is not
func TestWhatDoesNotFitIsShortenedForItsSummary(t *testing.T) {
	d := newDesk(t, turn.Options{})
	long := strings.Repeat("äb", 20<<10)
	d.token++
	d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_long", Input: event.UserInput{Content: event.Content{
		event.Text{Text: long}, event.Image{MediaType: "image/png", Name: "a.png", Data: []byte{1}}}}}})
	d.say("fine")
	d.submit("go")
	full := contextFull
	d.tell(turn.Answered{Ticket: ticketOf(d), Failure: &full})
	ask, ok := last[turn.AskSummary](d)
	if !ok {
		t.Fatal("no summary is asked for")
	}
	first := ask.Messages[0].Content
	if n := len(first.Text()); n > 3<<10 || !utf8.ValidString(first.Text()) || !strings.Contains(first.Text(), "a.png") {
		t.Errorf("%d bytes: %.80q", n, first.Text())
	}
	if got := d.s.History[0].Content; got.Text() != long || len(got) != 2 {
		t.Error("the context was changed")
	}
}

// proves TRN-12, B117, B118, B119: a summary is installed whole or not at all:
// failed, blocked, stopped at any point, the context is as it was, what waits
// still waits, and a later one works
func TestASummaryIsInstalledWholeOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(d *desk)
		want event.TurnOutcome
	}{
		"it fails half-way": {func(d *desk) {
			d.summarized(turn.Summarized{Text: "half", Failure: &event.Failure{Code: event.FailRateLimit, Message: "429"}})
		}, event.TurnFailed},
		"a hook blocks it":    {func(d *desk) { d.summarized(turn.Summarized{Blocked: "hook:compact", Why: "not now"}) }, event.TurnFailed},
		"it is empty":         {func(d *desk) { d.summarized(turn.Summarized{Text: " \n"}) }, event.TurnFailed},
		"it has no end":       {func(d *desk) { d.summarized(turn.Summarized{Text: strings.Repeat("s", 1<<20)}) }, event.TurnFailed},
		"stopped, then there": {func(d *desk) { d.trip(interrupt.UserSIGINT, "me"); d.summarized(turn.Summarized{Text: "whole"}) }, event.TurnAborted},
		"stopped half-way": {func(d *desk) {
			d.trip(interrupt.UserSIGINT, "me")
			d.summarized(turn.Summarized{Text: "half", Cut: true})
		}, event.TurnAborted},
		"stopped, never answered": {func(d *desk) {
			d.trip(interrupt.UserSIGINT, "me")
			d.tell(turn.Fired{Timer: turn.TimerGrace})
			d.summarized(turn.Summarized{Text: "whole, and late"})
		}, event.TurnAborted},
		"an urgent input": {func(d *desk) {
			d.offer("now", event.PriorityNow)
			d.tripFor()
			d.summarized(turn.Summarized{Cut: true})
		}, event.TurnAborted},
		"the disk fails": {func(d *desk) {
			d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "disk"}})
			d.summarized(turn.Summarized{Text: "whole"})
			d.tell(turn.StorageWorks{})
		}, event.TurnFailed},
	} {
		t.Run(name, func(t *testing.T) {
			d := talked(t, 3, turn.Options{})
			before := slices.Clone(d.s.History)
			d.tell(turn.Compact{ID: "g_1", By: "me"})
			d.submit("queued")
			c.end(d)
			ends := payloads[event.TurnEnded](t, d.recs)
			if got := ends[3]; got.Outcome != c.want {
				t.Fatalf("ended %+v", got)
			} else if f := got.Error; name == "a hook blocks it" && (!strings.HasSuffix(f.Message, "hook:compact did not let the context be summarized: not now") || !strings.Contains(f.Hint, "config show") || strings.Contains(f.Hint, "again")) {
				t.Errorf("told %+v", f)
			}
			h := d.s.History
			if name == "an urgent input" { // which stands behind it
				h = h[:len(h)-1]
			}
			if len(payloads[event.CompactionSummary](t, d.recs)) > 0 {
				t.Error("a summary was installed")
			} else {
				same(t, before, h)
			}
			if done := payloads[event.CompactionEnded](t, d.recs); len(done) != 1 || done[0].Installed {
				t.Errorf("%+v", done)
			}
			if !slices.Contains(d.waitingIDs(), event.InputID("i_4")) {
				t.Errorf("what waited: %v", d.waitingIDs())
			}
			if name == "an urgent input" {
				return
			}
			d.tell(turn.Compact{ID: "g_2"})
			d.summarized(turn.Summarized{Text: "in short"})
			if len(d.s.History) != 1 || !strings.Contains(d.s.History[0].Content.Text(), "in short") {
				t.Errorf("a later one: %+v", d.s.History)
			}
		})
	}
}

// proves TRN-12, B122: a loop of tools that crosses the limit goes on behind the
// summary with its last results, the call ran once, and its request is not lost,
// however often the context is summarized in one turn
func TestATurnGoesOnBehindItsSummary(t *testing.T) {
	d := newDesk(t, turn.Options{Context: 1000})
	d.submit("the request: mend the gate")
	long := strings.Repeat("log line ", 300)
	for n := 1; n <= 6; n++ {
		id := event.CallID(fmt.Sprintf("c%d", n))
		d.calls(string(id), "bash")
		d.allow(id)
		if err := d.begin(id); err != nil {
			t.Fatal(err)
		}
		d.take()
		if err := d.end(id, finished(long)); err != nil {
			t.Fatal(err)
		}
		if s, ok := last[turn.AskSummary](d); ok {
			valid(t, s.Messages[:len(s.Messages)-1])
			d.tell(turn.Summarized{Ticket: s.Ticket, Text: fmt.Sprintf("summary %d", n)})
		}
		got := d.texts()
		if tail := got[len(got)-2:]; tail[0] != "assistant: " || !strings.HasPrefix(tail[1], "tool: log line") {
			t.Errorf("step %d: a call was parted from its result: %.200q", n+1, got)
		}
		if !strings.Contains(got[0], "the request: mend the gate") {
			t.Errorf("step %d does not know what was asked: %.300q", n+1, got[0])
		}
		valid(t, must[turn.Ask](d).Messages)
	}
	d.say("done")
	if n := len(payloads[event.CompactionSummary](t, d.recs)); n < 2 {
		t.Fatalf("%d summaries: nothing was shown", n)
	}
	if n := len(payloads[event.CallStarted](t, d.recs)); n != 6 {
		t.Errorf("%d calls ran", n)
	}
	if end := d.s.Turn.End; end.Outcome != event.TurnCompleted {
		t.Errorf("%+v", end)
	}
}

// proves B068, TRN-12: a context that does not fit is summarized once, then the
// turn says that it ends; no body is sent a third time, and a stop works all the
// time
func TestAContextThatDoesNotFitIsSummarizedOnce(t *testing.T) {
	for name, summary := range map[string]turn.Summarized{"with a summary": {Text: "in short"}, "without one": {Failure: &event.Failure{Code: event.FailTransport, Message: "gone"}}} {
		t.Run(name, func(t *testing.T) {
			d := talked(t, 2, turn.Options{})
			d.submit("go")
			d.calls("c1", "bash") // the last call and its result stay, whatever is summarized
			d.ran("c1")
			for range 4 {
				if d.s.Phase() != turn.PhaseAsking {
					break
				}
				d.take()
				ask := event.Failure(contextFull)
				d.tell(turn.Answered{Ticket: ticketOf(d), Failure: &ask})
				if _, ok := last[turn.AskSummary](d); ok {
					d.summarized(summary)
				}
			}
			if end := d.s.Turn.End; end == nil || end.Outcome != event.TurnFailed || end.Error == nil {
				t.Fatalf("%v: %+v", d.s.Phase(), end)
			}
			if n := len(payloads[event.CompactionStarted](t, d.recs)); n != 1 {
				t.Errorf("%d summaries were tried", n)
			}
			if n := d.s.Turn.Asked; n > 4 { // the call's, two that did not fit, the summary's
				t.Errorf("%d requests", n)
			}
			d.submit("and now") // it may be tried anew
			fail := contextFull
			d.tell(turn.Answered{Ticket: ticketOf(d), Failure: &fail})
			d.trip(interrupt.UserSIGINT, "me")
			if a, ok := last[turn.AskSummary](d); ok {
				d.tell(turn.Summarized{Ticket: a.Ticket, Cut: true})
			}
			if d.s.Phase() != turn.PhaseIdle {
				t.Errorf("a stop does not end it: %v", d.s.Phase())
			}
		})
	}
}

// ticketOf is the ticket of the newest attempt.
func ticketOf(d *desk) turn.Ticket {
	n := turn.Ticket(0)
	for i := range d.recs {
		switch d.recs[i].Type {
		case event.TypeModelRequest, event.TypeCompactionStarted:
			n++
		}
	}
	return n
}

// proves TRN-12: what could not be summarized ahead of the limit is asked as it is
func TestASummaryAheadOfTheLimitMayFail(t *testing.T) {
	d := newDesk(t, turn.Options{Context: 20})
	d.submit("one")
	d.say(strings.Repeat("a long answer ", 20))
	before := slices.Clone(d.s.History)
	d.submit("two")
	d.summarized(turn.Summarized{Failure: &event.Failure{Code: event.FailTransport, Message: "gone"}})
	same(t, before, must[turn.Ask](d).Messages[:len(before)])
	d.say("ok")
	if d.s.Turn.End.Outcome != event.TurnCompleted {
		t.Errorf("%+v", d.s.Turn.End)
	}
}

// proves TRN-12, LOG-06: behind any cut the context is the old one or the
// summary, and the record that recovery closes it with says which
func TestNoCutOfASummaryMixesTheTwo(t *testing.T) {
	d := talked(t, 3, turn.Options{})
	old := len(d.s.History)
	from := len(d.recs)
	d.tell(turn.Compact{ID: "g_1"})
	d.summarized(turn.Summarized{Text: "in short"})
	installed := 0
	for n := from + 1; n <= len(d.recs); n++ {
		l, err := turn.Fold(d.recs[:n])
		if err != nil {
			t.Fatal(err)
		}
		added, err := turn.Recover(l, 2, nil, turn.Options{NoMarker: true})
		if err != nil {
			t.Fatal(err)
		}
		ends := payloads[event.CompactionEnded](t, append(d.recs[from:n:n], added...))
		short := len(l.History) == 1
		if !short && len(l.History) != old || len(ends) > 1 || len(ends) == 1 && ends[0].Installed != short {
			t.Errorf("cut at %d: %d messages, %+v", n, len(l.History), ends)
		}
		if short {
			installed++
		}
	}
	if installed < 3 {
		t.Errorf("%d cuts behind the summary: nothing was shown", installed)
	}
}

// proves B112, TRN-11: the call for a summary is a request of its turn: what it
// used is counted, what is not known of it is said to be
func TestASummarysUseIsItsTurns(t *testing.T) {
	in, out := int64(700), int64(30)
	for name, c := range map[string]struct {
		in      turn.Summarized
		whole   bool
		guessed bool
	}{
		"counted":         {turn.Summarized{Text: "in short", Tokens: event.Tokens{Input: &in, Output: &out}}, true, false},
		"counted in part": {turn.Summarized{Text: "in short", Tokens: event.Tokens{Input: &in}}, false, true},
		"cut":             {turn.Summarized{Text: "in sh", Cut: true}, false, true},
		"cut unseen":      {turn.Summarized{Cut: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := talked(t, 2, turn.Options{})
			d.tell(turn.Compact{ID: "g_1"})
			if c.in.Cut {
				d.trip(interrupt.UserSIGINT, "me")
			}
			d.summarized(c.in)
			sum := turn.Summarize(d.s.Ledger)
			if sum.Whole != c.whole || (sum.Estimate.Output != nil) != c.guessed {
				t.Errorf("whole %v, counted %+v, guessed %+v", sum.Whole, sum.Usage, sum.Estimate)
			}
		})
	}
}
