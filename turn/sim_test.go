package turn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// world performs a machine's effects in memory, one event at a time, in an
// order that its seed decides: whoever is ready may be next. Its clock is
// virtual and passes: a timer fires no earlier than it was set for.
type world struct {
	seed   uint64
	rng    *rand.Rand
	opts   turn.Options
	s      *turn.State
	now    time.Time
	recs   []event.Record
	queue  []turn.Input        // what the machine hears back before anything else
	ready  []func() turn.Input // what may happen next; nil result: nothing
	timers map[turn.Timer]time.Time

	coord     coord
	published map[int]int
	tokens    map[turn.Token]func(turn.Reply)
	token     turn.Token
	acked     map[event.InputID]bool
	started   map[event.CallID]bool // runners that were told to go
	silent    func()                // ends the attempt that says nothing any more
	faults    bool                  // the disk may fail
	calm      bool                  // the model answers at once, in one way
	inputs    int
	calls     int
	see       seen
	log       []entry
}

// coord is the turn's coordinator, as package session keeps it.
type coord struct {
	turn    int // armed turn, 0 if none
	tripped bool
	cause   interrupt.Cause
	told    bool             // the machine was
	word    *interrupt.Cause // said behind the machine's own trip, and not told yet
	own     bool             // the trip was the machine's
}

// broken is what a run came to that must not be.
type broken struct{ why string }

func (w *world) fail(format string, args ...any) { panic(broken{fmt.Sprintf(format, args...)}) }

func tools() map[string]turn.Traits {
	return map[string]turn.Traits{"read": {Concurrent: true}, "bash": {}}
}

func newWorld(seed uint64, opts turn.Options) *world {
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1000, 0), timers: map[turn.Timer]time.Time{},
		published: map[int]int{}, tokens: map[turn.Token]func(turn.Reply){},
		acked: map[event.InputID]bool{}, started: map[event.CallID]bool{}, see: newSeen()}
	opts.Tools = tools()
	opts.Config = event.ModelConfig{Provider: "sim", Model: "m"}
	w.opts = opts
	l := turn.NewLedger()
	for _, p := range []event.Payload{event.SessionOpened{ID: "s_1"}, event.LeaseTaken{}} {
		r, err := event.New(p, w.now)
		if err != nil {
			w.fail("%v", err)
		}
		r.Seq, r.Epoch = l.Last()+1, 1
		if err := l.Apply(&r); err != nil {
			w.fail("%v", err)
		}
		w.recs = append(w.recs, r)
	}
	w.s = turn.NewState(l, 1, opts)
	return w
}

// wild are options that bring everything about.
func wild(seed uint64) turn.Options {
	o := turn.Options{Attempts: 2, Budget: guard.Budget{Steps: 3 + int(seed%2)*2}, TurnGate: seed%3 == 0, NoEager: seed%5 == 0, NoMarker: seed%7 == 0,
		Guards: turn.Guards{Stall: guard.StallLimits{Argument: 300}, Calls: guard.CallLimits{Same: 4, Failing: 2, Burst: 4}}}
	switch seed % 11 {
	case 1, 2, 3:
		o.Context = 300
	case 4:
		o.Session = guard.Budget{Steps: 6}
	case 5:
		o.Budget.Wall = 20 * time.Second
	case 6:
		o.Guards.OnStall, o.Guards.OnLoop, o.Guards.OnCalls = guard.Warn, guard.Warn, guard.Warn
	case 7:
		o.Guards.NoWake = true
	case 8:
		o.Budget.Calls = 1 + int(seed%4)
	case 9:
		o.Session.Calls = 1 + int(seed%6)
	}
	return o
}

// live lets n things happen while people are about, then all that is left.
func (w *world) live(n int) {
	for range n {
		w.next(true)
	}
	w.rest()
}

func (w *world) rest() {
	w.faults = false
	for i := 0; w.next(false); i++ {
		if i > 5000 {
			w.fail("it does not come to an end")
		}
	}
}

func (w *world) tok(f func(turn.Reply)) turn.Token {
	w.token++
	w.tokens[w.token] = f
	return w.token
}

// tell steps the machine and performs what it answers.
func (w *world) tell(in turn.Input) {
	w.now = w.now.Add(time.Duration(w.rng.IntN(40)) * time.Millisecond)
	if _, ok := in.(turn.Tripped); ok {
		w.coord.told = true
		w.see.told = w.coord.turn
	}
	before := w.s.Phase()
	effects := w.s.Step(w.now, in)
	w.log = append(w.log, entry{w.now, before, w.s.Phase(), in, effects})
	failed := false
	var refused []turn.Token
	var undone []turn.Input
	for _, e := range effects {
		switch e := e.(type) {
		case turn.Append:
			w.append(e.Records)
		case turn.Sync:
			if w.faults && !failed && w.rng.IntN(12) == 0 {
				failed = true
			}
		case turn.Reply:
			if failed && e.Err == nil {
				refused = append(refused, e.Token)
				e.Err, e.Value = errors.New("storage"), nil
			}
			if f := w.tokens[e.Token]; f != nil {
				delete(w.tokens, e.Token)
				f(e)
			}
		default:
			if failed {
				undone = append(undone, w.withhold(e)...)
			} else {
				w.do(e)
			}
		}
	}
	if failed {
		w.queue = append(append([]turn.Input{turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "disk"}, Refused: refused}}, undone...), w.queue...)
		w.ready = append(w.ready, func() turn.Input { return turn.StorageWorks{} })
	}
}

