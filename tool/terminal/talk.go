package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	writeWait  = 5_000 // ms
	writeQuiet = 500
	pollWait   = 5_000
	pollQuiet  = 500

	mostInput  = 1 << 20                // bytes of one write
	inputBound = 5 * time.Second        // for a command to take it
	inputPiece = 250 * time.Millisecond // after which a trip is looked at again
)

const idField = `"id":{"type":"string","description":"the terminal's id, such as j1"}`

// look follows a terminal on behalf of a call that has found it.
type look struct {
	s     *Terminals
	call  *tool.Call
	t     *terminal
	p     patience
	limit int
}

// follow waits if there is something to wait for and says what it saw. head are
// lines to begin with; trip is what ends the waiting.
func (l look) follow(trip <-chan struct{}, mine bool, from int64, head ...string) tool.Result {
	w := whyBudget
	if l.p.budget > 0 {
		w = l.t.wait(l.call, l.t.nextEnd(), trip, from, l.p)
	} else if l.t.ended() {
		w = whyEnded
	}
	switch {
	case w == whyTrip && mine:
		was := closed(l.t.tree.Exited())
		survivors := l.s.end(l.call, l.t, "interrupt")
		r := report{head: append(head, fmt.Sprintf("terminal %s was closed", l.t.id)), limit: l.limit, stopped: true, survivors: survivors}
		if !was && l.t.own() { // what was waited for had come before anybody asked
			r.head, r.stopped = append(head, fmt.Sprintf("terminal %s has ended: %s", l.t.id, l.t.ending())), false
		}
		res := l.t.result(r)
		if len(survivors) == 0 {
			l.s.tell(l.call.Session, l.t)
		}
		return res
	case w == whyTrip:
		return l.t.result(report{head: append(head, fmt.Sprintf("only the waiting was ended: terminal %s runs on", l.t.id)), limit: l.limit, stopped: true})
	case w == whyEnded && l.t.settled(l.s.o.Settle):
		res := l.t.result(report{head: append(head, fmt.Sprintf("terminal %s has ended: %s", l.t.id, l.t.ending())), limit: l.limit})
		l.s.tell(l.call.Session, l.t)
		return res
	}
	return l.t.result(report{head: append(head, l.state()), limit: l.limit})
}

func (l look) state() string {
	if closed(l.t.tree.Exited()) {
		return fmt.Sprintf("the command of terminal %s has ended: %s; it left running: %s", l.t.id, l.t.ending(), pidList(l.t.PIDs()))
	}
	return fmt.Sprintf("terminal %s runs", l.t.id)
}

// watch is what ends the waiting of a call: its registrar if the terminal is of
// its own turn, else the signal alone.
func (l look) watch(ctx context.Context) (trip <-chan struct{}, mine bool, release func()) {
	if l.mine() && l.p.budget > 0 {
		own, release := owned(ctx, l.call)
		return own.Done(), true, release
	}
	return tool.SignalOf(l.call).Done(), false, func() {}
}

// mine reports whether the call's own turn opened the terminal.
func (l look) mine() bool { return l.t.turn != 0 && l.t.turn == l.call.Turn }

// look reads the arguments that all have and finds the terminal.
func (s *Terminals) look(call *tool.Call, id string, w waits, wait, quiet int) (l look, err error) {
	l = look{s: s, call: call}
	if l.p, l.limit, err = w.read(wait, quiet); err != nil {
		return l, err
	}
	l.t, err = s.find(call.Session, id)
	return l, err
}

type poll struct{ s *Terminals }

// Spec implements [tool.Tool].
func (c *poll) Spec() tool.Spec {
	return tool.Spec{Name: "terminal_poll", Effect: tool.Pure, Waits: true,
		Description: "Read what a terminal has printed since the last look, and wait for more. If it is long, head and tail are given and the number of bytes left out. " +
			"If the command has ended, the result says how. An interrupt of this wait ends a terminal that was started in this turn; an older one runs on.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id"],"properties":{` + idField + `,` + waitFields(pollWait, pollQuiet) + `}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (c *poll) InterruptBehaviour() interrupt.Behaviour { return interrupt.ExternallyTerminated }

// Execute implements [tool.Tool].
func (c *poll) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID string `json:"id"`
		waits
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	l, err := c.s.look(call, a.ID, a.waits, pollWait, pollQuiet)
	if err != nil {
		return tool.Result{}, err
	}
	trip, mine, release := l.watch(ctx)
	defer release()
	return l.follow(trip, mine, l.t.at()), nil
}

