package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

const png = "\x89PNG\r\n\x1a\nbytes"

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// proves B136: a picture is known by its content, and bounded
func TestOnlyPicturesWithinBoundsAreAttached(t *testing.T) {
	for text, want := range map[string]string{png: "image/png", "\xff\xd8\xffx": "image/jpeg", "GIF89a": "image/gif", "RIFF0000WEBPx": "image/webp"} {
		p, err := readPicture(t.Context(), file(t, "x.txt", text))
		if img, ok := p.part.(event.Image); err != nil || !ok || img.MediaType != want || string(img.Data) != text || img.Name != "x.txt" {
			t.Errorf("%q: %+v, %v", text, p.part, err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe.png")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	large := file(t, "large.png", png)
	if err := os.Truncate(large, largestPicture+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file(t, "a.png", "text"): "is no picture", file(t, "b.png", ""): "is no picture", t.TempDir(): "is no file", pipe: "is no file",
		large: "larger than 10 MiB", "/nonexistent/x.png": "no such file",
	} {
		if _, err := readPicture(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for name, want := range map[string]string{"a.png": "/ws/a.png", " 'a b.png' ": "/ws/a b.png", "/x/a.png": "/x/a.png", "~/a.png": "/home/u/a.png"} {
		if got := pathOf(name, "/ws", "/home/u"); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// keeper is a service that keeps what is submitted.
type keeper struct {
	api.Service
	got []api.SubmitRequest
}

func (k *keeper) Submit(_ context.Context, req api.SubmitRequest) (api.Submitted, error) {
	k.got = append(k.got, req)
	return api.Submitted{Input: "i_1", State: "running"}, nil
}

// proves B138: ↑ brings the picture back with its words; once its file is gone
// or another, nothing is sent as if it were there, and the text is not lost
func TestARecalledPictureIsThereOrIsSaidToBeGone(t *testing.T) {
	for _, later := range []string{"gone", "another"} {
		path := file(t, "a.png", png)
		k := &keeper{}
		r := &runner{o: Options{Service: k, Session: "s_1"}, ctx: t.Context()}
		p := newPlayer(t)
		submits := func() (s submit) {
			for _, e := range p.c.apply(p.now, pressed{key: "enter", draft: p.c.draft}) {
				if e, ok := e.(submit); ok {
					s = e
				}
			}
			return s
		}
		pic, err := readPicture(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p.step(attached{pic: pic})
		p.write("look")
		p.step(r.submit(submits()))
		if img := p.c.history[0].pics[0].part.(event.Image); img.Data != nil {
			t.Error("the history holds a copy of the bytes")
		}
		p.runs(1, "i_1", "look")
		p.rec(1, "", event.TurnEnded{Outcome: event.TurnCompleted})
		p.key("up")
		p.step(r.submit(submits()))
		p.runs(2, "i_1b", "look")
		p.rec(2, "", event.TurnEnded{Outcome: event.TurnCompleted})
		if later == "gone" {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(png+"!"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.key("up")
		p.step(r.submit(submits()))
		p.is(idle)
		if len(k.got) != 2 || p.c.draft != "look" || len(p.c.pics) != 0 || !strings.Contains(p.c.note, "[image: a.png] is "+later) {
			t.Fatalf("%d sent, draft %q, pictures %v, note %q", len(k.got), p.c.draft, p.c.pics, p.c.note)
		}
		for i, req := range k.got {
			img, ok := req.Input.Content[1].(event.Image)
			if !ok || string(img.Data) != png || strings.Contains(req.Input.Content.Text(), "[image") {
				t.Errorf("send %d: %+v", i, req.Input.Content)
			}
		}
	}
}

// proves B136: what waits keeps its pictures on its way through the line, too
func TestPicturesComeBackWithTheirTexts(t *testing.T) {
	p := newPlayer(t)
	p.runs(1, "i_1", "one")
	ref := event.BlobRef{Digest: "sha256:00", Size: 9}
	p.rec(0, "", event.InboxAccepted{ID: "i_2", By: who, Input: event.UserInput{Content: event.Content{
		event.Text{Text: "look"}, event.Image{MediaType: "image/png", Name: "a.png", Blob: &ref}, event.File{Name: "n.txt", MediaType: "text/plain", Data: []byte("n")}}}})
	p.key("esc")
	p.stops(1)
	p.step(held("i_2"))
	if p.c.draft != "look" || len(p.c.pics) != 2 || !strings.Contains(p.rows(), "[image: a.png] [file: n.txt]") {
		t.Fatalf("draft %q, rows:\n%s", p.c.draft, p.rows())
	}
	p.key("enter")
	m := p.c.sends[1]
	c := m.content()
	if img, ok := c[1].(event.Image); !ok || *img.Blob != ref || len(c) != 3 {
		t.Errorf("sent %+v", c)
	}
	p.c.phase = idle
	p.step(attached{pic: attachment{part: event.Image{Name: "b.png"}}})
	p.key("ctrl+c")
	p.key("up")
	if len(p.c.pics) != 1 || p.c.pics[0].name() != "b.png" {
		t.Errorf("a picture without words is not brought back: %v", p.c.pics)
	}
}
