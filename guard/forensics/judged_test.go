package forensics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/forensics"
)

// proves GRD-08, GRD-02: a journal's own verdict is repeated with the numbers
// that it was given by, whatever the records' times and today's settings say
func TestAReplayOfAVerdictIsMadeOfItsOwnNumbers(t *testing.T) {
	const limits = `"limits":{"argument":16384,"silence_ms":15000,"in_row":3,"cooldown_ms":30000}`
	const wake = `"wake":{"off":false,"by_person":false,"in_row":0,"since_wake_ms":-1},"decision":"wake"`
	lax := forensics.Options{Stall: guard.StallLimits{Silence: time.Hour, Argument: 1 << 20, Idle: time.Hour}}
	for name, c := range map[string]struct {
		verdict, facts string
		record         time.Duration // from the last chunk's record to the cut's
		o              forensics.Options
		want           guard.StallVerdict
		wake           guard.WakeDecision
		sure           bool
		say            []string
	}{
		"at the threshold, its chunk packed late": {"ok", `{"cut":{"silence_ms":15001},"limit":"idle","limit_ms":15000,` + limits + `,` + wake + `}`,
			14_940 * time.Millisecond, forensics.Options{}, guard.Stalled, guard.Wake, true,
			[]string{"silence      15.0 s since the last useful event", "timer        15.0 s, an idle limit (ours, between two events), cut it", "silence 15.0 s of 15.0 s\n"}},
		"by other settings than today's": {"ok", `{"cut":{"silence_ms":15000},"limit":"first_event","limit_ms":15000,` + limits + `,` + wake + `}`,
			15 * time.Second, lax, guard.Stalled, guard.Wake, true,
			[]string{"(ours, until the first event), cut it", "argument 17000 of 16384, silence 15.0 s of 15.0 s\n"}},
		"one below it": {"stream-active", `{"cut":{"silence_ms":14999},` + limits + `}`,
			15_100 * time.Millisecond, forensics.Options{}, guard.StreamActive, "", true, []string{"silence 14.9 s of 15.0 s\n"}},
		"the third in a row": {"ok", `{"cut":{"silence_ms":16000},"limit":"connection",` + limits + `,"wake":{"in_row":3,"since_wake_ms":31000},"decision":"wake-limit"}`,
			16 * time.Second, forensics.Options{}, guard.Stalled, guard.WakeLimit, true, []string{"wake-limit: 3 of 3 in a row, 31.0 s since the last"}},
		"of an older journal": {"ok", `{"cut":{"silence_ms":15001},"limit":"idle","limit_ms":15000}`,
			14_940 * time.Millisecond, forensics.Options{}, guard.Stalled, guard.Wake, true, []string{"(ours, between two events), cut it"}},
		"without its numbers": {"ok", `{}`,
			14_940 * time.Millisecond, forensics.Options{}, guard.StreamActive, "", false, []string{"silence      about 14.9 s since the last record", "; by the records' times"}},
		"only warned of": {"ok", `{"cut":{"silence_ms":15001},"limit":"idle","limit_ms":15000,"warned":true,` + limits + `}`,
			90 * time.Second, forensics.Options{}, guard.Stalled, guard.Wake, false, []string{"within 1 % of 90.0 s, an idle limit (a configured one)"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := &journal{t: t}
			j.add(noon, 0, "", event.SessionOpened{ID: "s_1"})
			j.add(noon, 1, "", event.TurnStarted{Kind: event.TurnInput})
			j.add(noon, 1, "", event.ModelRequest{Attempt: 1})
			j.add(noon, 1, "", event.Chunk{Attempt: 1, Block: 1, Kind: event.ChunkArgs, Call: "c_1", Name: "write", Text: cutArgs(17_000)})
			end := noon.Add(c.record)
			j.add(end, 1, "", event.GuardVerdict{Guard: "stall", Verdict: c.verdict, Facts: []byte(c.facts)})
			j.add(end, 1, "", event.AttemptFailed{Attempt: 1, Error: event.Failure{Code: event.FailStall, Message: "silent"}})
			j.add(end, 1, "", event.TurnEnded{Outcome: event.TurnStalled})
			r, out := replay(t, j.b.String(), c.o)
			if len(r.Aborts) != 1 {
				t.Fatal(out)
			}
			if a := r.Aborts[0]; a.Stall != c.want || a.Wake != c.wake || a.Sure != c.sure || a.Silence.Exact != c.sure {
				t.Errorf("%s, %q, sure %v, silence %+v", a.Stall, a.Wake, a.Sure, a.Silence)
			}
			for _, say := range c.say {
				if !strings.Contains(out, say) {
					t.Errorf("the text does not say %q", say)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
