package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// proves TRN-05, INT-51, LOG-10: who lost the journal stops its turn, tells its
// waiters why, writes nothing, and takes nothing more
func TestWhoLostTheJournalAbortsItsTurnAndLeavesTheEndToTheNextHolder(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half"), says("fine")}})
	first := r.submit("first")
	r.until("it streams", func() bool { return strings.Contains(r.types(), "model/request") })
	dead := r.live
	r.store.Crash(true)
	r.reopen()
	after := r.types()
	if _, err := dead.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("second")}}); err == nil {
		t.Error("it accepts what it cannot write")
	}
	ctx, cancel := context.WithTimeout(r.ctx, bound)
	defer cancel()
	sum, err := dead.Wait(ctx, first)
	if err != nil || sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.LeaseLost) || !sum.Unsaved {
		t.Errorf("%+v, %v", sum, err)
	}
	var refused *turn.RefusedError
	if _, err := dead.Submit(ctx, session.Input{Input: event.UserInput{Content: event.TextOf("third")}}); !errors.As(err, &refused) || refused.Failure.Code != event.FailBusy {
		t.Errorf("it answers %v", err)
	}
	if err := dead.Close(ctx, interrupt.SystemShutdown); err != nil {
		t.Error(err)
	}
	if r.types() != after {
		t.Errorf("it wrote on:\n%s", r.types())
	}
	if sum := r.wait(first); sum.Outcome != event.TurnInterrupted {
		t.Errorf("the next holder says %+v", sum)
	}
	r.holds()
}

// proves TRN-05, INT-51: the same when the host says that the session is lost
func TestAHostThatSaysTheSessionIsLostIsBelieved(t *testing.T) {
	r := newRig(t, plan{talks: []talk{hangs("half"), says("fine")}})
	id := r.submit("first")
	r.until("it streams", func() bool { return r.model.count() == 1 })
	r.until("it is written", func() bool { return strings.Contains(r.types(), "model/request") })
	if _, err := r.live.Interrupt(session.Address{}, interrupt.Cause{Reason: interrupt.LeaseLost, Who: "cluster", At: time.Now()}, false); err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Reason != string(interrupt.LeaseLost) || !sum.Unsaved {
		t.Errorf("%+v", sum)
	}
	r.close()
	if strings.Contains(r.types(), "turn/end") {
		t.Errorf("it wrote the end:\n%s", r.types())
	}
	r.reopen()
	r.holds()
	r.close()
}

// proves LOG-12, REC-06: whoever did not stay for the acknowledgement asks
// again under the same key, and can wait for the turn that runs
func TestASubmitThatWasCutCanBeAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, plan{store: mem.Options{Delay: 100 * time.Millisecond}, talks: []talk{hangs("half")}})
		in := session.Input{Key: "k", Input: event.UserInput{Content: event.TextOf("go")}}
		short, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
		defer cancel()
		if _, err := r.live.Submit(short, in); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the submit came to %v", err)
		}
		id, err := r.live.Submit(r.ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		r.until("it streams", func() bool { return r.model.count() == 1 })
		r.stop(session.Address{Input: id})
		if sum := r.wait(id); sum.Turn != 1 || sum.Outcome != event.TurnAborted {
			t.Errorf("%+v", sum)
		}
		r.holds()
	})
}

// tree is a process tree in memory. One that is deaf outlives its stop.
type tree struct {
	gone chan struct{}
	deaf bool
	once sync.Once

	mu   sync.Mutex
	kept bool
	how  []interrupt.Ladder
}

func newTree() *tree { return &tree{gone: make(chan struct{})} }

func (p *tree) PIDs() []int                { return []int{7} }
func (p *tree) Gone() <-chan struct{}      { return p.gone }
func (p *tree) Exit() (*int, string)       { return nil, "" }
func (p *tree) Output(int) (string, int64) { return "", 0 }
func (p *tree) Keep(keep bool) error       { p.mu.Lock(); defer p.mu.Unlock(); p.kept = keep; return nil }
func (p *tree) isKept() bool               { p.mu.Lock(); defer p.mu.Unlock(); return p.kept }
func (p *tree) ladders() []interrupt.Ladder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.how)
}
func (p *tree) Stop(l interrupt.Ladder) []int {
	p.mu.Lock()
	p.how = append(p.how, l)
	p.mu.Unlock()
	if p.deaf && l != (interrupt.Ladder{}) {
		select {
		case <-p.gone:
			return nil
		case <-time.After(l.Bound):
			return []int{7}
		}
	}
	if !p.deaf {
		p.once.Do(func() { close(p.gone) })
	}
	return nil
}

