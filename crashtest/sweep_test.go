package crashtest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/proc"
)

func TestMain(m *testing.M) {
	proc.Main() // a re-execution of this binary may be a guardian
	if spec := os.Getenv(asVictim); spec != "" {
		os.Exit(runVictim(spec))
	}
	goleak.VerifyTestMain(m)
}

// full reports whether everything is to be swept: RIPCORD_SWEEP=full. Without
// it each scenario's last three batches are, byte by byte, and every record.
func full() bool { return os.Getenv("RIPCORD_SWEEP") == "full" }

// scenarios returns as many as RIPCORD_SCENARIOS says: the twelve that stand for
// all, then the other named ones, then seeded ones. With named set it is all
// named ones at least: for what is quick.
func scenarios(t *testing.T, named bool) []crashtest.Scenario {
	n := 12
	if s := os.Getenv("RIPCORD_SCENARIOS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("RIPCORD_SCENARIOS=%q is no number of scenarios", s)
		}
	}
	if named {
		n = max(n, crashtest.Named())
	}
	return crashtest.Scenarios(n)
}

// tally counts what a sweep did, so that one that shrank is seen.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what] += n
}

func (c *tally) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

// tape is a scenario's recording, which all tests share: none changes it.
type tape struct {
	once sync.Once
	r    *crashtest.Recording
	err  error
}

var tapes sync.Map // by the scenario's name

func recorded(t *testing.T, s crashtest.Scenario) *crashtest.Recording {
	t.Helper()
	found, _ := tapes.LoadOrStore(s.Name, &tape{})
	p := found.(*tape)
	p.once.Do(func() { p.r, p.err = crashtest.Record(context.WithoutCancel(t.Context()), s) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.r
}

// each hands every scenario's recording to f, side by side, and the journals of
// its sub-agents, which are sessions like any other.
func each(t *testing.T, f func(t *testing.T, r *crashtest.Recording)) {
	t.Helper()
	of(t, scenarios(t, false), f)
}

func of(t *testing.T, list []crashtest.Scenario, f func(t *testing.T, r *crashtest.Recording)) {
	t.Helper()
	t.Run("all", func(t *testing.T) {
		for _, s := range list {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				r := recorded(t, s)
				f(t, r)
				for _, c := range r.Family() {
					t.Run(string(c.ID), func(t *testing.T) { f(t, c) })
				}
			})
		}
	})
}

// complain reports violations of one wreck, of the first few wrecks only.
type complain struct {
	t  *testing.T
	mu sync.Mutex
	n  int
}

func (c *complain) about(w crashtest.Wreck, vs []crashtest.Violation) {
	c.t.Helper()
	if len(vs) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n > 5 {
		return
	}
	for _, v := range vs {
		c.t.Errorf("%s: %s", w.What, v)
	}
}

func (c *complain) done() {
	if c.n > 5 {
		c.t.Errorf("and %d more", c.n-5)
	}
}

// The recording itself is what every other test stands on: nothing ran before
// its start was durable, what a hook refused did not happen, and the oracle finds
// nothing in a whole journal.
//
// proves LOG-12, LOG-13, HOK-02, GRD-03
func TestSweepStandsOnRunsThatAreTrue(t *testing.T) {
	of(t, scenarios(t, true), func(t *testing.T, r *crashtest.Recording) {
		for _, v := range r.Durable() {
			t.Error(v)
		}
		w := r.Cut(len(r.Bytes))
		c := &complain{t: t}
		c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
		t.Logf("%d records, %d bytes, %d batches", len(r.Records), len(r.Bytes), r.Records[len(r.Records)-1].Batch)
	})
}

// A scenario is what its name says: otherwise the sweep would be of something
// else.
func TestSweepIsOfWhatItsScenariosAreNamedFor(t *testing.T) {
	of(t, crashtest.Scenarios(0), func(t *testing.T, r *crashtest.Recording) {
		at := 0
		for _, s := range r.Scenario.Shows {
			i := bytes.Index(r.Bytes[at:], []byte(s))
			if i < 0 {
				t.Errorf("%q does not stand behind byte %d", s, at)
				break
			}
			at += i
		}
	})
}