func (w *world) append(recs []event.Record) {
	w.recs = append(w.recs, recs...)
	for i := range recs {
		w.record(&recs[i])
	}
}

func (w *world) withhold(e turn.Effect) []turn.Input {
	switch e := e.(type) {
	case turn.Retire, turn.SetTimer, turn.StopTimer, turn.Show, turn.Break, turn.Join:
		w.do(e)
	case turn.Trip:
		if e.Cause.Reason != interrupt.NowPriorityInput {
			w.do(e)
		}
	case turn.Ask:
		return []turn.Input{turn.Answered{Ticket: e.Ticket, Cut: true}}
	case turn.AskSummary:
		return []turn.Input{turn.Summarized{Ticket: e.Ticket, Cut: true}}
	case turn.RunCall:
		return []turn.Input{turn.End{Turn: e.Call.Turn, Call: e.Call.ID, Ended: event.CallEnded{Outcome: event.CallSkipped}}}
	case turn.RunHooks:
		return []turn.Input{turn.Hooked{}}
	}
	return nil
}

func (w *world) do(e turn.Effect) {
	switch e := e.(type) {
	case turn.Arm:
		w.coord = coord{turn: e.Turn}
	case turn.Retire:
		w.retire(e.Turn)
	case turn.Ask:
		w.attempt(e)
	case turn.AskSummary:
		w.summary(e)
	case turn.Break:
		w.cutOff()
	case turn.Judge:
		w.judge(e.Call)
	case turn.RunCall:
		w.run(e.Call)
	case turn.Question:
		id := e.Asked.ID
		w.ready = append(w.ready, func() turn.Input {
			d := []event.Decision{event.Allow, event.Allow, event.Deny, event.Abort}[w.rng.IntN(4)]
			return turn.Decided{ID: id, Decision: d, By: "p"}
		})
	case turn.SetTimer:
		if e.Timer != turn.TimerStorage { // its work is done by what StorageFailed makes ready
			w.timers[e.Timer] = w.now.Add(e.After)
		}
	case turn.StopTimer:
		delete(w.timers, e.Timer)
	case turn.JudgeTurn:
		w.ready = append(w.ready, func() turn.Input {
			return turn.TurnJudged{Turn: e.Turn, Blocked: !w.calm && w.rng.IntN(5) == 0, By: "hook:start"}
		}, func() turn.Input {
			return turn.Fact{Turn: e.Turn, Payload: event.HookVerdict{Hook: "h", On: "turn_start", Verdict: "allow"}}
		})
	case turn.RunHooks:
		w.ready = append(w.ready, func() turn.Input { return turn.Hooked{} })
	case turn.Publish:
		w.published[e.Summary.Turn]++
		if w.coord.turn == e.Summary.Turn {
			w.fail("turn %d is published and can still be stopped", e.Summary.Turn)
		}
	case turn.Trip:
		if w.coord.tripped { // somebody was first: that is the cause
			break
		}
		w.coord.own = e.Cause.Reason == interrupt.ParentCancelled
		w.trip(e.Cause)
	case turn.Wake:
		w.queue = append(w.queue, turn.Woken{})
	case turn.Show:
		if e.State == "bug" {
			w.fail("%s", e.Text)
		}
	}
}

// retire closes the coordinator; a trip that the machine has not heard of is
// told it first.
func (w *world) retire(n int) {
	if w.coord.turn != n {
		return
	}
	if w.coord.tripped && !w.coord.told {
		w.queue = append(w.queue, tripped(w.coord.cause))
	}
	if w.coord.word != nil {
		w.queue = append(w.queue, tripped(*w.coord.word))
	}
	w.coord = coord{}
}

// tripped is the trip for c; who shuts down drops what waits.
func tripped(c interrupt.Cause) turn.Tripped {
	return turn.Tripped{Cause: c, Drop: c.Reason == interrupt.SystemShutdown}
}

func (w *world) trip(c interrupt.Cause) {
	turnNo := w.coord.turn
	if turnNo == 0 || w.coord.tripped && !w.coord.own {
		return
	}
	if c.Reason != interrupt.ParentCancelled || c.Who == "p" { // else it is the machine's own
		w.see.stopped[turnNo] = true
	}
	if w.coord.tripped { // by the machine: a person's word is told it all the same
		w.coord.word = &c
		w.ready = append(w.ready, func() turn.Input {
			if w.coord.turn != turnNo || w.coord.word == nil { // it was told as the turn was retired
				return nil
			}
			w.coord.word = nil
			return tripped(c)
		})
		return
	}
	w.coord.tripped, w.coord.cause = true, c
	w.ready = append(w.ready, func() turn.Input {
		if w.coord.turn != turnNo || w.coord.told {
			return nil
		}
		return tripped(c)
	})
	w.cutOff()
}

