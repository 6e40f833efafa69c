package interrupttest

import (
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
)

// Each liar is work whose rungs do not tell the truth; the case that must see
// it does. patience makes a liar of omission slow, so those hurry themselves.
//
// proves PRF-02, PRF-09
func TestTheSuiteSeesEveryLiar(t *testing.T) {
	shut := make(chan struct{})
	close(shut)
	beats := 0
	beat := func() int { beats++; return beats } // it goes on, whenever somebody looks
	lazy := make(chan struct{})                  // closed by Force, though nothing ends
	early := make(chan struct{})
	nothing := func() {}
	for _, c := range []struct {
		name  string
		check func(subject) error
		s     subject
	}{
		{"said gone at once, goes on", obeys, subject{interrupt.Rungs{Ask: nothing, Force: nothing, Gone: shut}, beat, time.Millisecond}},
		{"said gone while it beats", orphan, subject{interrupt.Rungs{Ask: nothing, Force: nothing, Gone: shut}, beat, time.Millisecond}},
		{"said gone when forced, goes on", hurried, subject{interrupt.Rungs{Ask: nothing, Force: func() { close(lazy) }, Gone: lazy}, beat, time.Millisecond}},
		{"obeyed, though it should ignore", ignores, subject{interrupt.Rungs{Ask: func() { close(early) }, Force: nothing, Gone: early}, beat, time.Millisecond}},
	} {
		if err := c.check(c.s); err == nil {
			t.Errorf("the suite believes the liar: %s", c.name)
		} else {
			t.Logf("%s: %v", c.name, err)
		}
	}
}
