package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Whatever is shown, answered or done was durable before it: looked at from
// outside, at the moment when it happens, in the part of the journal that a
// power cut would leave.
//
// proves LOG-12, LOG-13, TRN-06, TOL-08, B034
func TestNothingIsShownOrDoneBeforeItIsDurable(t *testing.T) {
	var r *rig
	var seen sync.Map
	look := func(what, text string) {
		seen.Store(what, true)
		if !r.durable(text) {
			t.Errorf("%s: %q is not durable\n%s", what, text, r.types())
		}
	}
	mine := deed("t", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		look("a tool runs", `"type":"call/started"`)
		return tool.Text("real result"), nil
	})
	r = newRig(t, plan{store: mem.Options{Delay: 2 * time.Millisecond}, tools: []tool.Tool{mine}, talks: []talk{calls("c1", "t"), hangs("half")}})
	r.model.onAsk = func(model.Request) {
		if r.model.count() == 1 {
			look("the first request", `"type":"model/request"`)
			look("the first request", `the prompt`)
			return
		}
		look("the second request", "real result")
		if strings.Count(string(r.store.Bytes("s_1")[:r.store.Synced("s_1")]), `"type":"model/request"`) != 2 {
			t.Error("the second request is sent before it is durable")
		}
	}
	sub, _ := r.live.Subscribe()
	defer sub.Close()
	id := r.submit("the prompt")
	look("the input is acknowledged", "the prompt")
	r.until("the second answer", func() bool { return r.model.count() == 2 && r.written("half") })
	r.stop(session.Address{Input: id})
	ended := 0
	for ended == 0 {
		<-sub.Wake()
		frames, lagged, _ := sub.Take()
		if lagged {
			t.Fatal("frames were dropped")
		}
		for _, f := range frames {
			switch {
			case f.Record != nil && f.Record.Type == event.TypeTurnEnded:
				look("turn/end is shown", `"type":"turn/end"`)
			case f.Live != nil && f.Live.State == "ended":
				ended++
				look("the terminal event", `"type":"turn/end"`)
				look("the terminal event", `"type":"marker/aborted"`)
				fresh, err := turn.Fold(r.records()) // a client that re-reads the log now
				if err != nil || fresh.OpenTurn() != 0 || fresh.Turn.End == nil || !fresh.Turn.Marked {
					t.Errorf("a fresh reader sees turn %d open, %v", fresh.OpenTurn(), err)
				}
				if s := r.stop(session.Address{Turn: f.Live.Turn}); s != session.StopIdle {
					t.Errorf("at its terminal event the turn can be stopped: %v", s)
				}
			}
		}
	}
	if sum := r.wait(id); sum.Text != "half" {
		t.Errorf("%+v", sum)
	}
	for _, what := range []string{"a tool runs", "the first request", "the second request", "the input is acknowledged", "turn/end is shown", "the terminal event"} {
		if _, ok := seen.Load(what); !ok {
			t.Errorf("never seen: %s", what)
		}
	}
}

// faults makes a store whose syncs fail while on is set.
type faults struct {
	on    atomic.Bool
	hits  atomic.Int32
	after atomic.Int32 // syncs that still succeed
}

func (f *faults) fault(op string) error {
	if op != "sync" && op != "append" || !f.on.Load() {
		return nil
	}
	if op == "append" || f.after.Add(-1) >= 0 {
		return nil
	}
	f.hits.Add(1)
	return errors.New("no space left on device")
}

// fail lets n more syncs succeed and the rest fail.
func (f *faults) fail(n int32) { f.after.Store(n); f.on.Store(true) }

