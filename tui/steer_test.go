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

// queued has a text of this person's wait.
func (p *player) queued(id event.InputID, text string, pr event.Priority) {
	p.t.Helper()
	p.rec(0, "", event.InboxAccepted{ID: id, Input: event.UserInput{Content: event.TextOf(text)}, Priority: pr, By: who})
}

// stops ends the running turn as a person's stop does.
func (p *player) stops(no int) {
	p.t.Helper()
	p.rec(no, "", event.TurnEnded{Outcome: event.TurnAborted, Reason: "USER_SIGINT", Who: who})
}

func (p *player) rows() string {
	return unstyled(strings.Join(p.c.rows(p.now, 120, 40), "\n"))
}

// held answers a look: the ids wait and no turn takes them.
func held(ids ...event.InputID) looked {
	in := looked{end: 1, restore: true}
	for _, id := range ids {
		in.waiting = append(in.waiting, api.Waiting{ID: id, Held: true})
	}
	return in
}

// proves TUI-01, TRN-13: each key sends with its priority, and what waits is
// shown with its kind and its way out
func TestEachKeySendsInItsOwnWay(t *testing.T) {
	for keys, want := range map[string]string{
		"enter": "submit 1 x as next", "tab": "submit 1 x", "alt+enter": "submit 1 x as now", "ctrl+enter": "submit 1 x as now",
	} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.write("x")
		p.key(keys)
		p.is(running, want)
	}
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.write("/now quick")
	p.key("enter")
	p.is(running, "submit 1 quick as now")
	p.queued("i_2", "later", event.PriorityLater)
	p.queued("i_3", "soon", event.PriorityNext)
	rows := p.rows()
	soon, later := strings.Index(rows, "steer after this step: soon"), strings.Index(rows, "queue next turn: later")
	if soon < 0 || later < soon || !strings.Contains(rows, "alt+↑ takes the last one back") {
		t.Errorf("rows:\n%s", rows)
	}
	p.key("ctrl+c")
	p.write("after the stop")
	p.key("enter")
	p.is(stopping, "submit 2 after the stop")
}

// proves B043, TRN-14: Esc hands what waits back to the line, behind what is
// typed; it leaves the inbox when the line is sent, in the same write
func TestWhatWaitedComesBackToTheLineAndStaysHeld(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.queued("i_2", "first", event.PriorityNext)
	p.queued("i_3", "second", event.PriorityLater)
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=true")
	p.write("typed")
	p.stops(1)
	p.is(idle, "look 1 restore=true")
	p.step(held("i_2", "i_3"))
	if p.c.draft != "typed\n\nfirst\n\nsecond" {
		t.Fatalf("draft %q", p.c.draft)
	}
	if rows := p.rows(); !strings.Contains(rows, "2 held · enter sends the line in their place · ctrl+c leaves them held") || strings.Contains(rows, "held: first") {
		t.Errorf("rows:\n%s", rows)
	}
	p.key("enter")
	p.is(sending, "submit 1 typed\n\nfirst\n\nsecond for [i_2 i_3]")
	p.rec(0, "", event.InboxAccepted{ID: "i_4", By: who, Replaces: []event.InputID{"i_2", "i_3"}, Input: event.UserInput{Content: event.TextOf("all")}})
	if len(p.c.inbox) != 1 || p.c.waits("i_4") == nil {
		t.Errorf("inbox %v", p.c.inbox)
	}
	p.rec(0, "", event.InboxDropped{ID: "i_2", Why: event.DroppedReplaced})
	p.rec(0, "", event.InboxDropped{ID: "i_4", Why: event.DroppedRefused})
	if len(p.c.inbox) != 2 || p.c.inbox[0].text != "first" || !p.c.inbox[1].held {
		t.Errorf("what a refused text stood for does not wait again: %v", p.c.inbox)
	}
}

