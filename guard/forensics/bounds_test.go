package forensics_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/guard/forensics"
)

// allocated is what a replay asks memory for, all in all.
func allocated(t *testing.T, transcript string) (forensics.Report, uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rep, err := forensics.Replay(strings.NewReader(transcript), forensics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return rep, after.TotalAlloc - before.TotalAlloc
}

// proves GRD-08: what a replay works for an answer grows with the answer, not
// with its square, however many pieces it comes in and whatever never ends it
func TestAnAnswerOfManyPiecesIsGatheredOnce(t *testing.T) {
	const n = 6000
	words := strings.Repeat("these are the words of it ", 8)
	codex := `{"type":"session_meta","payload":{}}` + "\n" +
		strings.Repeat(`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+words+`"}]}}`+"\n", n) +
		`{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}` + "\n"
	head := `{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"}}` + "\n"
	block := `{"type":"text","text":"` + words + `"}`
	stop := `{"type":"user","sessionId":"s","message":{"role":"user","content":"[Request interrupted by user]"}}` + "\n"
	claudeLines := head + strings.Repeat(`{"type":"assistant","sessionId":"s","message":{"id":"m","role":"assistant","content":[`+block+`]}}`+"\n", n) + stop
	claudeLine := head + `{"type":"assistant","sessionId":"s","message":{"id":"m","role":"assistant","content":[` + block + strings.Repeat(","+block, n-1) + `]}}` + "\n" + stop
	said := head + `{"type":"user","sessionId":"s","message":{"role":"user","content":[` + block + strings.Repeat(","+block, n-1) + `]}}` + "\n"
	pi := `{"type":"session","id":"s","cwd":"/","timestamp":"2026-01-01T00:00:00Z"}` + "\n" +
		`{"type":"message","message":{"role":"assistant","stopReason":"aborted","content":[` + block + strings.Repeat(","+block, n-1) + `]}}` + "\n"
	for name, transcript := range map[string]string{"codex": codex, "claude, lines": claudeLines, "claude, blocks": claudeLine, "claude, a person's": said, "pi": pi} {
		rep, bytes := allocated(t, transcript)
		if most := uint64(256 << 20); bytes > most {
			t.Errorf("%s: %d bytes were asked for to read %d", name, bytes, len(transcript))
		}
		if name == "claude, a person's" {
			continue
		}
		if len(rep.Aborts) != 1 || rep.Aborts[0].Cut.Stream != n*len(words) {
			t.Errorf("%s: %+v", name, rep.Aborts)
		}
	}
}

// proves GRD-08, pitfall: a line of nothing but empty parts is not taken apart
// into a hundred times its bytes
func TestALineOfTooManyPartsIsLeftOutAndSaid(t *testing.T) {
	empty := "[{}" + strings.Repeat(",{}", 1<<16) + "]"
	for name, c := range map[string]struct{ head, line string }{
		"claude": {"", fmt.Sprintf(`{"type":"assistant","sessionId":"s","message":{"id":"m","content":%s}}`, empty)},
		"codex":  {`{"type":"session_meta","payload":{}}` + "\n", fmt.Sprintf(`{"type":"response_item","payload":{"type":"message","role":"assistant","content":%s}}`, empty)},
		"pi":     {`{"type":"session","id":"s","cwd":"/","timestamp":"2026-01-01T00:00:00Z"}` + "\n", fmt.Sprintf(`{"type":"message","message":{"role":"assistant","content":%s}}`, empty)},
	} {
		rep, _ := allocated(t, c.head+c.line+"\n")
		if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "more than 65536 parts") {
			t.Errorf("%s: %q", name, rep.Notes)
		}
	}
}
