package interrupttest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

// Work is a kind of work that a driver is told to start.
type Work int

const (
	// Obeys ends when it is asked.
	Obeys Work = iota
	// Deep hides what beats below a child, which waits for it; all obey.
	Deep
	// Ignores does not end when it is asked, only when it is forced.
	Ignores
	// Orphan is led by one that ends at once and leaves behind what beats and
	// ignores the asking.
	Orphan
	// Finished has ended by itself before anybody asks.
	Finished
)

func (w Work) String() string {
	switch w {
	case Obeys:
		return "obeys"
	case Deep:
		return "deep"
	case Ignores:
		return "ignores"
	case Orphan:
		return "orphan"
	case Finished:
		return "finished"
	}
	return "work?"
}

// Driver starts work for the suite.
type Driver struct {
	// Start starts work of the kind and returns how it is ended and its beat:
	// the number of signs of life so far, read from the world, rising at least
	// every Every while anything of the work lives (but for [Finished]). What is
	// left at the end of the test the driver ends itself, in t.Cleanup.
	Start func(t *testing.T, w Work) (rungs interrupt.Rungs, beat func() int)
	// Every is the longest time between two beats; 0 means 20 ms.
	Every time.Duration
	// Not lists kinds that the driver cannot make.
	Not []Work
}

// patience bounds every wait of the suite for something that must happen.
const patience = time.Minute

// Run tests that the rungs of d tell the truth: Ask and Force may be called
// repeatedly and do not block; Gone is closed once nothing of the work is left,
// and not before.
func Run(t *testing.T, d Driver) {
	if d.Every == 0 {
		d.Every = 20 * time.Millisecond
	}
	for _, c := range cases() {
		if slices.Contains(d.Not, c.work) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rungs, beat := d.Start(t, c.work)
			if err := c.check(subject{rungs, beat, d.Every}); err != nil {
				t.Errorf("%s: %v", c.promise, err)
			}
		})
	}
}

// testCase is one sentence of the contract and how it is checked.
type testCase struct {
	name    string
	work    Work
	promise string
	check   func(s subject) error
}

func cases() []testCase {
	return []testCase{
		{"what obeys is asked and never forced", Obeys, "Gone is closed once the asked work has ended", obeys},
		{"what is deep is asked too", Deep, "asking reaches all of the work", obeys},
		{"what ignores the asking is forced after the grace", Ignores, "the grace is waited for, then the work is forced", ignores},
		{"what ignores the asking is forced at once when hurried", Ignores, "a hurry ends the grace", hurried},
		{"what its leader left behind is not gone", Orphan, "Gone is not closed while anything of the work lives", orphan},
		{"what has finished is not touched", Finished, "Gone is closed without anybody asking", finished},
		{"two may end it at once", Ignores, "Ask and Force may be called repeatedly, from any goroutine", twice},
		{"a trip ends it", Obeys, "Ask may be a terminator: it does not block", tripped},
	}
}

type subject struct {
	interrupt.Rungs
	beat  func() int
	every time.Duration
}

// alive waits until the work has beaten twice more.
func (s subject) alive() error {
	from := s.beat()
	if !within(patience, s.every/4, func() bool { return s.beat() >= from+2 }) {
		return fmt.Errorf("it does not beat within %v: %d beats", patience, s.beat())
	}
	return nil
}

// silent watches the world for many beats' time.
func (s subject) silent() error {
	from := s.beat()
	if within(10*s.every+100*time.Millisecond, s.every, func() bool { return s.beat() > from }) {
		return fmt.Errorf("said to be gone, but it goes on: %d beats more", s.beat()-from)
	}
	return nil
}

// within reports whether cond became true, looked at each step until limit.
func within(limit, step time.Duration, cond func() bool) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(max(step, time.Millisecond))
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end.C:
			return cond()
		}
	}
	return true
}

// verdict holds a climb against what it should have seen.
func (s subject) verdict(got interrupt.Climbed, forced bool) error {
	switch {
	case !got.Gone:
		return fmt.Errorf("not gone after %v: is a zombie counted as alive?", got.Took)
	case got.Forced != forced:
		return fmt.Errorf("forced %v, want %v", got.Forced, forced)
	}
	return s.silent()
}

func obeys(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.verdict(interrupt.Ladder{Grace: patience, Bound: patience}.Climb(s.Rungs, nil), false)
}

func ignores(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	grace := max(10*s.every, 200*time.Millisecond)
	before := s.beat()
	force := s.Force
	during := -1
	s.Force = func() {
		if during < 0 { // on a machine that is busy with other things a beat takes its time
			within(patience, s.every, func() bool { during = s.beat(); return during > before })
		}
		force()
	}
	got := interrupt.Ladder{Grace: grace, Bound: patience}.Climb(s.Rungs, nil)
	if err := s.verdict(got, true); err != nil {
		return err
	}
	if during <= before || got.Took < grace {
		return fmt.Errorf("it was not left its grace of %v: %d beats in it, %v in all", grace, during-before, got.Took)
	}
	return nil
}

func hurried(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	now := make(chan struct{})
	close(now)
	got := interrupt.Ladder{Grace: time.Hour, Bound: patience}.Climb(s.Rungs, now)
	return s.verdict(got, true)
}

func orphan(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	select {
	case <-s.Gone:
		return errors.New("said to be gone while it beats")
	default:
	}
	return s.verdict(interrupt.Ladder{Grace: 5 * s.every, Bound: patience}.Climb(s.Rungs, nil), true)
}

func finished(s subject) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-s.Gone:
	case <-limit.C:
		return errors.New("it has ended by itself, but is not said to be gone")
	}
	touched := false
	s.Ask, s.Force = func() { touched = true }, func() { touched = true }
	got := interrupt.Ladder{}.Climb(s.Rungs, nil)
	if touched {
		return errors.New("it was asked or forced: its number may be a stranger's by now")
	}
	return s.verdict(got, false)
}

func twice(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	l := interrupt.Ladder{Grace: 2 * s.every, Bound: patience}
	other := make(chan interrupt.Climbed)
	go func() { other <- l.Climb(s.Rungs, nil) }()
	got := l.Climb(s.Rungs, nil)
	for _, c := range []interrupt.Climbed{got, <-other} {
		if !c.Gone {
			return fmt.Errorf("one of two climbs saw %+v", c)
		}
	}
	s.Ask()
	s.Force()
	return s.silent()
}

func tripped(s subject) error {
	if err := s.alive(); err != nil {
		return err
	}
	var faults atomic.Int32
	c := interrupt.New(interrupt.Options{Fault: func(error) { faults.Add(1) }})
	defer c.Close()
	r, err := c.Registrar()
	if err != nil {
		return err
	}
	if _, err := r.Register(s.Ask); err != nil {
		return err
	}
	if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}); err != nil {
		return err
	}
	if n := faults.Load(); n > 0 {
		return fmt.Errorf("as a terminator it panicked or blocked, %d times", n)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-s.Gone:
		return s.silent()
	case <-limit.C:
		return errors.New("the trip did not end it")
	}
}
