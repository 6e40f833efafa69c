package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// world performs a machine's effects in memory, one event at a time, in an
// order that its seed decides: whoever is ready may be next.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	s      *turn.State
	now    time.Time
	recs   []event.Record
	queue  []turn.Input        // what the machine hears back before anything else
	ready  []func() turn.Input // what may happen next; nil result: nothing
	timers map[turn.Timer]bool

	active    int // armed turn, 0 if none
	tripped   bool
	published map[int]int
	ended     map[int]bool
	tokens    map[turn.Token]func(turn.Reply)
	token     turn.Token
	acked     map[event.InputID]bool
	started   map[event.CallID]bool // runners that were told to go
	faults    bool
	broken    bool
	inputs    int
	calls     int
	log       strings.Builder
}

func tools() map[string]turn.Traits {
	return map[string]turn.Traits{"read": {Concurrent: true}, "bash": {}}
}

func newWorld(t *testing.T, seed uint64, opts turn.Options) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1000, 0), timers: map[turn.Timer]bool{},
		published: map[int]int{}, ended: map[int]bool{}, tokens: map[turn.Token]func(turn.Reply){},
		acked: map[event.InputID]bool{}, started: map[event.CallID]bool{}}
	opts.Tools = tools()
	opts.Config = event.ModelConfig{Provider: "sim", Model: "m"}
	l := turn.NewLedger()
	for _, p := range []event.Payload{event.SessionOpened{ID: "s_1"}, event.LeaseTaken{}} {
		r, err := event.New(p, w.now)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Epoch = l.Last()+1, 1
		if err := l.Apply(&r); err != nil {
			t.Fatal(err)
		}
		w.recs = append(w.recs, r)
	}
	w.s = turn.NewState(l, 1, opts)
	return w
}

func (w *world) tok(f func(turn.Reply)) turn.Token {
	w.token++
	w.tokens[w.token] = f
	return w.token
}

// tell steps the machine and performs what it answers.
func (w *world) tell(in turn.Input) {
	w.now = w.now.Add(time.Duration(w.rng.IntN(40)) * time.Millisecond)
	fmt.Fprintf(&w.log, "%v %T\n", w.s.Phase(), in)
	failed := false
	var refused []turn.Token
	var undone []turn.Input
	for _, e := range w.s.Step(w.now, in) {
		switch e := e.(type) {
		case turn.Append:
			w.recs = append(w.recs, e.Records...)
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
		w.broken = true
		w.queue = append(append([]turn.Input{turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "disk"}, Refused: refused}}, undone...), w.queue...)
		w.ready = append(w.ready, func() turn.Input { w.broken = false; return turn.StorageWorks{} })
	}
}

func (w *world) withhold(e turn.Effect) []turn.Input {
	switch e := e.(type) {
	case turn.Retire, turn.SetTimer, turn.StopTimer, turn.Trip, turn.Show:
		w.do(e)
	case turn.Ask:
		return []turn.Input{turn.Answered{Ticket: e.Ticket, Cut: true}}
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
		w.active, w.tripped = e.Turn, false
	case turn.Retire:
		if w.active == e.Turn {
			w.active = 0
		}
	case turn.Ask:
		w.attempt(e)
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
		w.timers[e.Timer] = true
	case turn.StopTimer:
		delete(w.timers, e.Timer)
	case turn.JudgeTurn:
		w.ready = append(w.ready, func() turn.Input {
			return turn.TurnJudged{Turn: e.Turn, Blocked: w.rng.IntN(5) == 0, By: "hook:start"}
		}, func() turn.Input {
			return turn.Fact{Turn: e.Turn, Payload: event.HookVerdict{Hook: "h", On: "turn_start", Verdict: "allow"}}
		})
	case turn.RunHooks:
		w.ready = append(w.ready, func() turn.Input { return turn.Hooked{} })
	case turn.Publish:
		w.published[e.Summary.Turn]++
		if w.active == e.Summary.Turn {
			w.t.Errorf("turn %d is published and can still be stopped", e.Summary.Turn)
		}
	case turn.Trip:
		w.trip(e.Cause)
	case turn.Wake:
		w.queue = append(w.queue, turn.Woken{})
	case turn.Show:
		if e.State == "bug" {
			w.t.Errorf("%s\n%s", e.Text, w.log.String())
		}
	}
}

