package modeltest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.TextOf(text)}
}

func said(parts ...event.Part) event.Message {
	return event.Message{Role: event.RoleAssistant, Content: parts}
}

func call(id, name string) event.ToolCall {
	return event.ToolCall{ID: event.CallID(id), Name: name, Args: json.RawMessage(`{}`)}
}

func result(id, text string) event.Message {
	return event.Message{Role: event.RoleTool, Call: event.CallID(id), Name: "bash", Content: event.TextOf(text)}
}

// histories proves the driver's part of MOD-01 (merging) and B013.
func (d Driver) histories(t *testing.T) {
	ref := &event.BlobRef{Digest: "sha256:" + strings.Repeat("0", 64), Size: 3}
	for name, msgs := range map[string][]event.Message{
		"two users in a row":          {user("one"), user("two")},
		"marker and prompt":           {user("one"), {Role: event.RoleAssistant, Content: event.TextOf("half an ans"), Partial: true}, user("<turn_aborted>"), user("go on")},
		"empty assistant":             {user("one"), said(), user("two")},
		"blank assistant":             {user("one"), said(event.Text{Text: " \n"}), user("two")},
		"reasoning alone":             {user("one"), said(event.Reasoning{Text: "hm"}), user("two")},
		"two assistants in a row":     {user("one"), said(event.Text{Text: "a"}), said(event.Text{Text: "b"}, call("c1", "bash")), result("c1", "ok")},
		"text and calls":              {user("one"), said(event.Text{Text: "a"}, call("c1", "bash"), call("c2", "bash")), result("c1", "ok"), result("c2", "ok")},
		"results out of order":        {user("one"), said(call("c1", "bash"), call("c2", "bash")), result("c2", "ok"), result("c1", "ok"), user("two")},
		"empty result":                {user("one"), said(call("c1", "bash")), result("c1", "")},
		"image in place, by blob":     {{Role: event.RoleUser, Content: event.Content{event.Text{Text: "see"}, event.Image{MediaType: "image/png", Data: []byte("png")}, event.Image{MediaType: "image/png", Blob: ref}}}},
		"image in a result":           {user("one"), said(call("c1", "read")), {Role: event.RoleTool, Call: "c1", Name: "read", Content: event.Content{event.Image{MediaType: "image/png", Blob: ref}}}, user("and?")},
		"file":                        {{Role: event.RoleUser, Content: event.Content{event.File{Name: "a.txt", MediaType: "text/plain", Data: []byte("hi")}}}},
		"missing blob is a word":      {{Role: event.RoleUser, Content: event.Content{event.Image{MediaType: "image/png", Blob: &event.BlobRef{Digest: "sha256:gone"}}}}},
		"bytes that are not UTF-8":    {user("caf\xe9"), said(event.Text{Text: "a\xff"}, call("c1", "bash")), result("c1", "\xfe\xff")},
		"arguments that are no value": {user("one"), said(event.ToolCall{ID: "c1", Name: "bash", Args: json.RawMessage(`{"a`)}), result("c1", "bad arguments")},
	} {
		srv := Serve(t, "T'taken' F(stop)")
		req := model.Request{System: "be brief", Messages: msgs, Tools: []event.ToolSchema{{Name: "bash", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
			Blob: func(_ context.Context, r event.BlobRef) ([]byte, error) {
				if r.Digest != ref.Digest {
					return nil, context.DeadlineExceeded
				}
				return []byte("png"), nil
			}}
		if a := Ask(t.Context(), d.open(t, srv.URL()), req); a.Err != nil || a.Text != "taken" {
			t.Errorf("%s: got %v\n%s", name, a.Err, srv.Requests()[0].Body)
		}
	}
}
