package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/inbox"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Live is a live session. All methods may be called from any goroutine.
type Live struct {
	cfg    Config
	ctx    context.Context // its life; ended by Close
	end    context.CancelCauseFunc
	log    *slog.Logger
	posts  chan post
	quit   chan struct{} // closed by Close: the driver ends once idle
	gone   chan struct{} // closed when the driver has ended
	work   sync.WaitGroup
	adrift sync.WaitGroup // quarantined tools; never waited for

	hub  hub
	jobs jobs
	refs atomic.Uint64 // names of questions

	own errands // begun beside turns: the session's end waits for them

	greeted chan struct{} // closed once the hooks of the session's start have ended
	parted  chan struct{} // and those of its end
	parting sync.Once

	// Owned by the driver.
	state   *turn.State
	book    *book
	queue   []turn.Input
	tokens  map[turn.Token]chan answer
	token   turn.Token
	timers  map[turn.Timer]*timer
	timing  uint64                  // timers that were set so far
	told    *active                 // whose trip the machine was told of
	asking  turn.Ticket             // the attempt that has not ended; 0 if none
	sever   context.CancelCauseFunc // ends it from our side
	broke   turn.Ticket             // the last one that was ended so
	offs    map[int]int
	sieve   *sieve
	dropped []event.InputID // not durable yet
	keptAt  event.Seq       // last record of the newest snapshot
	saving  atomic.Bool     // one is being written

	needed []event.Record // picked until the session was opened; never changed

	mu      sync.Mutex
	active  *active // changed only in arm and retire
	waiters map[event.InputID][]chan outcome
	results map[event.InputID]outcome
	order   []event.InputID        // of results, oldest first
	pending map[event.InputID]bool // accepted, or being accepted, and not ended
	callers map[event.InputID]context.Context
	status  Status
	stray   map[string]string      // cut off and still running
	waiting inbox.View             // replaced by each step that changed it, never changed
	heldIDs map[event.InputID]bool // of them
	shownAt int                    // the inbox's changes when they were taken

	closer chan struct{} // held by the one who closes
	leave  sync.Once     // closes quit
	given  chan struct{} // closed once the journal is given up; nothing of the session is left but work that will not end
	loss   error         // what closing could not do; guarded by closer
}

// active is the turn that can be stopped now.
type active struct {
	turn   int
	inputs []event.InputID
	coord  *interrupt.Coordinator
	caller context.Context // who drives the turn; nil if nobody waits with it
	unbind func() bool

	options event.SubmitOptions // of its first input

	own   bool             // its trip was the machine's; guarded by the session's mutex, as are
	word  *interrupt.Cause // what somebody asked behind that, until the machine was told
	drops *interrupt.Cause // the stop that drops what waits, if it is the one that counts

	errands errands // gates and reports under way
}

type post struct {
	make   func(turn.Token) turn.Input
	answer chan answer // nil: nobody waits
}

type answer struct {
	value any
	err   error
}

type outcome struct {
	sum turn.Summary
	err error
}

// Status is a session as seen from outside. It is for display only.
type Status struct {
	Running   bool
	Stopping  bool
	Turn      int
	Seq       event.Seq
	Approvals []Question
	Held      []string
	Retryable bool   // the last turn can be asked again
	Verified  string // how much of the journal was read, see [Live.Verify]
	Storage   string
	Unwinding []string
	Last      *turn.Summary
	Recovered *Recovery
	Model     event.ModelConfig
	Header    event.SessionOpened
}

// Question is an open approval.
type Question struct {
	Call  event.CallID
	Asked event.ApprovalAsked
}

// ErrClosed is returned by a session that was closed.
var ErrClosed = errors.New("the session is closed")

// ErrDropped is returned to who waits for an input that was thrown away unrun.
var ErrDropped = errors.New("the input was dropped and never ran")

// ErrNoInput is returned for an input that the session does not know.
var ErrNoInput = errors.New("no such input in this session")

// ask posts in to the driver and waits for its answer.
func (l *Live) ask(ctx context.Context, in func(turn.Token) turn.Input) (any, error) {
	p, err := l.post(ctx, in)
	if err != nil {
		return nil, err
	}
	return l.answered(ctx, p)
}

