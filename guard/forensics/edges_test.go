package forensics_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/forensics"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// piCut is a session of one message that was cut after it had lasted d.
func piCut(d time.Duration, content ...any) string {
	return line(object{"type": "session", "id": "x", "cwd": "/", "timestamp": stamp(noon)}) +
		line(object{"type": "message", "timestamp": stamp(noon.Add(d)), "message": object{"role": "assistant", "provider": "p", "model": "m", "stopReason": "aborted", "timestamp": noon.UnixMilli(), "content": content}})
}

func toolCall(tool, content string) object {
	return object{"type": "toolCall", "id": "c", "name": tool, "arguments": object{"content": content}}
}

// proves GRD-08, GRD-02
func TestAnUpperBoundOfTheSilenceIsCalledOneAndAnUnknownOneUnknown(t *testing.T) {
	big := toolCall("write", page(20_000))
	for _, c := range []struct {
		name string
		in   string
		want guard.StallVerdict
		sure bool
		say  string
	}{
		{"short: the stream was active for sure", piCut(14_999*time.Millisecond, big), guard.StreamActive, true, "at most 14.9 s, since the message's start"},
		{"long: it may have been a stall", piCut(15*time.Second, big), guard.Stalled, false, "if nothing came in all that time"},
		{"no times", strings.ReplaceAll(piCut(time.Minute, big), "timestamp", "when"), guard.Stalled, false, "the file has no times for it"},
		{"too small, whatever the silence", piCut(time.Minute, toolCall("write", "short")), guard.ArgTooSmall, true, "argument 5 of 16384"},
		{"in text", piCut(time.Minute, object{"type": "text", "text": page(20_000)}), guard.NoToolCall, true, "cut          in text: 20000 code points"},
		{"nothing came", piCut(time.Minute), guard.NoToolCall, true, "what was streaming is not in the file"},
	} {
		r, out := replay(t, c.in, forensics.Options{})
		if len(r.Aborts) != 1 {
			t.Fatalf("%s: %d aborts\n%s", c.name, len(r.Aborts), out)
		}
		if a := r.Aborts[0]; a.Stall != c.want || a.Sure != c.sure || !strings.Contains(out, c.say) {
			t.Errorf("%s: %s, sure %v, want %s, %v, %q\n%s", c.name, a.Stall, a.Sure, c.want, c.sure, c.say, out)
		}
	}
}

// proves GRD-08
func TestASilenceWithinOnePercentOfAnIdleLimitIsItsTimersSignature(t *testing.T) {
	for _, c := range []struct {
		silence time.Duration
		idle    []time.Duration
		limit   time.Duration
	}{
		{120 * time.Second, nil, 120 * time.Second}, {118_800 * time.Millisecond, nil, 120 * time.Second}, {121_200 * time.Millisecond, nil, 120 * time.Second},
		{118_799 * time.Millisecond, nil, 0}, {121_201 * time.Millisecond, nil, 0}, {40 * time.Second, nil, 0}, {0, nil, 0},
		{300 * time.Second, nil, 300 * time.Second}, {90 * time.Second, nil, 0}, {90 * time.Second, []time.Duration{0, 90 * time.Second}, 90 * time.Second},
	} {
		r, out := replay(t, piCut(c.silence, toolCall("write", "x")), forensics.Options{Idle: c.idle})
		got := time.Duration(0)
		if timer := r.Aborts[0].Timer; timer != nil {
			got = time.Duration(timer.LimitMS) * time.Millisecond
		}
		if got != c.limit || (got != 0) != strings.Contains(out, "or a person pressed at that moment") {
			t.Errorf("%v: the timer is %v, want %v\n%s", c.silence, got, c.limit, out)
		}
	}
}

