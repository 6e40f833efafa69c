package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

func at(sec int) time.Time { return time.Date(2030, 1, 2, 3, 4, sec, 500, time.UTC) }

func record(t testing.TB, seq event.Seq, p event.Payload) event.Record {
	t.Helper()
	r, err := event.New(p, at(int(seq)))
	if err != nil {
		t.Fatal(err)
	}
	r.Batch, r.Epoch, r.Seq = 1, 2, seq
	return r
}

func encode(t testing.TB, prev event.Sum, r event.Record) ([]byte, event.Sum) {
	t.Helper()
	line, sum, err := event.Encode(nil, prev, &r)
	if err != nil {
		t.Fatal(err)
	}
	return line, sum
}

// The bytes of the format, spelled out: whoever changes them changes the
// version.
//
// proves LOG-01, LOG-02, IFC-13
func TestARecordIsWrittenInExactlyTheseBytes(t *testing.T) {
	r := record(t, 17, event.TurnStarted{Kind: event.TurnInput, Input: "i_1"})
	r.Turn, r.Step, r.Call = 3, 1, `c"1`
	r.Span = []event.Mark{{Off: 0, MS: 0}, {Off: 5, MS: 12}}
	line, sum := encode(t, 0xdeadbeef, r)
	want := `{"crc":"` + sum.String() + `","v":1,"b":1,"epoch":2,"seq":17,"span":[[0,0],[5,12]],"time":"2030-01-02T03:04:17.0000005Z",` +
		`"type":"turn/start","turn":3,"step":1,"call":"c\"1","data":{"turn_kind":"input","input":"i_1"}}`
	if string(line) != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	if got, ok := event.LineSum(line); !ok || got != sum || event.ChainSum(0xdeadbeef, line) != sum {
		t.Errorf("the sum in the line is %v, %v; over the line %v; returned %v", got, ok, event.ChainSum(0xdeadbeef, line), sum)
	}
	if sum.String() != "5ded7e1c" {
		t.Errorf("the sum is %v: the polynomial, the range or the chaining changed", sum)
	}
	back, err := event.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := encode(t, 0xdeadbeef, back)
	if !bytes.Equal(again, line) {
		t.Errorf("written again: %s", again)
	}
}

// proves LOG-02
func TestEveryFlippedBitAndEveryCutIsFound(t *testing.T) {
	line, sum := encode(t, 7, record(t, 1, event.StepEnded{}))
	holds := func(line []byte) bool {
		said, ok := event.LineSum(line)
		return ok && said == event.ChainSum(7, line)
	}
	if !holds(line) || sum == 0 {
		t.Fatal("the line does not hold as it was written")
	}
	for i := range line {
		for bit := range 8 {
			line[i] ^= 1 << bit
			if holds(line) {
				t.Errorf("bit %d of byte %d flipped, and the line holds: %s", bit, i, line)
			}
			line[i] ^= 1 << bit
		}
		if holds(line[:i]) {
			t.Errorf("cut at byte %d, the line holds", i)
		}
	}
	if holds(make([]byte, 512)) {
		t.Error("zeros hold")
	}
}

// proves LOG-02
func TestASwappedADoubledAndAMissingRecordAreFound(t *testing.T) {
	var lines [][]byte
	var sum event.Sum
	for i := range 3 {
		var line []byte
		line, sum = encode(t, sum, record(t, event.Seq(i), event.StepStarted{}))
		lines = append(lines, line)
	}
	holds := func(order ...int) bool {
		prev := event.Sum(0)
		for _, i := range order {
			said, ok := event.LineSum(lines[i])
			if !ok || said != event.ChainSum(prev, lines[i]) {
				return false
			}
			prev = said
		}
		return true
	}
	if !holds(0, 1, 2) {
		t.Fatal("the chain does not hold as it was written")
	}
	for _, order := range [][]int{{1, 0, 2}, {0, 2, 1}, {0, 0, 1}, {0, 1, 1}, {0, 2}, {1}} {
		if holds(order...) {
			t.Errorf("records in the order %v hold", order)
		}
	}
}

