package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/inbox"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// offer submits text with a priority.
func (r *rig) offer(text string, p event.Priority) turn.Taken {
	r.Helper()
	taken, err := r.live.Offer(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf(text)}, Priority: p})
	if err != nil {
		r.Fatal(err)
	}
	return taken
}

// said is how often the history has text, over all its messages.
func said(history []event.Message, text string) (n int) {
	for _, m := range history {
		n += strings.Count(m.Content.Text(), text)
	}
	return n
}

func answersTool(req model.Request) bool {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		switch req.Messages[i].Role {
		case event.RoleTool:
			return true
		case event.RoleAssistant:
			return false
		case event.RoleUser: // what steers stands behind the results
		}
	}
	return false
}

// What people say while a tool runs stands behind its result in the next
// request, in their order, and an interrupt that names one of these inputs stops
// the turn that they entered, not before they did.
//
// proves TRN-13, TRN-15, TRN-16, INT-37, B048
func TestWordsThatSteerEnterBehindTheResultsAndAddressTheirTurn(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var second model.Request
	r := newRig(t, plan{tools: []tool.Tool{deed("t", interrupt.ContextInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		close(began)
		<-goOn
		return tool.Text("the result"), nil
	})}, talks: []talk{calls("c1", "t"), func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		second = req
		return hangs("so ")(ctx, req, say)
	}, says("fine")}})
	first := r.submit("go")
	<-began
	one, two := r.offer("first word", event.PriorityNext), r.offer("second word", event.PriorityNext)
	if one.Where != turn.Steering || two.Where != turn.Steering {
		t.Errorf("taken %+v, %+v", one, two)
	}
	if s := r.stop(session.Address{Input: two.ID}); s != session.StopMismatch {
		t.Errorf("an input that waits stops the turn before it: %v", s)
	}
	close(goOn)
	r.until("it answers", func() bool {
		return r.written(`"so "`) || r.model.count() == 2 && r.live.Status().Running && r.claimed(two.ID)
	})
	if s := r.stop(session.Address{Input: two.ID}); s != session.Stopping {
		t.Errorf("an input in the turn does not stop it: %v", s)
	}
	for _, id := range []event.InputID{first, one.ID, two.ID} {
		if sum := r.wait(id); sum.Turn != 1 || sum.Outcome != event.TurnAborted {
			t.Errorf("%s: %+v", id, sum)
		}
	}
	m := second.Messages
	if len(m) != 5 || m[2].Role != event.RoleTool || !strings.Contains(m[3].Content.Text(), "first word") || !strings.Contains(m[4].Content.Text(), "second word") {
		t.Fatalf("asked with %+v", m)
	}
	for _, w := range m[3:] {
		if !strings.HasPrefix(w.Content.Text(), "<system-reminder>") {
			t.Errorf("not wrapped: %q", w.Content.Text())
		}
	}
	if sum := r.run("and now"); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

func (r *rig) claimed(id event.InputID) bool {
	return r.written(`"inbox/claimed"`) && r.live.Runs(id)
}

