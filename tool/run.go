package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Book is the journal as the runner of one call sees it. Each method blocks
// until the fact is recorded; the session's one writer is behind it.
type Book interface {
	// Start records the intent. It returns nil once it is durable; any error
	// means that the tool must not run: [ErrSkipped] (the turn was tripped or
	// is over), or a storage failure.
	Start(ctx context.Context) error
	// End records the call's one end. It is called exactly once a call, also
	// for one that never started, on a context that no interrupt reaches.
	End(ctx context.Context, e Ended) error
	// Late records what a quarantined call returned in the end. It is called
	// at most once, after End, from the tool's goroutine.
	Late(e Ended)
}

// Ended is a call's end as facts; the words for the model are made by turn.
type Ended struct {
	// Outcome is finished, finished_late, stopped, skipped, invalid,
	// quarantined or fatal.
	Outcome event.CallOutcome
	// Result is what the tool had, bounded; also when it was stopped.
	Result Result
	// Err is the sentence of a reply with success false, or the fatal error.
	Err string
	// Ran is how long the tool ran, monotonic, from Start's acknowledgement;
	// zero for a call that never started.
	Ran time.Duration
	// Stack is where a tool panicked; for logs, never for the model.
	Stack string
	// Unrecorded is End's error: this end is not in the journal.
	Unrecorded error
}

// Run is one call, ready to go. It is used once.
type Run struct {
	Tool      Tool // nil: an unknown tool; the call is invalid and never starts
	Call      *Call
	Signal    interrupt.Signal    // the turn's; nil never trips
	Registrar interrupt.Registrar // for behaviours that have one; closed when Do returns
	// Tripped is the gate in front of the start. It is asked once, on the
	// goroutine that calls Do, before Start. nil asks Signal and the context.
	Tripped func() bool
	Book    Book

	// Bound is how long a call may go on after the trip before it is
	// quarantined; 0 means 30 s. Forced is what is left of it once the signal
	// is forced; 0 means 100 ms.
	Bound, Forced time.Duration
	// Late is the age of the trip from which on a call's own end counts as
	// finished_late; 0 means 2 s.
	Late time.Duration

	Inline int   // bytes of result text kept inline, head and tail; 0 means 32 KiB
	Blobs  Blobs // keeps the whole text; nil: what is over is dropped, and said so

	Names   []string     // the tools that exist, for the answer to an unknown one
	BadArgs string       // arguments that are no JSON object, verbatim: never run
	Fence   func() error // the turn's fence, asked before each effect; may be nil

	// Recorder, Jobs and Live reach the tool through the call, fenced.
	Recorder Recorder
	Jobs     Jobs
	Live     Live

	behaviour interrupt.Behaviour // read once, in check
}

const (
	defaultBound  = 30 * time.Second
	defaultForced = 100 * time.Millisecond
	defaultLate   = 2 * time.Second
	effectBound   = time.Second // for an effect under way when the bound passes
)

// Do runs the call to its recorded end and returns that end. It returns before
// the tool did only by quarantine: left is then not nil and is closed once the
// tool's goroutine has ended and its late result is recorded.
//
// The end of ctx counts as a trip for the bound; what it means for the turn is
// for Tripped and the session to say.
func (r *Run) Do(ctx context.Context) (e Ended, left <-chan struct{}) {
	books, release := interrupt.CallContext(ctx) // no interrupt reaches book-keeping
	defer release()
	if !isNil(r.Registrar) {
		defer r.Registrar.Close()
	}
	if e, over := r.prepare(ctx); over {
		return r.record(books, e), nil
	}
	f := r.launch(ctx)
	defer f.unlisten()
	if got, ok := r.wait(ctx, f); ok {
		<-f.left
		return r.record(books, r.fit(books, r.judge(f, got))), nil
	}
	e = r.record(books, Ended{Outcome: event.CallQuarantined, Ran: time.Since(f.started)})
	close(f.answered)
	return e, f.left
}