// leaves is a tool that leaves each of trees running as a job.
func leaves[P tool.Process](trees ...P) tool.Tool {
	return deed("leaves", interrupt.NonInterruptible, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		for _, p := range trees {
			if _, err := tool.JobsOf(c).Adopt(ctx, tool.Job{Call: c.ID, Command: "server", Process: p}); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("left"), nil
	})
}

// proves PRC-05, REC-05: each job that ended with its session has its end in
// the journal, also beside one that is kept
func TestEveryJobThatEndsWithItsSessionHasItsEnd(t *testing.T) {
	for range 20 {
		kept, one, two := newTree(), newTree(), newTree()
		r := newRig(t, plan{tools: []tool.Tool{leaves(kept, one, two)}, talks: []talk{calls("c1", "leaves"), says("fine")}})
		r.run("go")
		if err := r.live.Keep(r.ctx, "j1", true); err != nil {
			t.Fatal(err)
		}
		r.close()
		ends := payloads[event.JobEnded](t, r.records())
		if len(ends) != 2 || kept.isKept() == false {
			t.Fatalf("ends %+v\n%s", ends, r.types())
		}
	}
}

// proves PRC-03, IFC-05: when nobody waits for a close any more what runs is
// forced; what could not be ended is said, and the journal is given up all the same
func TestAClosingThatRunsOutOfTimeForcesTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := newTree()
		deaf.deaf = true
		r := newRig(t, plan{tools: []tool.Tool{leaves(deaf)}, limits: session.Limits{JobGrace: time.Minute, JobBound: 300 * time.Millisecond},
			talks: []talk{calls("c1", "leaves"), says("fine")}})
		r.run("go")
		if err := r.live.Kill("j1", "me"); err == nil || !strings.Contains(err.Error(), "[7]") {
			t.Errorf("a job that lives on was killed: %v", err)
		}
		short, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := r.live.Close(short, interrupt.SystemShutdown)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 30*time.Second { // the grace is a minute
			t.Errorf("after %v: %v", took, err)
		}
		r.until("it is forced", func() bool { return slices.Contains(deaf.ladders(), interrupt.Ladder{}) })
		if err := r.live.Close(r.ctx, interrupt.SystemShutdown); err == nil || !strings.Contains(err.Error(), "[7]") || !r.live.Closed() {
			t.Errorf("the second close came to %v", err)
		}
		r.reopen()
		close(deaf.gone)
		r.close()
	})
}

// proves TRN-06, TRN-04: a model driver that ignores its context holds neither
// the turn's end nor the journal, and is named
func TestAModelThatIgnoresTheStopIsCutOffAndNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, plan{talks: []talk{func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
			say(event.TextDelta{Text: "half"})
			<-release
			say(event.TextDelta{Text: "late"})
			return nil
		}, says("fine")}})
		id := r.submit("go")
		r.until("it streams", func() bool { return r.model.count() == 1 })
		r.stop(session.Address{Input: id})
		if sum := r.wait(id); sum.Outcome != event.TurnAborted || strings.Contains(sum.Text, "late") {
			t.Errorf("%+v", sum)
		}
		if u := r.live.Status().Unwinding; len(u) != 1 || !strings.Contains(u[0], "model") || !strings.Contains(u[0], "turn 1") {
			t.Errorf("unwinding: %q", u)
		}
		if sum := r.run("next"); sum.Text != "fine" {
			t.Errorf("%+v", sum)
		}
		short, cancel := context.WithTimeout(r.ctx, 100*time.Millisecond)
		defer cancel()
		dead := r.live
		if err := dead.Close(short, interrupt.SystemShutdown); err == nil || !dead.Closed() {
			t.Errorf("closed: %v", err)
		}
		r.reopen()
		close(release)
		if err := dead.Close(r.ctx, interrupt.SystemShutdown); err != nil {
			t.Error(err)
		}
		r.holds()
	})
}

