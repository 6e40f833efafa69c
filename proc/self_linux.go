package proc

import (
	"os"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// Self names this process.
func Self() event.Owner {
	host, _ := os.Hostname()
	o := event.Owner{PID: os.Getpid(), Boot: bootID(), Host: host}
	if p, ok := look(o.PID); ok {
		o.Start = p.start
	}
	return o
}

// Alive reports whether the process that o names still lives on this system:
// its pid, its start and the system's boot are all the same. What was recorded
// elsewhere or before a restart is not alive here.
func Alive(o event.Owner) bool {
	_, ok := find(o)
	return ok
}

func find(o event.Owner) (process, bool) {
	if o.PID <= 0 || o.Start == 0 || o.Boot != bootID() {
		return process{}, false
	}
	p, ok := look(o.PID)
	return p, ok && p.start == o.Start && p.alive()
}

// bootID names this boot of this system as seen from this pid namespace:
// containers of one machine share its boot id, but not their pids.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, _ := os.Readlink("/proc/self/ns/pid")
	ns = strings.TrimSuffix(strings.TrimPrefix(ns, "pid:["), "]")
	return strings.TrimSpace(string(b)) + "/" + ns
}