// cutOff ends an attempt that says nothing: not always in time.
func (w *world) cutOff() {
	if w.silent != nil && w.rng.IntN(4) > 0 {
		w.silent()
		w.silent = nil
	}
}

// next lets one thing happen; it reports false when nothing can.
func (w *world) next(people bool) bool {
	if len(w.queue) > 0 {
		in := w.queue[0]
		w.queue = w.queue[1:]
		w.tell(in)
		return true
	}
	var timer turn.Timer // the one that runs out first
	for _, t := range []turn.Timer{turn.TimerPack, turn.TimerBackoff, turn.TimerGrace, turn.TimerStall, turn.TimerWall} {
		if at, set := w.timers[t]; set && (timer == "" || at.Before(w.timers[timer])) {
			timer = t
		}
	}
	n := len(w.ready)
	if timer != "" && (n == 0 || w.timers[timer].Sub(w.now) < time.Second || w.rng.IntN(40) == 0) {
		n++
	}
	if people && (n == 0 || w.rng.IntN(6) == 0) {
		if in := w.outside(); in != nil {
			w.tell(in)
		}
		return true
	}
	if n == 0 {
		return false
	}
	i := w.rng.IntN(n)
	if i == len(w.ready) {
		if at := w.timers[timer]; at.After(w.now) {
			w.now = at
		}
		delete(w.timers, timer)
		w.tell(turn.Fired{Timer: timer})
		return true
	}
	f := w.ready[i]
	w.ready = slices.Delete(w.ready, i, i+1)
	if in := f(); in != nil {
		w.tell(in)
	}
	return true
}

// outside is what people do.
func (w *world) outside() turn.Input {
	switch w.rng.IntN(16) {
	case 0, 1, 2, 3, 4:
		return w.submit()
	case 5, 6:
		reason := []interrupt.Reason{interrupt.UserSIGINT, interrupt.UserSIGINT, interrupt.ParentCancelled, interrupt.SystemShutdown}[w.rng.IntN(4)]
		w.trip(interrupt.Cause{Reason: reason, Who: "p", At: w.now})
		return nil
	case 7, 8:
		return turn.Go{ID: w.address(), Held: w.rng.IntN(2) == 0}
	case 9:
		return turn.Clear{By: "p"}
	case 10:
		id := w.someWaiting()
		return turn.Edit{ID: id, Input: event.UserInput{Content: event.TextOf("do " + tag(id) + " otherwise")}, By: "p"}
	case 11:
		return turn.Remove{ID: w.someWaiting(), By: "p"}
	case 12:
		n := 0
		if w.s.Turn != nil && w.rng.IntN(2) == 0 {
			n = 1 + w.rng.IntN(w.s.Turn.Number)
		}
		return turn.Rewind{From: n, Restore: w.rng.IntN(2) == 0, DropSteers: w.rng.IntN(3) == 0, By: "p", ID: w.address()}
	case 13, 14:
		in := turn.Rewind{Retry: true, DropSteers: w.rng.IntN(3) == 0, By: "p", ID: w.address()}
		if w.rng.IntN(3) == 0 {
			steps := 1 + w.rng.IntN(3)
			in.Options = &event.SubmitOptions{MaxSteps: &steps}
		}
		return in
	default:
		return turn.Compact{ID: w.address(), By: "p"}
	}
}

func (w *world) address() event.InputID {
	w.inputs++
	return event.InputID(fmt.Sprintf("g_%d", w.inputs))
}

func (w *world) submit() turn.Input {
	w.inputs++
	id := event.InputID(fmt.Sprintf("i_%d", w.inputs))
	in := turn.Submit{Accepted: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf("do " + tag(id))},
		Priority: []event.Priority{event.PriorityLater, event.PriorityLater, event.PriorityNext, event.PriorityNext, event.PriorityNow}[w.rng.IntN(5)]},
		Token: w.tok(func(r turn.Reply) {
			if r.Err == nil {
				w.acked[id] = true
			}
		})}
	if w.rng.IntN(12) == 0 {
		in.Accepted.Input.Content = append(in.Accepted.Input.Content, event.Image{MediaType: "image/png", Data: []byte{1}})
	}
	if old := w.someWaiting(); old != "" && w.rng.IntN(3) == 0 {
		in.Replaces = []event.InputID{old}
	}
	return in
}

// tag is an input's name as its text holds it: no other's text holds it.
func tag(id event.InputID) string { return "<" + string(id) + ">" }

func (w *world) someWaiting() event.InputID {
	n := w.s.Box.Len()
	if n == 0 {
		return ""
	}
	return w.s.Box.Waiting()[w.rng.IntN(n)].ID
}

// simulated runs f and returns why it must not have come to what it came to.
func (w *world) simulated(f func()) (why string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case broken:
			why = p.why
		default: // an arrow that is none in the picture
			why = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return ""
}

// varied is words that no two deltas share.
func varied(n int, salt string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s%d ", salt, i*i+7)
	}
	return b.String()[:n]
}
