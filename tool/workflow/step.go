package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

// mostText is how much of a step's text a script gets, in bytes.
const mostText = 256 << 10

// step is one call that the script asked for.
type step struct {
	id      int // the engine's
	name    string
	args    json.RawMessage
	started bool
	over    bool
	inner   tool.Inner
	err     error
}

// stepEnd is what came out of a step's goroutine.
type stepEnd struct {
	step  *step
	inner tool.Inner
	err   error
}

// ask queues a step, or tells the script why there is none.
func (r *run) ask(f frame) {
	s := &step{id: f.ID, name: f.Name, args: argsOf(f.Args)}
	why := ""
	switch _, ok := tool.CallerOf(r.call); {
	case !ok:
		why = "no tool can be called from here"
	case f.Name == Name:
		why = "a script cannot start a script"
	case len(r.steps) >= r.o.Steps:
		why = fmt.Sprintf("the script's %d steps are used up", r.o.Steps)
	}
	if why != "" {
		r.send(frame{Kind: kindResult, ID: f.ID, Error: why})
		return
	}
	r.steps, r.queue = append(r.steps, s), append(r.queue, s)
}

// dispatch starts what may start. Which of them share their time is for the
// caller to say, which knows the tools.
func (r *run) dispatch(ctx context.Context) {
	caller, _ := tool.CallerOf(r.call)
	for len(r.queue) > 0 && r.active < r.o.Side {
		s := r.queue[0]
		r.queue = r.queue[1:]
		s.started = true
		r.active++
		r.work.Go(func() {
			inner, err := caller.Call(ctx, s.name, s.args)
			r.ended <- stepEnd{s, inner, err}
		})
	}
}

// stepEnded takes a step's end and tells the script, which hears nothing more
// once it is being stopped.
func (r *run) stepEnded(e stepEnd) {
	r.active--
	s := e.step
	s.over, s.inner, s.err = true, e.inner, e.err
	switch {
	case tool.IsFatal(e.err):
		r.stop(fatal, e.err)
	case errors.Is(e.err, tool.ErrSkipped):
		r.stop(tripped, nil)
	case r.phase != running:
	case e.err != nil:
		r.send(frame{Kind: kindResult, ID: s.id, Error: e.err.Error()})
	default:
		r.send(frame{Kind: kindResult, ID: s.id, Result: resultOf(e.inner)})
	}
}

// resultOf is a step's end as the script sees it.
func resultOf(in tool.Inner) *result {
	e := in.Ended
	text := e.Result.Content.Text()
	if e.Err != "" {
		text = strings.TrimSuffix(e.Err+"\n"+text, "\n")
	}
	if in.Denied != "" && text == "" {
		text = in.Denied
	}
	out := &result{N: in.N, Outcome: string(e.Outcome), ExitCode: e.Result.ExitCode, Signal: e.Result.Signal, Denied: in.Denied}
	out.Success = succeeded(e)
	out.TimedOut = e.Result.TimedOut != nil && *e.Result.TimedOut
	cut := 0
	out.Text, cut = tool.Bounded(text, mostText)
	out.Truncated = cut > 0 || e.Result.Output != nil && e.Result.Output.Truncated
	return out
}

// succeeded reports whether a call ran to its end and says that it succeeded.
func succeeded(e tool.Ended) bool {
	switch e.Outcome {
	case event.CallFinished, event.CallFinishedLate:
		return e.Err == "" && e.Result.Success
	case event.CallStopped, event.CallSkipped, event.CallInvalid, event.CallWasDenied, event.CallFatal, event.CallUnknown, event.CallQuarantined:
	}
	return false
}

// fate is what became of a step, for the result's list.
func (s *step) fate() string {
	switch {
	case !s.started, errors.Is(s.err, tool.ErrSkipped):
		return "never started"
	case !s.over:
		return "still running"
	case s.err != nil:
		return "failed: " + s.err.Error()
	case s.inner.Denied != "":
		return "denied"
	}
	e := s.inner.Ended
	fate := string(e.Outcome)
	switch {
	case e.Result.ExitCode != nil:
		fate += fmt.Sprintf(", exit code %d", *e.Result.ExitCode)
	case e.Outcome == event.CallFinished && !succeeded(e):
		fate += ", without success"
	}
	return fate
}

// mostListed is how many steps are named in a result, half of them the first.
const mostListed = 60

// list names the steps and what became of them.
func (r *run) list() string {
	if len(r.steps) == 0 {
		return "no steps"
	}
	var b strings.Builder
	b.WriteString("steps:")
	for i, s := range r.steps {
		if skip := len(r.steps) - mostListed; skip > 0 && i >= mostListed/2 && i < mostListed/2+skip {
			if i == mostListed/2 {
				fmt.Fprintf(&b, "\n[… %d more …]", skip)
			}
			continue
		}
		n := "-" // it has no number in the journal: it never started
		if s.inner.N > 0 {
			n = strconv.Itoa(s.inner.N)
		}
		fmt.Fprintf(&b, "\n%s %s: %s", n, s.name, s.fate())
	}
	return b.String()
}
