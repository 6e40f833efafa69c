package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// hooks are one hook at each point, made of functions: a point without one has
// nothing set up.
type hooks struct {
	judge  map[gate.Point]func(ctx context.Context, m gate.Moment) gate.Verdict
	report map[gate.Point]func(ctx context.Context, m gate.Moment) string

	mu      sync.Mutex
	moments []gate.Moment
}

func (h *hooks) Any(p gate.Point, _ string) bool { return h.judge[p] != nil || h.report[p] != nil }

func (h *hooks) saw(m gate.Moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moments = append(h.moments, m)
}

func (h *hooks) Judge(ctx context.Context, m gate.Moment) (gate.Verdict, []gate.Ran) {
	h.saw(m)
	v := h.judge[m.Point](ctx, m)
	word := map[gate.Decision]string{gate.Allow: "allow", gate.Ask: "ask", gate.Block: "block"}[v.Decision]
	if ctx.Err() != nil {
		word = "no-answer"
	}
	return v, []gate.Ran{{Hook: v.By, Verdict: word, Why: v.Why}}
}

func (h *hooks) Report(ctx context.Context, m gate.Moment) []gate.Ran {
	h.saw(m)
	return []gate.Ran{{Hook: "mine", Verdict: h.report[m.Point](ctx, m)}}
}

func (h *hooks) points() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.moments {
		out = append(out, string(m.Point))
	}
	return out
}

func (h *hooks) at(p gate.Point) (out []gate.Moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.moments {
		if m.Point == p {
			out = append(out, m)
		}
	}
	return out
}

func gated(p gate.Point, f func(ctx context.Context, m gate.Moment) gate.Verdict) *hooks {
	return &hooks{judge: map[gate.Point]func(context.Context, gate.Moment) gate.Verdict{p: f}}
}

func vetoes(context.Context, gate.Moment) gate.Verdict {
	return gate.Verdict{Decision: gate.Block, By: "hook:mine", Why: "not today"}
}

// proves HOK-01, HOK-02, INT-42: whatever a turn-start hook says that is no
// allowance ends the turn before it asks anything, and is recorded
func TestATurnThatItsFirstHookDoesNotAllowAsksNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hook func(ctx context.Context, m gate.Moment) gate.Verdict
		by   string
	}{
		"a block": {vetoes, "hook:mine"},
		"an ask": {func(context.Context, gate.Moment) gate.Verdict {
			return gate.Verdict{Decision: gate.Ask, By: "hook:mine"}
		}, "hook:mine"},
		"a panic": {func(context.Context, gate.Moment) gate.Verdict { panic("oops") }, "gate:panic"},
		"nonsense": {func(context.Context, gate.Moment) gate.Verdict {
			return gate.Verdict{Decision: 77, By: "hook:mine"}
		}, "gate:error"},
	} {
		t.Run(name, func(t *testing.T) {
			h := gated(gate.TurnStart, c.hook)
			r := newRig(t, plan{hooks: h})
			sum := r.run("do it")
			if sum.Outcome != event.TurnBlocked || sum.Reason != c.by || r.model.count() != 0 {
				t.Errorf("%+v after %d requests", sum, r.model.count())
			}
			if m := h.at(gate.TurnStart); len(m) != 1 || m[0].Prompt != "do it" || m[0].Turn != 1 || m[0].Session != "s_1" {
				t.Errorf("told %+v", m)
			}
			verdicts := payloads[event.HookVerdict](t, r.records())
			if name == "a block" && (len(verdicts) != 1 || verdicts[0] != (event.HookVerdict{Hook: "hook:mine", On: "turn_start", Verdict: "block", Why: "not today"})) {
				t.Errorf("recorded %+v", verdicts)
			}
			r.holds()
		})
	}
}

