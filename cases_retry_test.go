package ripcord_test

import (
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
)

// A turn that failed is asked again with its own words, twice, with a restart in
// between: the request says them once, the journal links the attempts, and
// nothing of it was removed.
//
// proves INT-66, INT-69, INT-70, INT-75, INT-76, B134
func TestARetryAsksTheSameAgainAndSaysItOnce(t *testing.T) {
	b := newBench(t, "answer x 2\n  http 500\nanswer\n  text Done.\n  finish stop\n", func(c *ripcord.Config) { c.Limits.Attempts = 1 })
	id := b.submit("the question")
	b.outcome(b.wait(id), event.TurnFailed)
	old := b.journal()
	for i, want := range []event.TurnOutcome{event.TurnFailed, event.TurnCompleted} {
		if i == 1 {
			b.again()
		}
		sub, err := b.rt.Retry(b.ctx, api.RetryRequest{Session: b.id, By: "me"})
		if err != nil || sub.Input != id {
			t.Fatalf("%+v, %v", sub, err)
		}
		b.outcome(b.wait(sub.Input), want)
		if n := strings.Count(b.lastRequest(), "the question"); n != 1 {
			t.Errorf("the request says it %d times", n)
		}
		if !strings.HasPrefix(b.journal(), old) {
			t.Error("the journal was changed behind its end")
		}
		old = b.journal()
	}
	var links []int
	for _, rec := range b.records() {
		if p, _ := rec.Body(); rec.Type == event.TypeTurnStarted {
			s := p.(event.TurnStarted)
			if links = append(links, s.RetryOf); s.Input != id {
				t.Errorf("turn %d is of %s", rec.Turn, s.Input)
			}
		}
	}
	if len(links) != 3 || links[0] != 0 || links[1] != 1 || links[2] != 2 {
		t.Errorf("turns repeat %v", links)
	}
	if _, err := b.rt.Retry(b.ctx, api.RetryRequest{Session: b.id}); err == nil {
		t.Error("a turn that completed was retried")
	}
}

// What no provider counted is guessed and marked, cancelled turns count as any
// other, a death changes none of it, and a budget of the session refuses the
// turn that would go over it.
//
// proves TRN-06, TRN-11, B112, B114, B115
func TestCancelledTurnsCountAgainstTheSessionsBudget(t *testing.T) {
	b := newBench(t, "default\n  usage 380 20\n  text Nearly there.\n  hang\n", func(c *ripcord.Config) { c.Limits.Session = guard.Budget{Tokens: 1000} })
	for i := range 3 {
		id := b.submit("go")
		b.until("all is there", func() bool { return b.recorded(event.TypeChunk) > i })
		b.esc(id)
		res := b.wait(id)
		if b.outcome(res, event.TurnAborted); res.Usage == nil || res.Usage.Input == nil || *res.Usage.Input != 380 || *res.Usage.Output != 20 {
			t.Fatalf("turn %d: %+v", i+1, res.Usage)
		}
		if i == 1 {
			b = b.dies()
		}
	}
	res := b.run("one more")
	if b.outcome(res, event.TurnBudget); res.Reason == nil || *res.Reason != "session_tokens" || len(b.server.Requests()) != 3 {
		t.Errorf("%+v after %d requests", res, len(b.server.Requests()))
	}
	if u := b.fold().Usage; *u.Tokens.Input != 3*380 || *u.Tokens.Output != 60 {
		t.Errorf("the session's total is %+v", u)
	}
}

// proves TRN-06, B112: unknown is not zero
func TestWhatAStoppedAnswerUsedIsGuessedAndMarked(t *testing.T) {
	b := newBench(t, "answer\n  text "+strings.ReplaceAll(prose(600), "\n", " ")+"\n  hang\nanswer\n  text fine\n  usage 100 5\n  finish stop\n")
	id := b.submit("go")
	b.until("all is there", func() bool { return b.recorded(event.TypeChunk) > 0 })
	b.esc(id)
	res := b.wait(id)
	if u := res.Usage; u == nil || u.Input != nil || u.Output != nil || u.Complete || u.Estimated == nil || u.Estimated.Input == nil || *u.Estimated.Input <= 0 || u.Estimated.Output == nil || *u.Estimated.Output < 50 {
		t.Fatalf("%+v", res.Usage)
	}
	guessed := *res.Usage.Estimated.Input + *res.Usage.Estimated.Output
	next := b.dies()
	if u := next.fold().Usage; u.All() != guessed {
		t.Errorf("the session's total is %d, the turn's %d", u.All(), guessed)
	}
	next.outcome(next.run("go on"), event.TurnCompleted)
	if u := next.fold().Usage; u.All() != guessed+105 || *u.Tokens.Input != 100 {
		t.Errorf("the session's total is %+v", u)
	}
}
