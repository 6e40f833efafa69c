package modeltest

import (
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
)

// Shape holds a stream to the order that event.Delta promises.
func Shape(t testing.TB, a Answer) {
	t.Helper()
	if (a.Err == nil) == (a.Finish == "") {
		t.Errorf("ended with error %v and finish %q", a.Err, a.Finish)
	}
	call, last := -1, -1
	piece := func(block int, s string) {
		if block < last || s == "" || !utf8.ValidString(s) {
			t.Errorf("block %d after %d, text %q", block, last, s)
		}
		last = block
	}
	for i, d := range a.Deltas {
		switch d := d.(type) {
		case event.TextDelta:
			piece(d.Block, d.Text)
		case event.ReasoningDelta:
			piece(d.Block, d.Text+d.Signature+d.Data)
		case event.CallStart:
			if call >= 0 || d.Block <= last && last > 0 {
				t.Errorf("call %d opened while %d was open, after block %d", d.Block, call, last)
			}
			call, last = d.Block, d.Block
		case event.ArgsDelta:
			piece(d.Block, d.Text)
			if d.Block != call {
				t.Errorf("arguments for block %d while call %d is open", d.Block, call)
			}
		case event.CallEnd:
			if d.Block != call {
				t.Errorf("end of block %d while call %d is open", d.Block, call)
			}
			call = -1
		case event.UsageDelta:
		case event.Finish:
			if i != len(a.Deltas)-1 {
				t.Errorf("a finish stands at %d of %d", i, len(a.Deltas))
			}
			call = -1
		}
	}
}
