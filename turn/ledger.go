package turn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/inbox"
)

// Ledger is everything that a session is, folded from its journal (LOG-06):
// its context for the model, its inbox, its open work, its totals. It judges
// each record with a [Checker] before it believes it. Two journals that differ
// only in who ended a turn and when fold to the same context.
type Ledger struct {
	Checker
	Header   event.SessionOpened
	Box      inbox.Box
	History  []event.Message
	Config   *event.ModelConfig // in force
	config   []byte             // the same, as it stands in its record
	ConfigAt event.Seq
	Turn     *Turn // open or last; nil before the first
	Jobs     []*Job
	Procs    []event.ProcessStarted // started and not ended
	Lease    event.Owner
	LastAt   time.Time // of the last record but for what opening writes: recovery derives its times from it
	Usage    Usage
	Unknown  map[event.Type]int // types this build does not know, counted
	TurnOf   map[event.InputID]int
	Spent    Spent // by all turns together
	Wakes    Wakes
	Places   guard.Places // where streams were cut

	past map[int]*past // turns that can be hidden, by number
	open *Step         // open step
	news []string      // ends of jobs that the model is told of at the next step

	largest map[source]int // longest argument that came through whole
}

// past is what hiding a turn needs.
type past struct {
	before int // length of the history before it
	claims []event.InboxClaimed
	news   []string // told in it
}

// Spent is what the session's turns used, but for tokens.
type Spent struct {
	Steps int
	Calls int
	Wall  time.Duration // by the records' clock
	began time.Time     // of the open turn
}

// Wakes counts what the stall guard started.
type Wakes struct {
	InRow int       // since the last completed turn or a person's input
	Last  time.Time // zero: never
}

// Turn is one turn as folded: what its summary and its ending are made of.
type Turn struct {
	Number  int
	Kind    event.TurnKind
	RetryOf int
	Address event.InputID // first input, or the turn's own where it has none
	Inputs  []event.InputID
	Step    int // last step that started
	Calls   []*Call
	Text    string // last assistant text
	Usage   Usage
	Asked   int // requests sent, those for summaries included
	Counted int // requests whose tokens were counted to the end
	Marked  bool
	End     *event.TurnEnded // nil while open

	words []string // of the inputs, while the turn is open
}

// Step is the open step.
type Step struct {
	Number  int
	Attempt int
	Blocks  []*Block      // of the present attempt, from its chunks
	Message bool          // the assistant message stands
	Content event.Content // of the message
	Calls   []*Call       // by request order
	counted int           // attempt whose usage was counted
}

// Block is one block of a streaming answer.
type Block struct {
	Index     int
	Kind      event.ChunkKind
	Text      string
	Call      event.CallID // args blocks
	Provider  string       // reasoning blocks: whose signature
	Name      string
	Signature string
	Data      string
	Done      bool

	grown *strings.Builder // holds Text, with room behind it
}

// more puts text behind the block's. An answer comes in thousands of pieces: a
// copy of all that came at each would cost more than the rest of the way.
func (b *Block) more(text string) {
	if b.Text == "" {
		b.Text, b.grown = text, nil
		return
	}
	if b.grown == nil || b.grown.Len() != len(b.Text) {
		b.grown = &strings.Builder{}
		b.grown.Grow(2 * (len(b.Text) + len(text)))
		b.grown.WriteString(b.Text)
	}
	b.grown.WriteString(text)
	b.Text = b.grown.String()
}

// Call is one tool call's account.
type Call struct {
	ID        event.CallID
	Turn      int
	Step      int
	Index     int
	Name      string
	Args      json.RawMessage
	BadArgs   string
	Approved  bool
	Denied    bool
	Started   bool
	StartedAt time.Time
	Approval  event.ApprovalID // open question, if any
	Asked     bool             // and nobody allowed or refused it
	Prompt    string           // of the question
	Spool     string
	Ended     *event.CallEnded

	Inner     []*Inner              // calls that this one made, by number
	Questions []event.ApprovalAsked // open, put while the call ran
	asks      int                   // questions put while it ran
}

// Inner is the account of a call that a running call made.
type Inner struct {
	event.InnerStarted
	ID    event.CallID // names its processes and spool
	At    time.Time
	Spool string
	Ended *event.CallEnded
}

// Job is a background process's account.
type Job struct {
	event.JobStarted
	At    time.Time
	Ended *event.JobEnded
}

// Tree names the call, outer or inner, whose processes the job is; "" if it is
// no call's.
func (j *Job) Tree() event.CallID {
	if j.Call == "" || j.Inner == 0 {
		return j.Call
	}
	return innerID(j.Call, j.Inner)
}

// innerID names the n-th inner call of call, as package tool does.
func innerID(call event.CallID, n int) event.CallID {
	return call + event.CallID("."+strconv.Itoa(n))
}

