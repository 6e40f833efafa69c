package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// headless runs the command in one home, against one scripted server.
type headless struct {
	*testing.T
	dir   string
	model *scripted.Server
}

func newHeadless(t *testing.T, script string) *headless {
	t.Helper()
	dir, err := os.MkdirTemp("", "head") // t.TempDir's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sc, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.NewServer(sc, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &headless{t, dir, m}
}

func (h *headless) start(args ...string) (*exec.Cmd, *buffer) {
	h.Helper()
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	var out buffer
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stdout = h.dir, &out
	cmd.Env = []string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "RIPCORD_HOME=" + filepath.Join(h.dir, "home"),
		"RIPCORD_PROVIDER=openai-chat", "RIPCORD_BASE_URL=" + h.model.URL(), "RIPCORD_MODEL=script", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + os.Getenv("GORACE")}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &out
}

// ended waits for the command and returns its result object.
func (h *headless) ended(cmd *exec.Cmd, out *buffer) (r api.Result) {
	h.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if err := json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &r); err != nil {
		h.Fatalf("%v in %q", err, text)
	}
	return r
}

// asked waits for the n-th request.
func (h *headless) asked(n int) *scripted.Request {
	h.Helper()
	eventually(h.T, "a request", func() bool { return len(h.model.Requests()) >= n }, func() string { return "" })
	return h.model.Requests()[n-1]
}

// A picture that stopped a turn for another principal is asked again twice, as
// itself and for that principal: one message, three attempts that are linked.
//
// proves B134, B136, INT-66, INT-70, INT-72, INT-75, RTY-10, TRN-18
func TestAPictureOfAnotherPrincipalIsRetriedAsItself(t *testing.T) {
	h := newHeadless(t, "answer\n  text one\n  hang\nanswer\n  text two\n  hang\nanswer\n  http 400 body no\nanswer\n  text seen\n  finish stop\n")
	cmd, out := h.start("run", "slow", "--output", "stream-json")
	eventually(t, "the stream", func() bool { return strings.Contains(out.String(), `{"live":"text"`) }, out.String)
	sockets, err := filepath.Glob(filepath.Join(h.dir, "home", "sessions", "*", "ctl"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, %v", sockets, err)
	}
	id := filepath.Base(filepath.Dir(sockets[0]))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pic := append([]byte("GIF89a"), bytes.Repeat([]byte("p"), 100<<10)...)
	c := remote.Dial(sockets[0])
	_, err = c.Submit(ctx, api.SubmitRequest{Session: event.SessionID(id), Priority: event.PriorityNow, By: "ann", Options: event.SubmitOptions{Principal: "ann"},
		Input: event.UserInput{Content: event.Content{event.Text{Text: "look at this"}, event.Image{MediaType: "image/gif", Data: pic}}}})
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
	h.asked(2)
	eventually(t, "its stream", func() bool { return strings.Contains(out.String(), `"text":"two"`) }, out.String)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if r := h.ended(cmd, out); *r.Outcome != event.TurnAborted || *r.Turn != 2 || r.ExitCode != 130 {
		t.Fatalf("stopped: %+v", r)
	}
	if r := h.ended(h.start("retry", id, "--output", "json")); *r.Outcome != event.TurnFailed || *r.Turn != 3 || r.ExitCode != 1 {
		t.Fatalf("the first retry: %+v", r)
	}
	if r := h.ended(h.start("retry", "--continue", "--output", "json")); *r.Outcome != event.TurnCompleted || *r.Turn != 4 || r.Text != "seen" {
		t.Fatalf("the second retry: %+v", r)
	}
	second, last := h.asked(2), h.asked(4)
	image := []byte(base64.StdEncoding.EncodeToString(pic))
	if !slices.Equal(users(second), users(last)) || bytes.Count(last.Body, image) != 1 || bytes.Count(second.Body, image) != 1 || times(last, "look at this") != 1 {
		t.Errorf("first asked %q, then %q; the picture is there %d times", users(second), users(last), bytes.Count(last.Body, image))
	}
	raw, err := os.ReadFile(filepath.Join(h.dir, "home", "sessions", id, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	log := string(raw)
	for text, want := range map[string]int{`"principal":"ann"`: 1, `"retry_of":2`: 1, `"retry_of":3`: 1, `"returns":[{`: 2, "look at this": 1} {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%s is in the journal %d times, want %d", text, got, want)
		}
	}
}
