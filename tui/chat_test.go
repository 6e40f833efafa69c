package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// The pure state, driven by hand: a step is one input at a time of its own.

type player struct {
	t   *testing.T
	c   *chat
	now time.Time
	seq event.Seq
	out []string // what the last step wanted done

	blocks []string // printed
}

func newPlayer(t *testing.T) *player {
	p := &player{t: t, now: time.Unix(1000, 0), seq: -1}
	p.c = newChat(Options{Session: "s_1"})
	p.rec(0, "", event.SessionOpened{ID: "s_1"})
	return p
}

func (p *player) step(in input) {
	p.out = nil
	for _, e := range p.c.apply(p.now, in) {
		switch e := e.(type) {
		case submit:
			p.out = append(p.out, said(e))
		case goOn:
			p.out = append(p.out, []string{"continue", "run held", "retry", "compact"}[e.how]+fmt.Sprintf(" %d", e.no))
		case look:
			p.out = append(p.out, fmt.Sprintf("look %d restore=%v", e.end, e.restore))
		case takeBack:
			p.out = append(p.out, "take back "+string(e.w.id))
		case clearInbox:
			p.out = append(p.out, "clear inbox")
		case rewind:
			p.out = append(p.out, fmt.Sprintf("rewind %d restore=%v", e.req.Turn, e.req.Restore))
		case fork:
			p.out = append(p.out, fmt.Sprintf("fork %d", e.turn))
		case attach:
			p.out = append(p.out, "attach "+e.name)
		case halt:
			p.out = append(p.out, fmt.Sprintf("interrupt %s turn=%d force=%v keep=%v", e.req.Input, e.req.Turn, e.req.Force, e.req.KeepInbox))
		case decide:
			p.out = append(p.out, strings.TrimSpace("decide "+string(e.req.Decision)+" "+e.req.Why))
		case leave:
			p.out = append(p.out, fmt.Sprintf("leave %d", e.code))
		case killJob:
			p.out = append(p.out, "kill "+string(e.id))
		case show:
			p.out = append(p.out, "show")
			p.blocks = append(p.blocks, e.block.text+strings.Join(e.block.lines, "\n"))
		case setDraft, after, askJobs, suspend, redraw:
		}
	}
}

// said writes a submit: its number, words, mode, what it replaces, how it waits.
func said(e submit) string {
	out := strings.TrimSpace(fmt.Sprintf("submit %d %s %s", e.no, label(e.m.text, e.m.pics), e.m.mode))
	if len(e.m.ids) > 0 {
		out += fmt.Sprint(" for ", e.m.ids)
	}
	if e.priority != event.PriorityLater {
		out += " as " + string(e.priority)
	}
	return out
}

func (p *player) rec(turn int, call event.CallID, body event.Payload) {
	p.t.Helper()
	r, err := event.New(body, p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	p.seq++
	r.Seq, r.Turn, r.Step, r.Call = p.seq, turn, 1, call
	p.step(framed{[]api.Frame{{Record: &r}}})
}

// key gives a key as a face does: to the chat if it is bound, else as text.
func (p *player) key(name string) {
	if p.c.bound(name, p.c.draft, true, true) {
		p.step(pressed{name, p.c.draft, true, true})
		return
	}
	p.step(typed{p.c.draft + name})
}

func (p *player) write(s string) {
	for _, r := range s {
		p.key(string(r))
	}
}

func (p *player) pass(d time.Duration) { p.now = p.now.Add(d) }

func (p *player) runs(no int, id event.InputID, text string) {
	p.rec(0, "", event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf(text)}})
	p.rec(no, "", event.TurnStarted{Kind: event.TurnInput, Input: id})
	p.rec(no, "", event.InboxClaimed{ID: id})
}

func (p *player) is(want phase, out ...string) {
	p.t.Helper()
	if p.c.phase != want {
		p.t.Fatalf("phase %v, want %v", p.c.phase, want)
	}
	got := slices.DeleteFunc(slices.Clone(p.out), func(s string) bool { return s == "show" })
	if !slices.Equal(got, out) {
		p.t.Fatalf("wanted done: %q, want %q", got, out)
	}
}

