package tool

import (
	"context"
	"sync"

	"github.com/ripcord-go/ripcord/event"
)

// Fence stands between a call and its effects. It is open while the call has
// no end and closed from then on, for good: what a quarantined call still
// tries is refused with an error that matches [ErrOver].
type Fence interface {
	// Check reports whether the fence is open, now. It is for work that can be
	// thrown away; an effect goes through Pass.
	Check() error
	// Pass runs effect if the fence is open. The call gets no end while effect
	// runs (for a second at most), so that the answer "quarantined" stands
	// before no effect that it did not know of. effect must be short.
	Pass(effect func() error) error
}

// latch is the one state of a started call; only its methods change it.
//
//	open ──claim(returned)──▶ returned     the tool's word is the end
//	  └────claim(abandoned)─▶ abandoned    the bound's word is the end
//
// It is compare-and-set: exactly one claim succeeds.
type latch struct {
	mu     sync.Mutex
	end    claim
	inside int           // effects that passed the fence and have not returned
	idle   chan struct{} // closed once claimed and nothing is inside
}

type claim int

const (
	open claim = iota
	returned
	abandoned
)

func newLatch() *latch { return &latch{idle: make(chan struct{})} }

func (l *latch) claim(to claim) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != open {
		return false
	}
	l.end = to
	if l.inside == 0 {
		close(l.idle)
	}
	return true
}

func (l *latch) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end != open
}

func (l *latch) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != open {
		return false
	}
	l.inside++
	return true
}

func (l *latch) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	if l.inside == 0 && l.end != open {
		close(l.idle)
	}
}

// companions are what a running call carries, each behind the call's fence.
type companions struct {
	latch    *latch
	turn     func() error // the turn's own fence, may be nil
	recorder Recorder
	jobs     Jobs
	live     Live
}

func (c companions) Check() error {
	if c.latch.over() {
		return ErrOver
	}
	if c.turn != nil {
		return c.turn()
	}
	return nil
}

func (c companions) Pass(effect func() error) error {
	if !c.latch.enter() {
		return ErrOver
	}
	defer c.latch.leave()
	if c.turn != nil {
		if err := c.turn(); err != nil {
			return err
		}
	}
	return effect()
}

func (c companions) Record(ctx context.Context, p event.Payload) error {
	if err := c.Check(); err != nil {
		return err
	}
	return c.recorder.Record(ctx, p)
}

func (c companions) Adopt(ctx context.Context, j Job) (event.JobID, error) {
	if err := c.Check(); err != nil {
		return "", err
	}
	return c.jobs.Adopt(ctx, j)
}

func (c companions) Output(text string) {
	if c.Check() == nil {
		c.live.Output(text)
	}
}
