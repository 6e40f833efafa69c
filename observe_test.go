package ripcord_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/tool"
)

// A file's time is that of a coarse clock: a change is dated some milliseconds
// too early, on some file systems two seconds. What recovery says of a file that
// a call was to change is no more than that clock knows.
//
// proves REC-04
func TestRecoverySaysNoMoreOfAFileThanItsClockKnows(t *testing.T) {
	put := deed("put", interrupt.NonInterruptible, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Text("put"), os.WriteFile(filepath.Join(c.Dir, "made"), []byte("x"), 0o600)
	})
	b := newBench(t, `C(c1,put) A'{"path":"made"}' E F(tool)`+"\nT'Well.' F(stop)\n", with(put))
	b.run("go")
	whole, at, started := b.journal(), -1, time.Time{}
	for i, rec := range b.records() {
		if rec.Type == event.TypeCallStarted {
			at, started = i, rec.Time
		}
	}
	if at < 0 {
		t.Fatalf("no call has started\n%s", b.types())
	}
	for by, want := range map[time.Duration]string{
		-time.Minute:          "The file made has not changed since before the call started.",
		-time.Second:          "The file made was last changed at about the time the call started: look at it.",
		-3 * time.Millisecond: "The file made was last changed at about the time the call started: look at it.",
		time.Second:           "The file made was changed after the call had started.",
	} {
		b.at(whole, at)
		when := started.Add(by)
		if err := os.Chtimes(filepath.Join(b.cwd, "made"), when, when); err != nil {
			t.Fatal(err)
		}
		b.open(b.id)
		if e := b.results()["c1"]; e.Outcome != event.CallUnknown || !strings.Contains(e.Content.Text(), want) {
			t.Errorf("dated %v from the start: %s, %q", by, e.Outcome, e.Content.Text())
		}
	}
}
