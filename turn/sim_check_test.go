package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// place is where an accepted input is: always in exactly one.
type place string

const (
	inInbox   place = "waiting"
	inHistory place = "in the history"
	inHidden  place = "in a hidden turn"
	dropped   place = "dropped"
)

type input struct {
	at       place
	turn     int // that took it last
	claims   int
	returns  int
	replaces []event.InputID
}

// seen is what the records said so far, by rules of its own: it knows nothing of
// the fold.
type seen struct {
	inputs  map[event.InputID]*input
	hidden  map[int]bool
	summed  map[int]bool // a summary stands for the turn, or a part of it
	began   map[event.CallID]bool
	ends    map[int]int
	wakes   map[event.InputID]int // notices, by the turn that they follow
	stopped map[int]bool          // by somebody
	asleep  map[int]bool          // a stall in the turn asks for a wake
	told    int                   // the turn whose trip the machine was told last
	open    int
	before  []event.Message // the context as a compaction began
	trying  bool            // a compaction is open
	count   map[string]int
}

func newSeen() seen {
	return seen{inputs: map[event.InputID]*input{}, hidden: map[int]bool{}, summed: map[int]bool{}, began: map[event.CallID]bool{},
		ends: map[int]int{}, wakes: map[event.InputID]int{}, stopped: map[int]bool{}, asleep: map[int]bool{}, count: map[string]int{}}
}

// record judges one record as it is written.
func (w *world) record(r *event.Record) {
	if err := w.see.take(r); err != nil {
		w.fail("record %d (%s): %v", r.Seq, r.Type, err)
	}
	p, _ := r.Body()
	switch p := p.(type) {
	case event.CallStarted:
		w.bounded()
	case event.CompactionStarted:
		w.see.before, w.see.trying = slices.Clone(w.s.History), true
	case event.CompactionSummary:
		if w.see.told == r.Turn {
			w.fail("a summary is installed in turn %d after its trip", r.Turn)
		}
	case event.CompactionEnded:
		if h := w.s.History; !p.Installed && w.see.trying && (len(h) < len(w.see.before) || !reflect.DeepEqual(h[:len(w.see.before)], w.see.before)) {
			w.fail("a compaction failed and the context is another")
		}
		w.see.trying = false
	case event.GuardVerdict:
		if p.Guard == "stall" && strings.Contains(string(p.Facts), `"decision":"wake"`) {
			w.see.asleep[r.Turn] = true
		}
	case event.TurnEnded:
		if w.see.asleep[r.Turn] && p.Outcome == event.TurnStalled && !w.see.stopped[r.Turn] && w.see.wakeOf(r.Turn) == "" {
			w.fail("turn %d stalled, asks for a wake, and nobody is woken", r.Turn)
		}
	case event.TurnStarted:
		if n, wake := w.see.wakes[p.Input]; wake && p.Kind == event.TurnWake && p.RetryOf == 0 && w.see.stopped[n] {
			w.fail("turn %d wakes the model for turn %d, which a person stopped", r.Turn, n)
		}
	}
}

// bounded checks that no more calls start than the budgets have room for.
func (w *world) bounded() {
	n := 0
	for _, c := range w.s.Turn.Calls {
		if c.Started {
			n++
		}
	}
	if turn, all := w.opts.Budget.Calls, w.opts.Session.Calls; turn > 0 && n > turn || all > 0 && len(w.see.began) > all {
		w.fail("call %d of the turn, %d of the session starts: %d and %d may", n, len(w.see.began), turn, all)
	}
}

// wakeOf is the notice that follows turn n.
func (s *seen) wakeOf(n int) event.InputID {
	for id, after := range s.wakes {
		if after == n {
			return id
		}
	}
	return ""
}

// take counts what a record says; an error is what can't be true.
func (s *seen) take(r *event.Record) error {
	p, err := r.Body()
	if err != nil {
		return err
	}
	move := func(id event.InputID, from, to place) error {
		in := s.inputs[id]
		if in == nil || in.at != from {
			return fmt.Errorf("input %s is %+v, and goes from %s to %s", id, in, from, to)
		}
		in.at = to
		return nil
	}
	switch p := p.(type) {
	case event.TurnStarted:
		s.open = r.Turn
	case event.TurnEnded:
		s.ends[r.Turn]++
		s.open = 0
	case event.CallStarted:
		s.began[r.Call] = true
	case event.CompactionSummary:
		for n := 1; n <= max(s.open, len(s.ends)); n++ {
			s.summed[n] = true
		}
	case event.InboxAccepted:
		s.inputs[p.ID] = &input{at: inInbox, replaces: p.Replaces}
		if p.Kind == event.TurnWake {
			s.wakes[p.ID] = s.open
		}
		for _, id := range p.Replaces {
			err = errors.Join(err, move(id, inInbox, dropped))
		}
	case event.InboxDropped:
		if p.Why == event.DroppedReplaced {
			return nil // told already
		}
		if err = move(p.ID, inInbox, dropped); err == nil && p.Why == event.DroppedRefused {
			for _, id := range s.inputs[p.ID].replaces {
				err = errors.Join(err, move(id, dropped, inInbox))
			}
		}
	case event.InboxClaimed:
		if err = move(p.ID, inInbox, inHistory); err == nil {
			in := s.inputs[p.ID]
			in.turn, in.claims = r.Turn, in.claims+1
			if in.claims > in.returns+1 {
				err = fmt.Errorf("input %s is claimed %d times and was returned %d times", p.ID, in.claims, in.returns)
			}
		}
	case event.Rewound:
		for n := p.From; n <= len(s.ends); n++ {
			s.hidden[n] = true
		}
		for _, in := range s.inputs {
			if in.at == inHistory && in.turn >= p.From {
				in.at = inHidden
			}
		}
		for _, b := range p.Returns {
			err = errors.Join(err, move(b.ID, inHidden, inInbox))
			if err == nil {
				s.inputs[b.ID].returns++
			}
		}
	}
	return err
}

