package crashtest_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/mem"
)

// rigOn joins a runtime onto a store for one test.
func rigOn(t *testing.T, store journal.Store, script string) *crashtest.Rig {
	t.Helper()
	rig, err := crashtest.NewRig(store, crashtest.RigOptions{Script: script, Effects: crashtest.NewEffects()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, done := context.WithTimeout(context.Background(), time.Minute)
		defer done()
		if err := rig.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return rig
}

const always = "default\n  text It is so.\n  finish stop\n"

// A bad tail is set aside once, with its number of bytes said; what was before
// it stays as it was, and a turn that is added is there after another death.
//
// proves B022, B024, B027, REC-02
func TestATailThatIsNoRecordIsSetAsideOnceAndNothingElse(t *testing.T) {
	r, err := crashtest.Record(t.Context(), crashtest.Scenarios(12)[2])
	if err != nil {
		t.Fatal(err)
	}
	wrecks := r.Tails(1)
	wrecks = append(wrecks, crashtest.Wreck{What: "the last newline missing", Bytes: r.Bytes[:len(r.Bytes)-1], Keep: len(r.Lines)})
	for _, w := range wrecks {
		if w.Keep != len(r.Lines) {
			continue
		}
		store := mem.New(mem.Options{Check: crashtest.Check})
		store.Put(r.ID, w.Bytes)
		first := rigOn(t, store, always)
		st, err := first.Runtime.Open(t.Context(), api.OpenRequest{ID: r.ID})
		if err != nil {
			t.Fatalf("%s: %v", w.What, err)
		}
		torn := int64(len(w.Bytes) - len(r.Bytes))
		switch {
		case torn <= 0 && st.Recovered != nil:
			t.Errorf("%s: recovered %+v, want nothing", w.What, st.Recovered)
		case torn > 0 && (st.Recovered == nil || st.Recovered.Torn != torn || len(store.Torn(r.ID, st.Recovered.File)) != int(torn)):
			t.Errorf("%s: recovered %+v, want %d bytes set aside", w.What, st.Recovered, torn)
		}
		stage := &crashtest.Stage{Service: first.Runtime, ID: r.ID}
		if res, err := stage.Run(t.Context(), "one more"); err != nil || res.Text != "It is so." {
			t.Fatalf("%s: %+v %v", w.What, res, err)
		}
		store.Crash(false)
		dead := store.Bytes(r.ID)
		second := rigOn(t, store, always)
		st, err = second.Runtime.Open(t.Context(), api.OpenRequest{ID: r.ID})
		if err != nil || st.Recovered != nil || st.Turn != 3 {
			t.Fatalf("%s: the second opening: %+v %v", w.What, st, err)
		}
		if now := store.Bytes(r.ID); !bytes.HasPrefix(now, r.Bytes) || !bytes.HasPrefix(now, dead) || !bytes.Contains(now, []byte("one more")) {
			t.Errorf("%s: what stood there changed, or the added turn is gone", w.What)
		}
	}
}

// A stream that is cancelled at any point adds to the file and changes nothing
// in it.
//
// proves B033, TRN-07, REC-06
func TestACancelNeverShortensTheJournal(t *testing.T) {
	store, err := file.Open(t.TempDir(), file.Options{Check: crashtest.Check})
	if err != nil {
		t.Fatal(err)
	}
	rig := rigOn(t, store, "answer always if user count\n  type 1ms one two three four five six seven eight nine ten eleven twelve thirteen\n  finish stop\n"+always)
	st, err := rig.Runtime.Open(t.Context(), api.OpenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stage := &crashtest.Stage{Service: rig.Runtime, ID: st.ID}
	path := filepath.Join(store.Dir(st.ID), "journal.jsonl")
	const seed = 33
	rnd := rand.New(rand.NewPCG(seed, 5))
	var was []byte
	outcomes := map[event.TurnOutcome]int{}
	for i := range 50 {
		input, err := stage.Submit(t.Context(), fmt.Sprintf("count %d", i))
		if err != nil {
			t.Fatalf("cancel %d: %v", i, err)
		}
		<-time.After(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
		if _, err := rig.Runtime.Interrupt(t.Context(), api.InterruptRequest{Session: st.ID, Input: input}); err != nil {
			t.Fatal(err)
		}
		res, err := rig.Runtime.Wait(t.Context(), st.ID, input)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[*res.Outcome]++
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(now, was) {
			t.Fatalf("cancel %d changed what stood in the file", i)
		}
		was = now
		again, err := crashtest.Recover(t.Context(), st.ID, now, crashtest.SeesNothing)
		if err != nil || bytes.Count(again.Bytes, []byte(`"type":"turn/end"`)) != i+1 {
			t.Fatalf("cancel %d: opening shows other turns than %d: %v", i, i+1, err)
		}
	}
	if res, err := stage.Run(t.Context(), "and now?"); err != nil || *res.Outcome != event.TurnCompleted {
		t.Errorf("the turn after all: %+v %v", res, err)
	}
	for _, q := range rig.Server.Requests() {
		if q.Refuse != nil {
			t.Errorf("request %d was refused: %v", q.N, q.Refuse)
		}
	}
	if outcomes[event.TurnAborted] < 25 {
		t.Errorf("seed %d: only %v: the cancels came too late", seed, outcomes)
	}
}
