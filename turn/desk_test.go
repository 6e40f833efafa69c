package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/turn"
)

// desk holds one machine and plays the session for it: what is recorded is
// kept, what comes back at once (a wake, the end of the hooks) comes back at
// once, and all else is the test's to answer.
type desk struct {
	t       *testing.T
	s       *turn.State
	now     time.Time
	recs    []event.Record
	effects []turn.Effect // since the last take
	token   turn.Token
	inputs  int
	noHooks bool // the test says when the hooks have ended
}

func newDesk(t *testing.T, opts turn.Options) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Unix(1000, 0).UTC()}
	if opts.Tools == nil {
		opts.Tools = tools()
	}
	if opts.Config.Model == "" {
		opts.Config = event.ModelConfig{Provider: "sim", Model: "m"}
	}
	l := turn.NewLedger()
	for _, p := range []event.Payload{event.SessionOpened{ID: "s_1"}, event.LeaseTaken{}} {
		r, err := event.New(p, d.now)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Epoch = l.Last()+1, 1
		if err := l.Apply(&r); err != nil {
			t.Fatal(err)
		}
		d.recs = append(d.recs, r)
	}
	d.s = turn.NewState(l, 1, opts)
	return d
}

// tell steps the machine and returns what the test has to answer.
func (d *desk) tell(in turn.Input) []turn.Effect {
	d.t.Helper()
	var again []turn.Input
	var out []turn.Effect
	for _, e := range d.s.Step(d.now, in) {
		switch e := e.(type) {
		case turn.Append:
			d.recs = append(d.recs, e.Records...)
		case turn.Wake:
			again = append(again, turn.Woken{})
		case turn.RunHooks:
			if !d.noHooks {
				again = append(again, turn.Hooked{})
			}
		case turn.Show:
			if strings.HasPrefix(e.State, "bug") {
				d.t.Errorf("%s", e.State)
			}
		}
		out = append(out, e)
	}
	d.effects = append(d.effects, out...)
	for _, in := range again {
		out = append(out, d.tell(in)...)
	}
	return out
}

// take returns the effects since the last take.
func (d *desk) take() []turn.Effect { out := d.effects; d.effects = nil; return out }

func (d *desk) pass(by time.Duration) { d.now = d.now.Add(by) }

// submit offers input and returns its id.
func (d *desk) submit(text string) event.InputID {
	d.t.Helper()
	d.inputs++
	d.token++
	id := event.InputID(fmt.Sprintf("i_%d", d.inputs))
	d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf(text)}, Priority: event.PriorityLater}})
	return id
}

// last returns the newest effect of kind E since the last take.
func last[E turn.Effect](d *desk) (E, bool) {
	for _, e := range slices.Backward(d.effects) {
		if e, ok := e.(E); ok {
			return e, true
		}
	}
	var none E
	return none, false
}

func must[E turn.Effect](d *desk) E {
	d.t.Helper()
	e, ok := last[E](d)
	if !ok {
		d.t.Fatalf("no %T; the machine is %v after\n%s", e, d.s.Phase(), d.types())
	}
	return e
}

func all[E turn.Effect](effects []turn.Effect) (out []E) {
	for _, e := range effects {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// stream gives the running attempt deltas.
func (d *desk) stream(deltas ...event.Delta) {
	d.t.Helper()
	ask := must[turn.Ask](d)
	for _, delta := range deltas {
		d.tell(turn.Streamed{Ticket: ask.Ticket, Delta: delta})
	}
}

// finish gives the running attempt its finish and its end.
func (d *desk) finish(reason event.FinishReason) {
	d.t.Helper()
	d.stream(event.Finish{Reason: reason})
	d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket})
}

func (d *desk) fail(f event.Failure) []turn.Effect {
	d.t.Helper()
	return d.tell(turn.Answered{Ticket: must[turn.Ask](d).Ticket, Failure: &f})
}

