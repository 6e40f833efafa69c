package ripcord_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// offer submits content with a priority.
func (b *bench) offer(c event.Content, p event.Priority) api.Submitted {
	b.Helper()
	sub, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: b.id, Input: event.UserInput{Content: c}, Priority: p})
	if err != nil {
		b.Fatal(err)
	}
	return sub
}

// asked is how often text stands in the newest request.
func (b *bench) asked(text string) int { return strings.Count(b.lastRequest(), text) }

// dies makes what a kill leaves of the session at this moment, as another data
// root, and has another runtime take it there. The first one goes on beside it.
func (b *bench) dies() *bench {
	b.Helper()
	next := *b
	next.root = b.copied()
	next.cfg.Host = nil // its processes are not ours to look for
	next.start()
	b.Cleanup(next.end)
	next.open(b.id)
	return &next
}

// Send-now, while text streams, while a command runs and as the turn ends: the
// stopped turn is closed first, the text is in the history once, and nobody has
// to type it again.
//
// proves TRN-13, TRN-14, INT-25, B044
func TestSendNowIsSaidOnceWhereverTheTurnIs(t *testing.T) {
	b := newBench(t, "answer if user now\n  text Now it is.\n  finish stop\nanswer if user stream\n  text half\n  hang\nanswer if user now\n  text Now again.\n  finish stop\nanswer if user run\n"+
		bash("c1", "echo $BASHPID >pid; exec sleep 60")+"finish tool\nanswer always if user now\n  text And again.\n  finish stop\nanswer always if user end\n  text fine\n  finish stop\n", withBash(t))
	first := b.submit("stream")
	b.streams(event.ChunkText)
	now := b.offer(event.TextOf("now no. 1"), event.PriorityNow)
	if res := b.wait(first); now.State != "interrupting" || *res.Outcome != event.TurnAborted || res.Text != "half" {
		t.Errorf("%+v, %+v", now, res)
	}
	b.outcome(b.wait(now.Input), event.TurnCompleted)
	first = b.submit("run")
	b.until("it runs", func() bool { return len(b.pids("pid")) == 1 })
	now = b.offer(event.TextOf("now no. 2"), event.PriorityNow)
	b.outcome(b.wait(first), event.TurnAborted)
	b.outcome(b.wait(now.Input), event.TurnCompleted)
	if left := alive(b.pids("pid")...); len(left) > 0 {
		t.Errorf("%v live on", left)
	}
	for range 5 {
		first = b.submit("end")
		now = b.offer(event.TextOf("now no. 3"), event.PriorityNow)
		b.wait(first)
		b.outcome(b.wait(now.Input), event.TurnCompleted)
	}
	if b.asked("now no. 1") != 1 || b.asked("now no. 2") != 1 || b.asked("now no. 3") != 5 {
		t.Errorf("asked with %s", b.lastRequest())
	}
	b.fold()
}

// A text that steers is read in the step that follows, at the last step there is
// becomes the next turn, in an idle session is a turn at once, and what steer
// answers is where it went.
//
// proves TRN-13, TRN-15, TRN-17, B048, B050
func TestAWordThatSteersIsNeverStranded(t *testing.T) {
	for name, c := range map[string]struct {
		steps int
		turns int
		state string
	}{
		"in the running turn":            {0, 1, "steering"},
		"at the turn's last step":        {1, 2, "steering"},
		"between a result and an answer": {2, 1, "steering"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "answer if result\n  text I see.\n  finish stop\nanswer if user word\n  text I heard.\n  finish stop\nanswer\n"+
				bash("c1", "touch up; until test -e go; do sleep 0.02; done; echo done")+"finish tool\nanswer always\n  text I see.\n  finish stop\n", withBash(t),
				func(c2 *ripcord.Config) { c2.Limits.MaxSteps = c.steps })
			first := b.submit("go")
			b.until("it runs", func() bool { _, err := os.Stat(filepath.Join(b.cwd, "up")); return err == nil })
			got := b.offer(event.TextOf("a word no. 1"), event.PriorityNext)
			if got.State != c.state {
				t.Errorf("taken as %s", got.State)
			}
			if err := os.WriteFile(filepath.Join(b.cwd, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			b.wait(first)
			b.wait(got.Input)
			if n := b.asked("a word no. 1"); n != 1 {
				t.Errorf("the word is in the request %d times\n%s", n, b.lastRequest())
			}
			late := b.offer(event.TextOf("a word no. 2"), event.PriorityNext)
			if late.State != "running" {
				t.Errorf("a late one is taken as %s", late.State)
			}
			b.wait(late.Input)
			if l := b.fold(); b.asked("a word no. 2") != 1 || l.TurnOf[late.Input] != c.turns+1 {
				t.Errorf("turn %d, want %d\n%s", l.TurnOf[late.Input], c.turns+1, b.types())
			}
		})
	}
}

// blobs are the session's blobs, as they stand on the disk.
func (b *bench) blobs() (out [][]byte) {
	b.Helper()
	err := filepath.WalkDir(filepath.Join(b.root, "sessions", string(b.id), "blobs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		out = append(out, raw)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 200, 200))
	for i := range 200 * 200 {
		img.Set(i%200, i/200, color.RGBA{uint8(i * i * 7919 >> 4), uint8(i * i * 104729 >> 9), uint8(i * i >> 3), 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A picture that was queued reaches the model byte for byte: when the turn
// before it ends, when it is sent now, and behind a death; what is not a picture
// works as before.
//
// proves LOG-07, TRN-18, B136
func TestAPictureTravelsWithItsText(t *testing.T) {
	raw := picture(t)
	sum := sha256.Sum256(raw)
	sent := base64.StdEncoding.EncodeToString(raw)
	with := func(text string) event.Content {
		return append(event.TextOf(text), event.Image{MediaType: "image/png", Data: raw, Name: "a.png"})
	}
	script := "answer if user slow\n  text half\n  wait 20ms\n  finish stop\nanswer always if user look\n  text I see.\n  finish stop\ndefault\n  text half\n  hang\n"
	b := newBench(t, script)
	first := b.submit("slow")
	later := b.offer(with("look, later"), event.PriorityLater)
	b.wait(first)
	b.wait(later.Input)
	if b.asked(sent) != 1 {
		t.Error("the picture of a queued input is not in the request")
	}
	first = b.submit("busy")
	b.streams(event.ChunkText)
	now := b.offer(with("look now"), event.PriorityNow)
	b.wait(first)
	b.wait(now.Input)
	if b.asked(sent) != 2 {
		t.Error("the picture of an input that was sent now is not in the request")
	}
	first = b.submit("busy again")
	b.until("it is asked", func() bool { return b.recorded(event.TypeModelRequest) == 5 })
	queued := b.offer(with("look, after all"), event.PriorityLater)
	next := b.dies()
	if st, err := next.rt.Status(b.ctx, b.id); err != nil || len(st.Held) != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	if _, err := next.rt.RunHeld(b.ctx, b.id); err != nil {
		t.Fatal(err)
	}
	next.wait(queued.Input)
	if next.asked(sent) != 3 {
		t.Error("the picture is not in the request behind a death")
	}
	if blobs := next.blobs(); len(blobs) != 1 || sha256.Sum256(blobs[0]) != sum {
		t.Errorf("%d blobs, want one with the picture's sum", len(blobs))
	}
	b.esc(first)
	b.wait(first)
}
