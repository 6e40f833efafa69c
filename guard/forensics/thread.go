package forensics

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/guard"
)

// thread follows one conversation of a transcript: what its turn's calls came
// to, and what a stall guard would have done so far.
type thread struct {
	p               *replay
	provider, model string
	calls           guard.Calls
	step            []*asked
	inRow           int
	woken           time.Time
	last            time.Time // of the record before
	asking          bool      // an answer is under way whose calls are counted
}

// asked is a call of the step under way.
type asked struct {
	id   string
	done bool
	guard.Signature
}

const (
	maxStep  = 4096     // calls of a step that are compared
	maxPlain = 64 << 10 // bytes; of a longer text only the sum is kept

	maxMeasured = 16 // calls of a message that was cut, each a channel of its own
)

func newThread(p *replay) *thread { return &thread{p: p, calls: guard.Calls{Limits: p.o.Calls}} }

// person is a person's input: it begins a turn and ends a row of wakes.
func (t *thread) person() {
	t.turn()
	t.inRow = 0
}

// turn begins one.
func (t *thread) turn() {
	t.endStep()
	t.calls = guard.Calls{Limits: t.p.o.Calls}
	t.asking = false
}

// completed is a turn that came to its own end.
func (t *thread) completed() {
	t.endStep()
	t.inRow = 0
}

// answer begins an answer of the model.
func (t *thread) answer() {
	t.endStep()
	t.asking = false
}

// call takes a call that the model asked for. whole says that its arguments
// came to their end.
func (t *thread) call(id, tool, args string, whole bool) {
	for _, c := range t.step {
		if c.done { // results came: this is another step's
			t.endStep()
			t.asking = false
			break
		}
	}
	t.p.looped(t.calls.Requested(tool, plain(args), !t.asking))
	t.asking = true
	if !whole {
		return
	}
	n, _ := guard.Longest(args)
	t.p.came(t.provider, t.model, n)
	if len(t.step) < maxStep {
		t.step = append(t.step, &asked{id: id, Signature: guard.Signature{Tool: tool, Args: plain(args)}})
	}
}

// result answers a call of the step.
func (t *thread) result(id, text string, failed bool) {
	for _, c := range t.step {
		if c.id == id && !c.done {
			c.done, c.Result, c.Failed = true, plain(text), failed
			return
		}
	}
}

// endStep judges the calls that were answered.
func (t *thread) endStep() {
	var done []guard.Signature
	for _, c := range t.step {
		if c.done {
			done = append(done, c.Signature)
		}
	}
	t.step = nil
	if done != nil {
		t.p.looped(t.calls.Step(done))
	}
}