// inputIn is the input whose words a text holds.
func inputIn(text string) (event.InputID, bool) {
	at := strings.Index(text, "do <")
	if at < 0 {
		return "", false
	}
	id, _, ok := strings.Cut(text[at+4:], ">")
	return event.InputID(id), ok
}

// accounted checks that every input is in its one place by the fold, too, and
// that its words are in the context if its turn is, once.
func (s *seen) accounted(l *turn.Ledger) error {
	said := map[event.InputID]int{}
	for _, m := range l.History {
		text := m.Content.Text()
		if strings.HasPrefix(text, "<conversation_summary>") {
			continue
		}
		if id, ok := inputIn(text); ok {
			said[id]++
		}
		for n := range s.hidden {
			if strings.Contains(text, ofTurn(n)) {
				return fmt.Errorf("hidden turn %d is in the context: %q", n, text)
			}
		}
	}
	for id, in := range s.inputs {
		_, waiting := l.Box.Get(id)
		if waiting != (in.at == inInbox) {
			return fmt.Errorf("input %s is %s; the inbox has it: %v", id, in.at, waiting)
		}
		want := 0
		if in.at == inHistory {
			want = 1
		}
		_, wake := s.wakes[id]
		if got := said[id]; !wake && got != want && !(got == 0 && s.summed[in.turn]) {
			return fmt.Errorf("input %s is %s and stands %d times in the context", id, in.at, got)
		}
	}
	return nil
}

// judgeAll checks what must hold of every run.
func (w *world) judgeAll() {
	if w.s.Phase() != turn.PhaseIdle {
		w.fail("nothing can happen any more and the session is %v", w.s.Phase())
	}
	for _, t := range []turn.Timer{turn.TimerPack, turn.TimerBackoff, turn.TimerGrace, turn.TimerStall, turn.TimerWall} {
		if _, runs := w.timers[t]; runs {
			w.fail("the session is idle and its timer %q runs", t)
		}
	}
	if w.see.open != 0 {
		w.fail("turn %d was left open", w.see.open)
	}
	for n, times := range w.published {
		if times != 1 || w.see.ends[n] != 1 {
			w.fail("turn %d has %d terminal events and %d ends", n, times, w.see.ends[n])
		}
	}
	for n := range w.see.ends {
		if w.published[n] != 1 {
			w.fail("turn %d ended and has %d terminal events", n, w.published[n])
		}
	}
	for id := range w.acked {
		if w.see.inputs[id] == nil {
			w.fail("acknowledged input %s is lost", id)
		}
	}
	for id, n := range w.see.wakes {
		if w.see.hidden[n] && w.see.inputs[id].at == inInbox {
			w.fail("turn %d is hidden and its notice waits", n)
		}
	}
	l := w.folded(len(w.recs))
	if err := w.see.accounted(l); err != nil {
		w.fail("%v", err)
	}
	if !sameContext(l.History, w.s.History) {
		w.fail("the journal folds to another context than the machine has")
	}
	for range cuts {
		w.recoverable(2 + w.rng.IntN(len(w.recs)-1))
	}
}

const cuts = 3

