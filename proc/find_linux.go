package proc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
)

// Found is what is left of a recorded tree on this system now.
type Found struct {
	PIDs     []int // who is alive, leader first
	Leader   bool  // the command itself is among them
	Guardian bool  // its guardian is alive: a kept tree can be adopted
}

// Find looks for the processes of a tree that was recorded as started. Pid,
// start and boot must all agree: a process that got the pid of one of ours
// later is not found. Children are found by their guardian, their cgroup and
// the mark in their environment.
func Find(rec event.ProcessStarted) Found {
	list := remains(rec)
	f := Found{PIDs: pidsOf(rec, list), Guardian: rec.Guardian != nil && Alive(*rec.Guardian)}
	f.Leader = len(f.PIDs) > 0 && f.PIDs[0] == rec.PID
	return f
}

// End ends what is left of a recorded tree, whose runtime is gone, and returns
// when nothing is or the ladder's bound has passed. It touches nothing that
// [Find] does not find. With a guardian alive the guardian sees the end and
// records it.
func End(rec event.ProcessStarted, l interrupt.Ladder) Stopped {
	c := endRemains(rec, l, nil)
	s := Stopped{Climbed: c}
	if !c.Gone {
		s.Survivors = pidsOf(rec, remains(rec))
	} else if rec.Guardian != nil && ownCgroup(rec.Cgroup, markOf(rec.Guardian.PID, rec.Guardian.Start)) {
		_ = removeCgroup(rec.Cgroup)
	}
	return s
}

// remains lists who is left of a recorded tree, leader and parents first.
func remains(rec event.ProcessStarted) (out []process) {
	if rec.Boot != bootID() {
		return nil
	}
	seen := map[int]bool{}
	add := func(list ...process) {
		for _, p := range list {
			if !seen[p.pid] {
				seen[p.pid] = true
				out = append(out, p)
			}
		}
	}
	if p, ok := look(rec.PID); ok && p.start == rec.Start && p.alive() {
		add(p)
	}
	if rec.Guardian == nil {
		if len(out) > 0 {
			add(descendants(rec.PID, true)...)
		}
		return out
	}
	mark := markOf(rec.Guardian.PID, rec.Guardian.Start)
	if _, ok := find(*rec.Guardian); ok {
		add(descendants(rec.Guardian.PID, true)...)
	} else {
		if len(out) > 0 {
			add(descendants(rec.PID, true)...)
		}
		for _, p := range marked(mark) {
			add(p)
			add(descendants(p.pid, false)...)
		}
	}
	if ownCgroup(rec.Cgroup, mark) {
		add(inCgroup(rec.Cgroup)...)
	}
	return out
}

const endPause = 2 * time.Millisecond

// endRemains climbs the ladder on what is left. hurry, which may be nil, ends
// the grace.
func endRemains(rec event.ProcessStarted, l interrupt.Ladder, hurry <-chan struct{}) (c interrupt.Climbed) {
	began := time.Now()
	defer func() { c.Took = time.Since(began) }()
	list := remains(rec)
	if len(list) == 0 {
		return interrupt.Climbed{Gone: true}
	}
	if l.Grace > 0 {
		for _, p := range list {
			signalExactly(p, unix.SIGTERM, unix.SIGCONT)
		}
		if waitGone(rec, l.Grace, hurry, func([]process) {}) {
			return interrupt.Climbed{Gone: true}
		}
	}
	kill := func(list []process) {
		if rec.Guardian != nil && ownCgroup(rec.Cgroup, markOf(rec.Guardian.PID, rec.Guardian.Start)) {
			_ = killCgroup(rec.Cgroup)
		}
		for _, p := range list {
			signalExactly(p, unix.SIGKILL)
		}
	}
	kill(remains(rec))
	return interrupt.Climbed{Forced: true, Gone: waitGone(rec, l.Bound, nil, kill)}
}

// waitGone looks again and again until nothing is left, for limit at most;
// each time it gives act who is.
func waitGone(rec event.ProcessStarted, limit time.Duration, hurry <-chan struct{}, act func([]process)) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := endPause; ; pause = min(2*pause, 50*time.Millisecond) {
		list := remains(rec)
		if len(list) == 0 {
			return true
		}
		act(list)
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-hurry:
			next.Stop()
			return false
		case <-deadline.C:
			next.Stop()
			return len(remains(rec)) == 0
		}
	}
}
