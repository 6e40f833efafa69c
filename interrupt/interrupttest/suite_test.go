package interrupttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/interrupt/interrupttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pulse is work made of one goroutine.
type pulse struct {
	beats        atomic.Int64
	asked, force chan struct{}
	gone         chan struct{}
}

func start(t *testing.T, w interrupttest.Work) (interrupt.Rungs, func() int) {
	p := &pulse{asked: make(chan struct{}, 1), force: make(chan struct{}, 1), gone: make(chan struct{})}
	if w == interrupttest.Finished {
		close(p.gone)
		return interrupt.Rungs{Ask: func() {}, Force: func() {}, Gone: p.gone}, func() int { return 0 }
	}
	obeys := w == interrupttest.Obeys || w == interrupttest.Deep
	go p.run(obeys)
	poke := func(ch chan struct{}) func() {
		return func() {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
	rungs := interrupt.Rungs{Ask: poke(p.asked), Force: poke(p.force), Gone: p.gone}
	t.Cleanup(func() { rungs.Force(); <-p.gone })
	return rungs, func() int { return int(p.beats.Load()) }
}

func (p *pulse) run(obeys bool) {
	defer close(p.gone)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.beats.Add(1)
		case <-p.asked:
			if obeys {
				return
			}
		case <-p.force:
			return
		}
	}
}

// proves PRF-02, INT-04
func TestAGoroutineIsEndedAsTheSuiteAsks(t *testing.T) {
	interrupttest.Run(t, interrupttest.Driver{Start: start, Every: 5 * time.Millisecond})
}

// A process group, as plain as it can be: its members are found in the
// process table, zombies left out.
//
// proves PRF-02
func TestAProcessGroupIsEndedAsTheSuiteAsks(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no process table to read")
	}
	interrupttest.Run(t, interrupttest.Driver{Start: startGroup, Every: 25 * time.Millisecond})
}

const beating = `while :; do echo >> "$BEAT"; sleep 0.02; done`

func startGroup(t *testing.T, w interrupttest.Work) (interrupt.Rungs, func() int) {
	script := map[interrupttest.Work]string{
		interrupttest.Obeys:    beating,
		interrupttest.Deep:     "(sh -c '" + beating + "'; :) & wait",
		interrupttest.Ignores:  "trap '' TERM; " + beating,
		interrupttest.Orphan:   "trap '' TERM; (" + beating + ") & exit 0",
		interrupttest.Finished: "exit 0",
	}[w]
	beat := filepath.Join(t.TempDir(), "beat")
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), "BEAT="+beat)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pgid := cmd.Process.Pid
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		// Two looks in a row: one look at a table that changes can miss a child
		// that was born during it.
		for empty := 0; empty < 2; {
			if empty++; members(pgid) > 0 {
				empty = 0
			}
			<-tick.C
		}
		_ = cmd.Wait() // the leader is reaped last: its number keeps the group's name ours
	}()
	signal := func(s syscall.Signal) func() {
		return func() {
			select {
			case <-gone:
			default:
				_ = syscall.Kill(-pgid, s)
			}
		}
	}
	rungs := interrupt.Rungs{Ask: signal(syscall.SIGTERM), Force: signal(syscall.SIGKILL), Gone: gone}
	t.Cleanup(func() { rungs.Force(); <-gone })
	return rungs, func() int {
		b, _ := os.ReadFile(beat)
		return len(b)
	}
}

// members counts who of the group can still run.
func members(pgid int) (n int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent group …; the name may hold anything.
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" && f[0] != "X" {
			n++
		}
	}
	return n
}

// proves INT-47
func TestCountSeesEachListenerComeAndGo(t *testing.T) {
	c := interrupt.New(interrupt.Options{})
	sig := interrupttest.Count(c.Signal())
	for range 1000 {
		_, stop := interrupt.ContextOf(t.Context(), sig)
		if sig.Live() != 1 {
			t.Fatalf("%d live while one call runs", sig.Live())
		}
		stop()
		stop()
	}
	if sig.Live() != 0 || sig.Made() != 1000 {
		t.Errorf("%d live, %d made", sig.Live(), sig.Made())
	}
	sig.OnCancel(func() {})
	_, stop := interrupt.ContextOf(t.Context(), sig)
	if _, err := c.Request(interrupt.Cause{Reason: interrupt.UserSIGINT}); err != nil {
		t.Fatal(err)
	}
	stop()
	if sig.OnCancel(func() {}); sig.Live() != 0 {
		t.Errorf("%d live after the trip", sig.Live())
	}
}
