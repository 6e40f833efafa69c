package forensics_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/forensics"
)

// page is a web page of exactly n code points, with some outside the basic
// plane; two pages of any lengths share their beginning.
func page(n int) string {
	rng := rand.New(rand.NewPCG(3, 7))
	words := strings.Fields("harbour view garden quiet street bright kitchen balcony oak floor walk school market tram lift cellar 집 😀 größe")
	var b strings.Builder
	count := 0
	for i := 0; count < n; i++ {
		s := fmt.Sprintf("<article id=\"p%d\"><h2>%s %s</h2><p>%d rooms, \"%s\"</p></article>\n", i, words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(900), words[rng.IntN(len(words))])
		b.WriteString(s)
		count += utf8.RuneCountInString(s)
	}
	r := []rune(b.String())
	r[n-1] = '>'
	return string(r[:n])
}

// story are the three cuts of the published incident.
var story = []struct {
	runes int
	end   time.Time
}{
	{30_807, time.Date(2026, 3, 2, 8, 1, 0, 0, time.UTC)},
	{30_806, time.Date(2026, 3, 2, 8, 6, 0, 0, time.UTC)},
	{30_807, time.Date(2026, 3, 2, 8, 13, 0, 0, time.UTC)},
}

const silent = 120 * time.Second

type object = map[string]any

func line(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

func piStory() string {
	var b strings.Builder
	b.WriteString(line(object{"type": "session", "version": 3, "id": "one", "timestamp": stamp(story[0].end.Add(-time.Hour)), "cwd": "/w"}))
	for i, s := range story {
		began := s.end.Add(-silent)
		b.WriteString(line(object{"type": "message", "id": fmt.Sprint("u", i), "timestamp": stamp(began.Add(-time.Second)), "message": object{"role": "user", "content": "write the page", "timestamp": began.UnixMilli() - 1000}}))
		b.WriteString(line(object{"type": "message", "id": fmt.Sprint("a", i), "timestamp": stamp(s.end), "message": object{
			"role": "assistant", "provider": "zai", "model": "glm", "stopReason": "aborted", "errorMessage": "Operation aborted", "timestamp": began.UnixMilli(),
			"usage":   object{"input": 0, "output": 0, "totalTokens": 0},
			"content": []any{object{"type": "thinking", "thinking": "A page of cards."}, object{"type": "toolCall", "id": "c1", "name": "write", "arguments": object{"content": page(s.runes), "path": "page.html"}}},
		}}))
	}
	return b.String()
}

func claudeStory() string {
	var b strings.Builder
	for i, s := range story {
		id := fmt.Sprint("msg_", i)
		b.WriteString(line(object{"type": "user", "uuid": fmt.Sprint("u", i), "sessionId": "one", "timestamp": stamp(s.end.Add(-silent - time.Minute)), "message": object{"role": "user", "content": "write the page"}}))
		b.WriteString(line(object{"type": "assistant", "uuid": fmt.Sprint("a", i), "sessionId": "one", "timestamp": stamp(s.end.Add(-silent)), "message": object{
			"id": id, "role": "assistant", "model": "claude-x", "stop_reason": nil, "usage": object{"input_tokens": 12, "output_tokens": 0},
			"content": []any{object{"type": "tool_use", "id": fmt.Sprint("t", i), "name": "Write", "input": object{"file_path": "page.html", "zcontent": page(s.runes)}}},
		}}))
		b.WriteString(line(object{"type": "user", "uuid": fmt.Sprint("i", i), "sessionId": "one", "timestamp": stamp(s.end), "message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user]"}}}}))
	}
	return b.String()
}

// cutArgs are arguments whose content was cut after n code points.
func cutArgs(n int) string {
	whole := strings.TrimSuffix(line(object{"content": page(n), "path": ""}), "\n")
	return strings.TrimSuffix(whole, `","path":""}`)
}

func codexStory() string {
	var b strings.Builder
	b.WriteString(line(object{"timestamp": stamp(story[0].end.Add(-time.Hour)), "type": "session_meta", "payload": object{"id": "one", "cwd": "/w", "model_provider": "zai"}}))
	for i, s := range story {
		at := stamp(s.end.Add(-silent))
		b.WriteString(line(object{"timestamp": at, "type": "turn_context", "payload": object{"model": "glm"}}))
		b.WriteString(line(object{"timestamp": at, "type": "event_msg", "payload": object{"type": "user_message", "message": "write the page"}}))
		b.WriteString(line(object{"timestamp": at, "type": "response_item", "payload": object{"type": "function_call", "name": "write", "call_id": fmt.Sprint("c", i), "arguments": cutArgs(s.runes)}}))
		b.WriteString(line(object{"timestamp": stamp(s.end), "type": "event_msg", "payload": object{"type": "turn_aborted", "reason": "replaced"}}))
	}
	return b.String()
}

// journal writes records as our journals have them.
type journal struct {
	b   strings.Builder
	sum event.Sum
	seq event.Seq
	t   *testing.T
}

func (j *journal) add(at time.Time, turn int, call event.CallID, p event.Payload, marks ...event.Mark) {
	j.t.Helper()
	r, err := event.New(p, at)
	if err != nil {
		j.t.Fatal(err)
	}
	r.Batch, r.Epoch, r.Seq, r.Turn, r.Call, r.Span = 1, 1, j.seq, turn, call, marks
	if turn > 0 {
		r.Step = 1
	}
	var raw []byte
	if raw, j.sum, err = event.Encode(nil, j.sum, &r); err != nil {
		j.t.Fatal(err)
	}
	j.seq++
	j.b.Write(raw)
	j.b.WriteByte('\n')
}

