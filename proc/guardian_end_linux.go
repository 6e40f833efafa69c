package proc

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	orphanGrace  = 200 * time.Millisecond // the most that a tree gets when its runtime died
	hearBound    = 50 * time.Millisecond  // for what a dead runtime had said
	drainBound   = time.Second            // for what is in the pipe when the tree is gone
	settleLooks  = 12
	settleStep   = 30 * time.Microsecond
	sweepBudget  = 20 * time.Millisecond  // one uninterrupted sweep
	sweepPause   = 2 * time.Millisecond   // before the next one; doubles
	sweepRest    = 100 * time.Millisecond // the longest pause
	surrenderFor = time.Minute            // an orphan tree is fought this long
	syncDelay    = 20 * time.Millisecond  // the record is synced this long after it was told
)

// ask climbs the first rung: the asking signal and SIGCONT to each process of
// the tree, once.
func (g *guardian) ask() {
	if g.phase != phaseRunning {
		return
	}
	g.phase = phaseAsked
	sig := unix.Signal(g.ord.Ask)
	if sig == 0 {
		sig = unix.SIGTERM
	}
	grouped := g.group(sig, unix.SIGCONT)
	for _, p := range g.tree(true) {
		if !grouped || p.pgrp != g.started.PID {
			signalExactly(p, sig, unix.SIGCONT)
		}
	}
}

// group signals the leader's group, which only an unreaped leader keeps ours.
func (g *guardian) group(sigs ...unix.Signal) bool {
	if g.record != nil {
		return false
	}
	for _, sig := range sigs {
		_ = unix.Kill(-g.started.PID, sig)
	}
	return true
}

// tree lists who is alive.
func (g *guardian) tree(thorough bool) []process {
	list := descendants(g.self.PID, thorough)
	if g.cgroup == "" {
		return list
	}
	seen := map[int]bool{}
	for _, p := range list {
		seen[p.pid] = true
	}
	for _, p := range inCgroup(g.cgroup) {
		if !seen[p.pid] {
			list = append(list, p)
		}
	}
	return list
}

// force climbs the last rung and stays on it until nothing is left.
func (g *guardian) force() {
	if g.phase != phaseRunning && g.phase != phaseAsked {
		return
	}
	g.phase = phaseForced
	g.rung.Stop()
	g.pause = sweepPause
	if g.cgroup != "" {
		_ = killCgroup(g.cgroup)
	}
	g.group(unix.SIGKILL)
	g.sweep()
}

// settle gives what was killed a moment to end, without the detour over the
// signal that tells of it: it is the last stretch of every forced stop.
func (g *guardian) settle() bool {
	for range settleLooks {
		if g.reap(); g.childless {
			return true
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(settleStep)}, nil)
	}
	return false
}

// sweep kills whoever is alive, again and again until a look finds nobody who
// was not killed before: a process that is being killed cannot fork, so what a
// racing forker leaves becomes fewer with each round. Whoever loses a parent
// becomes our child, so that in the end the kernel's "no child" is the proof.
func (g *guardian) sweep() {
	if g.phase != phaseForced {
		return
	}
	type key struct {
		pid   int
		start uint64
	}
	killed := map[key]bool{}
	if g.cgroup != "" && g.settle() { // as a rule the cgroup leaves nothing to look for
		return
	}
	until := time.Now().Add(sweepBudget)
	for round := 0; ; round++ {
		g.reap()
		if g.childless {
			return
		}
		fresh := false
		for _, p := range g.tree(round%4 == 3) {
			if k := (key{p.pid, p.start}); !killed[k] {
				fresh, killed[k] = true, true
				signalExactly(p, unix.SIGKILL)
			}
		}
		if !fresh && (round > 1 || g.settle()) || time.Now().After(until) {
			break
		}
	}
	if g.childless {
		return
	}
	g.again.Reset(g.pause)
	g.pause = min(2*g.pause, sweepRest)
}

// reap takes the ends of our children and tells the leader's.
func (g *guardian) reap() {
	g.bury()
	if g.phase == phaseIdle {
		return
	}
	if !g.childless {
		g.tellLeader()
		return
	}
	if g.phase == phaseForced && g.cgroup != "" && len(inCgroup(g.cgroup)) > 0 {
		_ = killCgroup(g.cgroup) // put there by somebody else
	}
}

// bury takes the ends of our children: the leader's, and those of whoever lost
// a parent. When there is none left to wait for, nothing of the tree lives. It
// comes before anything that is a reason for an end: a leader that has ended
// already has ended by itself, though nobody has looked yet.
func (g *guardian) bury() {
	for g.phase != phaseIdle && !g.childless {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			g.childless = true
		case err != nil || pid == 0:
			return
		case pid == g.started.PID:
			g.leaderEnded(ws)
		}
	}
}

