package forensics

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// ours reads our own journals. They know when each piece of a stream came, why
// a turn ended and what the guards said at the time.
type ours struct {
	*thread
	sum     event.Sum
	seen    bool // a record, so that sum means something
	warned  bool
	now     attempt
	kind    event.TurnKind
	pending *stop // a cut whose turn's end is still to come
	usage   *event.UsageCounted
}

// attempt is the answer that streams.
type attempt struct {
	n     int
	last  time.Time // its last useful event
	cut   time.Time // when a guard judged it; zero: none did
	said  []Recorded
	facts *judged // of the last verdict about its silence
	text  strings.Builder
	think strings.Builder
	calls []*streaming
	bytes int
}

type streaming struct {
	block int
	tool  string
	id    event.CallID
	args  strings.Builder
}

func newOurs(p *replay) *ours { return &ours{thread: newThread(p)} }

func (r *ours) take(line []byte) error {
	rec, err := event.Parse(line)
	if err != nil {
		return err
	}
	said, ok := event.LineSum(line)
	if r.seen && (!ok || said != event.ChainSum(r.sum, line)) && !r.warned {
		r.p.note("line %d: its sum does not follow from the line before it: something is damaged or missing; what stands here is read all the same", r.p.src.line)
		r.warned = true // everything behind a gap in the chain is one finding
	} else if ok {
		r.warned = false
	}
	r.sum, r.seen = said, true
	body, err := rec.Body()
	if err != nil {
		return fmt.Errorf("its data is not what %s holds: %w", rec.Type, err)
	}
	r.record(&rec, body)
	return nil
}

func (r *ours) record(rec *event.Record, body event.Payload) {
	switch b := body.(type) {
	case event.InboxClaimed:
		if r.kind != event.TurnWake || b.Steer { // a guard's notice is no person's input
			r.inRow = 0
		}
	case event.TurnStarted:
		r.kind = b.Kind
		r.turn()
		r.now = attempt{}
	case event.ModelConfig:
		r.provider, r.model = b.Provider, b.Model
	case event.ModelRequest:
		if r.pending != nil {
			r.pending.how += "; asked again"
			r.judgePending()
		}
		r.answer()
		r.now = attempt{n: b.Attempt, last: rec.Time}
		r.usage = nil
	case event.Chunk:
		r.chunk(rec, b)
	case event.UsageCounted:
		r.usage = &b
		if r.pending != nil && r.now.n == 0 {
			r.pending.usage = ourUsage(&b)
		}
	case event.AssistantMessage:
		r.message(rec, b)
	case event.AttemptFailed:
		switch b.Error.Code {
		case event.FailStall:
			r.stopped(rec.Time, "cut by the limit for silence")
		case event.FailLoop:
			r.stopped(rec.Time, "cut by a loop guard")
		}
	case event.CallRequested:
		if r.pending != nil {
			return // of the message that was cut, and measured with it
		}
		args := string(b.Args)
		if b.BadArgs != "" {
			args = b.BadArgs
		}
		r.call(string(rec.Call), b.Name, args, true)
	case event.CallEnded:
		r.result(string(rec.Call), b.Content.Text(), b.Error && b.ExitCode == nil)
	case event.GuardVerdict:
		r.verdict(rec, b)
	case event.TurnEnded:
		r.ended(rec.Time, b)
	}
}

// verdict keeps what a guard said at the time, before the end of the attempt or
// behind it.
func (r *ours) verdict(rec *event.Record, v event.GuardVerdict) {
	said := Recorded{Guard: oneLine(v.Guard), Verdict: oneLine(v.Verdict)}
	var facts struct {
		Decision string `json:"decision"`
	}
	if json.Unmarshal(v.Facts, &facts) == nil {
		said.Decision = oneLine(facts.Decision)
	}
	to, of := &r.now.said, &r.now.facts
	if r.pending != nil {
		to, of = &r.pending.recorded, &r.pending.judged
	}
	if j := measured(v); j != nil {
		*of = j
	}
	switch {
	case r.pending != nil:
	case r.now.n > 0 && r.now.cut.IsZero():
		r.now.cut = rec.Time
	}
	if len(*to) < maxSaid {
		*to = append(*to, said)
	}
}

// measured is what the record of a verdict holds of the silence before a cut,
// nil if nothing.
func measured(v event.GuardVerdict) *judged {
	var j judged
	if v.Guard != stallGuard || json.Unmarshal(v.Facts, &j) != nil || j.Warned || j.Cut.Silence == nil || *j.Cut.Silence < 0 {
		return nil
	}
	return &j
}