// NewLedger returns a ledger that stands before the first record.
func NewLedger() *Ledger {
	return &Ledger{Usage: Usage{Complete: true}, past: map[int]*past{}, TurnOf: map[event.InputID]int{}, largest: map[source]int{}}
}

// OpenStep returns the open step, nil if none.
func (l *Ledger) OpenStep() *Step { return l.open }

// Last returns the seq of the last record, -1 before the first.
func (l *Ledger) Last() event.Seq { return l.next - 1 }

// Apply judges r and takes it into the fold. After an error the ledger stands
// where it stood.
func (l *Ledger) Apply(r *event.Record) error {
	if err := l.Checker.Next(r); err != nil {
		return err
	}
	p, err := r.Body()
	if err != nil {
		return err
	}
	if err := l.Box.Apply(r.Seq, p); err != nil {
		return fmt.Errorf("record %d (%s): %w", r.Seq, r.Type, err)
	}
	if r.Type != event.TypeLeaseTaken && r.Type != event.TypeTornSaved {
		l.LastAt = r.Time
	}
	l.fold(r, p)
	return nil
}

func (l *Ledger) fold(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.SessionOpened:
		l.Header = p
	case event.LeaseTaken:
		l.Lease = p.Owner
	case event.InboxAccepted, event.InboxEdited, event.InboxDropped:
	case event.TurnStarted, event.TurnEnded, event.StepStarted, event.StepEnded, event.InboxClaimed, event.TurnMarked:
		l.foldTurn(r, p)
	case event.UserMessage:
		l.say(event.Message{Role: event.RoleUser, Content: p.Content})
	case event.ModelConfig:
		l.Config, l.ConfigAt, l.config = &p, r.Seq, r.Data
	case event.ModelRequest, event.AttemptFailed, event.Chunk, event.AssistantMessage, event.UsageCounted:
		l.foldModel(p)
	case event.CallRequested, event.CallApproved, event.CallDenied, event.CallStarted, event.CallOutput,
		event.CallEnded, event.LateResult, event.ApprovalAsked, event.ApprovalDecided, event.ApprovalVoided,
		event.InnerStarted, event.InnerEnded:
		l.foldCall(r, p)
	case event.ProcessStarted, event.ProcessEnded, event.ProcessSurvived, event.JobStarted, event.JobEnded, event.JobAdopted, event.JobKept:
		l.foldProcess(r, p)
	case event.Rewound:
		l.hide(p.From)
	case event.CompactionStarted:
		if l.turn != 0 {
			l.Turn.Asked++ // the summary's call
		}
	case event.CompactionEnded:
		if p.Error != nil && p.Error.Code == event.FailBlocked && l.turn != 0 {
			l.Turn.Asked-- // it was never made
		}
	case event.CompactionSummary:
		kept := l.History[len(l.History)-min(p.Kept, len(l.History)):]
		l.History = append([]event.Message{{Role: event.RoleUser, Content: p.Content}}, kept...)
		l.past = map[int]*past{} // a place in the history is none in the shorter one (INT-71)
		l.Box.Forget()
	case event.Unknown:
		if l.Unknown == nil {
			l.Unknown = map[event.Type]int{}
		}
		l.Unknown[p.Name]++
	case event.GuardVerdict, event.GuardWake:
		l.foldGuard(r, p)
	case event.SessionForked, event.HookInvoked, event.HookVerdict, event.SubAgentLinked, event.RepairBegun, event.RepairCommitted, event.TornSaved:
	}
}

func (l *Ledger) say(m event.Message) { l.History = append(l.History, m) }

func (l *Ledger) foldTurn(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.TurnStarted:
		l.past[r.Turn] = &past{before: len(l.History)}
		l.Turn = &Turn{Number: r.Turn, Kind: p.Kind, RetryOf: p.RetryOf, Address: p.Input, Usage: Usage{Complete: true}}
		l.Spent.began = r.Time
		if p.Input != "" {
			l.TurnOf[p.Input] = r.Turn
		}
	case event.InboxClaimed:
		l.Turn.Inputs = append(l.Turn.Inputs, p.ID)
		l.Turn.words = append(l.Turn.words, l.Box.Taken().Input.Content.Text())
		l.TurnOf[p.ID] = r.Turn
		if past := l.past[r.Turn]; past != nil {
			past.claims = append(past.claims, p)
		}
		if l.Box.Taken().Kind != event.TurnWake {
			l.Wakes.InRow = 0
		}
		l.say(l.claimed(p))
	case event.StepStarted:
		for _, text := range l.news {
			l.say(event.Message{Role: event.RoleUser, Content: event.TextOf(text)})
		}
		if past := l.past[r.Turn]; past != nil {
			past.news = append(past.news, l.news...)
		}
		l.news = nil
		l.open = &Step{Number: r.Step}
		l.Turn.Step = r.Step
		l.Spent.Steps++
	case event.StepEnded:
		for _, c := range l.open.Calls {
			l.say(event.Message{Role: event.RoleTool, Content: c.Ended.Content, Call: c.ID, Name: c.Name, Error: c.Ended.Error})
		}
		l.open = nil
	case event.TurnMarked:
		l.Turn.Marked = true
		if p.Text != "" {
			l.say(event.Message{Role: event.RoleUser, Content: event.TextOf(p.Text)})
		}
	case event.TurnEnded:
		l.Turn.End, l.Turn.words = &p, nil
		l.Spent.Wall += max(r.Time.Sub(l.Spent.began), 0)
		if p.Outcome == event.TurnCompleted && l.Turn.Kind != event.TurnCompact {
			l.Wakes.InRow = 0
		}
	}
}

