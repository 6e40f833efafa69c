package model

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
)

// Attachment is an image or a file on its way to a provider: its bytes, or
// words that stand for it.
type Attachment struct {
	Name      string
	MediaType string // without parameters
	Data      []byte
	Words     string // if not empty, these are sent instead
}

// DataURL gives the bytes as an address.
func (a Attachment) DataURL() string {
	return "data:" + a.MediaType + ";base64," + a.Base64()
}

// Base64 gives the bytes as text.
func (a Attachment) Base64() string { return base64.StdEncoding.EncodeToString(a.Data) }

// Unfit says in words that a provider does not take the attachment.
func (a Attachment) Unfit(kind string) string {
	return fmt.Sprintf("[the %s %q is of the type %s, which this provider does not take]", kind, a.Name, a.MediaType)
}

// Image fetches an image. What cannot be fetched is said to the model; the
// request goes on.
func (r Request) Image(ctx context.Context, p event.Image) Attachment {
	return r.attach(ctx, "image", p.Name, p.MediaType, p.Data, p.Blob)
}

// File fetches a file. One that is text becomes words.
func (r Request) File(ctx context.Context, p event.File) Attachment {
	a := r.attach(ctx, "file", p.Name, p.MediaType, p.Data, p.Blob)
	if a.Words == "" && (strings.HasPrefix(a.MediaType, "text/") || a.MediaType == "application/json") {
		a.Words = fmt.Sprintf("<file name=%q>\n%s\n</file>", p.Name, strings.ToValidUTF8(string(a.Data), "\uFFFD"))
	}
	return a
}

func (r Request) attach(ctx context.Context, kind, name, mediaType string, data []byte, ref *event.BlobRef) Attachment {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	a := Attachment{Name: name, MediaType: strings.TrimSpace(mediaType), Data: data}
	if ref == nil {
		return a
	}
	err := fmt.Errorf("%s is not at hand", ref.Digest)
	if r.Blob != nil {
		a.Data, err = r.Blob(ctx, *ref)
	}
	if err != nil {
		a.Words = fmt.Sprintf("[the %s %q is missing: %v]", kind, name, err)
	}
	return a
}
