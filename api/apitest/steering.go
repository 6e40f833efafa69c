package apitest

import (
	"slices"
	"testing"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// offer submits text with a priority.
func (e env) offer(text string, p event.Priority, state string) api.Submitted {
	e.Helper()
	sub, err := e.svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: input(text), Priority: p})
	if err != nil || sub.Input == "" || sub.State != state {
		e.Fatalf("%s input answered %+v, %v: want it %s", p, sub, err, state)
	}
	return sub
}

// inbox is what waits.
func (e env) inbox() (texts []string, held []bool) {
	e.Helper()
	all, err := e.svc.Inbox(e.ctx, e.id)
	if err != nil || all == nil {
		e.Fatalf("inbox %+v, %v: want a list", all, err)
	}
	for _, w := range all {
		texts, held = append(texts, w.Input.Content.Text()), append(held, w.Held)
	}
	return texts, held
}

func (e env) waits(want ...string) {
	e.Helper()
	if got, _ := e.inbox(); !slices.Equal(got, want) {
		e.Fatalf("%q wait, want %q", got, want)
	}
}

func (e env) refused(what string, err error, want event.FailureCode) {
	e.Helper()
	if code(err) != want {
		e.Errorf("%s: %v, want code %s", what, err, want)
	}
}

func priorities(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	slow := e.submit(sc.Slow)
	e.started()
	e.offer("second", event.PriorityLater, "queued")
	e.offer("first", event.PriorityNext, "steering")
	e.waits("first", "second")
	if _, err := svc.ClearInbox(e.ctx, api.ClearRequest{Session: e.id, By: "me"}); err != nil { // else "first" steers what comes now
		t.Fatal(err)
	}
	now := e.offer(sc.Quick, event.PriorityNow, "interrupting")
	r := e.wait(slow.Input)
	if e.outcome(r, event.TurnAborted); r.Reason == nil || *r.Reason != "NOW_PRIORITY_INPUT" {
		t.Errorf("the stopped turn's reason is %v", r.Reason)
	}
	if r = e.wait(now.Input); *r.Turn < 2 {
		t.Errorf("turn %d", *r.Turn)
	}
	_, err := svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: input("x"), Priority: "soon"})
	e.refused("an unknown priority", err, event.FailUsage)
}

func inboxes(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	e.waits()
	slow := e.submit(sc.Slow)
	e.started()
	a := e.offer("a", event.PriorityLater, "queued")
	b := e.offer("b", event.PriorityLater, "queued")
	c := e.offer("c", event.PriorityLater, "queued")
	if err := svc.EditInput(e.ctx, api.EditRequest{Session: e.id, ID: b.Input, Input: input("b, in other words")}); err != nil {
		t.Fatal(err)
	}
	if err := svc.RemoveInput(e.ctx, api.RemoveRequest{Session: e.id, ID: a.Input, By: "me"}); err != nil {
		t.Fatal(err)
	}
	e.waits("b, in other words", "c")
	for what, err := range map[string]error{
		"editing what was removed": svc.EditInput(e.ctx, api.EditRequest{Session: e.id, ID: a.Input, Input: input("x")}),
		"removing it again":        svc.RemoveInput(e.ctx, api.RemoveRequest{Session: e.id, ID: a.Input, By: "me"}),
		"editing what runs":        svc.EditInput(e.ctx, api.EditRequest{Session: e.id, ID: slow.Input, Input: input("x")}),
		"removing what runs":       svc.RemoveInput(e.ctx, api.RemoveRequest{Session: e.id, ID: slow.Input, By: "me"}),
		"removing what never was":  svc.RemoveInput(e.ctx, api.RemoveRequest{Session: e.id, ID: "i_no", By: "me"}),
		"editing what never was":   svc.EditInput(e.ctx, api.EditRequest{Session: e.id, ID: "i_no", Input: input("x")}),
	} {
		e.refused(what, err, "stale")
	}
	e.refused("editing it away", svc.EditInput(e.ctx, api.EditRequest{Session: e.id, ID: c.Input}), event.FailUsage)
	_, err := svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: input("b and c"), Replaces: []event.InputID{b.Input, c.Input}})
	if err != nil {
		t.Fatal(err)
	}
	e.waits("b and c")
	if texts, err := svc.ClearInbox(e.ctx, api.ClearRequest{Session: e.id, By: "me"}); err != nil || !slices.Equal(texts, []string{"b and c"}) {
		t.Errorf("cleared %q, %v", texts, err)
	}
	e.waits()
	if texts, err := svc.ClearInbox(e.ctx, api.ClearRequest{Session: e.id, By: "me"}); err != nil || texts == nil || len(texts) > 0 {
		t.Errorf("cleared %q, %v: want an empty list", texts, err)
	}
	for f, err := range svc.Records(e.ctx, e.id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Record.Type != event.TypeInboxDropped {
			continue
		}
		body, err := f.Record.Body()
		if d, ok := body.(event.InboxDropped); !ok || err != nil || d.By != "me" && d.Why != event.DroppedReplaced {
			t.Errorf("of %s it is not written who took it back: %q, %v", d.ID, d.By, err)
		}
	}
	stop(e, slow)
}