func (w *world) trip(c interrupt.Cause) {
	if w.active == 0 || w.tripped {
		return
	}
	w.tripped = true
	turnNo := w.active
	w.ready = append(w.ready, func() turn.Input {
		if w.active != turnNo {
			return nil
		}
		return turn.Tripped{Cause: c}
	})
}

// attempt makes up an answer and lets it stream piece by piece.
func (w *world) attempt(e turn.Ask) {
	if err := scripted.Validate(e.Messages); err != nil && !strings.Contains(err.Error(), "user messages in a row") {
		w.t.Errorf("turn %d step %d asks with an invalid history: %v\n%s", e.Turn, e.Step, err, w.log.String())
	}
	var script []turn.Input
	add := func(d event.Delta) { script = append(script, turn.Streamed{Ticket: e.Ticket, Delta: d}) }
	if w.rng.IntN(3) > 0 {
		add(event.TextDelta{Block: 0, Text: "some "})
		add(event.TextDelta{Block: 0, Text: "words"})
	}
	finish := event.FinishStop
	for i := range w.rng.IntN(4) {
		if e.Step > 3 {
			break
		}
		finish = event.FinishTools
		id := ""
		if w.rng.IntN(3) > 0 {
			w.calls++
			id = fmt.Sprintf("c%d", w.calls)
		}
		name := []string{"read", "bash", "nosuch"}[w.rng.IntN(3)]
		add(event.CallStart{Block: i + 1, ID: id, Name: name})
		add(event.ArgsDelta{Block: i + 1, Text: []string{`{"a":1}`, `{"a":`, ``}[w.rng.IntN(3)]})
		add(event.CallEnd{Block: i + 1})
	}
	last := turn.Answered{Ticket: e.Ticket}
	switch w.rng.IntN(6) {
	case 0:
		last.Failure = &event.Failure{Code: event.FailTransport, Message: "cut"}
		script = script[:w.rng.IntN(len(script)+1)]
	case 1:
		last.Failure = &event.Failure{Code: event.FailRequest, Message: "no"}
	default:
		add(event.Finish{Reason: finish})
	}
	var step func() turn.Input
	step = func() turn.Input {
		if w.tripped && w.rng.IntN(2) == 0 || len(script) == 0 {
			if w.tripped {
				return turn.Answered{Ticket: e.Ticket, Cut: true}
			}
			return last
		}
		in := script[0]
		script = script[1:]
		w.ready = append(w.ready, step)
		return in
	}
	w.ready = append(w.ready, step)
}

func (w *world) judge(c *turn.Call) {
	w.ready = append(w.ready, func() turn.Input {
		v := []turn.Verdict{turn.VerdictAllow, turn.VerdictAllow, turn.VerdictAsk, turn.VerdictDeny, turn.VerdictBlock}[w.rng.IntN(5)]
		return turn.Judged{Call: c.ID, Verdict: v, By: "gate", Prompt: "may I"}
	})
}

