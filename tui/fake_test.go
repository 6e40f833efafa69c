package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
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
	held    bool
	log     *os.File
	wg      sync.WaitGroup
	delay   time.Duration // before Submit and Interrupt answer
	closed  bool
}

const session = event.SessionID("s_test")

func newFake(log *os.File) *fake {
	f := &fake{log: log, seq: -1}
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
	if f.delay > 0 {
		<-time.After(f.delay)
	}
}

func (f *fake) Submit(_ context.Context, req api.SubmitRequest) (api.Submitted, error) {
	text := req.Input.Content.Text()
	f.note("submit %q %s", text, req.Priority)
	if text == "boom" {
		panic("boom in a goroutine of the chat")
	}
	if text == "refuse" {
		return api.Submitted{}, errors.New("the disk is full")
	}
	f.wait()
	if strings.HasPrefix(text, "slow") {
		<-time.After(200 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inputs++
	in := event.InboxAccepted{ID: event.InputID(fmt.Sprintf("i_%d", f.inputs)), Input: req.Input, Priority: req.Priority}
	f.record(0, 0, "", in)
	f.inbox = append(f.inbox, in)
	if f.stop != nil || f.held {
		return api.Submitted{Input: in.ID, State: "queued"}, nil
	}
	f.begin()
	return api.Submitted{Input: in.ID, State: "running"}, nil
}

func (f *fake) RunHeld(ctx context.Context, id event.SessionID) (api.Submitted, error) {
	return f.Continue(ctx, id)
}

func (f *fake) Continue(context.Context, event.SessionID) (api.Submitted, error) {
	f.note("continue")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
	return api.Submitted{Input: f.begin(), State: "running"}, nil
}

// begin starts the next turn; f.mu is held.
func (f *fake) begin() event.InputID {
	f.turn++
	f.stop, f.force, f.answer = make(chan struct{}), make(chan struct{}), make(chan event.Decision, 1)
	f.cause = api.InterruptRequest{}
	text, kind := "", event.TurnContinue
	f.current = event.InputID(fmt.Sprintf("i_c%d", f.turn))
	if len(f.inbox) > 0 {
		in := f.inbox[0]
		f.inbox = f.inbox[1:]
		f.current, kind, text = in.ID, event.TurnInput, in.Input.Content.Text()
	}
	f.record(f.turn, 0, "", event.TurnStarted{Kind: kind, Input: f.current})
	f.record(f.turn, 1, "", event.StepStarted{})
	if kind == event.TurnInput {
		f.record(f.turn, 1, "", event.InboxClaimed{ID: f.current})
	}
	f.wg.Add(1)
	go f.play(f.turn, text, f.stop, f.force, f.answer)
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
		f.held = len(f.inbox) > 0
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
		f.trip(api.InterruptRequest{Who: req.By})
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
func (f *fake) play(no int, text string, stop, force chan struct{}, answer chan event.Decision) {
	defer f.wg.Done()
	outcome := event.TurnAborted
	word, _, _ := strings.Cut(text, " ")
	switch word {
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
	if outcome == event.TurnCompleted && len(f.inbox) > 0 && !f.closed {
		f.begin()
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
