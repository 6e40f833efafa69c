package shell

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

// Usual and Longest are a hook's time limit if it sets none, and the most that
// it may set.
const (
	Usual   = 30 * time.Second
	Longest = 10 * time.Minute
)

// Hook is one command at one or more points. Either Argv or Line is set.
type Hook struct {
	Name   string // letters, digits, ".", "_", "-"; each once
	Points []gate.Point
	// Tool is for which tools it runs: a name, a pattern of [path.Match], or
	// "" or "*" for all. It says nothing at points without a tool.
	Tool     string
	Argv     []string
	Line     string        // given to the shell as it stands here
	Timeout  time.Duration // 0 means [Usual]; at most [Longest]
	FailOpen bool          // an ordinary non-zero exit is no objection
	Env      []string      // added to [Options.Env]
}

// Options of [New]. Host must be set.
type Options struct {
	Host  proc.Host
	Hooks []Hook
	Env   []string // a hook's environment, complete; see [proc.Environ]
	Shell string   // for lines; "" means sh
	// Parallel runs the hooks of one point side by side instead of in their
	// order. In their order the first block is the last hook that runs.
	Parallel bool
	Scratch  string        // folder for input files; "" means the system's
	Grace    time.Duration // between TERM and KILL; 0 means 500 ms
}

// reap bounds the wait for a tree that was killed.
const reap = 5 * time.Second

// lastWords is how long a hook that had exited before its caller's wait was cut
// may take to be read. It is less than what [gate.Closed] waits.
const lastWords = 60 * time.Millisecond

// Hooks runs the hooks of the settings. It is safe for concurrent use.
type Hooks struct {
	o       Options
	id      atomic.Uint64
	closing chan struct{} // closed by Close

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // every run
}

var _ gate.Hooks = (*Hooks)(nil)

// New checks the hooks and returns them. The error is one sentence that names
// the hook.
func New(o Options) (*Hooks, error) {
	if o.Host == nil {
		return nil, errors.New("hooks need a process host: set Options.Host")
	}
	if o.Shell == "" {
		o.Shell = "sh"
	}
	if o.Grace == 0 {
		o.Grace = 500 * time.Millisecond
	}
	o.Hooks = slices.Clone(o.Hooks)
	seen := map[string]bool{}
	for i := range o.Hooks {
		h := &o.Hooks[i]
		if h.Timeout == 0 {
			h.Timeout = Usual
		}
		if err := h.Check(); err != nil {
			return nil, err
		}
		if seen[h.Name] {
			return nil, fmt.Errorf("hook %s: there are two of that name: rename one", h.Name)
		}
		seen[h.Name] = true
	}
	return &Hooks{o: o, closing: make(chan struct{})}, nil
}

// Check says in one sentence what is wrong with h.
func (h *Hook) Check() error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	_, badPattern := path.Match(h.Tool, "")
	switch {
	case h.Name == "" || len(h.Name) > 64 || strings.ContainsFunc(h.Name, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("hook %q: a name has 1 to 64 letters, digits, dots, dashes or underscores", h.Name)
	case len(h.Points) == 0:
		return fmt.Errorf("hook %s: it names no point: set on", h.Name)
	case (len(h.Argv) == 0) == (h.Line == ""):
		return fmt.Errorf("hook %s: set one of command and run", h.Name)
	case len(h.Argv) > 0 && h.Argv[0] == "":
		return fmt.Errorf("hook %s: its command has no program", h.Name)
	case badPattern != nil:
		return fmt.Errorf("hook %s: its pattern of tools cannot be read", h.Name)
	case h.Timeout < 0 || h.Timeout > Longest:
		return fmt.Errorf("hook %s: its time limit must be more than 0 and at most %s", h.Name, Longest)
	}
	for _, p := range h.Points {
		if !slices.Contains(gate.Points(), p) {
			return fmt.Errorf("hook %s: there is no point %q", h.Name, p)
		}
	}
	return nil
}

