package crashtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
)

var errDisk = errors.New("the disk is broken")

// disk fails the appends and syncs from the nth on, as many as it is told.
type disk struct {
	armed atomic.Bool // else it is mended
	ops   atomic.Int64
	from  int64 // 0: never
	times int64
	hit   atomic.Bool
}

func (d *disk) fault(op string) error {
	if !d.armed.Load() || (op != "append" && op != "sync") {
		return nil
	}
	n := d.ops.Add(1)
	if d.from == 0 || n < d.from || n >= d.from+d.times {
		return nil
	}
	d.hit.Store(true)
	return errDisk
}

const twoSteps = "T'I do it. ' C(c1,append) A'{\"line\":1}' E U(7,5) F(tool)\nT'Done.' U(9,2) F(stop)\n" +
	"default\n  text Later.\n  finish stop\n"

// patient runs f until it says true, for a while.
func patient(ctx context.Context, f func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// play has a two-step turn with a call done on a store that fails as d says,
// then mends it and has another turn done. It returns what was wrong.
func (d *disk) play(ctx context.Context) (wrong []string) {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	ctx, done := context.WithTimeout(ctx, 2*time.Minute)
	defer done()
	const id = "s_fault"
	store := mem.New(mem.Options{Check: crashtest.Check, Fault: d.fault})
	tap := crashtest.NewTap(store)
	effects := crashtest.NewEffects()
	rig, err := crashtest.NewRig(tap, crashtest.RigOptions{Script: twoSteps, Effects: effects,
		Acked: tap.Acked,
		Asked: func() { // LOG-13: the intent of a request is durable before its first byte
			b, synced := store.Bytes(id), store.Synced(id)
			if !bytes.Contains(b[bytes.LastIndex(b[:synced], []byte(`"type":"model/request"`))+1:synced], []byte(`model/request`)) ||
				bytes.Contains(b[synced:], []byte(`"type":"model/request"`)) {
				say("a request was sent and its intent is not durable")
			}
		}})
	if err != nil {
		return []string{err.Error()}
	}
	defer func() {
		if err := rig.Close(ctx); err != nil {
			say("close: %v", err)
		}
	}()
	store.Put(id, nil)
	if _, err := rig.Runtime.Open(ctx, api.OpenRequest{ID: id}); err != nil {
		return []string{err.Error()}
	}
	stage := &crashtest.Stage{Service: rig.Runtime, ID: id}
	d.armed.Store(true)
	accepted := d.first(ctx, stage, rig, say)
	_, seen := effects.Of(id)
	for call, acked := range seen {
		if !startedBy(store, id, call, acked) {
			say("call %s had its effect and its start was not durable", call)
		}
	}
	broken := func() bool {
		st, err := rig.Runtime.Status(ctx, id)
		return err != nil || st.Storage != ""
	}
	soon, stop := context.WithTimeout(ctx, time.Minute) // who was refused hears of it a moment before
	defer stop()
	if d.times > 1000 && d.hit.Load() && !patient(soon, broken) { // syncs are shared: there may be fewer than in the first run
		say("the disk fails and the session's state does not say so")
	}
	d.armed.Store(false) // mended
	if err := later(ctx, stage); err != nil {
		say("the turn after the fault: %v", err)
		return wrong
	}
	if err := rig.Runtime.Release(ctx, id); err != nil {
		say("release: %v", err)
	}
	d.judge(ctx, store, effects, accepted, say)
	return wrong
}

// first does the turn that meets the fault and returns its input if it was
// accepted.
func (d *disk) first(ctx context.Context, stage *crashtest.Stage, rig *crashtest.Rig, say func(string, ...any)) event.InputID {
	input, err := stage.Submit(ctx, "go")
	var ae *api.Error
	switch {
	case errors.As(err, &ae) && ae.Code == event.FailStorage:
		if n := len(rig.Server.Requests()); n != 0 {
			say("the input was refused and %d requests were sent", n)
		}
		return ""
	case err != nil:
		say("submit: %v", err)
		return ""
	}
	res, err := rig.Runtime.Wait(ctx, stage.ID, input)
	switch {
	case err != nil:
		say("wait: %v", err)
	case *res.Outcome == event.TurnCompleted:
	case *res.Outcome == event.TurnFailed && res.Error != nil && res.Error.Code == string(event.FailStorage):
	default:
		say("the turn ended %s: %+v", *res.Outcome, res.Error)
	}
	return input
}

func startedBy(store *mem.Store, id event.SessionID, call event.CallID, acked event.Seq) bool {
	for line := range bytes.Lines(store.Bytes(id)) {
		r, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && r.Type == event.TypeCallStarted && r.Call == call {
			return r.Seq <= acked
		}
	}
	return false
}

// judge looks at the journal once all is over.
func (d *disk) judge(ctx context.Context, store *mem.Store, effects *crashtest.Effects, accepted event.InputID, say func(string, ...any)) {
	const id = "s_fault"
	rep, err := store.Verify(ctx, id)
	if err != nil || !rep.OK || rep.OpenTurn != 0 {
		say("the journal does not verify: %+v %v", rep, err)
	}
	var lines [][]byte
	for line := range bytes.Lines(store.Bytes(id)) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	if accepted != "" && !bytes.Contains(store.Bytes(id), []byte(accepted)) {
		say("input %s was accepted and stands nowhere", accepted)
	}
	for _, v := range crashtest.Judge(crashtest.Case{Intended: lines, Floor: event.Seq(len(lines) - 1), Journal: store.Bytes(id), Runs: effects.Runs(), Life: true}) {
		say("%s", v)
	}
	once, err := crashtest.Recover(ctx, id, store.Bytes(id), crashtest.SeesNothing)
	if err != nil {
		say("opening it again: %v", err)
		return
	}
	for _, v := range crashtest.Same(store.Bytes(id), once.Bytes) {
		say("%s", v)
	}
}

// Storage fails at each write and each sync in turn, once or until it is
// mended: nothing happens that was not written down first, everybody is told,
// and the session goes on without a restart.
//
// proves LOG-12, LOG-13, LOG-14, TRN-05
func TestStorageThatFailsAnywhereStopsWhatHadToBeWrittenFirst(t *testing.T) {
	var _ journal.Store = (*mem.Store)(nil)
	sound := &disk{}
	if wrong := sound.play(t.Context()); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	total := sound.ops.Load()
	if total < 15 {
		t.Fatalf("only %d writes and syncs in a turn of two steps", total)
	}
	var all sync.WaitGroup
	for at := int64(1); at <= total; at++ {
		for _, times := range []int64{1, 3, 1 << 40} {
			all.Go(func() {
				d := &disk{from: at, times: times}
				for _, w := range d.play(t.Context()) {
					t.Errorf("write or sync %d of %d, %d times: %s", at, total, times, w)
				}
				if !d.hit.Load() {
					t.Logf("write or sync %d was not made", at)
				}
			})
		}
	}
	all.Wait()
	t.Logf("%d faults", 3*total)
}