// proves B043, B049: a line that is put away leaves its texts held, says so with
// the keys that go on and drop, and brings them back with itself
// proves TUI-02: the card offers its letters with the way to them
func TestAClearedLineLeavesItsTextsHeld(t *testing.T) {
	for _, away := range []string{"ctrl+c", "esc", "emptied"} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.queued("i_2", "delete build", event.PriorityNext)
		p.key("esc")
		if card := p.shown(func() { p.stops(1) }); !strings.Contains(card, "Stopped by you") || strings.Contains(card, "[c]ontinue") {
			t.Errorf("letters are offered before it is known what stands in the line:\n%s", card)
		}
		if card := p.shown(func() { p.step(held("i_2")) }); !strings.Contains(card, "1 held · enter sends the line in their place") ||
			!strings.HasSuffix(card, "enter sends the line, or ctrl+c, then [c]ontinue   [r]etry from the start of this turn   [e]dit and retry") {
			t.Errorf("card:\n%s", card)
		}
		if away == "emptied" {
			p.step(typed{""})
		} else {
			p.key(away)
		}
		p.is(idle)
		if !strings.Contains(p.c.note, "held: "+heldKeys) {
			t.Errorf("%s: note %q", away, p.c.note)
		}
		if rows := p.rows(); !strings.Contains(rows, "held: delete build") || !strings.Contains(rows, "1 held · enter sends · alt+↑ edit · ctrl+x drops") {
			t.Errorf("%s: rows:\n%s", away, rows)
		}
		if away != "emptied" {
			p.key("up")
			p.key("enter")
			p.is(sending, "submit 1 delete build for [i_2]")
			continue
		}
		p.key("ctrl+x")
		p.is(idle, "clear inbox")
		p.key("enter")
		p.is(sending, "run held 1")
	}
}

// proves TRN-14: the other two settings
func TestWhatAnInterruptDoesToTheQueueIsASetting(t *testing.T) {
	p := newPlayer(t)
	p.c.onInterrupt = Hold
	p.runs(1, "i_1", "one")
	p.queued("i_2", "push", event.PriorityLater)
	p.key("esc")
	p.stops(1)
	p.is(idle, "look 1 restore=false")
	in := held("i_2")
	in.restore = false
	card := p.shown(func() { p.step(in) })
	if p.c.draft != "" || !strings.Contains(p.rows(), "held: push") || !strings.Contains(card, "\n  [c]ontinue") || !p.c.bound("c", "", true, true) {
		t.Errorf("draft %q, rows:\n%s", p.c.draft, p.rows())
	}

	p = newPlayer(t)
	p.c.onInterrupt = Drop
	p.runs(1, "i_1", "one")
	p.queued("i_2", "push", event.PriorityLater)
	p.key("esc")
	p.is(stopping, "interrupt i_1 turn=0 force=false keep=false")
	p.rec(0, "", event.InboxDropped{ID: "i_2", Why: "canceled"})
	card = unstyled(strings.Join(p.c.ended(p.now, ending{outcome: event.TurnAborted}).lines, "\n"))
	if !strings.Contains(card, "1 message dropped unrun") || !strings.Contains(card, "push") {
		t.Errorf("card:\n%s", card)
	}
	p.stops(1)
	p.key("up")
	if p.c.draft != "push" {
		t.Errorf("a dropped text is beyond ↑: %q", p.c.draft)
	}

	p = newPlayer(t)
	p.c.onInterrupt = Drop
	p.runs(1, "i_1", "one")
	p.queued("i_2", "push", event.PriorityLater)
	p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
	p.key("esc")
	p.is(stopping, "clear inbox", "decide abort")
}

// proves TRN-14: what another person queued, or a guard, is not put into this
// person's line
func TestOnlyOnesOwnTextsComeBack(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.rec(0, "", event.InboxAccepted{ID: "i_2", Input: event.UserInput{Content: event.TextOf("theirs")}, By: "ana"})
	p.rec(0, "", event.InboxAccepted{ID: "i_3", Input: event.UserInput{Content: event.TextOf("notice")}, By: who, Kind: event.TurnWake})
	p.key("esc")
	p.stops(1)
	p.step(held("i_2", "i_3"))
	if p.c.draft != "" || !strings.Contains(p.rows(), "held: theirs") {
		t.Errorf("draft %q, rows:\n%s", p.c.draft, p.rows())
	}
	p.key("alt+up")
	p.is(idle)
}

