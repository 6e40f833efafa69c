package tui

import (
	"os"
	"slices"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// Times of the chat's manners.
const (
	knockWindow  = 2 * time.Second        // two Ctrl+C within it leave
	promptGrace  = 500 * time.Millisecond // from the signal to the freed prompt
	letterWait   = 300 * time.Millisecond // a lone c, r or e is a command after it
	typingGuard  = 400 * time.Millisecond // an answer typed into the void is none
	rewindWindow = 500 * time.Millisecond // Esc Esc
	noteTime     = 6 * time.Second
)

// phase is where the chat stands; the picture is in doc.go.
type phase int

const (
	idle phase = iota
	sending
	running
	stopping
	killing
)

func (p phase) String() string {
	return [...]string{"idle", "sending", "running", "stopping", "killing"}[p]
}

// busy reports whether a turn runs, or is about to.
func (p phase) busy() bool { return p != idle }

// layer is what lies over the chat; Esc closes it first.
type layer int

const (
	noLayer layer = iota
	helpLayer
	jobsLayer
	queueLayer
	rewindLayer
)

// who is this person's name in requests and records.
const who = "user"

// chat is the whole state. Only apply changes it; nothing in it waits, draws
// or asks the clock.
type chat struct {
	session event.SessionID
	caught  event.Seq // frames up to here are history

	phase   phase
	input   event.InputID // of the running turn, its address
	pending bool          // Esc came before there was an address
	asked   int           // number of the last submit or continue
	starter int           // number of the one that made the chat busy
	freed   bool          // the grace after a Ctrl+C is over
	turn    turn
	stream  stream
	status  string // what the session says of itself: waiting, retrying
	storage string

	inbox     []waiting
	taken     map[event.InputID]waiting // by turns that can be hidden
	taking    map[event.InputID]bool    // asked back, not answered
	jobs      []job
	approvals []question
	turns     []pastTurn // that can be gone back to
	why       string     // of the last rewind
	retryable bool       // the last turn can be asked again

	layer    layer
	jobList  []api.JobInfo
	jobAt    int
	turnAt   int
	draft    string
	pics     []attachment    // to the draft
	lent     []event.InputID // held inputs whose words stand in it
	again    string          // a prompt that was given back unanswered: sent as it is, it is asked again
	mode     string          // what the next message says of plan mode: plan, act or nothing
	complete bool            // the completion list is closed for this draft

	knock   time.Time // last Ctrl+C that counts
	escIdle time.Time // the first Esc of two
	escLast time.Time
	pressed time.Time // last key
	note    string
	noteNo  int
	noteOf  event.ApprovalID // the note is about it
	letter  string           // c, r or e waits for what follows
	onTop   bool             // a card is the last thing printed
	wayOn   string           // its last line

	history []message
	at      int // in history; len(history): the draft

	sends map[int]*message      // submits that are not answered
	owed  map[event.InputID]int // answered (+1) and not seen as accepted (-1), or the other way round

	loading bool // history is being read
	past    []block
	result  *api.Result
	dead    *api.Recovery
	model   string

	onInterrupt OnInterrupt
	lines       bool // line mode: a line is over when it was read
	piped       bool // nobody types them: each is a turn of its own
}

type job struct {
	id      event.JobID
	command string
}

type question struct {
	api.Approval
	since time.Time
}

// newChat returns the chat of an opened session.
func newChat(o Options) *chat {
	c := &chat{session: o.Session, caught: o.State.Seq, loading: true, dead: o.State.Recovered, storage: clean(o.State.Storage)}
	c.result = o.State.Last
	c.model = oneLine(o.State.Model.Model)
	c.retryable, c.onInterrupt = o.State.Retryable, o.OnInterrupt
	if c.onInterrupt == "" {
		c.onInterrupt = Restore
	}
	return c
}

// The inputs of apply, besides what the keyboard says.
type (
	input   interface{ input() }
	framed  struct{ frames []api.Frame }
	pressed struct {
		key   string
		draft string
		first bool // the cursor is on the draft's first line
		last  bool
	}
	typed     struct{ draft string }
	entered   struct{ line string } // line mode
	signalled struct{ sig os.Signal }
	submitted struct {
		no   int
		got  api.Submitted
		err  error
		gone string // the picture for which it was not sent
	}
	stopped struct {
		of  event.InputID
		got api.Interrupted
		err error
	}
	decided struct {
		req api.DecideRequest
		err error
	}
	listed struct {
		jobs []api.JobInfo
		err  error
	}
	killed struct {
		id  event.JobID
		err error
	}
	looked struct {
		end     int // the turn behind whose end it was looked for, 0: none
		restore bool
		waiting []api.Waiting
		err     error
	}
	tookBack struct {
		w   waiting
		err error
	}
	cleared struct{ err error }
	rewound struct {
		got api.Rewound
		err error
	}
	forked struct {
		id  event.SessionID
		err error
	}
	attached struct {
		pic attachment
		err error
	}
	lostStream struct{ err error }
	resumed    struct{ err error }
	timeUp     struct {
		what timer
		no   int
	}
)

func (framed) input()     {}
func (pressed) input()    {}
func (typed) input()      {}
func (entered) input()    {}
func (signalled) input()  {}
func (submitted) input()  {}
func (stopped) input()    {}
func (decided) input()    {}
func (listed) input()     {}
func (killed) input()     {}
func (looked) input()     {}
func (tookBack) input()   {}
func (cleared) input()    {}
func (rewound) input()    {}
func (forked) input()     {}
func (attached) input()   {}
func (lostStream) input() {}
func (resumed) input()    {}
func (timeUp) input()     {}

// timer names what a timer is for.
type timer int

const (
	noteTimer timer = iota
	graceTimer
	letterTimer
	knockTimer
)

// The effects: what apply wants done, in order.
type (
	effect interface{ effect() }
	submit struct {
		no       int
		m        message
		priority event.Priority
	}
	goOn struct {
		no  int
		how starting
	}
	look struct {
		end     int
		restore bool
	}
	takeBack   struct{ w waiting }
	clearInbox struct{}
	rewind     struct{ req api.RewindRequest }
	fork       struct{ turn int }
	attach     struct{ name string }
	halt       struct{ req api.InterruptRequest }
	decide     struct{ req api.DecideRequest }
	askJobs    struct{}
	killJob    struct{ id event.JobID }
	show       struct{ block block }
	setDraft   struct {
		text string
		stay bool // the cursor does
	}
	after struct {
		wait time.Duration
		up   timeUp
	}
	leave   struct{ code int }
	suspend struct{}
	redraw  struct{}
)

func (submit) effect()     {}
func (goOn) effect()       {}
func (look) effect()       {}
func (takeBack) effect()   {}
func (clearInbox) effect() {}
func (rewind) effect()     {}
func (fork) effect()       {}
func (attach) effect()     {}
func (halt) effect()       {}
func (decide) effect()     {}
func (askJobs) effect()    {}
func (killJob) effect()    {}
func (show) effect()       {}
func (setDraft) effect()   {}
func (after) effect()      {}
func (leave) effect()      {}
func (suspend) effect()    {}
func (redraw) effect()     {}

// apply changes the state by one input and returns what is to be done. It is
// the only function that changes a chat; its helpers are called by it alone.
func (c *chat) apply(now time.Time, in input) []effect {
	switch in := in.(type) {
	case framed:
		var out []effect
		for _, f := range in.frames {
			out = append(out, c.frame(now, f)...)
		}
		return out
	case pressed:
		return c.press(now, in)
	case typed:
		return c.edit(now, in.draft)
	case entered:
		return c.enterLine(now, in.line)
	case signalled:
		return c.ctrlC(now)
	case submitted:
		return c.wasSubmitted(in)
	case stopped:
		return c.wasStopped(in)
	case decided:
		return c.wasDecided(in)
	case listed:
		return c.wasListed(in)
	case killed:
		if in.err != nil {
			return c.say("job " + string(in.id) + " was not ended: " + in.err.Error())
		}
		return append(c.say("job "+string(in.id)+" is asked to end"), askJobs{})
	case looked, tookBack, cleared, rewound, forked, attached:
		return c.answeredAbout(in)
	case lostStream:
		return c.say("the session's stream broke (" + in.err.Error() + "); following again")
	case resumed:
		if in.err != nil {
			return c.say(in.err.Error())
		}
	case timeUp:
		return c.timeIsUp(now, in)
	}
	return nil
}

// answeredAbout takes the answers about the inbox and what is past.
func (c *chat) answeredAbout(in input) []effect {
	switch in := in.(type) {
	case looked:
		return c.wasLooked(in)
	case tookBack:
		return c.wasTaken(in)
	case cleared:
		if in.err != nil {
			return c.say("not dropped: " + in.err.Error())
		}
	case rewound:
		return c.wasRewound(in)
	case forked:
		return c.wasForked(in)
	case attached:
		return c.wasAttached(in)
	}
	return nil
}

// say shows one line for a while.
func (c *chat) say(line string) []effect {
	c.note, c.noteOf = oneLine(line), ""
	c.noteNo++
	return []effect{after{noteTime, timeUp{noteTimer, c.noteNo}}}
}

func (c *chat) timeIsUp(now time.Time, t timeUp) []effect {
	switch t.what {
	case noteTimer:
		if t.no == c.noteNo {
			c.note = ""
		}
	case graceTimer:
		if t.no == c.turn.no && c.phase >= stopping {
			c.freed = true
		}
	case knockTimer:
		if !c.armed(now) && t.no == c.noteNo {
			c.note = ""
		}
	case letterTimer:
		if c.letter != "" && c.draft == c.letter && t.no == c.noteNo {
			return c.cardLetter(now)
		}
	}
	return nil
}

// armed reports whether another Ctrl+C leaves.
func (c *chat) armed(now time.Time) bool {
	return !c.knock.IsZero() && now.Sub(c.knock) <= knockWindow
}

// begin waits for the turn that the request just numbered starts.
func (c *chat) begin() {
	c.phase, c.starter, c.pending, c.input = sending, c.asked, false, ""
}

// with returns m with k set to v, made if it was nil; a zero v takes k out.
func with[K comparable, V comparable](m map[K]V, k K, v V) map[K]V {
	var zero V
	if m == nil {
		m = map[K]V{}
	}
	if m[k] = v; v == zero {
		delete(m, k)
	}
	return m
}

// underway reports whether something that was sent is not yet seen in the
// session: it will be, and what it starts is not over.
func (c *chat) underway() bool {
	for _, n := range c.owed {
		if n > 0 {
			return true
		}
	}
	return len(c.sends) > 0
}

func (c *chat) wasSubmitted(in submitted) []effect {
	m := c.sends[in.no]
	if m != nil {
		c.sends = with(c.sends, in.no, nil)
		if in.err == nil {
			c.owed = with(c.owed, in.got.Input, c.owed[in.got.Input]+1)
		}
	}
	mine := in.no == c.starter && c.input == "" && (c.phase == sending || c.pending)
	if in.err != nil {
		if mine {
			c.phase, c.pending = idle, false
		}
		if m != nil && in.gone != "" {
			m.pics = slices.DeleteFunc(slices.Clone(m.pics), func(p attachment) bool { return p.chip() == in.gone })
		}
		out := c.giveBack(m)
		if m != nil && m.as != nil && isStale(in.err) {
			return append(out, c.say("it is in the turn already")...)
		}
		if m != nil && len(m.ids) > 0 && isStale(in.err) {
			out = append(out, look{})
		}
		if m == nil {
			return append(out, c.say("not begun: "+in.err.Error())...)
		}
		return append(out, c.say("not sent: "+in.err.Error())...)
	}
	switch {
	case !mine:
	case c.pending:
		c.input, c.pending = in.got.Input, false
		return []effect{c.interruption(c.phase == killing)}
	case in.got.State == "queued":
		c.phase = idle
	default:
		c.input = in.got.Input
	}
	return nil
}

// stop asks for the running turn's end; asked again it skips every grace.
func (c *chat) stop(now time.Time) []effect {
	switch c.phase {
	case idle:
		return nil
	case sending, running:
		early := c.phase == sending && c.input == ""
		c.phase, c.freed = stopping, false
		c.turn.asked = now
		out := []effect{after{promptGrace, timeUp{graceTimer, c.turn.no}}}
		if early {
			c.pending = true
			return out
		}
		return append(out, c.interruption(false))
	case stopping:
		c.phase = killing
		if c.pending {
			return nil // it goes out as soon as there is an address
		}
		return []effect{c.interruption(true)}
	case killing:
		return c.say("already killing it; nothing stronger is left")
	}
	return nil
}

func (c *chat) interruption(force bool) effect {
	req := api.InterruptRequest{Session: c.session, Input: c.input, Who: who, Force: force, KeepInbox: c.onInterrupt != Drop}
	if c.input == "" {
		req.Turn = c.turn.no
	}
	return halt{req}
}

// wasStopped takes the answer to an interrupt. That the turn ended is said by
// the session's record alone; this only undoes what was shown too early.
func (c *chat) wasStopped(in stopped) []effect {
	if in.of != c.input || c.phase < stopping {
		return nil
	}
	unborn := c.turn.ended || c.turn.no == 0
	switch {
	case in.err != nil:
		c.phase = running
		if unborn {
			c.phase = sending
		}
		return c.say("the stop did not arrive: " + in.err.Error() + "; press Esc again")
	case unborn && in.got.Noop == "turn_mismatch":
		c.pending = true // accepted, not begun: the first record of the turn stops it
	case unborn && in.got.Noop == "idle":
		c.phase, c.input = idle, ""
		return c.say("nothing had begun")
	}
	return nil
}

// wasDecided takes the answer to an answer. One that came too late to refuse a
// call still stops the turn, if that was wanted.
func (c *chat) wasDecided(in decided) []effect {
	if in.err == nil {
		return nil
	}
	out := c.say("the answer did not arrive: " + in.err.Error())
	if in.req.Decision == event.Abort && c.phase == stopping {
		out = append(out, c.interruption(false))
	}
	return out
}
