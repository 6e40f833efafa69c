package tui

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// turn is what is known of the running turn, or of the last one.
type turn struct {
	no      int
	kind    event.TurnKind
	prompt  string
	from    time.Time
	asked   time.Time // when its stop was asked for, here
	step    int
	calls   []call
	attempt string // the last failed attempt and the wait that follows
	fails   int
	used    usage
	pics    []attachment // of the prompt
	dropped []string     // waiting texts that its stop dropped
	summed  bool         // a summary stands for its beginning
	woken   bool         // a guard starts the next one
	ended   bool
}

// call is one tool call of the turn.
type call struct {
	id      event.CallID
	name    string
	args    string
	started bool
	from    time.Time
	tail    string // last of its output
	ended   *event.CallEnded
	outcome event.CallOutcome // from a result object, when no record came
	ranMS   *int64
	loose   bool // quarantined, and has not come back
}

// longestTail bounds the live output that is kept of a call, in bytes.
const longestTail = 8 << 10

func (t *turn) call(id event.CallID) *call {
	for i := range t.calls {
		if t.calls[i].id == id {
			return &t.calls[i]
		}
	}
	return nil
}

// open returns the call, made if it was not known yet.
func (t *turn) open(id event.CallID, name string) *call {
	if k := t.call(id); k != nil {
		if k.name == "" {
			k.name = oneLine(name)
		}
		return k
	}
	t.calls = append(t.calls, call{id: id, name: oneLine(name)})
	return &t.calls[len(t.calls)-1]
}

func (k *call) output(s string) {
	k.tail += s
	if over := len(k.tail) - longestTail; over > 0 {
		k.tail = k.tail[over:]
	}
}

// how is the call's outcome, empty while it has none.
func (k *call) how() event.CallOutcome {
	if k.ended != nil {
		return k.ended.Outcome
	}
	return k.outcome
}

// ran is how long it ran, zero when not known.
func (k *call) ran() time.Duration {
	ms := k.ranMS
	if k.ended != nil {
		ms = k.ended.RanMS
	}
	if ms == nil {
		return 0
	}
	return time.Duration(*ms) * time.Millisecond
}

// argument returns the one argument that tells a person what a call is about.
func argument(args json.RawMessage, bad string) string {
	if bad != "" {
		return oneLine(bad)
	}
	var m map[string]any
	if json.Unmarshal(args, &m) != nil {
		return oneLine(string(args))
	}
	for _, key := range []string{"command", "cmd", "path", "file_path", "file", "pattern", "query", "url", "id"} {
		if s, ok := m[key].(string); ok && s != "" {
			return oneLine(s)
		}
	}
	if len(m) == 0 {
		return ""
	}
	return oneLine(string(args))
}

// frame folds one frame of the session.
func (c *chat) frame(now time.Time, f api.Frame) []effect {
	if f.Live != nil {
		return c.live(now, *f.Live)
	}
	r := f.Record
	if r == nil {
		parsed, err := event.Parse(f.Line)
		if err != nil {
			return c.say("a record could not be read: " + err.Error())
		}
		r = &parsed
	}
	if r.Seq <= c.caught {
		now = r.Time
	}
	out := c.record(now, r)
	if c.loading && r.Seq >= c.caught {
		out = append(out, c.caughtUp()...)
	}
	return out
}

// record folds one fact; the types that say nothing to a person fall through.
func (c *chat) record(now time.Time, r *event.Record) []effect {
	body, err := r.Body()
	if err != nil {
		return c.say("a record could not be read: " + err.Error())
	}
	switch b := body.(type) {
	case event.InboxAccepted:
		c.owed = with(c.owed, b.ID, c.owed[b.ID]-1)
		c.accepted(b, r.Seq)
	case event.InboxEdited:
		if w := c.waits(b.ID); w != nil {
			w.say(b.Input)
		}
	case event.InboxDropped:
		return c.wasDropped(b)
	case event.InboxClaimed:
		return c.claimed(b)
	case event.Rewound:
		return c.hidden(b)
	case event.TurnStarted:
		return c.turnStarted(now, r.Turn, b)
	case event.TurnEnded:
		return c.turnEnded(now, r.Turn, ending{b.Outcome, b.Reason, b.Who, b.Error, b.Text})
	case event.StepStarted:
		c.turn.step = r.Step
		c.stream.at(r.Step)
	case event.ModelConfig:
		c.model = oneLine(b.Model)
	case event.ModelRequest:
		c.turn.attempt = ""
	case event.AttemptFailed:
		return c.attemptFailed(r.Step, b)
	case event.Chunk:
		c.chunk(r.Step, b)
	case event.AssistantMessage:
		return c.answered(r.Step, b)
	case event.UsageCounted:
		c.turn.used.add(b)
	case event.JobStarted:
		c.jobs = append(c.jobs, job{b.ID, oneLine(b.Command)})
	case event.JobEnded:
		return c.jobEnded(b)
	case event.TornSaved, event.GuardVerdict:
		c.status = "" // told by the turn's end or by Recovered
	case event.GuardWake:
		c.turn.woken = true
	case event.CompactionStarted:
		c.status = summarizing
		return c.print(lines(quiet("· summarizing the context; esc stops it")))
	case event.CompactionSummary: // a place before it is none any more
		c.turns, c.taken, c.retryable, c.turn.summed = nil, nil, false, true
	case event.CompactionEnded:
		return c.compacted(b)
	default:
		return c.callRecord(now, r, body)
	}
	return nil
}

