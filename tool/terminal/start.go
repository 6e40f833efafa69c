package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	startWait  = 10_000 // ms
	startQuiet = 1_000
	rowsGiven  = 40
	colsGiven  = 120
	mostCells  = 1000

	recordBound = 5 * time.Second // for a fact about a process
)

type start struct{ s *Terminals }

// Spec implements [tool.Tool].
func (c *start) Spec() tool.Spec {
	return tool.Spec{Name: "terminal_start", Effect: tool.Unsafe, AsksCall: c.asks,
		Description: "Run a command that you want to talk to or that goes on for long: a shell, a debugger, a REPL, a server, a watcher. It gets a terminal, or plain pipes with tty false. " +
			"If the command ends within the wait, the result is its end. Else it goes on as a job, and the result has its id, for terminal_write, terminal_poll and terminal_kill, and the output so far. " +
			"It ends with the session unless keep is true. While this call waits, an interrupt ends the command. For a command that you only wait for use bash.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["command"],"properties":{` +
			`"command":{"type":"string","description":"what the shell is to run"},` +
			`"cwd":{"type":"string","description":"folder to run it in, inside the workspace; the workspace if not given"},` +
			`"tty":{"type":"boolean","description":"give it a terminal; true if not given"},` +
			fmt.Sprintf(`"rows":{"type":"integer","minimum":1,"maximum":%d,"description":"%d if not given"},`, mostCells, rowsGiven) +
			fmt.Sprintf(`"cols":{"type":"integer","minimum":1,"maximum":%d,"description":"%d if not given"},`, mostCells, colsGiven) +
			`"keep":{"type":"boolean","description":"let it live on after the session"},` +
			waitFields(startWait, startQuiet) + `}}`)}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (c *start) InterruptBehaviour() interrupt.Behaviour { return interrupt.ExternallyTerminated }

type startArgs struct {
	Command    string `json:"command"`
	Cwd        string `json:"cwd"`
	TTY        *bool  `json:"tty"`
	Rows, Cols int
	Keep       bool `json:"keep"`
	waits
}

func (c *start) asks(call *tool.Call) (prompt string, ask bool) {
	var a startArgs
	if tool.DecodeArgs(call.Args, &a) != nil {
		return "start a terminal with a command that is not named", true
	}
	prompt = "start a terminal: " + tool.OneLine(a.Command, 2000)
	if a.Cwd != "" {
		prompt += " (in " + tool.OneLine(a.Cwd, 500) + ")"
	}
	if a.Keep {
		prompt += " (it lives on after the session)"
	}
	return prompt, true
}

// Execute implements [tool.Tool].
func (c *start) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a startArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	p, limit, err := a.waits.read(startWait, startQuiet)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
		return tool.Result{}, tool.Replyf("the command is empty or holds a NUL byte; give a command")
	}
	if a.Keep && (call.Spool == "" || c.s.o.Host.Lane() == proc.LaneGroup) {
		return tool.Result{}, tool.Replyf("nothing can be kept here, for nobody would find it again; start it without keep")
	}
	dir, err := folder(call.Dir, a.Cwd)
	if err != nil {
		return tool.Result{}, err
	}
	if err := tool.SignalOf(call).Checkpoint(); err != nil {
		return tool.Result{}, err
	}
	if err := c.s.reserve(call.Session); err != nil {
		return tool.Result{}, err
	}
	o := &opening{s: c.s, call: call, args: a, limit: limit, began: time.Now()}
	defer func() { c.s.settle(call.Session, o.t) }()
	own, release := owned(ctx, call)
	defer release()
	if err := o.launch(own, dir); err != nil {
		return tool.Result{}, err
	}
	if err := o.record(ctx, o.t.tree.Started()); err != nil {
		return o.unrecorded(own, err)
	}
	return o.follow(ctx, own, p), nil
}

// opening is one call that starts a terminal. It is used by one goroutine.
type opening struct {
	s     *Terminals
	call  *tool.Call
	args  startArgs
	limit int
	began time.Time
	t     *terminal
}

// launch starts the command. An error means that nothing runs, unless it says
// otherwise.
func (o *opening) launch(ctx context.Context, dir string) error {
	tty := o.args.TTY == nil || *o.args.TTY
	o.t = &terminal{command: o.args.Command, turn: o.call.Turn, tty: tty, relay: &relay{}}
	spec := proc.Spec{Owner: "call", ID: string(o.call.ID), Argv: []string{o.s.o.Shell, "-c", o.args.Command}, Dir: dir,
		Env: o.s.o.Env, Spool: o.call.Spool, Ladder: o.s.ladder(), Live: o.t.relay}
	o.t.relay.to(tool.LiveOf(o.call)) // before it can print
	done, err := line(&spec, tty, or(o.args.Rows, rowsGiven), or(o.args.Cols, colsGiven))
	if err != nil {
		o.t = nil
		return tool.Replyf("no terminal could be opened, nothing was run: %w", err)
	}
	defer done()
	err = tool.FenceOf(o.call).Pass(func() (err error) {
		o.t.tree, err = o.s.o.Host.Start(ctx, spec)
		return err
	})
	if err == nil {
		return nil
	}
	o.t = nil
	if interrupted := tool.SignalOf(o.call).Checkpoint(); interrupted != nil {
		return interrupted
	}
	if errors.Is(err, proc.ErrUncertain) {
		return tool.Replyf("%w. Its effects may be partial: check before repeating it. Do not retry blindly", err)
	}
	return tool.Replyf("the command did not start, nothing was run: %w", err)
}

