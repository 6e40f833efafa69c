package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// Options of a manager. Host, Dir and Env are needed by servers that are
// processes; everything else has a default.
type Options struct {
	Host proc.Host
	Dir  string   // working directory of servers that name none
	Env  []string // base of their environment, as os.Environ gives it; scrubbed here
	Deny []string // what is scrubbed; nil means [proc.DefaultDeny]
	Log  *slog.Logger

	Name, Version string // what we call ourselves; "ripcord" and ""

	Connect    time.Duration    // from the start to the list of tools; 0 means 10 s
	Call       time.Duration    // a call without answer and progress; 0 means 60 s
	Longest    time.Duration    // a call with progress; 0 means 10 min
	Settle     time.Duration    // for an answer after a call is cancelled; 0 means 500 ms
	Wait       time.Duration    // of a call for a server that is being restarted; 0 means 5 s
	Ladder     interrupt.Ladder // how processes are ended; 0 means 1.5 s and 3 s
	MaxMessage int              // bytes of one message that are read; 0 means 16 MiB
	Restart    Restart

	// Record gets the facts about servers' processes, on the goroutine of
	// their supervisors; it may block for a moment. nil: nowhere.
	Record func(event.Payload)
}

// Restart says when a server that ended is started again. Zero fields get the
// defaults.
type Restart struct {
	First  time.Duration // before the first restart, doubled for each further one; 200 ms
	Most   time.Duration // 10 s
	Times  int           // ends within Window after which it stays down; 5
	Window time.Duration // 1 min
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "ripcord")
	o.Version = cmp.Or(o.Version, "0")
	o.Connect = cmp.Or(o.Connect, 10*time.Second)
	o.Call = cmp.Or(o.Call, time.Minute)
	o.Longest = cmp.Or(o.Longest, 10*time.Minute)
	o.Settle = cmp.Or(o.Settle, 500*time.Millisecond)
	o.Wait = cmp.Or(o.Wait, 5*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, 16<<20)
	o.Restart.First = cmp.Or(o.Restart.First, 200*time.Millisecond)
	o.Restart.Most = cmp.Or(o.Restart.Most, 10*time.Second)
	o.Restart.Times = cmp.Or(o.Restart.Times, 5)
	o.Restart.Window = cmp.Or(o.Restart.Window, time.Minute)
	o.Ladder = cmp.Or(o.Ladder, interrupt.Ladder{Grace: 1500 * time.Millisecond, Bound: 3 * time.Second})
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o *Options) record(p event.Payload) {
	if o.Record != nil {
		o.Record(p)
	}
}

// Manager has the servers of one configuration. Its methods may be called from
// any goroutine.
type Manager struct {
	o       Options
	servers []*server // by name
	stop    context.CancelCauseFunc
}

// errClosed is why a life of servers ended.
var errClosed = errors.New("the manager of servers was closed")

// Start starts the servers, all at once, and returns when each is ready or has
// failed, or when ctx ends; that a server failed is in its [Status] and keeps
// no other from being used. The caller closes the manager. Of two servers with
// one name the later one counts.
func Start(ctx context.Context, servers []Server, o Options) *Manager {
	life, stop := interrupt.Lifetime(ctx)
	m := &Manager{o: o.withDefaults(), stop: stop}
	byName := map[string]Server{}
	for _, s := range servers {
		byName[s.Name] = s
	}
	for _, name := range sortedKeys(byName) {
		s := newServer(life, byName[name], &m.o)
		m.servers = append(m.servers, s)
		go s.run() // Close waits for done
	}
	for _, s := range m.servers {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return m
		}
	}
	return m
}

// Tools are what the servers offer now, as tools of a session, in an order
// that depends on nothing but their names. A tool keeps working, or says what
// is wrong, whatever becomes of its server; after [Manager.Close] it says that.
func (m *Manager) Tools() []tool.Tool {
	names, offers, _ := m.named()
	out := make([]tool.Tool, len(offers))
	for i, o := range offers {
		out[i] = &remote{name: names[i], offer: o, server: m.find(o.server)}
	}
	return out
}

