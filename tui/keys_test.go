package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proves TUI-01, TUI-02, B140
func TestEscStopsAStreamAndSaysSoAtOnce(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	c := start(t, "TUI_GATE="+gate) // the service is slow: the screen must not be
	c.shows("enter send")
	c.typed("stream\r")
	c.sees("word12")
	c.shows("esc interrupt")
	c.typed("\x1b")
	// How fast is a figure of the bench; here: before the service answers.
	c.shows("Stopping")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.shows("Stopped by you")
	c.sees("cut here")
	c.sees("Nothing was rolled back")
	c.wants("interrupt input=i_1 turn=0 force=false keep=true")
	if strings.Contains(c.asked(), "force=true") {
		t.Error("one Esc forced")
	}
	if strings.Contains(c.vt.written(), "]0;title") {
		t.Error("the model's escape sequence reached the terminal")
	}
	c.typed("\x03\x03")
	if code := c.leaves(enough); code != 130 {
		t.Errorf("code %d", code)
	}
	c.restored()
}

// proves TUI-01
func TestEscAgainKillsNow(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("stubborn\r")
	c.sees("pkg/two")
	c.typed("\x1b")
	c.shows("esc again: kill now")
	c.shows("bash asked to stop")
	c.typed("\x1b")
	c.wants("force=true")
	c.shows("Stopped by you")
}

// proves TUI-02
func TestTheCardTellsWhatWasStoppedAndWhatNeverRan(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("tool\r")
	c.sees("pkg/two")
	c.shows("1 job")
	c.typed("\x1b")
	c.shows("Stopped by you")
	for _, want := range []string{"make test", "stopped · signal SIGTERM · 1.2s · 2 lines kept", "lexer.go", "never ran (skipped)", "npm run dev", "still running · /jobs", "[c]ontinue", "[r]etry from the start", "[e]dit and retry"} {
		c.shows(want)
	}
	c.typed("c")
	c.wants("continue")
	c.sees("answer to")
}

// proves TUI-02: what is typed under a card is not taken for its letters
func TestATextUnderACardMayBeginWithItsLetters(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("silent\r")
	c.shows("esc interrupt")
	c.typed("\x1b")
	c.shows("your text is back in the line") // B140: nothing had come
	c.shows("› silent")
	c.typed("\x15")
	c.typed("carry on\r")
	c.wants(`submit "carry on"`)
	if strings.Contains(c.asked(), "continue") {
		t.Error("the c of a text was taken for a command")
	}
}

// proves B143, TUI-01, INT-23
func TestCtrlCIsTheSameKnockAsKeyAndAsSignal(t *testing.T) {
	knock := map[string]func(c *console){
		"byte":   func(c *console) { c.typed("\x03") },
		"signal": func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGINT) },
		"group":  func(c *console) { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGINT) },
	}
	for name, hit := range knock {
		t.Run("idle "+name, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			hit(c)
			c.shows("Ctrl+C again to leave")
			if code := c.goes(hit); code != 130 {
				t.Errorf("code %d", code)
			}
			c.restored()
		})
		t.Run("busy "+name, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			c.typed("stubborn\r")
			c.sees("pkg/two")
			hit(c)
			c.wants("interrupt input=i_1 turn=0 force=false")
			c.shows("Stopping")
			c.shows("the line is yours")
			if code := c.goes(hit); code != 130 {
				t.Errorf("code %d", code)
			}
			c.wants("ended 1 aborted")
			c.wants("released")
			c.restored()
		})
	}
}

// proves B143: after the window the count starts again
func TestAKnockIsForgottenAfterTwoSeconds(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("\x03")
	c.shows("Ctrl+C again to leave")
	c.until("disarmed", time.Minute, func() bool { return !strings.Contains(c.vt.screen(), "again to leave") })
	c.typed("\x03")
	c.shows("Ctrl+C again to leave")
	if code := c.goes(func(c *console) { c.typed("\x03") }); code != 130 {
		t.Errorf("code %d", code)
	}
}

// proves TUI-01, B066
func TestCtrlCClearsADraftFirstAndOnlyThenInterrupts(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("tool\r")
	c.sees("pkg/two")
	c.typed("half a thought")
	c.shows("› half a thought")
	c.typed("\x03")
	c.shows("draft cleared")
	if strings.Contains(c.asked(), "interrupt") {
		t.Error("the draft's Ctrl+C reached the turn")
	}
	c.typed("\x03")
	c.shows("Stopped by you")
	c.typed("\x1b[A")
	c.shows("› half a thought")
}

// proves B146
func TestOnePressHasOneMeaning(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("tool\r")
	c.sees("pkg/two")
	c.typed("/jobs\r")
	c.shows("x end · esc close")
	c.shows("j1 running")
	c.typed("\x1b")
	c.shows("esc interrupt")
	c.typed("/he")
	c.shows("keys and commands")
	c.typed("\x1b")
	c.shows("esc put draft away")
	c.typed("\x1b")
	c.shows("esc interrupt")
	if strings.Contains(c.asked(), "interrupt") {
		t.Fatal("a press that closed a layer reached the turn")
	}
	c.typed("\x1b")
	c.shows("Stopped by you")
}

// proves B146: 200 presses, one interrupt, one force, and none for the next turn
func TestTwoHundredFastPressesOfEscStopOneTurn(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("stubborn\r")
	c.sees("pkg/two")
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 200 {
		c.typed("\x1b")
		<-tick.C
	}
	c.shows("Stopped by you")
	c.shows("esc nothing to stop")
	c.typed("\x15hello\r") // the last Esc and an h would be Alt+h
	c.sees("answer to hello")
	if n := strings.Count(c.asked(), "interrupt"); n != 2 {
		t.Errorf("%d interrupts:\n%s", n, c.asked())
	}
	for line := range strings.Lines(c.asked()) {
		if strings.HasPrefix(line, "interrupt") && !strings.Contains(line, "input=i_1 ") {
			t.Errorf("not addressed to the turn: %s", line)
		}
	}
}