// proves GRD-08
func TestWhatCannotBeReadIsASentenceWithItsLineAndNothingElseIsLost(t *testing.T) {
	cut := strings.SplitAfter(piCut(time.Minute, toolCall("write", page(100))), "\n")
	in := cut[0] + // 1
		"garbage that is no JSON\n" + // 2
		"\x00\x00\x00\x00\n" + // 3
		`{"type":"message","message":{"role":"assis` + "\n" + // 4
		line(object{"type": "message", "message": object{"role": "assistant", "content": 7}}) + // 5
		line(object{"type": "message", "message": object{"role": 7}}) + // 6
		line(object{"type": "message"}) + // 7
		line([]any{1, 2}) + // 8
		"\n" + // 9
		line(object{"type": "of_a_later_version", "anything": 1}) + // 10
		line(object{"type": "message", "message": object{"role": "assistant", "content": []any{object{"type": "toolCall", "name": []any{}}}}}) + // 11
		cut[1] + // 12
		`{"type":"message","mess` // 13, the file ends
	r, out := replay(t, in, forensics.Options{})
	if r.Found != 1 || r.Aborts[0].Line != 12 || r.Lines != 13 || r.Bytes != int64(len(in)) {
		t.Errorf("%d aborts, %d lines, %d bytes of %d\n%s", r.Found, r.Lines, r.Bytes, len(in), out)
	}
	want := []string{
		"line 2: no JSON", "line 3: 4 NUL bytes", "line 4: no JSON", "line 5: its message.content is of another type (number)", "line 6: its message.role is of another type (number)",
		"line 7: an entry of type message without one", "line 8: it is of another type (array)", "line 11: its message.content.name is of another type (array)", "line 13: cut in the middle",
	}
	if len(r.Notes) != len(want) {
		t.Fatalf("%d notes, want %d: %q", len(r.Notes), len(want), r.Notes)
	}
	for i, w := range want {
		if !strings.HasPrefix(r.Notes[i], w) || !strings.HasSuffix(r.Notes[i], "left out") {
			t.Errorf("note %d: %q, want %q", i, r.Notes[i], w)
		}
	}
}

// proves GRD-08
func TestAnUnknownToolsTranscriptIsMeasuredAsTextAndSaidToBeUnknown(t *testing.T) {
	in := strings.Repeat(line(object{"event": "delta", "role": "assistant", "text": "hi"}), 20)
	r, out := replay(t, in, forensics.Options{})
	if r.Kind != forensics.Text || len(r.Notes) != 1 || !strings.Contains(out, "line 1: a record of a tool that is not known here") {
		t.Errorf("%s, %q", r.Kind, r.Notes)
	}
	if r.Artifact == nil || r.Artifact.Runes != int64(len(in)) {
		t.Errorf("%+v", r.Artifact)
	}
	for _, plain := range []string{"", "\n", "hello\n", "{}", `{"name":"package.json","version":"1"}`, "[1,2]\n", "{\n \"a\": 1\n}\n"} {
		if r, _ := replay(t, plain, forensics.Options{}); r.Kind != forensics.Text || len(r.Notes) != 0 || r.Bytes != int64(len(plain)) {
			t.Errorf("%q is %s with %q, %d bytes", plain, r.Kind, r.Notes, r.Bytes)
		}
	}
}

// proves GRD-08
func TestTheKindIsToldFromTheContentBehindABrokenBeginning(t *testing.T) {
	for kind, in := range map[forensics.Kind]string{forensics.Pi: piStory(), forensics.Codex: codexStory(), forensics.Claude: claudeStory(), forensics.Ripcord: ourStory(t)} {
		for _, before := range []string{"\xef\xbb\xbf", "\n\n", "a line that is no JSON\n", "{\"cut\":\n"} {
			r, out := replay(t, before+in, forensics.Options{})
			if r.Kind != kind || r.Found != 3 {
				t.Errorf("%s behind %q: %s with %d aborts\n%.300s", kind, before, r.Kind, r.Found, out)
			}
		}
	}
}

// long gives parts one after another, n times the last.
type long struct {
	parts []string
	n     int
	at    strings.Reader
	peak  uint64
	reads int
}

