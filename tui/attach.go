package tui

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ripcord-go/ripcord/event"
)

// Bounds of what is attached.
const (
	largestPicture = 10 << 20 // bytes of one
	mostPictures   = 8        // to one message
)

// attachment is something attached to a message. It goes with it through the
// queue; where only its place is known it is read again before it is sent, and
// must be what it was.
type attachment struct {
	part event.Part // image or file; an image from a file may be without its bytes
	path string     // the file it came from; empty: from the session
	sum  [sha256.Size]byte
	size int
}

// name is what a person calls it.
func (p attachment) name() string {
	name := ""
	switch p := p.part.(type) {
	case event.Image:
		name = p.Name
	case event.File:
		name = p.Name
	case event.Text, event.Reasoning, event.ToolCall:
	}
	if name == "" {
		name = "no name"
	}
	return oneLine(name)
}

// chip stands for it on the screen. It is never sent.
func (p attachment) chip() string {
	if _, ok := p.part.(event.File); ok {
		return "[file: " + p.name() + "]"
	}
	return "[image: " + p.name() + "]"
}

// forget lets go of the bytes of what can be read again.
func (p *attachment) forget() {
	if img, ok := p.part.(event.Image); ok && p.path != "" {
		img.Data = nil
		p.part = img
	}
}

// whole returns the picture with its bytes, read again where they were let go.
func (p attachment) whole(ctx context.Context) (attachment, error) {
	img, ok := p.part.(event.Image)
	if !ok || p.path == "" || img.Data != nil || img.Blob != nil {
		return p, nil
	}
	again, err := readPicture(ctx, p.path)
	switch {
	case err != nil:
		return p, fmt.Errorf("%s is gone: %w", p.chip(), err)
	case again.sum != p.sum:
		return p, fmt.Errorf("%s is another picture now than the one you sent; /attach %s attaches it as it is", p.chip(), p.path)
	}
	return again, nil
}

// kinds of pictures that the providers take, by how their files begin.
var kinds = []struct{ media, begins, then string }{
	{"image/png", "\x89PNG\r\n\x1a\n", ""},
	{"image/jpeg", "\xff\xd8\xff", ""},
	{"image/gif", "GIF8", ""},
	{"image/webp", "RIFF", "WEBP"},
}

// mediaOf tells a picture's type by its content, "" if it is none of those.
func mediaOf(b []byte) string {
	for _, k := range kinds {
		if bytes.HasPrefix(b, []byte(k.begins)) && (k.then == "" || len(b) >= 12 && string(b[8:12]) == k.then) {
			return k.media
		}
	}
	return ""
}

// readPicture reads a picture from a file that is one, within bounds. It never
// waits for a writer.
func readPicture(ctx context.Context, path string) (attachment, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return attachment{}, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return attachment{}, err
	}
	switch {
	case !st.Mode().IsRegular():
		return attachment{}, errors.New(path + " is no file")
	case st.Size() > largestPicture:
		return attachment{}, fmt.Errorf("%s is larger than %d MiB", path, largestPicture>>20)
	}
	b, err := io.ReadAll(io.LimitReader(f, largestPicture+1))
	switch media := mediaOf(b); {
	case err != nil:
		return attachment{}, err
	case ctx.Err() != nil:
		return attachment{}, ctx.Err()
	case len(b) > largestPicture:
		return attachment{}, fmt.Errorf("%s is larger than %d MiB", path, largestPicture>>20)
	case media == "":
		return attachment{}, errors.New(path + " is no picture: PNG, JPEG, GIF and WebP can be attached, whatever their names are")
	default:
		return attachment{part: event.Image{MediaType: media, Data: b, Name: filepath.Base(path)}, path: path, sum: sha256.Sum256(b), size: len(b)}, nil
	}
}

// pathOf is the file that a person means: in the session's folder, unless it
// says otherwise.
func pathOf(name, cwd, home string) string {
	name = strings.TrimSpace(name)
	if n := len(name); n >= 2 && (name[0] == '\'' || name[0] == '"') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
		name = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(cwd, name)
	}
	return name
}

func (c *chat) attach(name string) []effect {
	switch {
	case strings.TrimSpace(name) == "":
		return c.say("write /attach FILE: a PNG, JPEG, GIF or WebP picture")
	case len(c.pics) >= mostPictures:
		return c.say("no more than " + itoa(mostPictures) + " pictures to one message; send it, or ctrl+c puts it away")
	}
	return []effect{c.put(""), attach{name}}
}

func (c *chat) wasAttached(in attached) []effect {
	if in.err != nil {
		return c.say("not attached: " + in.err.Error())
	}
	if len(c.pics) < mostPictures {
		c.pics = append(c.pics[:len(c.pics):len(c.pics)], in.pic)
	}
	return c.say(in.pic.chip() + " goes with your next message")
}

// chipRow shows what is attached to the line.
func (c *chat) chipRow() []string {
	if len(c.pics) == 0 {
		return nil
	}
	var chips []string
	for _, p := range c.pics {
		chip := p.chip()
		if p.size > 0 {
			chip += quiet(fmt.Sprintf(" %d KB", (p.size+1023)>>10))
		}
		chips = append(chips, chip)
	}
	return []string{"  " + strings.Join(chips, " ")}
}