func (g *guardian) leaderEnded(ws unix.WaitStatus) {
	e := exitOf(syscall.WaitStatus(ws), true)
	e.Ran, e.TimedOut = time.Since(g.begun), g.how == HowTimedOut
	if g.phase == phaseRunning {
		g.limit.Stop() // the limit was the command's, not its leftovers'
	}
	g.record = &ExitRecord{
		Exit: e, Owner: g.ord.Owner, ID: g.ord.ID, PID: g.started.PID, Start: g.started.Start, Boot: g.self.Boot,
		How: g.how, Ended: time.Now().UTC(),
	}
}

// tellLeader tells the leader's end while others of the tree live on.
func (g *guardian) tellLeader() {
	if g.record == nil || g.told {
		return
	}
	g.told = true
	g.pump.flush(drainBound)
	g.write()
	g.tell(kindExited, g.record)
	if g.phase == phaseRunning { // else the whole tree's end is near, and its record is synced then
		g.syncs.Go(g.sync) // whoever signals waits for no disk
	}
}

// write leaves the record beside the spool.
func (g *guardian) write() {
	if g.ord.Temporary || g.record == nil {
		return
	}
	_ = writeExit(string(g.ord.Spool), *g.record) // the runtime has it from us; recovery says unknown
}

func (g *guardian) sync() {
	if !g.ord.Temporary {
		_ = syncExit(string(g.ord.Spool))
	}
}

// finish tells that nothing is left. The record stands in the file system
// before the runtime hears of it, so that the death of the runtime loses
// nothing; it is made durable a little later ([guardian.leave]), so that it
// does not stand in the way of the runtime's own record of the same fact.
func (g *guardian) finish() {
	g.phase = phaseGone
	g.pump.cut(drainBound)
	select {
	case <-g.pump.done:
		g.record.Bytes, g.record.Dropped = g.spool.total, g.spool.dropped()
	default: // a disk that does not answer: the counters are not ours to read
	}
	g.record.Gone = true
	g.write()
	if g.live >= 0 {
		_ = unix.Shutdown(g.live, unix.SHUT_WR)
	}
	g.tell(kindGone, g.record)
}

// leave is the guardian's own end.
func (g *guardian) leave() {
	if g.phase != phaseGone {
		return
	}
	if g.cgroup != "" {
		_ = removeCgroup(g.cgroup)
	}
	if g.ctl != nil && !g.ord.Temporary {
		pause := time.NewTimer(syncDelay)
		defer pause.Stop()
		for alone := false; !alone; {
			select {
			case f := <-g.frames:
				alone = f.from == g.ctl && f.err != nil
			case <-g.owner:
				alone = true
			case <-pause.C:
				alone = true
			}
		}
	}
	g.syncs.Wait()
	g.sync()
	g.stopListening()
}

// timeOut ends the tree for its own limit.
func (g *guardian) timeOut() {
	g.bury()
	if g.phase != phaseRunning || g.record != nil {
		return
	}
	g.how = HowTimedOut
	g.climb(g.ord.Ladder.Grace)
}

func (g *guardian) climb(grace time.Duration) {
	if grace <= 0 {
		g.force()
		return
	}
	g.ask()
	g.rung.Reset(grace)
}

// runtimeDied ends the tree unless it is kept.
func (g *guardian) runtimeDied() {
	if g.orphan {
		return
	}
	g.orphan = true
	if g.ctl != nil {
		g.ctl.Close()
		g.ctl = nil
	}
	if g.phase == phaseIdle || g.keep {
		return
	}
	g.bury()
	g.how = firstHow(g.how, HowRuntimeDied)
	g.giveUp.Reset(max(g.ord.Ladder.Bound, 5*time.Second))
	g.climb(min(g.ord.Ladder.Grace, orphanGrace))
	if g.phase == phaseAsked { // also when it had been asked with a longer grace
		g.rung.Reset(min(g.ord.Ladder.Grace, orphanGrace))
	}
}

// surrender records who could not be ended; the sweeps go on for a while
// longer, then the guardian leaves them.
func (g *guardian) surrender() {
	if g.surrendered {
		g.abandoned = true
		return
	}
	g.surrendered = true
	r := ExitRecord{
		Exit:  Exit{Ran: time.Since(g.begun), Lost: "the command could not be ended"},
		Owner: g.ord.Owner, ID: g.ord.ID, PID: g.started.PID, Start: g.started.Start, Boot: g.self.Boot, How: g.how,
	}
	if g.record != nil {
		r = *g.record
	}
	for _, p := range g.tree(true) {
		r.Survivors = append(r.Survivors, p.pid)
	}
	if !g.ord.Temporary {
		_ = writeExit(string(g.ord.Spool), r)
		g.sync()
	}
	g.giveUp.Reset(surrenderFor)
}
