package gate_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
)

// fact is a record's payload and where it stands.
type fact struct {
	turn int
	call event.CallID
	p    event.Payload
}

func recordsOf(t *testing.T, facts []fact) iter.Seq2[event.Record, error] {
	t.Helper()
	return func(yield func(event.Record, error) bool) {
		for _, f := range facts {
			rec, err := event.New(f.p, time.Unix(0, 0))
			rec.Turn, rec.Call = f.turn, f.call
			if !yield(rec, err) {
				return
			}
		}
	}
}

func accepted(id event.InputID, mode string) fact {
	p := event.InboxAccepted{ID: id}
	if mode != "" {
		p.Options.Attributes = map[string]json.RawMessage{gate.ModeAttribute: json.RawMessage(`"` + mode + `"`)}
	}
	return fact{p: p}
}

func started(n int) fact { return fact{turn: n, p: event.TurnStarted{}} }
func over(n int) fact    { return fact{turn: n, p: event.TurnEnded{}} }

// exit is a call of exit_plan that ended.
func exit(n int, name string, ok *bool, synthetic bool) []fact {
	return []fact{{n, "c", event.CallRequested{Name: name}},
		{n, "c", event.CallEnded{Outcome: event.CallFinished, Success: ok, Synthetic: synthetic}}}
}

// proves TOL-27, LOG-06: the mode is a fold over the journal, so that it
// survives a crash; only an approval whose end is recorded ends it.
func TestPlanModeIsAFoldOverTheJournal(t *testing.T) {
	yes, no := new(bool), new(bool)
	*yes = true
	plan := accepted("i1", gate.ModePlan)
	for name, c := range map[string]struct {
		facts [][]fact
		now   bool // the open turn, number 1, is held
		next  bool
	}{
		"nothing said":                   {[][]fact{{accepted("i1", ""), started(1)}}, false, false},
		"plan":                           {[][]fact{{plan, started(1)}}, true, true},
		"a word that is no mode":         {[][]fact{{accepted("i1", "Plan"), started(1)}}, false, false},
		"plan while a turn runs":         {[][]fact{{started(1), plan}}, true, true},
		"act while a turn runs":          {[][]fact{{plan, started(1), accepted("i2", gate.ModeAct)}}, true, false},
		"act between turns":              {[][]fact{{plan, started(0), over(0), accepted("i2", gate.ModeAct), started(1)}}, false, false},
		"approved":                       {[][]fact{{plan, started(1)}, exit(1, "exit_plan", yes, false)}, false, false},
		"approved from a script":         {[][]fact{{plan, started(1), {1, "c", event.InnerEnded{Tool: "exit_plan", Ended: event.CallEnded{Success: yes}}}}}, false, false},
		"not approved":                   {[][]fact{{plan, started(1)}, exit(1, "exit_plan", no, false)}, true, true},
		"approved, and the end was lost": {[][]fact{{plan, started(1)}, exit(1, "exit_plan", nil, true), {over(1)}}, true, true},
		"another tool's success":         {[][]fact{{plan, started(1)}, exit(1, "read", yes, false)}, true, true},
		"an approval that was rewound":   {[][]fact{{plan, started(1)}, exit(1, "exit_plan", yes, false), {over(1), {p: event.Rewound{From: 1}}}}, true, true},
		"an approval before the rewound": {[][]fact{{plan, started(1)}, exit(1, "exit_plan", yes, false), {over(1), {p: event.Rewound{From: 2}}}}, false, false},
		"a refused input":                {[][]fact{{plan, accepted("i2", gate.ModeAct), {p: event.InboxDropped{ID: "i2", Why: event.DroppedRefused}}, started(1)}}, true, true},
		"a word taken back by a person":  {[][]fact{{plan, {p: event.InboxDropped{ID: "i1", Why: "removed"}}, started(1)}}, true, true},
	} {
		var all []fact
		for _, f := range c.facts {
			all = append(all, f...)
		}
		var p gate.Plans
		if err := p.Load("s", recordsOf(t, all)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		next, err := gate.Planned(recordsOf(t, all))
		if p.On("s", 1) != c.now || p.On("s", 2) != c.next || next != c.next || err != nil {
			t.Errorf("%s: now %v, next %v and %v, %v", name, p.On("s", 1), p.On("s", 2), next, err)
		}
	}
}

// proves TOL-27, law 7: a journal that can't be read permits nothing.
func TestAnUnreadableJournalLeavesPlanModeOn(t *testing.T) {
	var p gate.Plans
	broken := func(yield func(event.Record, error) bool) { yield(event.Record{}, errors.New("damaged")) }
	if err := p.Load("s", broken); err == nil || !p.On("s", 1) {
		t.Errorf("%v, on %v", err, p.On("s", 1))
	}
}

// proves TOL-27: what follows a live session agrees with the fold.
func TestTheModeOfALiveSessionFollowsWhatIsSaid(t *testing.T) {
	var p gate.Plans
	on := func() [2]bool { return [2]bool{p.On("s", 4), p.On("s", 5)} }
	for i, c := range []struct {
		do   func()
		want [2]bool
	}{
		{func() {}, [2]bool{false, false}},
		{func() { p.Act("s", 4) }, [2]bool{false, false}},
		{func() { p.Enter("s") }, [2]bool{true, true}},
		{func() { p.Act("s", 4) }, [2]bool{true, false}},
		{func() { p.Enter("s"); p.Act("s", 0) }, [2]bool{false, false}},
		{func() { p.Enter("s"); p.Leave("s") }, [2]bool{false, false}},
		{func() { p.Enter("s"); p.Enter("other"); p.Forget("s") }, [2]bool{false, false}},
	} {
		if c.do(); on() != c.want {
			t.Errorf("%d: %v", i, on())
		}
	}
}

// proves TOL-27: in plan mode only what changes nothing runs; what may pass is
// still judged by the gate behind.
func TestPlanModeRefusesWhateverChangesSomething(t *testing.T) {
	var p gate.Plans
	p.Enter("s")
	outside := tool.Spec{Name: "read", Effect: tool.Pure, Asks: asking}
	for _, c := range []struct {
		session event.SessionID
		spec    tool.Spec
		by      string
	}{
		{"s", tool.Spec{Name: "read", Effect: tool.Pure}, "rule:read-only"},
		{"s", tool.Spec{Name: "write", Effect: tool.Idempotent}, "mode:plan"},
		{"s", tool.Spec{Name: "bash"}, "mode:plan"},
		{"s", tool.Spec{Name: "exit_plan", Effect: tool.Idempotent}, "rule:no-approval-needed"},
		{"s", tool.Spec{Name: "todo"}, "rule:no-approval-needed"},
		{"s", outside, "policy:headless"},
		{"other", tool.Spec{Name: "bash"}, "rule:no-approval-needed"},
	} {
		g := gate.PlanMode(gate.Rules{Policy: gate.DenyAll}, &p, "todo")
		v, err := gate.Closed(g).Judge(t.Context(), &tool.Call{Name: c.spec.Name, Session: c.session, Turn: 1}, c.spec)
		if err != nil || v.By != c.by || c.by == "mode:plan" && (v.Decision != gate.Block || v.Final || !strings.Contains(v.Why, "exit_plan")) {
			t.Errorf("%s in %s: %+v %v", c.spec.Name, c.session, v, err)
		}
	}
	if v, _ := gate.PlanMode(nil, &gate.Plans{}).Judge(t.Context(), &tool.Call{}, tool.Spec{}); v.Decision != gate.Block {
		t.Errorf("%+v", v)
	}
}