func (l *long) Read(p []byte) (int, error) {
	if l.reads++; l.reads%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		l.peak = max(l.peak, m.HeapAlloc)
	}
	for l.at.Len() == 0 {
		switch {
		case len(l.parts) > 1:
			l.at.Reset(l.parts[0])
			l.parts = l.parts[1:]
		case l.n > 0:
			l.n--
			l.at.Reset(l.parts[0])
		default:
			return 0, io.EOF
		}
	}
	return l.at.Read(p)
}

// proves GRD-08
func TestALongTranscriptIsReadInBoundedMemory(t *testing.T) {
	turn := line(object{"type": "message", "timestamp": stamp(noon), "message": object{"role": "assistant", "stopReason": "toolUse", "provider": "p", "model": "m", "content": []any{toolCall("write", page(8000))}}}) +
		line(object{"type": "message", "timestamp": stamp(noon), "message": object{"role": "toolResult", "toolCallId": "c", "content": []any{object{"type": "text", "text": page(6000)}}}}) +
		line(object{"type": "message", "timestamp": stamp(noon), "message": object{"role": "user", "content": "go on"}})
	cut := strings.SplitAfter(piCut(time.Minute, toolCall("write", page(2000))), "\n")
	const size = 24 << 20
	in := &long{parts: []string{cut[0], strings.Repeat(cut[1], 3), turn}, n: size / len(turn)}
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // what is garbage, of other tests too, is not counted for long, on however many processors
	runtime.GC()
	r, err := forensics.Replay(in, forensics.Options{})
	if err != nil || r.Found != 3 || r.Bytes < size-int64(2*len(turn)) || len(r.Notes) != 0 {
		t.Fatalf("%v, %d aborts, %d bytes, %q", err, r.Found, r.Bytes, r.Notes)
	}
	if len(r.Largest) != 1 || r.Largest[0].Argument != 8000 {
		t.Errorf("the longest argument that came through: %+v", r.Largest)
	}
	if in.peak > 20<<20 {
		t.Errorf("%d MiB were held for %d MiB", in.peak>>20, r.Bytes>>20)
	}
}

// proves GRD-08
func TestALineOverTheBoundIsSkippedAndSaid(t *testing.T) {
	cut := strings.SplitAfter(piCut(time.Minute, toolCall("write", page(2000))), "\n")
	in := &long{parts: []string{cut[0], `{"type":"message","x":"`, strings.Repeat("x", forensics.MaxLine), "\"}\n", cut[1]}, n: 1}
	r, err := forensics.Replay(in, forensics.Options{})
	if err != nil || r.Found != 1 || len(r.Notes) != 1 || r.Notes[0] != "line 2: longer than 64 MiB; skipped" || r.Aborts[0].Line != 3 {
		t.Errorf("%v, %d aborts, %q", err, r.Found, r.Notes)
	}
}

// proves GRD-08
func TestFindingsAreBoundedAndCounted(t *testing.T) {
	cut := strings.SplitAfter(piCut(time.Minute, object{"type": "text", "text": "x"}), "\n")
	r, out := replay(t, cut[0]+strings.Repeat(cut[1], 1200)+strings.Repeat("garbage\n", 300), forensics.Options{})
	if r.Found != 1200 || len(r.Aborts) != forensics.MaxAborts || len(r.Notes) != 100 || r.LeftOut != 200 {
		t.Errorf("%d of %d aborts, %d notes and %d more", len(r.Aborts), r.Found, len(r.Notes), r.LeftOut)
	}
	if !strings.Contains(out, "200 more aborts are counted only") || !strings.Contains(out, "200 more lines could not be read") {
		t.Error("what is left out is not said")
	}
}

type broken struct{ r io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == io.EOF {
		err = errors.New("the disk is gone")
	}
	return n, err
}

// proves GRD-08
func TestAnInputThatFailsIsAnErrorWithWhatWasReadBeforeIt(t *testing.T) {
	big := strings.Repeat("some words of an artifact\n", 100_000)
	r, err := forensics.Replay(broken{strings.NewReader(big)}, forensics.Options{})
	if err == nil || !strings.Contains(err.Error(), "the disk is gone") || r.Artifact == nil || r.Artifact.Runes == 0 {
		t.Errorf("%v, %+v", err, r.Artifact)
	}
	if _, err := forensics.Replay(broken{strings.NewReader("")}, forensics.Options{}); err == nil {
		t.Error("an input that fails at once is no error")
	}
}