// hide takes the turns from n on out of the context. What the model was told in
// them of the outside it is told again.
func (l *Ledger) hide(n int) {
	p := l.past[n]
	if p == nil || p.before > len(l.History) {
		return
	}
	l.History = l.History[:p.before:p.before]
	var news []string
	for _, k := range slices.Sorted(maps.Keys(l.past)) {
		if k >= n {
			news = append(news, l.past[k].news...)
			delete(l.past, k)
		}
	}
	l.news = append(news, l.news...)
}

// Hideable reports whether turn n can be hidden: it is in the context and no
// summary stands for it.
func (l *Ledger) Hideable(n int) bool { return l.past[n] != nil }

// LastHideable returns the last turn that can be hidden; where none can, the
// last turn, 0 if there is none.
func (l *Ledger) LastHideable() int {
	if l.Turn == nil {
		return 0
	}
	for n := l.Turn.Number; n > 0; n-- {
		if l.Hideable(n) {
			return n
		}
	}
	return l.Turn.Number
}

// RetryPoint returns the last turn if it can be asked again as if it had never
// been, 0 if not: it ended so, was not hidden, and no summary was made since.
func (l *Ledger) RetryPoint() int {
	if t := l.Turn; t != nil && t.End != nil && t.End.Outcome.KeepsRetryPoint() && l.past[t.Number] != nil {
		return t.Number
	}
	return 0
}

// claimedIn returns the inputs that the turns from n on had processed.
func (l *Ledger) claimedIn(n int) (out []event.InboxClaimed) {
	for _, k := range slices.Sorted(maps.Keys(l.past)) {
		if k >= n {
			out = append(out, l.past[k].claims...)
		}
	}
	return out
}

func (l *Ledger) foldModel(p event.Payload) {
	switch p := p.(type) {
	case event.ModelRequest:
		l.open.Attempt, l.open.Blocks = p.Attempt, nil
		l.Turn.Asked++
	case event.Chunk:
		l.open.chunk(p)
	case event.AssistantMessage:
		l.open.Message, l.open.Content, l.open.Blocks = true, p.Content, nil
		if t := p.Content.Text(); strings.TrimSpace(t) != "" {
			l.Turn.Text = t
		}
		l.say(event.Message{Role: event.RoleAssistant, Content: p.Content, Partial: p.Partial})
	case event.UsageCounted:
		l.Usage.add(p)
		if l.Turn != nil {
			l.Turn.Usage.add(p)
			if p.Complete {
				l.Turn.Counted++
			}
		}
		if l.open != nil && p.Attempt > 0 {
			l.open.counted = p.Attempt
		}
	case event.AttemptFailed:
	}
}

