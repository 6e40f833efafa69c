package openai_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
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
		shape(t, whole)
		// One valid JSON object as an event is never called broken.
		if line := string(body); json.Valid(body) && !strings.ContainsAny(line, "\r\n") && strings.HasPrefix(line, "{") && strings.Count(line, "[")+strings.Count(line, "{") < 100 {
			a := modeltest.Ask(t.Context(), over(t, &canned{body: data(line, words("x"), stop)}), modeltest.Say("go"))
			if a.Err != nil && strings.Contains(a.Err.Error(), "not whole JSON") {
				t.Errorf("valid JSON was refused: %v", a.Err)
			}
		}
	})
}

// shape holds a stream to the order that event.Delta promises.
func shape(t *testing.T, a modeltest.Answer) {
	t.Helper()
	if (a.Err == nil) == (a.Finish == "") {
		t.Errorf("ended with error %v and finish %q", a.Err, a.Finish)
	}
	call, last := -1, -1
	piece := func(block int, s string) {
		if block < last || s == "" || !utf8.ValidString(s) {
			t.Errorf("block %d after %d, text %q", block, last, s)
		}
		last = block
	}
	for i, d := range a.Deltas {
		switch d := d.(type) {
		case event.TextDelta:
			piece(d.Block, d.Text)
		case event.ReasoningDelta:
			piece(d.Block, d.Text+d.Signature+d.Data)
		case event.CallStart:
			if call >= 0 || d.Block <= last && last > 0 {
				t.Errorf("call %d opened while %d was open, after block %d", d.Block, call, last)
			}
			call, last = d.Block, d.Block
		case event.ArgsDelta:
			piece(d.Block, d.Text)
			if d.Block != call {
				t.Errorf("arguments for block %d while call %d is open", d.Block, call)
			}
		case event.CallEnd:
			if d.Block != call {
				t.Errorf("end of block %d while call %d is open", d.Block, call)
			}
			call = -1
		case event.UsageDelta:
		case event.Finish:
			if i != len(a.Deltas)-1 {
				t.Errorf("a finish stands at %d of %d", i, len(a.Deltas))
			}
			call = -1
		}
	}
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