// proves GRD-08, GRD-05, GRD-10
func TestAnArtifactIsMeasuredWhereverItsBytesAreDivided(t *testing.T) {
	for _, pad := range []int{0, 1, 2, 3} {
		in := strings.Repeat("x", pad) + strings.Repeat("😀é", 40_000)
		r, _ := replay(t, in, forensics.Options{})
		if a := r.Artifact; a.Runes != int64(pad+80_000) || a.UTF16 != int64(pad+120_000) || a.Invalid != 0 {
			t.Errorf("%d before it: %+v", pad, a)
		}
	}
	r, out := replay(t, "a\xff\xfeb\x00c"+"\xf0\x9f\x98", forensics.Options{})
	if a := r.Artifact; a.Runes != 9 || a.Invalid != 5 || a.NULs != 1 || !strings.Contains(out, "5 bytes are no UTF-8") || !strings.Contains(out, "1 NUL bytes") {
		t.Errorf("%+v\n%s", a, out)
	}
	rows := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf("<tr><td>%d %d</td></tr></table>\n", i, i*i)
		}
		return s
	}
	for _, n := range []int{2, 18, 29} {
		if _, out := replay(t, page(5000)+rows(n), forensics.Options{}); !strings.Contains(out, fmt.Sprintf("probe repeated %d of 30, innocent", n)) {
			t.Errorf("%d rows:\n%s", n, out)
		}
	}
	if _, out := replay(t, page(5000)+rows(30), forensics.Options{}); !strings.Contains(out, "probe repeated 30 of 30, fires") {
		t.Errorf("30 rows:\n%s", out)
	}
	r, out = replay(t, page(500)+strings.Repeat("I will now write the file again. ", 3000), forensics.Options{})
	if r.Artifact.Channel.Repeat == nil || !strings.Contains(out, "repetition: period 33") {
		t.Errorf("what repeats itself is innocent:\n%s", out)
	}
}

// proves GRD-08, GRD-06
func TestWhereCallsWentRoundIsToldWithItsLine(t *testing.T) {
	in := line(object{"type": "session", "id": "x", "cwd": "/", "timestamp": stamp(noon)}) + line(object{"type": "message", "message": object{"role": "user", "content": "x"}})
	step := func(id string, failed bool) string {
		return line(object{"type": "message", "message": object{"role": "assistant", "stopReason": "toolUse", "content": []any{object{"type": "toolCall", "id": id, "name": "bash", "arguments": object{"command": "make " + id}}}}}) +
			line(object{"type": "message", "message": object{"role": "toolResult", "toolCallId": id, "isError": failed, "content": "no " + id}})
	}
	r, out := replay(t, in+step("a", true)+step("b", false)+step("c", true)+step("d", true)+step("e", true), forensics.Options{})
	if len(r.Loops) != 1 || r.Loops[0].Kind != "failing" || r.Loops[0].Count != 3 || !strings.Contains(out, "calls go round: failing, 3") {
		t.Errorf("%+v\n%s", r.Loops, out)
	}
	codexStep := func(id, output string) string {
		return line(object{"type": "response_item", "payload": object{"type": "function_call", "name": "shell", "call_id": id, "arguments": `{"n":"` + id + `"}`}}) +
			line(object{"type": "response_item", "payload": object{"type": "function_call_output", "call_id": id, "output": output}})
	}
	ran, broke := "", ""
	for i := range 4 {
		ran += codexStep(fmt.Sprint(i), fmt.Sprintf(`{"output":"no %d","success":false,"metadata":{"exit_code":1}}`, i))
		broke += codexStep(fmt.Sprint(i), fmt.Sprintf(`{"output":"no %d","success":false}`, i))
	}
	if r, _ := replay(t, ran, forensics.Options{}); r.Kind != forensics.Codex || len(r.Loops) != 0 {
		t.Errorf("commands that came to an exit code failed as calls: %+v", r.Loops)
	}
	if r, _ := replay(t, broke, forensics.Options{}); len(r.Loops) != 1 || r.Loops[0].Kind != "failing" {
		t.Errorf("calls that failed: %+v", r.Loops)
	}
	same := ""
	for range 12 {
		same += step("a", false)
	}
	r, _ = replay(t, in+same, forensics.Options{})
	if len(r.Loops) != 1 || r.Loops[0].Kind != "same" || r.Loops[0].Line != 23 {
		t.Errorf("%+v", r.Loops)
	}
}