// callRecord folds the facts of one call.
func (c *chat) callRecord(now time.Time, r *event.Record, body event.Payload) []effect {
	switch b := body.(type) {
	case event.CallRequested:
		c.turn.open(r.Call, b.Name).args = argument(b.Args, b.BadArgs)
	case event.ApprovalAsked:
		c.ask(now, api.Approval{ID: b.ID, Call: r.Call, Tool: b.Tool, Prompt: b.Prompt, Question: b.Question, Options: b.Options})
	case event.ApprovalDecided:
		c.unask(b.ID, "")
	case event.ApprovalVoided:
		c.unask(b.ID, "")
	case event.CallStarted:
		k := c.turn.open(r.Call, "")
		k.started, k.from, k.tail = true, now, ""
	case event.CallEnded:
		c.unask("", r.Call)
		k := c.turn.open(r.Call, "")
		k.ended, k.loose = &b, b.Outcome == event.CallQuarantined
		return c.print(callBlock(*k))
	case event.LateResult:
		if k := c.turn.call(r.Call); k != nil {
			k.loose = false
		}
		return c.print(lines(quiet("a call of an earlier turn returned late (" + string(b.Ended.Outcome) + "); the turn's record has it, the conversation has not")))
	}
	return nil
}

func (c *chat) ask(now time.Time, a api.Approval) {
	for _, q := range c.approvals {
		if q.ID == a.ID {
			return
		}
	}
	a.Tool, a.Prompt = oneLine(a.Tool), oneLine(a.Prompt)
	c.approvals = append(c.approvals, question{a, now})
}

// unask takes a question away, by its id or by its call.
func (c *chat) unask(id event.ApprovalID, of event.CallID) {
	kept := c.approvals[:0:0]
	for _, q := range c.approvals {
		if q.ID != id && (of == "" || q.Call != of) {
			kept = append(kept, q)
		}
	}
	c.approvals = kept
	c.unnote()
}

// unnote takes a note away whose question is not open any more.
func (c *chat) unnote() {
	if c.noteOf != "" && !slices.ContainsFunc(c.approvals, func(q question) bool { return q.ID == c.noteOf }) {
		c.note, c.noteOf = "", ""
	}
}

func (c *chat) takeWaiting(id event.InputID) (w waiting, ok bool) {
	for i, w := range c.inbox {
		if w.id == id {
			c.inbox = append(c.inbox[:i:i], c.inbox[i+1:]...)
			return w, true
		}
	}
	return w, false
}

// summarizing is what the session says of itself while a summary is made.
const summarizing = "summarizing the context"

func (c *chat) compacted(b event.CompactionEnded) []effect {
	c.status = ""
	switch {
	case b.Installed:
		return c.print(lines(quiet("· the model goes on from a summary; the journal keeps all of it")))
	case b.Error != nil:
		return c.print(lines(quiet("· no summary: " + oneLine(b.Error.Message) + "; the context is as it was")))
	}
	return nil
}

// claimed prints a person's text where it enters the conversation, and a
// guard's notice as what it is.
func (c *chat) claimed(b event.InboxClaimed) []effect {
	w, ok := c.takeWaiting(b.ID)
	if !ok {
		return nil
	}
	c.taken = withEntry(c.taken, w)
	if w.kind == event.TurnWake {
		notice := strings.TrimSpace(strings.NewReplacer("<system-reminder>", "", "</system-reminder>", "").Replace(w.text))
		return c.print(lines(append([]string{yellow("◌") + " woken by the stall guard:"}, indent(quietLines(notice, outputLines))...)...))
	}
	if slices.Contains(c.lent, b.ID) {
		c.lent = without(c.lent, b.ID)
	}
	if c.turn.prompt == "" && len(c.turn.pics) == 0 {
		c.turn.prompt, c.turn.pics = w.text, w.pics
		if n := len(c.turns); n > 0 && c.turns[n-1].no == c.turn.no {
			c.turns[n-1].text = w.label()
		}
	}
	if c.loading && w.mine() {
		c.remember(message{text: w.text, pics: w.pics, mode: w.mode})
	}
	return c.print(block{kind: spoken, text: label(w.text, w.pics)})
}

