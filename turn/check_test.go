package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// line is a payload with its place in the journal.
type line struct {
	p          event.Payload
	turn, step int
	call       event.CallID
	bend       func(*event.Record) // spoils the envelope
}

// journal numbers lines and returns them as records.
func journal(t *testing.T, lines ...line) []event.Record {
	t.Helper()
	out := make([]event.Record, 0, len(lines))
	for i, l := range lines {
		r, err := event.New(l.p, time.Unix(int64(1000+i), 0))
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Epoch, r.Batch, r.Turn, r.Step, r.Call = event.Seq(i), 1, 1, l.turn, l.step, l.call
		if l.bend != nil {
			l.bend(&r)
		}
		out = append(out, r)
	}
	return out
}

func join(parts ...[]line) (out []line) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var (
	opened    = []line{{p: event.SessionOpened{ID: "s_1"}}, {p: event.LeaseTaken{}}}
	waiting   = []line{{p: event.InboxAccepted{ID: "i_1", Priority: event.PriorityLater, Input: event.UserInput{Content: event.TextOf("go")}}}}
	inTurn    = []line{{p: event.TurnStarted{Kind: event.TurnInput}, turn: 1}}
	inStep    = []line{{p: event.StepStarted{}, turn: 1, step: 1}}
	asked     = []line{{p: event.ModelConfig{}, turn: 1, step: 1}, {p: event.ModelRequest{Attempt: 1}, turn: 1, step: 1}}
	spoke     = []line{{p: event.AssistantMessage{Attempt: 1, Content: event.TextOf("x")}, turn: 1, step: 1}}
	requested = []line{{p: event.CallRequested{Name: "bash"}, turn: 1, step: 1, call: "c1"}}
	approved  = []line{{p: event.CallApproved{}, turn: 1, step: 1, call: "c1"}}
	started   = []line{{p: event.CallStarted{}, turn: 1, step: 1, call: "c1"}}
	answered  = []line{{p: event.CallEnded{Outcome: event.CallFinished}, turn: 1, step: 1, call: "c1"}}
	stepOver  = []line{{p: event.StepEnded{}, turn: 1, step: 1}}
	turnOver  = []line{{p: event.TurnEnded{Outcome: event.TurnCompleted}, turn: 1}}
	question  = []line{{p: event.ApprovalAsked{ID: "a"}, turn: 1, step: 1, call: "c1"}}
	running   = []line{{p: event.JobStarted{ID: "j1"}}}
)

var inner = of(event.InnerStarted{N: 1, Tool: "bash"}, "c1")

func in(p event.Payload) []line { return []line{{p: p, turn: 1, step: 1}} }
func of(p event.Payload, id event.CallID) []line {
	return []line{{p: p, turn: 1, step: 1, call: id}}
}
func off(p event.Payload, turn, step int) []line { return []line{{p: p, turn: turn, step: step}} }

