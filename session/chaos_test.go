package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ripcord-go/ripcord/crashtest"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/gate"
	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// chaos is one life of a session with people, a model and tools that do what
// they like, in virtual time. What they do is drawn from a seed; how the
// goroutines meet is not.
type chaos struct {
	store  *mem.Store
	cfg    session.Config
	ctx    context.Context
	faults atomic.Bool

	mu    sync.Mutex
	rng   *rand.Rand
	live  *session.Live
	acked map[event.InputID]string
	runs  map[event.CallID]int
	seen  map[string]int
	wrong []string
	calls int
	good  bool // the model answers at once
}

func (c *chaos) draw(n int) int { c.mu.Lock(); defer c.mu.Unlock(); return c.rng.IntN(n) }

func (c *chaos) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *chaos) saw(what string) { c.mu.Lock(); defer c.mu.Unlock(); c.seen[what]++ }

func (c *chaos) current() *session.Live { c.mu.Lock(); defer c.mu.Unlock(); return c.live }

// pause lets virtual time pass; it reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *chaos) Info() model.Info { return model.Info{Provider: "chaos", Model: "m"} }

// Stream implements [model.Model].
func (c *chaos) Stream(ctx context.Context, req model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		if err := scripted.Validate(merged(req.Messages)); err != nil {
			c.fail("a strict model refuses the request: %v", err)
		}
		c.mu.Lock()
		good := c.good
		c.mu.Unlock()
		say := func(d event.Delta) bool { return yield(d, nil) }
		if good {
			_ = say(event.TextDelta{Text: "fine"}) && say(event.Finish{Reason: event.FinishStop})
			return
		}
		if err := c.answer(ctx, req, say); err != nil {
			yield(nil, err)
		}
	}
}

