package crashtest

import (
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// walk goes over the records of a journal once and keeps what the invariants
// are about. It shares no code with package turn.
type walk struct {
	say func(invariant int, format string, args ...any)

	epoch   event.Epoch
	seq     event.Seq
	batch   int64
	turn    int // open, 0 if none
	ended   int // highest turn that ended
	step    int
	group   bool
	calls   map[event.CallID]*call
	asked   map[event.ApprovalID]event.CallID
	running map[event.ApprovalID]bool // of those: asked by a call that runs
	inputs  map[event.InputID]*place
	jobs    map[event.JobID]*jobState
	procs   map[string]bool // owner and id, open
	adopted map[event.JobID]bool

	hooks   map[hook]int          // begun and not ended
	blocked map[event.CallID]bool // by a hook in front of the call
	refused map[int]bool          // turns, by a hook at their start
	childs  map[event.SessionID]*childLink

	hidden    map[int]bool // turns
	summing   bool         // a summary is asked for
	summed    bool         // and stands
	summary   string       // the last one
	summaryAt event.Seq
	wake      *event.GuardWake // announced in the open turn
	notice    *event.Record    // and given

	attempt  int
	streamed strings.Builder // text of the attempt, as its chunks gave it
	spoken   bool            // the step has its message
	circles  bool            // a guard saw the attempt repeat itself
}

type call struct {
	turn, step              int
	name                    string
	started, asked, inGroup bool // inGroup: its end stands in a group of closers
	denied                  bool
	inner                   []*inner
	questions               int  // put by it while it ran, and open
	void                    bool // the last of them was withdrawn
	ended                   *event.CallEnded
	at                      event.Seq // of that
}

type jobState struct {
	call event.CallID
	keep bool
	open bool
}

func newWalk() *walk {
	return &walk{calls: map[event.CallID]*call{}, asked: map[event.ApprovalID]event.CallID{}, inputs: map[event.InputID]*place{}, hidden: map[int]bool{}, summaryAt: -1,
		jobs: map[event.JobID]*jobState{}, procs: map[string]bool{}, adopted: map[event.JobID]bool{}, seq: -1,
		running: map[event.ApprovalID]bool{}, hooks: map[hook]int{}, blocked: map[event.CallID]bool{}, refused: map[int]bool{}, childs: map[event.SessionID]*childLink{}}
}

func (w *walk) next(r *event.Record, p event.Payload) {
	if r.Seq != w.seq+1 {
		w.say(9, "record %d follows record %d", r.Seq, w.seq)
	}
	if r.Epoch < w.epoch || r.Batch < w.batch {
		w.say(9, "record %d: epoch %d, batch %d after %d, %d", r.Seq, r.Epoch, r.Batch, w.epoch, w.batch)
	}
	if r.Type == event.TypeLeaseTaken && r.Epoch == w.epoch && r.Seq > 1 { // the first writer's header goes before it
		w.say(9, "record %d takes the session under the epoch %d of the writer before it", r.Seq, r.Epoch)
	}
	if r.Turn != 0 && r.Turn <= w.ended && r.Type != event.TypeLateResult {
		w.say(11, "record %d (%s) belongs to turn %d, which has ended", r.Seq, r.Type, r.Turn)
	}
	w.seq, w.epoch, w.batch = r.Seq, r.Epoch, r.Batch
	switch p := p.(type) {
	case event.RepairBegun:
		w.group = true
	case event.RepairCommitted:
		if !w.group {
			w.say(3, "record %d closes a group that nobody opened", r.Seq)
		}
		w.group = false
	case event.TurnStarted, event.TurnEnded, event.StepStarted, event.StepEnded:
		w.bracket(r, p)
	case event.InboxAccepted, event.InboxEdited, event.InboxClaimed, event.InboxDropped:
		w.inbox(r, p)
	case event.Rewound:
		w.rewound(r, p)
	case event.CompactionStarted, event.CompactionSummary, event.CompactionEnded:
		w.compaction(r, p)
	case event.GuardVerdict:
		w.circles = w.circles || p.Guard != "stall" && w.step != 0
	case event.GuardWake:
		w.wake = &p
	case event.ModelRequest, event.Chunk, event.AssistantMessage:
		w.model(r, p)
	case event.CallRequested, event.CallStarted, event.CallDenied, event.CallEnded, event.ApprovalAsked, event.ApprovalDecided, event.ApprovalVoided:
		w.call(r, p)
	case event.InnerStarted, event.InnerEnded, event.SubAgentLinked:
		w.within(r, p)
	case event.HookInvoked, event.HookVerdict:
		w.hook(r, p)
	case event.ProcessStarted, event.ProcessEnded, event.ProcessSurvived, event.JobStarted, event.JobEnded, event.JobAdopted, event.JobKept:
		w.process(r, p)
	}
}

func (w *walk) bracket(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.TurnStarted:
		if w.turn != 0 || r.Turn != w.ended+1 {
			w.say(4, "turn %d starts, open is %d, ended %d", r.Turn, w.turn, w.ended)
		}
		w.turn = r.Turn
	case event.TurnEnded:
		if w.turn != r.Turn || w.step != 0 {
			w.say(4, "turn %d ends, open are turn %d, step %d", r.Turn, w.turn, w.step)
		}
		if (p.Outcome == event.TurnInterrupted) != w.group {
			w.say(5, "turn %d ended %s; recovery wrote it: %v", r.Turn, p.Outcome, w.group)
		}
		if w.summing {
			w.say(4, "turn %d ends over a summary that has no end", r.Turn)
		}
		w.unwoken(r)
		w.turn, w.ended = 0, r.Turn
	case event.StepStarted:
		if w.step != 0 {
			w.say(4, "step %d starts in step %d", r.Step, w.step)
		}
		w.step, w.attempt, w.spoken, w.circles = r.Step, 0, false, false
		w.streamed.Reset()
	case event.StepEnded:
		for id, c := range w.calls {
			if c.turn == w.turn && c.step == w.step && c.ended == nil {
				w.say(4, "step %d of turn %d ends over call %s, which has no end", w.step, w.turn, id)
			}
		}
		if said := strings.TrimSpace(w.streamed.String()); w.group && !w.spoken && said != "" {
			w.say(12, "the model had streamed %q and recovery has no message of it", said)
		}
		w.step = 0
	}
}