// calls streams an answer that is nothing but calls, given as id and name.
func (d *desk) calls(idsAndNames ...string) {
	d.t.Helper()
	for i := 0; i < len(idsAndNames); i += 2 {
		block := 10 + i // behind what a test streams by hand
		d.stream(event.CallStart{Block: block, ID: idsAndNames[i], Name: idsAndNames[i+1]},
			event.ArgsDelta{Block: block, Text: `{}`}, event.CallEnd{Block: block})
	}
	d.finish(event.FinishTools)
}

func (d *desk) allow(ids ...event.CallID) {
	d.t.Helper()
	for _, id := range ids {
		d.tell(turn.Judged{Call: id, Verdict: turn.VerdictAllow, By: "test"})
	}
}

// begin has a call's runner record its start; it returns the machine's word.
func (d *desk) begin(id event.CallID) error {
	d.t.Helper()
	d.token++
	for _, r := range all[turn.Reply](d.tell(turn.Begin{Turn: d.s.Turn.Number, Call: id, Behaviour: "NON_INTERRUPTIBLE", Effect: "unsafe", Token: d.token})) {
		if r.Token == d.token {
			return r.Err
		}
	}
	d.t.Fatalf("the start of %s was not answered", id)
	return nil
}

// end has a call's runner record its end; it returns the machine's word.
func (d *desk) end(id event.CallID, e event.CallEnded) error {
	d.t.Helper()
	return d.endOf(turn.End{Turn: d.s.Turn.Number, Call: id, Ended: e})
}

func (d *desk) endOf(in turn.End) error {
	d.t.Helper()
	d.token++
	in.Token = d.token
	for _, r := range all[turn.Reply](d.tell(in)) {
		if r.Token == d.token {
			return r.Err
		}
	}
	d.t.Fatalf("the end of %s was not answered", in.Call)
	return nil
}

func (d *desk) ran(id event.CallID) {
	d.t.Helper()
	d.allow(id)
	if err := errors.Join(d.begin(id), d.end(id, finished("did "+string(id)))); err != nil {
		d.t.Fatal(err)
	}
}

func finished(text string) event.CallEnded {
	ok, ms := true, int64(5)
	return event.CallEnded{Outcome: event.CallFinished, Success: &ok, Content: event.TextOf(text), RanMS: &ms}
}

func ended(o event.CallOutcome) event.CallEnded {
	ms := int64(3200)
	return event.CallEnded{Outcome: o, RanMS: &ms}
}

func (d *desk) trip(reason interrupt.Reason, who string) {
	d.t.Helper()
	d.tell(turn.Tripped{Cause: interrupt.Cause{Reason: reason, Who: who, At: d.now}})
}

// body returns the payload of a record.
func body(t *testing.T, r *event.Record) event.Payload {
	t.Helper()
	p, err := r.Body()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// payloads lists what was recorded of kind P.
func payloads[P event.Payload](t *testing.T, recs []event.Record) (out []P) {
	t.Helper()
	for i := range recs {
		if p, ok := body(t, &recs[i]).(P); ok {
			out = append(out, p)
		}
	}
	return out
}

// results maps each call to its one result; two for one call fail the test.
func results(t *testing.T, recs []event.Record) map[event.CallID]event.CallEnded {
	t.Helper()
	out := map[event.CallID]event.CallEnded{}
	for i := range recs {
		if e, ok := body(t, &recs[i]).(event.CallEnded); ok {
			if _, twice := out[recs[i].Call]; twice {
				t.Errorf("call %s has two results", recs[i].Call)
			}
			out[recs[i].Call] = e
		}
	}
	return out
}

func (d *desk) types() string {
	var b strings.Builder
	for i := range d.recs {
		fmt.Fprintf(&b, "%s ", d.recs[i].Type)
	}
	return b.String()
}

// ending returns the last turn's end, which must be recorded and published once.
func (d *desk) ending() event.TurnEnded {
	d.t.Helper()
	ends := payloads[event.TurnEnded](d.t, d.recs)
	pubs := all[turn.Publish](d.effects)
	if len(ends) == 0 || len(pubs) != 1 || pubs[0].Summary.Outcome != ends[len(ends)-1].Outcome {
		d.t.Fatalf("%d ends, published %+v; the machine is %v after\n%s", len(ends), pubs, d.s.Phase(), d.types())
	}
	return ends[len(ends)-1]
}
