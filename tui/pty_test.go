package tui_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tui"
)

// The chat runs in a process of its own, this test binary again, on a real
// pseudo-terminal: signals, exits and terminal modes are the real ones.

func TestMain(m *testing.M) {
	if os.Getenv("TUI_CHILD") != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

func child() int {
	log, err := os.OpenFile(os.Getenv("TUI_CHILD"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 99
	}
	f := newFake(log)
	f.gate = os.Getenv("TUI_GATE")
	st := api.SessionState{ID: session, Seq: f.seq}
	if os.Getenv("TUI_CRASHED") != "" {
		f.crashed()
		st = api.SessionState{ID: session, Seq: f.seq, Turn: 1, Recovered: &api.Recovery{Turn: 1, Added: 4}}
	}
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if os.Getenv("TUI_NOHUP") != "" {
		signal.Ignore(syscall.SIGHUP) // only the terminal itself tells of its loss
	}
	now := time.Now
	if os.Getenv("TUI_PANIC") != "" {
		now = func() time.Time {
			if strings.Contains(f.asked(), "panic now") {
				panic("boom in Update")
			}
			return time.Now()
		}
	}
	exit, err := tui.Run(context.Background(), tui.Options{
		Service: f, Session: session, State: st, OnInterrupt: tui.OnInterrupt(os.Getenv("TUI_ON_INTERRUPT")), In: os.Stdin, Out: os.Stdout, Signals: sigs,
		Notice: "model scripted (a demo: no provider is set)", Plain: os.Getenv("TUI_PLAIN") != "", Now: now,
	})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
	}
	return exit.Code
}

func (f *fake) asked() string {
	b, _ := os.ReadFile(f.log.Name())
	return string(b)
}

// crashed writes a turn as recovery closes it.
func (f *fake) crashed() {
	f.rec(0, 0, "", event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("deploy it")}})
	f.rec(1, 0, "", event.TurnStarted{Kind: event.TurnInput, Input: "i_1"})
	f.rec(1, 1, "", event.StepStarted{})
	f.rec(1, 1, "", event.InboxClaimed{ID: "i_1"})
	f.rec(1, 1, "k1", event.CallRequested{Name: "bash", Args: []byte(`{"command":"make deploy"}`)})
	f.rec(1, 1, "k1", event.CallStarted{})
	f.rec(1, 1, "k1", event.CallEnded{Outcome: event.CallUnknown, Synthetic: true, Content: event.TextOf("unknown")})
	f.rec(1, 0, "", event.TurnEnded{Outcome: event.TurnInterrupted})
	f.mu.Lock()
	f.turn, f.inputs = 1, 1
	f.mu.Unlock()
}

// console is a child on a terminal.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File // the person's side
	slave  *os.File // kept open to look at the modes
	vt     *vt
	log    string
	before *term.State
	pumped chan struct{}
	exited chan error
}

func start(t *testing.T, env ...string) *console {
	t.Helper()
	return startAs(t, []string{os.Args[0]}, env...)
}