// proves LOG-13, LOG-14, TRN-05, B031
func TestWhenTheStoreFailsNothingHappensAndItComesBackWithoutARestart(t *testing.T) {
	for name, c := range map[string]struct {
		syncs   int32 // that succeed: acceptance, request, start, request
		refused bool  // the input is not even taken
		asked   int
		ran     bool
	}{
		"at the acceptance":       {0, true, 0, false},
		"before the request":      {1, false, 0, false},
		"before the tool":         {2, false, 1, false},
		"before the next request": {3, false, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var disk faults
			var ran atomic.Bool
			mine := deed("t", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { ran.Store(true); return tool.Text("ok"), nil })
			r := newRig(t, plan{store: mem.Options{Fault: disk.fault}, tools: []tool.Tool{mine}, talks: []talk{calls("c1", "t"), says("fine")}})
			disk.fail(c.syncs)
			id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("first")}})
			if (err != nil) != c.refused {
				t.Fatalf("submit: %v", err)
			}
			var no *turn.RefusedError
			if c.refused && (!errors.As(err, &no) || no.Failure.Code != event.FailStorage || !strings.Contains(no.Failure.Message, "no space") || no.Failure.Hint == "") {
				t.Errorf("refused with %v", err)
			}
			if !c.refused {
				sum := r.wait(id)
				if sum.Outcome != event.TurnFailed || sum.Error == nil || sum.Error.Code != event.FailStorage || !sum.Unsaved {
					t.Errorf("%+v %+v", sum, sum.Error)
				}
			}
			if r.model.count() != c.asked || ran.Load() != c.ran {
				t.Errorf("%d requests, the tool ran: %v", r.model.count(), ran.Load())
			}
			r.until("the failure is said", func() bool { return strings.Contains(r.live.Status().Storage, "no space") })
			if _, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("second")}}); !errors.As(err, &no) || no.Failure.Code != event.FailStorage {
				t.Errorf("a turn is taken on a broken store: %v", err)
			}
			if s := r.stop(session.Address{}); s == session.Stopping {
				t.Error("a turn can be stopped, though none runs")
			}
			disk.on.Store(false)
			r.until("it works again", func() bool { return r.live.Status().Storage == "" })
			if three := r.run("third"); three.Outcome != event.TurnCompleted && three.Outcome != event.TurnFailed {
				t.Errorf("%+v", three)
			} else if three.Outcome == event.TurnFailed {
				t.Errorf("%+v", three.Error)
			}
			// What went out for the first turn is counted once more: a request that
			// should not have been made may take a moment to be seen.
			if n := r.model.count(); n != 2 {
				t.Errorf("%d requests in all, want those of one whole conversation: 2", n)
			}
			l := r.holds()
			said := r.types()
			if l.Box.Len() > 0 || c.refused != strings.Contains(said, "inbox/dropped") {
				t.Errorf("refused %v: %d wait\n%s", c.refused, l.Box.Len(), said)
			}
			if ends := payloads[event.TurnEnded](t, r.records()); !c.refused && (len(ends) != 2 || ends[0].Outcome != event.TurnFailed) {
				t.Errorf("endings %+v\n%s", ends, said)
			}
			if int64(len(r.store.Bytes("s_1"))) != r.store.Synced("s_1") {
				t.Error("something is not durable")
			}
		})
	}
}

// proves LOG-13, TRN-05, TRN-06: an ending that can't be written is said all the same
func TestAnEndingThatCanNotBeWrittenIsSaid(t *testing.T) {
	var disk faults
	r := newRig(t, plan{store: mem.Options{Fault: disk.fault}, talks: []talk{hangs("half"), says("fine")}})
	id := r.submit("first")
	r.until("it streams", func() bool { return r.written("half") })
	disk.fail(0)
	r.stop(session.Address{Input: id})
	sum := r.wait(id)
	if !sum.Unsaved || sum.Error == nil || sum.Error.Code != event.FailStorage || sum.Text != "half" {
		t.Errorf("%+v %+v", sum, sum.Error)
	}
	if r.live.Status().Last == nil {
		t.Error("the status does not say how it ended")
	}
	disk.on.Store(false)
	r.until("it works again", func() bool { return r.live.Status().Storage == "" })
	if two := r.run("second"); two.Outcome != event.TurnCompleted || two.Turn != 2 {
		t.Errorf("%+v", two)
	}
	r.holds()
}

// proves TRN-05, TRN-07, LOG-14: an answer longer than what a store keeps
// unsynced is stopped like any other, its books are closed and its words kept.
func TestAVeryLongAnswerIsStoppedLikeAnyOther(t *testing.T) {
	long := strings.Repeat("x", journal.MaxPending/8)
	r := newRig(t, plan{turn: turn.Options{Guards: turn.Guards{OnLoop: guard.Off}}, talks: []talk{func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
		for range 9 {
			say(event.TextDelta{Text: long})
		}
		return hangs("the end")(ctx, model.Request{}, say)
	}, says("fine")}})
	id := r.submit("first")
	r.until("it streams", func() bool { return r.written("the end") })
	r.stop(session.Address{Input: id})
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Unsaved || len(sum.Text) != 9*len(long)+len("the end") {
		t.Errorf("%s with %d bytes of text: %+v", sum.Outcome, len(sum.Text), sum.Error)
	}
	if two := r.run("second"); two.Outcome != event.TurnCompleted {
		t.Errorf("%s %+v", two.Outcome, two.Error)
	}
	r.holds()
}