func plain(s string) string {
	if len(s) <= maxPlain {
		return strings.Clone(s)
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// stop is what a transcript tells of a message that was cut.
type stop struct {
	line     int64     // 0: the line that is read
	time     time.Time // zero: unknown
	how      string
	byPerson bool
	silence  *Silence
	usage    Usage
	text     string
	thought  string
	calls    []streamed
	missing  bool // what was streaming is not in the transcript
	whole    bool // the message came to its finish: what was stopped is a call
	recorded []Recorded
	judged   *judged // what a guard of ours measured then; nil: no record says
}

// judged is what stands in our own record of a stall guard's verdict.
type judged struct {
	Cut struct {
		Silence *int64 `json:"silence_ms"`
	} `json:"cut"`
	Limit   string            `json:"limit"` // that ran out; empty: none, somebody cut it
	LimitMS int64             `json:"limit_ms"`
	Limits  *guard.Thresholds `json:"limits"` // nil in an older journal
	Wake    *guard.WakeFacts  `json:"wake"`
	Warned  bool              `json:"warned"` // nothing was cut
}

// fired is the idle limit of ours that cut the stream.
func (j *judged) fired() *Timer {
	if j == nil || j.LimitMS <= 0 {
		return nil
	}
	whose := "ours, between two events"
	if j.Limit == "first_event" {
		whose = "ours, until the first event"
	}
	return &Timer{LimitMS: j.LimitMS, Whose: whose, Fired: true}
}

// streamed is a call of the message that was cut.
type streamed struct {
	tool string
	args string // JSON, whole or cut
	raw  bool   // as it was streamed; else as the transcript writes it
	text string // not JSON: the argument itself
}

func (s streamed) longest() (int, string) {
	if s.text != "" {
		return utf8.RuneCountInString(s.text), s.text
	}
	return guard.Longest(s.args)
}

// stream is what of the call's arguments came. A transcript that keeps them as
// an object closed what was open; the close is taken off again.
func (s streamed) stream() string {
	switch {
	case s.text != "":
		return s.text
	case s.raw:
		return s.args
	}
	args := strings.TrimRight(s.args, " \t\r\n")
	if open, ok := strings.CutSuffix(args, `"}`); ok {
		return open
	}
	return strings.TrimSuffix(args, "}")
}

// cut judges a message that was cut.
func (t *thread) cut(s stop) {
	p := t.p
	p.report.Found++
	standing := t.calls.Standing()
	t.step = nil // a skipped step looks like one that failed (INT-39)
	a := Abort{
		N: p.report.Found, Line: p.src.line, Provider: t.provider, Model: t.model, How: s.how, ByPerson: s.byPerson, Kept: !s.missing,
		Unit: p.report.Kind.unit(), Silence: s.silence, Usage: s.usage, Calls: standing, Recorded: s.recorded,
		Cut: guard.Cut{Assistant: true, Aborted: !s.whole, Calls: len(s.calls), Largest: p.largest[[2]string{t.provider, t.model}]},
	}
	if s.line > 0 {
		a.Line = s.line
	}
	if !s.time.IsZero() {
		at := s.time.UTC()
		a.Time = &at
	}
	body, which := s.thought+s.text, -1
	stream := body
	for i, c := range s.calls {
		if n, longest := c.longest(); n >= a.Cut.Argument {
			a.Cut.Argument, a.Cut.Tool, body, stream, which = n, c.tool, longest, c.stream(), i
		}
	}
	a.Cut.Stream, a.Cut.Prefix = utf8.RuneCountInString(stream), guard.Prefix(body)
	a.Place.Sums = guard.Sums(body)
	a.Stream = units(p.report.Kind, stream)
	if len(s.calls) > 0 {
		a.Argument = units(p.report.Kind, body)
		a.Channels = append(a.Channels, p.measure("argument", body))
	}
	if len(s.calls) > 0 && stream != body {
		a.Channels = append(a.Channels, p.measure("arguments", stream))
	}
	for i, c := range s.calls[:min(len(s.calls), maxMeasured)] {
		if i != which {
			a.Channels = append(a.Channels, p.measure("arguments of "+oneLine(c.tool), c.stream()))
		}
	}
	if s.text != "" {
		a.Channels = append(a.Channels, p.measure("text", s.text))
	}
	if s.thought != "" {
		a.Channels = append(a.Channels, p.measure("reasoning", s.thought))
	}
	t.judge(&a, s)
	if len(p.report.Aborts) < MaxAborts {
		p.place(&a, s)
		p.report.Aborts = append(p.report.Aborts, a)
	}
}

// judge runs the stall guard over a, and the timer's signature. What a guard of
// ours measured when it judged the same cut, and by which numbers, is known
// better from its record than from the records' times and today's settings.
func (t *thread) judge(a *Abort, s stop) {
	o := t.p.o
	by := o.Stall
	if j := s.judged; j != nil {
		s.silence = &Silence{MS: *j.Cut.Silence, Exact: true, Since: "the last useful event, as its guard measured it"}
		a.Silence = s.silence
		if a.Limits = j.Limits; j.Limits != nil {
			by = j.Limits.Limits()
		}
	}
	a.Cut.Silence = 0
	if s.silence != nil {
		a.Cut.Silence = s.silence.MS
		a.Timer = s.judged.fired()
	}
	if s.silence != nil && a.Timer == nil {
		configured := o.Idle
		if t.p.report.Kind == Ripcord { // these cut it if anything of ours did
			limit := o.Stall.Filled()
			configured = append(slices.Clip(configured), limit.Idle, limit.First)
		}
		a.Timer = signature(s.silence.MS, configured)
	}
	a.Stall, a.Sure = guard.Evaluate(a.Cut, by), true
	switch {
	case s.silence == nil && a.Stall == guard.StreamActive:
		most := a.Cut
		most.Silence = by.Filled().Silence.Milliseconds()
		a.Stall, a.Sure = guard.Evaluate(most, by), false
	case s.silence == nil || s.silence.Exact:
	case a.Stall == guard.Stalled, a.Stall == guard.StreamActive && s.silence.About:
		a.Sure = false
	}
	if a.Stall == guard.Stalled {
		t.decide(a, s, by)
	}
}

// decide says what came, or would have come, of a stall.
func (t *thread) decide(a *Abort, s stop, by guard.StallLimits) {
	f := guard.WakeFacts{Off: t.p.o.Off, ByPerson: s.byPerson, InRow: t.inRow, Since: -1}
	if !t.woken.IsZero() && !s.time.IsZero() {
		f.Since = max(0, s.time.Sub(t.woken).Milliseconds())
	}
	if s.judged != nil && s.judged.Wake != nil {
		f = *s.judged.Wake
		t.inRow = f.InRow
	}
	a.Facts, a.Wake = &f, guard.Decide(f, by)
	if a.Wake == guard.Wake {
		t.inRow++
		t.woken = s.time
	}
}

// place looks for an earlier cut at the same place, and keeps what reproduces
// this one.
func (p *replay) place(a *Abort, s stop) {
	a.Place = guard.Place{Provider: a.Provider, Model: a.Model, Tool: a.Cut.Tool, Prefix: a.Cut.Prefix, Sums: a.Place.Sums, Stream: a.Cut.Stream, Argument: a.Cut.Argument}
	if s.missing || s.whole || a.Cut.Stream == 0 {
		return
	}
	for i := len(p.report.Aborts) - 1; i >= 0; i-- {
		if b := &p.report.Aborts[i]; b.Kept && b.Cut.Aborted && b.Cut.Stream > 0 && b.Place.Same(a.Place) {
			at := b.Place
			a.SameAs, a.SameAt = b.N, &at
			break
		}
	}
	p.keep(a, s)
}

// measure runs the stream guards over one channel.
func (p *replay) measure(name, s string) Channel {
	c := Channel{Name: name, Runes: utf8.RuneCountInString(s)}
	if r, found := guard.NewLoop(p.o.Loop).Feed(s); found {
		c.Repeat = &r
	}
	var probe guard.Probe
	c.Probe = probe.Read(s) // at the channel's end, which is where it was cut
	return c
}

// units is a text's length as the tool that wrote it counts.
func units(k Kind, s string) int {
	if k.unit() == "bytes" {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// limits that are known to cut idle streams.
var wellKnown = []Timer{
	{LimitMS: 60_000, Whose: "a common default of proxies"}, {LimitMS: 100_000, Whose: "a common default of edge networks"},
	{LimitMS: 120_000, Whose: "the well-known one of 120 s"}, {LimitMS: 300_000, Whose: "a common default of HTTP clients' body timers"},
	{LimitMS: 600_000, Whose: "a common default of provider libraries"},
}

// signature is the idle limit that a silence is within 1 % of.
func signature(ms int64, configured []time.Duration) *Timer {
	near := func(limit int64) bool { return limit > 0 && max(ms-limit, limit-ms)*100 <= limit }
	for _, d := range configured {
		if near(d.Milliseconds()) {
			return &Timer{LimitMS: d.Milliseconds(), Whose: "a configured one"}
		}
	}
	for _, w := range wellKnown {
		if near(w.LimitMS) {
			return &w
		}
	}
	return nil
}

// cutUsage is the usage recorded with a message that was cut.
func cutUsage(in, out *int64) Usage {
	u := Usage{Input: in, Output: out, Known: "unknown"}
	if out != nil && *out > 0 {
		u.Known = "at least"
	}
	return u
}

// moment reads a time as transcripts write it: RFC 3339, or milliseconds since
// 1970. Zero if it is neither.
func moment(raw json.RawMessage) time.Time {
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		if n > 0 && n < 1e14 {
			return time.UnixMilli(int64(n)).UTC()
		}
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text(raw))
	if err != nil {
		return time.Time{}
	}
	return at
}

// between is a silence that is known to have been no longer.
func between(from, to time.Time, since string) *Silence {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return nil
	}
	return &Silence{MS: to.Sub(from).Milliseconds(), Since: since}
}
