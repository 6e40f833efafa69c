package openai_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/model/modeltest"
)

// proves MOD-02: whatever arrives, the stream keeps its shape, and where the
// bytes were cut makes no difference to what they mean.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		data(words("ab"), stop, done),
		data(words(`\ud83e`), words(`\ude82`), tools),
		data(callDelta(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}`), tools),
		data(`{"choices":[{"delta":{"reasoning":"r","reasoning_signature":"s"},"finish_reason":"length"}],"usage":{"prompt_tokens":1.0}}`),
		data(`{"error":{"message":"m","code":429}}`), "\xEF\xBB\xBFdata:{}\r\rdata: [DONE]\r\n", "<html>", "data: {\"choices\"\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := modeltest.Ask(t.Context(), over(t, &canned{body: string(body)}), modeltest.Say("go"))
		bytewise := modeltest.Ask(t.Context(), over(t, &canned{body: string(body), step: 1}), modeltest.Say("go"))
		if !reflect.DeepEqual(whole.Deltas, bytewise.Deltas) || (whole.Err == nil) != (bytewise.Err == nil) {
			t.Errorf("cut in bytes it means another thing:\n%#v %v\n%#v %v", whole.Deltas, whole.Err, bytewise.Deltas, bytewise.Err)
		}
		modeltest.Shape(t, whole)
		// One valid JSON object as an event is never called broken.
		if line := string(body); json.Valid(body) && !strings.ContainsAny(line, "\r\n") && strings.HasPrefix(line, "{") && strings.Count(line, "[")+strings.Count(line, "{") < 100 {
			a := modeltest.Ask(t.Context(), over(t, &canned{body: data(line, words("x"), stop)}), modeltest.Say("go"))
			if a.Err != nil && strings.Contains(a.Err.Error(), "not whole JSON") {
				t.Errorf("valid JSON was refused: %v", a.Err)
			}
		}
	})
}

// proves MOD-02 for the responses wire.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		data(created, item("added", 0, message), said(0, "ab"), item("done", 0, spoken), completed),
		data(item("added", 0, fcall("a", "", "")), piece(0, `{"n`), item("done", 0, fcall("a", `{"n`, "incomplete")), tooLong),
		data(item("done", 0, `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}`), said(1, `\ud83e`), said(1, `\ude82`), completed),
		data(item("added", 0, fcall("a", "", "")), item("done", 1, fcall("b", "{}", "")), piece(0, "{}"), completed),
		data(`{"type":"response.failed","response":{"error":{"code":"x"}}}`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := modeltest.Ask(t.Context(), overResponses(t, &canned{body: string(body)}), modeltest.Say("go"))
		bytewise := modeltest.Ask(t.Context(), overResponses(t, &canned{body: string(body), step: 1}), modeltest.Say("go"))
		if !reflect.DeepEqual(whole.Deltas, bytewise.Deltas) || (whole.Err == nil) != (bytewise.Err == nil) {
			t.Errorf("cut in bytes it means another thing:\n%#v %v\n%#v %v", whole.Deltas, whole.Err, bytewise.Deltas, bytewise.Err)
		}
		modeltest.Shape(t, whole)
	})
}

// BenchmarkDecode measures one event of 1 KB of text, target 25 µs.
func BenchmarkDecode(b *testing.B) {
	one := data(words(strings.Repeat("lorem ipsum dolor sit amet \\n", 34)))
	const n = 1000
	body := strings.Repeat(one, n) + data(stop, done)
	m := over(b, &canned{body: body})
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		for _, err := range m.Stream(b.Context(), modeltest.Say("go")) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
