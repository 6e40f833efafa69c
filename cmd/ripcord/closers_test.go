package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// proves IFC-05: what is independent ends side by side, what holds all of it last
func TestClosersEndSideBySideAndTheirHolderLast(t *testing.T) {
	var others atomic.Int32
	var meet sync.WaitGroup
	meet.Add(2)
	one := closerFunc(func() error { meet.Done(); meet.Wait(); others.Add(1); return errors.New("one") }) // hangs unless both run
	holder := closerFunc(func() error {
		if n := others.Load(); n != 2 {
			t.Errorf("the holder is closed behind %d of 2", n)
		}
		return errors.New("holder")
	})
	err := closers{holder, one, one}.close()
	if got := err.Error(); got != "holder\none\none" {
		t.Errorf("said %q", got)
	}
	if err := (closers{}).close(); err != nil {
		t.Error(err)
	}
}