// A NOW from another goroutine, wherever the turn is: the turn that it stops is
// closed first, the text is in the history once, and nothing else is lost.
//
// proves TRN-13, TRN-14, TRN-16, INT-25, B044, B048
func TestANowIsSaidOnceWhereverItComes(t *testing.T) {
	var n atomic.Int64
	r := newRig(t, plan{tools: []tool.Tool{deed("t", interrupt.ContextInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		jitter(ctx, 200*time.Microsecond)
		return tool.Text("ok"), nil
	})}, talks: []talk{func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		i := n.Add(1)
		if !answersTool(req) && i%2 == 0 {
			return calls(fmt.Sprintf("c%d", i), "t")(ctx, req, say)
		}
		jitter(ctx, 200*time.Microsecond)
		return says("fine")(ctx, req, say)
	}}})
	seen, stopped := map[turn.Where]int{}, 0
	for i := range rounds() / 10 {
		now := fmt.Sprintf("now <%d>", i)
		first, steers := r.submit("work"), make(chan turn.Taken, 1)
		var w sync.WaitGroup
		w.Go(func() { steers <- r.offer(fmt.Sprintf("steer <%d>", i), event.PriorityNext) })
		jitter(r.ctx, 500*time.Microsecond)
		taken := r.offer(now, event.PriorityNow)
		seen[taken.Where]++
		w.Wait()
		one, two := r.wait(first), r.wait(taken.ID)
		r.wait((<-steers).ID)
		if taken.Where == turn.Interrupting && one.Outcome == event.TurnAborted {
			stopped++
			if two.Turn <= one.Turn || one.Reason != string(interrupt.NowPriorityInput) {
				t.Fatalf("round %d: %+v then %+v", i, one, two)
			}
		}
		if two.Outcome != event.TurnCompleted {
			t.Fatalf("round %d: %+v", i, two)
		}
	}
	l := r.holds()
	for i := range rounds() / 10 {
		if said(l.History, fmt.Sprintf("now <%d>", i)) != 1 || said(l.History, fmt.Sprintf("steer <%d>", i)) != 1 {
			t.Fatalf("round %d is said %d and %d times", i, said(l.History, fmt.Sprintf("now <%d>", i)), said(l.History, fmt.Sprintf("steer <%d>", i)))
		}
	}
	if t.Logf("taken %v, %d stopped a turn", seen, stopped); stopped == 0 || l.Box.Len() != 0 {
		t.Errorf("%d wait, %d turns were stopped", l.Box.Len(), stopped)
	}
}

// A model that ignores that a guard ended its attempt is cut off behind the
// grace, named until it is back, and what it says then reaches nobody.
//
// proves GRD-01, INT-46, TOL-10, TRN-04
func TestAModelThatIgnoresAGuardIsCutOffAndNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, back := make(chan struct{}), make(chan struct{})
		r := newRig(t, plan{turn: turn.Options{Grace: 5 * time.Millisecond, Guards: turn.Guards{Stall: guard.StallLimits{First: time.Minute, Idle: 10 * time.Millisecond}}},
			talks: []talk{func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
				say(event.TextDelta{Text: "half"})
				defer close(back)
				<-release // deaf
				_ = say(event.TextDelta{Text: "late words"}) && say(event.Finish{Reason: event.FinishStop})
				return nil
			}, says("whole")}})
		sum := r.run("go")
		if sum.Outcome != event.TurnCompleted || sum.Text != "whole" {
			t.Errorf("%+v", sum)
		}
		if named := r.live.Status().Unwinding; len(named) != 1 || !strings.Contains(named[0], "model") {
			t.Errorf("named %q", named)
		}
		close(release)
		<-back
		r.until("nothing is named", func() bool { return len(r.live.Status().Unwinding) == 0 })
		if r.written("late words") {
			t.Error("what came late is in the journal")
		}
		failed := payloads[event.AttemptFailed](t, r.records())
		if len(failed) != 1 || failed[0].Error.Code != event.FailStall {
			t.Errorf("failed attempts %+v", failed)
		}
		r.holds()
	})
}

// summarizer answers a request for a summary with sum, every other with text.
func summarizer(sum talk) talk {
	return func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Content.Text() == turn.TextSummarize {
			return sum(ctx, req, say)
		}
		return says("fine")(ctx, req, say)
	}
}

func contextOf(l *turn.Ledger) string {
	var b strings.Builder
	for _, m := range l.History {
		fmt.Fprintf(&b, "%s %s\n", m.Role, m.Content.Text())
	}
	return b.String()
}

var errSummary = errors.New("no summary today")

