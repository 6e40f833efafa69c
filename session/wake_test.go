package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// halts streams a long argument and goes silent inside it; it says when.
func halts(at *atomic.Pointer[time.Time]) talk {
	return func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
		var text strings.Builder
		for i := 0; text.Len() < 17_000; i++ {
			fmt.Fprintf(&text, "line %d holds the number %d; ", i, i*i*7919)
		}
		_ = say(event.CallStart{Block: 0, ID: "c1", Name: "write"}) && say(event.ArgsDelta{Block: 0, Text: `{"text":"` + text.String()})
		now := time.Now()
		at.Store(&now)
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// A person's word or stop just before, at, during and just behind the end of a
// turn that stalled: the notice is given at most once, within a second of the
// end, and never over a stop that came first.
//
// proves GRD-02, GRD-03, TRN-17
func TestANoticeIsGivenOnceWhateverComesAtTheStallsEnd(t *testing.T) {
	const idle, hook = 15 * time.Second, 200 * time.Millisecond
	woken := map[bool]int{}
	for _, off := range []time.Duration{-time.Second, -time.Millisecond, 0, time.Millisecond, hook / 2, hook, hook + time.Millisecond, hook + 3*time.Millisecond, 400 * time.Millisecond} {
		for _, what := range []string{"nothing", "later", "next", "now", "stop"} {
			name := fmt.Sprintf("%s at %v", what, off)
			synctest.Test(t, func(t *testing.T) {
				var silent atomic.Pointer[time.Time]
				h := &hooks{report: map[gate.Point]func(context.Context, gate.Moment) string{gate.TurnStop: func(ctx context.Context, m gate.Moment) string {
					if m.Turn == 1 {
						pause(ctx, hook) // the turn converges
					}
					return "done"
				}}}
				r := newRig(t, plan{hooks: h, store: mem.Options{Delay: time.Millisecond}, talks: []talk{halts(&silent), says("in pieces, then")},
					turn: turn.Options{Guards: turn.Guards{Stall: guard.StallLimits{First: 90 * time.Second, Idle: idle}}}})
				first := r.submit("write it")
				pause(r.ctx, time.Second)
				pause(r.ctx, time.Until(silent.Load().Add(idle+off)))
				stopped := session.StopIdle
				switch what {
				case "later", "next", "now":
					r.offer("a person's word", event.Priority(what))
				case "stop":
					stopped = r.stop(session.Address{Input: first})
				}
				pause(r.ctx, time.Minute)
				one := r.wait(first)
				l := r.holds()
				wakes := payloads[event.GuardWake](t, r.records())
				woken[len(wakes) > 0]++
				n, waits := said(l.History, "Change the strategy"), 0
				for _, e := range l.Box.Waiting() {
					waits += strings.Count(e.Input.Content.Text(), "Change the strategy")
				}
				if n+waits != len(wakes) || n > 1 {
					t.Errorf("%s: %d wakes and the notice is said %d times, %d wait", name, len(wakes), n, waits)
				}
				if what != "nothing" && what != "stop" && said(l.History, "a person's word") != 1 {
					t.Errorf("%s: the word is said %d times\n%s", name, said(l.History, "a person's word"), r.types())
				}
				if what == "nothing" && (len(wakes) != 1 || one.Outcome != event.TurnStalled) {
					t.Errorf("%s: %s and %d wakes", name, one.Outcome, len(wakes))
				}
				if what == "stop" && stopped == session.Stopping && n > 0 { // at most it waits, held
					t.Errorf("%s: woken over a stop that came first", name)
				}
				var end time.Time
				for _, rec := range r.records() {
					switch {
					case rec.Type == event.TypeTurnEnded && rec.Turn == 1:
						end = rec.Time
					case rec.Type == event.TypeTurnStarted && rec.Turn == 2 && rec.Time.Sub(end) > time.Second:
						t.Errorf("%s: the next turn begins %v behind the end", name, rec.Time.Sub(end))
					}
				}
				if l.Box.Len() > 0 && stopped != session.Stopping {
					t.Errorf("%s: %d wait", name, l.Box.Len())
				}
				r.close()
			})
		}
	}
	t.Logf("woken: %v", woken)
}
