package terminal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
)

// Options set the tools up. All but Host have useful zero values.
type Options struct {
	Host proc.Host // starts commands; must be set
	// Env is the environment that commands are given after [proc.Environ] took
	// from it what Deny names; nil means this process's own.
	Env  []string
	Deny []string // patterns; nil means [proc.DefaultDeny]

	Shell  string        // path; empty: bash, or sh where there is none
	Most   int           // terminals that run at once, for each session; 0 means 16
	Grace  time.Duration // between the asking signal and KILL; 0 means 2 s, negative none
	Reap   time.Duration // between KILL and giving up; 0 means 5 s
	Settle time.Duration // for children to end with their command; 0 means 100 ms
}

const (
	defaultMost = 16
	endedKept   = 16 // ended terminals whose output can still be read
	toldKept    = 64 // sentences about ended ones
)

// Terminals are the terminals of any number of sessions. It is safe for
// concurrent use.
type Terminals struct {
	o Options

	mu     sync.Mutex
	closed bool
	rooms  map[event.SessionID]*room
}

// room is one session's terminals.
type room struct {
	opening int         // calls that start one
	list    []*terminal // with an id, oldest first: running, or ended and not told
	told    []obituary
}

type obituary struct {
	id  event.JobID
	end string
}

// New makes an empty set of terminals. The caller closes it, before the host.
func New(o Options) *Terminals {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	o.Env = proc.Environ(o.Env, o.Deny)
	if o.Shell == "" {
		o.Shell = proc.Shell()
	}
	if o.Most == 0 {
		o.Most = defaultMost
	}
	switch {
	case o.Grace == 0:
		o.Grace = 2 * time.Second
	case o.Grace < 0:
		o.Grace = 0
	}
	if o.Reap == 0 {
		o.Reap = 5 * time.Second
	}
	if o.Settle == 0 {
		o.Settle = 100 * time.Millisecond
	}
	return &Terminals{o: o, rooms: map[event.SessionID]*room{}}
}

// Tools are the tools of these terminals.
func (s *Terminals) Tools() []tool.Tool {
	return []tool.Tool{&start{s}, &write{s}, &poll{s}, &kill{s}, &list{s}}
}

func (s *Terminals) ladder() interrupt.Ladder {
	return interrupt.Ladder{Grace: s.o.Grace, Bound: s.o.Reap}
}

// change is the one function that changes what is known of a session's
// terminals.
func (s *Terminals) change(id event.SessionID, f func(*room)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[id]
	if r == nil {
		r = &room{}
		s.rooms[id] = r
	}
	f(r)
	r.tidy()
	if r.opening == 0 && len(r.list) == 0 && len(r.told) == 0 {
		delete(s.rooms, id)
	}
}

// tidy forgets the oldest of what has ended.
func (r *room) tidy() {
	over := -endedKept
	for _, t := range r.list {
		if t.ended() {
			over++
		}
	}
	for i := 0; over > 0 && i < len(r.list); {
		if t := r.list[i]; t.ended() {
			r.told = append(r.told, obituary{t.id, t.ending()})
			r.list = slices.Delete(r.list, i, i+1)
			over--
			continue
		}
		i++
	}
	r.told = r.told[max(0, len(r.told)-toldKept):]
}

// reserve takes a place for one more terminal.
func (s *Terminals) reserve(id event.SessionID) (err error) {
	s.change(id, func(r *room) {
		running := r.opening
		var names []string
		for _, t := range r.list {
			if !t.ended() {
				running++
				names = append(names, string(t.id))
			}
		}
		switch {
		case s.closed:
			err = tool.Replyf("no terminal is opened any more: the runtime ends")
		case running >= s.o.Most:
			err = tool.Replyf("%d terminals run in this session, which is the most; end one with terminal_kill first (%s)", running, strings.Join(names, ", "))
		default:
			r.opening++
		}
	})
	return err
}

// settle gives the place back; a terminal that has become a job takes it.
func (s *Terminals) settle(id event.SessionID, t *terminal) {
	s.change(id, func(r *room) {
		r.opening--
		if t != nil && t.id != "" {
			r.list = append(r.list, t)
		}
	})
}

// find returns a terminal by its job, or a sentence that says what became of
// it.
func (s *Terminals) find(session event.SessionID, id string) (found *terminal, err error) {
	s.change(session, func(r *room) {
		var names []string
		for _, t := range r.list {
			if string(t.id) == id {
				found = t
			}
			names = append(names, string(t.id))
		}
		if found != nil {
			return
		}
		for _, o := range r.told {
			if string(o.id) == id {
				err = tool.Replyf("terminal %s has ended (%s) and is closed; start another with terminal_start", id, o.end)
				return
			}
		}
		// Both kinds of job have such a name, and the caller may mean the other.
		const other = "what a bash command left running is a job and no terminal: end it with kill and its pids"
		if len(names) == 0 {
			err = tool.Replyf("there is no terminal %q, and no other; start one with terminal_start; %s", id, other)
			return
		}
		err = tool.Replyf("there is no terminal %q; there are %s; %s", id, strings.Join(names, ", "), other)
	})
	return found, err
}

// tell marks a terminal's end as told: from now on it is a sentence.
func (s *Terminals) tell(session event.SessionID, t *terminal) {
	s.change(session, func(r *room) {
		if i := slices.Index(r.list, t); i >= 0 {
			r.list = slices.Delete(r.list, i, i+1)
			r.told = append(r.told, obituary{t.id, t.ending()})
		}
	})
}

// Readopt puts a kept job that outlived its runtime back among the terminals of
// its session: tree is what [proc.Host.Adopt] gave. It is read from its start,
// unless it is known here, can be ended, and can be written if its guardian holds
// the other end of its input. It belongs to no turn.
func (s *Terminals) Readopt(session event.SessionID, id event.JobID, tree proc.Tree) {
	t := &terminal{id: id, tree: tree, keep: true, command: strings.TrimPrefix(tree.Started().Command, s.o.Shell+" -c "), relay: &relay{}}
	if in, ok := proc.InputOf(tree); ok {
		t.tty = in.Terminal()
	}
	s.change(session, func(r *room) {
		r.list = slices.DeleteFunc(r.list, func(o *terminal) bool {
			had, has := o.tree.Started(), tree.Started()
			if o.id == id && had.PID == has.PID && had.Start == has.Start { // its session was closed and opened again
				t.cursor, t.command = o.at(), o.command
			}
			return o.id == id
		})
		r.list = append(r.list, t)
	})
}

// Forget drops what is known of a session that was closed. It ends nothing: the
// session has ended its jobs.
func (s *Terminals) Forget(session event.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rooms, session)
}

// Close refuses new terminals and ends those that are not kept, all at once.
// The error names what could not be ended.
func (s *Terminals) Close() error {
	s.mu.Lock()
	s.closed = true
	var list []*terminal
	for _, r := range s.rooms {
		list = append(list, r.list...)
	}
	s.rooms = map[event.SessionID]*room{}
	s.mu.Unlock()
	left := make([]error, len(list))
	var wg sync.WaitGroup
	for i, t := range list {
		if t.ended() || t.kept() {
			continue
		}
		wg.Go(func() {
			if pids := t.stop("close", s.ladder()); len(pids) > 0 {
				left[i] = fmt.Errorf("terminal %s: processes %v could not be ended", t.id, pids)
			}
		})
	}
	wg.Wait()
	return errors.Join(left...)
}