// However a summary is cut short, the context is what it was, what waits is held
// or runs, and another one works.
//
// proves TRN-12, INT-36, B117, B118, B119
func TestASummaryThatIsCutShortLeavesTheContextAlone(t *testing.T) {
	for name, c := range map[string]struct {
		sum  talk
		act  func(r *rig, id event.InputID)
		want event.TurnOutcome
	}{
		"a stop before a word": {hangs(""), func(r *rig, id event.InputID) { r.stop(session.Address{Input: id}) }, event.TurnAborted},
		"a stop in the middle": {hangs("half a summary"), func(r *rig, id event.InputID) { r.stop(session.Address{Input: id}) }, event.TurnAborted},
		"a NOW":                {hangs("half"), func(r *rig, _ event.InputID) { r.wait(r.offer("now this", event.PriorityNow).ID) }, event.TurnAborted},
		"a failure in the end": {func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
			say(event.TextDelta{Text: "nearly"})
			return errSummary
		}, nil, event.TurnFailed},
		"an end without a word": {func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
			say(event.TextDelta{Text: "nearly"})
			return nil
		}, nil, event.TurnFailed},
	} {
		t.Run(name, func(t *testing.T) {
			bad := atomic.Bool{}
			bad.Store(true)
			r := newRig(t, plan{talks: []talk{summarizer(func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
				if bad.Load() {
					return c.sum(ctx, req, say)
				}
				return says("all of it")(ctx, req, say)
			})}})
			r.run("remember <1>")
			r.run("remember <2>")
			before := contextOf(r.holds())
			id, err := r.live.Compact(r.ctx, "me")
			if err != nil {
				t.Fatal(err)
			}
			r.until("it is asked", func() bool { return r.model.count() == 3 })
			waiting := r.offer("later words", event.PriorityLater)
			if c.act != nil {
				c.act(r, id)
			}
			if sum := r.wait(id); sum.Outcome != c.want {
				t.Errorf("%+v", sum)
			}
			bad.Store(false)
			if c.act != nil && name != "a NOW" {
				if w, held := r.live.Waiting(); len(w) != 1 || !held[waiting.ID] {
					t.Errorf("waiting %+v", w)
				}
			}
			if _, held := r.live.Waiting(); held[waiting.ID] {
				if _, err := r.live.Continue(r.ctx, "me", true); err != nil {
					t.Fatal(err)
				}
			}
			r.wait(waiting.ID)
			l := r.holds()
			if got := contextOf(l); !strings.HasPrefix(got, before) || said(l.History, "later words") != 1 || strings.Contains(got, "summary") {
				t.Errorf("the context was\n%s\nand is\n%s", before, got)
			}
			if id, err = r.live.Compact(r.ctx, "me"); err != nil {
				t.Fatal(err)
			}
			if sum := r.wait(id); sum.Outcome != event.TurnCompleted {
				t.Fatalf("%+v", sum)
			}
			if l := r.holds(); said(l.History, "all of it") != 1 || said(l.History, "remember") != 0 {
				t.Errorf("behind the summary:\n%s", contextOf(l))
			}
		})
	}
}

// A summary whose model ignores the stop is cut off behind the grace, named, and
// never installed, however whole it comes.
//
// proves TRN-12, TRN-04, INT-46
func TestALateSummaryIsNeverInstalled(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, plan{turn: turn.Options{Grace: 5 * time.Millisecond}, talks: []talk{summarizer(func(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
		close(asked)
		<-release
		return says("much too late")(ctx, req, say)
	})}})
	r.run("remember")
	before := contextOf(r.holds())
	id, err := r.live.Compact(r.ctx, "me")
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	r.stop(session.Address{Input: id})
	if sum := r.wait(id); sum.Outcome != event.TurnAborted {
		t.Errorf("%+v", sum)
	}
	if len(r.live.Status().Unwinding) != 1 {
		t.Errorf("named %q", r.live.Status().Unwinding)
	}
	close(release)
	r.until("nothing is named", func() bool { return len(r.live.Status().Unwinding) == 0 })
	if got := contextOf(r.holds()); !strings.HasPrefix(got, before) || r.written("much too late") {
		t.Errorf("the context is\n%s", got)
	}
}