// post hands in to the driver.
func (l *Live) post(ctx context.Context, in func(turn.Token) turn.Input) (post, error) {
	p := post{make: in, answer: make(chan answer, 1)}
	select {
	case l.posts <- p:
		return p, nil
	case <-l.gone:
		return p, ErrClosed
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
}

// answered waits for the driver's answer to p, of which there is one.
func (l *Live) answered(ctx context.Context, p post) (any, error) {
	a, err := awaited(ctx, l.gone, p.answer)
	if err != nil {
		return nil, err
	}
	return a.value, a.err
}

// awaited is [interrupt.Wait] for who waits within a context and while the
// session lives: what is there is never thrown away, whatever else has ended.
func awaited[T any](ctx context.Context, gone <-chan struct{}, ch <-chan T) (v T, err error) {
	select {
	case v = <-ch:
		return v, nil
	default:
	}
	select {
	case v = <-ch:
		return v, nil
	case <-gone:
		err = ErrClosed
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case v = <-ch:
		return v, nil
	default:
		return v, err
	}
}

// tell posts in and does not wait for it to be taken as a fact.
func (l *Live) tell(in turn.Input) {
	select {
	case l.posts <- post{make: func(turn.Token) turn.Input { return in }}:
	case <-l.gone:
	}
}

// Input is what a caller submits.
type Input struct {
	ID    event.InputID // empty: one is made
	Input event.UserInput
	// Priority is where it waits; empty means LATER.
	Priority event.Priority
	// Replaces are waiting inputs whose words are in this one: they are dropped
	// in the same batch.
	Replaces []event.InputID
	Key      string
	Options  event.SubmitOptions
	By       string
	// Caller, if set, drives the turn: when it ends the turn is stopped with
	// PARENT_CANCELLED.
	Caller context.Context
}

// Submit is [Live.Offer] for who wants nothing but the address.
func (l *Live) Submit(ctx context.Context, in Input) (event.InputID, error) {
	taken, err := l.Offer(ctx, in)
	return taken.ID, err
}

// Offer accepts input durably and returns its address, and what becomes of it.
// It does not wait for the turn. ctx bounds the acceptance only: when it ends
// first, the input may or may not have been accepted; submitted again under the
// same key it is accepted once.
func (l *Live) Offer(ctx context.Context, in Input) (turn.Taken, error) {
	if err := l.hasModel(); err != nil {
		return turn.Taken{}, err
	}
	if in.ID == "" {
		in.ID = l.newInput()
	}
	if in.Priority == "" {
		in.Priority = event.PriorityLater
	}
	in.Input = l.offload(ctx, in.Input)
	l.drives(in.Caller, in.ID)
	v, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Submit{Token: t, Replaces: in.Replaces, Accepted: event.InboxAccepted{ID: in.ID, Input: in.Input, Priority: in.Priority,
			Key: in.Key, Options: in.Options, By: in.By}}
	})
	var refused *turn.RefusedError
	if errors.As(err, &refused) {
		l.undriven(in.ID)
	}
	if err != nil { // where ctx ended it is not known: submit it again under its key
		return turn.Taken{}, err
	}
	taken := v.(turn.Taken)
	if taken.ID != in.ID { // accepted before, under its key
		l.undriven(in.ID)
	}
	return taken, nil
}

func (l *Live) hasModel() error {
	if l.cfg.Model == nil {
		return &turn.RefusedError{Failure: event.Failure{Code: event.FailConfig, Message: "the session has no model", Hint: "configure one"}}
	}
	return nil
}

// offload moves large parts of an input beside the journal.
func (l *Live) offload(ctx context.Context, in event.UserInput) event.UserInput {
	if l.cfg.Blobs != nil {
		in.Content = tool.Offload(ctx, in.Content, l.cfg.Limits.Inline, l.cfg.Blobs)
	}
	return in
}

// Runs reports whether the active turn, or one that has ended, processes input:
// it no longer waits.
func (l *Live) Runs(input event.InputID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, done := l.results[input]
	return done || l.active != nil && l.active.named(Address{Input: input})
}

