package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/api"
)

// chat is the command on a terminal of its own.
type chat struct {
	t    *testing.T
	dir  string
	tty  *os.File
	cmd  *exec.Cmd
	out  buffer
	done chan struct{}
}

const chatAnswers = `answer always if result
  text all done
  finish stop
answer always if user beat
  call bash c1 {"command":"(setsid sh -c 'while :; do echo $$ >>beat; sleep 0.02; done' &) ; sleep 60"}
  finish tool
default
  text streaming words
  hang
`

// openChat opens the chat in a folder of its own, on a script.
func openChat(t *testing.T, args ...string) *chat {
	t.Helper()
	dir := t.TempDir()
	script := put(t, filepath.Join(dir, "script.txt"), chatAnswers)
	return openChatIn(t, dir, []string{"RIPCORD_PROVIDER=scripted", "RIPCORD_SCRIPT=" + script}, args...)
}

// openChatIn opens the chat in dir, on the model that env names.
func openChatIn(t *testing.T, dir string, env []string, args ...string) *chat {
	t.Helper()
	return openChatFrom(t, dir, dir, env, args...)
}

// openChatFrom opens the chat whose home is dir in the folder from.
func openChatFrom(t *testing.T, from, dir string, env []string, args ...string) *chat {
	t.Helper()
	c := &chat{t: t, dir: dir, done: make(chan struct{})}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(self, args...)
	c.cmd.Dir = from
	c.cmd.Env = append([]string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TERM=xterm-256color",
		"RIPCORD_HOME=" + filepath.Join(c.dir, "home"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + os.Getenv("GORACE")}, env...)
	tty, err := pty.StartWithSize(c.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	c.tty = pollable(t, tty)
	go func() { // ends with the terminal
		defer close(c.done)
		b := make([]byte, 32<<10)
		for {
			n, err := c.tty.Read(b)
			_, _ = c.out.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.tty.Close()
		_ = c.cmd.Wait()
	})
	return c
}

// pollable makes a terminal whose Close takes effect while a Read waits.
func pollable(t *testing.T, tty *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(tty.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	return os.NewFile(uintptr(fd), "terminal")
}

// sees waits until the terminal has shown text.
func (c *chat) sees(text string) {
	c.t.Helper()
	eventually(c.t, text+" on the terminal", func() bool { return strings.Contains(ansi.Strip(c.out.String()), text) }, c.out.String)
}

func eventually(t *testing.T, what string, ok func() bool, state func() string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come:\n%q", what, state())
		}
	}
}

func (c *chat) types(keys string) {
	c.t.Helper()
	if _, err := c.tty.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the process's end and returns its exit code.
func (c *chat) ends(within time.Duration) int {
	c.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(within):
		_ = c.cmd.Process.Kill()
		<-ended
		c.t.Fatalf("it did not end within %v:\n%q", within, c.out.String())
	}
	return c.cmd.ProcessState.ExitCode()
}

