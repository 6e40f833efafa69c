package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// wreck is a journal that a crash left with everything open at once: two calls
// that ran, one of them answered, one that was approved only, one that waits
// for a person, one that was only requested, jobs, a process, a compaction.
func wreck(t *testing.T) []event.Record {
	call := func(id event.CallID, ps ...event.Payload) (out []line) {
		for _, p := range ps {
			out = append(out, line{p: p, turn: 1, step: 1, call: id})
		}
		return out
	}
	var wish event.Content
	for _, id := range []event.CallID{"c1", "c2", "c3", "c4", "c5"} {
		wish = append(wish, event.ToolCall{ID: id, Name: "bash", Args: []byte(`{}`)})
	}
	return journal(t, join(opened, waiting,
		[]line{{p: event.JobStarted{ID: "j1", PIDs: []int{70}}}, {p: event.JobStarted{ID: "j2", PIDs: []int{71}, Keep: true}}},
		inTurn, inStep, in(event.InboxClaimed{ID: "i_1"}), asked,
		in(event.AssistantMessage{Attempt: 1, Content: wish, Finish: event.FinishTools}),
		call("c1", event.CallRequested{Name: "bash", Index: 0}),
		call("c2", event.CallRequested{Name: "bash", Index: 1}),
		call("c3", event.CallRequested{Name: "bash", Index: 2}),
		call("c4", event.CallRequested{Name: "bash", Index: 3}),
		call("c5", event.CallRequested{Name: "bash", Index: 4}),
		call("c2", event.CallApproved{}, event.CallStarted{}),
		[]line{{p: event.ProcessStarted{Owner: "call", ID: "c2", PID: 72}}},
		call("c1", event.CallApproved{}, event.CallStarted{}, event.CallEnded{Outcome: event.CallFinished, Content: event.TextOf("real")}),
		call("c3", event.CallApproved{}),
		call("c4", event.ApprovalAsked{ID: "a4", Tool: "bash"}),
		[]line{{p: event.CompactionStarted{}}})...)
}

