package turn_test

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord/event"
)

func seeds(t *testing.T, n int) int {
	if s := os.Getenv("RIPCORD_SEEDS"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return n
}

// simulate runs the worlds of n seeds, side by side on all processors.
func simulate(t *testing.T, faults bool) {
	n := seeds(t, 1000)
	var next atomic.Int64
	var mu sync.Mutex
	phases, seen := map[event.TurnOutcome]int{}, map[string]int{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !t.Failed() {
				seed := next.Add(1) - 1
				if seed >= int64(n) {
					return
				}
				w := newWorld(uint64(seed), wild(uint64(seed)))
				why := w.simulated(func() {
					w.faults = faults
					w.live(60)
					w.judgeAll()
					w.retried()
				})
				mu.Lock()
				if why != "" && !t.Failed() {
					t.Errorf("seed %d, faults %v: %s\n%s", seed, faults, why, w.timeline())
				}
				w.count(phases, seen)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d seeds, turns by outcome: %v, seen: %v", n, phases, seen)
	if t.Failed() {
		return
	}
	for _, what := range []string{"went ahead", "broke off and went on", "inner left open", "inner ended", "question voided", "question answered",
		"blocked before it asked", "woken", "retried", "rewound", "steered", "returned", "replaced", "edited", "compacted", "compaction failed", "compacted in a turn",
		"told of a loop", "judged a cut", "retried as if it had never been"} {
		if seen[what] == 0 {
			t.Errorf("%s: never: the simulation has shrunk", what)
		}
	}
	for _, o := range []event.TurnOutcome{event.TurnCompleted, event.TurnAborted, event.TurnFailed, event.TurnBlocked, event.TurnBudget, event.TurnStalled, event.TurnLooped, event.TurnTruncated} {
		if phases[o] == 0 {
			t.Errorf("no turn ended %s: the simulation has shrunk", o)
		}
	}
}

// proves PRF-05, TRN-01, TRN-02, TRN-05, TRN-06, TRN-09, TRN-12, TRN-13, TRN-15, TRN-16, TRN-17, LOG-04, LOG-06, REC-03, REC-05, INT-25, INT-31, INT-66, INT-70, INT-71, GRD-03, TOL-08
func TestAnyInterleavingLeavesAValidJournalAndOneTerminalEventATurn(t *testing.T) {
	t.Parallel()
	simulate(t, false)
}

// proves PRF-05, LOG-13, LOG-14, TRN-05
func TestAnyInterleavingWithAFailingDiskHasNoEffectWithoutItsIntent(t *testing.T) {
	t.Parallel()
	simulate(t, true)
}

// proves PRF-05: what happens is decided by the seed alone
func TestOneSeedIsOneTrace(t *testing.T) {
	for seed := range uint64(40) {
		traces := map[uint64]bool{}
		for range 3 {
			w := newWorld(seed, wild(seed))
			if why := w.simulated(func() { w.faults = seed%2 == 0; w.live(60); w.retried() }); why != "" {
				t.Fatalf("seed %d: %s", seed, why)
			}
			traces[w.trace()] = true
		}
		if len(traces) != 1 {
			t.Errorf("seed %d has %d traces in three runs", seed, len(traces))
		}
	}
}
