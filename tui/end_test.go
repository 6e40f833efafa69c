package tui_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// proves B141, B157, IFC-05
func TestSignalsLeaveACleanTerminal(t *testing.T) {
	for _, tc := range []struct {
		sig  syscall.Signal
		code int
	}{{syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		for _, prompt := range []string{"", "tool\r"} {
			t.Run(tc.sig.String()+" "+prompt, func(t *testing.T) {
				c := start(t)
				c.shows("enter send")
				if prompt != "" {
					c.typed(prompt)
					c.sees("pkg/two")
				}
				_ = c.cmd.Process.Signal(tc.sig)
				if code := c.leaves(5 * time.Second); code != tc.code {
					t.Errorf("code %d", code)
				}
				if prompt != "" {
					c.wants("reason=SYSTEM_SHUTDOWN")
					c.wants("ended 1 aborted")
				}
				c.wants("released")
				c.restored()
			})
		}
	}
}

// proves B141: the text of a panic is readable, the terminal is as before
func TestAPanicGivesTheTerminalBack(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("boom\r")
	if code := c.leaves(enough); code != 1 {
		t.Errorf("code %d", code)
	}
	c.sees("boom in a goroutine of the chat")
	c.sees("the session is whole")
	c.wants("released")
	c.restored()
}

// proves B145
func TestALostTerminalIsAStop(t *testing.T) {
	for _, prompt := range []string{"", "stream\r", "stubborn\r"} {
		t.Run(prompt, func(t *testing.T) {
			c := start(t)
			c.shows("enter send")
			if prompt != "" {
				c.typed(prompt)
				c.shows("esc interrupt")
			}
			_ = c.slave.Close()
			_ = c.tty.Close()
			if code := c.leaves(5 * time.Second); code != 129 {
				t.Errorf("code %d", code)
			}
			c.wants("released")
			if prompt != "" {
				c.wants("ended 1 aborted")
			}
			if u, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && u.Utime.Sec+u.Stime.Sec > 2 {
				t.Errorf("used %d s of processor", u.Utime.Sec+u.Stime.Sec)
			}
		})
	}
}

// proves TUI-03: no shell above, so it comes back and says why
func TestSuspendWithoutAShellComesBack(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	c.typed("draft")
	c.shows("› draft")
	c.typed("\x1a")
	c.shows("no shell above to continue from")
	c.shows("› draft")
	c.typed("\x15hello\r")
	c.sees("answer to hello")
	c.typed("\x04")
	if code := c.leaves(enough); code != 0 {
		t.Errorf("code %d", code)
	}
	c.restored()
}

// proves CLI-03
func TestPlainModeMovesNoCursor(t *testing.T) {
	c := start(t, "TUI_PLAIN=1")
	c.sees("Lines only")
	c.typed("hello\n")
	c.sees("answer** to hello")
	c.typed("tool\n")
	c.wants(`submit "tool"`)
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	c.sees("Stopped by you")
	c.typed("ask\n")
	c.sees("allow? [y/N]")
	c.typed("y\n")
	c.sees("removed")
	if strings.Contains(string(c.vt.raw), "\x1b") {
		t.Errorf("an escape sequence was written: %q", c.vt.raw)
	}
	c.typed("/quit\n")
	if code := c.leaves(enough); code != 0 {
		t.Errorf("code %d", code)
	}
	c.restored()
}

// proves B145
func TestPlainModeOnALostTerminalStops(t *testing.T) {
	c := start(t, "TUI_PLAIN=1")
	c.sees("Lines only")
	c.typed("stream\n")
	c.wants("submit")
	_ = c.slave.Close()
	_ = c.tty.Close()
	if code := c.leaves(5 * time.Second); code != 129 {
		t.Errorf("code %d", code)
	}
	c.wants("ended 1 aborted")
}

// proves TUI-03: it can be drawn in a window that is too small
func TestANarrowWindowIsSurvived(t *testing.T) {
	c := start(t)
	c.shows("enter send")
	resize(t, c, 12, 5)
	c.typed("안녕하세요 world, 잘 지내?\r")
	c.wants("submit")
	resize(t, c, 80, 24)
	c.typed("hello\r")
	c.sees("answer to hello")
}

func resize(t *testing.T, c *console, w, h int) {
	t.Helper()
	c.vt.mu.Lock()
	fresh := newVT(w, h)
	c.vt.w, c.vt.h, c.vt.rows, c.vt.x, c.vt.y = w, h, fresh.rows, 0, 0
	c.vt.mu.Unlock()
	setsize(t, c.tty, w, h)
}
