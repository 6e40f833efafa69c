package turn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
)

// watch is what the guards know of the open turn.
type watch struct {
	useful  time.Time // the attempt's last useful event, or its beginning
	first   bool      // there was one
	warned  bool      // that nothing came since
	streams map[int]*guard.Loop
	asked   int // calls in the attempt's answer
	calls   guard.Calls
	loops   int      // found in this turn: the first is told to the model, the next one ends the turn
	notices []string // told to it when the next step begins
	last    *cutAt   // where the last attempt of this step was cut
	compact compacting
}

func newWatch(o Options) watch { return watch{calls: guard.Calls{Limits: o.Guards.Calls}} }

// breakage is why an attempt was ended from our side. Neither is set where the
// answer was whole and its connection stayed open.
type breakage struct {
	stall *cutAt
	loop  *loopAt
}

// loops reports whether b ended an answer that went round in circles.
func (b *breakage) loops() bool { return b != nil && b.loop != nil }

// cutAt is a stream that was cut, as the record of the verdict holds it.
type cutAt struct {
	Cut      guard.Cut          `json:"cut"`
	Place    guard.Place        `json:"place"`
	Limit    string             `json:"limit,omitempty"` // which ran out: "first_event" or "idle", ours; "connection", the socket's; empty: none, somebody cut it
	LimitMS  int64              `json:"limit_ms,omitempty"`
	Before   *guard.Place       `json:"same_place,omitempty"` // an earlier cut at the same place
	Wake     *guard.WakeFacts   `json:"wake,omitempty"`
	Decision guard.WakeDecision `json:"decision,omitempty"` // on a stall
	Limits   *guard.Thresholds  `json:"limits,omitempty"`   // that both answers were given by
	Warned   bool               `json:"warned,omitempty"`   // nothing was cut: it was said, and no more
	verdict  guard.StallVerdict
	said     string // how the connection put it
}

// loopAt is a repetition, as the record of the verdict holds it.
type loopAt struct {
	Channel string          `json:"channel"` // "text", "reasoning", "args", "calls"
	Repeat  *guard.Repeat   `json:"repeat,omitempty"`
	Calls   *guard.CallLoop `json:"calls,omitempty"`
	Block   int             `json:"block"`
	Cut     bool            `json:"cut,omitempty"` // the answer was cut there: what is kept of it ends with one round
}

const (
	guardStall = "stall"
	guardLoop  = "loop"
	guardCalls = "calls"
)

// foldGuard remembers what a later judgement needs.
func (l *Ledger) foldGuard(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.GuardVerdict:
		var at cutAt
		var loop loopAt
		switch {
		case p.Guard == guardStall && json.Unmarshal(p.Facts, &at) == nil && at.Place.Stream > 0 && at.Limit != "" && !at.Warned:
			l.Places.Note(at.Place) // where somebody stopped it says nothing about the stream
		case p.Guard != guardStall && l.open != nil && !l.open.Message && json.Unmarshal(p.Facts, &loop) == nil && loop.Cut:
			l.open.trim(&loop)
		}
	case event.GuardWake:
		l.Wakes = Wakes{InRow: p.Count, Last: r.Time}
	}
}

// cameThrough remembers the longest argument that a model's stream has carried.
func (l *Ledger) cameThrough(p event.CallRequested) {
	if l.Config == nil || p.BadArgs != "" {
		return
	}
	src := source{l.Config.Provider, l.Config.Model}
	if len(p.Args) > l.largest[src] { // else no string in it can be longer
		n, _ := guard.Longest(string(p.Args))
		l.largest[src] = max(l.largest[src], n)
	}
}

// source is a model at a provider.
type source struct{ provider, model string }

// watchAttempt begins to wait for the attempt's first event.
func (s *State) watchAttempt() {
	w := &s.watch
	w.useful, w.first, w.warned, w.streams, w.asked = s.now, false, false, nil, 0
	s.attempt.asked = sizeOf(s.Config, s.History)
	if _, limit := s.stallLimit(); limit > 0 {
		s.do(SetTimer{TimerStall, limit})
	}
}

// stallLimit is how long the stream may say nothing now, and what that limit is
// called; 0 is for ever.
func (s *State) stallLimit() (string, time.Duration) {
	l := s.opts.Guards.Stall.Filled()
	switch {
	case s.opts.Guards.OnStall == guard.Off:
		return "", 0
	case s.watch.first:
		return "idle", max(l.Idle, 0)
	}
	return "first_event", max(l.First, 0)
}

