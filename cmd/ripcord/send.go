package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/api/remote"
	"github.com/ripcord-go/ripcord/event"
)

// Bounds of what is attached.
const (
	largestPicture = 10 << 20 // bytes of one
	mostPictures   = 8
)

func sendCmd(a *app) *cobra.Command {
	var now, next, later, asJSON bool
	var files []string
	cmd := &cobra.Command{
		Use: "send SESSION TEXT", Short: "Send words into a session that another process runs", Args: cobra.ExactArgs(2),
		Long: `Send words into a session that another process runs, over its control socket.
They are durable when this command ends, and can be taken back until a turn has
them.

  --now    stops the running turn; the words are the next one's
  --next   steers: they enter the running turn at the end of its step
  --later  they are the next turn's (the default)

With - the text is read from stdin. Pictures go with --now and --later; what
steers is text.`,
		Example: `  ripcord send s_01 "use the other file" --next
  ripcord send s_01 "stop, do this first" --now
  ripcord send s_01 "what is wrong here?" --file shot.png`,
		RunE: a.plain(func(ctx context.Context, args []string) error {
			p := event.PriorityLater
			switch {
			case now && next || now && later || next && later:
				return usagef("give one of them", "--now, --next and --later each say when")
			case now:
				p = event.PriorityNow
			case next:
				p = event.PriorityNext
			}
			in, err := a.inputOf(ctx, args[1], files)
			if err != nil {
				return err
			}
			got, err := a.send(ctx, args[0], api.SubmitRequest{Input: in, Priority: p, Key: "send-" + rand.Text(), By: who()})
			if err != nil {
				return err
			}
			if asJSON {
				a.out.write(line(got))
			} else {
				a.print("%s  %s\n", got.Input, got.State)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&now, "now", false, "stop the running turn for it")
	f.BoolVar(&next, "next", false, "steer the running turn")
	f.BoolVar(&later, "later", false, "for the next turn (default)")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	f.StringArrayVar(&files, "file", nil, "a `PICTURE` to go with it (png, jpeg, gif or webp); may be repeated")
	return cmd
}

// inputOf makes an input of words and pictures.
func (a *app) inputOf(ctx context.Context, text string, files []string) (event.UserInput, error) {
	if text == "-" {
		in, err := readStdin(ctx, a.stdin)
		if err != nil {
			return event.UserInput{}, err
		}
		text = strings.TrimSpace(in)
	}
	if strings.TrimSpace(text) == "" {
		return event.UserInput{}, usagef("write the words, or - to read them from stdin", "there are no words to send")
	}
	if len(files) > mostPictures {
		return event.UserInput{}, usagef("send them in parts", "%d pictures are more than the %d of one input", len(files), mostPictures)
	}
	in := event.UserInput{Content: event.TextOf(text)}
	for _, path := range files {
		pic, err := picture(path)
		if err != nil {
			return event.UserInput{}, err
		}
		in.Content = append(in.Content, pic)
	}
	return in, nil
}

// picture reads an image file, bounded.
func picture(path string) (event.Image, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var data []byte
	if err == nil {
		data, err = readBounded(path, largestPicture)
	}
	if err != nil {
		return event.Image{}, usagef("name an image file that can be read", "%s cannot be attached: %v", path, err)
	}
	switch media := http.DetectContentType(data); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return event.Image{MediaType: media, Data: data, Name: filepath.Base(path)}, nil
	default:
		return event.Image{}, usagef("use png, jpeg, gif or webp", "%s is no picture that models take, but %s", path, media)
	}
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it is over %d MiB", most>>20)
	}
	return b, err
}

// send submits to whoever holds the session; the input's key makes it harmless
// to be asked twice.
func (a *app) send(ctx context.Context, name string, req api.SubmitRequest) (api.Submitted, error) {
	return holder(ctx, a, name, func(ctx context.Context, c *remote.Client, id event.SessionID) (api.Submitted, error) {
		req.Session = id
		return c.Submit(ctx, req)
	}, func(s api.SessionInfo, err error) (api.Submitted, bool, error) {
		nobody := s.Owner == nil && (s.Parent == "" && remote.Absent(err) || s.Parent != "" && absentOrUnknown(err))
		return api.Submitted{}, nobody, usagef(fmt.Sprintf("`ripcord run --session %s \"…\"` runs a turn there, `ripcord resume %s` opens the chat on it", s.ID, s.ID),
			"no process runs session %s, so that nobody can take the words", s.ID)
	})
}

// absentOrUnknown says that nobody is there, or that who is there does not have
// the session.
func absentOrUnknown(err error) bool {
	var e *api.Error
	return remote.Absent(err) || errors.As(err, &e) && e.Code == codeNotFound
}