// run is a call's runner: the gate, the intent, the effect, the end.
func (w *world) run(c *turn.Call) {
	end := func(o event.CallOutcome) turn.Input {
		ok, ms := true, int64(5)
		ended := event.CallEnded{Outcome: o, Content: event.TextOf("out"), RanMS: &ms}
		if o == event.CallFinished {
			ended.Success = &ok
		}
		in := turn.End{Turn: c.Turn, Call: c.ID, Ended: ended}
		if o == event.CallFatal {
			in.Fatal = "broken"
		}
		return in
	}
	w.ready = append(w.ready, func() turn.Input {
		if w.tripped {
			return end(event.CallSkipped)
		}
		begin := turn.Begin{Turn: c.Turn, Call: c.ID, Behaviour: "COOPERATIVE", Effect: "unsafe"}
		begin.Token = w.tok(func(r turn.Reply) {
			if r.Err != nil {
				w.ready = append(w.ready, func() turn.Input { return end(event.CallSkipped) })
				return
			}
			if w.started[c.ID] {
				w.t.Errorf("call %s was started twice", c.ID)
			}
			w.started[c.ID] = true
			if !w.durable(c.ID) {
				w.t.Errorf("call %s runs without its record", c.ID)
			}
			w.inside(c, w.rng.IntN(4), func() turn.Input {
				switch {
				case w.tripped && w.rng.IntN(2) == 0:
					return end([]event.CallOutcome{event.CallStopped, event.CallQuarantined, event.CallFinishedLate}[w.rng.IntN(3)])
				case w.rng.IntN(12) == 0:
					return end(event.CallFatal)
				default:
					return end(event.CallFinished)
				}
			})
		})
		return begin
	})
}

func (w *world) durable(id event.CallID) bool {
	for i := range w.recs {
		if w.recs[i].Type == event.TypeCallStarted && w.recs[i].Call == id {
			return true
		}
	}
	return false
}

// outside is what people do.
func (w *world) outside() turn.Input {
	switch w.rng.IntN(5) {
	case 0, 1:
		w.inputs++
		id := event.InputID(fmt.Sprintf("i_%d", w.inputs))
		return turn.Submit{Accepted: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf("do " + string(id))}, Priority: event.PriorityLater},
			Token: w.tok(func(r turn.Reply) {
				if r.Err == nil {
					w.acked[id] = true
				}
			})}
	case 2:
		w.trip(interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "p", At: w.now})
		return nil
	case 3:
		return turn.Go{ID: event.InputID(fmt.Sprintf("g_%d", w.rng.Uint32())), Held: w.rng.IntN(2) == 0}
	default:
		return turn.Clear{By: "p"}
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
	var timers []turn.Timer
	for _, t := range []turn.Timer{turn.TimerPack, turn.TimerBackoff, turn.TimerGrace, turn.TimerWall} {
		if w.timers[t] {
			timers = append(timers, t)
		}
	}
	n := len(w.ready) + len(timers)
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
	if i >= len(w.ready) {
		t := timers[i-len(w.ready)]
		delete(w.timers, t)
		w.tell(turn.Fired{Timer: t})
		return true
	}
	f := w.ready[i]
	w.ready = append(w.ready[:i:i], w.ready[i+1:]...)
	if in := f(); in != nil {
		w.tell(in)
	}
	return true
}

// judgeAll checks what must hold of every run.
func (w *world) judgeAll() {
	w.t.Helper()
	if w.s.Phase() != turn.PhaseIdle {
		w.t.Fatalf("nothing can happen any more and the session is %v\n%s", w.s.Phase(), w.log.String())
	}
	c := turn.Check()
	ends := map[int]int{}
	for i := range w.recs {
		if err := c.Next(&w.recs[i]); err != nil {
			w.t.Fatalf("the journal breaks its own order: %v\n%s", err, w.log.String())
		}
		if w.recs[i].Type == event.TypeTurnEnded {
			ends[w.recs[i].Turn]++
		}
	}
	if c.OpenTurn() != 0 {
		w.t.Errorf("turn %d was left open\n%s", c.OpenTurn(), w.log.String())
	}
	for n, times := range w.published {
		if times != 1 {
			w.t.Errorf("turn %d has %d terminal events\n%s", n, times, w.log.String())
		}
		if ends[n] != 1 {
			w.t.Errorf("turn %d was published and has %d turn/end", n, ends[n])
		}
	}
	for n := range ends {
		if w.published[n] != 1 {
			w.t.Errorf("turn %d ended and has %d terminal events\n%s", n, w.published[n], w.log.String())
		}
	}
	l, err := turn.Fold(w.recs)
	if err != nil {
		w.t.Fatal(err)
	}
	for id := range w.acked {
		_, claimed := l.TurnOf[id]
		_, waits := l.Box.Get(id)
		dropped := false
		for i := range w.recs {
			if p, _ := w.recs[i].Body(); p != nil {
				if d, ok := p.(event.InboxDropped); ok && d.ID == id {
					dropped = true
				}
			}
		}
		if !claimed && !waits && !dropped {
			w.t.Errorf("acknowledged input %s is lost", id)
		}
	}
	w.recoverable()
}