// One line a rule: what stands before, the record that breaks the rule, and a
// word of what is said about it. Without the record the journal goes on.
//
// proves LOG-04, INT-31
func TestEveryRuleOfTheOrderRefusesItsRecord(t *testing.T) {
	step := join(opened, waiting, inTurn, inStep)
	call := join(step, asked, spoke, requested)
	run := join(call, approved, started)
	closed := join(run, answered, stepOver, turnOver)
	bent := func(f func(*event.Record)) []line { return []line{{p: event.RepairBegun{}, bend: f}} }
	for _, c := range []struct {
		rule   string
		before []line
		bad    []line
		says   string
	}{
		{"a journal begins with its opening", nil, []line{{p: event.LeaseTaken{}}}, "begins with"},
		{"a journal is opened once", opened, []line{{p: event.SessionOpened{ID: "s_2"}}}, "first record"},
		{"seq has no gap", opened, bent(func(r *event.Record) { r.Seq++ }), "seq 2 expected"},
		{"seq is not used twice", opened, bent(func(r *event.Record) { r.Seq-- }), "seq 2 expected"},
		{"the epoch never falls", opened, bent(func(r *event.Record) { r.Epoch = 0 }), "epoch"},
		{"the batch never falls", opened, bent(func(r *event.Record) { r.Batch = 0 }), "batch"},
		{"turns begin with 1", opened, off(event.TurnStarted{}, 2, 0), "turn 2 starts"},
		{"no turn is hidden that there was not", closed, []line{{p: event.Rewound{From: 2}}}, "last was 1"},
		{"a turn is not hidden while one is open", join(opened, inTurn), []line{{p: event.Rewound{From: 1}}}, "open is 1"},
		{"an input that waits is not returned", join(opened, inTurn, turnOver, waiting), []line{{p: event.Rewound{From: 1, Returns: []event.Returned{{ID: "i_1"}}}}}, "is in no turn"},
		{"turns leave none out", closed, off(event.TurnStarted{}, 3, 0), "turn 3 starts"},
		{"turns do not come twice", closed, off(event.TurnStarted{}, 1, 0), "turn 1 starts"},
		{"turns do not nest", join(opened, inTurn), off(event.TurnStarted{}, 2, 0), "open is 1"},
		{"a turn that is not open has no end", opened, off(event.TurnEnded{}, 1, 0), "open is 0"},
		{"a turn ends once", closed, turnOver, "open is 0"},
		{"a turn's end names the turn", join(opened, inTurn), off(event.TurnEnded{}, 2, 0), "open is 1"},
		{"a turn does not end over a step", step, off(event.TurnEnded{}, 1, 0), "over open step 1"},
		{"steps begin with 1", join(opened, inTurn), off(event.StepStarted{}, 1, 2), "step 2"},
		{"steps leave none out", join(step, stepOver), off(event.StepStarted{}, 1, 3), "step 3"},
		{"steps do not overlap", step, off(event.StepStarted{}, 1, 2), "open is 1"},
		{"a step needs its turn", opened, off(event.StepStarted{}, 1, 1), "step 1 of turn 1"},
		{"a step names the open turn", join(opened, inTurn), off(event.StepStarted{}, 2, 1), "of turn 2"},
		{"a step that is not open has no end", join(opened, inTurn), off(event.StepEnded{}, 1, 1), "open are"},
		{"a step does not end over a call", call, in(event.StepEnded{}), "unanswered call c1"},
		{"a step does not end over a question", join(call, question, of(event.CallEnded{Outcome: event.CallSkipped}, "c1")), in(event.StepEnded{}), "open approval"},
		{"a chunk names the open step", join(step, asked), off(event.Chunk{Attempt: 1}, 1, 2), "step 2"},
		{"a message names the open turn", join(step, asked), off(event.AssistantMessage{Attempt: 1}, 2, 1), "turn 2"},
		{"a call names the open step", join(step, asked), []line{{p: event.CallRequested{}, turn: 1, step: 2, call: "c1"}}, "step 2"},
		{"a marker needs its turn", opened, off(event.TurnMarked{}, 1, 0), "open is 0"},
		{"requests are counted", step, in(event.ModelRequest{Attempt: 2}), "attempt 2"},
		{"a request comes before the message", join(step, asked, spoke), in(event.ModelRequest{Attempt: 2}), "after the step's message"},
		{"a chunk is of the attempt under way", join(step, asked), in(event.Chunk{Attempt: 2}), "attempt 2"},
		{"a failure is of the attempt under way", join(step, asked), in(event.AttemptFailed{Attempt: 2}), "attempt 2"},
		{"a message is of the attempt under way", join(step, asked), in(event.AssistantMessage{Attempt: 2}), "attempt 2"},
		{"a step has one message", join(step, asked, spoke), in(event.AssistantMessage{Attempt: 1}), "its message already"},
		{"a call has an id", join(step, asked, spoke), of(event.CallRequested{}, ""), "empty or taken"},
		{"a call's id is its own in the step", call, of(event.CallRequested{}, "c1"), "empty or taken"},
		{"a call's id is its own in the session", join(run, answered, stepOver, off(event.StepStarted{}, 1, 2)),
			[]line{{p: event.CallRequested{}, turn: 1, step: 2, call: "c1"}}, "empty or taken"},
		{"a result needs its call", join(step, asked, spoke), of(event.CallEnded{Outcome: event.CallSkipped}, "c1"), "not requested"},
		{"a result needs a call of this step", join(run, answered, stepOver, off(event.StepStarted{}, 1, 2)),
			[]line{{p: event.CallEnded{Outcome: event.CallFinished}, turn: 1, step: 2, call: "c1"}}, "not requested"},
		{"a call has one result", join(run, answered), answered, "has its end already"},
		{"a call's index is its place", join(step, asked), of(event.CallRequested{Index: 1}, "c1"), "index 1, expected 0"},
		{"a message lists what went ahead of it", join(step, asked, requested), in(event.AssistantMessage{Attempt: 1}), "does not list call c1"},
		{"what went ahead is not asked for again", join(step, asked, requested), in(event.ModelRequest{Attempt: 2}), "after a call of it"},
		{"an inner call needs a start of its outer", join(call, approved), of(event.InnerStarted{N: 1}, "c1"), "has not started"},
		{"an inner call needs its outer", run, of(event.InnerStarted{N: 1}, "c2"), "not requested"},
		{"inner calls are numbered", run, of(event.InnerStarted{N: 2}, "c1"), "expected 1"},
		{"inner calls leave none out", join(run, inner), of(event.InnerStarted{N: 3}, "c1"), "expected 2"},
		{"an inner call ends once", join(run, inner, of(event.InnerEnded{N: 1}, "c1")), of(event.InnerEnded{N: 1}, "c1"), "has its end already"},
		{"an inner end needs its start", run, of(event.InnerEnded{N: 1}, "c1"), "has not started"},
		{"no inner call after the outer's end", join(run, inner, answered), of(event.InnerEnded{N: 1}, "c1"), "has its end already"},
		{"a running call may ask, and ends over no question", join(run, question), answered, "open question"},
		{"a question has its own id", join(run, question), question, "open already"},
		{"a call is approved once", join(call, approved), approved, "approved"},
		{"a denied call is not approved", join(call, of(event.CallDenied{}, "c1")), approved, "approved"},
		{"an approved call is not denied", join(call, approved), of(event.CallDenied{}, "c1"), "denied"},
		{"a call is approved before it starts", call, started, "started"},
		{"a denied call does not start", join(call, of(event.CallDenied{}, "c1")), started, "started"},
		{"a call starts once", run, started, "started"},
		{"output comes after the start", join(call, approved), of(event.CallOutput{}, "c1"), "output"},
		{"what never started has not finished", join(call, approved), answered, "finished"},
		{"what never started was not stopped", join(call, approved), of(event.CallEnded{Outcome: event.CallStopped}, "c1"), "stopped"},
		{"what never started is not unknown", join(call, approved), of(event.CallEnded{Outcome: event.CallUnknown, Synthetic: true}, "c1"), "unknown"},
		{"what started was not skipped", run, of(event.CallEnded{Outcome: event.CallSkipped}, "c1"), "skipped"},
		{"what nobody denied is not denied", call, of(event.CallEnded{Outcome: event.CallWasDenied}, "c1"), "denied"},
		{"an outcome is one of those that exist", run, of(event.CallEnded{Outcome: "vanished"}, "c1"), "vanished"},
		{"a late result names a quarantined call", closed, []line{{p: event.LateResult{}, call: "c1"}}, "not quarantined"},
		{"a late result comes once", join(run, of(event.CallEnded{Outcome: event.CallQuarantined}, "c1"), stepOver, turnOver, []line{{p: event.LateResult{}, turn: 1, call: "c1"}}),
			[]line{{p: event.LateResult{}, turn: 1, call: "c1"}}, "not quarantined"},
		{"a question needs its call", join(step, asked, spoke), question, "can't be asked about"},
		{"an approved call needs no question", join(call, approved), question, "can't be asked about"},
		{"an answer needs its question", call, of(event.ApprovalDecided{ID: "a"}, "c1"), "not open"},
		{"a question is answered once", join(call, question, of(event.ApprovalVoided{ID: "a"}, "c1")), of(event.ApprovalDecided{ID: "a"}, "c1"), "not open"},
		{"a void needs its question", opened, []line{{p: event.ApprovalVoided{ID: "a"}}}, "not open"},
		{"an input is accepted once", join(opened, waiting), waiting, "i_1"},
		{"an idempotency key is accepted once", join(opened, []line{{p: event.InboxAccepted{ID: "i_1", Key: "k"}}}), []line{{p: event.InboxAccepted{ID: "i_2", Key: "k"}}}, "key"},
		{"what does not wait is not claimed", join(opened, inTurn, inStep), in(event.InboxClaimed{ID: "i_1"}), "i_1"},
		{"an input is claimed once", join(step, in(event.InboxClaimed{ID: "i_1"})), in(event.InboxClaimed{ID: "i_1"}), "i_1"},
		{"a claim enters a step", join(opened, waiting), []line{{p: event.InboxClaimed{ID: "i_1"}}}, "open are 0 and 0"},
		{"what was dropped is not claimed", join(step, []line{{p: event.InboxDropped{ID: "i_1"}}}), in(event.InboxClaimed{ID: "i_1"}), "i_1"},
		{"what was claimed is not edited", join(step, in(event.InboxClaimed{ID: "i_1"})), []line{{p: event.InboxEdited{ID: "i_1"}}}, "i_1"},
		{"a job starts once", join(opened, running), running, "runs already"},
		{"a job that does not run has no end", opened, []line{{p: event.JobEnded{ID: "j1"}}}, "does not run"},
		{"a job that does not run is not adopted", opened, []line{{p: event.JobAdopted{ID: "j1"}}}, "does not run"},
		{"a job that does not run is not kept", opened, []line{{p: event.JobKept{ID: "j1"}}}, "does not run"},
		{"compactions do not nest", join(opened, []line{{p: event.CompactionStarted{}}}), []line{{p: event.CompactionStarted{}}}, "open already"},
		{"a compaction that is not open has no end", opened, []line{{p: event.CompactionEnded{}}}, "no compaction"},
		{"a summary stands in its compaction", opened, []line{{p: event.CompactionSummary{}}}, "outside of a compaction"},
		{"repairs do not nest", join(opened, []line{{p: event.RepairBegun{}}}), []line{{p: event.RepairBegun{}}}, "open already"},
		{"a repair that is not open is not committed", opened, []line{{p: event.RepairCommitted{}}}, "no repair"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			recs := journal(t, join(c.before, c.bad)...)
			bad := recs[len(c.before)]
			check, ledger := turn.Check(), turn.NewLedger()
			for i := range recs[:len(c.before)] {
				if err := check.Next(&recs[i]); err != nil {
					t.Fatalf("before it: %v", err)
				}
				if err := ledger.Apply(&recs[i]); err != nil {
					t.Fatalf("before it: %v", err)
				}
			}
			err := check.Next(&bad)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("refused with %v, want %q", err, c.says)
			}
			if err := ledger.Apply(&bad); err == nil {
				t.Error("the fold takes what the checker refuses")
			}
			if len(c.before) == 0 {
				return
			}
			// The refused record has left nothing behind: the journal goes on.
			next := journal(t, join(c.before, []line{{p: event.GuardWake{}}})...)[len(c.before)]
			if err := check.Next(&next); err != nil {
				t.Errorf("after it: %v", err)
			}
			if err := ledger.Apply(&next); err != nil {
				t.Errorf("after it, the fold: %v", err)
			}
		})
	}
}