// proves LOG-01, LOG-05
func TestWhatThisVersionDoesNotKnowSurvives(t *testing.T) {
	const line = `{"crc":"00000000","v":1,"new":{"a":[1,"}"]},"b":4,"epoch":1,"seq":2,"time":"2030-01-02T03:04:05Z","type":"far/future","flag":true,"data":{"x":9007199254740993}}`
	r, err := event.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Extra); got != `,"new":{"a":[1,"}"]},"flag":true` {
		t.Errorf("Extra = %s", got)
	}
	body, err := r.Body()
	unknown, ok := body.(event.Unknown)
	if err != nil || !ok || unknown.Name != "far/future" || string(unknown.Data) != `{"x":9007199254740993}` {
		t.Errorf("Body = %#v, %v", body, err)
	}
	again, _ := encode(t, 0, r)
	for _, kept := range []string{`"new":{"a":[1,"}"]}`, `"flag":true`, `"data":{"x":9007199254740993}}`} {
		if !strings.Contains(string(again), kept) {
			t.Errorf("%s is lost: %s", kept, again)
		}
	}
	reread, err := event.Parse(again)
	if err != nil {
		t.Fatal(err)
	}
	third, _ := encode(t, 0, reread)
	if !bytes.Equal(third, again) {
		t.Errorf("a second round trip changes it:\n%s\n%s", again, third)
	}
	c, err := event.New(unknown, at(0))
	if err != nil || string(c.Data) != `{"x":9007199254740993}` || c.Type != "far/future" {
		t.Errorf("New(Unknown) = %+v, %v", c, err)
	}
}