// proves B044: a line whose texts a turn has taken meanwhile is refused, kept,
// and looked at again
func TestALineThatIsStaleIsKept(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.queued("i_2", "first", event.PriorityNext)
	p.key("esc")
	p.stops(1)
	p.step(held("i_2"))
	p.key("enter")
	p.step(submitted{no: 1, err: &api.Error{Code: "stale", Message: "a turn has taken it"}})
	p.is(idle, "look 0 restore=false")
	if p.c.draft != "first" || !strings.Contains(p.c.note, "a turn has taken it") {
		t.Errorf("draft %q, note %q", p.c.draft, p.c.note)
	}
	p.step(looked{})
	if len(p.c.lent) != 0 || p.c.draft != "first" {
		t.Errorf("lent %v, draft %q", p.c.lent, p.c.draft)
	}
}

// proves B044: send-now takes what waits first out of the queue by the write that
// sends it; too late, it is in a turn already
func TestWhatWaitsIsSentNow(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.queued("i_2", "a\x1b[2J", event.PriorityLater)
	p.key("alt+enter")
	p.is(running, "submit 1 a for [i_2] as now")
	if e := p.c.sends[1].content().Text(); e != "a\x1b[2J" {
		t.Errorf("sent as %q: not as it was queued", e)
	}
	p.key("alt+enter")
	p.is(running) // it is on its way already
	p.step(submitted{no: 1, err: &api.Error{Code: "stale", Message: "gone"}})
	p.is(running)
	if p.c.draft != "" || p.c.note != "it is in the turn already" {
		t.Errorf("draft %q, note %q", p.c.draft, p.c.note)
	}
}

// proves TRN-13: the last waiting text is taken back, or is in the turn already
func TestTheLastWaitingTextIsTakenBack(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.queued("i_2", "older", event.PriorityLater)
	p.queued("i_3", "newer", event.PriorityNext)
	p.write("dr")
	p.key("alt+up")
	p.is(running, "take back i_3")
	w := *p.c.waits("i_3")
	p.step(tookBack{w: w, err: &api.Error{Code: "stale", Message: "gone"}})
	if p.c.draft != "dr" || !strings.Contains(p.c.note, "in the turn already") {
		t.Errorf("draft %q, note %q", p.c.draft, p.c.note)
	}
	p.key("alt+up")
	p.rec(0, "", event.InboxDropped{ID: "i_3", Why: "removed"})
	p.step(tookBack{w: w})
	if p.c.draft != "dr\n\nnewer" || len(p.c.lent) != 0 {
		t.Errorf("draft %q, lent %v", p.c.draft, p.c.lent)
	}
}

// proves TRN-18: a picture can't steer; the sentence is shown, the draft kept
func TestWhatIsRefusedComesBackWithItsPictures(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.step(attached{pic: attachment{part: event.Image{Name: "a.png", Data: []byte("x")}}})
	p.write("look")
	p.key("enter")
	p.is(running, "submit 1 look [image: a.png] as next")
	p.step(submitted{no: 1, err: &api.Error{Code: event.FailUnsupported, Message: "a running turn can be steered with text alone"}})
	if p.c.draft != "look" || len(p.c.pics) != 1 || !strings.Contains(p.c.note, "text alone") {
		t.Errorf("draft %q, pics %v, note %q", p.c.draft, p.c.pics, p.c.note)
	}
	if rows := p.rows(); !strings.Contains(rows, "[image: a.png]") {
		t.Errorf("rows:\n%s", rows)
	}
	p.key("tab")
	p.is(running, "submit 2 look [image: a.png]")
}