// recoverable cuts the journal at a few places: what is left can be closed,
// once, and the history is valid for a strict model.
func (w *world) recoverable() {
	for range 4 {
		n := 2 + w.rng.IntN(len(w.recs)-1)
		l, err := turn.Fold(w.recs[:n])
		if err != nil {
			w.t.Fatal(err)
		}
		added, err := turn.Recover(l, 2, nil, turn.Options{})
		if err != nil {
			w.t.Fatalf("cut at %d: %v\n%s", n, err, w.log.String())
		}
		if again, err := turn.Recover(l, 3, nil, turn.Options{}); err != nil || len(again) > 0 {
			w.t.Fatalf("cut at %d: recovering again adds %d records, %v", n, len(again), err)
		}
		if l.OpenTurn() != 0 {
			w.t.Fatalf("cut at %d: turn %d is still open after %d closers", n, l.OpenTurn(), len(added))
		}
		history := append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")})
		if err := scripted.Validate(history); err != nil && !strings.Contains(err.Error(), "user messages in a row") {
			b, _ := json.Marshal(history)
			w.t.Fatalf("cut at %d: the history is not valid: %v\n%s", n, err, b)
		}
	}
}

func seeds(t *testing.T, n int) int {
	if s := os.Getenv("RIPCORD_SEEDS"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return n
}

func simulate(t *testing.T, faults bool) {
	n := seeds(t, 1500)
	phases, seen := map[event.TurnOutcome]int{}, map[string]int{}
	for seed := range n {
		w := newWorld(t, uint64(seed), turn.Options{Attempts: 2, Budget: guard.Budget{Steps: 3},
			TurnGate: seed%3 == 0, NoEager: seed%5 == 0})
		w.faults = faults
		for range 60 {
			w.next(true)
		}
		w.faults = false
		for i := 0; w.next(false); i++ {
			if i > 5000 {
				t.Fatalf("seed %d does not come to an end\n%s", seed, w.log.String())
			}
		}
		w.judgeAll()
		w.count(phases, seen)
		if t.Failed() {
			t.Fatalf("seed %d, faults %v", seed, faults)
		}
	}
	t.Logf("%d seeds, turns by outcome: %v, seen: %v", n, phases, seen)
	for _, what := range []string{"went ahead", "broke off and went on", "inner left open", "inner ended", "question voided", "question answered", "blocked before it asked"} {
		if seen[what] == 0 {
			t.Errorf("%s: never: the simulation has shrunk", what)
		}
	}
	for _, o := range []event.TurnOutcome{event.TurnCompleted, event.TurnAborted, event.TurnFailed, event.TurnBlocked, event.TurnBudget} {
		if phases[o] == 0 {
			t.Errorf("no turn ended %s: the simulation has shrunk", o)
		}
	}
}

// proves TRN-01, TRN-02, TRN-05, TRN-06, TRN-09, TRN-16, TRN-17, LOG-04, REC-03, REC-05, INT-31, TOL-08
func TestAnyInterleavingLeavesAValidJournalAndOneTerminalEventATurn(t *testing.T) {
	t.Parallel()
	simulate(t, false)
}

// proves LOG-13, LOG-14, TRN-05
func TestAnyInterleavingWithAFailingDiskHasNoEffectWithoutItsIntent(t *testing.T) {
	t.Parallel()
	simulate(t, true)
}