// prepare takes the call up to its acknowledged start; over says that it ends
// here, never started.
func (r *Run) prepare(ctx context.Context) (e Ended, over bool) {
	tripped := r.Tripped
	if tripped == nil {
		tripped = func() bool { return r.signal().Cancelled() || ctx.Err() != nil }
	}
	if tripped() {
		return Ended{Outcome: event.CallSkipped}, true
	}
	if err := r.check(); err != nil {
		return unstarted(err), true
	}
	if err := r.Book.Start(ctx); err != nil {
		if errors.Is(err, ErrSkipped) || errors.Is(err, interrupt.ErrInterrupted) {
			return Ended{Outcome: event.CallSkipped}, true
		}
		return unstarted(Fatalf("the start of the call could not be recorded: %w", err)), true
	}
	return Ended{}, false
}

func unstarted(err error) Ended {
	if IsFatal(err) {
		return Ended{Outcome: event.CallFatal, Err: err.Error()}
	}
	return Ended{Outcome: event.CallInvalid, Err: err.Error()}
}

// check judges whether the call can be made at all and reads what the tool
// declares. A panic there is fatal like any other of the tool's panics.
func (r *Run) check() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Fatalf("tool %s panicked: %v", r.Call.Name, p)
		}
	}()
	if isNil(r.Tool) {
		if len(r.Names) == 0 {
			return Replyf("there is no tool %q; use one of those that you were given", r.Call.Name)
		}
		return Replyf("there is no tool %q; the tools are %s", r.Call.Name, strings.Join(r.Names, ", "))
	}
	if r.BadArgs != "" {
		return Replyf("the arguments are not one complete JSON object (%d bytes came); nothing was run, send the call again", len(r.BadArgs))
	}
	r.behaviour = interrupt.BehaviourOf(r.Tool)
	return CheckArgs(r.Tool.Spec().Schema, r.Call.Args)
}

// flight is a call between its start and its tool's return.
type flight struct {
	*latch
	started  time.Time
	trip     atomic.Pointer[time.Time] // when the signal tripped
	unlisten func()
	done     chan outcome  // holds the tool's word if it won the latch
	answered chan struct{} // closed once a quarantine is recorded
	left     chan struct{} // closed when the tool's goroutine has ended
}

// outcome is what came out of Execute.
type outcome struct {
	res   Result
	err   error
	stack string
	at    time.Time
	cut   bool // the signal had tripped by then, or the caller's context had ended
}

func (r *Run) launch(ctx context.Context) *flight {
	f := &flight{latch: newLatch(), started: time.Now(), done: make(chan outcome, 1),
		answered: make(chan struct{}), left: make(chan struct{})}
	off := r.signal().OnCancel(func() { now := time.Now(); f.trip.Store(&now) })
	f.unlisten = func() { off() }
	call := r.equip(f)
	go func() {
		defer close(f.left)
		own, stop := r.context(ctx)
		defer stop()
		got := outcome{err: Fatalf("tool %s ended its goroutine instead of returning", call.Name)}
		// Deferred, so that it is done for a panic and for an ended goroutine too.
		defer func() {
			if p := recover(); p != nil {
				got = outcome{err: Fatalf("tool %s panicked: %v", call.Name, p), stack: string(debug.Stack())}
			}
			// Asked here and not of the listener: the tool may be faster than it.
			got.at, got.cut = time.Now(), r.signal().Cancelled() || ctx.Err() != nil
			r.land(ctx, f, got)
		}()
		res, err := r.Tool.Execute(own, call)
		got = outcome{res: res, err: err}
	}()
	return f
}

// land hands over what came out of Execute: as the end if nothing was the end
// before it, else as the late result.
func (r *Run) land(ctx context.Context, f *flight, got outcome) {
	if f.claim(returned) {
		f.done <- got
		return
	}
	<-f.answered
	books, release := interrupt.CallContext(ctx)
	defer release()
	r.Book.Late(r.fit(books, r.judge(f, got)))
}

// context is what the tool's behaviour allows to be cut: nothing, unless it
// said so.
func (r *Run) context(ctx context.Context) (own context.Context, stop func()) {
	switch r.behaviour {
	case interrupt.ContextInterruptible:
		return interrupt.ContextOf(ctx, r.signal())
	case interrupt.NonInterruptible, interrupt.Cooperative, interrupt.ExternallyTerminated:
	}
	own, cancel := interrupt.CallContext(ctx)
	return own, cancel
}

