package gate

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// ModeAttribute is the attribute of a submit that says in which mode the
// session is to be from then on: [ModePlan] or [ModeAct], as a JSON string.
const (
	ModeAttribute = "mode"
	ModePlan      = "plan"
	ModeAct       = "act"
)

// exitPlan is the tool whose success ends plan mode.
const exitPlan = "exit_plan"

// ModeOf reads the mode that a submit asks for; said is false if it asks for
// none.
func ModeOf(attributes map[string]json.RawMessage) (plan, said bool) {
	var mode string
	if json.Unmarshal(attributes[ModeAttribute], &mode) != nil {
		return false, false
	}
	return mode == ModePlan, mode == ModePlan || mode == ModeAct
}

// PlanMode puts plan mode in front of g: where a session is in it, tools that
// change nothing ([tool.Pure]) and those named in also go on to g, every other
// call is refused with one sentence.
func PlanMode(g Gate, p *Plans, also ...string) Gate {
	return planned{g, p, append(slices.Clone(also), exitPlan)}
}

type planned struct {
	gate  Gate
	plans *Plans
	also  []string
}

// Judge implements [Gate].
func (g planned) Judge(ctx context.Context, call *tool.Call, spec tool.Spec) (Verdict, error) {
	if g.plans.On(call.Session, call.Turn) && spec.Effect != tool.Pure && !slices.Contains(g.also, call.Name) {
		return blocked("mode:plan", "the session is in plan mode, in which nothing is changed: look, think, and present your plan with exit_plan"), nil
	}
	return Closed(g.gate).Judge(ctx, call, spec)
}

// Plans knows which sessions are in plan mode. The mode is a fold over the
// journal ([Planned]): [Plans.Load] takes it from there when a session is
// opened or rewound, and Enter, Act and Leave follow it while it lives. The
// zero value is ready; it is safe for concurrent use.
//
//	          Enter, at once
//	acting ───────────────────▶ planning
//	   ▲                            │
//	   ├──Leave (approved), at once─┤
//	   └──Act, from the next turn───┘
type Plans struct {
	mu    sync.Mutex
	until map[event.SessionID]int // calls of turns up to it are held to the mode
}

const (
	forever = math.MaxInt
	never   = -1
)

// On reports whether calls of that turn are held to plan mode.
func (p *Plans) On(id event.SessionID, turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, known := p.until[id]
	return known && turn <= until
}

// Enter begins the mode, for the running turn too.
func (p *Plans) Enter(id event.SessionID) { p.set(id, forever) }

// Act ends the mode behind the turn that is open, 0 if none is: what runs goes
// on as it began.
func (p *Plans) Act(id event.SessionID, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until, known := p.until[id]; known {
		p.until[id] = min(until, open)
	}
}

// Leave ends the mode at once: the plan was approved.
func (p *Plans) Leave(id event.SessionID) { p.set(id, never) }

// Forget drops what is known of a session that is closed.
func (p *Plans) Forget(id event.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, id)
}

// Load takes the mode from a session's records. A journal that can't be read
// leaves the session in plan mode: what nobody knows is not permitted.
func (p *Plans) Load(id event.SessionID, recs iter.Seq2[event.Record, error]) error {
	until, err := planUntil(recs)
	if err != nil {
		until = forever
	}
	p.set(id, until)
	return err
}

func (p *Plans) set(id event.SessionID, until int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[event.SessionID]int{}
	}
	p.until[id] = until
}

// Planned reports whether the next turn of a session with these records is held
// to plan mode.
func Planned(recs iter.Seq2[event.Record, error]) (bool, error) {
	until, err := planUntil(recs)
	return until == forever, err
}

// change is one record's say about the mode.
type change struct {
	until int
	input event.InputID // of a person's
	turn  int           // of an approval
}

// PlanNeeds picks the records from which the mode can be told; with the end of a
// call whose request it picks, and the bounds of the turns of all of them, they
// stand for the whole journal.
func PlanNeeds(rec *event.Record) bool {
	switch rec.Type {
	case event.TypeRewound:
		return true
	case event.TypeInboxAccepted, event.TypeInboxDropped, event.TypeCallRequested, event.TypeInnerEnded:
	default:
		return false
	}
	body, err := rec.Body()
	if err != nil {
		return true
	}
	switch p := body.(type) {
	case event.InboxAccepted:
		_, said := ModeOf(p.Options.Attributes)
		return said
	case event.InboxDropped:
		return p.Why == event.DroppedRefused
	case event.CallRequested:
		return p.Name == exitPlan
	case event.InnerEnded:
		return p.Tool == exitPlan
	}
	return false
}

// planUntil folds records into the last turn that is held to plan mode. An
// approval goes with its turn when that is rewound, a person's word stays.
func planUntil(recs iter.Seq2[event.Record, error]) (int, error) {
	var changes []change
	last := func() int {
		if len(changes) == 0 {
			return never
		}
		return changes[len(changes)-1].until
	}
	open := 0
	names := map[event.CallID]string{}
	for rec, err := range recs {
		if err != nil {
			return forever, err
		}
		body, err := rec.Body()
		if err != nil {
			return forever, err
		}
		switch p := body.(type) {
		case event.TurnStarted:
			open = rec.Turn
		case event.TurnEnded:
			open = 0
			clear(names)
		case event.CallRequested:
			names[rec.Call] = p.Name
		case event.InboxAccepted:
			if plan, said := ModeOf(p.Options.Attributes); plan {
				changes = append(changes, change{until: forever, input: p.ID})
			} else if said {
				changes = append(changes, change{until: min(last(), open), input: p.ID})
			}
		case event.InboxDropped:
			if p.Why == event.DroppedRefused { // nobody was told that it is accepted
				changes = slices.DeleteFunc(changes, func(c change) bool { return c.input == p.ID })
			}
		case event.CallEnded:
			if names[rec.Call] == exitPlan && approved(p) {
				changes = append(changes, change{until: never, turn: rec.Turn})
			}
		case event.InnerEnded:
			if p.Tool == exitPlan && approved(p.Ended) {
				changes = append(changes, change{until: never, turn: rec.Turn})
			}
		case event.Rewound:
			changes = slices.DeleteFunc(changes, func(c change) bool { return c.turn >= p.From && c.turn > 0 })
		}
	}
	return last(), nil
}

// approved reports whether an end of exit_plan is an approval: only a call that
// reached its own end keeps a success.
func approved(e event.CallEnded) bool {
	return e.Success != nil && *e.Success && !e.Error && !e.Synthetic
}