// proves LOG-07: images and files, a person's and a tool's, are blobs, durable
// before the record that names them; a model is given what they hold
func TestLargeImagesAreBlobsNotRecords(t *testing.T) {
	big := bytes.Repeat([]byte("png"), 20<<10)
	shot := deed("shot", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Success: true, Content: event.Content{event.Image{MediaType: "image/png", Data: big}}}, nil
	})
	r := newRig(t, plan{tools: []tool.Tool{shot}, talks: []talk{calls("c1", "shot"), says("fine")}})
	var images, whole atomic.Int32
	r.model.mu.Lock()
	r.model.onAsk = func(req model.Request) {
		for _, m := range req.Messages {
			for _, p := range m.Content {
				if img, ok := p.(event.Image); ok {
					images.Add(1)
					if data, err := req.Blob(r.ctx, *img.Blob); err == nil && bytes.Equal(data, big) {
						whole.Add(1)
					}
				}
			}
		}
	}
	r.model.mu.Unlock()
	id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.Content{event.Text{Text: "see"}, event.Image{MediaType: "image/png", Data: big}}}})
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.wait(id); sum.Outcome != event.TurnCompleted {
		t.Errorf("%+v", sum)
	}
	if n := len(r.store.Bytes("s_1")); n > len(big) {
		t.Errorf("the journal has %d bytes", n)
	}
	if images.Load() != 3 || whole.Load() != 3 {
		t.Errorf("the model saw %d images, %d of them whole", images.Load(), whole.Load())
	}
	r.holds()
}

// proves LOG-14, pitfall 65: a subscriber that fell behind is told so, and knows
// up to where the journal has what it missed, also when nothing comes any more
func TestASubscriberThatFellBehindKnowsHowFar(t *testing.T) {
	r := newRig(t, plan{talks: []talk{func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
		for i := range 9000 {
			if !say(event.TextDelta{Text: fmt.Sprintf("w%d ", i*i)}) {
				return nil
			}
		}
		say(event.Finish{Reason: event.FinishStop})
		return nil
	}}})
	sub, _ := r.live.Subscribe()
	defer sub.Close()
	r.run("go")
	recs := r.records()
	if _, lagged, _ := sub.Take(); !lagged || sub.Shown() != recs[len(recs)-1].Seq {
		t.Errorf("lagged %v, shown up to %d of %d", lagged, sub.Shown(), recs[len(recs)-1].Seq)
	}
	r.close()
}

// proves LOG-14: what the store does not take is kept within a bound: past it
// the turn ends, though no checkpoint was due
func TestAStreamThatCannotBeWrittenEndsBeforeItFillsMemory(t *testing.T) {
	var full atomic.Bool
	cut := make(chan bool, 1)
	said := 0
	r := newRig(t, plan{limits: session.Limits{StoreWait: 500 * time.Millisecond}, store: mem.Options{Fault: func(op string) error {
		if op == "append" && full.Load() {
			return errors.New("no space left on device")
		}
		return nil
	}}, talks: []talk{func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
		full.Store(true)
		for ; said < 64<<20 && say(event.TextDelta{Text: strings.Repeat("x", 64<<10)}); said += 64 << 10 {
		}
		cut <- said < 64<<20
		return context.Cause(ctx)
	}, says("fine")}})
	sum := r.run("go")
	if sum.Outcome != event.TurnFailed || sum.Error == nil || sum.Error.Code != event.FailStorage || !<-cut {
		t.Errorf("%d bytes came, %s, %+v", said, sum.Outcome, sum.Error)
	}
	full.Store(false)
	r.until("it works again", func() bool { return r.live.Status().Storage == "" })
	if two := r.run("again"); two.Outcome != event.TurnCompleted {
		t.Errorf("%+v", two)
	}
	r.holds()
}

// proves LOG-14, TRN-06: a checkpoint of the ending that fails once is made at
// once with what the store kept in reserve: the outcome is the turn's own
func TestAnEndingThatFailsOnceIsWrittenAtOnce(t *testing.T) {
	for n := int32(1); n <= 2; n++ { // the marker's sync, the end's
		var left atomic.Int32
		r := newRig(t, plan{store: mem.Options{Fault: func(op string) error {
			if op == "sync" && left.Load() > 0 && left.Add(-1) == 0 {
				return errors.New("no space left on device")
			}
			return nil
		}}, talks: []talk{hangs("half"), says("fine")}})
		id := r.submit("go")
		r.until("it streams", func() bool { return r.written("half") })
		left.Store(n)
		r.stop(session.Address{Input: id})
		if sum := r.wait(id); sum.Outcome != event.TurnAborted || sum.Unsaved || sum.Error != nil {
			t.Errorf("sync %d: %+v", n, sum)
		}
		r.holds()
		r.close()
	}
}