// journal is the only session's records.
func (c *chat) journal() string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "home", "sessions", "*", "journal.jsonl"))
	if err != nil || len(found) != 1 {
		c.t.Fatalf("journals %v, %v", found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// closed checks that the last turn was closed in order, with the reason.
func (c *chat) closed(reason string) {
	c.t.Helper()
	j := strings.TrimSuffix(c.journal(), "\n")
	at := strings.LastIndex(j, `"type":"turn/end"`)
	if at < 0 || !strings.Contains(j[at:], `"outcome":"aborted","reason":"`+reason+`"`) {
		c.t.Errorf("the turn was not closed with %s:\n%s", reason, tail(j, 3))
	}
	if rest := j[at:]; strings.Count(rest, `"type":"turn/start"`) != 0 {
		c.t.Errorf("a turn began after it:\n%s", rest)
	}
	last := j[strings.LastIndex(j, "\n")+1:]
	if !json.Valid([]byte(last)) {
		c.t.Errorf("the journal ends with no record: %s", last)
	}
}

func tail(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// beats says that a process has written a line into the file.
func beats(file string) bool {
	b, err := os.ReadFile(file)
	return err == nil && bytes.HasSuffix(b, []byte("\n"))
}

// dead checks that the process that writes the file has ended, by asking the
// world: the file does not grow and its pid is not alive.
func dead(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(b))
	pid, err := strconv.Atoi(lines[len(lines)-1])
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
		t.Errorf("process %d of the tool outlived the chat: %s", pid, stat)
	}
}

// proves B145, PRC-08: the terminal is closed while idle, while words stream,
// while a tool runs: the process is gone within 5 s, with all it started, and
// the journal ends with a clean record.
func TestAClosedTerminalIsAStop(t *testing.T) {
	for _, c := range []struct {
		name string
		busy func(c *chat)
	}{
		{"idle", nil},
		{"streaming", func(c *chat) { c.types("hello\r"); c.sees("streaming words") }},
		{"in a tool", func(c *chat) {
			c.types("beat\r")
			eventually(c.t, "the tool's process", func() bool { return beats(filepath.Join(c.dir, "beat")) }, c.out.String)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ch := openChat(t, "--yes")
			ch.sees("scripted")
			if c.busy != nil {
				c.busy(ch)
			}
			_ = ch.tty.Close()
			if code := ch.ends(time.Minute); code != exitHUP {
				t.Errorf("exit %d, want %d", code, exitHUP)
			}
			if c.busy != nil {
				ch.closed("SYSTEM_SHUTDOWN")
			}
			if c.name == "in a tool" {
				dead(t, filepath.Join(ch.dir, "beat"))
			}
		})
	}
}

// proves IFC-05, PRC-08: SIGTERM ends the chat anywhere, with the books closed.
func TestSIGTERMEndsTheChat(t *testing.T) {
	c := openChat(t, "--yes")
	c.sees("scripted")
	c.types("hello\r")
	c.sees("streaming words")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(time.Minute); code != exitTERM {
		t.Errorf("exit %d, want %d", code, exitTERM)
	}
	c.closed("SYSTEM_SHUTDOWN")
}

// proves TUI-01, PRC-02: Esc stops the turn and all that it started, and the
// chat goes on.
func TestEscStopsTheTurnAndTheChatGoesOn(t *testing.T) {
	c := openChat(t, "--yes")
	c.sees("scripted")
	c.types("beat\r")
	beat := filepath.Join(c.dir, "beat")
	eventually(t, "the tool's process", func() bool { return beats(beat) }, c.out.String)
	c.types("\x1b")
	eventually(t, "the turn's end", func() bool { // all of it
		_, end, found := strings.Cut(c.journal(), `"type":"turn/end"`)
		return found && strings.HasSuffix(end, "\n")
	}, c.out.String)
	c.closed("USER_SIGINT")
	dead(t, beat)
	c.types("hello\r")
	c.sees("streaming words")
}

// unopened is a service whose sessions take as long to open as a test wants.
type unopened struct {
	api.Service
	open func(ctx context.Context) error
}

func (u unopened) Open(ctx context.Context, _ api.OpenRequest) (api.SessionState, error) {
	return api.SessionState{ID: "s_1"}, u.open(ctx)
}

// proves IFC-05, PRC-08: a signal that comes before the chat is on the screen ends
// the opening, and no chat begins after it.
func TestASignalBeforeTheChatIsOnTheScreenIsNotLost(t *testing.T) {
	defer goleak.VerifyNone(t)
	for what, c := range map[string]struct {
		before bool
		open   func(a *app, ctx context.Context) error
	}{
		"while it opens": {open: func(a *app, ctx context.Context) error {
			a.stops.note(causeTERM)
			<-ctx.Done()
			return context.Cause(ctx)
		}},
		"before it opens":    {before: true, open: func(*app, context.Context) error { return nil }},
		"as soon as it does": {open: func(a *app, _ context.Context) error { a.stops.note(causeTERM); return nil }},
	} {
		a := &app{env: envOf(nil), stderr: io.Discard, stops: newStops()}
		if c.before {
			a.stops.note(causeTERM)
		}
		e := &engine{svc: unopened{open: func(ctx context.Context) error { return c.open(a, ctx) }}}
		if exit, err := a.converse(t.Context(), e, api.OpenRequest{Cwd: "/"}, nil, ""); exit != exitTERM || err != nil { // the chat itself refuses to begin here with 2
			t.Errorf("%s: exit %d, %v, want 143", what, exit, err)
		}
	}
}