func (w *walk) model(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.ModelRequest:
		w.attempt, w.circles = p.Attempt, false
		w.streamed.Reset()
		w.again(r)
	case event.Chunk:
		if p.Kind == event.ChunkText {
			w.streamed.WriteString(p.Text)
		}
	case event.AssistantMessage:
		w.spoken = true
		if p.Made != w.group || (p.Made && !p.Partial) {
			w.say(5, "record %d: a message that recovery made must say so: made %v, partial %v", r.Seq, p.Made, p.Partial)
		}
		w.message(r, p)
	}
}

func (w *walk) call(r *event.Record, p event.Payload) {
	if _, ok := p.(event.CallRequested); ok {
		if w.calls[r.Call] != nil {
			w.say(4, "call %s is requested twice", r.Call)
		}
		w.calls[r.Call] = &call{turn: r.Turn, step: r.Step, name: p.(event.CallRequested).Name}
		return
	}
	c := w.calls[r.Call]
	if c == nil {
		w.say(2, "record %d (%s) names call %q, which nobody requested", r.Seq, r.Type, r.Call)
		return
	}
	switch p := p.(type) {
	case event.CallStarted:
		c.started = true
		if w.blocked[r.Call] || c.denied {
			w.say(6, "record %d starts call %s, which was refused", r.Seq, r.Call)
		}
	case event.CallDenied:
		c.denied = true
	case event.CallEnded:
		w.ending(r, c, p)
	case event.ApprovalAsked:
		if w.asked[p.ID] = r.Call; c.started {
			w.running[p.ID], c.void = true, false
			c.questions++
			return
		}
		c.asked = true
	case event.ApprovalDecided:
		if w.group {
			w.say(6, "record %d: recovery answers question %s of a person", r.Seq, p.ID)
		}
		w.answered(r, c, p.ID, false)
	case event.ApprovalVoided:
		w.answered(r, c, p.ID, true)
	}
}

