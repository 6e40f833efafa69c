package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
)

const (
	defaultInline = 32 << 10
	leastInline   = 256 // below it the line in the middle would be most of it
)

// Text is the result of a tool that ran and has only words.
func Text(s string) Result { return Result{Content: event.TextOf(s), Success: true} }

// Bounded returns s as valid UTF-8 in at most limit bytes (never fewer than
// 256): head and tail with a line in between that says how many bytes, left,
// are left out.
func Bounded(s string, limit int) (text string, left int) {
	return bounded(s, limit, func(left int) string { return fmt.Sprintf("%d bytes are left out here", left) })
}

// bounded is [Bounded] with the words of the line, at most 76 bytes of them.
func bounded(s string, limit int, words func(left int) string) (text string, left int) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	limit = max(limit, leastInline)
	if len(s) <= limit {
		return s, 0
	}
	keep := limit - 88 // room for the line
	head, tail := keep/2, len(s)-(keep-keep/2)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	left = tail - head
	return s[:head] + "\n[… " + words(left) + " …]\n" + s[tail:], left
}

// bound makes res fit for a record: text is valid UTF-8 and, over inline
// bytes, head and tail of the whole, which goes to blobs. Text parts that have
// to be cut become one, where the first one stood. What the tool had left out
// before is counted with what is left out here: its own line about it stood in
// the middle and is gone.
func bound(ctx context.Context, res Result, inline int, blobs Blobs) Result {
	if inline == 0 {
		inline = defaultInline
	}
	res.Diff, _ = Bounded(res.Diff, inline)
	const most = event.MaxParts / 2 // with room for what is said below
	if n := len(res.Content) - most; n > 0 {
		res.Content = append(slices.Clip(res.Content[:most]), event.Text{Text: fmt.Sprintf("\n[%d more parts are left out]", n)})
	}
	content := make(event.Content, 0, len(res.Content))
	total := 0
	for _, p := range Offload(ctx, res.Content, inline, blobs) {
		if t, ok := p.(event.Text); ok {
			t.Text = strings.ToValidUTF8(t.Text, "\uFFFD")
			total += len(t.Text)
			p = t
		}
		content = append(content, p)
	}
	if total <= max(inline, leastInline) {
		res.Content = content
		return res
	}
	whole := content.Text()
	out := event.Output{Bytes: int64(len(whole))}
	if res.Output != nil {
		out = *res.Output
	}
	text, left := bounded(whole, inline, func(left int) string {
		return fmt.Sprintf("%d bytes are left out here, of %d in all", int64(left)+res.Lacks, out.Bytes)
	})
	res.Content = replaceText(content, text)
	out.Truncated = true
	if ref, err := put(ctx, blobs, whole); err == nil {
		out.Blob = &ref
	} else {
		out.Dropped += int64(left)
		res.Content = append(res.Content, event.Text{Text: "\n[what is left out was kept nowhere: " + err.Error() + "]"})
	}
	res.Output = &out
	return res
}

// Offload returns c with each image and file of more than inline bytes (0 means
// 32 KiB) kept in blobs, durable, and a reference in its place. What blobs
// would not take stays where it is. c is not changed.
func Offload(ctx context.Context, c event.Content, inline int, blobs Blobs) event.Content {
	if isNil(blobs) {
		return c
	}
	if inline == 0 {
		inline = defaultInline
	}
	move := func(data *[]byte, ref **event.BlobRef) {
		if len(*data) <= inline {
			return
		}
		if r, err := blobs.Put(ctx, *data); err == nil {
			*data, *ref = nil, &r
		}
	}
	out := slices.Clone(c)
	for i := range out {
		switch p := out[i].(type) {
		case event.Image:
			move(&p.Data, &p.Blob)
			out[i] = p
		case event.File:
			move(&p.Data, &p.Blob)
			out[i] = p
		case event.Text, event.Reasoning, event.ToolCall:
		}
	}
	return out
}

func put(ctx context.Context, blobs Blobs, whole string) (event.BlobRef, error) {
	if isNil(blobs) {
		return event.BlobRef{}, fmt.Errorf("there is no store for it")
	}
	return blobs.Put(ctx, []byte(whole))
}

// replaceText puts text where the first text part stands and drops the others.
func replaceText(c event.Content, text string) event.Content {
	out := make(event.Content, 0, len(c))
	placed := false
	for _, p := range c {
		if _, ok := p.(event.Text); !ok {
			out = append(out, p)
			continue
		}
		if !placed {
			out, placed = append(out, event.Text{Text: text}), true
		}
	}
	return out
}
