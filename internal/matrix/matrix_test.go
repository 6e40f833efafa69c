package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ripcord-go/ripcord/event"
)

func TestMain(m *testing.M) {
	roles(context.Background()) // guardians, engines, servers and victims are this binary
	goleak.VerifyTestMain(m)
}

// For every kind of tool and every end that a call can have, the journal, the
// result object, the chat, the next request and reality say the same.
//
// With RIPCORD_MATRIX=full each kind is brought to each end on each wire. Else
// every kind and every end is looked at and not each with each: another quarter
// of the table on each wire, one of them where time is short (-short, or the
// race detector).
//
// proves TRN-06, TRN-09, TOL-02, TOL-03, TOL-07, IFC-01, IFC-02, REC-04, REC-07
func TestTheMatrixHasNoWrongCell(t *testing.T) {
	full := os.Getenv("RIPCORD_MATRIX") == "full"
	for from, wire := range []string{"anthropic", "openai-chat", "openai-responses"} {
		var out strings.Builder
		wrong, err := run(t.Context(), &out, options{wire: wire, side: 4, few: !full, from: from})
		if err != nil {
			t.Fatal(err)
		}
		if wrong > 0 {
			t.Errorf("%s: %d wrong cells\n%s", wire, wrong, out.String())
		}
		t.Log(out.String())
		if !full && (testing.Short() || raced) {
			break
		}
	}
}

// Every outcome has its rule and its column; a combination that is left out has
// a reason.
//
// proves IFC-02: the matrix is whole
func TestEveryEndHasARuleAndAColumn(t *testing.T) {
	seen := map[event.CallOutcome]bool{}
	for _, c := range columns {
		seen[c.o] = true
	}
	for _, o := range []event.CallOutcome{event.CallFinished, event.CallFinishedLate, event.CallStopped, event.CallSkipped, event.CallWasDenied,
		event.CallInvalid, event.CallUnknown, event.CallQuarantined, event.CallFatal} {
		if _, ok := rules[o]; !ok || !seen[o] {
			t.Errorf("%s has no rule or no column", o)
		}
	}
	for _, k := range kinds() {
		for o, why := range k.cant {
			if len(why) < 20 {
				t.Errorf("%s/%s is left out without a reason", k.name, o)
			}
		}
	}
	for from := range 3 {
		few, kind, end := options{few: true, from: from}, map[int]bool{}, map[int]bool{}
		for i, k := range kinds() {
			for j, c := range columns {
				if k.cant[c.o] == "" && few.wants(k.name+"/"+c.String(), i, j) {
					kind[i], end[j] = true, true
				}
			}
		}
		if len(kind) != len(kinds()) || len(end) != len(columns) {
			t.Errorf("quarter %d looks at %d kinds of %d and %d ends of %d", from, len(kind), len(kinds()), len(end), len(columns))
		}
	}
}

// The rows of commands alone, which most of what can be wrong shows in.
//
// proves IFC-01, IFC-02, TOL-07: quick, for seeded bugs
func TestTheRowsOfCommandsHaveNoWrongCell(t *testing.T) {
	var out strings.Builder
	wrong, err := run(t.Context(), &out, options{wire: "anthropic", side: 4, only: "bash/"})
	if err != nil || wrong > 0 || strings.Count(out.String(), " right ") < 2*len(columns) {
		t.Errorf("%d wrong cells, %v\n%s", wrong, err, out.String())
	}
}