// proves GRD-08
func TestAStopOfCallsThatRanIsNoCutOfAStream(t *testing.T) {
	codexHead := line(object{"timestamp": stamp(noon), "type": "session_meta", "payload": object{"id": "x"}})
	call := line(object{"timestamp": stamp(noon), "type": "response_item", "payload": object{"type": "function_call", "name": "shell", "call_id": "c", "arguments": `{"command":["sleep","90"]}`}})
	output := line(object{"timestamp": stamp(noon), "type": "response_item", "payload": object{"type": "function_call_output", "call_id": "c", "output": "aborted by user after 3.1s"}})
	abort := line(object{"timestamp": stamp(noon.Add(3 * time.Second)), "type": "event_msg", "payload": object{"type": "turn_aborted", "reason": "interrupted"}})
	claudeCall := line(object{"type": "assistant", "uuid": "a", "sessionId": "x", "message": object{"id": "m", "role": "assistant", "model": "c", "content": []any{object{"type": "tool_use", "id": "t", "name": "Bash", "input": object{"command": "sleep 90"}}}}})
	claudeStop := line(object{"type": "user", "uuid": "u", "sessionId": "x", "message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user for tool use]"}}}})
	for name, in := range map[string]string{"codex, no result": codexHead + call + abort, "codex, stopped result": codexHead + call + output + abort, "claude": claudeCall + claudeStop} {
		r, out := replay(t, in, forensics.Options{})
		if r.Found != 1 || r.Aborts[0].Stall != guard.NotAborted || !r.Aborts[0].ByPerson || !strings.Contains(out, "no stream: the answer had come to its end") {
			t.Errorf("%s: %s", name, out)
		}
	}
	r, out := replay(t, codexHead+abort, forensics.Options{})
	if r.Found != 1 || r.Aborts[0].Kept || r.Aborts[0].Stall != guard.NoToolCall || !strings.Contains(out, "what was streaming is not in the file") {
		t.Errorf("a stream that was not kept: %s", out)
	}
	if err := r.Script(io.Discard); !errors.Is(err, forensics.ErrNoCut) {
		t.Errorf("its script: %v", err)
	}
}

// proves GRD-08, GRD-02
func TestARowOfWakesEndsAndCoolsDownAsItWouldHave(t *testing.T) {
	cut := func(at time.Duration) string {
		return line(object{"type": "message", "timestamp": stamp(noon.Add(at)), "message": object{"role": "assistant", "provider": "p", "model": "m", "stopReason": "aborted", "timestamp": noon.Add(at - 20*time.Second).UnixMilli(), "content": []any{toolCall("write", page(17_000))}}})
	}
	person := line(object{"type": "message", "message": object{"role": "user", "content": "go on"}})
	done := line(object{"type": "message", "message": object{"role": "assistant", "stopReason": "stop", "content": "done"}})
	in := person + cut(0) + cut(29*time.Second) + cut(60*time.Second) + cut(120*time.Second) + cut(200*time.Second) + person + cut(300*time.Second) + done + cut(400*time.Second)
	r, out := replay(t, in, forensics.Options{})
	want := []guard.WakeDecision{guard.Wake, guard.WakeCooldown, guard.Wake, guard.Wake, guard.WakeLimit, guard.Wake, guard.Wake}
	if len(r.Aborts) != len(want) {
		t.Fatal(out)
	}
	for i, w := range want {
		if r.Aborts[i].Wake != w {
			t.Errorf("abort %d: %s, want %s (%+v)", i+1, r.Aborts[i].Wake, w, r.Aborts[i].Facts)
		}
	}
	if r.Aborts[5].Facts.InRow != 0 || r.Aborts[6].Facts.InRow != 0 {
		t.Error("a person's input or a completed turn does not end the row")
	}
	off, _ := replay(t, in, forensics.Options{Off: true})
	if off.Aborts[0].Wake != guard.WakeOff {
		t.Errorf("switched off: %s", off.Aborts[0].Wake)
	}
}