// equip gives the call its company. NON_INTERRUPTIBLE and COOPERATIVE tools
// get no registrar.
func (r *Run) equip(f *flight) *Call {
	c := companions{f.latch, r.Fence, r.Recorder, r.Jobs, r.Live}
	call := WithValue[Fence](r.Call, fenceKey, c)
	call = WithValue(call, signalKey, r.signal())
	if r.behaviour.HasRegistrar() && !isNil(r.Registrar) {
		call = WithValue(call, registrarKey, r.Registrar)
	}
	if !isNil(r.Recorder) {
		call = WithValue[Recorder](call, recorderKey, c)
	}
	if !isNil(r.Jobs) {
		call = WithValue[Jobs](call, jobsKey, c)
	}
	if !isNil(r.Live) {
		call = WithValue[Live](call, liveKey, c)
	}
	return call
}

// wait returns the tool's word, or ok false when the bound after the trip has
// passed and nothing had come.
func (r *Run) wait(ctx context.Context, f *flight) (got outcome, ok bool) {
	select {
	case got = <-f.done:
		return got, true
	case <-r.signal().Done():
	case <-ctx.Done():
	}
	bound := time.NewTimer(or(r.Bound, defaultBound))
	defer bound.Stop()
	select {
	case got = <-f.done:
		return got, true
	case <-bound.C:
	case <-r.signal().Forced():
		hurry := time.NewTimer(or(r.Forced, defaultForced))
		defer hurry.Stop()
		select {
		case got = <-f.done:
			return got, true
		case <-bound.C:
		case <-hurry.C:
		}
	}
	if !f.claim(abandoned) {
		return <-f.done, true // the tool was first
	}
	late := time.NewTimer(effectBound)
	defer late.Stop()
	select {
	case <-f.idle:
	case <-late.C:
	}
	return outcome{}, false
}

// judge turns what the tool returned into the call's end. The interrupted error
// means "stopped" and nothing else, and only after a trip; a result that the
// tool reached by itself stays what it is.
func (r *Run) judge(f *flight, got outcome) Ended {
	e := Ended{Result: got.res, Ran: got.at.Sub(f.started), Stack: got.stack}
	trip := f.trip.Load()
	switch {
	case IsFatal(got.err):
		e.Outcome = event.CallFatal
	case got.cut && r.stopped(got):
		e.Outcome, e.Result.Stopped = event.CallStopped, true
	case trip != nil && got.at.Sub(*trip) > or(r.Late, defaultLate):
		e.Outcome = event.CallFinishedLate
	default:
		e.Outcome = event.CallFinished
	}
	if e.Outcome != event.CallStopped {
		e.Result.Stopped = false
	}
	if got.err != nil {
		e.Result.Success = false
		if !errors.Is(got.err, interrupt.ErrInterrupted) || e.Outcome != event.CallStopped {
			e.Err = got.err.Error()
		}
	}
	return e
}

// stopped reports whether the tool says that the trip ended it.
func (r *Run) stopped(got outcome) bool {
	if got.res.Stopped || errors.Is(got.err, interrupt.ErrInterrupted) {
		return true
	}
	// What the standard library says of a cut context.
	return r.behaviour == interrupt.ContextInterruptible && errors.Is(got.err, context.Canceled)
}

// fit bounds what goes into the record.
func (r *Run) fit(ctx context.Context, e Ended) Ended {
	e.Result = bound(ctx, e.Result, r.Inline, r.Blobs)
	e.Err, _ = Bounded(e.Err, or(r.Inline, defaultInline))
	return e
}

func (r *Run) record(ctx context.Context, e Ended) Ended {
	if err := r.Book.End(ctx, e); err != nil {
		e.Unrecorded = fmt.Errorf("the end of call %s is not recorded: %w", r.Call.ID, err)
	}
	return e
}

func (r *Run) signal() interrupt.Signal {
	if isNil(r.Signal) {
		return interrupt.Never()
	}
	return r.Signal
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