// Continue starts a turn without new input: with held set on everything that is
// held, in order, else on nothing.
func (l *Live) Continue(ctx context.Context, by string, held bool) (event.InputID, error) {
	if err := l.hasModel(); err != nil {
		return "", err
	}
	id := l.newInput()
	_, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Go{ID: id, By: by, Held: held, Token: t} })
	return id, err
}

// Address names the turn that an interrupt means: the active one if both are
// zero.
type Address struct {
	Input event.InputID
	Turn  int
}

// Stop says what an interrupt came to.
type Stop int

const (
	Stopping Stop = iota
	StopIdle
	StopMismatch
	StopAlready
)

// Interrupt stops the addressed turn, on the caller's goroutine: when it
// returns, the signal has tripped, the model's connection is being closed and
// terminators have run. force ends every grace. A turn that has ended, or is
// another, is not touched.
func (l *Live) Interrupt(a Address, cause interrupt.Cause, force bool) (Stop, error) {
	return l.interrupt(a, cause, force, false)
}

// InterruptAndClear is [Live.Interrupt], and with the stop what waits by then is
// dropped: the turn's summary has it among what was dropped. The stop does not
// wait; that what was dropped is durable does, as long as ctx lets it.
func (l *Live) InterruptAndClear(ctx context.Context, a Address, cause interrupt.Cause, force bool) (Stop, error) {
	stop, err := l.interrupt(a, cause, force, true)
	if err == nil && (stop == Stopping || stop == StopAlready) { // a later wish is about what waits by then
		_, err = l.ask(ctx, func(t turn.Token) turn.Input {
			return turn.Clear{By: cause.Who, Stop: stop == Stopping, Token: t}
		})
		if stop == StopAlready && errors.Is(err, ErrClosed) {
			err = nil // it has ended meanwhile, and is nobody's to clear
		}
	}
	return stop, err
}

func (l *Live) interrupt(a Address, cause interrupt.Cause, force, drop bool) (Stop, error) {
	if !cause.Reason.Requestable() {
		return StopIdle, &interrupt.RefusedError{Reason: cause.Reason}
	}
	act, meant := l.meant(a)
	if meant && drop {
		l.clears(act, cause)
	}
	switch {
	case act == nil:
		l.log.Debug("interrupt: no active turn")
		return StopIdle, nil
	case !meant:
		l.log.Debug("interrupt: another turn is active", "turn", act.turn)
		return StopMismatch, nil
	}
	first, err := act.coord.Request(cause)
	if err != nil {
		return StopIdle, err
	}
	if force {
		act.coord.Force()
	}
	switch {
	case first:
		return Stopping, nil
	case act.coord.IsClosed():
		return StopIdle, nil
	}
	if l.said(act, cause) { // so that the driver looks
		l.tell(turn.Fired{})
	}
	return StopAlready, nil
}

// clears keeps that cause, if it is the one that counts, drops what waits.
func (l *Live) clears(act *active, cause interrupt.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if act.drops == nil {
		act.drops = &cause
	}
}

// tripped is the trip for cause, with what came with it; mu is held.
func (a *active) tripped(cause interrupt.Cause) turn.Tripped {
	return turn.Tripped{Cause: cause, Drop: a.drops != nil && *a.drops == cause}
}

// said keeps somebody's word about a turn that the machine itself is stopping:
// the machine hears of it all the same, and of that turn alone. A turn that is
// retired has heard all that it will.
func (l *Live) said(act *active, cause interrupt.Cause) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !act.own || l.active != act || act.word != nil {
		return false
	}
	act.word = &cause
	return true
}

// heard returns that word once; mu is held.
func (a *active) heard() (in turn.Tripped, ok bool) {
	if a.word == nil || a.word.Reason == "" {
		return in, false
	}
	in, a.word = a.tripped(*a.word), &interrupt.Cause{} // another one changes nothing
	return in, true
}

// meant returns the active turn, and whether a names it.
func (l *Live) meant(a Address) (act *active, meant bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active, l.active != nil && l.active.named(a)
}

