package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// mostOutput is how many bytes of output come into a result, head and tail;
// the runner keeps fewer in line and this much in a blob. Of what is longer the
// spool has more, up to its own bound.
const mostOutput = 1 << 20

// mostBinary is how much of an output that is no text is worth showing, in bytes.
const mostBinary = 1 << 10

// recordBound is how long the end of a process may take to be recorded.
const recordBound = 5 * time.Second

// goneBound is how long a tree of which nobody is seen may take to say that it
// is gone: more than its host needs for that.
const goneBound = 2 * time.Second

type bash struct{ o Options }

// Spec implements [tool.Tool].
func (b *bash) Spec() tool.Spec {
	return tool.Spec{Name: "bash", Effect: tool.Unsafe, AsksCall: b.asks,
		Description: fmt.Sprintf("Run a command in a shell, in the workspace, and wait for its end. There is no input and no terminal. "+
			"The result has exit code, wall time and output. The time limit is %d seconds unless timeout_seconds says otherwise, at most %d. "+
			"What a command leaves running in the background goes on as a job and is named in the result.",
			int(b.o.Timeout.Seconds()), int(b.o.Longest.Seconds())),
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["command"],"properties":{`+
			`"command":{"type":"string","description":"what the shell is to run"},`+
			`"timeout_seconds":{"type":"number","minimum":0.1,"maximum":%d,"description":"time limit"},`+
			`"description":{"type":"string","description":"what it is for, in a few words"}}}`, int(b.o.Longest.Seconds())))}
}

// InterruptBehaviour implements [interrupt.Behaviourer].
func (b *bash) InterruptBehaviour() interrupt.Behaviour { return interrupt.ContextInterruptible }

type bashArgs struct {
	Command string  `json:"command"`
	Timeout float64 `json:"timeout_seconds"`
}

func (b *bash) asks(call *tool.Call) (prompt string, ask bool) {
	var a bashArgs
	if tool.DecodeArgs(call.Args, &a) != nil {
		return "run a command that is not named", true
	}
	return "run " + tool.OneLine(a.Command, 2000), true
}

// Execute implements [tool.Tool].
func (b *bash) Execute(ctx context.Context, call *tool.Call) (tool.Result, error) {
	var a bashArgs
	if err := tool.DecodeArgs(call.Args, &a); err != nil {
		return tool.Result{}, err
	}
	limit := b.o.Timeout
	if a.Timeout != 0 {
		limit = time.Duration(a.Timeout * float64(time.Second))
	}
	switch {
	case strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0):
		return tool.Result{}, tool.Replyf("the command is empty or holds a NUL byte; give a command")
	case limit <= 0 || limit > b.o.Longest:
		return tool.Result{}, tool.Replyf("timeout_seconds must be more than 0 and at most %d", int(b.o.Longest.Seconds()))
	}
	if err := tool.SignalOf(call).Checkpoint(); err != nil {
		return tool.Result{}, err
	}
	var tree proc.Tree
	err := tool.FenceOf(call).Pass(func() (err error) {
		tree, err = b.o.Host.Start(ctx, proc.Spec{Owner: "call", ID: string(call.ID), Argv: []string{b.o.Shell, "-c", a.Command},
			Dir: call.Dir, Env: b.o.Env, Spool: call.Spool, Timeout: limit, Ladder: b.ladder(), Live: &liveWriter{live: tool.LiveOf(call)}})
		return err
	})
	if err != nil {
		if interrupted := tool.SignalOf(call).Checkpoint(); interrupted != nil {
			return tool.Result{}, interrupted
		}
		if errors.Is(err, proc.ErrUncertain) {
			return tool.Result{}, tool.Replyf("%w. Its effects may be partial: check before repeating it. Do not retry blindly", err)
		}
		return tool.Result{}, tool.Replyf("the command did not start, nothing was run: %w", err)
	}
	r := &running{bash: b, call: call, tree: tree, command: a.Command, limit: limit, began: time.Now()}
	if err := r.record(ctx, tree.Started()); err != nil {
		return r.unrecorded(ctx, err)
	}
	return r.wait(ctx), nil
}

func (b *bash) ladder() interrupt.Ladder { return interrupt.Ladder{Grace: b.o.Grace, Bound: b.o.Reap} }

// liveWriter hands output on as it comes, never half a character.
type liveWriter struct {
	live tool.Live

	mu   sync.Mutex
	rest []byte // a character whose end has not come yet
}

func (w *liveWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.rest, p...)
	whole := wholeRunes(all)
	w.rest = append([]byte(nil), all[len(whole):]...)
	if len(whole) > 0 {
		w.live.Output(strings.ToValidUTF8(string(whole), "\uFFFD"))
	}
	return len(p), nil
}

// running is one started command. It is used by one goroutine.
type running struct {
	bash    *bash
	call    *tool.Call
	tree    proc.Tree
	command string
	limit   time.Duration
	began   time.Time

	overdue   bool // its guardian did not hold the limit
	survivors []int
	left      string // what became of what it left running
}

// record puts p into the journal, on a context that no trip reaches.
func (r *running) record(ctx context.Context, p event.Payload) error {
	books, release := interrupt.Cleanup(ctx, recordBound)
	defer release()
	return tool.RecorderOf(r.call).Record(books, p)
}

// unrecorded ends a command whose start the journal refused: what nobody knows
// of must not run.
func (r *running) unrecorded(ctx context.Context, err error) (tool.Result, error) {
	r.survivors = r.tree.Stop(interrupt.Ladder{Bound: r.bash.o.Reap}).Survivors
	if tool.SignalOf(r.call).Cancelled() || ctx.Err() != nil {
		return r.result(true), nil
	}
	return tool.Result{Survivors: r.survivors}, tool.Fatalf("the start of process %d could not be recorded, it was ended: %w", r.tree.Started().PID, err)
}

// wait follows the command to its end, by itself or by a trip, and settles
// what it left behind.
func (r *running) wait(ctx context.Context) tool.Result {
	// The guardian holds the limit; this is for the case that it does not.
	overdue := time.NewTimer(r.limit + r.bash.o.Grace + time.Second)
	defer overdue.Stop()
	stopped := false
	select {
	case <-r.tree.Exited():
	case <-overdue.C:
		r.overdue = true
		r.stop(r.bash.ladder())
	case <-ctx.Done():
		if _, ended := r.tree.Exit(); !ended {
			stopped = true
			r.stop(r.bash.ladder())
		}
	}
	exit, ended := r.tree.Exit()
	if (stopped || r.overdue) && ended && exit.Own { // before anybody had asked: what it left was ended with it
		stopped, r.overdue = false, false
		r.recordEnd(ctx, false)
		return r.result(false)
	}
	switch {
	case stopped || !ended || r.overdue:
	case exit.TimedOut:
		r.stop(r.bash.ladder()) // its guardian is at it; this waits for the proof
	case !r.settled():
		r.hand(ctx)
	}
	r.recordEnd(ctx, stopped)
	return r.result(stopped)
}

// stop ends the tree; a forced signal takes the grace away.
func (r *running) stop(l interrupt.Ladder) {
	select {
	case <-tool.SignalOf(r.call).Forced():
		l.Grace = 0 // nobody is to be asked first
	default:
	}
	done := make(chan struct{})
	var hurry sync.WaitGroup
	hurry.Go(func() {
		select {
		case <-tool.SignalOf(r.call).Forced():
			r.tree.Stop(interrupt.Ladder{Bound: l.Bound})
		case <-done:
		}
	})
	r.survivors = r.tree.Stop(l).Survivors
	close(done)
	hurry.Wait()
}

// settled reports whether nothing of the tree lives on; children get a moment
// to end with their parent.
func (r *running) settled() bool {
	short := time.NewTimer(r.bash.o.Settle)
	defer short.Stop()
	select {
	case <-r.tree.Gone():
		return true
	case <-short.C:
	}
	if len(r.tree.PIDs()) > 0 {
		return false
	}
	// Nobody is seen: the last words may be on their way still, and a look at
	// processes that come and go may miss one.
	proof := time.NewTimer(goneBound)
	defer proof.Stop()
	select {
	case <-r.tree.Gone():
		return true
	case <-proof.C:
		return len(r.tree.PIDs()) == 0 // whoever else holds the pipe is nobody's
	}
}

// hand gives what lives on to the session. Where nobody can own it, it ends.
func (r *running) hand(ctx context.Context) {
	pids := r.tree.PIDs()
	books, release := interrupt.Cleanup(ctx, recordBound)
	defer release()
	id, err := tool.JobsOf(r.call).Adopt(books, tool.Job{Call: r.call.ID, Command: r.command, Process: leftover{r.tree}, Spool: r.call.Spool})
	if err == nil {
		r.left = fmt.Sprintf("left running: job %s, %s", id, pidList(pids))
		return
	}
	r.stop(r.bash.ladder())
	became := "which were ended"
	if len(r.survivors) > 0 {
		became = "of which not all could be ended"
	}
	r.left = fmt.Sprintf("it left %s running, %s: %v", pidList(pids), became, err)
}

func pidList(pids []int) string {
	return "pids " + strings.Trim(fmt.Sprint(pids), "[]")
}

// recordEnd says that the tree is gone, or what outlived its end. A tree that
// became a job is the job's to record.
func (r *running) recordEnd(ctx context.Context, stopped bool) {
	started := r.tree.Started()
	var p event.Payload
	exit, ended := r.tree.Exit()
	switch {
	case len(r.survivors) > 0:
		p = event.ProcessSurvived{Owner: started.Owner, ID: started.ID, PIDs: r.survivors, Why: "alive after KILL"}
	case strings.HasPrefix(r.left, "left running"):
		return
	default:
		p = event.ProcessEnded{Owner: started.Owner, ID: started.ID, PID: started.PID, ExitCode: exit.Code, Signal: exit.Signal, How: r.how(exit, ended, stopped)}
	}
	// A refusal means that the call is over; its end is then known from the
	// guardian's exit record.
	_ = r.record(ctx, p)
}

func (r *running) how(exit proc.Exit, ended, stopped bool) string {
	switch {
	case !ended || exit.Lost != "":
		return "lost"
	case stopped || r.overdue || exit.TimedOut:
		return "stopped"
	}
	return "exited"
}

// result makes the facts and the words of the end.
func (r *running) result(stopped bool) tool.Result {
	exit, ended := r.tree.Exit()
	out := r.tree.Output(mostOutput)
	timedOut := exit.TimedOut || r.overdue
	res := tool.Result{Success: true, ExitCode: exit.Code, Signal: exit.Signal, TimedOut: &timedOut, Stopped: stopped, Survivors: r.survivors,
		Output: &event.Output{Bytes: out.Bytes, Truncated: out.Truncated, Dropped: out.Dropped, Binary: out.Binary}}
	text := out.Text
	if out.Binary {
		text, _ = tool.Bounded(text, mostBinary)
		text = fmt.Sprintf("[the output is binary, %d bytes; send it to a file to look at it]\n", out.Bytes) + text
	}
	if out.Truncated {
		res.Lacks = max(0, out.Bytes-int64(len(text)))
	}
	if stopped {
		res.Content = event.TextOf(text)
		return res
	}
	ran := exit.Ran
	if !ended || ran == 0 {
		ran = time.Since(r.began)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s\nwall time %.1f s\n", r.ending(exit, ended), ran.Seconds())
	if len(r.survivors) > 0 {
		fmt.Fprintf(&head, "could not be ended: %s\n", pidList(r.survivors))
	}
	if r.left != "" {
		head.WriteString(r.left + "\n")
	}
	switch {
	case out.Dropped > 0:
		fmt.Fprintf(&head, "output %d bytes, of which %d were not kept\n", out.Bytes, out.Dropped)
	case out.Truncated:
		fmt.Fprintf(&head, "output %d bytes\n", out.Bytes)
	}
	if text == "" {
		head.WriteString("no output\n")
	} else {
		head.WriteString("output:\n")
	}
	res.Content = event.TextOf(head.String() + text)
	return res
}

func (r *running) ending(exit proc.Exit, ended bool) string {
	switch {
	case (r.overdue || exit.TimedOut) && len(r.survivors) > 0:
		return fmt.Sprintf("timed out after %g s", r.limit.Seconds())
	case r.overdue || exit.TimedOut:
		return fmt.Sprintf("timed out after %g s and was ended", r.limit.Seconds())
	case !ended:
		return "how it ended is not known yet"
	case exit.Lost != "":
		return "how it ended is not known: " + exit.Lost
	case exit.Code != nil:
		return fmt.Sprintf("exit code %d", *exit.Code)
	case exit.Signal != "":
		return "ended by signal " + exit.Signal
	}
	return "how it ended is not known"
}

// leftover is a tree whose command has ended, as a job's owner sees it.
type leftover struct{ tree proc.Tree }

var _ tool.Process = leftover{}

func (p leftover) PIDs() []int           { return p.tree.PIDs() }
func (p leftover) Gone() <-chan struct{} { return p.tree.Gone() }
func (p leftover) Keep(keep bool) error  { return p.tree.Keep(keep) }
func (p leftover) Leave()                { proc.Leave(p.tree) }

// Exit says nothing: the end that the tree knows is that of the command, which
// has been reported with its call, not of what it left behind.
func (p leftover) Exit() (code *int, signal string) { return nil, "" }

func (p leftover) Output(limit int) (text string, bytes int64) {
	o := p.tree.Output(limit)
	return o.Text, o.Bytes
}

func (p leftover) Stop(l interrupt.Ladder) (survivors []int) { return p.tree.Stop(l).Survivors }
