package apitest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

func quick(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	r := e.wait(e.submit(sc.Quick).Input)
	e.outcome(r, event.TurnCompleted)
	if r.Text != sc.Answer || r.Reason != nil || r.Error != nil || *r.Turn != 1 || r.Session == nil || *r.Session != e.id {
		t.Errorf("result %+v, want the text %q of turn 1", r, sc.Answer)
	}
	s, err := svc.Status(e.ctx, e.id)
	if err != nil || s.Running || s.Last == nil || s.Last.Text != sc.Answer {
		t.Errorf("status %+v, %v: want idle with the last result", s, err)
	}
}

func interrupts(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	sub := e.submit(sc.Slow)
	e.started()
	wrong, err := svc.Interrupt(e.ctx, api.InterruptRequest{Session: e.id, Turn: 99})
	if err != nil || wrong.Noop != "turn_mismatch" || wrong.State != "" {
		t.Fatalf("another turn's interrupt answered %+v, %v", wrong, err)
	}
	got, err := svc.Interrupt(e.ctx, api.InterruptRequest{Session: e.id, Input: sub.Input, Who: "somebody"})
	if err != nil || got.State != "stopping" || got.Noop != "" {
		t.Fatalf("interrupt answered %+v, %v", got, err)
	}
	r := e.wait(sub.Input)
	e.outcome(r, event.TurnAborted)
	if r.Reason == nil || *r.Reason != "USER_SIGINT" || r.Who != "somebody" {
		t.Errorf("reason %v by %q, want USER_SIGINT by somebody", r.Reason, r.Who)
	}
	e.outcome(e.wait(e.submit(sc.Quick).Input), event.TurnCompleted)
}

func idle(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	got, err := svc.Interrupt(e.ctx, api.InterruptRequest{Session: e.id})
	if err != nil || got.Noop != "idle" || got.State != "" {
		t.Fatalf("interrupt answered %+v, %v", got, err)
	}
	e.outcome(e.wait(e.submit(sc.Quick).Input), event.TurnCompleted)
}

func follows(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	var sub api.Submitted
	var next event.Seq
	var text []byte
	live := false
	for f, err := range svc.Follow(ctx, e.id, 0, true) {
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		if f.Live != nil {
			live = true
			continue
		}
		if f.Record == nil || f.Record.Seq != next {
			t.Fatalf("record %+v, want seq %d", f.Record, next)
		}
		if next == 0 { // whoever has read the first record misses no live frame of what comes after
			sub = e.submit(sc.Quick)
		}
		next++
		text = append(append(text, f.Line...), '\n')
		if f.Record.Type == event.TypeTurnEnded {
			break
		}
	}
	e.wait(sub.Input)
	if !live {
		t.Error("no live frame came")
	}
	var again []byte
	for f, err := range svc.Records(e.ctx, e.id, 0) {
		if err != nil {
			t.Fatalf("records: %v", err)
		}
		again = append(append(again, f.Line...), '\n')
	}
	if !bytes.HasPrefix(again, text) {
		t.Errorf("followed lines are not the journal's:\n%s\n%s", text, again)
	}
	tail := 0
	for f, err := range svc.Records(e.ctx, e.id, next-1) {
		if err != nil || (tail == 0 && f.Record.Seq != next-1) {
			t.Fatalf("from %d: %+v, %v", next-1, f.Record, err)
		}
		tail++
	}
	if tail == 0 {
		t.Error("reading from a seq gave nothing")
	}
}

func leaves(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	sub := e.submit(sc.Slow)
	for f, err := range svc.Follow(e.ctx, e.id, 0, true) {
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		if f.Record != nil && f.Record.Type == event.TypeModelRequest {
			break
		}
	}
	stillRunning(e)
	stop(e, sub)
}

func bounds(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	ctx, cancel := context.WithCancel(e.ctx)
	sub, err := svc.Submit(ctx, api.SubmitRequest{Session: e.id, Input: input(sc.Slow)})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := svc.Wait(ctx, e.id, sub.Input)
		waited <- err
	}()
	e.started()
	cancel()
	if err := <-waited; err == nil {
		t.Error("a wait that was given up returned a result")
	}
	stillRunning(e)
	stop(e, sub)
}

func stillRunning(e env) {
	e.Helper()
	s, err := e.svc.Status(e.ctx, e.id)
	if err != nil || !s.Running || s.Stopping || s.Turn != 1 {
		e.Fatalf("status %+v, %v: want turn 1 running", s, err)
	}
}

func stop(e env, sub api.Submitted) {
	e.Helper()
	if got, err := e.svc.Interrupt(e.ctx, api.InterruptRequest{Session: e.id}); err != nil || got.State != "stopping" {
		e.Fatalf("interrupt answered %+v, %v", got, err)
	}
	e.outcome(e.wait(sub.Input), event.TurnAborted)
}