// alive notes a useful event: one that carries something. Pings never come
// here.
func (s *State) alive(d event.Delta) {
	switch d := d.(type) {
	case event.TextDelta:
		if d.Text == "" {
			return
		}
	case event.ArgsDelta:
		if d.Text == "" {
			return
		}
	case event.ReasoningDelta:
		if d.Text == "" && d.Data == "" && d.Signature == "" {
			return
		}
	case event.CallStart, event.CallEnd, event.UsageDelta, event.Finish:
	}
	w := &s.watch
	w.useful = s.now
	if !w.first || w.warned {
		w.first, w.warned = true, false
		if _, limit := s.stallLimit(); limit > 0 {
			s.do(SetTimer{TimerStall, limit})
		} else {
			s.do(StopTimer{TimerStall})
		}
	}
}

// silent looks how long nothing useful came: the timer is not set anew at each
// event. An attempt that was silent for its limit is ended by us.
func (s *State) silent() {
	name, limit := s.stallLimit()
	if s.phase != PhaseAsking || !s.attempt.running || s.attempt.broke != nil || limit == 0 {
		return
	}
	passed := s.now.Sub(s.watch.useful)
	if passed < 0 { // a clock that went back is no silence, and no promise either
		s.watch.useful, passed = s.now, 0
	}
	if passed < limit {
		s.do(SetTimer{TimerStall, limit - passed})
		return
	}
	if s.attempt.finish != "" { // the answer is whole; only its connection stays open
		s.breakOff(&breakage{})
		return
	}
	at := s.cutHere(name, limit, "")
	if s.opts.Guards.OnStall == guard.Warn {
		at.Warned = true
		s.judge(guardStall, string(at.verdict), at)
		s.do(Show{"warning", fmt.Sprintf("nothing came from the model for %v", limit)})
		s.watch.warned = true // once a silence: the next event sets the timer again
		return
	}
	s.breakOff(&breakage{stall: at})
}

// breakOff ends the attempt from our side; what it had sent is kept.
func (s *State) breakOff(b *breakage) {
	s.flush()
	s.attempt.broke = b
	s.do(Break{s.attempt.ticket}, SetTimer{TimerGrace, s.opts.Grace})
}

// judge records a guard's verdict with its numbers.
func (s *State) judge(name, verdict string, facts any) {
	raw, err := json.Marshal(facts)
	if err != nil {
		s.bug(err)
		return
	}
	s.emit(event.GuardVerdict{Guard: name, Verdict: verdict, Facts: raw}, "")
}

// cutHere measures the attempt's stream as it stands, and judges it.
func (s *State) cutHere(limit string, after time.Duration, stopped interrupt.Reason) *cutAt {
	s.flush()
	at := &cutAt{Limit: limit, LimitMS: after.Milliseconds()}
	src := source{s.Config.Provider, s.Config.Model}
	var content string
	at.Cut, content = measure(s.open)
	at.Cut.Assistant, at.Cut.Aborted = true, true
	at.Cut.Silence = s.now.Sub(s.watch.useful).Milliseconds()
	at.Cut.Largest = s.largest[src]
	at.Place = guard.Place{Provider: src.provider, Model: src.model, Tool: at.Cut.Tool, Prefix: at.Cut.Prefix,
		Sums: guard.Sums(content), Stream: at.Cut.Stream, Argument: at.Cut.Argument}
	if before, seen := s.Places.Seen(at.Place); seen && at.Place.Stream > 0 {
		at.Before = &before
	}
	limits := s.opts.Guards.Stall.Thresholds()
	at.Limits = &limits
	at.verdict = guard.Evaluate(at.Cut, s.opts.Guards.Stall)
	if at.verdict == guard.Stalled {
		s.decide(at, stopped)
	}
	return at
}

// decide says whether a stall wakes the model, from what is known now. stopped
// is why the turn was stopped, if it was.
func (s *State) decide(at *cutAt, stopped interrupt.Reason) {
	off := s.opts.Guards.NoWake || s.opts.Guards.OnStall == guard.Warn
	at.Wake = &guard.WakeFacts{Off: off, InRow: s.Wakes.InRow, Since: -1}
	switch stopped {
	case interrupt.UserSIGINT, interrupt.NowPriorityInput:
		at.Wake.ByPerson = true
	default:
		at.Wake.Stopped = string(stopped)
	}
	if !s.Wakes.Last.IsZero() {
		at.Wake.Since = max(s.now.Sub(s.Wakes.Last).Milliseconds(), 0)
	}
	at.Decision = guard.Decide(*at.Wake, s.opts.Guards.Stall)
}

