package scripted_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/modeltest"
	"github.com/ripcord-go/ripcord/model/openai"
	"github.com/ripcord-go/ripcord/model/scripted"
)

// onEachWire asks a script once on each wire, each time anew.
func onEachWire(t *testing.T, script string, look func(wire string, a modeltest.Answer)) {
	t.Helper()
	for wire, dial := range map[string]func(url string) (model.Model, func() error, error){
		"chat completions": func(url string) (model.Model, func() error, error) {
			m, err := openai.New(openai.Config{BaseURL: url, Model: "scripted"})
			return m, m.Close, err
		},
		"responses": func(url string) (model.Model, func() error, error) {
			m, err := openai.NewResponses(openai.Config{BaseURL: url, Model: "scripted"})
			return m, m.Close, err
		},
		"messages": func(url string) (model.Model, func() error, error) {
			m, err := anthropic.New(anthropic.Config{BaseURL: url, Model: "scripted"})
			return m, m.Close, err
		},
	} {
		srv := start(t, script, scripted.Options{})
		m, end, err := dial(srv.URL())
		if err != nil {
			t.Fatal(err)
		}
		look(wire, modeltest.Ask(t.Context(), m, model.Request{
			Messages: []event.Message{{Role: event.RoleUser, Content: event.TextOf("go")}},
			Tools:    []event.ToolSchema{{Name: "write", Schema: json.RawMessage(`{"type":"object"}`)}}}))
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// proves MOD-04: what is repeated says which time it is; a shell's ${n} outside
// of a repetition is left alone.
func TestARepetitionKnowsItsNumber(t *testing.T) {
	onEachWire(t, "answer\n  repeat 3 text \"${n} of ${calls}; \"\n  T'(${n}' T')' x 2\n  (T'<${n}>' x 2 T'${n}') x 2\n  call write c1 {\"a\":\"${n}\"}\n  end\n  finish tool\n",
		func(wire string, a modeltest.Answer) {
			if want := "1 of 0; 2 of 0; 3 of 0; (${n}))<1><2>1<1><2>2"; a.Err != nil || a.Text != want || len(a.Calls) != 1 || a.Calls[0].Args != `{"a":"${n}"}` {
				t.Errorf("%s: %v %q %+v, want %q", wire, a.Err, a.Text, a.Calls, want)
			}
		})
}

// proves MOD-04, GRD-05: prose is the same each time, varies, and is no loop.
func TestProseVariesAndIsTheSameEachTime(t *testing.T) {
	var first string
	onEachWire(t, "answer\n  prose 700\n  prose 300 0s\n  text ${prose 200000}\n  finish stop\n", func(wire string, a modeltest.Answer) {
		if first == "" {
			first = a.Text
		}
		if n := len(strings.Fields(a.Text)); a.Err != nil || n < 30000 || a.Text != first {
			t.Fatalf("%s: %v, %d words", wire, a.Err, n)
		}
	})
	different := map[string]bool{}
	for _, w := range strings.Fields(first) {
		different[strings.ToLower(strings.Trim(w, ".,"))] = true
	}
	if len(different) < 200 {
		t.Errorf("%d different words", len(different))
	}
	g := guard.NewLoop(guard.LoopLimits{})
	if r, found := g.Feed(first); found {
		t.Errorf("it is taken for a loop: %+v", r)
	}
	for _, bad := range []string{"prose", "prose many", "prose 3 soon", "prose 3 1s more"} {
		if _, err := scripted.Parse("answer\n  " + bad + "\n"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// proves MOD-04, GRD-02: an argument of 30,806 characters comes through each
// wire, in one line of the script, written out or asked for.
func TestALongArgumentComesThroughEachWire(t *testing.T) {
	const long = 30806
	written := strings.Repeat("héllo ", long/6+1)
	written = string([]rune(written)[:long])
	for _, text := range []string{written, fmt.Sprintf("${prose %d}", long)} {
		onEachWire(t, "answer\n  call write c1\n  args {\"path\":\"a.txt\",\"content\":\""+text+"\"}\n  end\n  usage 10 9000\n  finish tool\n", func(wire string, a modeltest.Answer) {
			if a.Err != nil || len(a.Calls) != 1 {
				t.Fatalf("%s: %v, %d calls", wire, a.Err, len(a.Calls))
			}
			var args struct{ Content string }
			if err := json.Unmarshal([]byte(a.Calls[0].Args), &args); err != nil || utf8.RuneCountInString(args.Content) != long {
				t.Errorf("%s: %v, %d characters", wire, err, utf8.RuneCountInString(args.Content))
			}
		})
	}
}

// proves GRD-05: the demo's long answer is no loop.
func TestTheDemosLongAnswerIsNoLoop(t *testing.T) {
	var long string
	for line := range strings.Lines(scripted.CoderText) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "repeat 40 type 60ms "); ok {
			long = rest
		}
	}
	onEachWire(t, "answer\n  repeat 40 text "+long+"\n  finish stop\n", func(wire string, a modeltest.Answer) {
		g := guard.NewLoop(guard.LoopLimits{})
		if r, found := g.Feed(a.Text); found || strings.Count(a.Text, "forty") != 40 {
			t.Errorf("%s: %v %+v", wire, found, r)
		}
	})
}
