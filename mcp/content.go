package mcp

import (
	"encoding/json"
	"fmt"
	"mime"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/tool"
)

const (
	mostImage = 5 << 20 // bytes
	mostParts = 200
)

func textContent(s string) event.Content { return event.TextOf(s) }

// offer makes a server's description of a tool fit for a model.
func (s *server) offer(t *sdk.Tool) (offer, error) {
	o := offer{server: s.cfg.Name, name: t.Name}
	if t.Name == "" || len(t.Name) > 1<<10 {
		return o, fmt.Errorf("its name is empty or too long")
	}
	o.words, _ = tool.Bounded(t.Description, mostWords)
	if strings.TrimSpace(o.words) == "" {
		o.words = "The tool " + t.Name + " of the server " + s.cfg.Name + "; its server says nothing about it."
	}
	if t.Annotations != nil {
		o.readOnly = t.Annotations.ReadOnlyHint
	}
	var err error
	o.schema, err = fitSchema(t.InputSchema)
	return o, err
}

// result is what the server answered, as a call's result: it ran.
func (x *exchange) result(r *sdk.CallToolResult) (tool.Result, error) {
	if r.NeedsInput() {
		return x.fact("the server %q asks for more input before it goes on, which nobody here can give; use another way", x.server.cfg.Name)
	}
	c := x.content(r)
	if len(c) == 0 {
		c = textContent("the tool returned nothing")
	}
	if r.IsError {
		c = append(textContent(fmt.Sprintf("the tool reported an error after %.1f s:\n", x.seconds())), c...)
	}
	return tool.Result{Content: c, Success: true}, nil
}

// content makes parts that models can read of what a server sends.
func (x *exchange) content(r *sdk.CallToolResult) event.Content {
	var out event.Content
	words := ""
	for i, part := range r.Content {
		if i == mostParts {
			out = append(out, event.Text{Text: fmt.Sprintf("\n[%d more parts are left out]", len(r.Content)-mostParts)})
			break
		}
		if i > 0 {
			out = append(out, event.Text{Text: "\n"})
		}
		p := onePart(part)
		if t, ok := p.(event.Text); ok {
			words += t.Text
		}
		out = append(out, p)
	}
	if extra := structured(r.StructuredContent, words); extra != "" {
		if len(out) > 0 {
			extra = "\n" + extra
		}
		out = append(out, event.Text{Text: extra})
	}
	return out
}

func onePart(part sdk.Content) event.Part {
	switch p := part.(type) {
	case *sdk.TextContent:
		return event.Text{Text: p.Text}
	case *sdk.ImageContent:
		return picture(p.MIMEType, p.Data, "")
	case *sdk.AudioContent:
		return event.Text{Text: fmt.Sprintf("[audio, %s, %d bytes: left out, it cannot be heard here]", shown(p.MIMEType), len(p.Data))}
	case *sdk.ResourceLink:
		text := fmt.Sprintf("[resource %s: %s", shown(p.Name), p.URI)
		if p.MIMEType != "" {
			text += ", " + shown(p.MIMEType)
		}
		if p.Size != nil {
			text += fmt.Sprintf(", %d bytes", *p.Size)
		}
		if p.Description != "" {
			text += "; " + p.Description
		}
		return event.Text{Text: text + "]"}
	case *sdk.EmbeddedResource:
		return resource(p.Resource)
	}
	return event.Text{Text: "[a part of a kind that is not known here is left out]"}
}

func resource(r *sdk.ResourceContents) event.Part {
	switch {
	case r == nil:
		return event.Text{Text: "[an empty resource]"}
	case len(r.Blob) == 0:
		return event.Text{Text: "[resource " + r.URI + "]\n" + r.Text}
	case imageType(r.MIMEType):
		return picture(r.MIMEType, r.Blob, r.URI)
	}
	return event.Text{Text: fmt.Sprintf("[resource %s, %s, %d bytes: left out, it is binary]", r.URI, shown(r.MIMEType), len(r.Blob))}
}

func picture(kind string, data []byte, name string) event.Part {
	switch {
	case !imageType(kind):
		return event.Text{Text: fmt.Sprintf("[image, %s, %d bytes: left out, models read png, jpeg, gif and webp]", shown(kind), len(data))}
	case len(data) == 0 || len(data) > mostImage:
		return event.Text{Text: fmt.Sprintf("[image, %s, %d bytes: left out, from 1 to %d bytes are shown]", shown(kind), len(data), mostImage)}
	}
	media, _, _ := mime.ParseMediaType(kind)
	return event.Image{MediaType: media, Data: data, Name: name}
}

func imageType(kind string) bool {
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return false
	}
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func shown(s string) string {
	if s == "" {
		return "of no named kind"
	}
	return s[:min(len(s), 200)]
}

// structured is v as JSON, unless the words say the same.
func structured(v any, words string) string {
	if v == nil {
		return ""
	}
	var same any
	if json.Unmarshal([]byte(words), &same) == nil && reflect.DeepEqual(same, v) {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