// proves TUI-01: Esc in the first moment of a turn counts
func TestEscBeforeThereIsAnAddressStopsAsSoonAsThereIsOne(t *testing.T) {
	for _, first := range []string{"answer", "record"} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprint(first, force), func(t *testing.T) {
				p := newPlayer(t)
				p.write("hi")
				p.key("enter")
				p.is(sending, "submit 1 hi")
				p.key("esc")
				p.is(stopping)
				want := stopping
				if force {
					p.key("esc")
					p.is(killing)
					want = killing
				}
				order := fmt.Sprintf("interrupt i_7 turn=0 force=%v keep=true", force)
				if first == "answer" {
					p.step(submitted{no: 1, got: api.Submitted{Input: "i_7", State: "running"}})
					p.is(want, order)
					p.runs(1, "i_7", "hi")
					p.is(want)
				} else {
					p.rec(1, "", event.TurnStarted{Input: "i_7"})
					p.is(want, order)
					p.step(submitted{no: 1, got: api.Submitted{Input: "i_7", State: "running"}})
					p.is(want)
				}
				p.rec(1, "", event.TurnEnded{Outcome: event.TurnAborted})
				p.is(idle)
			})
		}
	}
}

// proves TUI-01, B146: an interrupt names its turn, a late Esc names none
func TestALateEscDoesNotReachTheNextTurn(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=true")
	p.rec(1, "", event.TurnEnded{Outcome: event.TurnAborted})
	p.key("esc")
	p.is(idle)
	p.runs(2, "i_2", "two")
	p.step(stopped{of: "i_1", err: errors.New("late")})
	p.is(running)
	p.key("esc")
	p.is(stopping, "interrupt i_2 turn=0 force=false keep=true")
}

// proves TUI-01
func TestASubmitThatFailsGivesTheTextBack(t *testing.T) {
	p := newPlayer(t)
	p.write("precious")
	p.key("enter")
	p.key("esc")
	p.step(submitted{no: 1, err: errors.New("disk full")})
	p.is(idle)
	if p.c.draft != "precious" || !strings.Contains(p.c.note, "disk full") {
		t.Errorf("draft %q, note %q", p.c.draft, p.c.note)
	}
}

// proves TUI-01: a stop that did not arrive is not shown as one
func TestAStopThatFailsIsTakenBack(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.key("esc")
	p.step(stopped{of: "i_1", err: errors.New("no route")})
	p.is(running)
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=true")
}

// proves TUI-01: accepted, not begun: the stop waits for the turn
func TestAStopOfATurnNotYetBegunIsNotLost(t *testing.T) {
	p := newPlayer(t)
	p.write("x")
	p.key("enter")
	p.step(submitted{no: 1, got: api.Submitted{Input: "i_1", State: "running"}})
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=true")
	p.step(stopped{of: "i_1", got: api.Interrupted{Noop: "turn_mismatch"}})
	p.runs(1, "i_1", "x")
	if p.c.phase != stopping {
		t.Errorf("phase %v", p.c.phase)
	}
}

// proves B143: the rule of Ctrl+C as a table
func TestTheRuleOfCtrlC(t *testing.T) {
	for _, tc := range []struct {
		name  string
		busy  bool
		draft string
		waits []time.Duration // before each knock but the first
		want  []string        // of each knock
	}{
		{"idle twice", false, "", []time.Duration{time.Second}, []string{"", "leave 130"}},
		{"idle, too late", false, "", []time.Duration{2100 * time.Millisecond, time.Second}, []string{"", "", "leave 130"}},
		{"idle with a draft", false, "d", []time.Duration{0, 0}, []string{"", "", "leave 130"}},
		{"busy twice", true, "", []time.Duration{time.Second}, []string{"interrupt i_1 turn=0 force=false keep=true", "leave 130"}},
		{"busy, later: kill", true, "", []time.Duration{3 * time.Second, time.Second}, []string{"interrupt i_1 turn=0 force=false keep=true", "interrupt i_1 turn=0 force=true keep=true", "leave 130"}},
		{"busy with a draft", true, "d", []time.Duration{0, time.Second}, []string{"", "interrupt i_1 turn=0 force=false keep=true", "leave 130"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlayer(t)
			if tc.busy {
				p.runs(1, "i_1", "one")
			}
			p.write(tc.draft)
			for i, want := range tc.want {
				if i > 0 {
					p.pass(tc.waits[i-1])
				}
				if p.key("ctrl+c"); strings.Join(p.out, ";") != want {
					t.Fatalf("knock %d: %q, want %q", i+1, p.out, want)
				}
			}
		})
	}
}