func (m *Manager) named() (names []string, offers, left []offer) {
	var all []offer
	for _, s := range m.servers {
		switch c, _ := s.look(); c.state {
		case Connecting, Ready, Waiting:
			all = append(all, c.offers...)
		case Failed, Down, Disabled, Closed:
		}
	}
	return named(all)
}

func (m *Manager) find(name string) *server {
	for _, s := range m.servers {
		if s.cfg.Name == name {
			return s
		}
	}
	return nil
}

// Status is what a person is told about a server.
type Status struct {
	Name     string
	HTTP     bool
	Where    string // program or address, without arguments and queries
	Trusted  bool
	State    State
	Why      string   // one sentence, if there is something to say
	Tools    []string // as models know them
	LeftOut  []string // tools that are not offered, and why
	Calls    string   // the server's own name and version
	Protocol string   // version that was agreed on
	PIDs     []int    // its processes, leader first
	Restarts int
	Changed  bool   // its tools are not those that it began with
	Noise    int64  // lines that were no message
	Noisy    bool   // so many that the server is to be mended
	TooLong  int64  // messages over the bound
	Late     int64  // answers that nobody waited for
	Stderr   string // the last of what it said to people
}

const stderrShown = 2 << 10

// Status tells about every server, by name.
func (m *Manager) Status() []Status {
	names, offers, left := m.named()
	out := make([]Status, len(m.servers))
	for i, s := range m.servers {
		out[i] = s.status()
		for j, o := range offers {
			if o.server == s.cfg.Name {
				out[i].Tools = append(out[i].Tools, names[j])
			}
		}
		for _, o := range left {
			if o.server == s.cfg.Name {
				out[i].LeftOut = append(out[i].LeftOut, fmt.Sprintf("%.100q: its name is another tool's", o.name))
			}
		}
	}
	return out
}

func (s *server) status() Status {
	c, _ := s.look()
	st := Status{Name: s.cfg.Name, HTTP: s.cfg.HTTP(), Where: s.cfg.Where(), Trusted: s.cfg.Trusted, State: c.state, Why: c.why,
		LeftOut: c.leftOut, Calls: c.calls, Protocol: c.protocol, Restarts: c.restarts, Changed: c.changed,
		Stderr: s.cfg.clean(strings.ToValidUTF8(s.errs.last(stderrShown), "\uFFFD"))}
	if c.conn != nil {
		st.PIDs = c.conn.wire.pids()
	}
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	st.Noise, st.TooLong, st.Late = s.tally.noise, s.tally.long, s.tally.late
	if st.Noisy = st.Noise > mostNoise; st.Noisy && st.Why == "" {
		st.Why = "it prints what is no message to its standard output, such as " + s.tally.firstNoise
	}
	return st
}

// Restart starts a server again, also one that failed or stays down, and
// returns when it is ready; else with what became of it, or ctx's end.
func (m *Manager) Restart(ctx context.Context, name string) error {
	s := m.find(name)
	if s == nil {
		return fmt.Errorf("there is no server %q; see the list for the names", name)
	}
	c, moved := s.look()
	switch c.state {
	case Disabled, Closed:
		return fmt.Errorf("the server %q is not started: %s", name, c.why)
	case Connecting, Ready, Waiting, Failed, Down:
	}
	old := c.conn
	select {
	case s.ask <- struct{}{}:
	default: // it is asked for already
	}
	for {
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c, moved = s.look()
		switch {
		case c.state == Ready && c.conn != old:
			return nil
		case c.state == Failed, c.state == Down, c.state == Closed:
			return fmt.Errorf("the server %q did not become ready: %s", name, c.why)
		}
	}
}

// Close ends every server, all at once, and returns when nothing of them is
// left, or names those that still end when ctx does.
func (m *Manager) Close(ctx context.Context) error {
	m.stop(errClosed)
	var open []string
	for _, s := range m.servers {
		select {
		case <-s.done:
		case <-ctx.Done():
			if !closed(s.done) {
				open = append(open, s.cfg.Name)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("servers that have not ended: %s", strings.Join(slices.Compact(open), ", "))
	}
	return nil
}