func keys(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	req := api.SubmitRequest{Session: e.id, Input: input(sc.Quick), Key: "k1"}
	a, err := svc.Submit(e.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := svc.Submit(e.ctx, req)
	if err != nil || a.Input != b.Input {
		t.Fatalf("second submit: %+v, %v; want input %s", b, err, a.Input)
	}
	if r := e.wait(a.Input); *r.Turn != 1 {
		t.Errorf("turn %d, want 1", *r.Turn)
	}
	if s, err := svc.Status(e.ctx, e.id); err != nil || s.Turn != 1 || len(s.Held) != 0 {
		t.Errorf("status %+v, %v: want one turn and nothing waiting", s, err)
	}
}

func absent(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	no := event.SessionID("s_nosuchsession")
	checks := map[string]error{}
	_, checks["open"] = svc.Open(e.ctx, api.OpenRequest{ID: no, Cwd: sc.Cwd})
	_, checks["status"] = svc.Status(e.ctx, no)
	_, checks["submit"] = svc.Submit(e.ctx, api.SubmitRequest{Session: no, Input: input("x")})
	_, checks["verify"] = svc.Verify(e.ctx, no)
	checks["delete"] = svc.Delete(e.ctx, no)
	for _, err := range svc.Records(e.ctx, no, 0) {
		checks["records"] = err
	}
	for _, name := range []string{"open", "status", "submit", "verify", "delete", "records"} {
		if code(checks[name]) == "" {
			t.Errorf("%s of a session that does not exist: %v, want an *api.Error with a code", name, checks[name])
		}
	}
	err := svc.Decide(e.ctx, api.DecideRequest{Session: e.id, Approval: "a_no", Decision: event.Allow})
	if code(err) != "stale" {
		t.Errorf("a stale approval: %v, want code stale", err)
	}
	_, err = svc.Open(e.ctx, api.OpenRequest{Latest: true, Cwd: sc.Cwd + "/no/such/workspace"})
	if code(err) != event.FailUsage {
		t.Errorf("the newest session of a workspace without one: %v, want code usage", err)
	}
}

func holds(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	sub := e.submit(sc.Slow)
	e.started()
	if q := e.submit("later words"); q.State != "queued" {
		t.Errorf("input behind a running turn is %q", q.State)
	}
	if _, err := svc.Interrupt(e.ctx, api.InterruptRequest{Session: e.id, KeepInbox: true}); err != nil {
		t.Fatal(err)
	}
	r := e.wait(sub.Input)
	e.outcome(r, event.TurnAborted)
	if !slices.Equal(r.Held, []string{"later words"}) || len(r.DroppedUnrun) != 0 {
		t.Errorf("held %q, dropped %q: want the queued input held", r.Held, r.DroppedUnrun)
	}
}

func approves(t *testing.T, svc api.Service, sc Script) {
	if sc.Ask == "" {
		t.Skip("this service's script asks for nothing")
	}
	e := begin(t, svc, sc)
	sub := e.submit(sc.Ask)
	var asked event.ApprovalID
	for f, err := range svc.Follow(e.ctx, e.id, 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Record.Type != event.TypeApprovalAsked {
			continue
		}
		body, err := f.Record.Body()
		if err != nil {
			t.Fatal(err)
		}
		asked = body.(event.ApprovalAsked).ID
		break
	}
	req := api.DecideRequest{Session: e.id, Approval: asked, Decision: event.Allow, By: "somebody"}
	if err := svc.Decide(e.ctx, req); err != nil {
		t.Fatal(err)
	}
	e.outcome(e.wait(sub.Input), event.TurnCompleted)
	if err := svc.Decide(e.ctx, req); code(err) != "stale" {
		t.Errorf("deciding again: %v, want code stale", err)
	}
}

func lists(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	e.wait(e.submit(sc.Quick).Input)
	all, err := svc.Sessions(e.ctx)
	at := slices.IndexFunc(all, func(s api.SessionInfo) bool { return s.ID == e.id })
	if err != nil || at < 0 || all[at].Turns != 1 || all[at].Cwd != sc.Cwd {
		t.Fatalf("sessions %+v, %v: want %s with one turn", all, err, e.id)
	}
	v, err := svc.Verify(e.ctx, e.id)
	if err != nil || !v.OK || v.Records == 0 || v.Torn != nil || v.OpenTurn != nil {
		t.Errorf("verify %+v, %v", v, err)
	}
	jobs, err := svc.Jobs(e.ctx, e.id)
	if err != nil || len(jobs) != 0 {
		t.Errorf("jobs %+v, %v: want none", jobs, err)
	}
	if err := svc.Release(e.ctx, e.id); err != nil {
		t.Fatalf("release: %v", err)
	}
	if err := svc.Delete(e.ctx, e.id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	all, err = svc.Sessions(e.ctx)
	if err != nil || slices.ContainsFunc(all, func(s api.SessionInfo) bool { return s.ID == e.id }) {
		t.Errorf("the deleted session is still listed: %+v, %v", all, err)
	}
}
