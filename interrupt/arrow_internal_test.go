package interrupt

import "testing"

// Every pair of states, reachable or not, is held against a predicate written
// from the picture on Coordinator alone: open → tripped → forced, and closed
// from each of them.
//
// proves INT-11, INT-12, INT-16
func TestEveryPairOfStatesIsAnArrowOrRefused(t *testing.T) {
	a, b := &Cause{Reason: UserSIGINT}, &Cause{Reason: LeaseLost}
	var states []state
	for _, cause := range []*Cause{nil, a, b} {
		for _, forced := range []bool{false, true} {
			for _, closed := range []bool{false, true} {
				states = append(states, state{cause: cause, forced: forced, closed: closed})
			}
		}
	}
	same := func(x, y state) bool { return x.cause == y.cause && x.forced == y.forced && x.closed == y.closed }
	legal := 0
	for _, from := range states {
		if from.forced && from.cause == nil {
			continue // no arrow leads there
		}
		for _, to := range states {
			want := same(from, to)
			if !from.closed && !want {
				trip := from.cause == nil && to.cause != nil && !from.forced && !to.forced && !to.closed
				force := from.cause != nil && to.cause == from.cause && !from.forced && to.forced && !to.closed
				closing := to.closed && to.cause == from.cause && to.forced == from.forced
				want = trip || force || closing
			}
			if got := arrow(from, to) == nil; got != want {
				t.Errorf("arrow(%+v, %+v) = %v, want %v", from, to, got, want)
			}
			if want && !same(from, to) {
				legal++
			}
		}
	}
	// trips: open to a, to b; forces: a, b; closes: from five states.
	if legal != 2+2+5 {
		t.Errorf("%d legal arrows, want 9", legal)
	}
}

func TestAnIllegalChangePanicsAndChangesNothing(t *testing.T) {
	c := New(Options{})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if c.state.forced || c.state.cause != nil {
			t.Errorf("state changed: %+v", c.state)
		}
		select {
		case <-c.forced:
			t.Error("the channel was closed")
		default:
		}
	}()
	c.update(func(s *state) { s.forced = true })
}