// Looking at the inbox and adding to it stays cheap when ten thousand inputs
// wait.
//
// proves TRN-13
func TestAnInboxOfTenThousandIsNotCopiedAtEachStep(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("busy")}})
	id := r.submit("go")
	r.until("it runs", func() bool { return r.live.Status().Running })
	n := 10_000
	if detected || testing.Short() {
		n = 1000
	}
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	for i := range n {
		r.offer(fmt.Sprintf("later <%d>", i), event.PriorityLater)
	}
	if each := (allocated() - before) / uint64(n); each > 50*uint64(n) { // an entry is some hundreds of bytes
		t.Errorf("%d bytes are allocated to add one of %d", each, n)
	}
	r.stop(session.Address{Input: id})
	r.wait(id)
	w, held := r.live.Waiting()
	if len(w) != n || len(held) != n || !slices.IsSortedFunc(w, func(a, b inbox.Entry) int { return int(a.Seq - b.Seq) }) {
		t.Errorf("%d wait, %d held", len(w), len(held))
	}
}

// Whoever was told that an input was accepted, changed or taken back sees it so.
//
// proves TRN-13
func TestWhoChangedTheInboxSeesItAtOnce(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("busy")}})
	id := r.submit("go")
	for i := range 8 * rounds() {
		taken := r.offer("later", event.PriorityLater)
		if w, _ := r.live.Waiting(); len(w) != 1 || w[0].ID != taken.ID {
			t.Fatalf("round %d: %s was accepted, %+v wait", i, taken.ID, w)
		}
		if err := r.live.Remove(r.ctx, taken.ID, "me"); err != nil {
			t.Fatal(err)
		}
		if w, _ := r.live.Waiting(); len(w) != 0 {
			t.Fatalf("round %d: %s was taken back, %+v wait", i, taken.ID, w)
		}
	}
	r.stop(session.Address{Input: id})
	r.wait(id)
}

// proves TRN-14, B047: who stops a turn and wants nothing of what waits is told
// by the turn's own end that it was dropped, however fast that comes
func TestWhatIsDroppedWithAStopIsInTheTurnsEnd(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half"), says("fine")}})
	id := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	for _, text := range []string{"second", "third"} {
		r.submit(text)
	}
	if s, err := r.live.InterruptAndClear(r.ctx, session.Address{Input: id}, byMe(), false); err != nil || s != session.Stopping {
		t.Fatal(s, err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || !slices.Equal(sum.Dropped, []string{"second", "third"}) || len(sum.Held) > 0 {
		t.Errorf("%s, dropped %q, held %q", sum.Outcome, sum.Dropped, sum.Held)
	}
	if sum := r.run("fourth"); sum.Outcome != event.TurnCompleted || sum.Turn != 2 {
		t.Errorf("%+v", sum)
	}
	if s, err := r.live.InterruptAndClear(r.ctx, session.Address{}, byMe(), false); err != nil || s != session.StopIdle {
		t.Error(s, err)
	}
	r.holds()
}

// proves TRN-12, IFC-13: a summary that came to another end than its own is told
// as what it was
func TestASummaryOfAnotherEndIsToldAsWhatItWas(t *testing.T) {
	for end, words := range map[event.FinishReason]string{event.FinishTools: "called a tool", event.FinishLength: "limit", event.FinishFilter: "withheld", "": "stream ended"} {
		r := newRig(t, plan{talks: []talk{summarizer(func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
			_ = say(event.TextDelta{Text: "nearly"}) && end != "" && say(event.Finish{Reason: end})
			return nil
		})}})
		r.run("remember")
		id, err := r.live.Compact(r.ctx, "me")
		if err != nil {
			t.Fatal(err)
		}
		if sum := r.wait(id); sum.Outcome != event.TurnFailed || sum.Error == nil || !strings.Contains(sum.Error.Message, words) {
			t.Errorf("%q: %s %+v", end, sum.Outcome, sum.Error)
		}
	}
}