func (j *journal) cutTurn(n int, end time.Time, runes int, reason string) {
	in, out := int64(900), int64(0)
	sent := end.Add(-silent - 40*time.Second)
	j.add(sent, n, "", event.TurnStarted{Kind: event.TurnInput, Input: "i_1"})
	j.add(sent, n, "", event.InboxClaimed{ID: event.InputID(fmt.Sprint("i_", n))})
	j.add(sent, n, "", event.StepStarted{})
	j.add(sent, n, "", event.ModelRequest{Attempt: 1})
	args := cutArgs(runes)
	half := len(args) / 2
	for !utf8.RuneStart(args[half]) {
		half++
	}
	j.add(sent, n, "", event.Chunk{Attempt: 1, Block: 1, Kind: event.ChunkArgs, Call: "c_1", Name: "write", Text: args[:half]}, event.Mark{Off: 0, MS: 0}, event.Mark{Off: 9, MS: 700})
	j.add(end.Add(-silent-10*time.Second), n, "", event.Chunk{Attempt: 1, Block: 1, Kind: event.ChunkArgs, Text: args[half:]}, event.Mark{Off: 0, MS: 0}, event.Mark{Off: 9, MS: 10_000})
	j.add(end, n, "", event.UsageCounted{Attempt: 1, Tokens: event.Tokens{Input: &in, Output: &out}})
	j.add(end, n, "", event.AssistantMessage{Attempt: 1, Partial: true})
	j.add(end, n, "", event.GuardVerdict{Guard: "stall", Verdict: "ok", Facts: []byte(`{"cut":{"silence_ms":120000}}`)})
	j.add(end, n, "", event.StepEnded{})
	outcome := event.TurnStalled
	if reason != "" {
		outcome = event.TurnAborted
	}
	j.add(end, n, "", event.TurnEnded{Outcome: outcome, Reason: reason})
}

func ourStory(t *testing.T) string {
	j := &journal{t: t}
	j.add(story[0].end.Add(-time.Hour), 0, "", event.SessionOpened{ID: "s_1"})
	j.add(story[0].end.Add(-time.Hour), 0, "", event.ModelConfig{Provider: "zai", Model: "glm"})
	for i, s := range story {
		j.cutTurn(i+1, s.end, s.runes, "")
	}
	return j.b.String()
}

func replay(t *testing.T, in string, o forensics.Options) (forensics.Report, string) {
	t.Helper()
	r, err := forensics.Replay(strings.NewReader(in), o)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.Print(&out, "file"); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// proves GRD-08, GRD-04, GRD-02, GRD-05, GRD-10
func TestTheStoryOfThreeCutsIsToldAlikeFromEveryKindOfTranscript(t *testing.T) {
	for _, c := range []struct {
		kind  forensics.Kind
		in    string
		exact bool
		wake  guard.WakeDecision
		usage string
		unit  string
	}{
		{forensics.Pi, piStory(), false, guard.Wake, "unknown: 0 output tokens are recorded", "UTF-16 units"},
		{forensics.Claude, claudeStory(), false, guard.WakeByPerson, "unknown: 0 output tokens are recorded", "UTF-16 units"},
		{forensics.Codex, codexStory(), false, guard.Wake, "unknown: none is recorded", "bytes"},
		{forensics.Ripcord, ourStory(t), true, guard.Wake, "unknown: 0 output tokens are recorded", "bytes"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			r, out := replay(t, c.in, forensics.Options{})
			if r.Kind != c.kind || r.Found != 3 || len(r.Aborts) != 3 || len(r.Notes) != 0 {
				t.Fatalf("%s, %d aborts, notes %q\n%s", r.Kind, r.Found, r.Notes, out)
			}
			for i, a := range r.Aborts {
				if a.Cut.Argument != story[i].runes || !strings.EqualFold(a.Cut.Tool, "write") || a.Unit != c.unit || a.Argument <= a.Cut.Argument {
					t.Errorf("abort %d is cut in %q at %d (%d %s), want %d", i+1, a.Cut.Tool, a.Cut.Argument, a.Argument, a.Unit, story[i].runes)
				}
				if a.Silence == nil || a.Silence.MS != silent.Milliseconds() || a.Silence.Exact != c.exact || a.Timer == nil || a.Timer.LimitMS != 120_000 {
					t.Errorf("abort %d: silence %+v, timer %+v", i+1, a.Silence, a.Timer)
				}
				if a.Stall != guard.Stalled || a.Sure != c.exact || a.Wake != c.wake || !a.Time.Equal(story[i].end) {
					t.Errorf("abort %d at %v: %s (sure %v), %s", i+1, a.Time, a.Stall, a.Sure, a.Wake)
				}
				if a.Usage.Known != "unknown" || a.SameAs != i {
					t.Errorf("abort %d: usage %+v, same place as %d, want %d", i+1, a.Usage, a.SameAs, i)
				}
				for _, ch := range a.Channels {
					if ch.Repeat != nil || ch.Probe.Fires {
						t.Errorf("abort %d: a guard that was innocent is accused: %+v", i+1, ch)
					}
				}
			}
			for _, want := range []string{
				"argument 30807 of 16384", "argument 30806 of 16384", "120.0 s", "the stream was already dead, or a person pressed at that moment",
				" of 30, innocent", "innocent: nothing repeats itself in 30807 code points", "same 0 of 10", c.usage, "same place   as abort 2", "a deterministic stall",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("the text does not say %q", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
