package session

import (
	"slices"
	"sync"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// Frame is what a subscriber sees: a record, or something live that no record
// says (yet). Exactly one is set.
type Frame struct {
	Record *event.Record
	Live   *LiveFrame
}

// LiveFrame is a live frame: it has no seq; text is addressed by turn, step, block
// and byte offset.
type LiveFrame struct {
	Kind    LiveKind
	Turn    int
	Step    int
	Block   int
	Off     int
	Call    event.CallID
	Name    string
	Text    string
	State   string
	Summary *turn.Summary // with state "ended"
}

// LiveKind is a live frame's kind.
type LiveKind string

const (
	LiveText      LiveKind = "text"
	LiveReasoning LiveKind = "reasoning"
	LiveTool      LiveKind = "tool"
	LiveState     LiveKind = "state"
)

// hub hands frames to subscribers. It never blocks the driver: a subscriber
// that falls behind loses frames and is told so, and reads the journal again.
type hub struct {
	mu     sync.Mutex
	subs   map[*Sub]bool
	told   []LiveFrame // for whoever subscribes later, too
	shown  event.Seq   // last record that was handed out
	closed bool
}

// Sub is one subscriber's queue.
type Sub struct {
	hub    *hub
	wake   chan struct{} // has a value when there is something to see
	queue  []Frame
	bytes  int
	lagged bool // frames were dropped: read the journal from the last seq seen
	ended  bool
}

const (
	subFrames = 8192
	subBytes  = 8 << 20
)

// subscribe begins a queue. Records up to the returned seq were handed out
// before and are in the journal; what comes later is queued.
func (h *hub) subscribe() (*Sub, event.Seq) {
	s := &Sub{hub: h, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[*Sub]bool{}
	}
	h.subs[s] = true
	for i := range h.told {
		s.put(Frame{Live: &h.told[i]})
	}
	if h.closed {
		s.ended = true
		s.nudge()
	}
	return s, h.shown
}

// Close ends the subscription.
func (s *Sub) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}

// Wake has a value when there may be something to take.
func (s *Sub) Wake() <-chan struct{} { return s.wake }

// Take returns what is queued. lagged says that frames were dropped before
// these; ended that the session is closed and nothing more will come.
func (s *Sub) Take() (frames []Frame, lagged, ended bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	frames, lagged = s.queue, s.lagged
	s.queue, s.bytes, s.lagged = nil, 0, false
	return frames, lagged, s.ended
}

// Shown is the seq of the last record that was handed out, to whomever.
func (s *Sub) Shown() event.Seq {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.shown
}

func (s *Sub) drain() { _, _, _ = s.Take() }

func (s *Sub) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Sub) put(f Frame) {
	n := 64
	if f.Record != nil {
		n += len(f.Record.Data)
	} else {
		n += len(f.Live.Text)
	}
	if len(s.queue) >= subFrames || s.bytes+n > subBytes {
		s.queue, s.bytes, s.lagged = nil, 0, true
	}
	s.queue, s.bytes = append(s.queue, f), s.bytes+n
	s.nudge()
}

func (h *hub) push(recs ...event.Record) {
	if len(recs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = recs[len(recs)-1].Seq
	for s := range h.subs {
		for i := range recs {
			s.put(Frame{Record: &recs[i]})
		}
	}
}

func (h *hub) live(f LiveFrame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.put(Frame{Live: &f})
	}
}

// warn tells everybody once of what was found out about the session as a whole,
// also who subscribes later: what opening finds comes before the first of them.
func (h *hub) warn(text string) {
	f := LiveFrame{Kind: LiveState, State: "warning", Text: text}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(slices.Clone(h.told), f)
	for s := range h.subs {
		s.put(Frame{Live: &f})
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.nudge()
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		s.ended = true
		s.nudge()
	}
}

// Subscribe begins to follow the session: frames hold whatever comes after the
// returned seq; records up to it are in the journal.
func (l *Live) Subscribe() (*Sub, event.Seq) { return l.hub.subscribe() }
