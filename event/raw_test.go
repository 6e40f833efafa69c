package event_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
)

// Raw JSON from a model or a tool is not always text: it must not break a line.
//
// proves LOG-01, IFC-13
func TestRawJSONThatIsNotTextDoesNotBreakALine(t *testing.T) {
	const bad = "a\xff\xe3\x81z"
	for _, p := range []event.Payload{
		event.CallRequested{Name: bad, Args: []byte(`{"x":"` + bad + `"}`), BadArgs: bad},
		event.CallRequested{Args: []byte("{\n\"x\": \"\u2028\u2029\"\n}")},
		event.AssistantMessage{Content: event.Content{event.ToolCall{ID: bad, Args: []byte(`{"` + bad + "\u2028" + `":1}`)}}},
		event.ModelConfig{Tools: []event.ToolSchema{{Name: bad, Schema: []byte("{\"\u2029\": [1,\n2]}")}}},
		event.GuardVerdict{Facts: []byte(`"` + bad + `"`)},
		event.Unknown{Name: "x/y", Data: []byte("{\n\"x\":\"" + bad + "\u2029\"}")},
	} {
		r := record(t, 0, p)
		r.Call = event.CallID(bad + "\u2028")
		line, _ := encode(t, 0, r)
		if !json.Valid(line) || !utf8.Valid(line) || bytes.ContainsAny(line, "\n\u2028\u2029") {
			t.Errorf("%T is written as %q", p, line)
		}
		got, err := event.Parse(line)
		if err != nil {
			t.Errorf("%T: %v", p, err)
			continue
		}
		if _, err := got.Body(); err != nil {
			t.Errorf("%T: %v", p, err)
		}
	}
}

// What content decodes to, encodes to what decodes to the same.
//
// proves LOG-01, PRF-06
func FuzzContent(f *testing.F) {
	for _, c := range []event.Content{
		nil,
		{event.Text{Text: ""}, event.Text{Text: "a\u2028\x00\"\\"}},
		{event.Reasoning{Text: "hm", Signature: "c2ln", Provider: "p"}, event.Reasoning{Data: "opaque"}},
		{event.Image{MediaType: "image/png", Data: []byte{0, 255}}, event.File{Blob: &event.BlobRef{Digest: "sha256:00", Size: 1 << 60}}},
		{event.ToolCall{ID: "c", Name: "bash", Args: []byte(`{"n":9007199254740993}`)}},
	} {
		b, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`[{"kind":"later","x":1},{"kind":"call"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c event.Content
		if json.Unmarshal(b, &c) != nil {
			return
		}
		once, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%q decodes but does not encode: %v", b, err)
		}
		var again event.Content
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%q was written as %q: %v", b, once, err)
		}
		twice, err := json.Marshal(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, %v", once, twice, err)
		}
		_, _ = c.Text(), c.Calls()
	})
}