// proves HOK-01: what allows a turn lets it go on, behind a durable turn/start
func TestATurnBeginsDurablyBeforeItsFirstHookAndAsksAfterIt(t *testing.T) {
	var r *rig
	h := gated(gate.TurnStart, func(context.Context, gate.Moment) gate.Verdict {
		if !r.durable("turn/start") || r.model.count() != 0 {
			t.Error("the hook runs before its turn is durable, or after its first request")
		}
		return gate.Verdict{Decision: gate.Allow, By: "hook:mine"}
	})
	r = newRig(t, plan{hooks: h})
	if sum := r.run("go"); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	types := r.types()
	if v, q := strings.Index(types, "hook/verdict turn 1"), strings.Index(types, "model/request"); v < 0 || v > q {
		t.Errorf("the verdict is not recorded before the request:\n%s", types)
	}
}

// A stop during a turn-start hook ends the turn aborted, whatever the hook says
// then; one that was there before keeps every hook from running.
//
// proves INT-43, INT-32, HOK-02, B040, B098
func TestAStopBeatsTheVerdictOfATurnStartHook(t *testing.T) {
	for _, after := range []gate.Decision{gate.Block, gate.Allow} {
		began := make(chan struct{})
		h := gated(gate.TurnStart, func(ctx context.Context, _ gate.Moment) gate.Verdict {
			close(began)
			<-ctx.Done()
			return gate.Verdict{Decision: after, By: "hook:mine"}
		})
		r := newRig(t, plan{hooks: h})
		id := r.submit("go")
		<-began
		r.stop(session.Address{Input: id})
		if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Who != "me" || r.model.count() != 0 {
			t.Errorf("%+v after %d requests", sum, r.model.count())
		}
		if v := payloads[event.HookVerdict](t, r.records()); len(v) != 1 || v[0].Verdict != "no-answer" {
			t.Errorf("recorded %+v", v)
		}
		r.holds()
	}
	h := gated(gate.TurnStart, vetoes)
	r := newRig(t, plan{hooks: h})
	caller, gone := context.WithCancel(r.ctx)
	gone()
	id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("go")}, Caller: caller})
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.ParentCancelled) {
		t.Errorf("%+v", sum)
	}
	if len(h.points()) != 0 || r.model.count() != 0 {
		t.Errorf("hooks %v, %d requests", h.points(), r.model.count())
	}
}

// proves HOK-01, HOK-02, INT-32: a pre-tool block is final for its call
// whatever the gate says, the turn goes on, and it is recorded
func TestAPreToolBlockIsFinalForItsCall(t *testing.T) {
	var ran atomic.Bool
	mine := deed("touch", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		ran.Store(true)
		return tool.Text("ok"), nil
	})
	h := gated(gate.PreTool, vetoes)
	r := newRig(t, plan{hooks: h, tools: []tool.Tool{mine}, talks: []talk{calls("c1", "touch"), says("fine")}})
	sum := r.run("go")
	if ran.Load() || sum.Outcome != event.TurnCompleted || sum.Calls[0].End.Outcome != event.CallWasDenied || !strings.Contains(sum.Calls[0].End.Content.Text(), "not today") {
		t.Errorf("ran %v, %+v", ran.Load(), sum)
	}
	v := payloads[event.HookVerdict](t, r.records())
	if len(v) != 1 || v[0].On != "pre_tool" || v[0].Verdict != "block" {
		t.Errorf("recorded %+v", v)
	}
	if m := h.at(gate.PreTool); m[0].Tool != "touch" || m[0].Call != "c1" || string(m[0].Args) != "{}" {
		t.Errorf("told %+v", m)
	}
	r.holds()
}

// proves HOK-01, HOK-04: where the gate asks, a permission hook may answer in a
// person's stead
func TestAPermissionHookAnswersInAPersonsStead(t *testing.T) {
	for _, d := range []gate.Decision{gate.Allow, gate.Block} {
		var ran atomic.Bool
		mine := deed("touch", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
			ran.Store(true)
			return tool.Text("ok"), nil
		})
		h := gated(gate.Permission, func(context.Context, gate.Moment) gate.Verdict { return gate.Verdict{Decision: d, By: "hook:mine"} })
		r := newRig(t, plan{hooks: h, gate: asks("touch"), tools: []tool.Tool{mine}, talks: []talk{calls("c1", "touch"), says("fine")}})
		sum := r.run("go")
		if ran.Load() != (d == gate.Allow) || sum.Outcome != event.TurnCompleted || strings.Contains(r.types(), "approval/asked") {
			t.Errorf("%v: ran %v, %+v\n%s", d, ran.Load(), sum, r.types())
		}
		r.holds()
	}
}

