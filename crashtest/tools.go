package crashtest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Effects counts what tools did to the outside. It survives the runtimes that
// it is given to.
type Effects struct {
	mu   sync.Mutex
	runs map[event.CallID]int
	seen map[event.CallID]event.Seq
}

// NewEffects returns an empty count.
func NewEffects() *Effects {
	return &Effects{runs: map[event.CallID]int{}, seen: map[event.CallID]event.Seq{}}
}

// Note counts one run of a call, at which the journal had acknowledged acked.
func (e *Effects) Note(id event.CallID, acked event.Seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[id]++
	if _, again := e.seen[id]; !again {
		e.seen[id] = acked
	}
}

// Runs returns how often each call ran.
func (e *Effects) Runs() map[event.CallID]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[event.CallID]int{}
	for id, n := range e.runs {
		out[id] = n
	}
	return out
}

// Seen returns what was acknowledged when each call ran first.
func (e *Effects) Seen() map[event.CallID]event.Seq {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[event.CallID]event.Seq{}
	for id, seq := range e.seen {
		out[id] = seq
	}
	return out
}

// Kit makes the tools of the scenarios:
//
//	append     does something that must not be done twice
//	look       reads, and may run beside others
//	ask        is append that asks for approval
//	forbidden  is refused by a rule
//	hang       starts a process and waits until it is stopped
//	serve      leaves a job behind that is kept
func Kit(e *Effects, acked func() event.Seq) []tool.Tool {
	return []tool.Tool{
		&kitTool{name: "append", effects: e, acked: acked},
		&kitTool{name: "look", effects: e, acked: acked, pure: true},
		&kitTool{name: "ask", effects: e, acked: acked, asks: true},
		&kitTool{name: "forbidden", effects: e, acked: acked},
		&hangTool{kitTool{name: "hang", effects: e, acked: acked}},
		&kitTool{name: "serve", effects: e, acked: acked, job: true},
	}
}

type kitTool struct {
	name    string
	effects *Effects
	acked   func() event.Seq
	pure    bool
	asks    bool
	job     bool
}

func (t *kitTool) Spec() tool.Spec {
	s := tool.Spec{Name: t.name, Description: "a tool of the crash tests", Schema: json.RawMessage(`{"type":"object"}`)}
	if t.pure {
		s.Effect, s.Concurrent = tool.Pure, true
	}
	if t.asks {
		s.Asks = func(json.RawMessage) (string, bool) { return "run " + t.name, true }
	}
	return s
}

func (t *kitTool) Execute(ctx context.Context, c *tool.Call) (tool.Result, error) {
	t.effects.Note(c.ID, t.acked())
	if t.job {
		p := started("call", c)
		p.Keep = true
		if err := tool.RecorderOf(c).Record(ctx, p); err != nil {
			return tool.Result{}, err
		}
		id, err := tool.JobsOf(c).Adopt(ctx, tool.Job{Call: c.ID, Command: "serve", Process: &still{gone: make(chan struct{})}, Keep: true})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text("left running as " + string(id)), nil
	}
	return tool.Text("done: " + t.name + " " + string(c.Args)), nil
}

// hangTool runs until its context is cut.
type hangTool struct{ kitTool }

func (t *hangTool) InterruptBehaviour() interrupt.Behaviour { return interrupt.ContextInterruptible }

func (t *hangTool) Execute(ctx context.Context, c *tool.Call) (tool.Result, error) {
	t.effects.Note(c.ID, t.acked())
	rec, p := tool.RecorderOf(c), started("call", c)
	if err := rec.Record(ctx, p); err != nil {
		return tool.Result{}, err
	}
	<-ctx.Done()
	books, done := interrupt.CallContext(ctx)
	defer done()
	err := rec.Record(books, event.ProcessEnded{Owner: p.Owner, ID: p.ID, PID: p.PID, Signal: "SIGTERM", How: "stopped"})
	res := tool.Text("half of it")
	res.Stopped = true
	return res, err
}

// noPID is above what any system gives out, so that nobody is ever found there.
const noPID = 1 << 30

// started is the record of a process that never was.
func started(owner string, c *tool.Call) event.ProcessStarted {
	return event.ProcessStarted{Owner: owner, ID: string(c.ID), PID: noPID, Start: 1, Boot: "none", Lane: "group", Command: c.Name}
}

// still is a process of a job that runs until somebody stops it.
type still struct {
	once sync.Once
	gone chan struct{}
}

func (s *still) PIDs() []int                { return []int{noPID} }
func (s *still) Gone() <-chan struct{}      { return s.gone }
func (s *still) Exit() (*int, string)       { return nil, "SIGTERM" }
func (s *still) Output(int) (string, int64) { return "", 0 }
func (s *still) Keep(bool) error            { return nil }
func (s *still) Stop(interrupt.Ladder) []int {
	s.once.Do(func() { close(s.gone) })
	return nil
}