// proves LOG-01
func TestWhatIsNoRecordIsRefused(t *testing.T) {
	good, _ := encode(t, 0, record(t, 0, event.StepStarted{}))
	for _, line := range []string{
		"", "{", "{}", "null", "[]", `{"crc"}`, `{"crc":}`, `{"crc":"00000000"`, string(good) + " ", string(good) + "x", string(good[:len(good)-1]),
		`{"type":"x"}`, `{"data":{}}`, `{"type":"x","data":{},`, `{"type":7,"data":{}}`, `{"type":"x","seq":"1","data":{}}`,
		`{"type":"x","seq":1e3,"data":{}}`, `{"type":"x","time":"","data":{}}`, `{"type":"x","time":1,"data":{}}`, `{"type":"x\`, `{"type":"x","data":{"a":"\`,
		`{"type":"x","epoch":-1,"data":{}}`, `{"type":"x","span":[[1]],"data":{}`,
	} {
		if r, err := event.Parse([]byte(line)); !errors.Is(err, event.ErrSyntax) {
			t.Errorf("Parse(%s) = %+v, %v; want ErrSyntax", line, r, err)
		}
	}
	for _, data := range []string{"", "{\n}"} {
		r := record(t, 0, event.StepStarted{})
		r.Data = json.RawMessage(data)
		if _, _, err := event.Encode(nil, 0, &r); err == nil {
			t.Errorf("data %q was written", data)
		}
	}
}

// A record is one line whatever a model or a command put into it.
//
// proves LOG-01, PRC-06
func TestAnyTextStaysOneLineOfValidJSON(t *testing.T) {
	for _, text := range []string{
		"two\nlines\r\n", "\u2028 and \u2029", "nul \x00\x00\x00", "half a rune \xe2\x82", "a lone surrogate \xed\xa0\x80",
		`<script>&"\`, strings.Repeat("\x1b[31m", 3), "emoji 🪂", "\ufeffbom", "\x7f\x80\xff",
	} {
		line, _ := encode(t, 0, record(t, 0, event.UserMessage{Content: event.TextOf(text)}))
		if bytes.ContainsAny(line, "\n\r\x00") || !json.Valid(line) {
			t.Errorf("%q is written as %q", text, line)
		}
		r, err := event.Parse(line)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		body, err := r.Body()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := strings.ToValidUTF8(text, "\ufffd")
		got := body.(event.UserMessage).Content.Text()
		if strings.Count(got, "\ufffd") < strings.Count(want, "\ufffd") || strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
}

// Whatever bytes a file holds, reading them neither panics nor changes what it
// understood.
//
// proves PRF-06
func FuzzParse(f *testing.F) {
	for i, k := range event.Types() {
		line, _ := encode(f, event.Sum(i), event.Record{V: 1, Type: k.Type, Data: json.RawMessage(`{"a":1}`), Time: at(i)})
		f.Add(line)
	}
	f.Add([]byte(`{"crc":"00000000","v":1,"new":{"a":[1,"}"]},"type":"far/future","data":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := event.Parse(line)
		if err != nil {
			if !errors.Is(err, event.ErrSyntax) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		_, _ = r.Body()
		out, sum, err := event.Encode(nil, 1, &r)
		if err != nil {
			return // data that spans lines
		}
		if said, ok := event.LineSum(out); !ok || said != sum || event.ChainSum(1, out) != sum {
			t.Fatalf("the sum of %q does not hold", out)
		}
		if r.Time.Year() > 9999 || bytes.ContainsAny(line, "\n") {
			return // not written by us
		}
		again, err := event.Parse(out)
		if err != nil {
			t.Fatalf("%q was written as %q, which does not parse: %v", line, out, err)
		}
		third, _, err := event.Encode(nil, 1, &again)
		if err != nil || !bytes.Equal(third, out) {
			t.Fatalf("%q\n%q: %v", out, third, err)
		}
	})
}

// proves LOG-03, LOG-04
func TestEveryTypeOfTheTableComesBackAsItself(t *testing.T) {
	seen := map[event.Type]bool{}
	for _, k := range event.Types() {
		if seen[k.Type] {
			t.Errorf("%s stands twice in the table", k.Type)
		}
		seen[k.Type] = true
		if s := k.Scope.String(); s != "session" && s != "turn" && s != "step" {
			t.Errorf("%s has the scope %s", k.Type, s)
		}
		if got, ok := event.KindOf(k.Type); !ok || got.Scope != k.Scope {
			t.Errorf("KindOf(%s) = %v, %v", k.Type, got.Scope, ok)
		}
		r := event.Record{V: 1, Type: k.Type, Data: json.RawMessage(`{}`), Time: at(0)}
		body, err := r.Body()
		if err != nil || body.Type() != k.Type {
			t.Errorf("%s decodes to %T, %v", k.Type, body, err)
			continue
		}
		made, err := event.New(body, at(0))
		if err != nil {
			t.Errorf("%s does not encode: %v", k.Type, err)
			continue
		}
		line, _ := encode(t, 0, made)
		back, err := event.Parse(line)
		if err != nil {
			t.Errorf("%s: %v", k.Type, err)
			continue
		}
		second, err := back.Body()
		if err != nil {
			t.Errorf("%s: %v", k.Type, err)
			continue
		}
		if again, err := event.New(second, at(0)); err != nil || !bytes.Equal(again.Data, made.Data) || reflect.TypeOf(second) != reflect.TypeOf(body) {
			t.Errorf("%s comes back as %T %s, %v; was %s", k.Type, second, again.Data, err, made.Data)
		}
	}
	if _, ok := event.KindOf("far/future"); ok {
		t.Error("a type that nobody wrote down is known")
	}
	bad := event.Record{Type: event.TypeTurnStarted, Seq: 9, Data: json.RawMessage(`{"turn_kind":1}`)}
	if _, err := bad.Body(); err == nil || !strings.Contains(err.Error(), "record 9") {
		t.Errorf("data that does not fit its type: %v", err)
	}
	if _, err := event.New(badPayload{}, at(0)); err == nil {
		t.Error("a payload that does not encode was taken")
	}
}

type badPayload struct{ C chan int }

func (badPayload) Type() event.Type { return "bad" }

func Example() {
	r, err := event.New(event.TurnStarted{Kind: event.TurnInput, Input: "i_1"}, time.Unix(0, 0))
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Batch, r.Epoch, r.Turn = 1, 1, 1
	line, sum, err := event.Encode(nil, 0, &r)
	fmt.Printf("%s %v\n", line, err)
	fmt.Println(event.ChainSum(0, line) == sum)
	// Output:
	// {"crc":"26a05643","v":1,"b":1,"epoch":1,"seq":0,"time":"1970-01-01T00:00:00Z","type":"turn/start","turn":1,"data":{"turn_kind":"input","input":"i_1"}} <nil>
	// true
}
