package ripcord

import (
	"slices"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
)

// Processes are what a runtime's rooms run for all its sessions, such as
// servers of tools. They are no session's: no journal has them, and their
// guardians end them if the runtime dies. The zero value is empty and ready; it
// is safe for concurrent use.
type Processes struct {
	mu  sync.Mutex
	all []kept
}

type kept struct {
	event.ProcessStarted
	at time.Time
}

// Record takes the facts about a process; others it leaves alone.
func (ps *Processes) Record(p event.Payload) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch p := p.(type) {
	case event.ProcessStarted:
		ps.all = append(ps.all, kept{p, time.Now()})
	case event.ProcessEnded:
		ps.all = slices.DeleteFunc(ps.all, func(q kept) bool { return q.Owner == p.Owner && q.ID == p.ID && q.PID == p.PID })
	default: // what survived its end is still there
	}
}

// List is [Config.Processes]: those whose end was not recorded, oldest first.
func (ps *Processes) List() (out []api.JobInfo) {
	ps.mu.Lock()
	all := slices.Clone(ps.all)
	ps.mu.Unlock()
	for _, p := range all {
		pids := proc.Find(p.ProcessStarted).PIDs
		if len(pids) == 0 { // where nothing can be looked for
			pids = []int{p.PID}
		}
		out = append(out, api.JobInfo{ID: event.JobID(p.ID), Owner: p.Owner, Command: p.Owner + " " + p.ID + ": " + p.Command, PIDs: pids,
			State: event.JobRunning, Started: p.at})
	}
	return out
}