func sameContext(a, b []event.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func (w *world) folded(n int) *turn.Ledger {
	l, err := turn.Fold(w.recs[:n])
	if err != nil {
		w.fail("the journal breaks its own order: %v", err)
	}
	return l
}

// recoverable cuts the journal at n: what is left can be closed, once, the
// history is valid for a strict model, and every input is in its one place.
func (w *world) recoverable(n int) {
	l := w.folded(n)
	see := newSeen()
	for i := range w.recs[:n] {
		if err := see.take(&w.recs[i]); err != nil {
			w.fail("cut at %d: %v", n, err)
		}
	}
	added, err := turn.Recover(l, 2, nil, turn.Options{})
	if err != nil {
		w.fail("cut at %d: %v", n, err)
	}
	for i := range added {
		if err := see.take(&added[i]); err != nil {
			w.fail("cut at %d: %v", n, err)
		}
	}
	if again, err := turn.Recover(l, 3, nil, turn.Options{}); err != nil || len(again) > 0 {
		w.fail("cut at %d: recovering again adds %d records, %v", n, len(again), err)
	}
	if l.OpenTurn() != 0 {
		w.fail("cut at %d: turn %d is still open after %d closers", n, l.OpenTurn(), len(added))
	}
	if err := see.accounted(l); err != nil {
		w.fail("cut at %d: %v", n, err)
	}
	history := append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")})
	if err := scripted.Validate(history); err != nil && !strings.Contains(err.Error(), "user messages in a row") {
		b, _ := json.Marshal(history)
		w.fail("cut at %d: the history is not valid: %v\n%s", n, err, b)
	}
}

// retried asks the last turn again, where it can be, with a model that answers
// at once: the context is then that of a session where the first attempt never
// was.
func (w *world) retried() {
	n := w.s.RetryPoint()
	if n == 0 || w.opts.Session != (guard.Budget{}) || w.s.Turn.Kind == event.TurnCompact {
		return
	}
	w.tell(turn.Clear{By: "p"})
	w.rest()
	began := -1
	for i := range w.recs {
		if w.recs[i].Turn == n && w.recs[i].Type == event.TypeTurnStarted {
			began = i
		}
	}
	before := w.folded(began).History
	for i := began; i < len(w.recs) && w.recs[i].Turn == n; i++ {
		p, _ := w.recs[i].Body()
		if c, ok := p.(event.InboxClaimed); ok && !c.Steer {
			before = append(before, w.claimedWords(c.ID))
		}
		if m, ok := p.(event.UserMessage); ok && m.Origin == "continue" {
			before = append(before, event.Message{Role: event.RoleUser, Content: m.Content})
		}
		if w.recs[i].Type == event.TypeStepEnded {
			break
		}
	}
	w.calm = true
	w.tell(turn.Rewind{Retry: true, DropSteers: true, By: "p", ID: w.address()})
	w.rest()
	w.calm = false
	t := w.s.Turn
	if t.RetryOf != n {
		w.fail("turn %d was to be asked again, and turn %d repeats %d", n, t.Number, t.RetryOf)
	}
	if t.End.Outcome != event.TurnCompleted || w.see.summed[t.Number] {
		return
	}
	want := append(before, event.Message{Role: event.RoleAssistant, Content: event.TextOf("a calm answer")})
	if !sameContext(want, w.s.History) {
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(w.s.History)
		w.fail("after the retry the context is\n%s\nand without the first attempt it would be\n%s", b, a)
	}
	w.see.count["retried as if it had never been"]++
}

// claimedWords is an input's message, as its records say.
func (w *world) claimedWords(id event.InputID) (m event.Message) {
	m.Role = event.RoleUser
	for i := range w.recs {
		switch p, _ := w.recs[i].Body(); p := p.(type) {
		case event.InboxAccepted:
			if p.ID == id {
				m.Content = p.Input.Content
			}
		case event.InboxEdited:
			if p.ID == id {
				m.Content = p.Input.Content
			}
		}
	}
	return m
}

// entry is one step of a run, kept as it is: words are made of it where it is
// read.
type entry struct {
	at            time.Time
	before, after turn.Phase
	in            turn.Input
	out           []turn.Effect
}

func (w *world) write(to io.Writer) {
	for _, e := range w.log {
		raw, _ := json.Marshal(e.in) // no addresses, as %v would have
		in := string(raw)
		if len(in) > 160 {
			in = in[:160] + "…"
		}
		arrow := ""
		if e.before != e.after {
			arrow = fmt.Sprintf(" → %v", e.after)
		}
		fmt.Fprintf(to, "%9.3fs %v%s: %s %s\n", e.at.Sub(time.Unix(1000, 0)).Seconds(), e.before, arrow, strings.TrimPrefix(fmt.Sprintf("%T", e.in), "turn."), in)
		for _, o := range e.out {
			switch o := o.(type) {
			case turn.Append:
				for i := range o.Records {
					r := &o.Records[i]
					data := string(r.Data)
					if len(data) > 140 {
						data = data[:140] + "…"
					}
					fmt.Fprintf(to, "%14d %s t%d.%d %s %s\n", r.Seq, r.Type, r.Turn, r.Step, r.Call, data)
				}
			case turn.SetTimer:
				fmt.Fprintf(to, "%14s %s in %v\n", "timer", o.Timer, o.After)
			default:
				fmt.Fprintf(to, "%14s %s\n", "·", strings.TrimPrefix(fmt.Sprintf("%T", o), "turn."))
			}
		}
	}
}

func (w *world) timeline() string {
	var b strings.Builder
	w.write(&b)
	return b.String()
}

// trace is a sum of all that happened.
func (w *world) trace() uint64 {
	h := fnv.New64a()
	w.write(h)
	for i := range w.recs {
		_, _ = h.Write(w.recs[i].Data) // a hash takes everything
	}
	return h.Sum64()
}
