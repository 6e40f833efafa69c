package guard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/guard"
)

// proves GRD-02, GRD-04
func TestTheLongestStringOfArgumentsIsMeasuredInCodePointsWhereverTheyAreCut(t *testing.T) {
	for _, c := range []struct {
		name, args string
		runes      int
		text       string
	}{
		{"whole", `{"path":"a.html","content":"<p>hi</p>"}`, 9, "<p>hi</p>"},
		{"a key does not count", `{"a very long key indeed":"v"}`, 1, "v"},
		{"a key after a value does not count", `{"a":"v","a very long key indeed":1,"b":"ww"}`, 2, "ww"},
		{"a key that is cut does not count", `{"a":"v","a very long key ind`, 1, "v"},
		{"the first of equals", `{"a":"one","b":"two"}`, 3, "one"},
		{"nested", `{"edits":[{"old":"x","new":{"deep":["longest here"]}}],"z":"y"}`, 12, "longest here"},
		{"an array's strings are values", `["one","three"]`, 5, "three"},
		{"a string alone", `"alone"`, 5, "alone"},
		{"a value after a nested object is none of its keys", `{"a":{"b":1},"a long key":"vv"}`, 2, "vv"},
		{"an array in an object in an array", `[{"key key key":["ab"]},"c"]`, 2, "ab"},
		{"escapes are what they stand for", `{"a":"\"\\\/\b\f\n\r\t\u0041é"}`, 10, "\"\\/\b\f\n\r\tAé"},
		{"a pair is one", `{"a":"x\ud83d\ude00y"}`, 3, "x😀y"},
		{"half a pair is one", `{"a":"\ud83dx"}`, 2, "\ufffdx"},
		{"two first halves are two", `{"a":"\ud83d\ud83dx"}`, 3, "\ufffd\ufffdx"},
		{"a second half alone", `{"a":"\ude00"}`, 1, "\ufffd"},
		{"a first half before another escape", `{"a":"\ud83d\u0041"}`, 2, "\ufffdA"},
		{"raw code points", `{"a":"日本😀"}`, 3, "日本😀"},
		{"cut in a string", `{"path":"p","content":"abc`, 3, "abc"},
		{"cut behind a backslash", `{"a":"abc\`, 3, "abc"},
		{"cut behind the u", `{"a":"abc\u`, 3, "abc"},
		{"cut in the digits", `{"a":"abc\u00e`, 3, "abc"},
		{"cut behind the first half", `{"a":"abc\ud83d`, 3, "abc"},
		{"cut between the halves", `{"a":"abc\ud83d\`, 3, "abc"},
		{"cut before the second half's digits", `{"a":"abc\ud83d\u`, 3, "abc"},
		{"cut in the second half", `{"a":"abc\ud83d\ude0`, 3, "abc"},
		{"cut in a code point", "{\"a\":\"abc\xf0\x9f\x98", 3, "abc"},
		{"bytes that are no UTF-8", "{\"a\":\"a\xffb\"}", 3, "a\ufffdb"},
		{"cut in a number", `{"a":"abc","n":12`, 3, "abc"},
		{"cut in a word", `{"a":"abc","n":tru`, 3, "abc"},
		{"cut before a value", `{"a":`, 0, ""},
		{"an opening quote and no more", `{"a":"`, 0, ""},
		{"an empty string", `{"a":""}`, 0, ""},
		{"no strings", `{"a":1,"b":[true,null]}`, 0, ""},
		{"nothing", ``, 0, ""},
		{"no JSON", `*** Begin Patch`, 0, ""},
		{"a raw newline in a string", "{\"a\":\"x\ny\"}", 3, "x\ny"},
		{"an unknown escape", `{"a":"\q\é"}`, 2, "qé"},
		{"wrong digits", `{"a":"\u12xy"}`, 3, "\ufffdxy"},
		{"closed more often than opened", `}}]]{"kkkk":"v"`, 1, "v"},
	} {
		if runes, text := guard.Longest(c.args); runes != c.runes || text != c.text {
			t.Errorf("%s: %d %q, want %d %q", c.name, runes, text, c.runes, c.text)
		}
	}
}

// proves GRD-02
func TestNestingOfAnyDepthIsMeasured(t *testing.T) {
	const depth = 1_000_000
	args := strings.Repeat(`[{"k":`, depth) + `"deep"`
	if runes, text := guard.Longest(args); runes != 4 || text != "deep" {
		t.Errorf("%d %q", runes, text)
	}
}

// longestByTokens measures what encoding/json takes for string values.
func longestByTokens(args string) (best int) {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var object, key []bool
	for {
		tok, err := dec.Token()
		if err != nil {
			return best
		}
		top := len(object) - 1
		isKey := top >= 0 && object[top] && key[top]
		if top >= 0 {
			key[top] = !key[top]
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				object, key = append(object, v == '{'), append(key, true)
			} else {
				object, key = object[:top], key[:top]
			}
		case string:
			if !isKey {
				best = max(best, utf8.RuneCountInString(v))
			}
		}
	}
}

// proves GRD-02, GRD-04
func FuzzLongest(f *testing.F) {
	for _, s := range []string{
		`{"path":"a","content":"x\ud83d\ude00\n\u00e9"}`, `{"a":{"b":["c",{"d":"e"}]},"ffff":"g"}`, `"x"`, `[[["a"]]]`, `{"a":"\ud83d`, "\"\xf0\x9f",
		`{"":"` + strings.Repeat("é", 40) + `"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		runes, text := guard.Longest(args)
		if got := utf8.RuneCountInString(text); got != runes {
			t.Fatalf("%q is %d code points, %d were counted", text, got, runes)
		}
		if json.Valid([]byte(args)) && runes != longestByTokens(args) {
			t.Fatalf("%d, encoding/json says %d", runes, longestByTokens(args))
		}
		if len(args) > 512 {
			return
		}
		before := 0
		for i := range len(args) + 1 { // what has come never becomes less
			n, _ := guard.Longest(args[:i])
			if n < before {
				t.Fatalf("cut at %d: %d, cut before: %d", i, n, before)
			}
			before = n
		}
	})
}

func ExampleLongest() {
	n, text := guard.Longest(`{"path":"a.html","content":"<h1>G\u00fcnstig</h1><p>`)
	fmt.Println(n, text)
	// Output: 19 <h1>Günstig</h1><p>
}
