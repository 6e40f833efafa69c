package scripted_test

import (
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/model/scripted"
)

// proves MOD-04: the notation of the cases is understood as it is written there.
func TestTheCompactNotationOfTheCasesParses(t *testing.T) {
	for _, s := range []string{
		`C(1,shell) A'{sleep 60}' F(tool)`, `C(1,shell) F(tool)`, `C(1,shell) U(500,20) F(tool)`,
		`C(1,write) A'{"path":"a","text":"line1\nli' F(length)`, `C(1,write) A'{"path":' `,
		`R'think' S'sig1' T'half an ans'`, `T'Hello wor' C(1,shell) A'{"cm' DROP`, `T'Hello world' F(stop)`,
		`T'abc' HANG`, `T'same 40 chars' HANG`, `T'word ' x 100`, `T'word 'x100 F(stop)`, `W(1.5s) C(1,shell) A'{touch M}' F(tool)`,
		`H(200) HANG`, `H(400)`, `H(429,2)`, `P x 5 T'a' F(stop)`, `(R'x' W(0.5s)) x 3 T'done' F(stop)`, `C(,one) E F(tool)`,
		`T'it\'s \x41 \u00e9\n' F(stop)`,
	} {
		if _, err := scripted.Parse(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestAScriptThatIsWrongNamesTheLine(t *testing.T) {
	for s, want := range map[string]string{
		"":                                   "no answer",
		"# only words":                       "no answer",
		"text hi":                            "line 1: \"text\" stands under no answer",
		"answer\n txt hi":                    "line 2: \"txt\" is no step",
		"answer\n wait long":                 "line 2: \"long\" is no duration",
		"answer\n http 99":                   "line 2",
		"answer\n text hi\n http 500":        "stand first",
		"answer\n http 500\n text hi":        "nothing can follow",
		"answer\n text hi\n hold 1s":         "stand first",
		"answer if":                          "is no condition",
		"answer if user":                     "stands a text",
		"answer if step x":                   "whole number",
		"answer if result or user x":         "is not known here",
		"answer x 0":                         "how many times",
		"answer twice":                       "is not known here",
		"answer\n finish soon":               "is no finish",
		"answer\n usage 1 -5":                "is no token count",
		"answer\n call bash":                 "write call NAME ID",
		"answer\n text \"no end":             "line 2",
		"answer\n drop now":                  "takes nothing",
		"T'no end":                           "has no end",
		"(T'a' x 3":                          "has no end",
		"T'a') x 3":                          "closes no group",
		"X'a'":                               "not known in the compact notation",
		"F(soon)":                            "is no finish",
		"C(1)":                               "write C(id,tool)",
		"U(1":                                "needs its values",
		"answer\n repeat 3 nothing":          "is no step",
		"answer\n http 429 retry-after soon": "whole number",
	} {
		if _, err := scripted.Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", s, err, want)
		}
	}
}

// The help's own example is a script, and every step it names is one.
func TestTheHelpIsTrue(t *testing.T) {
	_, example, ok := strings.Cut(scripted.Help, "EXAMPLE\n")
	if !ok {
		t.Fatal("no example")
	}
	if _, err := scripted.Parse(strings.ReplaceAll(example, "\n  ", "\n")); err != nil {
		t.Error(err)
	}
	_, steps, _ := strings.Cut(scripted.Help, "STEPS")
	steps, _, _ = strings.Cut(steps, "In words")
	_, steps, _ = strings.Cut(steps, "\n")
	values := strings.NewReplacer("[DURATION]", "1ms", "DURATION", "1ms", "STATUS", "500", "SCRIPT", "", "stop|tool|length|filter", "stop",
		"IN OUT", "1 -", " N", " 3", "STEP", "ping", "[ARGS]", "{}", "[retry-after N] [body TEXT]", "retry-after 1 body no")
	for line := range strings.Lines(steps) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
		if line, _, _ = strings.Cut(line, "  "); line == "" {
			continue
		}
		if _, err := scripted.Parse("answer\n " + values.Replace(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Any text is a script or an error, never a panic; one that parses can be played.
func FuzzParse(f *testing.F) {
	f.Add(scripted.CoderText)
	f.Add("split 3\nloop\nlenient\nanswer x 2 if not user \"a b\" and step 2\n type 1ms a\n repeat 2 ping\ndefault\n http 429 retry-after 1 body x")
	f.Add(`(T'a' P x 3) x 2 C(1,a) A'{\'' U(-,1) F(tool)`)
	f.Fuzz(func(t *testing.T, s string) {
		if script, err := scripted.Parse(s); (script == nil) == (err == nil) {
			t.Errorf("got %v and %v", script, err)
		}
	})
}