// line gives spec a terminal, or a pipe as its input; done closes our ends once
// the command was started.
func line(spec *proc.Spec, tty bool, rows, cols int) (done func(), err error) {
	if !tty {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		spec.Files[0], spec.Hold = r, w
		return func() { r.Close(); w.Close() }, nil
	}
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	done = func() { master.Close(); slave.Close() }
	if err := pty.Setsize(master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		done()
		return nil, err
	}
	spec.Files, spec.TTY, spec.Hold = [3]*os.File{slave, slave, slave}, true, master
	// What a window that is closed says: interactive shells ignore SIGTERM.
	spec.Ask = proc.Signal(syscall.SIGHUP)
	return done, nil
}

// record puts p into the journal, on a context that no trip reaches.
func (o *opening) record(ctx context.Context, p event.Payload) error {
	books, release := interrupt.Cleanup(ctx, recordBound)
	defer release()
	return tool.RecorderOf(o.call).Record(books, p)
}

// unrecorded ends a command whose start the journal refused: what nobody knows
// of must not run.
func (o *opening) unrecorded(own context.Context, err error) (tool.Result, error) {
	survivors := o.t.stop("refused", interrupt.Ladder{Bound: o.s.o.Reap})
	if own.Err() != nil {
		return o.t.result(report{limit: o.limit, stopped: true, survivors: survivors}), nil
	}
	return tool.Result{Survivors: survivors}, tool.Fatalf("the start of process %d could not be recorded, it was ended: %w", o.t.tree.Started().PID, err)
}

// follow waits for the command and says what became of it. own is cut by a trip.
func (o *opening) follow(ctx, own context.Context, p patience) tool.Result {
	switch o.t.wait(o.call, o.t.tree.Exited(), own.Done(), 0, p) {
	case whyTrip:
		return o.stopped(ctx)
	case whyEnded:
		if o.t.settled(o.s.o.Settle) {
			o.recordEnd(ctx, nil, "exited")
			return o.t.result(report{head: []string{o.t.ending(), o.wall()}, limit: o.limit})
		}
		o.t.leftover = true
	case whyQuiet, whyBudget:
	}
	return o.hand(ctx)
}

func (o *opening) wall() string {
	return fmt.Sprintf("wall time %.1f s", time.Since(o.began).Seconds())
}

// stopped ends the command for a trip.
func (o *opening) stopped(ctx context.Context) tool.Result {
	survivors := o.s.end(o.call, o.t, "interrupt")
	if o.t.own() { // before anybody had asked
		o.recordEnd(ctx, survivors, "exited")
		return o.t.result(report{head: []string{o.t.ending(), o.wall()}, limit: o.limit, survivors: survivors})
	}
	o.recordEnd(ctx, survivors, "stopped")
	return o.t.result(report{head: []string{"the terminal was closed"}, limit: o.limit, stopped: true, survivors: survivors})
}

// hand gives what runs to the session. Where nobody can own it, it ends.
func (o *opening) hand(ctx context.Context) tool.Result {
	books, release := interrupt.Cleanup(ctx, recordBound)
	defer release()
	var err error
	if o.args.Keep {
		err = o.t.Keep(true) // before the record: what no record keeps is ended by recovery
	}
	var id event.JobID
	if err == nil {
		id, err = tool.JobsOf(o.call).Adopt(books, tool.Job{Call: o.call.ID, Command: o.args.Command, Process: o.t, Keep: o.args.Keep, Spool: o.call.Spool})
	}
	if err != nil {
		survivors := o.s.end(o.call, o.t, "refused")
		o.recordEnd(ctx, survivors, "stopped")
		return o.t.result(report{head: []string{fmt.Sprintf("it can't go on and was ended: %v", err)}, limit: o.limit, survivors: survivors})
	}
	o.t.id = id
	head := []string{fmt.Sprintf("it goes on as terminal %s", id), o.wall()}
	if o.t.leftover {
		head = []string{o.t.ending(), o.wall(), fmt.Sprintf("left running: %s, as terminal %s", pidList(o.t.PIDs()), id)}
	}
	return o.t.result(report{head: head, limit: o.limit})
}

// recordEnd says that the tree is gone, or what outlived its end. A terminal
// that became a job is the job's to record.
func (o *opening) recordEnd(ctx context.Context, survivors []int, how string) {
	started := o.t.tree.Started()
	exit, ended := o.t.tree.Exit()
	var p event.Payload = event.ProcessEnded{Owner: started.Owner, ID: started.ID, PID: started.PID, ExitCode: exit.Code, Signal: exit.Signal, How: how}
	switch {
	case len(survivors) > 0:
		p = event.ProcessSurvived{Owner: started.Owner, ID: started.ID, PIDs: survivors, Why: "alive after KILL"}
	case !ended || exit.Lost != "":
		p = event.ProcessEnded{Owner: started.Owner, ID: started.ID, PID: started.PID, How: "lost"}
	}
	// A refusal means that the call is over; its end is then known from the
	// guardian's exit record.
	_ = o.record(ctx, p)
}

func or(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}
