package main

import (
	"context"
	"encoding/json"
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
)

// proves TRN-14, IFC-06, IFC-08: input that waits when a run is interrupted is
// held, reported by the run that follows, and not run by it.
func TestHeldInputIsReportedAndNotRunByTheNextRun(t *testing.T) {
	dir, err := os.MkdirTemp("", "held") // t.TempDir's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	script := put(t, filepath.Join(dir, "script.txt"), "answer always if user slow and step 1\n  text starting\n  hang\n"+
		"answer always if user waiting\n  text the held words ran\n  finish stop\ndefault\n  text fine\n  finish stop\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	start := func(args ...string) (*exec.Cmd, *buffer) {
		var out buffer
		cmd := exec.Command(self, args...)
		cmd.Dir, cmd.Stdout = dir, &out
		cmd.Env = []string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "RIPCORD_HOME=" + home,
			"RIPCORD_PROVIDER=scripted", "RIPCORD_SCRIPT=" + script, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + os.Getenv("GORACE")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, &out
	}
	result := func(out *buffer) (r api.Result) {
		t.Helper()
		text := strings.TrimSuffix(out.String(), "\n")
		if err := json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &r); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return r
	}
	cmd, out := start("run", "slow", "--output", "stream-json")
	eventually(t, "the stream", func() bool { return strings.Contains(out.String(), `{"live":"text"`) }, out.String)
	sockets, err := filepath.Glob(filepath.Join(home, "sessions", "*", "ctl"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, %v", sockets, err)
	}
	id := filepath.Base(filepath.Dir(sockets[0]))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := remote.Dial(sockets[0])
	defer c.Close()
	if _, err := c.Submit(ctx, api.SubmitRequest{Session: event.SessionID(id), Input: event.UserInput{Content: event.TextOf("waiting words")}}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if r := result(out); *r.Outcome != event.TurnAborted || !slices.Equal(r.Held, []string{"waiting words"}) || len(r.DroppedUnrun) != 0 {
		t.Fatalf("interrupted: %+v", r)
	}
	cmd, out = start("run", "--session", id, "next", "--output", "json")
	_ = cmd.Wait()
	if r := result(out); *r.Outcome != event.TurnCompleted || r.Text != "fine" || !slices.Equal(r.Held, []string{"waiting words"}) {
		t.Errorf("the next run: %q, held %q: want the held words reported and not run", r.Text, r.Held)
	}
}