// judgeCut judges an answer that a stop of the turn cuts: whoever stopped it
// wins, so that nothing is woken.
func (s *State) judgeCut() {
	if s.phase != PhaseAsking || !s.attempt.running || s.attempt.finish != "" || len(s.open.Blocks) == 0 || s.opts.Guards.OnStall == guard.Off {
		return
	}
	at := s.cutHere("", 0, s.stopped)
	s.judge(guardStall, string(at.verdict), at)
}

// longestTool bounds a tool's name in what is recorded and said of a cut: the
// model may have made it up.
const longestTool = 128

// measure sizes what streamed: the call with the longest string, or where there
// is no call the words. The content is what its place is known by.
func measure(s *Step) (c guard.Cut, content string) {
	var words strings.Builder
	for _, b := range s.Blocks {
		if b.Kind != event.ChunkArgs {
			words.WriteString(b.Text)
			continue
		}
		c.Calls++
		if n, text := guard.Longest(b.Text); n >= c.Argument {
			c.Tool, c.Argument, c.Stream, c.Prefix = clipText(b.Name, longestTool), n, utf8.RuneCountInString(b.Text), guard.Prefix(text)
			content = text
		}
	}
	if c.Calls == 0 {
		content = words.String()
		c.Stream, c.Prefix = utf8.RuneCountInString(content), guard.Prefix(content)
	}
	return c, content
}

// stalled goes on from an attempt that was silent for its limit: it is asked
// again like any that broke, unless that is known to lead to the same place.
// Where it was in a long argument the turn ends, and the model is woken to
// write it in another way.
func (s *State) stalled(at *cutAt) {
	same := at.Before
	if same == nil && s.watch.last != nil && at.Place.Stream > 0 && s.watch.last.Place.Same(at.Place) {
		same = &s.watch.last.Place
	}
	s.judge(guardStall, string(at.verdict), at)
	s.watch.last = at
	f := event.Failure{Code: event.FailStall, Message: stallText(at, same), Hint: "the provider is silent, not the network's end: try again, in smaller pieces, or another model"}
	if at.verdict != guard.Stalled && same == nil || s.opts.Guards.OnStall == guard.Warn {
		s.failed(f)
		return
	}
	s.emit(event.AttemptFailed{Attempt: s.open.Attempt, Error: f, RetryIn: -1}, "")
	how := &How{Outcome: event.TurnStalled, Reason: at.Limit, Error: &f}
	if at.Decision == guard.Wake {
		how.wake, how.stall = wakeText(at, same), at
	}
	s.cut(how)
}

// wakePrefix begins the name of a stall's notice; its turn's number follows.
const wakePrefix = "i_wake_"

// awake starts what a stall asks for: the notice is in the inbox, durable with
// the turn's end, so that it is neither lost nor given twice. A person's word
// that came since wins.
func (s *State) awake() {
	if s.how == nil || s.how.wake == "" || s.closed {
		return
	}
	if s.stopped != "" {
		s.stayAsleep()
		return
	}
	s.emit(event.GuardWake{Count: s.Wakes.InRow + 1, Notice: s.how.wake}, "")
	s.emit(event.InboxAccepted{ID: event.InputID(wakePrefix + strconv.Itoa(s.Turn.Number)), Kind: event.TurnWake,
		Priority: event.PriorityNext, By: "guard:stall", Options: s.options, Input: event.UserInput{Content: event.TextOf(s.how.wake)}}, "")
}

// stayAsleep says that a stall wakes nothing after all: somebody stopped the
// turn meanwhile. What waits is held, a notice that is there already included.
func (s *State) stayAsleep() {
	at := *s.how.stall
	s.decide(&at, s.stopped)
	s.judge(guardStall, string(at.verdict), &at)
	s.hold()
}

// watched is how many blocks of an answer have a window of their own: drivers
// open one at a time, and an answer may have thousands.
const watched = 16

// feed has the loop guard of its channel look at a piece of the stream.
func (s *State) feed(block int, channel, text string) {
	if s.opts.Guards.OnLoop == guard.Off || text == "" || !s.Hears(s.attempt.ticket) {
		return
	}
	w := &s.watch
	if w.streams == nil {
		w.streams = map[int]*guard.Loop{}
	}
	g := w.streams[block]
	if g == nil {
		if len(w.streams) == watched {
			delete(w.streams, slices.Min(slices.Collect(maps.Keys(w.streams))))
		}
		g = guard.NewLoop(s.opts.Guards.Loop)
		w.streams[block] = g
	}
	if r, found := g.Feed(text); found {
		s.looped(&loopAt{Channel: channel, Repeat: &r, Block: block}, guardLoop, s.opts.Guards.OnLoop)
	}
}

