package interrupt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/interrupt"
)

// proves INT-12, INT-13, INT-51
func TestNineReasonsReadAsTheyAreWritten(t *testing.T) {
	want := []interrupt.Reason{"USER_SIGINT", "NOW_PRIORITY_INPUT", "BUDGET_EXCEEDED", "PARENT_CANCELLED", "TASK_CANCELLED",
		"SYSTEM_SHUTDOWN", "LEASE_LOST", "SESSION_RELEASED", "HOLDER_LOST"}
	if !slices.Equal(interrupt.Reasons(), want) {
		t.Errorf("reasons are %q", interrupt.Reasons())
	}
	for _, r := range want {
		name := string(r)
		if interrupt.ParseReason(name) != r || !r.Requestable() {
			t.Errorf("%s does not survive the wire", name)
		}
		if interrupt.ParseReason(strings.ToLower(name)) != interrupt.Unknown {
			t.Errorf("%s is read in another case", name)
		}
		for _, said := range []string{r.String(), fmt.Sprint(r), (&interrupt.InterruptedError{Cause: interrupt.Cause{Reason: r, Who: "x"}}).Error()} {
			if said != "Interrupted: "+name {
				t.Errorf("%s is told as %q", name, said)
			}
		}
	}
	for _, name := range []string{"", "UNKNOWN", "PAUSED", " USER_SIGINT"} {
		if r := interrupt.ParseReason(name); r != interrupt.Unknown || r.Requestable() {
			t.Errorf("ParseReason(%q) = %q", name, string(r))
		}
	}
	interrupt.Reasons()[0] = "changed"
	if interrupt.Reasons()[0] != interrupt.UserSIGINT {
		t.Error("a caller can change the set")
	}
}

// proves INT-12
func TestARefusalSaysWhatToGiveInstead(t *testing.T) {
	msg := (&interrupt.RefusedError{Reason: interrupt.Unknown}).Error()
	if !strings.Contains(msg, `"UNKNOWN"`) || !strings.Contains(msg, "USER_SIGINT, NOW_PRIORITY_INPUT") || strings.Contains(msg, "Interrupted:") {
		t.Errorf("refusal: %s", msg)
	}
}

// proves TRN-19
func TestOneErrorMatchesEveryInterruptAndNothingElse(t *testing.T) {
	err := fmt.Errorf("read the stream: %w", &interrupt.InterruptedError{Cause: interrupt.Cause{Reason: interrupt.LeaseLost}})
	if !errors.Is(err, interrupt.ErrInterrupted) {
		t.Error("a wrapped interrupt is not recognised")
	}
	if errors.Is(interrupt.ErrClosed, interrupt.ErrInterrupted) || errors.Is(&interrupt.RefusedError{}, interrupt.ErrInterrupted) {
		t.Error("another error passes for an interrupt")
	}
}

type declares interrupt.Behaviour

func (d declares) InterruptBehaviour() interrupt.Behaviour { return interrupt.Behaviour(d) }

// proves INT-05, INT-06, INT-08, INT-17
func TestWhatEachBehaviourIsGiven(t *testing.T) {
	for _, c := range []struct {
		b                 interrupt.Behaviour
		name              string
		pooled, registrar bool
	}{
		{interrupt.NonInterruptible, "NON_INTERRUPTIBLE", true, false},
		{interrupt.Cooperative, "COOPERATIVE", true, false},
		{interrupt.ContextInterruptible, "THREAD_INTERRUPT", false, true},
		{interrupt.ExternallyTerminated, "EXTERNALLY_TERMINATED", false, true},
		{interrupt.Behaviour(99), "NON_INTERRUPTIBLE", false, false},
	} {
		if c.b.String() != c.name || c.b.Pooled() != c.pooled || c.b.HasRegistrar() != c.registrar {
			t.Errorf("%d: %s, pooled %v, registrar %v; want %+v", int(c.b), c.b, c.b.Pooled(), c.b.HasRegistrar(), c)
		}
		if got := interrupt.BehaviourOf(declares(c.b)); got != c.b {
			t.Errorf("BehaviourOf = %v, declared %v", got, c.b)
		}
	}
	for _, v := range []any{nil, struct{}{}, "a tool written before"} {
		if got := interrupt.BehaviourOf(v); got != interrupt.NonInterruptible {
			t.Errorf("BehaviourOf(%v) = %v", v, got)
		}
	}
}
