package main

import (
	"context"
	"errors"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// bounds are how long an ending may take (IFC-05).
type bounds struct {
	ladder time.Duration // from the first stop until everything is forced
	store  time.Duration // from then until the turn is left open
	shown  time.Duration // after a stop, for a reader to take what is shown of a turn that passed
}

func usualBounds() bounds {
	return bounds{ladder: 5 * time.Second, store: 2 * time.Second, shown: lastWrite}
}

// with gives the hooks that tell of the turn's end their own time: its ending is
// written behind them.
func (b bounds) with(hooks time.Duration) bounds {
	b.store += hooks
	return b
}

// driver takes one turn from opening its session to its result, whatever comes
// between, and the turns that follow it. See doc.go for its states.
type driver struct {
	svc    api.Service
	stops  *stops
	bounds bounds
	// open names the session; begin hands the input over.
	open  func(ctx context.Context) (api.SessionState, error)
	begin func(ctx context.Context, s api.SessionState) (api.Submitted, error)
	// opened, if not nil, is told of the session before anything is handed
	// over; it must not block.
	opened func(s api.SessionState)
	// passed, if not nil, is told of each turn that another followed, in order. It
	// may block: that holds up what comes next, but no stop.
	passed    func(r api.Result)
	keepInbox bool
	drain     bool // go on with what waits, turn after turn
}

// outcome is what came of a turn.
type outcome struct {
	session  event.SessionID // empty: none was opened
	result   *api.Result     // nil: no turn came to an end
	err      error           // why not
	stop     cause           // our stop, if it was the one that counted
	leftOpen bool            // the store did not answer: recovery will close the turn
}

// errStopped is why nothing was handed over.
var errStopped = errors.New("stopped before anything was started")

// begun is what driver.work has reached.
type begun struct {
	state *api.SessionState
	sub   *api.Submitted
	res   *api.Result
	err   error
	final bool
}

type driverState int

const (
	drRunning driverState = iota
	drAsked
	drForced
	drLeftOpen
	drEnded
)

// run drives the turn. It returns when the turn has ended or its time is up.
func (d *driver) run(ctx context.Context) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reached := make(chan begun, 3)
	go d.work(ctx, reached)

	w := &watchOver{d: d, ctx: ctx, first: d.stops.first, hurry: d.stops.hurry, answers: make(chan api.Interrupted, 4)}
	for w.state != drEnded && w.state != drLeftOpen {
		w.step(reached)
	}
	return w.outcome()
}

// work does the waiting parts in order, and starts nothing once a stop was
// seen.
func (d *driver) work(ctx context.Context, reached chan<- begun) {
	opening, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() { // ends with the opening: giveUp is called below
		select {
		case <-d.stops.first:
			giveUp()
		case <-opening.Done():
		}
	}()
	if d.stopped() {
		reached <- begun{err: errStopped, final: true}
		return
	}
	st, err := d.open(opening)
	giveUp()
	if err != nil {
		reached <- begun{err: err, final: true}
		return
	}
	reached <- begun{state: &st}
	if d.opened != nil {
		d.opened(st)
	}
	if d.stopped() {
		reached <- begun{err: errStopped, final: true}
		return
	}
	sub, err := d.begin(ctx, st)
	if err != nil {
		reached <- begun{err: err, final: true}
		return
	}
	first := sub // who watches has its own
	reached <- begun{sub: &first}
	var last *api.Result
	var shown <-chan struct{}
	for {
		res, err := d.svc.Wait(ctx, st.ID, sub.Input)
		if err != nil { // what was to follow was taken back: the last one stands
			tell(ctx, reached, begun{res: last, err: onlyIf(last == nil, err), final: true})
			return
		}
		next, more := d.next(ctx, st.ID, res)
		if !more {
			tell(ctx, reached, begun{res: &res, final: true})
			return
		}
		last, sub = &res, next
		addressed := next
		tell(ctx, reached, begun{sub: &addressed}) // before anything that can block: it can be stopped from here on
		if d.passed != nil {
			shown = d.show(ctx, shown, res)
		}
	}
}

