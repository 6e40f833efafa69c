package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// fake is an api.Service of one session that plays what the prompt names:
// "stream" talks until it is stopped, "tool" runs a tool until it is stopped,
// "stubborn" takes its time to stop unless forced, "ask" asks before its tool,
// "silent" says nothing, "boom" panics in Submit, anything else is answered.
type fake struct {
	api.Service // what the chat does not use

	mu      sync.Mutex
	cond    *sync.Cond
	frames  []api.Frame
	seq     event.Seq
	turn    int
	inputs  int
	inbox   []event.InboxAccepted
	current event.InputID
	stop    chan struct{} // of the running turn; closed by an interrupt
	force   chan struct{}
	answer  chan event.Decision
	cause   api.InterruptRequest
	jobs    []api.JobInfo
	held    map[event.InputID]bool
	texts   map[event.InputID]event.InboxAccepted // of inputs that turns took
	claims  map[int][]event.InputID
	log     *os.File
	wg      sync.WaitGroup
	gate    string // a file: Interrupt answers once it is there; "": at once
	closed  bool
}

const session = event.SessionID("s_test")

func newFake(log *os.File) *fake {
	f := &fake{log: log, seq: -1, held: map[event.InputID]bool{}, texts: map[event.InputID]event.InboxAccepted{}, claims: map[int][]event.InputID{}}
	f.cond = sync.NewCond(&f.mu)
	f.mu.Lock()
	f.record(0, 0, "", event.SessionOpened{ID: session})
	f.mu.Unlock()
	return f
}

// note writes one line of what the chat asked for.
func (f *fake) note(format string, args ...any) {
	if f.log != nil {
		_, _ = fmt.Fprintf(f.log, format+"\n", args...)
	}
}

func (f *fake) record(turn, step int, call event.CallID, p event.Payload) {
	r, err := event.New(p, time.Now())
	if err != nil {
		panic(err)
	}
	f.seq++
	r.Seq, r.Turn, r.Step, r.Call = f.seq, turn, step, call
	line, _, err := event.Encode(nil, 0, &r)
	if err != nil {
		panic(err)
	}
	parsed, err := event.Parse(line)
	if err != nil {
		panic(err)
	}
	f.frames = append(f.frames, api.Frame{Line: line, Record: &parsed})
	f.cond.Broadcast()
}

func (f *fake) rec(turn, step int, call event.CallID, p event.Payload) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record(turn, step, call, p)
}

func (f *fake) live(l api.Live) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live1(l)
}

func (f *fake) live1(l api.Live) {
	f.frames = append(f.frames, api.Frame{Live: &l})
	f.cond.Broadcast()
}

func (f *fake) Follow(ctx context.Context, _ event.SessionID, from event.Seq, live bool) iter.Seq2[api.Frame, error] {
	return func(yield func(api.Frame, error) bool) {
		stop := context.AfterFunc(ctx, func() { f.mu.Lock(); f.cond.Broadcast(); f.mu.Unlock() })
		defer stop()
		for at := 0; ; at++ {
			f.mu.Lock()
			for at >= len(f.frames) && ctx.Err() == nil {
				f.cond.Wait()
			}
			if ctx.Err() != nil {
				f.mu.Unlock()
				return
			}
			fr := f.frames[at]
			f.mu.Unlock()
			if fr.Record != nil && fr.Record.Seq < from || fr.Live != nil && !live {
				continue
			}
			if !yield(fr, nil) {
				return
			}
		}
	}
}

func (f *fake) wait() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for f.gate != "" {
		if _, err := os.Stat(f.gate); err == nil {
			return
		}
		<-tick.C
	}
}