// proves GRD-08, GRD-01
func TestOurOwnJournalSaysWhoStoppedIt(t *testing.T) {
	j := &journal{t: t}
	j.add(noon, 0, "", event.SessionOpened{ID: "s_1"})
	j.cutTurn(1, noon, 17_000, "USER_SIGINT")
	j.cutTurn(2, noon.Add(time.Hour), 17_000, "SYSTEM_SHUTDOWN")
	// A stall that was asked again and came through, then a call that was stopped.
	at := noon.Add(2 * time.Hour)
	j.add(at, 3, "", event.TurnStarted{Kind: event.TurnInput})
	j.add(at, 3, "", event.ModelRequest{Attempt: 1})
	j.add(at.Add(90*time.Second), 3, "", event.GuardVerdict{Guard: "stall", Verdict: "no-tool-call", Facts: []byte(`{"decision":"off","limit":7}`)})
	j.add(at.Add(90_100*time.Millisecond), 3, "", event.AttemptFailed{Attempt: 1, Error: event.Failure{Code: event.FailStall, Message: "silent"}})
	j.add(at.Add(91*time.Second), 3, "", event.ModelRequest{Attempt: 2})
	j.add(at.Add(92*time.Second), 3, "", event.AssistantMessage{Attempt: 2, Finish: event.FinishTools})
	j.add(at.Add(92*time.Second), 3, "c_1", event.CallRequested{Name: "bash", Args: []byte(`{"command":"sleep 90"}`)})
	j.add(at.Add(99*time.Second), 3, "c_1", event.CallEnded{Outcome: event.CallStopped, Error: true})
	j.add(at.Add(99*time.Second), 3, "", event.TurnEnded{Outcome: event.TurnAborted, Reason: "USER_SIGINT"})
	// An answer that the loop guard stopped, told in two records.
	j.add(at.Add(2*time.Minute), 4, "", event.TurnStarted{Kind: event.TurnInput})
	j.add(at.Add(2*time.Minute), 4, "", event.ModelRequest{Attempt: 1})
	again := strings.Repeat("I will now write the file again. ", 400)
	j.add(at.Add(2*time.Minute), 4, "", event.Chunk{Attempt: 1, Kind: event.ChunkText, Text: again}, event.Mark{Off: 0, MS: 0}, event.Mark{Off: 9, MS: 500})
	j.add(at.Add(2*time.Minute+time.Second), 4, "", event.GuardVerdict{Guard: "loop", Verdict: "repetition"})
	j.add(at.Add(2*time.Minute+2*time.Second), 4, "", event.AttemptFailed{Attempt: 1, Error: event.Failure{Code: event.FailLoop, Message: "again"}})
	j.add(at.Add(2*time.Minute+2*time.Second), 4, "", event.AssistantMessage{Attempt: 1, Content: event.TextOf("I will"), Finish: event.FinishRepeat, Partial: true})
	j.add(at.Add(2*time.Minute+2*time.Second), 4, "", event.TurnEnded{Outcome: event.TurnLooped})
	r, out := replay(t, j.b.String(), forensics.Options{})
	if r.Found != 5 || len(r.Notes) != 0 {
		t.Fatalf("%d aborts, %q\n%s", r.Found, r.Notes, out)
	}
	a := r.Aborts
	if a[0].Wake != guard.WakeByPerson || a[1].Wake != guard.Wake || a[1].ByPerson || len(a[0].Recorded) != 1 || a[0].Recorded[0].Verdict != "ok" {
		t.Errorf("%+v\n%+v", a[0], a[1])
	}
	if a[2].Silence.MS != 90_000 || a[2].Silence.Exact || !a[2].Silence.About || a[2].Timer == nil || !strings.Contains(a[2].How, "asked again") || !strings.Contains(out, "stall: no-tool-call, off") {
		t.Errorf("%+v", a[2])
	}
	if a[3].Stall != guard.NotAborted || !a[3].ByPerson {
		t.Errorf("%+v", a[3])
	}
	if l := a[4]; l.Silence.MS != 500 || len(l.Channels) != 1 || l.Channels[0].Repeat == nil || l.Channels[0].Repeat.Period != 33 || !strings.Contains(l.How, "cut by a loop guard; the turn ended looped") {
		t.Errorf("%+v", l)
	}
	whole := strings.SplitAfter(j.b.String(), "\n")
	gap := strings.Join(append(append([]string{}, whole[:3]...), whole[4:]...), "")
	if r, _ := replay(t, gap, forensics.Options{}); len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "line 4: its sum does not follow") || r.Found != 5 {
		t.Errorf("with a line taken out: %d aborts, %q", r.Found, r.Notes)
	}
}