// merged joins messages of one role, as an adapter does for its wire.
func merged(in []event.Message) (out []event.Message) {
	for _, m := range in {
		if n := len(out); n > 0 && m.Role == event.RoleUser && out[n-1].Role == event.RoleUser {
			out[n-1].Content = append(out[n-1].Content[:len(out[n-1].Content):len(out[n-1].Content)], m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}

func (c *chaos) answer(ctx context.Context, req model.Request, say func(event.Delta) bool) error {
	if !pause(ctx, time.Duration(c.draw(3000))*time.Millisecond) {
		return context.Cause(ctx)
	}
	for i := range c.draw(4) {
		if !say(event.TextDelta{Text: fmt.Sprintf("word %d of %d ", i, c.draw(1000))}) {
			return nil
		}
		pause(ctx, time.Duration(c.draw(300))*time.Millisecond)
	}
	summary := len(req.Messages) > 0 && req.Messages[len(req.Messages)-1].Content.Text() == turn.TextSummarize
	switch k := c.draw(24); {
	case k == 0: // deaf to its context
		<-time.After(time.Duration(c.draw(400)) * time.Second)
		c.saw("a deaf model")
	case k == 1: // silent for good
		<-ctx.Done()
		c.saw("a silent model")
		return context.Cause(ctx)
	case k == 2 && !summary:
		return c.longArgument(ctx, say)
	case k == 3:
		return &model.Error{Failure: event.Failure{Code: event.FailTransport, Message: "cut"}}
	case k == 4:
		return &model.Error{Failure: event.Failure{Code: event.FailContext, Message: "too long"}}
	case k == 5:
		return &model.Error{Failure: event.Failure{Code: event.FailRequest, Message: "no"}}
	case k == 6:
		panic("the model's driver breaks down")
	case k == 7:
		return nil // no finish
	case k < 17 && !summary:
		return c.someCalls(say)
	}
	_ = say(event.TextDelta{Text: "done"}) && say(event.Finish{Reason: event.FinishStop})
	return nil
}

// longArgument goes silent inside an argument, at one of two places.
func (c *chaos) longArgument(ctx context.Context, say func(event.Delta) bool) error {
	var text strings.Builder
	for i := 0; text.Len() < 17_000+2000*c.draw(2); i++ {
		fmt.Fprintf(&text, "line %d holds the number %d\n", i, i*i*7919)
	}
	_ = say(event.CallStart{Block: 1, ID: "", Name: "quick"}) && say(event.ArgsDelta{Block: 1, Text: `{"text":"`}) && say(event.ArgsDelta{Block: 1, Text: strings.ReplaceAll(text.String(), "\n", `\n`)})
	<-ctx.Done()
	c.saw("a stall in an argument")
	return context.Cause(ctx)
}

func (c *chaos) someCalls(say func(event.Delta) bool) error {
	for i := range 1 + c.draw(3) {
		c.mu.Lock()
		c.calls++
		id, name := fmt.Sprintf("c%d", c.calls), []string{"quick", "slow", "sure"}[c.rng.IntN(3)]
		c.mu.Unlock()
		if !say(event.CallStart{Block: i + 1, ID: id, Name: name}) || !say(event.ArgsDelta{Block: i + 1, Text: fmt.Sprintf(`{"n":%d}`, i)}) || !say(event.CallEnd{Block: i + 1}) {
			return nil
		}
	}
	say(event.Finish{Reason: event.FinishTools})
	return nil
}

// act is what a tool does: its start must be durable by then.
func (c *chaos) act(ctx context.Context, call *tool.Call, longest time.Duration) (tool.Result, error) {
	durable := c.store.Bytes("s_1")[:c.store.Synced("s_1")]
	if !bytes.Contains(durable, fmt.Appendf(nil, `"type":"call/started"`)) || !bytes.Contains(durable, fmt.Appendf(nil, `"call":%q`, call.ID)) {
		c.fail("call %s runs and its start is not durable", call.ID)
	}
	c.mu.Lock()
	c.runs[call.ID]++
	c.mu.Unlock()
	pause(ctx, time.Duration(c.draw(int(longest/time.Millisecond)))*time.Millisecond)
	if ctx.Err() != nil {
		return tool.Text("part"), context.Cause(ctx)
	}
	return tool.Text(fmt.Sprintf("result %d", c.draw(1000))), nil
}

func newChaos(seed uint64) *chaos {
	c := &chaos{ctx: context.Background(), rng: rand.New(rand.NewPCG(seed, 11)), acked: map[event.InputID]string{}, runs: map[event.CallID]int{}, seen: map[string]int{}}
	fault := func(op string) error {
		if c.faults.Load() && op != "read" && c.draw(60) == 0 {
			c.saw("a fault of the disk")
			return errors.New("disk")
		}
		return nil
	}
	c.store = mem.New(mem.Options{Check: check, Fault: fault, Delay: time.Duration(seed%3) * time.Millisecond})
	set, err := tool.NewSet(
		deed("quick", interrupt.Cooperative, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			return c.act(ctx, call, 50*time.Millisecond)
		}),
		deed("slow", interrupt.ContextInterruptible, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			return c.act(ctx, call, 20*time.Second)
		}),
		deed("sure", interrupt.NonInterruptible, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			return c.act(c.ctx, call, 50*time.Second)
		}))
	if err != nil {
		panic(err)
	}
	opts := turn.Options{Config: event.ModelConfig{Provider: "chaos", Model: "m"}, Tools: map[string]turn.Traits{"quick": {Concurrent: true}, "slow": {Concurrent: true}, "sure": {}},
		Budget: guard.Budget{Steps: 4}, Guards: turn.Guards{Stall: guard.StallLimits{First: 90 * time.Second, Idle: 15 * time.Second}}}
	if seed%2 == 0 {
		opts.Context = 4000
	}
	if seed%5 == 0 {
		opts.Budget.Wall = time.Minute
	}
	c.cfg = session.Config{ID: "s_1", Header: event.SessionOpened{ID: "s_1"}, Blobs: c.store.Blobs("s_1"), Model: c, Tools: set,
		Gate: gate.Rules{Policy: gate.YesAll}, Turn: opts, Limits: session.Limits{StoreWait: 100 * time.Millisecond}}
	return c
}