func recovered(t *testing.T, recs []event.Record, evidence ...event.Evidence) (*turn.Ledger, []event.Record) {
	t.Helper()
	l, err := turn.Fold(recs)
	if err != nil {
		t.Fatal(err)
	}
	added, err := turn.Recover(l, 2, evidence, turn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l, added
}

func named(recs []event.Record) string {
	var out []string
	for i := range recs {
		name := string(recs[i].Type)
		if recs[i].Call != "" {
			name += ":" + string(recs[i].Call)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// proves REC-03, REC-05
func TestRecoveryClosesEverythingInOneOrder(t *testing.T) {
	l, added := recovered(t, wreck(t), event.Evidence{Job: "j2", Kept: true, Alive: []int{71}})
	want := "repair/begin approval/void:c4 call/ended:c2 call/ended:c3 call/ended:c4 call/ended:c5 " +
		"compaction/end job/ended job/adopted process/ended step/end marker/aborted turn/end repair/commit"
	if got := named(added); got != want {
		t.Errorf("closed in the order\n%s\nwant\n%s", got, want)
	}
	if n := payloads[event.RepairCommitted](t, added)[0].Records; n != len(added) {
		t.Errorf("the group says %d records and has %d", n, len(added))
	}
	if b := payloads[event.RepairBegun](t, added)[0]; len(b.Evidence) != 1 || b.Upto != event.Seq(len(wreck(t))-1) {
		t.Errorf("what was seen is not in the group: %+v", b)
	}
	end := payloads[event.TurnEnded](t, added)[0]
	if end.Outcome != event.TurnInterrupted || end.Who != "" || end.At != nil {
		t.Errorf("ended %+v", end)
	}
	if l.OpenTurn() != 0 || turn.NeedsRecovery(l) && len(l.OpenJobs()) != 1 {
		t.Errorf("still open: turn %d, jobs %v, processes %v", l.OpenTurn(), l.OpenJobs(), l.Procs)
	}
	for _, p := range added {
		if p.Epoch != 2 {
			t.Errorf("%s is of epoch %d", p.Type, p.Epoch)
		}
	}
}

// A step that was cut in its answer is closed with what it had said; the call
// whose arguments are whole is asked for and answered, the half one is not.
//
// proves REC-03, REC-06, TRN-07
func TestRecoveryKeepsWhatTheModelHadSaid(t *testing.T) {
	chunk := func(c event.Chunk) []line { c.Attempt = 1; return in(c) }
	l, added := recovered(t, journal(t, join(opened, waiting, inTurn, inStep, in(event.InboxClaimed{ID: "i_1"}), asked,
		chunk(event.Chunk{Block: 0, Kind: event.ChunkReasoning, Text: "think", Signature: "s1", Done: true}),
		chunk(event.Chunk{Block: 1, Kind: event.ChunkText, Text: "half an"}), chunk(event.Chunk{Block: 1, Kind: event.ChunkText, Text: " answer"}),
		chunk(event.Chunk{Block: 2, Kind: event.ChunkArgs, Call: "c1", Name: "bash", Text: `{"a": 1}`, Done: true}),
		chunk(event.Chunk{Block: 3, Kind: event.ChunkArgs, Call: "c2", Name: "bash", Text: `{"a"`}))...))
	if got, want := named(added), "repair/begin message/assistant call/requested:c1 call/ended:c1 step/end marker/aborted turn/end repair/commit"; got != want {
		t.Errorf("closed in the order\n%s\nwant\n%s", got, want)
	}
	msg := payloads[event.AssistantMessage](t, added)[0]
	same(t, event.AssistantMessage{Attempt: 1, Partial: true, Made: true, Content: event.Content{
		event.Reasoning{Text: "think", Signature: "s1"}, event.Text{Text: "half an answer"}, event.ToolCall{ID: "c1", Name: "bash", Args: []byte(`{"a":1}`)}}}, msg)
	if end := payloads[event.TurnEnded](t, added)[0]; end.Text != "half an answer" {
		t.Errorf("the ending says %q", end.Text)
	}
	valid(t, l.History)
}

// valid holds a history, with one more word of the user's, to what strict
// providers accept.
func valid(t *testing.T, history []event.Message) {
	t.Helper()
	err := scripted.Validate(append(slices.Clone(history), event.Message{Role: event.RoleUser, Content: event.TextOf("go on")}))
	if err != nil && !strings.Contains(err.Error(), "user messages in a row") { // adapters merge those
		t.Errorf("a strict provider refuses the history: %v", err)
	}
}

// proves REC-04, B015, B028
func TestThreePlaceholdersAreThreeStatesAndThreeTexts(t *testing.T) {
	l, added := recovered(t, wreck(t))
	got := results(t, added)
	for id, want := range map[event.CallID]struct {
		outcome event.CallOutcome
		text    string
		holds   []string
		lacks   []string
	}{
		"c2": {event.CallUnknown, turn.TextUnknown, []string{"Do not retry blindly.", "unknown", "read-only"}, []string{"Nothing of it ran"}},
		"c3": {event.CallSkipped, turn.TextNeverStarted, []string{"never started", "Retry it if it is still needed.", "Nothing of it ran"}, []string{"Do not retry blindly"}},
		"c4": {event.CallSkipped, turn.TextWaiting, []string{"waiting for approval", "never ran", "not refused"}, []string{"denied"}},
		"c5": {event.CallSkipped, turn.TextNeverStarted, []string{"never started"}, nil},
	} {
		e, ok := got[id]
		text := e.Content.Text()
		if !ok || e.Outcome != want.outcome || e.Success != nil || !e.Error || !e.Synthetic || e.Cause == "" || text != want.text {
			t.Errorf("%s: %+v", id, e)
		}
		for _, s := range want.holds {
			if !strings.Contains(text, s) {
				t.Errorf("%s does not say %q: %s", id, s, text)
			}
		}
		for _, s := range want.lacks {
			if strings.Contains(text, s) {
				t.Errorf("%s says %q: %s", id, s, text)
			}
		}
	}
	if _, again := got["c1"]; again {
		t.Error("a call that had its result got another")
	}
	var order []event.CallID
	for _, m := range l.History {
		if m.Role == event.RoleTool {
			order = append(order, m.Call)
		}
	}
	same(t, []event.CallID{"c1", "c2", "c3", "c4", "c5"}, order)
}

// proves REC-04, REC-07, PRC-04
func TestWhatCouldBeFoundOutIsSaid(t *testing.T) {
	seven, no := 7, false
	for name, c := range map[string]struct {
		evidence event.Evidence
		outcome  event.CallOutcome
		holds    []string
	}{
		"alive":    {event.Evidence{Call: "c2", Alive: []int{72}, Output: "line 1", Bytes: 6}, event.CallUnknown, []string{"Do not retry blindly.", "[72]", "found alive", "line 1"}},
		"gone":     {event.Evidence{Call: "c2"}, event.CallUnknown, []string{"No process of it is left", "No output was caught"}},
		"a note":   {event.Evidence{Call: "c2", Note: "The file x was changed."}, event.CallUnknown, []string{"The file x was changed."}},
		"finished": {event.Evidence{Call: "c2", Ended: true, ExitCode: &seven, TimedOut: &no, Output: "all", Bytes: 3}, event.CallFinished, []string{"finished", "Exit code 7", "all"}},
		"killed":   {event.Evidence{Call: "c2", Ended: true, Signal: "SIGSEGV"}, event.CallFinished, []string{"SIGSEGV", "printed nothing"}},
		"overdue":  {event.Evidence{Call: "c2", Ended: true, Signal: "SIGKILL", TimedOut: ptr(true)}, event.CallFinished, []string{"time limit"}},
	} {
		_, added := recovered(t, wreck(t), c.evidence)
		e := results(t, added)["c2"]
		if e.Outcome != c.outcome || !e.Synthetic || e.Cause == "" {
			t.Errorf("%s: %+v", name, e)
		}
		for _, s := range c.holds {
			if !strings.Contains(e.Content.Text(), s) {
				t.Errorf("%s: %q lacks %q", name, e.Content.Text(), s)
			}
		}
	}
	for _, c := range []struct {
		evidence event.Evidence
		want     event.JobEnded
	}{
		{event.Evidence{}, event.JobEnded{ID: "j1", State: event.JobLost, By: "recovery"}},
		{event.Evidence{Job: "j1", Alive: []int{70}}, event.JobEnded{ID: "j1", State: event.JobKilled, Signal: "SIGKILL", By: "recovery"}},
		{event.Evidence{Job: "j1", Ended: true, ExitCode: &seven}, event.JobEnded{ID: "j1", State: event.JobExited, ExitCode: &seven, By: "found by recovery"}},
		{event.Evidence{Job: "j1", Ended: true, Signal: "SIGTERM"}, event.JobEnded{ID: "j1", State: event.JobKilled, Signal: "SIGTERM", By: "found by recovery"}},
	} {
		_, added := recovered(t, wreck(t), c.evidence)
		same(t, c.want, payloads[event.JobEnded](t, added)[0]) // proves B008: a code that nobody saw is not invented
	}
}

func ptr[T any](v T) *T { return &v }

// Recovery reads no clock and draws no ids: the same prefix and the same
// observations give the same bytes, at any cut, and once is enough.
//
// proves REC-05, REC-03, INT-31
func TestRecoveringIsDeterministicAndOnceIsEnough(t *testing.T) {
	long := wreck(t)
	for seed := range uint64(6) {
		recs := long
		if seed > 0 {
			recs = played(t, seed)
		}
		for n := 2; n <= len(recs); n++ {
			l, added := recovered(t, slices.Clone(recs[:n]))
			_, twin := recovered(t, slices.Clone(recs[:n]))
			if a, b := bytesOf(t, added), bytesOf(t, twin); a != b {
				t.Fatalf("seed %d, cut %d: two recoveries differ:\n%s\n%s", seed, n, a, b)
			}
			if len(added) > 0 && !added[0].Time.Equal(recs[n-1].Time) && n > 2 {
				t.Fatalf("seed %d, cut %d: the closers' time is not the prefix's", seed, n)
			}
			if again, err := turn.Recover(l, 3, nil, turn.Options{}); err != nil || len(again) > 0 {
				t.Fatalf("seed %d, cut %d: again adds %s (%v)", seed, n, named(again), err)
			}
			if turn.NeedsRecovery(l) {
				t.Fatalf("seed %d, cut %d: something is open after recovery", seed, n)
			}
			whole := append(slices.Clone(recs[:n]), added...)
			if _, err := turn.Fold(whole); err != nil {
				t.Fatalf("seed %d, cut %d: %v", seed, n, err)
			}
			paired(t, whole)
			valid(t, l.History)
			if t.Failed() {
				t.Fatalf("seed %d, cut %d", seed, n)
			}
		}
	}
}

func bytesOf(t *testing.T, recs []event.Record) string {
	t.Helper()
	var out []byte
	var sum event.Sum
	for _, r := range recs {
		r.Line = nil
		var err error
		if out, sum, err = event.Encode(append(out, '\n'), sum, &r); err != nil {
			t.Fatal(err)
		}
	}
	return string(out)
}

// paired holds a journal without an open turn to one result for each call, and
// results of a step's calls to the order of their requests where we made them.
func paired(t *testing.T, recs []event.Record) {
	t.Helper()
	got := results(t, recs)
	for i := range recs {
		if recs[i].Type == event.TypeCallRequested {
			if _, ok := got[recs[i].Call]; !ok {
				t.Errorf("call %s has no result", recs[i].Call)
			}
			delete(got, recs[i].Call)
		}
	}
	if len(got) > 0 {
		t.Errorf("results without a call: %v", got)
	}
}

// An ending that was cut in the middle is finished by recovery, each part once.
//
// proves REC-05, TRN-05
func TestAnEndingThatWasCutIsFinished(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(event.TextDelta{Text: "I will. "})
	d.calls("c1", "bash", "c2", "read")
	d.allow("c1")
	if err := d.begin("c1"); err != nil {
		t.Fatal(err)
	}
	d.trip(interrupt.UserSIGINT, "me")
	if err := d.end("c1", ended(event.CallStopped)); err != nil {
		t.Fatal(err)
	}
	d.ending()
	first := slices.IndexFunc(d.recs, func(r event.Record) bool { return r.Type == event.TypeCallEnded })
	for n := first; n < len(d.recs); n++ {
		l, added := recovered(t, slices.Clone(d.recs[:n]))
		whole := append(slices.Clone(d.recs[:n]), added...)
		paired(t, whole)
		valid(t, l.History)
		if ends, marks := payloads[event.TurnEnded](t, whole), payloads[event.TurnMarked](t, whole); len(ends) != 1 || len(marks) != 1 {
			t.Errorf("cut at %d: %d endings, %d markers", n, len(ends), len(marks))
		}
	}
}

// proves TRN-08
func TestTheMarkerIsOneConstantAndCanBeLeftOut(t *testing.T) {
	for _, s := range []string{"<turn_aborted>", "</turn_aborted>", "stopped before its end", "terminals", "may still be running", "part of its work", "check before"} {
		if !strings.Contains(turn.TextAbortedTurn, s) {
			t.Errorf("the marker does not say %q", s)
		}
	}
	stopped := func(o turn.Options) *desk {
		d := newDesk(t, o)
		d.submit("go")
		d.trip(interrupt.UserSIGINT, "me")
		d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
		d.ending()
		return d
	}
	_, crashed := recovered(t, wreck(t))
	for name, c := range map[string]struct {
		marks []event.TurnMarked
		want  []event.TurnMarked
	}{
		"stopped":    {payloads[event.TurnMarked](t, stopped(turn.Options{}).recs), []event.TurnMarked{{Text: turn.TextAbortedTurn}}},
		"crashed":    {payloads[event.TurnMarked](t, crashed), []event.TurnMarked{{Text: turn.TextAbortedTurn}}},
		"left out":   {payloads[event.TurnMarked](t, stopped(turn.Options{NoMarker: true}).recs), nil},
		"other word": {payloads[event.TurnMarked](t, stopped(turn.Options{MarkerText: "cut"}).recs), []event.TurnMarked{{Text: "cut"}}},
	} {
		if fmt.Sprint(c.marks) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v", name, c.marks)
		}
	}
}

// The marker stands between the step's end and the turn's, behind the books.
//
// proves TRN-06, TRN-08, LOG-12
func TestAnAbortClosesItsBooksInOneOrderAndSyncsBetween(t *testing.T) {
	d := newDesk(t, turn.Options{})
	d.submit("go")
	d.stream(event.TextDelta{Text: "so far"})
	d.quiet()
	d.trip(interrupt.UserSIGINT, "me")
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Cut: true})
	var order []string
	for _, e := range d.take() {
		switch e := e.(type) {
		case turn.Append:
			for i := range e.Records {
				order = append(order, string(e.Records[i].Type))
			}
		case turn.Sync:
			order = append(order, "sync")
		case turn.RunHooks:
			order = append(order, "hooks")
		case turn.Retire:
			order = append(order, "retire")
		case turn.Publish:
			order = append(order, "publish")
		}
	}
	want := []string{"chunk", "guard/verdict", "usage", "message/assistant", "step/end", "hooks", "marker/aborted", "sync", "retire", "turn/end", "sync", "publish"}
	if !slices.Equal(order, want) {
		t.Errorf("order\n%v\nwant\n%v", order, want)
	}
}

// quiet forgets the effects so far but for the request under way.
func (d *desk) quiet() {
	ask := must[turn.Ask](d)
	d.effects = []turn.Effect{ask}
}