// proves TUI-03
func TestAQuestionIsAnsweredByOneKey(t *testing.T) {
	for key, want := range map[string]string{"y": "decide allow", "n": "decide deny", "\r": "decide deny", "\x1b": "decide abort"} {
		t.Run(want, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			c.typed("ask\r")
			c.shows("allow? [y/N]")
			c.shows("bash: rm -rf /tmp/x␛[2K") // nothing of it is hidden
			c.shows("esc stop the turn")
			<-time.After(500 * time.Millisecond) // past the guard of a person who was typing
			c.typed(key)
			c.wants(want)
			switch key {
			case "y":
				c.sees("removed")
			case "\x1b":
				c.shows("Stopped by you")
			default:
				c.sees("refused; it did not run")
			}
		})
	}
}

// proves TUI-02: a crash is told from an interrupt
func TestAfterACrashTheCardSaysThatNobodyAskedForIt(t *testing.T) {
	c := start(t, "TUI_CRASHED=1")
	c.shows("Interrupted: the process died (not you)")
	c.shows("outcome unknown: check before it is run again")
	c.sees("› deploy it")
	c.typed("c")
	c.wants("continue")
}

// proves TUI-01: what comes later says so
func TestKeysWithoutAMeaningYetSaySo(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	for key, says := range map[string]string{"\x02": "Ctrl+B) comes later", "\x14": "transcript view comes later", "\x07": "history search come later"} {
		c.typed(key)
		c.shows(says)
		c.typed("\x15")
	}
	c.typed("/help\r")
	c.shows("ctrl+j     new line")
	c.typed("\x1b")
	c.shows("esc nothing to stop")
}

// proves B043: what is typed in order is sent in order
func TestTextsAreSentInTheOrderTheyWereTyped(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("stream\r")
	c.sees("word3")
	c.typed("slow one\r")
	c.typed("two\r")
	c.shows("steer after this step: two")
	s := c.vt.screen()
	if one, two := strings.Index(s, "step: slow one"), strings.Index(s, "step: two"); one < 0 || one > two {
		t.Errorf("order on the screen:\n%s", s)
	}
}

// proves TUI-03: a paste is text, whatever is in it, and is not sent by itself
func TestAPasteIsOnlyText(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("\x1b[200~two lines\nof \x1b[31mpaste\x03\x1b[201~")
	c.shows("of paste")
	if strings.Contains(c.asked(), "submit") {
		t.Error("a pasted newline sent the text")
	}
	c.typed("\r")
	c.wants(`submit "two lines\nof paste`)
}

// proves TUI-01: Ctrl+J is a new line
func TestCtrlJIsANewLine(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("a\x0ab\r")
	c.wants(`submit "a\nb"`)
}

// proves TUI-01: keys as the kitty protocol and modifyOtherKeys write them
func TestOtherEncodingsOfTheSameKeys(t *testing.T) {
	for name, keys := range map[string][2]string{"kitty": {"\x1b[27u", "\x1b[99;5u"}, "kitty, Korean layout": {"\x1b[27u", "\x1b[12621::99;5u"}, "modifyOtherKeys": {"\x1b", "\x1b[27;5;99~"}} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			c.typed("silent\r")
			c.shows("esc interrupt")
			c.typed(keys[0])
			c.shows("Stopped by you")
			c.typed(keys[1])
			c.shows("draft cleared") // B140: the text was back in the line
			c.typed(keys[1])
			c.shows("Ctrl+C again to leave")
			if code := c.goes(func(c *console) { c.typed(keys[1]) }); code != 130 {
				t.Errorf("code %d", code)
			}
			c.restored()
		})
	}
}

// proves TUI-01, TRN-13: send-now, where a terminal can report its keys
func TestSendNowIsReadInEveryEncoding(t *testing.T) {
	for name, key := range map[string]string{"Alt+Enter": "\x1b\r", "kitty Alt+Enter": "\x1b[13;3u", "kitty Ctrl+Enter": "\x1b[13;5u", "modifyOtherKeys": "\x1b[27;5;13~"} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			c.typed("silent\r")
			c.shows("esc interrupt")
			c.typed("hello")
			c.shows("› hello")
			c.typed(key)
			c.wants(`submit "hello" now`)
			c.shows("Stopped by you for a message that was sent now")
			c.sees("answer to hello")
		})
	}
}

// proves TRN-14, B049: what is held has its keys on the screen, and they work
func TestHeldTextsHaveTheirKeysOnTheScreen(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("stream\r")
	c.sees("word3")
	c.typed("first\t")
	c.shows("queue next turn: first")
	c.typed("second\r")
	c.shows("steer after this step: second")
	c.typed("\x1b[1;3A") // the last one, out of the queue
	c.wants("remove i_3")
	c.shows("› second")
	c.typed("\x03")
	c.typed("\x1b")
	c.shows("back in your line")
	c.shows("› first")
	c.shows("1 held · enter sends the line in their place")
	c.typed("\x03")
	c.shows("held: first")
	c.shows("1 held · enter sends · alt+↑ edit · ctrl+x drops")
	c.typed("\x18")
	c.wants("clear inbox")
	c.sees("dropped unrun: first")
	c.typed("/rewind\r")
	c.shows("› 1  stream")
	c.typed("\r")
	c.wants("rewind 1 restore=true")
	c.shows("› stream")
	c.typed("\x15hello\r")
	c.sees("answer to hello")
}