// proves HOK-02, INT-32, INT-42, B094: a stop during a pre-tool hook is no
// allowance, though the hook says so afterwards
func TestAStopDuringAPreToolHookLetsNothingRun(t *testing.T) {
	began := make(chan struct{})
	mine := deed("touch", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("it ran")
		return tool.Result{}, nil
	})
	h := gated(gate.PreTool, func(ctx context.Context, _ gate.Moment) gate.Verdict {
		close(began)
		<-ctx.Done()
		return gate.Verdict{Decision: gate.Allow, By: "hook:mine"}
	})
	r := newRig(t, plan{hooks: h, tools: []tool.Tool{mine}, talks: []talk{calls("c1", "touch")}})
	id := r.submit("go")
	<-began
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if sum.Outcome != event.TurnAborted || sum.Calls[0].End.Outcome != event.CallSkipped || sum.Calls[0].End.Content.Text() != turn.TextSkipped {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// proves HOK-03, INT-37, INT-41 (b), INT-44: reports see a living context
// whatever became of the turn or its caller, and the turn's end waits for them
func TestReportsOfATurnsEndAreAwaitedOnEveryWayOut(t *testing.T) {
	broken := func(context.Context, model.Request, func(event.Delta) bool) error {
		return fmt.Errorf("no such host")
	}
	for name, c := range map[string]struct {
		talk   talk
		stop   bool
		caller bool
		want   event.TurnOutcome
		points []string
	}{
		"an answer":                      {talk: says("fine"), want: event.TurnCompleted, points: []string{"turn_stop"}},
		"a stop":                         {talk: hangs("a"), stop: true, want: event.TurnAborted, points: []string{"interrupt", "turn_stop"}},
		"a caller that is gone":          {talk: hangs("a"), caller: true, want: event.TurnAborted, points: []string{"interrupt", "turn_stop"}},
		"an error with a living session": {talk: broken, want: event.TurnFailed, points: []string{"turn_stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			release, began := make(chan struct{}), make(chan struct{})
			look := func(ctx context.Context, m gate.Moment) string {
				if m.Point == gate.TurnStop {
					close(began)
				}
				<-release
				if ctx.Err() != nil {
					t.Errorf("%s runs on a dead context: %v", m.Point, context.Cause(ctx))
				}
				if r.written("turn/end") {
					t.Errorf("the turn's end is written before %s has ended", m.Point)
				}
				return "report"
			}
			h := &hooks{report: map[gate.Point]func(context.Context, gate.Moment) string{gate.Interrupted: look, gate.TurnStop: look}}
			r = newRig(t, plan{hooks: h, talks: []talk{c.talk}, turn: turn.Options{Attempts: 1}})
			caller, gone := context.WithCancel(r.ctx)
			defer gone()
			in := session.Input{Input: event.UserInput{Content: event.TextOf("go")}}
			if c.caller {
				in.Caller = caller
			}
			id, err := r.live.Submit(r.ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			if c.stop || c.caller {
				r.until("it streams", func() bool { return r.written(`"text":"a"`) })
			}
			switch {
			case c.stop:
				r.stop(session.Address{Input: id})
			case c.caller:
				gone()
			}
			if len(c.points) == 1 {
				<-began
			} else {
				r.until("the first report runs", func() bool { return len(h.points()) > 0 })
			}
			close(release)
			sum := r.wait(id)
			if sum.Outcome != c.want || !slices.Equal(h.points(), c.points) {
				t.Errorf("%+v, hooks %v", sum, h.points())
			}
			if m := h.at(gate.TurnStop)[0]; m.Outcome != c.want || m.Reason != sum.Reason {
				t.Errorf("told %+v", m)
			}
			if v := payloads[event.HookVerdict](t, r.records()); len(v) != len(c.points) {
				t.Errorf("recorded %+v", v)
			}
			r.holds()
		})
	}
}

// proves HOK-03: a post-tool report delays no step, and the turn's end waits
// for it; no answer is recorded as none
func TestAPostToolReportRunsBesideTheTurnAndIsAwaitedAtItsEnd(t *testing.T) {
	release := make(chan struct{})
	var r *rig
	h := &hooks{report: map[gate.Point]func(context.Context, gate.Moment) string{gate.PostTool: func(ctx context.Context, m gate.Moment) string {
		<-release
		if r.written("turn/end") || ctx.Err() != nil {
			t.Error("the turn's end did not wait")
		}
		return "no-answer"
	}}}
	mine := deed("touch", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ok"), nil })
	r = newRig(t, plan{hooks: h, tools: []tool.Tool{mine}, talks: []talk{calls("c1", "touch"), says("fine")}})
	id := r.submit("go")
	r.until("the next step is done", func() bool { return r.written(`"text":"fine"`) })
	close(release)
	if sum := r.wait(id); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	m := h.at(gate.PostTool)
	if len(m) != 1 || m[0].Call != "c1" || m[0].Step != 1 || m[0].Ended.Outcome != event.CallFinished || m[0].Ended.Content.Text() != "ok" {
		t.Errorf("told %+v", m)
	}
	if v := payloads[event.HookVerdict](t, r.records()); len(v) != 1 || v[0].Verdict != "no-answer" {
		t.Errorf("recorded %+v", v)
	}
	r.holds()
}

// proves HOK-01, HOK-03
func TestASessionTellsItsHooksOfItsStartAndItsEnd(t *testing.T) {
	say := func(ctx context.Context, m gate.Moment) string {
		if ctx.Err() != nil {
			t.Errorf("%s on a dead context", m.Point)
		}
		return "report"
	}
	h := &hooks{report: map[gate.Point]func(context.Context, gate.Moment) string{gate.SessionStart: say, gate.SessionEnd: say}}
	r := newRig(t, plan{hooks: h})
	r.run("go")
	r.close()
	if !slices.Equal(h.points(), []string{"session_start", "session_end"}) || h.at(gate.SessionStart)[0].Reason != "new" {
		t.Errorf("%+v", h.moments)
	}
	if v := payloads[event.HookVerdict](t, r.records()); len(v) != 2 {
		t.Errorf("recorded %+v", v)
	}
	r.reopen()
	r.until("it is told", func() bool { return len(h.points()) == 3 })
	if m := h.at(gate.SessionStart)[1]; m.Reason != "opened" {
		t.Errorf("told %+v", m)
	}
	r.holds()
}

// The hooks of the session's start have ended before those of its first turn
// begin and before anything is asked; a stop does not wait for them.
//
// proves HOK-01, INT-43, HOK-03
func TestTheSessionsStartComesBeforeItsFirstTurn(t *testing.T) {
	yes := func(context.Context, gate.Moment) gate.Verdict {
		return gate.Verdict{Decision: gate.Allow, By: "hook:mine"}
	}
	for name, judge := range map[string]map[gate.Point]func(context.Context, gate.Moment) gate.Verdict{"with a hook of turns": {gate.TurnStart: yes}, "without": {}} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			begun, on := make(chan struct{}), make(chan struct{})
			h := &hooks{judge: judge, report: map[gate.Point]func(context.Context, gate.Moment) string{gate.SessionStart: func(context.Context, gate.Moment) string {
				close(begun)
				<-on
				return "report"
			}}}
			r = newRig(t, plan{hooks: h})
			<-begun
			first := r.submit("one")
			r.until("the turn has begun", func() bool { return strings.Contains(r.types(), "turn/start") })
			r.stop(session.Address{Input: first})
			if sum := r.wait(first); sum.Outcome != event.TurnAborted {
				t.Errorf("%+v", sum)
			}
			second := r.submit("two")
			r.until("the second turn has begun", func() bool { return strings.Contains(r.types(), "turn/start turn 2") })
			_ = r.live.Remove(r.ctx, "i_none", "me") // it is answered behind whatever the driver had to do by then
			if r.model.count() != 0 || len(h.at(gate.TurnStart)) != 0 {
				t.Errorf("it goes ahead: %d requests, %v", r.model.count(), h.points())
			}
			close(on)
			if sum := r.wait(second); sum.Outcome != event.TurnCompleted || r.model.count() != 1 {
				t.Errorf("%+v", sum)
			}
			types := r.types()
			if v, q := strings.Index(types, "hook/verdict turn 0"), strings.Index(types, "model/request"); v < 0 || v > q {
				t.Errorf("the first request is before the session's start:\n%s", types)
			}
			r.holds()
		})
	}
}

