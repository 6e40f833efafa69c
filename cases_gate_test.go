package ripcord_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
)

// asking has the gate ask a person about what needs approval.
func asking(c *ripcord.Config) { c.Gate = gate.Rules{} }

// question waits until a question is open.
func (b *bench) question() api.Approval {
	b.Helper()
	var q api.Approval
	b.until("a question is open", func() bool {
		st, err := b.rt.Status(b.ctx, b.id)
		if err != nil || len(st.Approvals) == 0 {
			return false
		}
		q = st.Approvals[0]
		return true
	})
	return q
}

func (b *bench) answer(q api.Approval, d event.Decision, why string) error {
	return b.rt.Decide(b.ctx, api.DecideRequest{Session: b.id, Approval: q.ID, Decision: d, By: "me", Why: why})
}

func (b *bench) decide(q api.Approval, d event.Decision, why string) {
	b.Helper()
	if err := b.answer(q, d, why); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) stale(q api.Approval) {
	b.Helper()
	var e *api.Error
	if err := b.answer(q, event.Allow, ""); !errors.As(err, &e) || e.Code != "stale" {
		b.Errorf("a late answer is answered with %v", err)
	}
}

// proves HOK-04, TOL-03, TRN-06, B095, B098
func TestAnApprovalIsAskedRecordedAndBoundToItsCall(t *testing.T) {
	two := answers(bash("c1", "echo one >>L")+bash("c2", "echo two >>L")+"finish tool", "text Done.\nfinish stop", "text Hello.\nfinish stop")
	t.Run("allowed and denied", func(t *testing.T) {
		b := newBench(t, two, withBash(t), asking)
		id := b.submit("go")
		q := b.question()
		if q.Call != "c1" || q.Tool != "bash" || !strings.Contains(q.Prompt, "echo one") {
			t.Errorf("asked %+v", q)
		}
		b.decide(q, event.Allow, "")
		b.until("the second question", func() bool { return b.question().Call == "c2" })
		b.stale(q)
		b.decide(b.question(), event.Deny, "not that")
		b.outcome(b.wait(id), event.TurnCompleted)
		if got := b.results(); got["c1"].Outcome != event.CallFinished || got["c2"].Outcome != event.CallWasDenied || !strings.Contains(got["c2"].Content.Text(), "denied by me: not that") {
			t.Errorf("%+v", got)
		}
		if n := b.recorded(event.TypeApprovalAsked); n != 2 || b.recorded(event.TypeApprovalDecided) != 2 || b.recorded(event.TypeApprovalVoided) != 0 {
			t.Errorf("recorded\n%s", b.types())
		}
		_ = b.lastRequest()
	})
	t.Run("void by a stop", func(t *testing.T) {
		b := newBench(t, two, withBash(t), asking)
		id := b.submit("go")
		q := b.question()
		began := time.Now()
		b.esc(id)
		res := b.wait(id)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		b.outcome(res, event.TurnAborted)
		b.stale(q)
		if n := b.recorded(event.TypeApprovalAsked); n != 1 || b.recorded(event.TypeApprovalVoided) != 1 || b.recorded(event.TypeCallStarted) != 0 {
			t.Errorf("recorded\n%s", b.types())
		}
		for id, e := range b.results() {
			if e.Outcome != event.CallSkipped || strings.Contains(e.Content.Text(), "denied") {
				t.Errorf("%s: %+v", id, e)
			}
		}
		if st, _ := b.rt.Status(b.ctx, b.id); len(st.Approvals) > 0 {
			t.Errorf("still asked: %+v", st.Approvals)
		}
	})
	t.Run("abort is an interrupt", func(t *testing.T) {
		b := newBench(t, two, withBash(t), asking)
		id := b.submit("go")
		b.decide(b.question(), event.Abort, "")
		res := b.wait(id)
		b.outcome(res, event.TurnAborted)
		if *res.Reason != string(interrupt.UserSIGINT) || res.Who != "me" || b.recorded(event.TypeCallStarted) > 0 {
			t.Errorf("%+v\n%s", res, b.types())
		}
	})
	t.Run("nobody to ask", func(t *testing.T) { // proves IFC-11
		b := newBench(t, two, withBash(t), func(c *ripcord.Config) { c.Gate = gate.Rules{Policy: gate.DenyAll} })
		res := b.run("go")
		b.outcome(res, event.TurnBlocked)
		if got := outcomes(res); got[0] != event.CallWasDenied || got[1] != event.CallSkipped || b.recorded(event.TypeProcessStarted) > 0 {
			t.Errorf("ends %v\n%s", got, b.types())
		}
	})
	t.Run("the process ends", func(t *testing.T) {
		b := newBench(t, two, withBash(t), asking)
		b.submit("go")
		q := b.question()
		b.again()
		b.stale(q)
		if n := len(b.server.Requests()); n != 1 {
			t.Errorf("%d requests: something was asked of the model by itself", n)
		}
		if l := b.fold(); l.Turn.End.Outcome != event.TurnAborted || l.Turn.End.Reason != string(interrupt.SystemShutdown) {
			t.Errorf("ended %+v", l.Turn.End)
		}
	})
}
