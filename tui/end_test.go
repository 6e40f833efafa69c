package tui_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
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
				if code := c.leaves(enough); code != tc.code {
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

// proves B141
func TestAPanicInTheLoopGivesTheTerminalBack(t *testing.T) {
	c := start(t, "TUI_PANIC=1")
	c.shows("enter send")
	c.typed("panic now\r")
	if code := c.leaves(enough); code != 1 {
		t.Errorf("code %d", code)
	}
	c.sees("boom in Update")
	c.wants("released")
	c.restored()
}

// proves B145, TUI-03: a terminal that takes no more output does not hold the
// process, and is given back all the same
func TestAStuckTerminalDoesNotHoldTheProcess(t *testing.T) {
	if !alive(os.Getpid()) {
		t.Skip("no /proc here to tell who lives")
	}
	c := start(t)
	c.shows("enter send")
	c.typed("flood\r")
	c.sees("flood")
	c.vt.mu.Lock() // nobody reads the terminal now
	<-time.After(time.Second)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	defer func() {
		if code := c.leaves(enough); code != 143 {
			t.Errorf("code %d", code)
		}
		if after, err := term.GetState(c.slave.Fd()); err != nil || *after != *c.before {
			t.Errorf("the shell finds %+v, was %+v, %v", after, *c.before, err)
		}
	}()
	defer c.vt.mu.Unlock()
	c.until("gone", time.Minute, func() bool { return !alive(c.cmd.Process.Pid) })
	c.wants("ended 1 aborted")
}

// proves B145
func TestALostTerminalIsAStop(t *testing.T) {
	for _, tc := range [][2]string{{"", ""}, {"stream\r", ""}, {"stubborn\r", ""}, {"", "TUI_NOHUP=1"}, {"stream\r", "TUI_NOHUP=1"}} {
		prompt := tc[0]
		t.Run(prompt+tc[1], func(t *testing.T) {
			c := start(t, tc[1])
			c.shows("enter send")
			if prompt != "" {
				c.typed(prompt)
				c.shows("esc interrupt")
			}
			_ = c.slave.Close()
			_ = c.tty.Close()
			if code := c.leaves(enough); code != 129 {
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
	c.typed("stream\n")
	c.wants(`submit "stream"`)
	c.typed("wait for it\n")
	c.wants(`submit "wait for it" next`)
	c.typed("/queue\n")
	c.sees("steer after this step: wait for it")
	c.typed("/stop\n")
	c.sees("1 held · an empty line sends · /clear-queue drops")
	c.typed("\n")
	c.wants("run held")
	c.sees("answer** to wait for it")
	c.typed("/rewind\n")
	c.sees("go back with: /rewind N")
	c.typed("/fork 1\n")
	c.sees("ripcord resume s_forked")
	if strings.Contains(c.vt.written(), "\x1b") {
		t.Errorf("an escape sequence was written: %q", c.vt.written())
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
	if code := c.leaves(enough); code != 129 {
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
	c.shows("enter send · ctrl+j new line") // on one line: the new width has arrived
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

// proves TUI-03: suspended under a real shell, and back
func TestSuspendUnderAShellAndBack(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	c := startAs(t, []string{shell, "--norc", "--noediting", "-i"}, "PS1=shell> ", "LC_ALL=C.UTF-8", "HISTFILE=")
	c.sees("shell>")
	c.typed("TUI_CHILD=$TUI_LOG " + os.Args[0] + "\n")
	c.shows("enter send")
	c.typed("draft")
	c.shows("› draft")
	c.typed("\x1a")
	c.sees("Stopped")
	c.typed("echo in-the-shell $((40+2))\n")
	c.sees("in-the-shell 42")
	c.typed("fg\n")
	c.until("the line again, below the shell", enough, func() bool {
		s := c.vt.screen()
		return strings.LastIndex(s, "› draft") > strings.Index(s, "in-the-shell 42")
	})
	c.typed("\x15hello\r")
	c.sees("answer to hello")
	c.typed("\x04")
	c.sees("ripcord resume s_test")
	c.typed("exit\n")
	c.leaves(enough)
	c.restored()
}

// alive reports whether a process runs, a zombie not counted: the test's own
// wait may not have been scheduled yet.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(f) > 0 && f[0] != "Z" && f[0] != "X"
}
