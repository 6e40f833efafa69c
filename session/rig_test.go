package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/tooltest"
	"github.com/ripcord-go/ripcord/turn"
)

const bound = time.Minute // for what is not supposed to take time

// talk is one answer of a model; it returns how the stream ended.
type talk func(ctx context.Context, req model.Request, say func(event.Delta) bool) error

// puppet is a model in memory: each request takes the next talk, the last one
// for ever.
type puppet struct {
	mu    sync.Mutex
	talks []talk
	asked int
	// onAsk, which may be nil, sees each request whose context is alive: that
	// is a request that a driver would send.
	onAsk func(req model.Request)
	// stopped says that a stop was answered; requests sent after it are late.
	stopped atomic.Bool
	late    atomic.Int32
}

func (p *puppet) Info() model.Info { return model.Info{Provider: "puppet", Model: "m"} }

func (p *puppet) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		stopped := p.stopped.Load() // looked at before the context is
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		if stopped {
			p.late.Add(1)
		}
		p.mu.Lock()
		p.asked++
		next := p.talks[0]
		if len(p.talks) > 1 {
			p.talks = p.talks[1:]
		}
		onAsk := p.onAsk
		p.mu.Unlock()
		if onAsk != nil {
			onAsk(req)
		}
		if err := next(ctx, req, func(d event.Delta) bool { return yield(d, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// count is how many requests were sent.
func (p *puppet) count() int { p.mu.Lock(); defer p.mu.Unlock(); return p.asked }

// says answers with text.
func says(text string) talk {
	return func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
		_ = say(event.TextDelta{Text: text}) && say(event.Finish{Reason: event.FinishStop})
		return nil
	}
}

// hangs answers with text and then with silence.
func hangs(text string) talk {
	return func(ctx context.Context, _ model.Request, say func(event.Delta) bool) error {
		if text != "" && !say(event.TextDelta{Text: text}) {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// calls answers with calls, given as id and name, of one tool each.
func calls(idsAndNames ...string) talk {
	return func(_ context.Context, _ model.Request, say func(event.Delta) bool) error {
		for i := 0; i < len(idsAndNames); i += 2 {
			_ = say(event.CallStart{Block: i, ID: idsAndNames[i], Name: idsAndNames[i+1]}) &&
				say(event.ArgsDelta{Block: i, Text: "{}"}) && say(event.CallEnd{Block: i})
		}
		say(event.Finish{Reason: event.FinishTools})
		return nil
	}
}

// waits is a tool of the name "slow" that ends once release is closed, whatever
// stops it.
func waits(release <-chan struct{}) tool.Tool {
	return deed("slow", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) {
		<-release
		return tool.Text("real"), nil
	})
}

// rig is a live session on a memory store.
type rig struct {
	*testing.T
	store *mem.Store
	model *puppet
	cfg   session.Config
	live  *session.Live
	ctx   context.Context
}

// plan is what a rig is made of; zero fields get what suits most tests.
type plan struct {
	store  mem.Options
	talks  []talk
	tools  []tool.Tool
	gate   gate.Gate
	limits session.Limits
	turn   turn.Options
	hooks  gate.Hooks
	equip  func(*tool.Call) *tool.Call
	alone  bool
}

func check() journal.Checker { return turn.Check() }

func newRig(t *testing.T, p plan) *rig {
	t.Helper()
	p.store.Check = check
	if len(p.talks) == 0 {
		p.talks = []talk{says("fine")}
	}
	r := &rig{T: t, store: mem.New(p.store), model: &puppet{talks: p.talks}}
	ctx, cancel := context.WithTimeout(context.Background(), 3*bound)
	t.Cleanup(cancel)
	r.ctx = ctx
	set, err := tool.NewSet(p.tools...)
	if err != nil {
		t.Fatal(err)
	}
	p.turn.Tools = map[string]turn.Traits{}
	for _, name := range set.Names() {
		one, _ := set.Lookup(name)
		p.turn.Tools[name] = turn.Traits{Concurrent: tool.Parallel(one)}
	}
	p.turn.Config = event.ModelConfig{Provider: "puppet", Model: "m"}
	if p.turn.Backoff == 0 {
		p.turn.Backoff = time.Millisecond
	}
	if p.limits.StoreWait == 0 {
		p.limits.StoreWait = 5 * time.Millisecond
	}
	if p.gate == nil {
		p.gate = gate.Rules{Policy: gate.YesAll}
	}
	r.cfg = session.Config{ID: "s_1", Header: event.SessionOpened{ID: "s_1"}, Blobs: r.store.Blobs("s_1"), Model: r.model, Tools: set,
		Gate: p.gate, Turn: p.turn, Limits: p.limits, Hooks: p.hooks, Equip: p.equip, Alone: p.alone}
	w, err := r.store.Create(ctx, "s_1")
	if err != nil {
		t.Fatal(err)
	}
	r.open(w)
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open(w journal.Writer) {
	r.Helper()
	cfg := r.cfg
	cfg.Writer, cfg.Records = w, r.store.Read(r.ctx, "s_1", 0)
	var err error
	if r.live, err = session.Open(r.ctx, cfg); err != nil {
		r.Fatal(err)
	}
}

// reopen takes the session as the next process would.
func (r *rig) reopen() {
	r.Helper()
	w, err := r.store.Acquire(r.ctx, "s_1")
	if err != nil {
		r.Fatal(err)
	}
	r.open(w)
}

func (r *rig) close() {
	r.Helper()
	if err := r.live.Close(r.ctx, interrupt.SystemShutdown); err != nil {
		r.Error(err)
	}
}

func (r *rig) submit(text string) event.InputID {
	r.Helper()
	id, err := r.live.Submit(r.ctx, session.Input{Input: event.UserInput{Content: event.TextOf(text)}})
	if err != nil {
		r.Fatal(err)
	}
	return id
}

func (r *rig) wait(id event.InputID) turn.Summary {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, bound)
	defer cancel()
	sum, err := r.live.Wait(ctx, id)
	if err != nil {
		r.Fatalf("wait for %s: %v\n%s", id, err, r.types())
	}
	return sum
}

func (r *rig) run(text string) turn.Summary { r.Helper(); return r.wait(r.submit(text)) }

func (r *rig) stop(a session.Address) session.Stop {
	r.Helper()
	s, err := r.live.Interrupt(a, byMe(), false)
	if err != nil {
		r.Error(err)
	}
	return s
}

func byMe() interrupt.Cause {
	return interrupt.Cause{Reason: interrupt.UserSIGINT, Who: "me", At: time.Now()}
}

// until waits for ok with a bound; it looks again whenever the session moves,
// and now and then.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	sub, _ := r.live.Subscribe()
	defer sub.Close()
	ctx, cancel := context.WithTimeout(r.ctx, bound)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-sub.Wake():
			sub.Take()
		case <-tick.C:
		case <-ctx.Done():
			r.Fatalf("never: %s\n%s", what, r.types())
		}
	}
}

func (r *rig) records() []event.Record {
	r.Helper()
	var out []event.Record
	for rec, err := range r.store.Read(context.Background(), "s_1", 0) {
		if err != nil {
			r.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

// written reports whether the journal holds text, durable or not: a delta that
// is on its way when a stop comes is not recorded any more.
func (r *rig) written(text string) bool { return bytes.Contains(r.store.Bytes("s_1"), []byte(text)) }

// holds holds the journal, which must have no open turn, to its rules: order,
// one end and one result for everything.
func (r *rig) holds() *turn.Ledger {
	r.Helper()
	l, err := turn.Fold(r.records())
	if err != nil {
		r.Fatal(err)
	}
	if l.OpenTurn() != 0 {
		r.Errorf("turn %d is open\n%s", l.OpenTurn(), r.types())
	}
	return l
}

func (r *rig) types() string {
	var b strings.Builder
	for _, rec := range r.records() {
		fmt.Fprintf(&b, "%d %s turn %d %s\n", rec.Seq, rec.Type, rec.Turn, rec.Call)
	}
	return b.String()
}

func payloads[P event.Payload](t *testing.T, recs []event.Record) (out []P) {
	t.Helper()
	for i := range recs {
		p, err := recs[i].Body()
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := p.(P); ok {
			out = append(out, p)
		}
	}
	return out
}

// durable reports whether text stands in the part of the journal that would
// survive a power cut.
func (r *rig) durable(text string) bool {
	b := r.store.Bytes("s_1")[:r.store.Synced("s_1")]
	return bytes.Contains(b, []byte(text))
}

// deed is a tool made of a function.
func deed(name string, b interrupt.Behaviour, do func(ctx context.Context, c *tool.Call) (tool.Result, error)) tool.Tool {
	return tooltest.Func{Is: tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Concurrent: true}, Declared: b, Do: do}
}

// jitter lets up to d pass, at random.
func jitter(ctx context.Context, d time.Duration) {
	t := time.NewTimer(rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

var errGone = errors.New("gone")