// proves INT-23: first the signal, then the prompt, busy until the end
func TestThePromptIsFreedWhileTheTurnStillUnwinds(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.key("ctrl+c")
	if p.c.freed {
		t.Error("freed before the grace")
	}
	p.step(timeUp{graceTimer, 1})
	p.write("hello")
	p.key("enter")
	p.is(stopping, "submit 1 hello")
	if !p.c.freed {
		t.Error("not freed after the grace")
	}
	p.rec(1, "", event.TurnEnded{Outcome: event.TurnAborted})
	p.is(idle)
}

// proves TUI-03: a key typed into a text that was being written answers nothing
func TestAQuestionIsNotAnsweredByAPersonWhoWasTyping(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.key("x")
	p.key("backspace")
	p.step(typed{""})
	p.pass(100 * time.Millisecond)
	p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
	p.pass(50 * time.Millisecond)
	p.key("y")
	p.is(running)
	p.pass(time.Second)
	p.key("y")
	p.is(running, "decide allow")
}

// proves TUI-03: with a text on the line, y is a letter
func TestAQuestionDoesNotTakeLettersOfADraft(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.write("ma")
	p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
	p.pass(time.Second)
	p.key("y")
	p.is(running)
	if p.c.draft != "may" {
		t.Errorf("draft %q", p.c.draft)
	}
}

// proves TOL-27: a tool's question takes words, a number picks an option, and Esc
// stops the turn, which is no answer
func TestAToolsQuestionIsAnsweredWithWords(t *testing.T) {
	for text, want := range map[string]string{"green, rather": "decide allow green, rather", "2": "decide allow blue", "3": "decide allow 3", "y": "decide allow y", "/skip": "decide deny"} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "ask_user", Prompt: "which colour?", Question: true, Options: []string{"red", "blue"}})
		p.pass(time.Second)
		p.key("enter")
		p.is(running)
		p.write(text)
		p.key("enter")
		p.is(running, want)
	}
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "ask_user", Prompt: "which colour?", Question: true})
	p.key("esc")
	p.is(stopping, "decide abort")
}

// proves TUI-03, CLI-03: in lines, too, a question's answer is words, be they
// those that allow or refuse a call
func TestInLinesAToolsQuestionIsAnsweredWithWords(t *testing.T) {
	for text, want := range map[string]string{"green": "decide allow green", "2": "decide allow blue", "yes": "decide allow yes", "no": "decide allow no", "y": "decide allow y", "N": "decide allow N", "/skip": "decide deny", "": ""} {
		p := newPlayer(t)
		p.c.lines = true
		p.runs(1, "i_1", "one")
		p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "ask_user", Prompt: "which colour?", Question: true, Options: []string{"red", "blue"}})
		p.step(entered{text})
		if want == "" {
			p.is(running)
			continue
		}
		p.is(running, want)
	}
	p := newPlayer(t)
	p.c.lines = true
	p.runs(1, "i_1", "one")
	p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
	p.step(entered{"no"})
	p.is(running, "decide deny")
}

// proves TOL-27: plan mode is asked for with the next message, once
func TestPlanModeGoesWithTheNextMessage(t *testing.T) {
	p := newPlayer(t)
	p.write("/plan")
	p.key("enter")
	p.write("build it")
	p.key("enter")
	p.is(sending, "submit 1 build it plan")
	p.write("and more")
	p.key("enter")
	p.is(sending, "submit 2 and more as next")
}

// proves TUI-03: an answer elsewhere, a void and the end of the call close it
func TestAQuestionGoesAwayWithItsReason(t *testing.T) {
	for name, body := range map[string]event.Payload{
		"decided": event.ApprovalDecided{ID: "a", Decision: event.Allow},
		"void":    event.ApprovalVoided{ID: "a"},
		"ended":   event.CallEnded{Outcome: event.CallSkipped},
		"turn":    event.TurnEnded{Outcome: event.TurnAborted},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t)
			p.runs(1, "i_1", "one")
			p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
			if len(p.c.approvals) != 1 {
				t.Fatal("not asked")
			}
			p.rec(1, "k", body)
			if len(p.c.approvals) != 0 {
				t.Error("still open")
			}
		})
	}
}