// proves REC-03, REC-04, REC-05, REC-06, LOG-12, TOL-05, TOL-23, TOL-27, HOK-04, PRF-03, TRN-12, TRN-13, TRN-16, INT-66, INT-69, INT-70, RTY-10
func TestSweepOfEveryRecord(t *testing.T) {
	var sum tally
	of(t, scenarios(t, true), func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		sum.add("runs", 1)
		for i, end := range append([]int{0}, r.Ends...) {
			if i%sparser != len(r.Ends)%sparser {
				continue
			}
			for k, s := range crashtest.Sights() {
				if (sparser > 1 || !full() && !r.Running(i)) && k != i/sparser%len(crashtest.Sights()) {
					continue // where nothing runs there is nothing to see
				}
				w := r.Cut(end)
				c.about(w, r.Try(t.Context(), w, s))
				sum.add("cuts", 1)
			}
		}
	})
	t.Logf("%d cuts", sum.get("cuts"))
	atLeast(t, &sum, "cuts", 40*sum.get("runs"))
}

// proves REC-02, REC-03, REC-04, REC-05, REC-06, LOG-02, LOG-12, PRF-03, B022, B024, B027
func TestSweepOfCuts(t *testing.T) {
	var sum tally
	each(t, func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		bytewise, whole := 0, 16 // every 16th cut is recovered in full
		if !full() {
			bytewise, whole = r.Batches(3), 64
		}
		for n := 0; n <= len(r.Bytes); n++ {
			w := r.Cut(n)
			switch {
			case r.Boundary(n): // see TestSweepOfEveryRecord
				sum.add("boundaries", 1)
			case n < bytewise || n%coarser != 0:
				continue
			case n%whole == 0 || r.Boundary(n-1) || r.Boundary(n+1):
				c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
			default:
				c.about(w, r.Glance(t.Context(), w))
			}
			if r.Acked(n) > crashtest.Last(w) {
				t.Errorf("%s: record %d had been acknowledged, record %d is the last kept", w.What, r.Acked(n), crashtest.Last(w))
			}
			sum.add("cuts", 1)
		}
	})
	t.Logf("%d cuts, %d of them at boundaries of records", sum.get("cuts"), sum.get("boundaries"))
	atLeast(t, &sum, "boundaries", 30*12)
}

// atLeast fails a sweep that did less than it used to.
func atLeast(t *testing.T, sum *tally, what string, n int) {
	t.Helper()
	if got := sum.get(what); got < n && os.Getenv("RIPCORD_SCENARIOS") == "" && coarser == 1 && !t.Failed() {
		t.Errorf("only %d %s were made, want %d at least: the sweep has shrunk", got, what, n)
	}
}

// proves REC-02, LOG-02, PRF-03, B023, B027
func TestSweepOfFlips(t *testing.T) {
	var sum tally
	each(t, func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		from := r.Ends[len(r.Ends)-5]
		for off := from; off < len(r.Bytes); off++ {
			for bit := range uint(8) {
				if !full() && (off+int(bit))%8 != 0 || off%coarser != 0 {
					continue
				}
				w := r.Flip(off, bit)
				if off%64 == 0 || w.Keep < 0 && off%8 == 0 {
					c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
				} else {
					c.about(w, r.Glance(t.Context(), w))
				}
				sum.add("flips", 1)
			}
		}
		for i := range r.Ends[:len(r.Ends)-5] { // one in each earlier record, and its newline
			for _, off := range []int{(r.Start(i) + r.Ends[i]) / 2, r.Ends[i] - 1, r.Start(i) + 10} {
				w := r.Flip(off, 3)
				c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
				sum.add("flips", 1)
			}
		}
	})
	t.Logf("%d flips", sum.get("flips"))
	atLeast(t, &sum, "flips", 900*12)
}