// at reports whether h runs at p for tool.
func (h *Hook) at(p gate.Point, tool string) bool {
	if !slices.Contains(h.Points, p) {
		return false
	}
	if h.Tool == "" || h.Tool == "*" || tool == "" {
		return true
	}
	ok, err := path.Match(h.Tool, tool)
	return ok || err != nil // a pattern that cannot be read guards all
}

func (h *Hooks) at(p gate.Point, tool string) (list []*Hook) {
	for i := range h.o.Hooks {
		if h.o.Hooks[i].at(p, tool) {
			list = append(list, &h.o.Hooks[i])
		}
	}
	return list
}

// Any implements [gate.Hooks].
func (h *Hooks) Any(p gate.Point, tool string) bool {
	return slices.ContainsFunc(h.o.Hooks, func(k Hook) bool { return k.at(p, tool) })
}

// Judge implements [gate.Hooks]. With hooks run in their order none is begun
// behind a block or once ctx has ended.
func (h *Hooks) Judge(ctx context.Context, m gate.Moment) (gate.Verdict, []gate.Ran) {
	list := h.at(m.Point, m.Tool)
	var sum gate.Verdict
	sum.Decision = gate.Allow
	var ran []gate.Ran
	add := func(k *Hook, e ending) bool {
		v := e.verdict(k)
		ran = append(ran, gate.Ran{Hook: k.Name, Verdict: word(v.Decision), Why: v.Why})
		if weight(v) > weight(sum) {
			sum = v
		}
		return v.Decision != gate.Block
	}
	if h.o.Parallel {
		if len(list) > 0 && ctx.Err() != nil {
			return cutOff(ctx).verdict(list[0]), nil
		}
		runs := make([]*run, len(list))
		for i, k := range list {
			runs[i] = h.begin(ctx, k, m)
		}
		for i, r := range runs {
			add(list[i], r.wait(ctx))
		}
		return sum, ran
	}
	for _, k := range list {
		if ctx.Err() != nil { // nobody would wait for it: it is not begun
			return cutOff(ctx).verdict(k), ran
		}
		if !add(k, h.begin(ctx, k, m).wait(ctx)) {
			break
		}
	}
	return sum, ran
}

// Report implements [gate.Hooks].
func (h *Hooks) Report(ctx context.Context, m gate.Moment) []gate.Ran {
	whole, release := interrupt.CallContext(ctx) // no interrupt cuts a report (HOK-03)
	defer release()
	list := h.at(m.Point, m.Tool)
	ran := make([]gate.Ran, 0, len(list))
	var runs []*run
	if h.o.Parallel {
		for _, k := range list {
			runs = append(runs, h.begin(whole, k, m))
		}
	}
	for i, k := range list {
		if !h.o.Parallel {
			runs = append(runs, h.begin(whole, k, m))
		}
		verdict, why := runs[i].wait(whole).report()
		ran = append(ran, gate.Ran{Hook: k.Name, Verdict: verdict, Why: why})
	}
	return ran
}

// Bound is how long the hooks of p may take by their own time limits.
func (h *Hooks) Bound(p gate.Point) (d time.Duration) {
	for _, k := range h.at(p, "") {
		if h.o.Parallel {
			d = max(d, k.Timeout)
		} else {
			d += k.Timeout
		}
	}
	return d
}

// Close refuses what comes now, ends what still runs by its ladder and waits
// for it. Whoever wants reports to have their time closes what makes them first.
func (h *Hooks) Close() error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
	h.mu.Unlock()
	h.wg.Wait()
	return nil
}

// weight orders verdicts: block before ask before an allow that was said before
// one that was not.
func weight(v gate.Verdict) int {
	switch v.Decision {
	case gate.Block:
		return 3
	case gate.Ask:
		return 2
	case gate.Allow:
		if v.By != "" {
			return 1
		}
		return 0
	}
	return 3
}

func word(d gate.Decision) string {
	switch d {
	case gate.Allow:
		return "allow"
	case gate.Ask:
		return "ask"
	case gate.Block:
	}
	return "block"
}
