package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// phase is how far a run is; see doc.go.
type phase int

const (
	running  phase = iota
	settling       // no step is started; those that run are waited for
	stopping       // the engine was interrupted
	killed         // and ended by force
	leaving        // the engine said how the script ended
	over           // the tree is gone
)

// cause is why a run is ended from outside of the script. The first one stays.
type cause int

const (
	none     cause = iota
	tripped        // the turn was stopped
	overdue        // its own time is used up
	fatal          // a step ended the turn
	garbled        // the engine said what makes no sense
	detached       // nothing can be sent to the engine
)

// startBound is how long the engine's process may take to begin.
const startBound = time.Minute

// recordBound is how long a fact may take to be recorded.
const recordBound = 5 * time.Second

// run is one script as the runtime sees it. Its state belongs to the goroutine
// that executes the call.
type run struct {
	o     Options
	call  *tool.Call
	sig   interrupt.Signal
	limit time.Duration

	tree     proc.Tree
	to, from *os.File
	out      chan frame // to the engine; has room for all that is ever sent
	in       chan frame // from it, closed at its end; the last one may be an error
	ended    chan stepEnd
	work     sync.WaitGroup

	phase     phase
	cause     cause
	why       error // of fatal and garbled
	ready     bool  // the script has begun
	end       *frame
	steps     []*step
	queue     []*step
	active    int
	began     time.Time
	clock     *time.Timer // runs while no step does
	left      time.Duration
	ticking   time.Time // since when; zero while it stands
	grace     *time.Timer
	survivors []int
}

func newRun(o Options, call *tool.Call, limit time.Duration) *run {
	r := &run{o: o, call: call, sig: tool.SignalOf(call), limit: limit, left: startBound,
		out: make(chan frame, mostPending+2), in: make(chan frame), ended: make(chan stepEnd),
		clock: time.NewTimer(startBound), grace: time.NewTimer(time.Hour)}
	r.clock.Stop()
	r.grace.Stop()
	return r
}

// begin starts the engine and gives it the script. An error means that nothing
// runs.
func (r *run) begin(ctx context.Context, a arguments) error {
	argv, env, err := proc.Again(roleName)
	if err != nil {
		return tool.Replyf("scripts can't be run here: %w", err)
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		return tool.Replyf("the script was not started: %w", err)
	}
	defer theirIn.Close()
	from, theirOut, err := os.Pipe()
	if err != nil {
		to.Close()
		return tool.Replyf("the script was not started: %w", err)
	}
	defer theirOut.Close()
	r.to, r.from, r.began = to, from, time.Now()
	starting, stop := interrupt.ContextOf(ctx, r.sig) // a trip cuts the start: nothing runs then
	defer stop()
	err = tool.FenceOf(r.call).Pass(func() (err error) {
		r.tree, err = r.o.Host.Start(starting, proc.Spec{Owner: "call", ID: string(r.call.ID), Argv: argv, Dir: string(os.PathSeparator),
			Env:   engineEnviron(env),
			Spool: r.call.Spool, Limit: r.o.Output, Ladder: interrupt.Ladder{Bound: r.o.Reap},
			Live: &liveWriter{live: tool.LiveOf(r.call)}, Files: [3]*os.File{theirIn, theirOut, nil}})
		return err
	})
	if err != nil {
		to.Close()
		from.Close()
		return tool.Replyf("the script was not started, nothing was run: %w", err)
	}
	started := r.tree.Started()
	started.Command = "script: " + oneLine(a.What, a.Script)
	if err := r.record(ctx, started); err != nil {
		r.survivors = r.tree.Stop(interrupt.Ladder{Bound: r.o.Reap}).Survivors
		to.Close()
		from.Close()
		return tool.Fatalf("the start of process %d could not be recorded, it was ended: %w", started.PID, err)
	}
	r.out <- frame{Kind: kindRun, Script: a.Script, Args: a.Args,
		Limits: &limits{Memory: r.o.Memory, Value: int(r.o.Output / 4), CPU: 4*r.limit + time.Minute}}
	r.work.Go(r.write)
	r.work.Go(r.read)
	return nil
}

// engineEnviron is env and how the engine's own program is to run; it needs
// nothing of our environment.
func engineEnviron(env []string) []string {
	env = append(env, "GOTRACEBACK=none", "GOMAXPROCS=2")
	if race, ok := os.LookupEnv("GORACE"); ok { // an engine that is built with the race detector waits 1 s at its exit unless told
		env = append(env, "GORACE="+race)
	}
	return env
}

// oneLine is what a script is called in lists: its purpose or its beginning.
func oneLine(what, script string) string {
	if strings.TrimSpace(what) == "" {
		what = script
	}
	line, _, _ := strings.Cut(strings.TrimSpace(what), "\n")
	if len(line) > 80 {
		line = strings.ToValidUTF8(line[:80], "") + "…"
	}
	return line
}

func (r *run) write() {
	for f := range r.out {
		if writeFrame(r.to, f) != nil {
			break // an engine that is gone shows by its end
		}
	}
	for range r.out { // what is left has nobody to go to
	}
}

func (r *run) read() {
	defer close(r.in)
	for {
		f, err := readFrame(r.from)
		if err != nil {
			if isGarbled(err) {
				r.in <- frame{Error: err.Error()}
			}
			return
		}
		r.in <- f
	}
}

// release ends what the run started; its tree is gone by then, or given up.
func (r *run) release() {
	close(r.out)
	r.to.Close()
	r.from.Close()
	for range r.in { // its reader ends with the pipe
	}
	r.work.Wait()
}

// record puts p into the journal, on a context that no trip reaches.
func (r *run) record(ctx context.Context, p event.Payload) error {
	books, release := interrupt.Cleanup(ctx, recordBound)
	defer release()
	return tool.RecorderOf(r.call).Record(books, p)
}

