package anthropic_test

import (
	"reflect"
	"testing"

	"github.com/ripcord-go/ripcord/model/modeltest"
)

// proves MOD-02: whatever arrives, the stream keeps its shape, and where the
// bytes were cut makes no difference to what they mean.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		frames(hello, begin(0, text), words(0, "ab"), shut(0), stopped("end_turn"), bye),
		frames(hello, begin(0, tool), args(0, `{"n`), shut(0), stopped("max_tokens")),
		frames(begin(0, `{"type":"thinking","thinking":"t"}`), grow(0, `{"type":"signature_delta","signature":"s"}`), shut(0), begin(1, `{"type":"redacted_thinking","data":"d"}`), stopped("refusal")),
		frames(hello, begin(0, text), words(0, `\ud83e`), words(0, `\ude82`), stopped("end_turn")),
		frames(`{"type":"error","error":{"type":"overloaded_error"}}`), "event: error\ndata: {}\n\n", "<html>",
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
	})
}