// show tells of a turn that passed, behind the one before it, and waits for
// that; after a stop only for a while.
func (d *driver) show(ctx context.Context, before <-chan struct{}, res api.Result) (shown <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		d.passed(res)
	}()
	select {
	case <-done:
		return done
	case <-ctx.Done():
		return done
	case <-d.stops.first:
	}
	t := time.NewTimer(d.bounds.shown)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
	return done
}

// next is the turn behind the one that came to res: what that one made way for,
// or the next of what waits.
func (d *driver) next(ctx context.Context, id event.SessionID, res api.Result) (sub api.Submitted, more bool) {
	switch {
	case res.Next != "":
		return api.Submitted{Input: res.Next}, true
	case !d.drain || d.stopped() || res.Outcome == nil || *res.Outcome != event.TurnCompleted:
		return sub, false
	}
	sub, err := d.svc.RunNext(ctx, id)
	return sub, err == nil // nothing waits, or it still waits and is reported
}

// tell hands b to whoever watches, if anybody still does.
func tell(ctx context.Context, reached chan<- begun, b begun) {
	select {
	case reached <- b:
	case <-ctx.Done():
	}
}

func onlyIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

func (d *driver) stopped() bool {
	select {
	case <-d.stops.first:
		return true
	default:
		return false
	}
}

// watchOver is a run's state; only step changes it.
type watchOver struct {
	d       *driver
	ctx     context.Context
	state   driverState
	first   <-chan struct{}
	hurry   <-chan struct{}
	timer   <-chan time.Time
	answers chan api.Interrupted
	at      begun // what is known so far
	pending int   // requests without an answer
	counted bool  // our request was the first to arrive
}

func (w *watchOver) step(reached <-chan begun) {
	select {
	case b := <-reached:
		w.take(b)
	case a := <-w.answers:
		w.pending--
		w.counted = w.counted || a.State == "stopping"
	case <-w.first:
		w.first = nil
		w.state = drAsked
		w.timer = time.After(w.d.bounds.ladder)
		w.ask(false)
	case <-w.hurry:
		w.hurry = nil
		w.force()
	case <-w.timer:
		if w.state == drForced {
			w.state = drLeftOpen
			return
		}
		w.force()
	}
}

func (w *watchOver) force() {
	w.state = drForced
	w.timer = time.After(w.d.bounds.store)
	w.ask(true)
}

func (w *watchOver) take(b begun) {
	switch {
	case b.final:
		w.at.res, w.at.err, w.at.final = b.res, b.err, true
		w.state = drEnded
	case b.state != nil:
		w.at.state = b.state
	case b.sub != nil:
		w.at.sub = b.sub
		if w.state != drRunning { // handed over in the same instant
			w.ask(w.state == drForced)
		}
	}
}

// ask sends the interrupt, once there is something to address it to.
func (w *watchOver) ask(force bool) {
	if w.at.sub == nil {
		return
	}
	req := w.d.stops.cause().request(api.InterruptRequest{
		Session: w.at.state.ID, Input: w.at.sub.Input, Force: force, KeepInbox: w.d.keepInbox})
	w.pending++
	go func() {
		a, err := w.d.svc.Interrupt(w.ctx, req)
		if err != nil {
			a = api.Interrupted{}
		}
		w.answers <- a
	}()
}

func (w *watchOver) outcome() outcome {
	o := outcome{result: w.at.res, err: w.at.err}
	if w.at.state != nil {
		o.session = w.at.state.ID
		o.leftOpen = w.state == drLeftOpen
	}
	c := w.d.stops.cause()
	if o.result == nil {
		o.stop = c
		return o
	}
	if c != noCause && !w.counted {
		w.settle()
	}
	if w.counted || o.result.Who == c.request(api.InterruptRequest{}).Who || madeWay(o.result) {
		o.stop = c
	}
	return o
}

// madeWay reports whether a turn was being stopped for an urgent input: behind
// that a stop of ours comes second, and is yet why nothing follows.
func madeWay(r *api.Result) bool {
	return r.Reason != nil && *r.Reason == string(interrupt.NowPriorityInput)
}

// settle takes answers that are on their way: the turn has ended, so that they
// are about to come.
func (w *watchOver) settle() {
	bound := time.After(200 * time.Millisecond)
	for w.pending > 0 && !w.counted {
		select {
		case a := <-w.answers:
			w.pending--
			w.counted = a.State == "stopping"
		case <-bound:
			return
		}
	}
}