// Between turns nothing stands that opens or continues work of a turn; whatever
// belongs to the session may.
//
// proves LOG-04
func TestBetweenTurnsOnlyWhatOpensNoWorkStands(t *testing.T) {
	zero := map[event.Type]event.Payload{}
	for _, p := range []event.Payload{event.SessionOpened{}, event.SessionForked{}, event.LeaseTaken{}, event.InboxAccepted{}, event.InboxClaimed{},
		event.InboxEdited{}, event.InboxDropped{}, event.TurnStarted{}, event.TurnEnded{}, event.StepStarted{}, event.StepEnded{}, event.UserMessage{},
		event.ModelConfig{}, event.ModelRequest{}, event.AttemptFailed{}, event.Chunk{}, event.AssistantMessage{}, event.UsageCounted{},
		event.CallRequested{}, event.CallApproved{}, event.CallDenied{}, event.CallStarted{}, event.CallOutput{}, event.CallEnded{}, event.LateResult{},
		event.InnerStarted{}, event.InnerEnded{}, event.ApprovalAsked{}, event.ApprovalDecided{}, event.ApprovalVoided{}, event.HookInvoked{}, event.HookVerdict{}, event.ProcessStarted{},
		event.ProcessEnded{}, event.ProcessSurvived{}, event.TurnMarked{}, event.Rewound{From: 1}, event.CompactionStarted{}, event.CompactionSummary{},
		event.CompactionEnded{}, event.GuardVerdict{}, event.GuardWake{}, event.JobStarted{}, event.JobEnded{}, event.JobAdopted{}, event.JobKept{},
		event.SubAgentLinked{}, event.RepairBegun{}, event.RepairCommitted{}, event.TornSaved{}} {
		zero[p.Type()] = p
	}
	free := map[event.Type]bool{event.TypeSessionForked: true, event.TypeLeaseTaken: true, event.TypeInboxAccepted: true, event.TypeUsageCounted: true,
		event.TypeHookInvoked: true, event.TypeHookVerdict: true, event.TypeProcessStarted: true, event.TypeProcessEnded: true, event.TypeProcessSurvived: true,
		event.TypeRewound: true, event.TypeCompactionStarted: true, event.TypeGuardVerdict: true, event.TypeGuardWake: true, event.TypeJobStarted: true,
		event.TypeSubAgentLinked: true, event.TypeRepairBegun: true, event.TypeTornSaved: true, event.TypeTurnStarted: true}
	for _, k := range event.Types() {
		p, ok := zero[k.Type]
		if !ok {
			t.Errorf("%s is not looked at: add it to this test", k.Type)
			continue
		}
		at := line{p: p}
		if k.Type == event.TypeTurnStarted {
			at.turn = 1
		}
		before := opened
		if k.Type == event.TypeRewound { // it hides a turn that there was
			before = join(opened, inTurn, turnOver)
		}
		recs := journal(t, join(before, []line{at})...)
		c := turn.Check()
		var err error
		for i := range recs {
			err = c.Next(&recs[i])
		}
		if free[k.Type] != (err == nil) {
			t.Errorf("%s between turns: %v", k.Type, err)
		}
	}
}

// proves LOG-05
func TestATypeThatThisVersionDoesNotKnowIsCountedAndChangesNothing(t *testing.T) {
	plain := join(opened, waiting, inTurn, inStep, in(event.InboxClaimed{ID: "i_1"}), asked, spoke, stepOver, turnOver)
	news := func(at line) line {
		at.p = event.Unknown{Name: "mood/changed", Data: []byte(`{"to":"better"}`)}
		return at
	}
	var strange []line
	for _, l := range plain {
		strange = append(strange, l, news(line{turn: l.turn, step: l.step, call: "c9"}))
	}
	want, err := turn.Fold(journal(t, plain...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := turn.Fold(journal(t, strange...))
	if err != nil {
		t.Fatalf("a session with a newer type can't be read: %v", err)
	}
	if got.Unknown["mood/changed"] != len(plain) || len(got.Unknown) != 1 {
		t.Errorf("reported %v, want %d of one type", got.Unknown, len(plain))
	}
	same(t, want.History, got.History)
	first := journal(t, news(line{}))
	if err := turn.Check().Next(&first[0]); err == nil {
		t.Error("a journal begins with what nobody knows")
	}
}