// open takes the session as the next process would.
func (c *chaos) open(w journal.Writer) error {
	cfg := c.cfg
	cfg.Writer, cfg.Records = w, c.store.Read(c.ctx, "s_1", 0)
	l, err := session.Open(c.ctx, cfg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.live = l
	c.mu.Unlock()
	return nil
}

// again ends this life, in order or not, and begins the next.
func (c *chaos) again(orderly, unsynced bool) error {
	c.faults.Store(false)
	before, synced := c.store.Bytes("s_1"), c.store.Synced("s_1")
	if !orderly {
		c.saw("a crash")
		before, synced = c.crash(unsynced)
	}
	if err := c.live.Close(c.ctx, interrupt.SystemShutdown); err != nil && orderly {
		return err
	}
	w, err := c.store.Acquire(c.ctx, "s_1")
	if err != nil {
		return err
	}
	if err := c.open(w); err != nil {
		return err
	}
	if !orderly {
		c.judge(before, synced)
	}
	return nil
}

// crash drops the writer; it returns what stood there by then.
func (c *chaos) crash(unsynced bool) (before []byte, synced int64) {
	before = c.store.Bytes("s_1") // what is written until the writer is gone is a longer journal with the same beginning
	synced = c.store.Synced("s_1")
	c.store.Crash(unsynced)
	if now := c.store.Bytes("s_1"); len(now) > len(before) {
		before = now
	}
	return before, synced
}

// judge has the oracle of the crash sweep look at what recovery made of what
// stood there; what rewinds and summaries hide from the history is not its
// subject.
func (c *chaos) judge(before []byte, synced int64) {
	if now := c.store.Bytes("s_1"); bytes.Contains(now, []byte(`"type":"rewind"`)) || bytes.Contains(now, []byte(`"type":"compaction/`)) {
		return
	}
	whole := func(b []byte) (lines [][]byte) {
		for line := range bytes.Lines(b) {
			if line, ok := bytes.CutSuffix(line, []byte("\n")); ok {
				lines = append(lines, line)
			}
		}
		return lines
	}
	floor := event.Seq(len(whole(before[:synced]))) - 1
	for _, v := range crashtest.Judge(crashtest.Case{Intended: whole(before), Floor: floor, Journal: c.store.Bytes("s_1"), Life: true}) {
		c.fail("behind a crash: %v", v)
	}
}

var deeds = []string{"offer", "offer", "offer", "stop", "clear", "edit", "remove", "retry", "rewind", "compact", "continue", "run held", "wait"}

// person does n things to the session, whatever it is at.
func (c *chaos) person(n int) {
	var mine []event.InputID
	for range n {
		pause(c.ctx, time.Duration(c.draw(12_000))*time.Millisecond)
		l := c.current()
		ctx, cancel := context.WithTimeout(c.ctx, time.Duration(1+c.draw(60))*time.Second)
		switch what := deeds[c.draw(len(deeds))]; what {
		case "offer":
			mine = append(mine, c.offer(ctx, l, mine))
		default:
			var id event.InputID
			if len(mine) > 0 {
				id = mine[c.draw(len(mine))]
			}
			if err := c.does(ctx, l, what, id); err == nil {
				c.saw(what)
			}
		}
		cancel()
	}
}

func (c *chaos) offer(ctx context.Context, l *session.Live, mine []event.InputID) event.InputID {
	p := []event.Priority{event.PriorityLater, event.PriorityNext, event.PriorityNow, ""}[c.draw(4)]
	text := fmt.Sprintf("please <%d>", c.draw(1<<40))
	in := session.Input{Input: event.UserInput{Content: event.TextOf(text)}, Priority: p}
	if len(mine) > 0 && c.draw(5) == 0 {
		in.Replaces = mine[len(mine)-1:]
	}
	taken, err := l.Offer(ctx, in)
	if err != nil {
		return "i_none"
	}
	c.saw(string(taken.Where))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked[taken.ID] = text
	return taken.ID
}

func (c *chaos) does(ctx context.Context, l *session.Live, what string, id event.InputID) (err error) {
	switch what {
	case "stop":
		a := session.Address{Input: id}
		if c.draw(2) == 0 {
			a.Input = ""
		}
		var s session.Stop
		if force := c.draw(6) == 0; c.draw(6) == 0 {
			s, err = l.InterruptAndClear(ctx, a, byMe(), force)
		} else {
			s, err = l.Interrupt(a, byMe(), force)
		}
		if err == nil && s != session.Stopping {
			err = errors.New("nothing to stop")
		}
	case "clear":
		if c.draw(3) == 0 {
			_, err = l.ClearInbox(ctx, "me")
		}
	case "edit":
		err = l.Edit(ctx, id, event.UserInput{Content: event.TextOf("other words")}, "me")
	case "remove":
		err = l.Remove(ctx, id, "me")
	case "retry":
		_, err = l.Retry(ctx, "me", nil)
	case "rewind":
		_, err = l.Rewind(ctx, c.draw(3), c.draw(2) == 0, c.draw(2) == 0, "me")
	case "compact":
		_, err = l.Compact(ctx, "me")
	case "continue":
		_, err = l.Continue(ctx, "me", false)
	case "run held":
		_, err = l.Continue(ctx, "me", true)
	case "wait":
		_, err = l.Wait(ctx, id)
	}
	return err
}

// terminal counts the terminal events that a subscriber sees until the session
// is closed.
func (c *chaos) terminal(l *session.Live, out map[int]int) (stop func()) {
	sub, _ := l.Subscribe()
	done := make(chan struct{})
	go func() { // ends with the session
		defer close(done)
		for {
			<-sub.Wake()
			frames, lagged, ended := sub.Take()
			if lagged {
				c.fail("a subscriber that reads at once fell behind")
			}
			for _, f := range frames {
				if f.Live != nil && f.Live.State == "ended" {
					out[f.Live.Turn]++
				}
			}
			if ended {
				return
			}
		}
	}()
	return func() { <-done; sub.Close() }
}

func (c *chaos) lives() error {
	w, err := c.store.Create(c.ctx, "s_1")
	if err != nil {
		return err
	}
	if err := c.open(w); err != nil {
		return err
	}
	for life := range 3 {
		ends := map[int]int{}
		told := c.terminal(c.live, ends)
		c.faults.Store(life == 1)
		var people sync.WaitGroup
		for range 3 {
			people.Go(func() { c.person(5 + c.draw(6)) })
		}
		orderly := life == 2 || c.draw(3) == 0
		if !orderly { // in the middle of it
			pause(c.ctx, time.Duration(c.draw(60_000))*time.Millisecond)
			if err := c.again(false, c.draw(2) == 0); err != nil {
				return err
			}
			people.Wait()
		} else {
			people.Wait()
			if err := c.again(true, false); err != nil {
				return err
			}
		}
		told()
		for n, times := range ends {
			if times != 1 {
				c.fail("turn %d has %d terminal events", n, times)
			}
		}
	}
	return c.last()
}

// last is one more life, with a model that answers: whatever went before, the
// next turn just works.
func (c *chaos) last() error {
	c.mu.Lock()
	c.good = true
	c.mu.Unlock()
	id, err := c.live.Submit(c.ctx, session.Input{Input: event.UserInput{Content: event.TextOf("and now?")}, Priority: event.PriorityNow})
	if err != nil {
		return err
	}
	sum, err := c.live.Wait(c.ctx, id)
	if err != nil {
		return err
	}
	if sum.Outcome != event.TurnCompleted {
		c.fail("the turn behind it all ended %s: %+v", sum.Outcome, sum.Error)
	}
	return c.live.Close(c.ctx, interrupt.SystemShutdown)
}

// holds looks at what is left.
func (c *chaos) holds() {
	check, ends, dropped, ran := turn.Check(), map[int]int{}, map[event.InputID]bool{}, map[event.CallID]bool{}
	var recs []event.Record
	for rec, err := range c.store.Read(c.ctx, "s_1", 0) {
		if err == nil {
			err = check.Next(&rec)
		}
		if err != nil {
			c.fail("the journal: %v", err)
			return
		}
		recs = append(recs, rec)
		switch p, _ := rec.Body(); p := p.(type) {
		case event.TurnEnded:
			ends[rec.Turn]++
		case event.InboxDropped:
			dropped[p.ID] = true
		case event.InboxAccepted:
			for _, id := range p.Replaces {
				dropped[id] = true
			}
		case event.CallStarted:
			ran[rec.Call] = true
		}
	}
	l, err := turn.Fold(recs)
	if err != nil || check.OpenTurn() != 0 {
		c.fail("turn %d is open, %v", check.OpenTurn(), err)
		return
	}
	for n := 1; n <= len(ends); n++ {
		if ends[n] != 1 {
			c.fail("turn %d has %d ends", n, ends[n])
		}
	}
	if err := scripted.Validate(merged(append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")}))); err != nil {
		c.fail("the next request would be refused: %v", err)
	}
	for id, text := range c.acked {
		_, claimed := l.TurnOf[id]
		_, waits := l.Box.Get(id)
		if !claimed && !waits && !dropped[id] {
			c.fail("input %s was accepted and is nowhere", id)
		}
		if n := said(l.History, text); n > 1 || n == 1 && waits {
			c.fail("%q of %s is said %d times, waits: %v", text, id, n, waits)
		}
	}
	for id, n := range c.runs {
		if n > 1 {
			c.fail("call %s ran %d times", id, n)
		}
	}
	for _, rec := range recs {
		if p, _ := rec.Body(); rec.Type == event.TypeTurnEnded {
			c.seen["ended "+string(p.(event.TurnEnded).Outcome)]++
		}
		if rec.Type == event.TypeGuardWake || rec.Type == event.TypeCompactionSummary {
			c.seen[string(rec.Type)]++
		}
	}
}

func seeds(t *testing.T, n int) int {
	if s := os.Getenv("RIPCORD_SEEDS"); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return n
}

// keep puts the journal of a failure into a file and shows how it came about.
func keep(t *testing.T, c *chaos, seed int) {
	t.Helper()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("ripcord-interleaving-%d.jsonl", seed))
	if err := os.WriteFile(path, c.store.Bytes("s_1"), 0o600); err != nil {
		t.Error(err)
	}
	var line strings.Builder
	for rec := range c.store.Read(context.Background(), "s_1", 0) {
		fmt.Fprintf(&line, "%s %d %s turn %d step %d %s\n", rec.Time.Format("15:04:05.000"), rec.Seq, rec.Type, rec.Turn, rec.Step, rec.Call)
	}
	t.Fatalf("seed %d:\n%s\nits journal is in %s\n%s", seed, strings.Join(c.wrong, "\n"), path, line.String())
}

// The real goroutines, in virtual time: whatever people, the model, the tools and
// the disk do to a session, its journal is valid, each turn has one end and one
// terminal event, no accepted input is lost or said twice, nothing runs twice,
// and the next turn just works.
//
// proves PRF-05, TRN-01, TRN-02, TRN-05, TRN-13, TRN-14, TRN-16, TRN-17, LOG-13, REC-05, GRD-01, GRD-03
func TestAnyInterleavingOfTheRealGoroutinesLeavesTheTruth(t *testing.T) {
	seen := map[string]int{}
	n := seeds(t, 40)
	for seed := range n {
		var c *chaos
		synctest.Test(t, func(t *testing.T) {
			c = newChaos(uint64(seed))
			if err := c.lives(); err != nil {
				c.fail("%v", err)
			}
			c.holds()
			pause(c.ctx, time.Hour) // what was cut off comes back
		})
		if len(c.wrong) > 0 {
			keep(t, c, seed)
		}
		for what, n := range c.seen {
			seen[what] += n
		}
	}
	t.Logf("%d seeds, seen: %v", n, seen)
	if n < 200 {
		return
	}
	for _, what := range append(deeds[3:], "running", "steering", "interrupting", "queued", "a crash", "a fault of the disk", "a deaf model", "a silent model", "a stall in an argument",
		"guard/wake", "ended completed", "ended aborted", "ended failed", "ended stalled", "ended interrupted", "ended budget") {
		if seen[what] == 0 {
			t.Errorf("%s: never: the test has shrunk", what)
		}
	}
}