func (f *fake) Submit(_ context.Context, req api.SubmitRequest) (api.Submitted, error) {
	text := req.Input.Content.Text()
	f.note("submit %q %s%s", text, req.Priority, replacing(req))
	for _, p := range req.Input.Content {
		if img, ok := p.(event.Image); ok {
			f.note("image %s %s %d bytes", img.Name, img.MediaType, len(img.Data))
		}
	}
	if text == "boom" {
		panic("boom in a goroutine of the chat")
	}
	if text == "refuse" {
		return api.Submitted{}, errors.New("the disk is full")
	}
	if strings.HasPrefix(text, "slow") {
		<-time.After(200 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil && req.Priority == event.PriorityNext && req.Input.Media() {
		return api.Submitted{}, &api.Error{Code: event.FailUnsupported, Message: "a running turn can be steered with text alone"}
	}
	for _, id := range req.Replaces {
		if !f.waits(id) {
			return api.Submitted{}, &api.Error{Code: "stale", Message: "it does not wait any more"}
		}
	}
	f.inputs++
	in := event.InboxAccepted{ID: event.InputID(fmt.Sprintf("i_%d", f.inputs)), Input: req.Input, Priority: req.Priority, By: req.By, Replaces: req.Replaces}
	f.record(0, 0, "", in)
	for _, id := range req.Replaces {
		f.drop(id, event.DroppedReplaced)
	}
	switch now := req.Priority == event.PriorityNow; {
	case f.stop == nil:
		f.begin(event.TurnInput, in)
		return api.Submitted{Input: in.ID, State: "running"}, nil
	case now:
		f.inbox = append([]event.InboxAccepted{in}, f.inbox...)
		f.trip(api.InterruptRequest{Reason: "NOW_PRIORITY_INPUT", Who: req.By, KeepInbox: true})
		return api.Submitted{Input: in.ID, State: "interrupting"}, nil
	}
	f.inbox = append(f.inbox, in)
	return api.Submitted{Input: in.ID, State: "queued"}, nil
}

func replacing(req api.SubmitRequest) string {
	if len(req.Replaces) == 0 {
		return ""
	}
	return fmt.Sprint(" replaces ", req.Replaces)
}

func (f *fake) waits(id event.InputID) bool {
	return slices.ContainsFunc(f.inbox, func(in event.InboxAccepted) bool { return in.ID == id })
}

// drop takes an input out of the inbox unrun; f.mu is held.
func (f *fake) drop(id event.InputID, why string) {
	f.inbox = slices.DeleteFunc(f.inbox, func(in event.InboxAccepted) bool { return in.ID == id })
	f.record(0, 0, "", event.InboxDropped{ID: id, Why: why})
}

func (f *fake) Inbox(context.Context, event.SessionID) (out []api.Waiting, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.inbox {
		out = append(out, api.Waiting{ID: in.ID, Priority: in.Priority, Input: in.Input, Held: f.held[in.ID], By: in.By})
	}
	return out, nil
}

func (f *fake) RemoveInput(_ context.Context, req api.RemoveRequest) error {
	id := req.ID
	f.note("remove %s", id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.waits(id) {
		return &api.Error{Code: "stale", Message: "it does not wait any more"}
	}
	f.drop(id, "removed")
	return nil
}

func (f *fake) ClearInbox(context.Context, api.ClearRequest) ([]string, error) {
	f.note("clear inbox")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear()
	return nil, nil
}

func (f *fake) clear() {
	for _, in := range slices.Clone(f.inbox) {
		f.drop(in.ID, "canceled")
	}
}

func (f *fake) RunHeld(context.Context, event.SessionID) (api.Submitted, error) {
	f.note("run held")
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.inbox
	f.inbox = nil
	return api.Submitted{Input: f.begin(event.TurnInput, all...), State: "running"}, nil
}

func (f *fake) Continue(context.Context, event.SessionID) (api.Submitted, error) {
	f.note("continue")
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.Submitted{Input: f.begin(event.TurnContinue), State: "running"}, nil
}

func (f *fake) Compact(context.Context, event.SessionID) (api.Submitted, error) {
	f.note("compact")
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.Submitted{Input: f.begin(event.TurnCompact), State: "running"}, nil
}

func (f *fake) Fork(_ context.Context, req api.ForkRequest) (event.SessionID, error) {
	f.note("fork %d", req.Turn)
	return "s_forked", nil
}

// Retry asks the last turn again; what was a "stream" is answered this time.
func (f *fake) Retry(context.Context, api.RetryRequest) (api.Submitted, error) {
	f.note("retry")
	f.mu.Lock()
	defer f.mu.Unlock()
	back := f.giveBack(f.turn, "retry")
	f.inbox = f.inbox[:len(f.inbox)-len(back)]
	return api.Submitted{Input: f.begin(event.TurnInput, back...), State: "running"}, nil
}

func (f *fake) Rewind(_ context.Context, req api.RewindRequest) (api.Rewound, error) {
	if req.Turn == 0 {
		req.Turn = f.turn
	}
	f.note("rewind %d restore=%v", req.Turn, req.Restore)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := api.Rewound{Turn: req.Turn}
	for _, in := range f.giveBack(req.Turn, "rewind") {
		f.held[in.ID] = true
		out.Returned = append(out.Returned, api.Waiting{ID: in.ID, Input: in.Input, Priority: in.Priority, Held: true, By: in.By})
	}
	return out, nil
}

func (f *fake) giveBack(turn int, why string) (back []event.InboxAccepted) {
	hidden := event.Rewound{From: turn, Why: why}
	for _, id := range f.claims[turn] {
		hidden.Returns = append(hidden.Returns, event.Returned{ID: id, Priority: event.PriorityLater})
		back = append(back, f.texts[id])
	}
	f.record(0, 0, "", hidden)
	f.inbox = append(f.inbox, back...)
	return back
}

// begin starts a turn on inputs that are out of the inbox; f.mu is held.
func (f *fake) begin(kind event.TurnKind, ins ...event.InboxAccepted) event.InputID {
	f.turn++
	f.stop, f.force, f.answer = make(chan struct{}), make(chan struct{}), make(chan event.Decision, 1)
	f.cause = api.InterruptRequest{}
	f.current = event.InputID(fmt.Sprintf("i_c%d", f.turn))
	var texts []string
	for _, in := range ins {
		f.current = ins[0].ID
		texts = append(texts, in.Input.Content.Text())
		f.texts[in.ID] = in
		f.claims[f.turn] = append(f.claims[f.turn], in.ID)
	}
	f.record(f.turn, 0, "", event.TurnStarted{Kind: kind, Input: f.current})
	f.record(f.turn, 1, "", event.StepStarted{})
	for _, in := range ins {
		f.record(f.turn, 1, "", event.InboxClaimed{ID: in.ID})
	}
	f.wg.Add(1)
	go f.play(f.turn, kind, strings.Join(texts, "\n\n"), f.stop, f.force, f.answer)
	return f.current
}

func (f *fake) Interrupt(_ context.Context, req api.InterruptRequest) (api.Interrupted, error) {
	f.note("interrupt input=%s turn=%d force=%v keep=%v reason=%s", req.Input, req.Turn, req.Force, req.KeepInbox, req.Reason)
	f.wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop == nil {
		return api.Interrupted{Noop: "idle"}, nil
	}
	if req.Input != "" && req.Input != f.current || req.Turn != 0 && req.Turn != f.turn {
		return api.Interrupted{Noop: "turn_mismatch"}, nil
	}
	f.trip(req)
	return api.Interrupted{State: "stopping"}, nil
}

func (f *fake) trip(req api.InterruptRequest) {
	if !closed(f.stop) {
		f.cause = req
		close(f.stop)
		f.live1(api.Live{Kind: api.LiveState, State: "stopping", Turn: f.turn})
		for _, in := range f.inbox {
			f.held[in.ID] = req.Reason != "NOW_PRIORITY_INPUT"
		}
		if !req.KeepInbox && req.Reason == "" {
			f.clear()
		}
	}
	if req.Force && !closed(f.force) {
		close(f.force)
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (f *fake) Decide(_ context.Context, req api.DecideRequest) error {
	f.note("decide %s", req.Decision)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer <- req.Decision
	if req.Decision == event.Abort {
		f.trip(api.InterruptRequest{Who: req.By, KeepInbox: true})
	}
	return nil
}

func (f *fake) Jobs(context.Context, event.SessionID) ([]api.JobInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]api.JobInfo(nil), f.jobs...), nil
}

func (f *fake) KillJob(_ context.Context, _ event.SessionID, id event.JobID) error {
	f.note("kill %s", id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs = nil
	f.record(0, 0, "", event.JobEnded{ID: id, State: event.JobKilled})
	return nil
}

func (f *fake) Release(context.Context, event.SessionID) error {
	f.mu.Lock()
	f.closed = true
	if f.stop != nil {
		f.trip(api.InterruptRequest{Reason: "SESSION_RELEASED"})
	}
	f.mu.Unlock()
	f.wg.Wait()
	f.note("released")
	return nil
}

// play is one turn.
func (f *fake) play(no int, kind event.TurnKind, text string, stop, force chan struct{}, answer chan event.Decision) {
	defer f.wg.Done()
	outcome := event.TurnAborted
	word, _, _ := strings.Cut(text, " ")
	if kind == event.TurnCompact {
		word = "compact"
	}
	switch word {
	case "compact":
		f.rec(no, 1, "", event.CompactionStarted{Why: "command"})
		<-stop
	case "stream":
		f.stream(no, stop)
	case "flood":
		f.flood(no, stop)
	case "silent":
		<-stop
	case "tool":
		f.tool(no, stop, stop)
	case "stubborn":
		f.tool(no, stop, force)
	case "ask":
		f.rec(no, 1, "k1", event.CallRequested{Name: "bash", Args: json.RawMessage(`{"command":"rm -rf /tmp/x\u001b[2K"}`)})
		f.rec(no, 1, "k1", event.ApprovalAsked{ID: "a1", Tool: "bash", Prompt: "rm -rf /tmp/x\x1b[2K"})
		if <-answer == event.Allow {
			f.rec(no, 1, "k1", event.CallStarted{})
			code := 0
			f.rec(no, 1, "k1", event.CallEnded{Outcome: event.CallFinished, ExitCode: &code, Content: event.TextOf("removed")})
		} else {
			f.rec(no, 1, "k1", event.CallEnded{Outcome: event.CallWasDenied, Content: event.TextOf("refused")})
		}
		if !closed(stop) {
			outcome = event.TurnCompleted
		}
	default:
		f.rec(no, 1, "", event.AssistantMessage{Content: event.TextOf("**answer** to " + text)})
		outcome = event.TurnCompleted
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	reason := ""
	if outcome == event.TurnAborted {
		if reason = f.cause.Reason; reason == "" {
			reason = "USER_SIGINT"
		}
	}
	f.record(no, 0, "", event.TurnEnded{Outcome: outcome, Reason: reason, Who: f.cause.Who, Steps: 1})
	f.note("ended %d %s", no, outcome)
	f.stop, f.current = nil, ""
	for i, in := range f.inbox {
		if !f.held[in.ID] && !f.closed {
			f.inbox = slices.Delete(slices.Clone(f.inbox), i, i+1)
			f.begin(event.TurnInput, in)
			break
		}
	}
}

func (f *fake) stream(no int, stop chan struct{}) {
	off, said := 0, ""
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-stop:
			f.rec(no, 1, "", event.AssistantMessage{Content: event.TextOf(said), Partial: true})
			return
		case <-t.C:
		}
		piece := fmt.Sprintf("word%d \x1b]0;title\x07", i)
		if i%10 == 9 {
			piece += "\n\n"
		}
		f.live(api.Live{Kind: api.LiveText, Turn: no, Step: 1, Off: off, Text: piece})
		off, said = off+len(piece), said+piece
	}
}

func (f *fake) tool(no int, stop, gone chan struct{}) {
	f.rec(no, 1, "k1", event.CallRequested{Name: "bash", Args: json.RawMessage(`{"command":"make test"}`)})
	f.rec(no, 1, "k2", event.CallRequested{Name: "edit", Args: json.RawMessage(`{"path":"lexer.go"}`), Index: 1})
	f.rec(no, 1, "", event.JobStarted{ID: "j1", Command: "npm run dev"})
	f.mu.Lock()
	f.jobs = []api.JobInfo{{ID: "j1", Command: "npm run dev", State: event.JobRunning, Started: time.Now()}}
	f.mu.Unlock()
	f.rec(no, 1, "k1", event.CallStarted{})
	f.live(api.Live{Kind: api.LiveTool, Turn: no, Step: 1, Call: "k1", Name: "bash", Text: "ok  pkg/one\nok  pkg/two\n"})
	<-stop
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
	}
	ms := int64(1234)
	f.rec(no, 1, "k1", event.CallEnded{Outcome: event.CallStopped, Signal: "SIGTERM", RanMS: &ms, Content: event.TextOf("ok  pkg/one\nok  pkg/two\n")})
	f.rec(no, 1, "k2", event.CallEnded{Outcome: event.CallSkipped, Synthetic: true, Content: event.TextOf("skipped")})
}

// flood prints more than a terminal's buffer holds.
func (f *fake) flood(no int, stop chan struct{}) {
	t := time.NewTicker(2 * time.Millisecond)
	defer t.Stop()
	for off := 0; ; {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		piece := strings.Repeat("flood ", 200) + "\n\n"
		f.live(api.Live{Kind: api.LiveText, Turn: no, Step: 1, Off: off, Text: piece})
		off += len(piece)
	}
}
