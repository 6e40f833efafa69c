package tui_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/tui"
)

// piped runs the chat in this process with its input and output as pipes.
func piped(ctx context.Context, t *testing.T, f *fake, input string) (exit tui.Exit, text string, runErr error) {
	t.Helper()
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan string)
	go func() {
		b, _ := io.ReadAll(read)
		_ = read.Close()
		all <- string(b)
	}()
	go func() {
		_, _ = io.WriteString(feed, input)
		if !strings.HasSuffix(input, "…") {
			_ = feed.Close()
		}
	}()
	exit, runErr = tui.Run(ctx, tui.Options{
		Service: f, Session: session, State: api.SessionState{ID: session, Seq: 0}, In: in, Out: out,
		Notice: "model scripted (a demo)",
	})
	_ = out.Close()
	_ = in.Close()
	_ = feed.Close()
	return exit, <-all, runErr
}

// proves CLI-03, IFC-11: without a terminal it is a loop over lines, what was
// asked is done to its end, and a question that nobody can answer is refused
func TestPipedInputIsPlayedToItsEnd(t *testing.T) {
	log, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	f := newFake(log)
	exit, out, err := piped(t.Context(), t, f, "hello\nask\n")
	if err != nil || exit.Code != 0 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	for _, want := range []string{"a demo", "**answer** to hello", "nobody can answer", "refused; it did not run"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("an escape sequence in %q", out)
	}
	if b, _ := os.ReadFile(log.Name()); !strings.Contains(string(b), "decide deny") || !strings.Contains(string(b), "released") {
		t.Errorf("asked:\n%s", b)
	}
}

// proves the page of Run: the end of its context is said, and nothing is left
func TestTheEndOfTheContextEndsTheChat(t *testing.T) {
	f := newFake(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err := piped(ctx, t, f, "stream\n…")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if err := f.Release(t.Context(), session); err != nil { // the caller's, as Run says
		t.Error(err)
	}
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	if _, err := tui.Run(t.Context(), tui.Options{}); err == nil || !strings.Contains(err.Error(), "must be given") {
		t.Errorf("error %v", err)
	}
}

// proves B145: output that nobody takes does not hold the process
func TestAStuckPipeDoesNotHoldTheProcess(t *testing.T) {
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{in, feed, read, out} {
		defer func() { _ = f.Close() }()
	}
	if _, err := feed.WriteString("flood\n"); err != nil {
		t.Fatal(err)
	}
	f := newFake(nil)
	sigs := make(chan os.Signal, 1)
	time.AfterFunc(700*time.Millisecond, func() { sigs <- syscall.SIGTERM })
	from := time.Now()
	exit, err := tui.Run(t.Context(), tui.Options{Service: f, Session: session, State: api.SessionState{ID: session}, In: in, Out: out, Signals: sigs})
	if d := time.Since(from); exit.Code != 143 || err != nil || d > time.Minute {
		t.Errorf("exit %+v, %v after %v", exit, err, d)
	}
}