// streams reads a script's answers back: what each streams before it hangs.
func streams(t *testing.T, script string) (out []string) {
	t.Helper()
	for _, l := range strings.Split(script, "\n") {
		l = strings.TrimSpace(l)
		step, rest, _ := strings.Cut(l, " ")
		switch step {
		case "answer":
			out = append(out, "")
		case "args", "text":
			s, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			if strings.Contains(s, "${") {
				t.Errorf("a piece holds what the format fills in: %s", l)
			}
			if step == "args" || !strings.Contains(s, "no more cuts") {
				out[len(out)-1] += s
			}
		}
	}
	return out
}

// proves GRD-08
func TestAScriptCutsWhereTheStreamWasCut(t *testing.T) {
	for kind, in := range map[forensics.Kind]string{forensics.Pi: piStory(), forensics.Codex: codexStory(), forensics.Claude: claudeStory(), forensics.Ripcord: ourStory(t)} {
		r, _ := replay(t, in, forensics.Options{})
		var b strings.Builder
		if err := r.Script(&b); err != nil {
			t.Fatal(err)
		}
		got := streams(t, b.String())
		if len(got) != 3 || b.Len() > 1<<20 {
			t.Fatalf("%s: %d answers, %d bytes", kind, len(got), b.Len())
		}
		for i, args := range got {
			if n, text := guard.Longest(args); n != story[i].runes || text != page(n) {
				t.Errorf("%s: answer %d is cut at %d, want %d", kind, i, n, story[i].runes)
			}
		}
	}
	r, _ := replay(t, page(5000)+"${user} \"quoted\" \\ \t\x01 end", forensics.Options{})
	var b strings.Builder
	if err := r.Script(&b); err != nil {
		t.Fatal(err)
	}
	if _, text := guard.Longest(streams(t, b.String())[0]); text != page(5000)+"${user} \"quoted\" \\ \t\x01 end" {
		t.Errorf("an artifact came back as %.60q…%q", text, text[len(text)-40:])
	}
	huge := piCut(time.Minute, toolCall("write", page(400_000)))
	r, _ = replay(t, huge, forensics.Options{})
	b.Reset()
	if err := r.Script(&b); err != nil {
		t.Fatal(err)
	}
	n, text := guard.Longest(streams(t, b.String())[0])
	if n != 400_000 || text[:1000] != page(400_000)[:1000] || !strings.Contains(b.String(), "replaced by as many x") {
		t.Errorf("a long one is cut at %d", n)
	}
}

// proves GRD-08
func TestForeignNamesCannotWriteToTheTerminal(t *testing.T) {
	_, out := replay(t, piCut(time.Minute, toolCall("wri\x1b[2Jte\nabort 2", page(100))), forensics.Options{})
	if strings.ContainsAny(out, "\x1b") || strings.Count(out, "abort 2") != 1 || strings.Contains(out, "\nabort 2") {
		t.Errorf("%q", out)
	}
}