// proves REC-02, LOG-02, PRF-03, B023
func TestSweepOfZeroes(t *testing.T) {
	var sum tally
	each(t, func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		step := 512
		if full() {
			step = 16
		}
		for off := 0; off < len(r.Bytes); off += step {
			w := r.Zero(off, 512)
			if off%512 == 0 {
				c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
			} else {
				c.about(w, r.Glance(t.Context(), w))
			}
			sum.add("fills", 1)
		}
	})
	t.Logf("%d zero fills", sum.get("fills"))
	atLeast(t, &sum, "fills", 10*12)
}

// proves REC-02, LOG-02, PRF-03, B022, B024
func TestSweepOfTails(t *testing.T) {
	var sum tally
	each(t, func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		for i, w := range r.Tails(1) {
			if i%sparser != 0 {
				continue
			}
			c.about(w, r.Try(t.Context(), w, crashtest.SeesNothing))
			sum.add("tails", 1)
		}
	})
	t.Logf("%d tails", sum.get("tails"))
	atLeast(t, &sum, "tails", 30*12)
}

// A crash during recovery leaves none or all of it, and the next one closes
// the books the same way.
//
// proves REC-05, PRF-03
func TestSweepOfCrashesInRecovery(t *testing.T) {
	var sum tally
	each(t, func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		for i, end := range r.Ends {
			if !full() && i%4 != 0 || i%coarser != 0 {
				continue
			}
			once, err := crashtest.Recover(t.Context(), r.ID, r.Bytes[:end], crashtest.SeesAlive)
			if err != nil {
				t.Fatal(err)
			}
			for n := end; n <= len(once.Bytes); n++ {
				if (n%23 != 0 || !full() && n%3 != 0) && once.Bytes[n-1] != '\n' || n%sparser != 0 {
					continue
				}
				again, err := crashtest.Recover(t.Context(), r.ID, once.Bytes[:n], crashtest.SeesAlive)
				w := crashtest.Wreck{What: fmt.Sprintf("cut at byte %d of the recovery of byte %d", n, end)}
				if err != nil {
					c.about(w, []crashtest.Violation{{Invariant: 7, Text: err.Error()}})
					continue
				}
				vs := crashtest.Judge(crashtest.Case{Intended: r.Lines, Records: r.Records, Floor: r.Records[i].Seq, Journal: again.Bytes})
				c.about(w, append(vs, crashtest.SameClosers(once.Bytes, again.Bytes, end)...))
				sum.add("cuts", 1)
			}
		}
	})
	t.Logf("%d cuts in recoveries", sum.get("cuts"))
	atLeast(t, &sum, "cuts", 100*12)
}

// proves REC-08, REC-09, PRF-03, TRN-14
func TestSweepGoesOnAfterEveryRecord(t *testing.T) {
	var sum tally
	of(t, scenarios(t, true), func(t *testing.T, r *crashtest.Recording) {
		c := &complain{t: t}
		defer c.done()
		sum.add("runs", 1)
		n, vs, err := r.GoOn(context.WithoutCancel(t.Context()), 2*sparser-1)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			c.about(crashtest.Wreck{What: v.What}, v.Violations)
		}
		sum.add("lives", n)
	})
	t.Logf("%d second lives", sum.get("lives"))
	atLeast(t, &sum, "lives", 25*sum.get("runs"))
}

// A family is one thing: whichever of its journals a crash cut, opening the
// eldest closes the leaves' books first, and what each level says of the one
// below is what stands there.
//
// proves TOL-23, REC-03, REC-04, REC-07, REC-08, PRF-03
func TestSweepOfFamilies(t *testing.T) {
	var sum tally
	of(t, scenarios(t, true), func(t *testing.T, r *crashtest.Recording) {
		if len(r.Children) == 0 {
			return
		}
		c := &complain{t: t}
		defer c.done()
		n, vs, err := r.Kin(context.WithoutCancel(t.Context()), sparser)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			c.about(crashtest.Wreck{What: v.What}, v.Violations)
		}
		sum.add("lives", n)
	})
	t.Logf("%d families", sum.get("lives"))
	atLeast(t, &sum, "lives", 300)
}