// named reports whether by names the turn; the session's mutex is held, since
// inputs may join it.
func (a *active) named(by Address) bool {
	if by.Turn != 0 && by.Turn != a.turn {
		return false
	}
	if by.Input == "" {
		return true
	}
	for _, id := range a.inputs {
		if id == by.Input {
			return true
		}
	}
	return false
}

func (l *Live) current() *active {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active
}

// ClearInbox drops what waits, as a recorded act, and returns the texts.
func (l *Live) ClearInbox(ctx context.Context, by string) ([]string, error) {
	v, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.Clear{By: by, Token: t} })
	if err != nil {
		return nil, err
	}
	texts, _ := v.([]string)
	return texts, nil
}

// Decide answers an open approval. An answer to one that is no longer open is
// a [*turn.RefusedError] with code "stale".
func (l *Live) Decide(ctx context.Context, id event.ApprovalID, d event.Decision, by, why string) error {
	_, err := l.ask(ctx, func(t turn.Token) turn.Input {
		return turn.Decided{ID: id, Decision: d, By: by, Why: why, Token: t}
	})
	return err
}

// Status returns how the session stands.
func (l *Live) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.status
	for _, name := range l.stray {
		st.Unwinding = append(st.Unwinding, name)
	}
	return st
}

// Close ends the live session: its turn is interrupted for reason, its jobs end
// unless kept, the journal is closed. ctx bounds the waiting; when it ends
// first, what is left is left to recovery and the error says so. It may be
// called again, to wait on or because it is closed already.
func (l *Live) Close(ctx context.Context, reason interrupt.Reason) error {
	select {
	case l.closer <- struct{}{}: // one at a time
		defer func() { <-l.closer }()
	case <-ctx.Done():
		return fmt.Errorf("close session %s: %w", l.cfg.ID, context.Cause(ctx))
	}
	if !l.Closed() {
		if err := l.shut(ctx, reason); err != nil {
			return fmt.Errorf("close session %s: %w", l.cfg.ID, err)
		}
	}
	if err := wait(ctx, &l.work); err != nil {
		return fmt.Errorf("close session %s: work of it still runs: %w", l.cfg.ID, err)
	}
	if l.loss != nil {
		return fmt.Errorf("close session %s: %w", l.cfg.ID, l.loss)
	}
	return nil
}

// Closed reports whether the journal was given up: the session can be opened
// again.
func (l *Live) Closed() bool {
	select {
	case <-l.given:
		return true
	default:
		return false
	}
}

// shut takes the session up to where its journal is given up. The driver is the
// journal's only user: once it has ended nothing that still runs can write, so
// that the journal does not wait for it.
func (l *Live) shut(ctx context.Context, reason interrupt.Reason) error {
	if _, err := l.ask(ctx, func(t turn.Token) turn.Input { return turn.CloseSession{Token: t} }); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	_, _ = l.Interrupt(Address{}, interrupt.Cause{Reason: reason, Who: "close", At: time.Now()}, false) // idle is fine
	if err := l.settle(ctx); err != nil {
		return fmt.Errorf("the turn has not ended: %w; recovery will close it", err)
	}
	left := l.jobs.stopAll(ctx, l.cfg.Limits)
	if err := l.farewell(ctx, reason); err != nil {
		return fmt.Errorf("the hooks of the session's end have not ended: %w", err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the jobs have not ended: %w; recovery will look for them", context.Cause(ctx))
	}
	l.leave.Do(func() { close(l.quit) })
	select {
	case <-l.gone:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.jobs.leave()
	l.end(ErrClosed)
	l.loss = errors.Join(left, l.book.close())
	close(l.given)
	return nil
}

// wait waits for wg until ctx ends.
func wait(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }() // ends when the work it waits for does
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits for the end of the turn that runs.
func (l *Live) settle(ctx context.Context) error {
	sub, _ := l.hub.subscribe()
	defer sub.Close()
	for {
		if l.current() == nil && !l.Status().Running {
			return nil
		}
		select {
		case <-sub.wake:
			sub.drain()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.gone:
			return nil
		}
	}
}