// follow is the run's life: one thing happens at a time, until the tree is gone
// and no step runs.
func (r *run) follow(ctx context.Context) {
	in, trip, forced, exited := r.in, r.sig.Done(), r.sig.Forced(), r.tree.Exited()
	for r.phase != over || r.active > 0 {
		r.advance(ctx)
		select {
		case f, ok := <-in:
			if !ok {
				in = nil
				continue
			}
			r.take(ctx, f)
		case e := <-r.ended:
			r.stepEnded(e)
		case <-trip:
			trip = nil
			r.stop(tripped, nil)
		case <-forced:
			forced = nil
			r.kill(ctx)
		case <-r.clock.C:
			r.stop(overdue, nil)
		case <-r.grace.C:
			r.kill(ctx)
		case <-exited:
			exited = nil
			r.gone(ctx, in)
			in = nil
		}
	}
}

// stop begins the end from outside, unless the script has reached its own.
func (r *run) stop(c cause, why error) {
	if r.phase != running {
		return
	}
	r.phase, r.cause, r.why = settling, c, why
	r.queue = nil // never started
	r.grace.Reset(r.o.Grace)
}

// advance does what the present state allows: starts steps, interrupts the
// engine once none runs, and keeps the clock.
func (r *run) advance(ctx context.Context) {
	switch r.phase {
	case running:
		r.dispatch(ctx)
	case settling:
		if r.active == 0 {
			r.phase = stopping
			r.send(frame{Kind: kindStop})
			r.grace.Reset(r.o.Grace)
		}
	case stopping, killed, leaving, over:
	}
	own := r.phase == running && r.active == 0
	switch now := time.Now(); {
	case own && r.ticking.IsZero():
		r.ticking = now
		r.clock.Reset(r.left)
	case !own && !r.ticking.IsZero():
		r.clock.Stop()
		r.left -= now.Sub(r.ticking)
		r.left, r.ticking = max(r.left, time.Millisecond), time.Time{}
	}
}

// send never blocks: there is room for a result of each step that is waited
// for, and for one stop.
func (r *run) send(f frame) {
	select {
	case r.out <- f:
	default:
		r.stop(detached, nil)
	}
}

// take acts on what the engine says.
func (r *run) take(ctx context.Context, f frame) {
	switch {
	case f.Kind == kindReady && !r.ready:
		r.ready = true
		r.clock.Stop()
		r.left, r.ticking = r.limit, time.Time{} // from here on time is the script's
	case f.Kind == kindCall && r.phase == running:
		r.ask(f)
	case f.Kind == kindCall:
		if len(r.steps) < r.o.Steps { // named, and never started
			r.steps = append(r.steps, &step{id: f.ID, name: f.Name})
		}
	case f.Kind == kindEnd && r.phase != over:
		r.end, r.phase = &f, leaving
		r.grace.Reset(r.o.Reap) // it is on its way out; killing it early would spoil its exit record
	default:
		r.stop(garbled, fmt.Errorf("%s %s", f.Kind, f.Error))
		r.kill(ctx)
	}
}

// kill ends the engine's tree by force and waits for the proof.
func (r *run) kill(ctx context.Context) {
	if r.phase == over {
		return
	}
	if r.phase == running {
		r.stop(tripped, nil)
	}
	if r.end == nil {
		r.phase = killed
	}
	r.survivors = r.tree.Stop(interrupt.Ladder{Bound: r.o.Reap}).Survivors
	if len(r.survivors) > 0 {
		r.gone(ctx, nil) // nobody waits for it any longer; the result names it
	}
}

// gone takes what the engine said last and records its end.
func (r *run) gone(ctx context.Context, in <-chan frame) {
	r.survivors = r.tree.Stop(interrupt.Ladder{Bound: r.o.Reap}).Survivors
	if in != nil && len(r.survivors) == 0 {
		for f := range in { // its end of the pipe is closed
			if f.Kind == kindEnd {
				r.end = &f
			}
		}
	}
	r.phase, r.queue = over, nil
	r.clock.Stop()
	r.grace.Stop()
	r.recordEnd(ctx)
}

// recordEnd says that the tree is gone, or what outlived it. A refusal means
// that the call is over: the end is then known from the exit record.
func (r *run) recordEnd(ctx context.Context) {
	started := r.tree.Started()
	exit, ended := r.tree.Exit()
	how := "exited"
	switch {
	case len(r.survivors) > 0:
		_ = r.record(ctx, event.ProcessSurvived{Owner: started.Owner, ID: started.ID, PIDs: r.survivors, Why: "alive after KILL"})
		return
	case !ended || exit.Lost != "":
		how = "lost"
	case r.end == nil && r.cause != none:
		how = "stopped"
	}
	_ = r.record(ctx, event.ProcessEnded{Owner: started.Owner, ID: started.ID, PID: started.PID, ExitCode: exit.Code, Signal: exit.Signal, How: how})
}

// liveWriter hands output on in whole lines, as valid text.
type liveWriter struct {
	live tool.Live

	mu   sync.Mutex
	rest []byte
}

const mostLine = 4 << 10 // of a line that waits for its end

func (w *liveWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := strings.LastIndexByte(string(w.rest), '\n') + 1
	if end == 0 && len(w.rest) > mostLine {
		end = len(w.rest)
	}
	if end > 0 {
		w.live.Output(strings.ToValidUTF8(string(w.rest[:end]), "\uFFFD"))
		w.rest = append([]byte(nil), w.rest[end:]...)
	}
	return len(p), nil
}

// argsOf is what a step is called with; nothing means no arguments.
func argsOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
