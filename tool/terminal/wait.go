package terminal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// patience is how long a call waits: until the command has ended, or budget is
// over, or something was printed and then nothing for quiet (0: never).
type patience struct {
	budget, quiet time.Duration
}

const (
	mostWait  = 600_000 // ms
	mostBytes = 1 << 20
	someBytes = 16 << 10 // of output that a call gives unless told otherwise
	oneBinary = 1 << 10  // of an output that is no text

	// goneBound is how long a tree of which nobody is seen may take to say that
	// it is gone: more than its host needs for that.
	goneBound = 2 * time.Second
)

// waits are the arguments that all waiting calls have.
type waits struct {
	Wait  *float64 `json:"wait_ms"`
	Quiet *float64 `json:"quiet_ms"`
	Bytes int      `json:"max_bytes"`
}

func waitFields(wait, quiet int) string {
	return fmt.Sprintf(`"wait_ms":{"type":"number","minimum":0,"maximum":%d,"description":"how long to wait at most; %d if not given"},`+
		`"quiet_ms":{"type":"number","minimum":0,"maximum":%d,"description":"stop waiting when something was printed and then nothing for so long; 0: never; %d if not given"},`+
		`"max_bytes":{"type":"integer","minimum":256,"maximum":%d,"description":"of output, head and tail; %d if not given"}`,
		mostWait, wait, mostWait, quiet, mostBytes, someBytes)
}

// read gives what was asked for, or what stands for it.
func (w waits) read(wait, quiet int) (patience, int, error) {
	p := patience{time.Duration(wait) * time.Millisecond, time.Duration(quiet) * time.Millisecond}
	for _, v := range []struct {
		given *float64
		to    *time.Duration
	}{{w.Wait, &p.budget}, {w.Quiet, &p.quiet}} {
		if v.given == nil {
			continue
		}
		if *v.given < 0 || *v.given > mostWait {
			return p, 0, tool.Replyf("wait_ms and quiet_ms are from 0 to %d", mostWait)
		}
		*v.to = time.Duration(*v.given * float64(time.Millisecond))
	}
	limit := someBytes
	if w.Bytes != 0 {
		limit = min(max(w.Bytes, 256), mostBytes)
	}
	return p, limit, nil
}

// why a wait ended
type why int

const (
	whyEnded why = iota // the command, or what it left behind
	whyQuiet
	whyBudget
	whyTrip
)

// nextEnd is what a call on a terminal that is known can wait for: its
// command's end, then that of what the command left behind.
func (t *terminal) nextEnd() <-chan struct{} {
	if end := t.tree.Exited(); !closed(end) {
		return end
	}
	return t.tree.Gone()
}

// wait waits for end on behalf of call. trip ends it early.
func (t *terminal) wait(call *tool.Call, end, trip <-chan struct{}, from int64, p patience) why {
	t.relay.to(tool.LiveOf(call))
	defer t.relay.to(nil)
	budget := time.NewTimer(p.budget)
	defer budget.Stop()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for seen := from; ; {
		more := t.relay.next()
		if now := proc.Printed(t.tree); now > seen {
			seen = now
			if p.quiet > 0 {
				quiet.Reset(p.quiet)
			}
		}
		select {
		case <-end:
			return whyEnded
		case <-trip:
			return t.unless(end, whyTrip)
		case <-budget.C:
			return t.unless(end, whyBudget)
		case <-quiet.C:
			return t.unless(end, whyQuiet)
		case <-more:
		case <-tick.C:
		}
	}
}

// unless prefers the end, which is a fact, to any reason to stop waiting.
func (t *terminal) unless(end <-chan struct{}, w why) why {
	if closed(end) {
		return whyEnded
	}
	return w
}

// settled reports whether nothing of the tree lives on; children get a moment
// to end with their command.
func (t *terminal) settled(d time.Duration) bool {
	short := time.NewTimer(d)
	defer short.Stop()
	select {
	case <-t.tree.Gone():
		return true
	case <-short.C:
	}
	if len(t.tree.PIDs()) > 0 {
		return false
	}
	// Nobody is seen: the last words may be on their way still, and a look at
	// processes that come and go may miss one.
	proof := time.NewTimer(goneBound)
	defer proof.Stop()
	select {
	case <-t.tree.Gone():
		return true
	case <-proof.C:
		return len(t.tree.PIDs()) == 0 // whoever else holds the line is nobody's
	}
}

// owned is a context that a trip cuts through the call's registrar, because the
// call waits on a terminal of its own turn. release takes the terminator back.
func owned(ctx context.Context, call *tool.Call) (own context.Context, release func()) {
	own, cancel := context.WithCancel(ctx)
	off := func() {}
	if reg, ok := tool.RegistrarOf(call); ok {
		if id, err := reg.Register(interrupt.Terminator(cancel)); err == nil {
			off = func() { reg.Unregister(id) }
		} else {
			cancel() // its turn is over
		}
	} else {
		stop := tool.SignalOf(call).OnCancel(cancel)
		off = func() { stop() }
	}
	return own, func() { off(); cancel() }
}

// end ends t for a trip; a forced signal takes the grace away.
func (s *Terminals) end(call *tool.Call, t *terminal, by string) (survivors []int) {
	l, sig := s.ladder(), tool.SignalOf(call)
	if closed(sig.Forced()) {
		l.Grace = 0 // nobody is to be asked first
	}
	done := make(chan struct{})
	var hurry sync.WaitGroup
	hurry.Go(func() {
		select {
		case <-sig.Forced():
			t.tree.Stop(interrupt.Ladder{Bound: l.Bound})
		case <-done:
		}
	})
	survivors = t.stop(by, l)
	close(done)
	hurry.Wait()
	return survivors
}

// report is what a call says about a terminal.
type report struct {
	head      []string // lines
	limit     int
	stopped   bool
	survivors []int
}

// result gives head and fresh output. The end's facts stand in it once the
// command has ended.
func (t *terminal) result(r report) tool.Result {
	out, fresh := t.read(r.limit)
	res := tool.Result{Success: true, Stopped: r.stopped, Survivors: r.survivors,
		Output: &event.Output{Bytes: fresh, Truncated: out.Truncated, Dropped: out.Dropped, Binary: out.Binary}}
	if e, ok := t.tree.Exit(); ok && !t.leftover {
		res.ExitCode, res.Signal = e.Code, e.Signal
	}
	if len(r.survivors) > 0 {
		r.head = append(r.head, "could not be ended: "+pidList(r.survivors))
	}
	text := out.Text
	if out.Binary {
		text, _ = tool.Bounded(text, oneBinary)
		r.head = append(r.head, fmt.Sprintf("the output is binary, %d bytes; send it to a file to look at it", fresh))
	}
	if out.Truncated {
		res.Lacks = max(0, fresh-int64(len(text)))
	}
	switch {
	case out.Dropped > 0:
		r.head = append(r.head, fmt.Sprintf("output %d bytes, of which %d were not kept", fresh, out.Dropped))
	case out.Truncated:
		r.head = append(r.head, fmt.Sprintf("output %d bytes", fresh))
	}
	if fresh == 0 {
		r.head = append(r.head, "no new output")
	} else {
		r.head = append(r.head, "output:")
	}
	res.Content = event.TextOf(strings.Join(r.head, "\n") + "\n" + text)
	return res
}

func pidList(pids []int) string { return "pids " + strings.Trim(fmt.Sprint(pids), "[]") }
