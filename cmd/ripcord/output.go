package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// format is how a result is written (IFC-03).
type format string

const (
	formatText   format = "text"
	formatJSON   format = "json"
	formatStream format = "stream-json"
)

func parseFormat(s string) (format, error) {
	switch f := format(s); f {
	case formatText, formatJSON, formatStream:
		return f, nil
	}
	return "", usagef("use text, json or stream-json", "--output %s is no format", s)
}

// sink is stdout. After the first error it is dead: nothing more is tried, so
// that a reader that left costs one failed write.
type sink struct {
	mu   sync.Mutex
	w    io.Writer
	dead bool

	fault atomic.Pointer[error] // the first; not under mu, which a write that hangs holds
}

// lastWrite bounds what is written at the end: a reader that does not read must
// not hold the exit up.
const lastWrite = 2 * time.Second

// errUnread is why the last write was given up.
var errUnread = errors.New("it was not read in time")

// lost is why something is missing on stdout; nil if nothing is, or if its
// reader left on purpose. It never blocks.
func (s *sink) lost() error {
	e := s.fault.Load()
	if e == nil || errors.Is(*e, syscall.EPIPE) || errors.Is(*e, io.ErrClosedPipe) {
		return nil
	}
	return *e
}

// write writes b whole or kills the sink. It may block as long as the reader
// does not read.
func (s *sink) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.dead = true
		s.fault.CompareAndSwap(nil, &err)
	}
}

// Write is write as an io.Writer that never fails: a dead reader is nobody's
// error.
func (s *sink) Write(b []byte) (int, error) {
	s.write(b)
	return len(b), nil
}

// closed reports whether nobody reads any more.
func (s *sink) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// last writes b as the last thing, for bound at most.
func (s *sink) last(b []byte, bound time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.write(b)
	}()
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		s.fault.CompareAndSwap(nil, &errUnread)
	}
}

// aside is what is said on stderr: in order, and never at the price of an exit.
type aside struct {
	mu    sync.Mutex  // one write at a time; a write that hangs holds it
	given atomic.Bool // one was given up: nobody reads, and nothing more is tried
}

// write writes b to w. It waits as long as nobody reads, but no longer than
// lastWrite after stop is closed.
func (s *aside) write(w io.Writer, b []byte, stop <-chan struct{}) {
	if s.given.Load() {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = w.Write(b) // there is nowhere left to tell of it
	}()
	select {
	case <-done:
		return
	case <-stop:
	}
	t := time.NewTimer(lastWrite)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		s.given.Store(true)
	}
}

// line encodes v as one line of JSON, without HTML escapes.
func line(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("{\"type\":\"error\",\"message\":\"the answer could not be encoded\"}\n")
	}
	return b.Bytes()
}

// resultOf makes the one object of IFC-01 from whatever came of a run.
func resultOf(o outcome) api.Result {
	r := api.Result{}
	if o.result != nil {
		r = *o.result
	}
	r.Kind, r.Schema = "result", 1
	if r.Session == nil && o.session != "" {
		r.Session = &o.session
	}
	if o.result == nil {
		withoutTurn(&r, o)
	}
	if r.Calls == nil {
		r.Calls = []api.CallResult{}
	}
	if r.DroppedUnrun == nil {
		r.DroppedUnrun = []string{}
	}
	if r.Held == nil {
		r.Held = []string{}
	}
	if r.Jobs == nil {
		r.Jobs = []event.JobID{}
	}
	r.UnknownEffects = unsure(&r)
	e := ending{unsure: r.UnknownEffects, stop: o.stop}
	if r.Error != nil {
		e.code = event.FailureCode(r.Error.Code)
	}
	if r.Outcome != nil && o.result != nil {
		e.outcome = *r.Outcome
	}
	r.ExitCode = exitCode(e)
	return r
}

// withoutTurn fills in what can be said where no turn came to an end: stopped
// before it began, refused, or left open by a store that does not answer.
func withoutTurn(r *api.Result, o outcome) {
	out := event.TurnFailed
	if o.stop != noCause {
		out = event.TurnAborted
		reason := o.stop.reason()
		r.Reason = &reason
	}
	r.Outcome = &out
	switch {
	case o.leftOpen:
		r.UnknownEffects = true
		r.Error = &api.ErrorInfo{Code: string(event.FailStorage), Message: "the store did not answer in time, so the turn's end is not written",
			Hint: "opening the session again closes it; see `ripcord log show " + string(o.session) + "`"}
	case o.stop != noCause:
	case o.err != nil:
		r.Error = info(explain(o.err))
	}
}

