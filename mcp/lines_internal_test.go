package mcp

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// proves TOL-26: the id of a message that is thrown away is found wherever it
// stands, and only an answer's
func TestTheIdOfALongMessageIsReadInPassing(t *testing.T) {
	long := strings.Repeat(`\"id\":9,{[`, 100)
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":5,"result":{"id":9,"x":"` + long + `"}}`: "5 true",
		`{"result":{"id":9,"x":["` + long + `",{"id":8}]}, "id" : 6 }`:  "6 true",
		`{"result":"` + long + `","id":"7"}`:                            "7 true",
		`{"id":5,"method":"x","params":"` + long + `"}`:                 "5 false",
		`{"params":"` + long + `","method":"x","id":5}`:                 "5 false",
		`{"result":"` + long + `"}`:                                     "0 false",
		`noise ` + long:                                                 "0 false",
		`[{"id":5,"result":"` + long + `"}]`:                            "0 false",
	} {
		for _, r := range []io.Reader{strings.NewReader(in + "\nnext\n"), iotest.OneByteReader(strings.NewReader(in + "\nnext\n"))} {
			l := newLines(r, 256)
			line, l1, err := l.next()
			if l1 == nil || err != nil || line != nil || l1.bytes != int64(len(in)+1) {
				t.Fatalf("%.40s: %q, %+v, %v", in, line, l1, err)
			}
			if got := fmt.Sprint(l1.id, l1.known); got != want {
				t.Errorf("%.40s: %s, want %s", in, got, want)
			}
			if line, _, err := l.next(); string(line) != "next\n" || err != nil {
				t.Errorf("then %q, %v", line, err)
			}
			if _, _, err := l.next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		}
	}
}

// proves B161: an answer behind noise on its line counts, a request does not
func TestAnAnswerBehindNoiseCounts(t *testing.T) {
	for in, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                    1,
		` {"jsonrpc":"2.0","method":"x"} ` + "\r\n":                               1,
		strings.Repeat("x", 200<<10) + `{"jsonrpc":"2.0","id":1,"result":{}}`:     1,
		`sent {"a":{"b":1}} {"jsonrpc":"2.0","id":1,"result":{}}`:                 1,
		`got {"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                      0,
		`{"jsonrpc":"2.0","id":1,"result":{}} trailing`:                           0,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:                                    0,
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"y"},5]`: 2,
		`{"a":1}`:                 0,
		"":                        0,
		"[":                       0,
		strings.Repeat("{", 5000): 0,
	} {
		if got := len(decode([]byte(in))); got != want {
			t.Errorf("%.60q: %d messages, want %d", in, got, want)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nnoise\n\xff\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l := newLines(strings.NewReader(string(in)), 64)
		for range len(in) + 2 {
			line, long, err := l.next()
			if err != nil {
				return
			}
			if long == nil && len(line) > 64 {
				t.Errorf("a line of %d bytes", len(line))
			}
			decode(line)
		}
		t.Error("there is no end")
	})
}