// What is reported from beside the session's calls is recorded where it belongs
// and waited for: by its turn's end, and by the session's.
//
// proves HOK-01, HOK-03
func TestAReportFromBesideIsRecordedAndAwaited(t *testing.T) {
	on := make(chan struct{})
	h := &hooks{report: map[gate.Point]func(context.Context, gate.Moment) string{
		gate.SubAgentStop: func(ctx context.Context, m gate.Moment) string {
			<-on
			if ctx.Err() != nil {
				t.Error("it was cut")
			}
			return "report"
		},
		gate.SessionEnd: func(context.Context, gate.Moment) string { return "report" },
	}}
	var r *rig
	var beside sync.WaitGroup
	work := deed("work", interrupt.Cooperative, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		beside.Go(r.live.Reporting(gate.Moment{Point: gate.SubAgentStop, Turn: 1, Call: c.ID, Child: "s_child"}))
		<-tool.SignalOf(c).Done()
		return tool.Result{}, tool.SignalOf(c).Checkpoint()
	})
	r = newRig(t, plan{hooks: h, tools: []tool.Tool{work}, talks: []talk{calls("c1", "work"), says("fine")}})
	id := r.submit("go")
	r.until("it is told", func() bool { return len(h.at(gate.SubAgentStop)) == 1 })
	r.stop(session.Address{Input: id})
	r.until("the call has its end", func() bool { return strings.Contains(r.types(), "call/ended") })
	if strings.Contains(r.types(), "turn/end") {
		t.Error("the turn has ended before its report")
	}
	on <- struct{}{}
	r.wait(id)
	beside.Wait()
	beside.Go(r.live.Reporting(gate.Moment{Point: gate.SubAgentStop, Turn: 1, Call: "c1"})) // its turn is over
	r.until("it is told", func() bool { return len(h.at(gate.SubAgentStop)) == 2 })
	ended := make(chan struct{})
	go func() { r.close(); close(ended) }()
	r.until("it is being closed", func() bool {
		_, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("more")}})
		return err != nil
	})
	if len(h.at(gate.SessionEnd)) != 0 {
		t.Error("the session's end did not wait for a report")
	}
	close(on)
	<-ended
	beside.Wait()
	var places []string
	for _, rec := range r.records() {
		if rec.Type == event.TypeHookVerdict {
			v, err := rec.Body()
			if err != nil {
				t.Fatal(err)
			}
			places = append(places, fmt.Sprintf("%d%s %s", rec.Turn, rec.Call, v.(event.HookVerdict).On))
		}
	}
	if !slices.Equal(places, []string{"1c1 subagent_stop", "0 subagent_stop", "0 session_end"}) {
		t.Errorf("recorded at %v\n%s", places, r.types())
	}
	if m := h.at(gate.SubAgentStop)[0]; m.Session != "s_1" || m.Child != "s_child" {
		t.Errorf("told %+v", m)
	}
	r.holds()
}

// Where nothing is set up there is neither a record nor a wait.
//
// proves HOK-01
func TestNoSetUpHookLeavesNoTrace(t *testing.T) {
	r := newRig(t, plan{hooks: &hooks{}})
	if sum := r.run("go"); sum.Outcome != event.TurnCompleted || strings.Contains(r.types(), "hook/") {
		t.Errorf("%+v\n%s", sum, r.types())
	}
}