func media(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	in := event.UserInput{Content: append(event.TextOf(sc.Quick), event.Image{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n"), Name: "a.png"})}
	sub, err := svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: in, Priority: event.PriorityNext})
	if err != nil || sub.State != "running" {
		t.Fatalf("a picture for an idle session: %+v, %v", sub, err)
	}
	e.wait(sub.Input)
	slow := e.submit(sc.Slow)
	e.startedAs(2)
	_, err = svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: in, Priority: event.PriorityNext})
	e.refused("a picture that steers", err, event.FailUnsupported)
	later, err := svc.Submit(e.ctx, api.SubmitRequest{Session: e.id, Input: in})
	if err != nil || later.State != "queued" {
		t.Fatalf("a picture for later: %+v, %v", later, err)
	}
	all, err := svc.Inbox(e.ctx, e.id)
	if err != nil || len(all) != 1 || len(all[0].Input.Content) != 2 {
		t.Fatalf("inbox %+v, %v: want the picture, too", all, err)
	}
	stop(e, slow)
}

func retries(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	_, err := svc.Retry(e.ctx, api.RetryRequest{Session: e.id})
	e.refused("a retry with nothing to retry", err, event.FailUsage)
	slow := e.submit(sc.Slow)
	e.started()
	_, err = svc.Retry(e.ctx, api.RetryRequest{Session: e.id})
	e.refused("a retry while a turn runs", err, event.FailUsage)
	stop(e, slow)
	if s, err := svc.Status(e.ctx, e.id); err != nil || !s.Retryable {
		t.Errorf("status %+v, %v: want it retryable", s, err)
	}
	again, err := svc.Retry(e.ctx, api.RetryRequest{Session: e.id, By: "somebody"})
	if err != nil || again.State != "running" || again.Input != slow.Input {
		t.Fatalf("retry answered %+v, %v: want input %s at work", again, err, slow.Input)
	}
	e.startedAs(2)
	stop(e, again)
	e.wait(e.submit(sc.Quick).Input)
	_, err = svc.Retry(e.ctx, api.RetryRequest{Session: e.id})
	e.refused("a retry behind a turn that completed", err, event.FailUsage)
}

func rewinds(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	_, err := svc.Rewind(e.ctx, api.RewindRequest{Session: e.id})
	e.refused("a rewind of nothing", err, event.FailUsage)
	e.wait(e.submit(sc.Quick).Input)
	second := e.submit(sc.Quick)
	e.wait(second.Input)
	_, err = svc.Rewind(e.ctx, api.RewindRequest{Session: e.id, Turn: 9})
	e.refused("a rewind to a turn that never was", err, event.FailUsage)
	back, err := svc.Rewind(e.ctx, api.RewindRequest{Session: e.id, Turn: 2, Restore: true})
	if err != nil || back.Turn != 2 || len(back.Returned) != 1 || back.Returned[0].ID != second.Input || !back.Returned[0].Held {
		t.Fatalf("rewind answered %+v, %v", back, err)
	}
	if texts, held := e.inbox(); !slices.Equal(texts, []string{sc.Quick}) || !held[0] {
		t.Errorf("%q wait, held %v", texts, held)
	}
	_, err = svc.Rewind(e.ctx, api.RewindRequest{Session: e.id, Turn: 2})
	e.refused("hiding a turn twice", err, event.FailUsage)
	if back, err = svc.Rewind(e.ctx, api.RewindRequest{Session: e.id, Turn: 1}); err != nil || back.Returned == nil || len(back.Returned) != 0 {
		t.Errorf("rewind answered %+v, %v: want an empty list", back, err)
	}
	slow := e.submit(sc.Slow)
	e.startedAs(3)
	_, err = svc.Rewind(e.ctx, api.RewindRequest{Session: e.id})
	e.refused("a rewind while a turn runs", err, event.FailUsage)
	stop(e, slow)
}

func compacts(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	_, err := svc.Compact(e.ctx, e.id)
	e.refused("a summary of nothing", err, event.FailUsage)
	e.wait(e.submit(sc.Quick).Input)
	sub, err := svc.Compact(e.ctx, e.id)
	if err != nil || sub.State != "running" || sub.Input == "" {
		t.Fatalf("compact answered %+v, %v", sub, err)
	}
	if sc.Summary {
		e.outcome(e.wait(sub.Input), event.TurnCompleted)
		_, err = svc.Retry(e.ctx, api.RetryRequest{Session: e.id})
		e.refused("a retry behind a summary", err, event.FailUsage)
	} else {
		stop(e, sub) // its script works on, as with any input that it does not know
	}
	e.wait(e.submit(sc.Quick).Input)
}

func forks(t *testing.T, svc api.Service, sc Script) {
	e := begin(t, svc, sc)
	e.wait(e.submit(sc.Quick).Input)
	_, err := svc.Fork(e.ctx, api.ForkRequest{Session: e.id, Turn: 9})
	if err == nil {
		t.Error("a fork at a turn that never was")
	}
	id, err := svc.Fork(e.ctx, api.ForkRequest{Session: e.id, Title: "a copy"})
	if code(err) == event.FailUnsupported || code(err) == "unsupported" {
		t.Skip("this service does not fork")
	}
	if err != nil || id == "" || id == e.id {
		t.Fatalf("fork answered %s, %v", id, err)
	}
	s, err := svc.Open(e.ctx, api.OpenRequest{ID: id, Cwd: sc.Cwd})
	if err != nil || s.Turn != 1 {
		t.Fatalf("the copy is %+v, %v: want one turn", s, err)
	}
	sub, err := svc.Submit(e.ctx, api.SubmitRequest{Session: id, Input: input(sc.Quick)})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := svc.Wait(e.ctx, id, sub.Input); err != nil || *r.Turn != 2 {
		t.Errorf("the copy's turn is %+v, %v", r, err)
	}
	if s, err := svc.Status(e.ctx, e.id); err != nil || s.Turn != 1 {
		t.Errorf("the first one is %+v, %v: want it as it was", s, err)
	}
}