// proves TUI-01: Esc Esc opens the turns to go back to, a burst that was meant
// for something else does not
func TestEscEscIdleOpensThePicker(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	for range 50 {
		p.key("esc")
		p.pass(20 * time.Millisecond)
	}
	p.stops(1)
	for range 50 {
		p.key("esc")
		p.pass(20 * time.Millisecond)
		if p.c.layer != noLayer {
			t.Fatal("a burst opened the list")
		}
	}
	p.pass(time.Second)
	p.key("esc")
	p.pass(100 * time.Millisecond)
	p.key("esc")
	if p.c.layer != rewindLayer || !strings.Contains(p.rows(), "› 1  one") || !strings.Contains(p.rows(), "no file is touched") {
		t.Fatalf("layer %v, rows:\n%s", p.c.layer, p.rows())
	}
	p.key("esc")
	p.is(idle)
	if p.c.layer != noLayer {
		t.Error("still open")
	}
}

// proves RTY-10, INT-66: r asks again, e hides the turn and brings its text back,
// where that holds
func TestTheCardRetriesAndEdits(t *testing.T) {
	p := newPlayer(t)
	p.queued("i_1", "one", event.PriorityLater)
	p.rec(1, "", event.TurnStarted{Kind: event.TurnInput, Input: "i_1"})
	p.rec(1, "", event.InboxClaimed{ID: "i_1"})
	p.rec(1, "", event.CallRequested{Name: "bash"})
	p.rec(1, "", event.TurnEnded{Outcome: event.TurnFailed, Error: &event.Failure{Message: "529"}})
	p.key("r")
	p.pass(time.Second)
	p.step(timeUp{letterTimer, p.c.noteNo})
	p.is(sending, "retry 1")
	p.rec(0, "", event.Rewound{From: 1, Why: "retry", Returns: []event.Returned{{ID: "i_1", Priority: event.PriorityLater}}})
	p.rec(2, "", event.TurnStarted{Kind: event.TurnInput, Input: "i_1", RetryOf: 1})
	p.rec(2, "", event.InboxClaimed{ID: "i_1"})
	p.is(running)
	if len(p.c.turns) != 1 || p.c.turns[0] != (pastTurn{2, "one"}) {
		t.Errorf("turns %v", p.c.turns)
	}
	p.stops(2)
	p.step(typed{""})
	p.c.onTop = true
	p.key("e")
	p.key("enter")
	p.is(idle, "rewind 0 restore=true")
	p.rec(0, "", event.Rewound{From: 2, Why: "rewind", Returns: []event.Returned{{ID: "i_1", Priority: event.PriorityLater}}})
	p.step(rewound{got: api.Rewound{Turn: 2, Returned: []api.Waiting{{ID: "i_1", Input: event.UserInput{Content: event.TextOf("one")}, Held: true, By: who}}}})
	if p.c.draft != "one" || len(p.c.turns) != 0 || p.c.retryable {
		t.Errorf("draft %q, turns %v", p.c.draft, p.c.turns)
	}
	p.write(" more")
	p.key("enter")
	p.is(sending, "submit 2 one more for [i_1]")
}

// proves TUI-02: r and e are letters where there is nothing to ask again
func TestOnlyWhatHoldsIsOffered(t *testing.T) {
	for outcome, offered := range map[event.TurnOutcome]bool{event.TurnFailed: true, event.TurnStalled: true, event.TurnInterrupted: true, event.TurnLooped: false, event.TurnTruncated: false} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.rec(1, "", event.TurnEnded{Outcome: outcome})
		card := unstyled(p.c.ways(ending{outcome: outcome}))
		if strings.Contains(card, "[r]etry") != offered || p.c.bound("r", "", true, true) != offered || !strings.Contains(card, "[c]ontinue") {
			t.Errorf("%s: card %q, r is bound: %v", outcome, card, !offered)
		}
	}
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.rec(1, "", event.CompactionSummary{Content: event.TextOf("s")})
	p.rec(1, "", event.TurnEnded{Outcome: event.TurnFailed})
	if p.c.retryable || len(p.c.turns) != 0 {
		t.Error("offered although a summary stands for it")
	}
}

