package turn_test

import (
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// What a model says at length.
var (
	tooLong       = strings.Repeat("s ", 150<<10)
	longWords     = varied(400, "w")
	someWords     = varied(300, "r")
	roundAndRound = strings.Repeat("round and round it goes, ", 200)
)

// attempt makes up an answer and lets it stream piece by piece.
func (w *world) attempt(e turn.Ask) {
	w.asked(e.Messages)
	if w.coord.tripped || w.coord.turn != e.Turn { // looked at once more before the first byte
		w.queue = append(w.queue, turn.Answered{Ticket: e.Ticket, Cut: true})
		return
	}
	script, last := w.answer(e)
	hangs := !w.calm && w.rng.IntN(14) == 0
	if hangs {
		script = script[:w.rng.IntN(len(script)+1)]
	}
	cut := func() {
		w.ready = append(w.ready, func() turn.Input { return turn.Answered{Ticket: e.Ticket, Cut: w.coord.tripped} })
	}
	var step func() turn.Input
	step = func() turn.Input {
		switch {
		case w.coord.turn == e.Turn && w.coord.tripped && w.rng.IntN(2) == 0:
			return turn.Answered{Ticket: e.Ticket, Cut: true}
		case len(script) == 0 && hangs && w.coord.tripped:
			return turn.Answered{Ticket: e.Ticket, Cut: true}
		case len(script) == 0 && hangs && w.opts.Guards.OnStall == guard.Warn: // the socket's own timer is all that ends it
			w.ready = append(w.ready, func() turn.Input {
				return turn.Answered{Ticket: e.Ticket, Failure: &event.Failure{Code: event.FailStall, Message: "the socket was silent"}}
			})
			return nil
		case len(script) == 0 && hangs:
			w.silent = cut
			return nil
		case len(script) == 0:
			return last
		}
		d := script[0]
		script = script[1:]
		w.ready = append(w.ready, step)
		return turn.Streamed{Ticket: e.Ticket, Delta: d}
	}
	w.ready = append(w.ready, step)
}

// asked judges a request: a strict provider takes it, and nothing of a turn that
// is hidden, or of an input that is in no turn, is in it.
func (w *world) asked(messages []event.Message) {
	if err := scripted.Validate(messages); err != nil && !strings.Contains(err.Error(), "user messages in a row") {
		w.fail("a request with an invalid history: %v", err)
	}
	for _, m := range messages {
		text := m.Content.Text()
		if strings.HasPrefix(text, "<conversation_summary>") {
			continue
		}
		for n := range w.see.hidden {
			if strings.Contains(text, ofTurn(n)) {
				w.fail("hidden turn %d is in a request: %q", n, text)
			}
		}
		if id, ok := inputIn(text); ok && w.see.inputs[id].at != inHistory {
			w.fail("input %s, which is %v, is in a request: %q", id, w.see.inputs[id].at, text)
		}
	}
}

// ofTurn marks what was said in turn n.
func ofTurn(n int) string { return fmt.Sprintf("[t%d]", n) }

// answer makes up what the model says, and how it ends.
func (w *world) answer(e turn.Ask) (script []event.Delta, last turn.Answered) {
	last = turn.Answered{Ticket: e.Ticket}
	add := func(d ...event.Delta) { script = append(script, d...) }
	if w.calm {
		add(event.TextDelta{Text: "a calm answer"}, event.Finish{Reason: event.FinishStop})
		return script, last
	}
	mark := ofTurn(e.Turn)
	if w.rng.IntN(5) == 0 {
		add(event.ReasoningDelta{Block: 9, Text: "thinking " + mark}, event.ReasoningDelta{Block: 9, Signature: "sig", Provider: "sim"})
	}
	if w.rng.IntN(3) > 0 {
		add(event.TextDelta{Text: "some " + mark}, event.TextDelta{Text: " words"})
	}
	if w.rng.IntN(12) == 0 {
		add(event.TextDelta{Text: someWords}, event.TextDelta{Text: roundAndRound})
	}
	finish := event.FinishStop
	for i := range w.rng.IntN(4) {
		if e.Step > 3 {
			break
		}
		finish = event.FinishTools
		add(w.call(i + 1)...)
	}
	if w.rng.IntN(20) == 0 {
		finish = event.FinishLength
	}
	if w.rng.IntN(3) == 0 {
		in, out := int64(50), int64(5)
		add(event.UsageDelta{Usage: event.Tokens{Input: &in, Output: &out}})
	}
	switch w.rng.IntN(14) {
	case 0, 1:
		last.Failure = &event.Failure{Code: event.FailTransport, Message: "cut"}
		script = script[:w.rng.IntN(len(script)+1)]
	case 2:
		last.Failure = &event.Failure{Code: event.FailRequest, Message: "no"}
	case 3:
		last.Failure = &event.Failure{Code: event.FailContext, Message: "too long"}
		script = nil
	case 4:
		last.Failure = &event.Failure{Code: event.FailStall, Message: "the socket was silent"}
		script = script[:w.rng.IntN(len(script)+1)]
	default:
		add(event.Finish{Reason: finish})
	}
	return script, last
}

// call is one call as it streams.
func (w *world) call(block int) []event.Delta {
	id := ""
	if w.rng.IntN(3) > 0 {
		w.calls++
		id = fmt.Sprintf("c%d", w.calls)
	}
	name := []string{"read", "bash", "nosuch"}[w.rng.IntN(3)]
	args := []string{`{"a":1}`, `{"a":`, ``, `{"b":2}`}[w.rng.IntN(4)]
	if w.rng.IntN(5) == 0 {
		args = `{"content":"` + longWords
	}
	return []event.Delta{event.CallStart{Block: block, ID: id, Name: name}, event.ArgsDelta{Block: block, Text: args}, event.CallEnd{Block: block}}
}

// summary ends the request for one, in one of its ways.
func (w *world) summary(e turn.AskSummary) {
	n := len(e.Messages)
	w.asked(e.Messages[:n-1])
	in := turn.Summarized{Ticket: e.Ticket, Text: "in short", Bytes: 8}
	if w.coord.tripped || w.coord.turn != e.Turn {
		in.Cut = true
		w.queue = append(w.queue, in)
		return
	}
	switch w.rng.IntN(8) {
	case 0:
		in.Text, in.Bytes, in.Failure = "in", 2, &event.Failure{Code: event.FailTransport, Message: "cut"}
	case 1:
		in.Text, in.Bytes, in.Blocked = "", 0, "hook:compact"
	case 2:
		in.Text = " "
	case 3:
		in.Text, in.Bytes = tooLong, len(tooLong)
	}
	end := func() turn.Input {
		in.Cut = w.coord.tripped && w.rng.IntN(2) == 0
		return in
	}
	if w.rng.IntN(4) == 0 { // it takes its time
		w.ready = append(w.ready, func() turn.Input { w.ready = append(w.ready, end); return nil })
		return
	}
	w.ready = append(w.ready, end)
}

func (w *world) judge(c *turn.Call) {
	w.ready = append(w.ready, func() turn.Input {
		v := []turn.Verdict{turn.VerdictAllow, turn.VerdictAllow, turn.VerdictAllow, turn.VerdictAllow, turn.VerdictAsk, turn.VerdictDeny, turn.VerdictBlock}[w.rng.IntN(7)]
		return turn.Judged{Call: c.ID, Verdict: v, By: "gate", Prompt: "may I"}
	})
}

// run is a call's runner: the gate, the intent, the effect, the end.
func (w *world) run(c *turn.Call) {
	end := func(o event.CallOutcome) turn.Input {
		ok, ms := true, int64(5)
		ended := event.CallEnded{Outcome: o, Content: event.TextOf("out " + ofTurn(c.Turn)), RanMS: &ms}
		if o == event.CallFinished {
			ended.Success = &ok
		}
		in := turn.End{Turn: c.Turn, Call: c.ID, Ended: ended}
		if o == event.CallFatal {
			in.Fatal = "broken"
		}
		return in
	}
	stopped := func() bool { return w.coord.turn != c.Turn || w.coord.tripped }
	w.ready = append(w.ready, func() turn.Input {
		if stopped() {
			return end(event.CallSkipped)
		}
		begin := turn.Begin{Turn: c.Turn, Call: c.ID, Behaviour: "COOPERATIVE", Effect: "unsafe"}
		begin.Token = w.tok(func(r turn.Reply) {
			if r.Err != nil {
				w.ready = append(w.ready, func() turn.Input { return end(event.CallSkipped) })
				return
			}
			if w.started[c.ID] {
				w.fail("call %s was started twice", c.ID)
			}
			w.started[c.ID] = true
			if !w.see.began[c.ID] {
				w.fail("call %s runs without its record", c.ID)
			}
			w.inside(c, w.rng.IntN(4), func() turn.Input {
				switch {
				case stopped() && w.rng.IntN(2) == 0:
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