// proves TUI-01: the footer says what Esc then does, in every state
func TestTheFooterSaysWhatEscDoes(t *testing.T) {
	for _, tc := range []struct {
		says string
		set  func(p *player)
		done string
	}{
		{"esc nothing to stop", func(*player) {}, ""},
		{"esc put draft away", func(p *player) { p.write("text") }, ""},
		{"esc put draft away · enter steer", func(p *player) { p.runs(1, "i_1", "x"); p.write("text") }, ""},
		{"esc close list", func(p *player) { p.write("/he") }, ""},
		{"esc close", func(p *player) { p.write("/help"); p.key("enter") }, ""},
		{"esc interrupt", func(p *player) { p.runs(1, "i_1", "x") }, "interrupt i_1 turn=0 force=false keep=true"},
		{"esc again: kill now", func(p *player) { p.runs(1, "i_1", "x"); p.key("esc") }, "interrupt i_1 turn=0 force=true keep=true"},
		{"esc: already killing", func(p *player) { p.runs(1, "i_1", "x"); p.key("esc"); p.key("esc") }, ""},
		{"esc stop the turn · y allow", func(p *player) {
			p.runs(1, "i_1", "x")
			p.rec(1, "k", event.ApprovalAsked{ID: "a"})
		}, "decide abort"},
		{"esc stop the turn · enter answers", func(p *player) {
			p.runs(1, "i_1", "x")
			p.rec(1, "k", event.ApprovalAsked{ID: "a", Question: true})
		}, "decide abort"},
	} {
		t.Run(tc.says, func(t *testing.T) {
			p := newPlayer(t)
			tc.set(p)
			if f := short(p.c.footer(p.now), 36); !strings.HasPrefix(f, tc.says) { // a narrow window has it too
				t.Fatalf("footer %q", f)
			}
			if p.key("esc"); strings.Join(p.out, ";") != tc.done {
				t.Errorf("did %q, want %q", p.out, tc.done)
			}
		})
	}
}

// proves TUI-02, IFC-02: every ending has its card, every call its words
func TestEveryOutcomeHasItsWords(t *testing.T) {
	for outcome, want := range map[event.TurnOutcome]string{
		event.TurnCompleted: "done", event.TurnAborted: "Stopped by you", event.TurnInterrupted: "the process died (not you)",
		event.TurnFailed: "failed", event.TurnBlocked: "Blocked", event.TurnTruncated: "length limit",
		event.TurnBudget: "budget", event.TurnStalled: "stalled", event.TurnLooped: "circles",
	} {
		p := newPlayer(t)
		p.runs(1, "i_1", "x")
		b := p.c.ended(p.now.Add(3*time.Second), ending{outcome: outcome, reason: "USER_SIGINT", who: who})
		if text := unstyled(strings.Join(b.lines, "\n")); !strings.Contains(text, want) {
			t.Errorf("%s: %q has no %q", outcome, text, want)
		}
	}
	for outcome, want := range map[event.CallOutcome]string{
		event.CallFinished: "finished", event.CallFinishedLate: "result is kept", event.CallStopped: "stopped",
		event.CallSkipped: "never ran", event.CallWasDenied: "refused", event.CallInvalid: "not run",
		event.CallUnknown: "check before it is run again", event.CallQuarantined: "still unwinding", event.CallFatal: "failed",
	} {
		if v := verdict(call{ended: &event.CallEnded{Outcome: outcome}}); !strings.Contains(v, want) {
			t.Errorf("%s: %q", outcome, v)
		}
	}
}