// proves B140: a text that came back unanswered is asked again, not said twice
func TestAPromptThatCameBackIsAskedAgain(t *testing.T) {
	for typed, want := range map[string]string{"": "retry 1", "!": "submit 1 one!"} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.key("esc")
		card := p.shown(func() { p.stops(1) })
		if p.c.draft != "one" || !strings.Contains(card, "ctrl+c, then [c]ontinue") {
			t.Fatalf("draft %q, card:\n%s", p.c.draft, card)
		}
		p.write(typed)
		p.key("enter")
		p.is(sending, want)
	}
}

// proves GRD-03: a wake is shown as what it is
func TestAWakeIsShownAsOne(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	p.rec(1, "", event.GuardWake{Count: 1, Notice: "n"})
	p.rec(0, "", event.InboxAccepted{ID: "i_wake_1", Kind: event.TurnWake, By: "guard:stall", Input: event.UserInput{Content: event.TextOf("<system-reminder>\nYour last message was cut\n</system-reminder>")}})
	e := ending{outcome: event.TurnStalled, err: &event.Failure{Message: "nothing came for 30.1 s, 30806 characters into the arguments"}}
	if card := unstyled(strings.Join(p.c.ended(p.now, e).lines, "\n")); !strings.Contains(card, "30806 characters") {
		t.Errorf("card:\n%s", card)
	}
	if card := p.shown(func() { p.rec(1, "", event.TurnEnded{Outcome: event.TurnStalled}) }); !strings.Contains(card, "the stall guard has the model try") || strings.Contains(card, "[c]ontinue") {
		t.Errorf("card:\n%s", card)
	}
	p.rec(2, "", event.TurnStarted{Kind: event.TurnWake, Input: "i_wake_1"})
	shown := p.shown(func() { p.rec(2, "", event.InboxClaimed{ID: "i_wake_1"}) })
	if !strings.Contains(shown, "woken by the stall guard") || !strings.Contains(shown, "was cut") || strings.Contains(shown, "system-reminder") {
		t.Errorf("shown %q", shown)
	}
	if len(p.c.history) != 0 {
		t.Error("the notice is among what was typed")
	}
}

// shown is what a step prints.
func (p *player) shown(step func()) string {
	p.blocks = nil
	step()
	return unstyled(strings.Join(p.blocks, "\n"))
}

// proves TRN-12: a summary is told of, while it is made and after
func TestASummaryIsToldOf(t *testing.T) {
	p := newPlayer(t)
	p.write("/compact")
	p.key("enter")
	p.is(sending, "compact 1")
	p.rec(1, "", event.TurnStarted{Kind: event.TurnCompact, Input: "i_c"})
	if s := p.shown(func() { p.rec(1, "", event.CompactionStarted{Why: "command"}) }); !strings.Contains(s, "esc stops it") {
		t.Errorf("shown %q", s)
	}
	if !strings.Contains(p.rows(), "summarizing the context") {
		t.Errorf("rows:\n%s", p.rows())
	}
	p.key("esc")
	p.is(stopping, "interrupt i_c turn=0 force=false keep=true")
	f := &event.Failure{Message: "it was empty"}
	if s := p.shown(func() { p.rec(1, "", event.CompactionEnded{Error: f}) }); !strings.Contains(s, "it was empty; the context is as it was") {
		t.Errorf("shown %q", s)
	}
	warn := api.Live{Kind: api.LiveState, State: "warning", Text: "nothing came\x1b[2J"}
	if s := p.shown(func() { p.step(framed{[]api.Frame{{Live: &warn}}}) }); !strings.Contains(s, "· nothing came␛[2J") {
		t.Errorf("shown %q", s)
	}
}