// proves REC-06, REC-08, INT-25, TRN-13, B047
func TestAfterACrashWhatWasAcceptedWaitsAndNothingRunsByItself(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half"), says("fine")}})
	first := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	second := r.submit("second")
	r.store.Crash(false) // what was not synced is gone, and so is the process
	before := r.store.Bytes("s_1")
	dead := r.live
	r.reopen()
	defer func() { // the dead one's goroutines end, its writer is fenced off
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		_ = dead.Close(ctx, interrupt.SystemShutdown)
	}()
	st := r.live.Status()
	if st.Recovered == nil || st.Recovered.Turn != 1 || st.Running || !slices.Equal(st.Held, []string{"second"}) || st.Last == nil || st.Last.Outcome != event.TurnInterrupted {
		t.Fatalf("%+v, recovered %+v", st, st.Recovered)
	}
	if !strings.HasPrefix(string(r.store.Bytes("s_1")), string(before)) {
		t.Error("recovery has rewritten what was there")
	}
	if sum := r.wait(first); sum.Outcome != event.TurnInterrupted || sum.Turn != 1 { // the answer is still there for who asks
		t.Errorf("%+v", sum)
	}
	if n := r.model.count(); n != 1 {
		t.Errorf("%d requests: something runs by itself", n)
	}
	if _, err := r.live.Continue(r.ctx, "me", true); err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(second); sum.Outcome != event.TurnCompleted || sum.Turn != 2 {
		t.Errorf("%+v", sum)
	}
	r.holds()
}

// proves LOG-05, LOG-16: what opening finds of types that this version does not
// know, and what the background pass finds damaged, is told once to each
// subscriber, whenever it comes
func TestWhatIsWrongWithTheJournalIsToldToWhoever(t *testing.T) {
	r := newRig(t, plan{})
	r.run("go")
	r.close()
	w, err := r.store.Acquire(r.ctx, "s_1")
	if err != nil {
		t.Fatal(err)
	}
	found := w.Recovered()
	newer := event.Record{Type: "weather/report", Time: time.Now(), Data: []byte(`{"rain":true}`)}
	if _, err = w.Append(r.ctx, found.Last, found.Epoch+1, []event.Record{newer, newer}); err == nil {
		_, err = w.Sync(r.ctx)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	rep, err := r.store.Verify(r.ctx, "s_1")
	if err != nil || !rep.OK || len(rep.Unknown) != 1 || rep.Unknown["weather/report"] != 2 {
		t.Errorf("%+v, %v", rep, err)
	}
	r.reopen()
	before, _ := r.live.Subscribe()
	defer before.Close()
	r.live.Verify(func(context.Context) (bool, error) { return true, nil })
	r.until("damage is known", func() bool { return r.live.Status().Verified == session.VerifiedNot })
	r.run("again")
	after, _ := r.live.Subscribe()
	defer after.Close()
	for _, sub := range []*session.Sub{before, after} {
		var told []string
		frames, _, _ := sub.Take()
		for _, f := range frames {
			if f.Live != nil && f.Live.State == "warning" {
				told = append(told, f.Live.Text)
			}
		}
		if len(told) != 2 || !strings.HasPrefix(told[0], "2 records ") || !strings.Contains(told[1], "`ripcord log verify s_1`") {
			t.Errorf("told %q", told)
		}
	}
}

// proves LOG-11, INT-51: a writer that lost the journal writes nothing more
func TestAWriterThatWasFencedWritesNothingMore(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half"), says("fine")}})
	first := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	dead := r.live
	r.store.Crash(true)
	r.reopen()
	after := r.types()
	_, _ = dead.Interrupt(session.Address{Input: first}, byMe(), false)
	ctx, cancel := context.WithTimeout(r.ctx, bound)
	defer cancel()
	sum, err := dead.Wait(ctx, first)
	if err != nil || !sum.Unsaved || sum.Error == nil || !strings.Contains(sum.Error.Hint, "another process") {
		t.Errorf("%+v %+v, %v", sum, sum.Error, err)
	}
	if r.types() != after {
		t.Errorf("it wrote on:\n%s", r.types())
	}
	if sum := r.run("go on"); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	_ = dead.Close(ctx, interrupt.SystemShutdown)
	r.holds()
}
