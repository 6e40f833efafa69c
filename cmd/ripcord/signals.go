package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/interrupt"
)

// stops is what may end a run from outside, in the order in which it came. It
// is armed before anything else, so that no signal is lost.
type stops struct {
	first chan struct{} // closed at the first
	hurry chan struct{} // closed at the first signal that finds one before it

	mu    sync.Mutex
	state stopsState // changed only in note and forward
}

type stopsState struct {
	cause cause // of the first
	count int
	to    chan<- os.Signal // who else is told; nil: nobody
}

// arm catches the signals that end a process and the one that a closed pipe
// sends. SIGHUP stays ignored where it was (nohup).
func arm() *stops {
	s := newStops()
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(sigs, syscall.SIGHUP)
	}
	// Caught and dropped, not ignored: an ignored signal is inherited by the
	// commands that tools run.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go s.watch(sigs)
	return s
}

func newStops() *stops {
	return &stops{first: make(chan struct{}), hurry: make(chan struct{})}
}

func (s *stops) watch(sigs <-chan os.Signal) {
	for sig := range sigs {
		if s.tell(sig) {
			continue
		}
		switch sig {
		case syscall.SIGINT:
			s.note(causeINT)
		case syscall.SIGTERM:
			s.note(causeTERM)
		case syscall.SIGHUP:
			s.note(causeHUP)
		}
	}
}

// note is the only place where the state changes. A time-out that comes after
// another stop is no stop of its own.
func (s *stops) note(c cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state.count == 0:
		s.state.cause = c
		close(s.first)
	case c == causeTimeout:
		return
	case s.state.count == 1:
		close(s.hurry)
	}
	s.state.count++
}

// forward hands signals to to, which must have room, instead of noting them,
// until the returned function is called.
func (s *stops) forward(to chan<- os.Signal) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.to = to
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.to = nil
	}
}

// tell hands a signal over; false if nobody takes it.
func (s *stops) tell(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.to == nil {
		return false
	}
	select {
	case s.state.to <- sig:
		return true
	default:
		return false
	}
}

// cause is the first stop's, noCause before it.
func (s *stops) cause() cause {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.cause
}

// limit notes a time-out after d; the returned function takes it back.
func (s *stops) limit(d time.Duration) (cancel func()) {
	if d <= 0 {
		return func() {}
	}
	t := time.AfterFunc(d, func() { s.note(causeTimeout) })
	return func() { t.Stop() }
}

// request is the interrupt that a cause asks for (IFC-05).
func (c cause) request(r api.InterruptRequest) api.InterruptRequest {
	switch c {
	case causeTERM:
		r.Reason, r.Who = string(interrupt.SystemShutdown), "SIGTERM"
	case causeHUP:
		r.Reason, r.Who = string(interrupt.SystemShutdown), "SIGHUP"
	case causeTimeout:
		r.Reason, r.Who = string(interrupt.BudgetExceeded), "timeout"
	case noCause, causeINT:
		r.Reason, r.Who = string(interrupt.UserSIGINT), "SIGINT"
	}
	return r
}

// reason is what a result says that never had a turn.
func (c cause) reason() string { return c.request(api.InterruptRequest{}).Reason }