// proves TUI-03: a guess is shown as one, and what is unknown never as 0
func TestUsageIsCountedGuessedOrUnknown(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	cost := 0.0123
	for want, counted := range map[string][]event.UsageCounted{
		"":                  nil,
		" · 10 in · 5 out":  {{Tokens: event.Tokens{Input: n(10), Output: n(5)}}},
		" · 20 in · 10 out": {{Tokens: event.Tokens{Input: n(10), Output: n(5)}}, {Tokens: event.Tokens{Input: n(10), Output: n(5)}}},
		" · 10 in · ~7 out": {{Tokens: event.Tokens{Input: n(10)}, Estimate: &event.Tokens{Output: n(7)}}},
		" · 10 in · ? out":  {{Tokens: event.Tokens{Input: n(10)}}},
		" · at least 10 in · ~12 out · $0.0123": {{Tokens: event.Tokens{Input: n(10), Output: n(5)}, Cost: &cost}, {Estimate: &event.Tokens{Output: n(7)}}},
	} {
		var u usage
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		for _, c := range counted {
			u.add(c)
			p.rec(1, "", c)
		}
		card := unstyled(strings.Join(p.c.ended(p.now, ending{outcome: event.TurnAborted}).lines, "\n"))
		if want != "" && !strings.Contains(card, "tokens   "+strings.TrimPrefix(want, " · ")) {
			t.Errorf("card:\n%s", card)
		}
		if got := u.String(); got != want {
			t.Errorf("%+v: %q, want %q", counted, got, want)
		}
	}
}

// proves TUI-03: a note about a question goes with it
func TestTheNoteAboutAQuestionGoesWithIt(t *testing.T) {
	for name, end := range map[string]func(p *player){
		"voided": func(p *player) { p.rec(1, "k", event.ApprovalVoided{ID: "a"}) },
		"ended":  func(p *player) { p.stops(1) },
	} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.step(typed{""})
		p.rec(1, "k", event.ApprovalAsked{ID: "a", Tool: "bash", Prompt: "rm"})
		p.key("y")
		if !strings.Contains(p.c.note, "press y again") {
			t.Fatalf("note %q", p.c.note)
		}
		p.c.draft = "x" // else the prompt comes back with a note of its own
		if end(p); strings.Contains(p.c.note, "press y again") {
			t.Errorf("%s: note %q", name, p.c.note)
		}
	}
}

// proves RTY-10: the commands of what is past, and their bad numbers
func TestCommandsOfWhatIsPast(t *testing.T) {
	for line, want := range map[string]string{
		"/retry": "", "/rewind 1": "rewind 1 restore=true", "/rewind x": "", "/fork": "fork 0", "/fork 1": "fork 1", "/fork -1": "",
		"/clear-queue": "clear inbox", "/queue": "", "/attach a b.png": "attach a b.png", "/attach": "",
	} {
		p := newPlayer(t)
		p.runs(1, "i_1", "one")
		p.rec(1, "", event.TurnEnded{Outcome: event.TurnCompleted})
		p.queued("i_2", "x", event.PriorityLater)
		p.step(entered{line})
		if got := strings.Join(slices.DeleteFunc(p.out, func(s string) bool { return s == "show" }), ";"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	if p.step(entered{"/rewind 1"}); len(p.out) != 0 || !strings.Contains(p.c.note, "a turn is running") {
		t.Errorf("%q %q", p.out, p.c.note)
	}
	p.step(forked{err: errors.New("no room")})
	if !strings.Contains(p.c.note, "no room") {
		t.Errorf("note %q", p.c.note)
	}
	if s := p.shown(func() { p.step(forked{id: "s_2"}) }); !strings.Contains(s, "ripcord resume s_2") || !strings.Contains(s, "no file was touched") {
		t.Errorf("shown %q", s)
	}
}

// proves CLI-03: in lines, a text that comes back is shown, and the next line is
// sent in its place
func TestALineStandsForATextThatCameBack(t *testing.T) {
	p := newPlayer(t)
	p.c.lines = true
	p.queued("i_1", "one", event.PriorityLater)
	p.c.inbox[0].held = true
	s := p.shown(func() {
		p.step(rewound{got: api.Rewound{Turn: 1, Returned: []api.Waiting{{ID: "i_1", Input: event.UserInput{Content: event.TextOf("one")}, By: who}}}})
	})
	if !strings.Contains(s, "held: one") {
		t.Errorf("shown %q", s)
	}
	p.c.draft = ""
	p.step(entered{"other"})
	p.is(sending, fmt.Sprintf("submit 1 other for %v", []event.InputID{"i_1"}))
}