// startAs makes the test run beside others: most of its time is a person's.
func startAs(t *testing.T, argv []string, env ...string) *console {
	t.Helper()
	t.Parallel()
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	ptm = pollable(t, ptm)
	c := &console{t: t, tty: ptm, slave: pts, vt: newVT(80, 24), log: t.TempDir() + "/log", pumped: make(chan struct{}), exited: make(chan error, 1)}
	if c.before, err = term.GetState(pts.Fd()); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), append([]string{"TUI_CHILD=" + c.log, "TUI_LOG=" + c.log, "TERM=xterm-256color", "NO_COLOR="}, env...)...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = pts, pts, pts
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.exited <- c.cmd.Wait() }()
	go func() {
		defer close(c.pumped)
		b := make([]byte, 4096)
		for {
			n, err := ptm.Read(b)
			if n > 0 {
				_, _ = c.vt.Write(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.tty.Close()
		_ = c.slave.Close()
		<-c.pumped
		if t.Failed() {
			raw := c.vt.written()
			t.Logf("log:\n%s\nscreen:\n%s\nlast bytes:\n%q", c.asked(), c.vt.all(), raw[max(0, len(raw)-3000):])
		}
	})
	return c
}

func (c *console) typed(s string) {
	c.t.Helper()
	if _, err := c.tty.WriteString(s); err != nil {
		c.t.Fatal(err)
	}
}

// until waits for a condition on what the person or the service sees.
func (c *console) until(what string, limit time.Duration, ok func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(limit); ; {
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("not within %v: %s", limit, what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

const enough = time.Minute

func (c *console) sees(s string) {
	c.t.Helper()
	c.until("on the screen: "+s, enough, func() bool { return strings.Contains(c.vt.all(), s) })
}

func (c *console) shows(s string) {
	c.t.Helper()
	c.until("on the screen now: "+s, enough, func() bool { return strings.Contains(c.vt.screen(), s) })
}

func (c *console) asked() string {
	b, _ := os.ReadFile(c.log)
	return string(b)
}

func (c *console) wants(s string) {
	c.t.Helper()
	c.until("asked of the service: "+s, enough, func() bool { return strings.Contains(c.asked(), s) })
}

// leaves waits for the child's end and returns its code.
func (c *console) leaves(limit time.Duration) int {
	c.t.Helper()
	code, left := c.left(limit)
	if !left {
		c.t.Fatalf("still alive after %v", limit)
	}
	return code
}

func (c *console) left(limit time.Duration) (code int, left bool) {
	select {
	case err := <-c.exited:
		var e *exec.ExitError
		if errors.As(err, &e) {
			return e.ExitCode(), true
		}
		return 0, true
	case <-time.After(limit):
		return -1, false
	}
}

// goes knocks once more, and waits as leaves does. On a busy machine the knock
// before may be forgotten by then: another one, and soon, stands in for it.
func (c *console) goes(knock func(*console)) int {
	c.t.Helper()
	for range int(enough / time.Second) {
		knock(c)
		if code, left := c.left(time.Second); left {
			return code
		}
	}
	c.t.Fatal("it does not leave")
	return -1
}

// restored checks the terminal after the end: its state, and every mode that
// was set was taken back.
func (c *console) restored() {
	c.t.Helper()
	after, err := term.GetState(c.slave.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if *after != *c.before {
		c.t.Errorf("terminal state differs after the end: %+v, was %+v", *after, *c.before)
	}
	c.until("modes restored", enough, func() bool {
		c.vt.mu.Lock()
		defer c.vt.mu.Unlock()
		for m, on := range c.vt.modes {
			if on && m != "?25" {
				return false
			}
		}
		off, known := c.vt.modes["?25"]
		return (off || !known) && c.vt.kitty == 0 && !c.vt.modify
	})
	c.vt.mu.Lock()
	defer c.vt.mu.Unlock()
	for _, mouse := range []string{"?1000", "?1002", "?1003", "?1006", "?1049"} {
		if _, touched := c.vt.modes[mouse]; touched {
			c.t.Errorf("mode %s was touched", mouse)
		}
	}
}

func TestAnAnswerIsShownAndTheChatIsLeft(t *testing.T) {
	c := start(t)
	c.shows("esc nothing to stop")
	c.sees("a demo")
	c.typed("hello\r")
	c.sees("answer to hello")
	c.shows("done")
	c.typed("\x04")
	if code := c.leaves(enough); code != 0 {
		t.Errorf("code %d", code)
	}
	c.wants("released")
	c.sees("ripcord resume s_test")
	c.restored()
}

func setsize(t *testing.T, f *os.File, w, h int) {
	t.Helper()
	if err := pty.Setsize(f, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		t.Fatal(err)
	}
}

// pollable makes closing f end a read of it: only then is the terminal lost.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "ptm")
}