// at is where the cursor stands.
func (t *terminal) at() int64 { t.mu.Lock(); defer t.mu.Unlock(); return t.cursor }

type write struct{ s *Terminals }

// Spec implements [tool.Tool].
func (c *write) Spec() tool.Spec {
	return tool.Spec{Name: "terminal_write", Effect: tool.Unsafe, AsksCall: c.asks,
		Description: "Write to a terminal and read what it prints then. Nothing is added to the input: end a line with \\n; keys are control characters, such as \\u0003 for Ctrl-C, \\u0004 for Ctrl-D, \\u001b for Escape. " +
			"eof ends the input; rows and cols change the size of the window. An interrupt of the wait ends a terminal that was started in this turn; an older one runs on.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id"],"properties":{` + idField + `,` +
			`"input":{"type":"string","description":"what to write, as it is"},` +
			`"eof":{"type":"boolean","description":"end the input after it: closes a pipe, types Ctrl-D in a terminal"},` +
			fmt.Sprintf(`"rows":{"type":"integer","minimum":1,"maximum":%d},"cols":{"type":"integer","minimum":1,"maximum":%d},`, mostCells, mostCells) +
			waitFields(writeWait, writeQuiet) + `}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (c *write) InterruptBehaviour() interrupt.Behaviour { return interrupt.ExternallyTerminated }

type writeArgs struct {
	ID         string `json:"id"`
	Input      string `json:"input"`
	EOF        bool   `json:"eof"`
	Rows, Cols int
	waits
}

func (c *write) asks(call *tool.Call) (prompt string, ask bool) {
	var a writeArgs
	if tool.DecodeArgs(call.Args, &a) != nil {
		return "write to a terminal", true
	}
	if a.Input == "" && !a.EOF {
		return "", false // its size, or a look
	}
	prompt = "write to terminal " + tool.OneLine(a.ID, 100)
	if t, err := c.s.find(call.Session, a.ID); err == nil {
		prompt += " (" + tool.OneLine(t.command, 500) + ")"
	}
	prompt += ": " + tool.OneLine(a.Input, 2000)
	if a.EOF {
		prompt += " (and end its input)"
	}
	return prompt, true
}

// Execute implements [tool.Tool].
func (c *write) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a writeArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	if len(a.Input) > mostInput {
		return tool.Result{}, tool.Replyf("the input has %d bytes, the most is %d; write it in pieces or put it into a file", len(a.Input), mostInput)
	}
	if (a.Rows == 0) != (a.Cols == 0) {
		return tool.Result{}, tool.Replyf("rows and cols are given together")
	}
	l, err := c.s.look(call, a.ID, a.waits, writeWait, writeQuiet)
	if err != nil {
		return tool.Result{}, err
	}
	if err := tool.SignalOf(call).Checkpoint(); err != nil && !l.mine() {
		return tool.Result{}, err // nothing was written
	}
	trip, mine, release := l.watch(ctx)
	defer release()
	from := proc.Printed(l.t.tree)
	head, err := l.feed(trip, a)
	if err != nil {
		return tool.Result{}, err
	}
	return l.follow(trip, mine, from, head...), nil
}

// feed gives the command its size, its input and the input's end. What was not
// taken is said in a line.
func (l look) feed(trip <-chan struct{}, a writeArgs) (head []string, err error) {
	if a.Rows == 0 && a.Input == "" && !a.EOF {
		return nil, nil
	}
	if closed(l.t.tree.Exited()) {
		return nil, tool.Replyf("the command of terminal %s has ended (%s), nothing was written; read the rest with terminal_poll", l.t.id, l.t.ending())
	}
	in, ok := proc.InputOf(l.t.tree)
	if !ok {
		return nil, tool.Replyf("terminal %s has no input here, nothing was written; it can be read and ended", l.t.id)
	}
	if a.Rows > 0 {
		if err := l.pass(func() error { return in.Resize(a.Rows, a.Cols) }); err != nil {
			return nil, tool.Replyf("terminal %s: %w", l.t.id, err)
		}
		head = append(head, fmt.Sprintf("size %d×%d", a.Rows, a.Cols))
	}
	input := []byte(a.Input)
	if a.EOF && in.Terminal() {
		input = append(input, 4)
	}
	n, err := l.put(trip, in, input)
	if errors.Is(err, tool.ErrOver) {
		return nil, err
	}
	if err != nil || n < len(input) {
		head = append(head, fmt.Sprintf("only %d of %d bytes were taken: %s", n, len(input), because(err)))
		return head, nil
	}
	if a.EOF && !in.Terminal() {
		if err := l.pass(in.End); err != nil {
			head = append(head, fmt.Sprintf("its input could not be closed: %v", err))
		}
	}
	return head, nil
}

