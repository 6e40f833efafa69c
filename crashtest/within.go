package crashtest

import (
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/tool"
)

// inner is a call that a running call made.
type inner struct {
	tool  string
	ended bool
}

// hook is one that runs now.
type hook struct {
	name, on string
	call     event.CallID
}

// childLink is a sub-agent as the journal names it.
type childLink struct {
	call       event.CallID
	background bool
}

// began reports whether the intent of an inner call of that name stands.
func (w *walk) began(id event.CallID) bool {
	for outer, c := range w.calls {
		for i := range c.inner {
			if tool.InnerID(outer, i+1) == id {
				return c.started
			}
		}
	}
	return false
}

// within judges what a running call does in its own name.
func (w *walk) within(r *event.Record, p event.Payload) {
	c := w.calls[r.Call]
	if c == nil || !c.started || c.ended != nil {
		w.say(4, "record %d (%s) is of call %q, which does not run", r.Seq, r.Type, r.Call)
		return
	}
	if w.group {
		w.say(5, "record %d (%s): recovery tells of what nobody saw", r.Seq, r.Type)
	}
	switch p := p.(type) {
	case event.InnerStarted:
		if p.N != len(c.inner)+1 {
			w.say(4, "record %d starts inner call %d of %s behind %d of them", r.Seq, p.N, r.Call, len(c.inner))
		}
		c.inner = append(c.inner, &inner{tool: p.Tool})
	case event.InnerEnded:
		switch {
		case p.N < 1 || p.N > len(c.inner) || c.inner[p.N-1].tool != p.Tool:
			w.say(4, "record %d ends inner call %d of %s, which nobody started", r.Seq, p.N, r.Call)
		case c.inner[p.N-1].ended:
			w.say(4, "inner call %d of %s ends twice", p.N, r.Call)
		default:
			c.inner[p.N-1].ended = true
		}
	case event.SubAgentLinked:
		w.childs[p.Child] = &childLink{r.Call, p.Background}
	}
}

// leaves judges what a call leaves behind with its end: each inner call has its
// end or is named as unknown, no question of it is open, and one that was
// withdrawn is no answer.
func (w *walk) leaves(r *event.Record, c *call, p event.CallEnded) {
	text, ended := p.Content.Text(), 0
	for i, in := range c.inner {
		if in.ended {
			ended++
			continue
		}
		switch {
		case p.Outcome != event.CallUnknown && p.Outcome != event.CallQuarantined:
			w.say(4, "record %d ends call %s as %s over its inner call %d", r.Seq, r.Call, p.Outcome, i+1)
		case !strings.Contains(text, fmt.Sprintf("Inner call %d (%s) ", i+1, in.tool)):
			w.say(6, "record %d: inner call %d of %s had started, and the model is not told: %q", r.Seq, i+1, r.Call, text)
		}
	}
	if w.group && ended > 0 && !strings.Contains(text, fmt.Sprintf(" %d call", ended)) {
		w.say(12, "record %d: %d inner calls of %s had ended, and the model is not told: %q", r.Seq, ended, r.Call, text)
	}
	if c.questions > 0 {
		w.say(4, "record %d ends call %s over %d open questions", r.Seq, r.Call, c.questions)
	}
	if c.void && len(c.inner) == 0 && (p.Success != nil && *p.Success && p.Outcome == event.CallFinished && !p.Synthetic || p.Outcome == event.CallWasDenied) {
		w.say(6, "record %d: the question of call %s was withdrawn and is told as answered: %s", r.Seq, r.Call, p.Outcome)
	}
}

// again judges a request: none goes out behind a call of its own step, none in a
// turn that a hook has refused.
func (w *walk) again(r *event.Record) {
	for id, c := range w.calls {
		if c.turn == r.Turn && c.step == r.Step {
			w.say(6, "record %d asks for step %d once more behind its call %s", r.Seq, r.Step, id)
		}
	}
	if w.refused[r.Turn] {
		w.say(6, "record %d: the model is asked in turn %d, which a hook had refused", r.Seq, r.Turn)
	}
}

// message judges the words of a step: those that were streamed. One that ends
// with calls that had gone ahead may lack what an attempt that failed said
// behind them; it lists every call that was requested. One that went round in
// circles is kept up to where it began to.
func (w *walk) message(r *event.Record, p event.AssistantMessage) {
	listed, ahead := map[event.CallID]bool{}, 0
	for _, c := range p.Content.Calls() {
		listed[c.ID] = true
	}
	for id, c := range w.calls {
		if c.turn != r.Turn || c.step != r.Step {
			continue
		}
		if ahead++; !listed[id] {
			w.say(12, "record %d: the message does not list call %s, which was requested before it", r.Seq, id)
		}
	}
	got, said := p.Content.Text(), w.streamed.String()
	part := w.circles && p.Partial && strings.TrimSpace(got) != "" || ahead > 0 && p.Partial && !p.Made
	if got != said && (!part || !strings.HasPrefix(said, got)) {
		w.say(12, "record %d: the message says %q, streamed was %q", r.Seq, clip(got), clip(said))
	}
}

// hook judges a hook and its verdict, and remembers what a block forbids. One
// that ran when the process died has no verdict: nobody invents it.
func (w *walk) hook(r *event.Record, p event.Payload) {
	if w.group {
		w.say(5, "record %d (%s): recovery ran no hook", r.Seq, r.Type)
	}
	switch p := p.(type) {
	case event.HookInvoked:
		w.hooks[hook{p.Hook, p.On, r.Call}]++
	case event.HookVerdict:
		h := hook{p.Hook, p.On, r.Call}
		if w.hooks[h]--; w.hooks[h] < 0 {
			w.say(4, "record %d is the verdict of hook %s at %s, which nobody ran", r.Seq, p.Hook, p.On)
		}
		switch {
		case p.Verdict != "block" && p.Verdict != "no-answer":
		case p.On == string(gate.PreTool):
			w.blocked[r.Call] = true
		case p.On == string(gate.TurnStart):
			w.refused[r.Turn] = true
		}
	}
}

// plan judges plan mode by what people said: it is over only where a person
// said so, in an input or to a plan that was then told as approved.
func (j *judge) plan() {
	entered, over := false, false
	asked := map[event.ApprovalID]event.CallID{}
	yes := map[event.CallID]bool{}
	for i := range j.recs {
		p, err := j.recs[i].Body()
		if err != nil {
			return
		}
		switch p := p.(type) {
		case event.InboxAccepted:
			if plan, said := gate.ModeOf(p.Options.Attributes); said {
				entered, over = plan, !plan
			}
		case event.ApprovalAsked:
			asked[p.ID] = j.recs[i].Call
		case event.ApprovalDecided:
			yes[asked[p.ID]] = p.Decision == event.Allow && strings.EqualFold(p.Why, "approve")
		case event.CallEnded:
			id := j.recs[i].Call
			if c := j.w.calls[id]; c != nil && c.name == "exit_plan" && yes[id] && !p.Synthetic && p.Success != nil && *p.Success {
				over = true
			}
		}
	}
	planned, err := gate.Planned(func(yield func(event.Record, error) bool) {
		for _, r := range j.recs {
			if !yield(r, nil) {
				return
			}
		}
	})
	if want := entered && !over; err != nil || planned != want {
		j.say(6, "the session is in plan mode: %v, by what people said: %v (%v)", planned, want, err)
	}
}