// another has the call guard look at a call whose arguments are whole.
func (s *State) another(block int) {
	b := s.open.block(block)
	if b == nil || s.opts.Guards.OnCalls == guard.Off || !s.Hears(s.attempt.ticket) || s.opts.Tools[b.Name].Waits {
		return
	}
	s.watch.asked++
	if loop := s.watch.calls.Requested(b.Name, b.Text, s.watch.asked == 1); loop.Kind != "" {
		s.looped(&loopAt{Channel: "calls", Calls: &loop, Block: block}, guardCalls, s.opts.Guards.OnCalls)
	}
}

func (s *State) looped(at *loopAt, name string, mode guard.Mode) {
	s.flush()
	at.Cut = mode != guard.Warn
	s.judge(name, "repetition", at)
	if mode == guard.Warn {
		s.do(Show{"warning", at.text()})
		return
	}
	s.breakOff(&breakage{loop: at})
}

// repeated goes on from an answer that went round in circles: what came before
// is kept, the model is told once, and the second time the turn ends.
func (s *State) repeated(at *loopAt) {
	f := event.Failure{Code: event.FailLoop, Message: at.text(), Hint: "say it in other words, or ask for less at once; `guards.loop` switches the guard"}
	s.emit(event.AttemptFailed{Attempt: s.open.Attempt, Error: f, RetryIn: -1}, "")
	s.count(false)
	if content := assemble(s.open, true).content(); speaks(content) {
		s.emit(event.AssistantMessage{Attempt: s.open.Attempt, Content: content, Finish: event.FinishRepeat, Partial: true}, "")
	}
	if !s.tellOnce(at.text(), true) {
		s.cut(&How{Outcome: event.TurnLooped, Reason: at.Channel, Error: &f})
		return
	}
	s.to(PhaseCalling)
	s.progress()
}

// tellOnce has the model told of a loop at the next step; it reports false when
// it was told before. cut says that an answer was stopped there.
func (s *State) tellOnce(text string, cut bool) bool {
	s.watch.loops++
	if s.watch.loops > 1 {
		return false
	}
	said := untagged(text) + "."
	if cut {
		said += " It was stopped there."
	}
	s.watch.notices = append(s.watch.notices, reminder(said+" Go on without repeating it, or say what keeps you from it."))
	return true
}

// trim cuts an answer where it began to repeat itself, with one round of it as a
// sample. Of its calls those stay that went ahead; the others never run. It is a
// part of the fold: a crash, or a stop, before the message is written keeps the
// same of it.
func (s *Step) trim(at *loopAt) {
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b *Block) bool {
		return b.Kind == event.ChunkArgs && s.Call(b.Call) == nil
	})
	if b := s.block(at.Block); b != nil && at.Repeat != nil && b.Kind != event.ChunkArgs {
		upto := b.Text // what came in the same piece behind the place where it was found is more of it
		if n := int(at.Repeat.At); n > 0 && n < len(upto) {
			upto = upto[:n]
		}
		b.Text = cutRunes(b.Text, utf8.RuneCountInString(upto)-at.Repeat.Period*max(at.Repeat.Count-1, 0))
	}
}

// cutRunes keeps the first n runes of text.
func cutRunes(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// circling judges the calls of a step that ended. It is skipped on a turn that
// is being stopped: skipped calls look like failing ones (INT-39).
func (s *State) circling() *loopAt {
	if s.opts.Guards.OnCalls == guard.Off || s.cause != nil || len(s.open.Calls) == 0 {
		return nil
	}
	var step []guard.Signature
	for _, c := range s.open.Calls {
		step = append(step, guard.Signature{Tool: c.Name, Args: string(c.Args) + c.BadArgs, Result: c.Ended.Content.Text(),
			Failed: c.Ended.Error && c.Ended.ExitCode == nil, Waits: s.opts.Tools[c.Name].Waits})
	}
	loop := s.watch.calls.Step(step)
	if loop.Kind == "" {
		return nil
	}
	at := &loopAt{Channel: "calls", Calls: &loop}
	s.judge(guardCalls, loop.Kind, at)
	if s.opts.Guards.OnCalls == guard.Warn {
		s.do(Show{"warning", at.text()})
		return nil
	}
	return at
}