// facts is the result as one line for people.
func facts(r api.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ripcord: %s", *r.Outcome)
	if r.Reason != nil {
		fmt.Fprintf(&b, " (%s)", *r.Reason)
	}
	fmt.Fprintf(&b, ", exit %d", r.ExitCode)
	if r.Session != nil {
		fmt.Fprintf(&b, ", session %s", *r.Session)
	}
	if r.Turn != nil {
		fmt.Fprintf(&b, " turn %d", *r.Turn)
	}
	if u := r.Usage; u != nil {
		fmt.Fprintf(&b, ", tokens %s in %s out", count(u.Input), count(u.Output))
		if !u.Complete {
			b.WriteString(" (incomplete)")
		}
	}
	for i, c := range r.Calls {
		sep := ", "
		if i == 0 {
			sep = ", calls: "
		}
		fmt.Fprintf(&b, "%s%s %s", sep, oneLine(c.Name), callFacts(c))
	}
	list(&b, "never ran", r.DroppedUnrun)
	list(&b, "held", r.Held)
	jobs := make([]string, 0, len(r.Jobs))
	for _, j := range r.Jobs {
		jobs = append(jobs, string(j))
	}
	list(&b, "jobs", jobs)
	if r.UnknownEffects {
		b.WriteString(", some effects are not known")
	}
	if r.Error != nil {
		fmt.Fprintf(&b, ": %s", oneLine(r.Error.Message))
		if r.Error.Hint != "" {
			fmt.Fprintf(&b, "; %s", oneLine(r.Error.Hint))
		}
	}
	return b.String()
}

func callFacts(c api.CallResult) string {
	s := string(c.Outcome)
	if c.ExitCode != nil {
		s += fmt.Sprintf(" exit %d", *c.ExitCode)
	}
	if c.Signal != nil {
		s += " " + *c.Signal
	}
	if c.TimedOut != nil && *c.TimedOut {
		s += " timed out"
	}
	if c.RanMS != nil {
		s += fmt.Sprintf(" %dms", *c.RanMS)
	}
	return s
}

func list(b *strings.Builder, what string, items []string) {
	for i, it := range items {
		if i == 0 {
			fmt.Fprintf(b, ", %s: ", what)
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%q", it)
	}
}

func count(n *int64) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// oneLine makes text safe for one line of a terminal: no control characters,
// no line breaks.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// harmless makes a model's words safe for a terminal, line by line: what would
// move the cursor, set a title or turn the text's direction is no word. A pipe
// or a file gets every byte.
func harmless(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = strings.Map(func(r rune) rune {
				if r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
					return ' '
				}
				return r
			}, oneLine(c))
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// follower hands a session's frames on as they come.
type follower struct {
	end  context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	ended map[int]chan struct{} // by turn: closed once its end was written
}

// followTo starts one for the records from seq on; show is called for one frame
// at a time.
func followTo(ctx context.Context, svc api.Service, show func(api.Frame), id event.SessionID, from event.Seq) *follower {
	ctx, end := context.WithCancel(ctx)
	f := &follower{end: end, done: make(chan struct{}), ended: map[int]chan struct{}{}}
	go func() {
		defer close(f.done)
		for frame, err := range svc.Follow(ctx, id, from, true) {
			if err != nil {
				return
			}
			f.frame(show, frame)
		}
	}()
	return f
}

// streamed writes a frame as stream-json has it.
func (a *app) streamed(frame api.Frame) {
	if frame.Live != nil {
		live := *frame.Live
		live.Result = nil // the result object is the last line and only there
		a.out.write(line(live))
		return
	}
	a.out.write(append(append([]byte(nil), frame.Line...), '\n'))
}

// warner says what the other formats would keep from a person: that something
// went wrong and the turn went on, and that a guard starts a turn by itself,
// which it does wakes times in a row at most.
func (a *app) warner(wakes int) func(api.Frame) {
	turn := 0 // the last one seen
	return func(frame api.Frame) {
		if l := frame.Live; l != nil && l.State == "warning" {
			a.say("%s", l.Text)
		}
		if frame.Record == nil {
			return
		}
		turn = max(turn, frame.Record.Turn)
		if frame.Record.Type != event.TypeGuardWake {
			return
		}
		if p, err := frame.Record.Body(); err == nil {
			a.say("the stall guard goes on by itself in turn %d, with another strategy, %d of %d; RIPCORD_STALL_GUARD=0 switches it off", turn+1, p.(event.GuardWake).Count, wakes)
		}
	}
}

func (f *follower) frame(show func(api.Frame), frame api.Frame) {
	show(frame)
	if frame.Record != nil && frame.Record.Type == event.TypeTurnEnded {
		ch := f.turn(frame.Record.Turn)
		select {
		case <-ch: // a journal that ends a turn twice is somebody else's to judge
		default:
			close(ch)
		}
	}
}

func (f *follower) turn(n int) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch, ok := f.ended[n]
	if !ok {
		ch = make(chan struct{})
		f.ended[n] = ch
	}
	return ch
}

// finish waits until the end of turn was written (0: does not wait), then ends
// the following; ctx bounds both.
func (f *follower) finish(ctx context.Context, turn int) {
	if turn > 0 {
		select {
		case <-f.turn(turn):
		case <-f.done:
		case <-ctx.Done():
		}
	}
	f.end()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}
