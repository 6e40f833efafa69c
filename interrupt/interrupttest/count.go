package interrupttest

import (
	"sync"
	"sync/atomic"

	"github.com/ripcord-go/ripcord/interrupt"
)

// Counted is a signal that counts its listeners. It may be used from any
// goroutine.
type Counted struct {
	interrupt.Signal
	live, made atomic.Int64
}

// Count wraps sig.
func Count(sig interrupt.Signal) *Counted { return &Counted{Signal: sig} }

// Live is the number of listeners that were registered and neither removed nor
// run.
func (c *Counted) Live() int { return int(c.live.Load()) }

// Made is the number of listeners that were ever registered.
func (c *Counted) Made() int { return int(c.made.Load()) }

// OnCancel registers f with the signal below.
func (c *Counted) OnCancel(f func()) (stop func() bool) {
	c.live.Add(1)
	c.made.Add(1)
	var once sync.Once
	gone := func() { once.Do(func() { c.live.Add(-1) }) }
	off := c.Signal.OnCancel(func() {
		defer gone()
		f()
	})
	return func() bool {
		removed := off()
		if removed {
			gone()
		}
		return removed
	}
}