const stallGuard = "stall" // its name in a verdict's record

const maxSaid = 16 // verdicts that are kept of one attempt

func (r *ours) chunk(rec *event.Record, c event.Chunk) {
	at := rec.Time
	if n := len(rec.Span); n > 0 {
		at = at.Add(time.Duration(max(0, rec.Span[n-1].MS)) * time.Millisecond)
	}
	if at.After(r.now.last) {
		r.now.last = at
	}
	r.now.cut, r.now.facts = time.Time{}, nil // whoever judged it let it go on
	if r.now.bytes += len(c.Text); r.now.bytes > MaxLine {
		return // a stream that long was found by every guard before
	}
	switch c.Kind {
	case event.ChunkText:
		r.now.text.WriteString(c.Text)
	case event.ChunkReasoning:
		r.now.think.WriteString(c.Text)
	case event.ChunkArgs:
		r.now.call(c).args.WriteString(c.Text)
	}
}

func (a *attempt) call(c event.Chunk) *streaming {
	for _, s := range a.calls {
		if s.block == c.Block {
			if c.Name != "" {
				s.tool = c.Name
			}
			return s
		}
	}
	s := &streaming{block: c.Block, tool: c.Name, id: c.Call}
	if len(a.calls) < maxStep {
		a.calls = append(a.calls, s)
	}
	return s
}

func (r *ours) message(rec *event.Record, m event.AssistantMessage) {
	if !m.Partial {
		r.p.report.Messages++
		r.now = attempt{}
		return
	}
	if m.Made {
		r.stopped(time.Time{}, "closed by recovery after a crash")
		return
	}
	r.stopped(rec.Time, "cut")
}

// stopped remembers a cut until its turn says why it ended; an attempt has one.
func (r *ours) stopped(at time.Time, how string) {
	if r.pending != nil {
		return
	}
	r.p.report.Messages++
	s := stop{line: r.p.src.line, time: at, how: how, usage: ourUsage(r.usage), text: r.now.text.String(), thought: r.now.think.String()}
	s.recorded, s.judged = r.now.said, r.now.facts
	for _, c := range r.now.calls {
		r.call(string(c.id), c.tool, c.args.String(), false)
		s.calls = append(s.calls, streamed{tool: c.tool, args: c.args.String(), raw: true})
	}
	s.missing = s.text == "" && s.thought == "" && len(s.calls) == 0
	if !r.now.cut.IsZero() {
		at = r.now.cut // the end was written when the stream was given up, which may take its time
	}
	if s.silence = between(r.now.last, at, "the last record of the stream"); s.silence != nil {
		s.silence.About = true // a record is written when its pieces are packed; not every event has one
	}
	r.pending = &s
	r.now = attempt{}
}

func (r *ours) judgePending() {
	if r.pending != nil {
		r.cut(*r.pending)
		r.pending = nil
	}
}

// ended is the end of a turn, which says what its cut was for. A stop that cut
// no stream met calls that ran.
func (r *ours) ended(at time.Time, t event.TurnEnded) {
	if t.Outcome == event.TurnCompleted {
		r.judgePending()
		r.completed()
		return
	}
	how := "the turn ended " + string(t.Outcome)
	if t.Reason != "" {
		how += " (" + oneLine(t.Reason) + ")"
	}
	halted := t.Outcome == event.TurnAborted || t.Outcome == event.TurnInterrupted || t.Outcome == event.TurnStalled
	if r.pending == nil && halted && r.now.n > 0 {
		r.stopped(at, "cut")
	}
	byPerson := t.Outcome == event.TurnAborted && (t.Reason == bySignal || t.Reason == byInput)
	switch {
	case r.pending != nil:
		r.pending.how += "; " + how
		r.pending.byPerson = byPerson
		r.judgePending()
	case halted:
		r.cut(stop{line: r.p.src.line, time: at, how: how, byPerson: byPerson, whole: true, usage: ourUsage(r.usage)})
	}
	r.step = nil // calls of a turn that was stopped fail because it was
	r.now = attempt{}
}

// Reasons that a person gives, as they stand in a journal.
const (
	bySignal = "USER_SIGINT"
	byInput  = "NOW_PRIORITY_INPUT"
)

func (r *ours) end() {
	r.judgePending()
	r.endStep()
}

func ourUsage(u *event.UsageCounted) Usage {
	if u == nil {
		return cutUsage(nil, nil)
	}
	out := cutUsage(u.Tokens.Input, u.Tokens.Output)
	if out.Complete = u.Complete; u.Complete && u.Tokens.Output != nil {
		out.Known = "whole"
	}
	return out
}
