package ripcord_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/tool/builtin"
)

// tape notes what is asked of a store, in order; at is called with the number
// of each request after the second journal was begun, from 1.
type tape struct {
	mu   sync.Mutex
	ops  []string
	from int
	at   func(n int)
}

func (p *tape) note(op string) error {
	p.mu.Lock()
	p.ops = append(p.ops, op)
	if op == "create" && p.from == 0 && slices.Contains(p.ops[:len(p.ops)-1], "create") {
		p.from = len(p.ops)
	}
	n := 0
	if p.from > 0 {
		n = len(p.ops) - p.from + 1
	}
	p.mu.Unlock()
	if n > 0 && p.at != nil {
		p.at(n)
	}
	return nil
}

func (p *tape) join(c *ripcord.Config, o *mem.Options) {
	c.Tools = append(c.Tools, builtin.TaskTools()...)
	o.Fault = p.note
}

const twoLevels = `
answer if user "please go" and not result
  call task t1 {"prompt":"toil"}
  finish tool
answer if user toil
  text I begin.
  hang
default
  text Hello.
  finish stop
`

// kidOf is the only sub-agent of r's session, with what its journal says.
func (r *rig) kidOf() *rig {
	r.t.Helper()
	for _, rec := range r.records() {
		p, err := rec.Body()
		if err != nil {
			r.t.Fatal(err)
		}
		if l, ok := p.(event.SubAgentLinked); ok {
			other := *r
			other.id = l.Child
			return &other
		}
	}
	r.t.Fatalf("no sub-agent\n%s", r.types())
	return nil
}

// The link is on the disk before the child's journal is begun.
//
// proves TOL-23, LOG-12
func TestTheLinkIsDurableBeforeTheChildBegins(t *testing.T) {
	p := &tape{}
	begun := make(chan struct{})
	p.at = func(n int) {
		if n == 1 {
			close(begun)
		}
	}
	r := newRig(t, twoLevels, p.join)
	sub, err := r.rt.Submit(t.Context(), api.SubmitRequest{Session: r.id, Input: event.UserInput{Content: event.TextOf("please go")}})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	p.mu.Lock()
	before := p.ops[p.from-2]
	p.mu.Unlock()
	if before != "sync" {
		t.Errorf("the last that was asked of a store before the child's journal is %q, want its parent's sync", before)
	}
	if _, err := r.rt.Interrupt(t.Context(), api.InterruptRequest{Session: r.id, Input: sub.Input}); err != nil {
		t.Fatal(err)
	}
	if res, err := r.rt.Wait(t.Context(), r.id, sub.Input); err != nil || *res.Outcome != event.TurnAborted {
		t.Errorf("%+v %v", res, err)
	}
}

// A stop that comes while a sub-agent is being opened is kept and delivered,
// whichever write it falls on.
//
// proves TOL-23, INT-16, INT-17, INT-21, INT-35
func TestAStopWhileASubAgentIsOpenedIsDelivered(t *testing.T) {
	began := 0
	for n := 1; n <= 9; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := &tape{}
			var r *rig
			ready := make(chan struct{})
			p.at = func(at int) {
				if at != n {
					return
				}
				<-ready
				if _, err := r.rt.Interrupt(t.Context(), api.InterruptRequest{Session: r.id, Who: "me"}); err != nil {
					t.Error(err)
				}
			}
			r = newRig(t, twoLevels, p.join)
			close(ready)
			res := r.run("please go")
			if *res.Outcome != event.TurnAborted || len(res.Calls) != 1 || res.Calls[0].Outcome != event.CallStopped {
				t.Errorf("%+v\n%s", res, r.types())
			}
			kid := r.kidOf()
			for _, rec := range kid.records() {
				if rec.Type == event.TypeTurnEnded {
					began++
					if !strings.Contains(string(rec.Data), string(interrupt.ParentCancelled)) {
						t.Errorf("%s", rec.Data)
					}
				}
			}
			if _, err := r.store.Acquire(t.Context(), kid.id); err != nil {
				t.Errorf("somebody holds the child: %v", err)
			}
			if res := r.run("hello"); *res.Outcome != event.TurnCompleted {
				t.Errorf("%+v", res)
			}
		})
	}
	if began == 0 || began == 9 {
		t.Errorf("the child had begun in %d of 9 cases", began)
	}
}

// What begins by itself behind a sub-agent's turn is a part of its work: it is
// not given up under a guard's wake, nor under words that were sent to it as now.
// The call that waits hears of the last end.
//
// proves GRD-03, TOL-23, TRN-13
func TestWhatFollowsASubAgentsTurnBelongsToItsWork(t *testing.T) {
	ask := said("please go", callOf("task", "t1", map[string]any{"prompt": "write the page"})+"finish tool")
	rest := "answer if result wake\ntext It was woken.\nfinish stop\nanswer if result sent\ntext It was told.\nfinish stop\ndefault\ntext Nobody said a thing.\nfinish stop\n"
	t.Run("a wake", func(t *testing.T) {
		b := newBench(t, ask+said("write the page", cutCall("w1", 20_000))+
			"answer if user \"was cut in the arguments\"\ntext Behind the wake.\nfinish stop\n"+rest,
			withBash(t), withAgents, stalls(time.Minute, 600*time.Millisecond, 100*time.Millisecond, time.Millisecond))
		res := b.run("please go")
		b.outcome(res, event.TurnCompleted)
		kid := b.kids()[0]
		if end := kid.ending(); res.Text != "It was woken." || end.Outcome != event.TurnCompleted || len(wakes(t, kid)) != 1 {
			t.Errorf("%q, the sub-agent's end: %+v\n%s", res.Text, end, kid.types())
		}
	})
	t.Run("words sent as now", func(t *testing.T) {
		b := newBench(t, ask+said("write the page", "text I begin.\nhang")+
			"answer if user \"be quick\"\ntext It was sent.\nfinish stop\n"+rest, withBash(t), withAgents)
		id := b.submit("please go")
		b.until("the sub-agent works", func() bool {
			k := b.kids()
			return len(k) == 1 && k[0].there() && k[0].recorded(event.TypeModelRequest) > 0 && len(b.server.Requests()) == 2 // the record is there before the request
		})
		kid := b.kids()[0]
		if _, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: kid.id, Input: event.UserInput{Content: event.TextOf("be quick")}, Priority: event.PriorityNow}); err != nil {
			t.Fatal(err)
		}
		res := b.wait(id)
		b.outcome(res, event.TurnCompleted)
		if end := kid.ending(); res.Text != "It was told." || end.Outcome != event.TurnCompleted {
			t.Errorf("%q, the sub-agent's end: %+v\n%s", res.Text, end, kid.types())
		}
	})
}