func because(err error) string {
	switch {
	case err == nil:
		return "the turn was stopped"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "the command does not read"
	case errors.Is(err, os.ErrClosed):
		return "its input is closed"
	}
	return err.Error()
}

// pass lets an effect through the call's fence.
func (l look) pass(effect func() error) error { return tool.FenceOf(l.call).Pass(effect) }

// put writes piece by piece, so that neither a trip nor the fence waits for a
// command that does not read.
func (l look) put(trip <-chan struct{}, in proc.Input, input []byte) (n int, err error) {
	for until := time.Now().Add(inputBound); n < len(input); {
		if closed(trip) {
			return n, nil
		}
		took := 0
		err = l.pass(func() (err error) {
			took, err = in.Write(input[n:], inputPiece)
			return err
		})
		n += took
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(until)) {
			return n, err
		}
	}
	return n, nil
}

type kill struct{ s *Terminals }

// forcedKill is what KILL and the proof that nothing is left may take once every
// grace is gone.
const forcedKill = 3 * time.Second

// Spec implements [tool.Tool].
func (c *kill) Spec() tool.Spec {
	return tool.Spec{Name: "terminal_kill", Effect: tool.Unsafe, Forced: forcedKill,
		Description: "End a terminal: its command and everything that the command started, asked first, then forced. The result has how it ended and the rest of the output.",
		Schema:      json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id"],"properties":{` + idField + `}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (c *kill) InterruptBehaviour() interrupt.Behaviour { return interrupt.Cooperative }

// Execute implements [tool.Tool].
func (c *kill) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var a struct {
		ID string `json:"id"`
	}
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	t, err := c.s.find(call.Session, a.ID)
	if err != nil {
		return tool.Result{}, err
	}
	if err := tool.FenceOf(call).Check(); err != nil {
		return tool.Result{}, err
	}
	by := "terminal_kill"
	survivors := c.s.end(call, t, by)
	res := t.result(report{head: []string{fmt.Sprintf("terminal %s was closed: %s", t.id, t.ending())}, limit: someBytes, survivors: survivors})
	if len(survivors) == 0 {
		c.s.tell(call.Session, t)
	}
	return res, nil
}

type list struct{ s *Terminals }

// Spec implements [tool.Tool].
func (c *list) Spec() tool.Spec {
	return tool.Spec{Name: "terminal_list", Effect: tool.Pure, Concurrent: true,
		Description: "List the terminals of this session: id, command, whether it runs, how much output is unread.",
		Schema:      json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (c *list) InterruptBehaviour() interrupt.Behaviour { return interrupt.NonInterruptible }

// Execute implements [tool.Tool].
func (c *list) Execute(_ context.Context, call *tool.Call) (tool.Result, error) {
	var all []*terminal
	c.s.change(call.Session, func(r *room) { all = append(all, r.list...) })
	if len(all) == 0 {
		return tool.Text("there is no terminal"), nil
	}
	var b strings.Builder
	for _, t := range all {
		state := "running, " + pidList(t.PIDs())
		switch {
		case t.ended():
			state = "ended, " + t.ending()
		case closed(t.tree.Exited()):
			state = "command ended, " + t.ending() + ", left running " + pidList(t.PIDs())
		}
		kept := ""
		if t.kept() {
			kept = ", kept"
		}
		fmt.Fprintf(&b, "%s: %s%s, %d bytes unread: %s\n", t.id, state, kept, t.unread(), tool.OneLine(t.command, 200))
	}
	return tool.Text(b.String()), nil
}