func withEntry(m map[event.InputID]waiting, w waiting) map[event.InputID]waiting {
	if m == nil {
		m = map[event.InputID]waiting{}
	}
	m[w.id] = w
	return m
}

func (c *chat) turnStarted(now time.Time, no int, b event.TurnStarted) []effect {
	c.turn = turn{no: no, kind: b.Kind, from: now, asked: c.turn.asked}
	c.stream, c.status, c.approvals = stream{}, "", nil
	c.unnote()
	c.input, c.onTop, c.retryable, c.again = b.Input, false, false, ""
	c.turns = append(c.turns, pastTurn{no, map[event.TurnKind]string{event.TurnContinue: "(continued)",
		event.TurnWake: "(woken by the stall guard)", event.TurnCompact: "(summary)"}[b.Kind]})
	if c.layer == rewindLayer {
		c.layer = noLayer
	}
	if c.pending {
		c.pending = false
		return []effect{c.interruption(c.phase == killing)}
	}
	if c.phase < running {
		c.phase, c.turn.asked = running, time.Time{}
	}
	return nil
}

func (c *chat) attemptFailed(step int, b event.AttemptFailed) []effect {
	c.turn.fails++
	why := oneLine(b.Error.Message)
	if b.RetryIn >= 0 {
		c.turn.attempt = "attempt " + itoa(b.Attempt) + " failed: " + why + "; next one in " + seconds(time.Duration(b.RetryIn)*time.Millisecond)
	}
	out := c.flush("", "this attempt failed: "+why)
	c.stream = stream{step: step}
	return out
}

func (c *chat) chunk(step int, b event.Chunk) {
	c.stream.at(step)
	switch b.Kind {
	case event.ChunkText:
		c.stream.chunk(b.Block, b.Text)
	case event.ChunkReasoning:
		if c.stream.think == "" {
			c.stream.reason(b.Text) // live frames did not bring it
		}
	case event.ChunkArgs:
	}
}

func (c *chat) answered(step int, b event.AssistantMessage) []effect {
	c.stream.at(step)
	mark := ""
	if b.Partial {
		mark = "cut here"
	}
	if b.Partial && b.Content.Text() == "" {
		for _, p := range b.Content {
			if t, ok := p.(event.Reasoning); ok && t.Text != "" && c.stream.said == "" {
				c.stream.began = true
				return c.print(lines(append(indent(quietLines(clean(t.Text), 12)), quiet("  ─ thinking, cut here"))...))
			}
		}
	}
	return c.flush(b.Content.Text(), mark)
}

// flush prints what is left of the step's text, and mark behind it.
func (c *chat) flush(whole, mark string) []effect {
	said := c.stream.said != "" || whole != ""
	rest, fresh := c.stream.rest(whole)
	var out []effect
	if fresh {
		out = c.print(lines(quiet("the answer as it was recorded:")))
	}
	if rest != "" {
		out = append(out, c.print(block{kind: markdown, text: rest})...)
	}
	if mark != "" && said {
		out = append(out, c.print(lines(quiet("─ "+mark)))...)
	}
	return out
}

func (c *chat) jobEnded(b event.JobEnded) []effect {
	for i, j := range c.jobs {
		if j.id == b.ID {
			c.jobs = append(c.jobs[:i:i], c.jobs[i+1:]...)
			return c.print(lines(quiet("job " + string(j.id) + " ended (" + string(b.State) + "): " + short(j.command, 60))))
		}
	}
	return nil
}

// live folds what happens now.
func (c *chat) live(now time.Time, l api.Live) []effect {
	if l.Turn != 0 && c.turn.no != 0 && l.Turn != c.turn.no && l.Kind != api.LiveState {
		return nil // of a turn that is over, or not begun in the journal yet
	}
	switch l.Kind {
	case api.LiveText:
		c.stream.at(l.Step)
		c.stream.text(l.Block, l.Off, l.Text)
		if text := c.stream.ready(); text != "" {
			return c.print(block{kind: markdown, text: text})
		}
	case api.LiveReasoning:
		c.stream.at(l.Step)
		c.stream.reason(l.Text)
	case api.LiveTool:
		if k := c.turn.call(l.Call); k != nil && k.started && k.ended == nil {
			k.output(l.Text)
		}
	case api.LiveState:
		return c.liveState(now, l)
	}
	return nil
}