// proves TUI-02
func TestTheCardSaysByWhomAndWhy(t *testing.T) {
	for _, tc := range []struct{ who, reason, want string }{
		{"user", "USER_SIGINT", "by you"},
		{"", "USER_SIGINT", "by you"},
		{"ana", "USER_SIGINT", "by ana"},
		{"", "SYSTEM_SHUTDOWN", "for a shutdown"},
		{"timeout", "BUDGET_EXCEEDED", "by timeout because a budget was used up"},
		{"", "", "by request"},
		{"x\x1b[2J", "ODD\x07", "by x␛[2J (ODD␇)"},
	} {
		if got := by(ending{who: tc.who, reason: tc.reason}); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// proves B037
func TestAnUnwindingCallIsShownUntilItReturns(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "x")
	p.rec(1, "k", event.CallRequested{Name: "bash"})
	p.rec(1, "k", event.CallStarted{})
	p.rec(1, "k", event.CallEnded{Outcome: event.CallQuarantined})
	p.rec(1, "", event.TurnEnded{Outcome: event.TurnAborted})
	if rows := strings.Join(p.c.rows(p.now, 80, 20), "\n"); !strings.Contains(rows, "still unwinding") {
		t.Errorf("rows:\n%s", rows)
	}
	p.rec(1, "k", event.LateResult{})
	if rows := strings.Join(p.c.rows(p.now, 80, 20), "\n"); strings.Contains(rows, "still unwinding") {
		t.Errorf("rows:\n%s", rows)
	}
}

// proves B066
func TestTheWaitBetweenAttemptsIsShownAndEscReachesIt(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "x")
	p.rec(1, "", event.AttemptFailed{Attempt: 1, Error: event.Failure{Message: "529"}, RetryIn: 30000})
	if rows := strings.Join(p.c.rows(p.now, 80, 20), "\n"); !strings.Contains(rows, "next one in 30s") {
		t.Errorf("rows:\n%s", rows)
	}
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=true")
}

// proves TUI-03: a turn's end is told once, whichever source says it first
func TestAnEndIsToldOnce(t *testing.T) {
	aborted := event.TurnAborted
	end := api.Live{Kind: api.LiveState, State: "ended", Turn: 1, Result: &api.Result{Outcome: &aborted, Calls: []api.CallResult{{ID: "k", Name: "bash", Outcome: event.CallUnknown}}}}
	for _, liveFirst := range []bool{true, false} {
		p := newPlayer(t)
		p.runs(1, "i_1", "x")
		shown := 0
		both := []func(){
			func() { p.step(framed{[]api.Frame{{Live: &end}}}) },
			func() { p.rec(1, "", event.TurnEnded{Outcome: aborted}) },
		}
		if !liveFirst {
			slices.Reverse(both)
		}
		for _, f := range both {
			f()
			shown += len(p.out)
		}
		if p.c.phase != idle || p.c.result == nil || !p.c.onTop {
			t.Errorf("phase %v, result %v", p.c.phase, p.c.result)
		}
		if shown != 2 {
			t.Errorf("%d blocks printed, want the card and its last row alone", shown)
		}
	}
}

// proves TUI-01: ↑ gives back what was typed, put away and sent
func TestHistoryHoldsWhatWasTyped(t *testing.T) {
	p := newPlayer(t)
	p.write("one")
	p.key("esc")
	p.write("two")
	p.key("ctrl+c")
	p.write("draft")
	for _, want := range []string{"two", "one", "one"} {
		if p.key("up"); p.c.draft != want {
			t.Fatalf("draft %q, want %q", p.c.draft, want)
		}
	}
	for _, want := range []string{"two", "draft", ""} {
		if p.key("down"); p.c.draft != want {
			t.Fatalf("draft %q, want %q", p.c.draft, want)
		}
	}
}

// proves CLI-03: what was sent and is not yet seen in the session keeps a chat
// whose input has ended from being over, whichever of answer and record comes
// first
func TestWhatWasSentIsUnderwayUntilItIsSeen(t *testing.T) {
	for _, first := range []string{"answer", "record"} {
		p := newPlayer(t)
		p.step(entered{"one"})
		p.step(submitted{no: 1, got: api.Submitted{Input: "i_1", State: "running"}})
		p.runs(1, "i_1", "one")
		p.step(entered{"two"})
		answer := func() { p.step(submitted{no: 2, got: api.Submitted{Input: "i_2", State: "queued"}}) }
		record := func() {
			p.rec(0, "", event.InboxAccepted{ID: "i_2", Input: event.UserInput{Content: event.TextOf("two")}})
		}
		steps := []func(){answer, record}
		if first == "record" {
			steps = []func(){record, answer}
		}
		for _, step := range steps {
			if !p.c.underway() {
				t.Errorf("%s first: the second text is forgotten before it was seen", first)
			}
			step()
		}
		if p.c.underway() || len(p.c.inbox) != 1 {
			t.Errorf("%s first: underway %v with %d waiting, want it seen", first, p.c.underway(), len(p.c.inbox))
		}
	}
}
