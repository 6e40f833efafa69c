package turn_test

import (
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// inside is what a running call does before its end: it makes calls of its own,
// and asks people, side by side or one after the other.
func (w *world) inside(c *turn.Call, n int, end func() turn.Input) {
	if n == 0 {
		w.ready = append(w.ready, end)
		return
	}
	var next func() turn.Input
	beside := w.rng.IntN(3) == 0
	going := func() {
		if !beside {
			w.inside(c, n-1, end)
		}
	}
	switch w.rng.IntN(8) {
	case 0:
		next = func() turn.Input { going(); return turn.Veto{Turn: c.Turn, Call: c.ID, By: "policy"} }
	case 1, 2, 3:
		next = func() turn.Input { return w.question(c, going) }
	default:
		next = func() turn.Input { return w.innerCall(c, going) }
	}
	w.ready = append(w.ready, next)
	if beside {
		w.inside(c, n-1, end)
	}
}

func (w *world) question(c *turn.Call, going func()) turn.Input {
	return turn.AskPeople{Turn: c.Turn, Call: c.ID, Asked: event.ApprovalAsked{Tool: c.Name, Prompt: "which?", Question: true},
		Token: w.tok(func(r turn.Reply) {
			if _, ok := r.Value.(event.ApprovalDecided); ok == (r.Err != nil) {
				w.fail("a question was answered %+v", r)
			}
			going()
		})}
}

func (w *world) innerCall(c *turn.Call, going func()) turn.Input {
	return turn.BeginInner{Turn: c.Turn, Call: c.ID, Started: event.InnerStarted{Tool: "read", Args: []byte("{}"), By: "yes"},
		Token: w.tok(func(r turn.Reply) {
			n, ok := r.Value.(int)
			if r.Err != nil || !ok {
				going()
				return
			}
			if w.coord.tripped && w.rng.IntN(2) == 0 {
				going() // it never ends
				return
			}
			w.ready = append(w.ready, func() turn.Input {
				going()
				in := turn.EndInner{Turn: c.Turn, Call: c.ID, Ended: event.InnerEnded{N: n, Tool: "read", Ended: event.CallEnded{Outcome: event.CallFinished}}}
				if w.rng.IntN(20) == 0 {
					in.Fatal = "broken within"
				}
				return in
			})
		})}
}

// count adds up what a run came to.
func (w *world) count(phases map[event.TurnOutcome]int, seen map[string]int) {
	for what, n := range w.see.count {
		seen[what] += n
	}
	message, failed, asked := false, false, 0
	for i := range w.recs {
		p, _ := w.recs[i].Body()
		switch p := p.(type) {
		case event.TurnStarted:
			asked = 0
			switch {
			case p.RetryOf != 0:
				seen["retried"]++
			case p.Kind == event.TurnWake:
				seen["woken"]++
			}
		case event.InboxClaimed, event.InboxDropped, event.InboxEdited, event.Rewound, event.CompactionEnded, event.GuardVerdict, event.UserMessage:
			steering(seen, &w.recs[i], p)
		case event.StepStarted:
			if message && failed {
				seen["broke off and went on"]++
			}
			message, failed = false, false
		case event.ModelRequest:
			failed, asked = false, asked+1
		case event.AttemptFailed:
			failed = true
		case event.AssistantMessage:
			message = true
		case event.CallStarted:
			if !message {
				seen["went ahead"]++
			}
		case event.InnerStarted:
			seen["inner left open"]++
		case event.InnerEnded:
			seen["inner ended"]++
			seen["inner left open"]--
		case event.ApprovalVoided:
			if strings.Contains(string(p.ID), ".q") {
				seen["question voided"]++
			}
		case event.ApprovalDecided:
			if strings.Contains(string(p.ID), ".q") {
				seen["question answered"]++
			}
		case event.TurnEnded:
			phases[p.Outcome]++
			if p.Outcome == event.TurnBlocked && asked == 0 {
				seen["blocked before it asked"]++
			}
			message, failed = false, false
		}
	}
}

// steering counts what people and guards did to the session.
func steering(seen map[string]int, r *event.Record, p event.Payload) {
	what := ""
	switch p := p.(type) {
	case event.InboxClaimed:
		if p.Steer {
			what = "steered"
		}
	case event.InboxDropped:
		what = p.Why
	case event.InboxEdited:
		what = "edited"
	case event.Rewound:
		what = "rewound"
		seen["returned"] += len(p.Returns)
	case event.CompactionEnded:
		switch {
		case !p.Installed:
			what = "compaction failed"
		case r.Step > 1:
			seen["compacted in a turn"]++
			fallthrough
		default:
			what = "compacted"
		}
	case event.GuardVerdict:
		if p.Guard == "stall" {
			what = "judged a cut"
		}
	case event.UserMessage:
		if p.Origin == "guard" {
			what = "told of a loop"
		}
	}
	if what != "" {
		seen[what]++
	}
}