func (w *walk) answered(r *event.Record, c *call, id event.ApprovalID, void bool) {
	if of, open := w.asked[id]; !open || of != r.Call {
		w.say(4, "record %d answers approval %s, which is not open", r.Seq, id)
	}
	switch {
	case w.running[id]:
		c.questions--
		c.void = void
	case !void:
		c.asked = false
	}
	delete(w.asked, id)
	delete(w.running, id)
}

func (w *walk) ending(r *event.Record, c *call, p event.CallEnded) {
	if c.ended != nil {
		w.say(4, "call %s ends twice", r.Call)
	}
	c.ended, c.inGroup, c.at = &p, w.group, r.Seq
	w.leaves(r, c, p)
	made := w.group || p.Outcome == event.CallUnknown
	switch {
	case made && (!p.Synthetic || p.Cause == ""):
		w.say(5, "record %d: the end of call %s was made and does not say so", r.Seq, r.Call)
	case p.Synthetic && p.Cause == "":
		w.say(5, "record %d: the made end of call %s names no cause", r.Seq, r.Call)
	case p.Synthetic && p.Outcome != event.CallFinished && (p.Success != nil || !p.Error || p.ExitCode != nil):
		w.say(5, "record %d: the made end of call %s looks like a result", r.Seq, r.Call)
	}
	if p.Content.Text() == "" {
		w.say(5, "record %d: the end of call %s tells the model nothing", r.Seq, r.Call)
	}
}

func (w *walk) process(r *event.Record, p event.Payload) {
	switch p := p.(type) {
	case event.ProcessStarted:
		w.procs[p.ID] = true
	case event.ProcessEnded:
		if !w.procs[p.ID] {
			w.say(4, "record %d ends the process of %s, which does not run", r.Seq, p.ID)
		}
		delete(w.procs, p.ID)
	case event.JobStarted:
		w.jobs[p.ID] = &jobState{call: p.Call, keep: p.Keep, open: true}
	case event.JobEnded:
		j := w.jobs[p.ID]
		if j == nil || !j.open {
			w.say(4, "record %d ends job %s, which does not run", r.Seq, p.ID)
			return
		}
		j.open = false
		delete(w.procs, string(j.call))
		if w.group && p.State == event.JobExited && p.ExitCode == nil {
			w.say(5, "record %d: job %s is told as exited and nobody saw it", r.Seq, p.ID)
		}
	case event.JobAdopted:
		w.adopted[p.ID] = true
	case event.JobKept:
		if j := w.jobs[p.ID]; j != nil {
			j.keep = p.Keep
		}
	}
}

// end judges what is still open behind the last record; kept are the jobs that
// may be.
func (w *walk) end(kept []event.JobID) {
	switch {
	case w.group:
		w.say(4, "the last group of closers has no commit")
	case w.turn != 0 || w.step != 0:
		w.say(4, "turn %d, step %d has no end", w.turn, w.step)
	case len(w.asked) > 0:
		w.say(4, "%d approvals have no end", len(w.asked))
	}
	may := map[string]bool{}
	for _, id := range kept {
		may[string(id)] = true
		if j := w.jobs[id]; j != nil && j.open {
			may[string(j.call)] = true
		}
	}
	for id, c := range w.calls {
		if c.ended == nil {
			w.say(4, "call %s has no end", id)
		}
	}
	for id, j := range w.jobs {
		if j.open && !may[string(id)] {
			w.say(10, "job %s has no end and nobody keeps it", id)
		}
	}
	for id := range w.procs {
		if !may[id] {
			w.say(10, "the process of %s has no end", id)
		}
	}
}
