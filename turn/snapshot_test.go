package turn_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/turn"
)

// proves LOG-16, LOG-06: whatever a session went through, a ledger that is made
// of a snapshot is the ledger of the whole journal, there and behind every
// record that follows
func TestASnapshotAndTheTailAreTheWholeJournal(t *testing.T) {
	taken := 0
	for seed := range 40 {
		w := newWorld(uint64(seed), wild(uint64(seed)))
		for range 60 {
			w.next(true)
		}
		for i := 0; w.next(false) && i < 5000; i++ {
		}
		recs := w.recs
		whole := turn.NewLedger()
		for i := range recs {
			if err := whole.Apply(&recs[i]); err != nil {
				t.Fatal(err)
			}
			if recs[i].Type != event.TypeTurnEnded && i%17 != 0 {
				continue
			}
			raw, err := whole.Snapshot()
			if err != nil {
				continue // something is open
			}
			taken++
			again, err := turn.RestoreLedger(raw)
			if err != nil {
				t.Fatal(err)
			}
			if d := turn.SameLedgers(whole, again); d != "" {
				t.Fatalf("seed %d, record %d: a snapshot forgets:\n%s", seed, i, d)
			}
			for j := i + 1; j < len(recs); j++ {
				if err := again.Apply(&recs[j]); err != nil {
					t.Fatalf("seed %d: behind the snapshot at %d: %v", seed, i, err)
				}
			}
			end, err := turn.Fold(recs)
			if err != nil {
				t.Fatal(err)
			}
			if d := turn.SameLedgers(end, again); d != "" {
				t.Fatalf("seed %d: from a snapshot at %d the end is another:\n%s", seed, i, d)
			}
			check, err := turn.CheckFrom(raw)
			if err != nil {
				t.Fatal(err)
			}
			for j := i + 1; j < len(recs); j++ {
				if err := check.Next(&recs[j]); err != nil {
					t.Fatalf("seed %d: the rules behind the snapshot at %d: %v", seed, i, err)
				}
			}
		}
	}
	if taken < 100 {
		t.Errorf("%d snapshots: nothing was shown", taken)
	}
}

// proves LOG-16, LOG-06: what is raw in a journal comes out of a snapshot byte
// for byte: a provider is sent the same request as before
func TestASnapshotKeepsTheBytesOfArguments(t *testing.T) {
	args := json.RawMessage(`{"path":"a.html","text":"<b>you & me</b>"}`)
	whole := turn.NewLedger()
	for i, c := range []struct {
		p          event.Payload
		turn, step int
		call       event.CallID
	}{
		{event.SessionOpened{ID: "s_1"}, 0, 0, ""},
		{event.LeaseTaken{}, 0, 0, ""},
		{event.InboxAccepted{ID: "i_1", Input: event.UserInput{Content: event.TextOf("make a page")}}, 0, 0, ""},
		{event.TurnStarted{Kind: event.TurnInput, Input: "i_1"}, 1, 0, ""},
		{event.StepStarted{}, 1, 1, ""},
		{event.InboxClaimed{ID: "i_1"}, 1, 1, ""},
		{event.ModelConfig{Provider: "p", Model: "m", System: "look for <system-reminder>"}, 1, 1, ""},
		{event.ModelRequest{Attempt: 1}, 1, 1, ""},
		{event.AssistantMessage{Attempt: 1, Content: event.Content{event.ToolCall{ID: "c_1", Name: "write", Args: args}}, Finish: event.FinishTools}, 1, 1, ""},
		{event.CallRequested{Name: "write", Args: args}, 1, 1, "c_1"},
		{event.CallEnded{Outcome: event.CallSkipped, Error: true, Content: event.TextOf("no")}, 1, 1, "c_1"},
		{event.StepEnded{}, 1, 1, ""},
		{event.TurnEnded{Outcome: event.TurnCompleted}, 1, 0, ""},
	} {
		r, err := event.New(c.p, time.Unix(1000, 0))
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Batch, r.Epoch, r.Turn, r.Step, r.Call = event.Seq(i), int64(i), 1, c.turn, c.step, c.call
		if err := whole.Apply(&r); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	raw, err := whole.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := turn.RestoreLedger(raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := turn.SameLedgers(whole, again); d != "" {
		t.Errorf("a snapshot changes:\n%s", d)
	}
}
