package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// Effects counts what tools did to the outside. It survives the runtimes that
// it is given to.
type Effects struct {
	mu   sync.Mutex
	runs map[effect]int
	seen map[effect]event.Seq
}

// effect is a call of a session; inner calls have their own name.
type effect struct {
	session event.SessionID
	call    event.CallID
}

// NewEffects returns an empty count.
func NewEffects() *Effects {
	return &Effects{runs: map[effect]int{}, seen: map[effect]event.Seq{}}
}

// Note counts one run of a call, at which its journal had acknowledged acked.
func (e *Effects) Note(c *tool.Call, acked event.Seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := effect{c.Session, c.ID}
	e.runs[k]++
	if _, again := e.seen[k]; !again {
		e.seen[k] = acked
	}
}

// Runs returns how often each call ran, of whatever session.
func (e *Effects) Runs() map[event.CallID]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[event.CallID]int{}
	for k, n := range e.runs {
		out[k.call] += n
	}
	return out
}

// Of returns how often each call of a session ran, and what was acknowledged
// when it did first.
func (e *Effects) Of(id event.SessionID) (runs map[event.CallID]int, seen map[event.CallID]event.Seq) {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs, seen = map[event.CallID]int{}, map[event.CallID]event.Seq{}
	for k, n := range e.runs {
		if k.session == id {
			runs[k.call], seen[k.call] = n, e.seen[k]
		}
	}
	return runs, seen
}

// Kit makes the tools of the scenarios:
//
//	append     does something that must not be done twice
//	look       reads, and may run beside others
//	ask        is append that asks for approval
//	forbidden  is refused by a rule
//	hang       starts a process and waits until it is stopped
//	serve      leaves a job behind that is kept
//	watch      reads until it is stopped, and may run beside others
//	script     makes the calls that its arguments list, one by one or side by side
func Kit(e *Effects, acked func(event.SessionID) event.Seq) []tool.Tool {
	return []tool.Tool{
		&kitTool{name: "append", effects: e, acked: acked},
		&kitTool{name: "look", effects: e, acked: acked, pure: true},
		&kitTool{name: "ask", effects: e, acked: acked, asks: true},
		&kitTool{name: "forbidden", effects: e, acked: acked},
		&hangTool{kitTool{name: "hang", effects: e, acked: acked}},
		&kitTool{name: "serve", effects: e, acked: acked, job: true},
		&watchTool{kitTool{name: "watch", effects: e, acked: acked, pure: true}},
		&scriptTool{kitTool{name: "script", effects: e, acked: acked}},
	}
}

type kitTool struct {
	name    string
	effects *Effects
	acked   func(event.SessionID) event.Seq
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
	t.effects.Note(c, t.acked(c.Session))
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
	t.effects.Note(c, t.acked(c.Session))
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

// watchTool waits until its turn is stopped, and looks for that itself.
type watchTool struct{ kitTool }

func (t *watchTool) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

func (t *watchTool) Execute(_ context.Context, c *tool.Call) (tool.Result, error) {
	t.effects.Note(c, t.acked(c.Session))
	<-tool.SignalOf(c).Done()
	res := tool.Text("seen so far")
	res.Stopped = true
	return res, nil
}

// scriptTool is a call that makes calls.
type scriptTool struct{ kitTool }

func (t *scriptTool) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

func (t *scriptTool) Execute(ctx context.Context, c *tool.Call) (tool.Result, error) {
	t.effects.Note(c, t.acked(c.Session))
	var a struct {
		Steps  []string `json:"steps"`
		Beside bool     `json:"beside"`
	}
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return tool.Result{}, tool.Replyf("the steps can't be read: %w", err)
	}
	caller, ok := tool.CallerOf(c)
	if !ok {
		return tool.Result{}, tool.Replyf("this call can make no calls")
	}
	said, errs := make([]string, len(a.Steps)), make([]error, len(a.Steps))
	step := func(i int) {
		in, err := caller.Call(ctx, a.Steps[i], json.RawMessage(`{}`))
		said[i], errs[i] = fmt.Sprintf("%s: %s%s", a.Steps[i], in.Ended.Outcome, in.Denied), err
	}
	var beside sync.WaitGroup
	for i := range a.Steps {
		if a.Beside {
			beside.Go(func() { step(i) })
			continue
		}
		if step(i); errs[i] != nil {
			break
		}
	}
	beside.Wait()
	err := errors.Join(errs...)
	res := tool.Text(strings.Join(said, "\n"))
	if res.Stopped = errors.Is(err, tool.ErrSkipped); res.Stopped || tool.SignalOf(c).Checkpoint() != nil {
		res.Stopped, err = true, nil
	}
	return res, err
}
