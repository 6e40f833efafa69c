package turn_test

import (
	"slices"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// proves REC-06, LOG-12: an idempotency key whose input could not be stored is
// free again: a repeated submit is a submit, not the echo of what was refused
func TestARefusedInputGivesItsKeyBack(t *testing.T) {
	d := newDesk(t, turn.Options{})
	offer := func(id event.InputID) turn.Reply {
		d.token++
		d.tell(turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: id, Key: "k", Input: event.UserInput{Content: event.TextOf("do it")}, Priority: event.PriorityLater}})
		return must[turn.Reply](d)
	}
	d.token++
	d.s.Step(d.now, turn.Submit{Token: d.token, Accepted: event.InboxAccepted{ID: "i_1", Key: "k", Input: event.UserInput{Content: event.TextOf("do it")}, Priority: event.PriorityLater}})
	d.tell(turn.StorageFailed{Failure: event.Failure{Code: event.FailStorage, Message: "full"}, Refused: []turn.Token{d.token}})
	if r := offer("i_2"); r.Err == nil {
		t.Errorf("while the disk is full the key is answered with %v", r.Value)
	}
	d.tell(turn.StorageWorks{})
	if r := offer("i_2"); r.Err != nil || r.Value != event.InputID("i_2") || d.s.Turn == nil || d.s.Turn.Inputs[0] != "i_2" {
		t.Errorf("the repeated submit is answered %v, %v", r.Value, r.Err)
	}
	if r := offer("i_3"); r.Value != event.InputID("i_2") {
		t.Errorf("the key is used and yet answered with %v", r.Value)
	}
}

// proves LOG-12, HOK-04: a person's answer is told as taken once it is durable
func TestAnAnswerIsDurableBeforeItIsAcknowledged(t *testing.T) {
	for _, decision := range []event.Decision{event.Allow, event.Deny, event.Abort} {
		d := newDesk(t, turn.Options{})
		d.submit("go")
		d.calls("c1", "bash")
		d.tell(turn.Judged{Call: "c1", Verdict: turn.VerdictAsk, By: "test"})
		ask := must[turn.Question](d)
		d.take()
		effects := d.tell(turn.Decided{ID: ask.Asked.ID, Decision: decision, By: "me", Token: 77})
		index := func(is func(turn.Effect) bool) int { return slices.IndexFunc(effects, is) }
		written := index(func(e turn.Effect) bool {
			a, ok := e.(turn.Append)
			return ok && slices.ContainsFunc(a.Records, func(r event.Record) bool { return r.Type == event.TypeApprovalDecided })
		})
		synced := index(func(e turn.Effect) bool { _, ok := e.(turn.Sync); return ok })
		told := index(func(e turn.Effect) bool { r, ok := e.(turn.Reply); return ok && r.Token == 77 })
		if written < 0 || !(written < synced && synced < told) {
			t.Errorf("%s: written at %d, synced at %d, told at %d", decision, written, synced, told)
		}
	}
}

// proves REC-05, PRC-04: what a command left running did not end when the
// command did: its exit code is no job's, and what recovery killed was killed
func TestALeftoverDoesNotInheritItsCommandsEnd(t *testing.T) {
	zero := 0
	for name, c := range map[string]struct {
		alive []int
		state event.JobState
	}{
		"found alive and ended": {[]int{80}, event.JobKilled},
		"not found":             {nil, event.JobLost},
	} {
		recs := journal(t, join(opened,
			[]line{{p: event.ProcessStarted{Owner: "call", ID: "c9", PID: 80}}, {p: event.JobStarted{ID: "j1", Call: "c9", PIDs: []int{80}}}})...)
		_, added := recovered(t, recs, event.Evidence{Call: "c9", Job: "j1", Alive: c.alive, Ended: true, ExitCode: &zero})
		ends := payloads[event.JobEnded](t, added)
		if len(ends) != 1 || ends[0].State != c.state || ends[0].ExitCode != nil {
			t.Errorf("%s: %+v", name, ends)
		}
	}
}