// proves GRD-08
func TestSubAgentsOfClaudeCodeAreAConversationOfTheirOwn(t *testing.T) {
	side := func(v object) string { v["isSidechain"] = true; return line(v) }
	answer := func(id, text string) object {
		return object{"type": "assistant", "uuid": id, "sessionId": "x", "message": object{"id": id, "role": "assistant", "model": "c", "content": []any{object{"type": "text", "text": text}}}}
	}
	stop := object{"type": "user", "uuid": "u", "sessionId": "x", "message": object{"role": "user", "content": "[Request interrupted by user]"}}
	r, out := replay(t, line(answer("m1", "main words"))+side(answer("m2", "other"))+line(stop), forensics.Options{})
	if r.Found != 1 || r.Aborts[0].Cut.Stream != len("main words") {
		t.Errorf("%s", out)
	}
}

// proves GRD-08
func FuzzReplay(f *testing.F) {
	small := piCut(time.Minute, object{"type": "thinking", "thinking": "t"}, toolCall("write", "x\u00e9"))
	claude, codex := "", ""
	for i, l := range strings.SplitAfter(claudeStory(), "\n") {
		if i%3 != 1 {
			claude += l
		}
	}
	for _, l := range strings.SplitAfter(codexStory(), "\n") {
		if len(l) < 1000 {
			codex += l
		}
	}
	for _, s := range []string{small, claude, codex, "plain", "{\"crc\":\"00000000\",\"v\":1,\"b\":1,\"epoch\":1,\"seq\":0,\"time\":\"2030-01-02T03:04:05Z\",\"type\":\"turn/start\",\"turn\":1,\"data\":{}}\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, kind := range []forensics.Kind{"", forensics.Ripcord, forensics.Codex, forensics.Pi, forensics.Claude} {
			r, out := replay(t, in, forensics.Options{Kind: kind})
			if r.Bytes != int64(len(in)) || r.Found < len(r.Aborts) || strings.ContainsRune(out, 0x1b) {
				t.Fatalf("%s: %d bytes of %d, %d aborts of %d", r.Kind, r.Bytes, len(in), len(r.Aborts), r.Found)
			}
			for _, a := range r.Aborts {
				if a.Cut.Argument > len(in) || a.Cut.Stream > len(in) || a.Silence != nil && a.Silence.MS < 0 {
					t.Fatalf("%+v", a)
				}
			}
			if err := r.Script(io.Discard); err != nil && !errors.Is(err, forensics.ErrNoCut) {
				t.Fatal(err)
			}
		}
	})
}

// proves GRD-08
func TestArgumentsThatPiLeftAsTheyStreamedAreMeasuredSo(t *testing.T) {
	raw := cutArgs(30_806)
	call := toolCall("write", "what the parser made of it")
	call["partialArgs"] = raw
	r, out := replay(t, piCut(2*time.Minute, object{"type": "toolCall", "id": "b", "name": "read", "arguments": object{"path": "p"}}, call), forensics.Options{})
	a := r.Aborts[0]
	if a.Cut.Argument != 30_806 || a.Cut.Stream != utf8.RuneCountInString(raw) || a.Cut.Calls != 2 || a.Cut.Tool != "write" {
		t.Errorf("%+v\n%s", a.Cut, out)
	}
	if len(a.Channels) != 3 || a.Channels[2].Name != "arguments of read" {
		t.Errorf("%+v", a.Channels)
	}
}

func ExampleReplay() {
	session := piCut(2*time.Minute, toolCall("write", page(20_000)))
	r, err := forensics.Replay(strings.NewReader(session), forensics.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := r.Aborts[0]
	fmt.Println(r.Kind, a.Stall, a.Cut.Argument, a.Silence.MS, a.Usage.Known)
	// Output: a pi session ok 20000 120000 unknown
}