func (c *chat) liveState(now time.Time, l api.Live) []effect {
	switch l.State {
	case "stopping":
		if c.phase == running && l.Turn == c.turn.no {
			c.phase, c.turn.asked = stopping, now
		}
	case "waiting", "retrying":
		c.status = strings.TrimSpace(l.State + " " + l.Text)
	case "running":
		c.status = ""
	case "compacting":
		c.status = summarizing
	case "warning":
		return c.print(lines(quiet("· " + oneLine(l.Text))))
	case "storage_failed":
		c.storage = "storage failed: " + oneLine(l.Text)
	case "storage_ok":
		c.storage = ""
	case "ended":
		if l.Result == nil {
			return nil
		}
		c.result = l.Result
		return c.endedLive(now, l)
	}
	return nil
}

// endedLive takes a turn's terminal event. The journal's own record normally
// comes first; this is for a session whose store has failed.
func (c *chat) endedLive(now time.Time, l api.Live) []effect {
	if l.Turn != c.turn.no || c.turn.ended || l.Result.Outcome == nil {
		return nil
	}
	for _, r := range l.Result.Calls {
		k := c.turn.open(r.ID, r.Name)
		k.outcome, k.ranMS = r.Outcome, r.RanMS
	}
	e := ending{outcome: *l.Result.Outcome, who: l.Result.Who, text: l.Result.Text}
	if l.Result.Reason != nil {
		e.reason = *l.Result.Reason
	}
	if x := l.Result.Error; x != nil {
		e.err = &event.Failure{Code: event.FailureCode(x.Code), Message: x.Message, Hint: x.Hint}
	}
	if c.turn.used == (usage{}) {
		c.turn.used = resultUsage(l.Result.Usage)
	}
	return c.turnEnded(now, l.Turn, e)
}

// ending is how a turn ended.
type ending struct {
	outcome event.TurnOutcome
	reason  string
	who     string
	err     *event.Failure
	text    string
}

// turnEnded closes the turn: the card, and the line is free.
func (c *chat) turnEnded(now time.Time, no int, e ending) []effect {
	if no != c.turn.no || c.turn.ended {
		return nil
	}
	nothing := !c.stream.began && len(c.turn.calls) == 0 && c.turn.step <= 1
	var out []effect
	if c.stream.tail() != "" {
		out = c.flush("", "cut here")
	}
	c.turn.ended = true
	c.phase, c.input, c.pending, c.freed, c.status = idle, "", false, false, ""
	c.approvals = nil
	c.unnote()
	c.retryable = e.outcome.KeepsRetryPoint() && !c.turn.summed
	out = append(out, c.print(c.ended(now, e))...)
	c.onTop = e.outcome != event.TurnCompleted && !c.turn.woken
	if c.loading {
		return out
	}
	switch {
	case e.outcome == event.TurnCompleted:
		return out
	case len(c.inbox) > 0:
		if !c.lettered() { // it holds whatever comes back to the line
			out = append(out, c.onward()...)
		}
		return append(out, look{c.turn.no, e.who == who && e.reason == "USER_SIGINT" && c.onInterrupt == Restore && !c.lines})
	}
	if nothing && e.outcome == event.TurnAborted && c.line().blank() && len(c.sends) == 0 && c.turn.prompt != "" && !c.lines {
		c.again = c.turn.prompt
		out = append(out, c.load(message{text: c.turn.prompt, pics: c.turn.pics}))
		out = append(out, c.say("nothing had come yet: your text is back in the line; sent as it is it is asked again")...)
	}
	return append(out, c.onward()...)
}

// print shows a block for good; while history is read it is kept back.
func (c *chat) print(b block) []effect {
	if b.empty() {
		return nil
	}
	b.turn = c.turn.no
	if c.loading {
		c.past = append(c.past, b)
		return nil
	}
	return []effect{show{b}}
}

// shownTurns is how many past turns are printed when a session is opened.
const shownTurns = 3

// caughtUp prints the end of the history, and what opening had to close.
func (c *chat) caughtUp() []effect {
	c.loading = false
	var out []effect
	from := c.turn.no - shownTurns + 1
	if from > 1 && len(c.past) > 0 {
		out = append(out, show{lines(quiet("… " + itoa(from-1) + " earlier turns: ripcord log show " + string(c.session)))})
	}
	for _, b := range c.past {
		if b.turn >= from {
			out = append(out, show{b})
		}
	}
	c.past = nil
	for i := range c.inbox {
		c.inbox[i].held = true // nothing runs by itself in a session that was just opened
	}
	if d := c.dead; d != nil {
		if d.Torn > 0 {
			out = append(out, show{lines(quiet(itoa(int(d.Torn)) + " bytes after the last whole record were set aside in " + oneLine(d.File)))})
		}
	}
	if c.onTop {
		out = append(out, show{lines(c.wayOn)})
	}
	return out
}