func (s *Step) chunk(p event.Chunk) {
	b := s.block(p.Block)
	if b == nil {
		b = &Block{Index: p.Block, Kind: p.Kind}
		s.Blocks = append(s.Blocks, b)
	}
	b.more(p.Text)
	b.Done = b.Done || p.Done
	for _, f := range []struct {
		to   *string
		from string
	}{{&b.Name, p.Name}, {&b.Signature, p.Signature}, {&b.Data, p.Data}, {&b.Provider, p.Provider}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if p.Call != "" {
		b.Call = p.Call
	}
}

func (s *Step) block(i int) *Block {
	for _, b := range s.Blocks {
		if b.Index == i {
			return b
		}
	}
	return nil
}

// Call returns the open step's call id, nil if it has none such.
func (s *Step) Call(id event.CallID) *Call {
	if s == nil {
		return nil
	}
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// spools notes where the output of a call, outer or inner, is caught.
func (s *Step) spools(id event.CallID, spool string) {
	if s == nil {
		return
	}
	for _, c := range s.Calls {
		if c.ID == id {
			c.Spool = spool
			return
		}
		for _, in := range c.Inner {
			if in.ID == id {
				in.Spool = spool
				return
			}
		}
	}
}

func (l *Ledger) foldCall(r *event.Record, p event.Payload) {
	if p, ok := p.(event.CallRequested); ok {
		c := &Call{ID: r.Call, Turn: r.Turn, Step: r.Step, Index: p.Index, Name: p.Name, Args: p.Args, BadArgs: p.BadArgs}
		l.open.Calls = append(l.open.Calls, c)
		l.Turn.Calls = append(l.Turn.Calls, c)
		l.Spent.Calls++
		l.cameThrough(p)
		return
	}
	c := l.open.Call(r.Call)
	if c == nil {
		return // a late result, or a void between turns
	}
	switch p := p.(type) {
	case event.CallApproved:
		c.Approved = true
	case event.CallDenied:
		c.Denied = true
	case event.CallStarted:
		c.Started, c.StartedAt = true, r.Time
	case event.CallOutput:
		c.Spool = p.Spool
	case event.CallEnded:
		c.Ended = &p
	case event.InnerStarted:
		c.Inner = append(c.Inner, &Inner{InnerStarted: p, ID: innerID(c.ID, p.N), At: r.Time})
	case event.InnerEnded:
		c.Inner[p.N-1].Ended = &p.Ended
	case event.ApprovalAsked, event.ApprovalDecided, event.ApprovalVoided:
		c.question(p)
	}
}

// question folds what was asked about the call, or by it while it ran.
func (c *Call) question(p event.Payload) {
	put := func(id event.ApprovalID) bool {
		n := len(c.Questions)
		c.Questions = slices.DeleteFunc(slices.Clone(c.Questions), func(q event.ApprovalAsked) bool { return q.ID == id })
		return len(c.Questions) < n
	}
	switch p := p.(type) {
	case event.ApprovalAsked:
		if c.Started {
			c.asks, c.Questions = c.asks+1, append(c.Questions[:len(c.Questions):len(c.Questions)], p)
			return
		}
		c.Asked, c.Approval, c.Prompt = true, p.ID, p.Prompt
	case event.ApprovalDecided:
		if !put(p.ID) { // Who stopped the turn at the question has not answered it.
			c.Asked, c.Approval = p.Decision == event.Abort, ""
		}
	case event.ApprovalVoided:
		if !put(p.ID) {
			c.Approval = ""
		}
	}
}

func (l *Ledger) foldProcess(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.ProcessStarted:
		l.Procs = append(l.Procs, p)
		l.open.spools(event.CallID(p.ID), p.Spool)
	case event.ProcessEnded:
		l.dropProcs(func(q event.ProcessStarted) bool { return q.Owner == p.Owner && q.ID == p.ID && q.PID == p.PID })
	case event.JobStarted:
		l.Jobs = append(l.Jobs, &Job{JobStarted: p, At: r.Time})
	case event.JobEnded:
		if j := l.Job(p.ID); j != nil {
			j.Ended = &p
			l.news = append(l.news, jobText(j))
			// A job is the tree of its call: they end together.
			l.dropProcs(func(q event.ProcessStarted) bool {
				return q.ID == string(j.ID) || q.ID == string(j.Tree()) && j.Call != ""
			})
		}
	case event.JobKept:
		if j := l.Job(p.ID); j != nil {
			j.Keep = p.Keep
		}
	case event.ProcessSurvived, event.JobAdopted:
	}
}

func (l *Ledger) dropProcs(ended func(event.ProcessStarted) bool) {
	l.Procs = slices.DeleteFunc(slices.Clone(l.Procs), ended)
}

// Job returns the account of job id, nil if there is none.
func (l *Ledger) Job(id event.JobID) *Job {
	for i := len(l.Jobs) - 1; i >= 0; i-- {
		if l.Jobs[i].ID == id {
			return l.Jobs[i]
		}
	}
	return nil
}

// OpenJobs returns the jobs that have not ended.
func (l *Ledger) OpenJobs() []*Job {
	var out []*Job
	for _, j := range l.Jobs {
		if j.Ended == nil {
			out = append(out, j)
		}
	}
	return out
}

// claimed is the message that an input becomes when it enters its step. The
// box has let the entry go by then and still holds its words.
func (l *Ledger) claimed(p event.InboxClaimed) event.Message {
	content := l.Box.Taken().Input.Content
	if p.Steer {
		content = append(event.Content{event.Text{Text: "<system-reminder>\n"}}, content...)
		content = append(content, event.Text{Text: "\n</system-reminder>"})
	}
	return event.Message{Role: event.RoleUser, Content: content}
}

// Fold reads a whole journal.
func Fold(records []event.Record) (*Ledger, error) {
	l := NewLedger()
	for i := range records {
		if err := l.Apply(&records[i]); err != nil {
			return l, err
		}
	}
	return l, nil
}

// LastBatch returns the batch of the last record.
func (l *Ledger) LastBatch() int64 { return l.batch }
