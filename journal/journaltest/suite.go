package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

// Driver is what the suite needs to test a store.
type Driver struct {
	// Open returns a new, empty store that judges by check, which may be nil.
	Open func(t *testing.T, check func() journal.Checker) journal.Store
	// Crash ends the store's writers as the death of their process would, what
	// they wrote staying as it is, and returns the store as the next process
	// finds it.
	Crash func(t *testing.T, s journal.Store) journal.Store
	// Bytes returns a journal's bytes as they stand.
	Bytes func(t *testing.T, s journal.Store, id event.SessionID) []byte
	// Put sets the bytes of a journal that nobody writes; the session may be new.
	Put func(t *testing.T, s journal.Store, id event.SessionID, b []byte)
	// Fail makes an operation, "append" or "sync", fail from now on with err;
	// nil lets it work again.
	Fail func(t *testing.T, s journal.Store, op string, err error)
	// Stride, if above 1, lets sweeps try only every seventh flipped bit and
	// open only every n-th variant for writing, for stores where that costs
	// real files and syncs. The scanner behind all stores is one.
	Stride int
}

// Run holds the driver's store to the contract.
func Run(t *testing.T, d Driver) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"write", writeCases}, {"read", readCases}, {"tail", tailCases},
		{"damage", damageCases}, {"beside", besideCases}, {"fault", faultCases},
	} {
		for _, c := range group.cases {
			t.Run(group.name+"/"+c.name, func(t *testing.T) { c.run(t, d) })
		}
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, d Driver)
}

// ID is the session that the suite's journals belong to.
const ID = event.SessionID("s_suite")

// clock is a fixed time: nothing may depend on it.
func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC) }

// Rec makes a record of turn and step, 0 for none.
func Rec(t testing.TB, p event.Payload, turn, step int) event.Record {
	t.Helper()
	r, err := event.New(p, clock())
	if err != nil {
		t.Fatal(err)
	}
	r.Turn, r.Step = turn, step
	return r
}

// Open is the record that a session begins with.
func Open(t testing.TB) event.Record {
	return Rec(t, event.SessionOpened{ID: ID, Cwd: "/work", Title: "suite"}, 0, 0)
}

// Turn makes the records of one plain turn that obeys the rules.
func Turn(t testing.TB, n int) []event.Record {
	in := event.InputID(fmt.Sprintf("i_%d", n))
	text := event.TextOf(fmt.Sprintf("words of turn %d, ünïcödé and \u2028 included", n))
	return []event.Record{
		Rec(t, event.InboxAccepted{ID: in, Input: event.UserInput{Content: text}, Priority: event.PriorityNext}, 0, 0),
		Rec(t, event.TurnStarted{Kind: event.TurnInput, Input: in}, n, 0),
		Rec(t, event.StepStarted{}, n, 1),
		Rec(t, event.InboxClaimed{ID: in}, n, 1),
		Rec(t, event.AssistantMessage{Attempt: 1, Content: text, Finish: event.FinishStop}, n, 1),
		Rec(t, event.StepEnded{}, n, 1),
		Rec(t, event.TurnEnded{Outcome: event.TurnCompleted, Steps: 1}, n, 0),
	}
}

// turns is a Checker of two rules: turns count from 1, and do not nest.
type turns struct{ last, open int }

func checker() journal.Checker { return &turns{} }

func (c *turns) Next(r *event.Record) error {
	switch r.Type {
	case event.TypeTurnStarted:
		if c.open != 0 || r.Turn != c.last+1 {
			return fmt.Errorf("turn %d may not start here", r.Turn)
		}
		c.open = r.Turn
	case event.TypeTurnEnded:
		if c.open != r.Turn || r.Turn == 0 {
			return fmt.Errorf("turn %d is not open", r.Turn)
		}
		c.last, c.open = r.Turn, 0
	}
	return nil
}

func (c *turns) OpenTurn() int { return c.open }

// must returns v unless err.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pen writes through a Writer and keeps account.
type pen struct {
	t     testing.TB
	w     journal.Writer
	last  event.Seq
	epoch event.Epoch
}

func create(t testing.TB, s journal.Store, id event.SessionID) *pen {
	t.Helper()
	return newPen(t, must[journal.Writer](t)(s.Create(t.Context(), id)))
}

func acquire(t testing.TB, s journal.Store, id event.SessionID) *pen {
	t.Helper()
	return newPen(t, must[journal.Writer](t)(s.Acquire(t.Context(), id)))
}

func newPen(t testing.TB, w journal.Writer) *pen {
	t.Cleanup(func() { _ = w.Close() })
	r := w.Recovered()
	return &pen{t, w, r.Last, r.Epoch + 1}
}

func (p *pen) append(recs ...event.Record) {
	p.t.Helper()
	last, err := p.w.Append(p.t.Context(), p.last, p.epoch, recs)
	if err != nil {
		p.t.Fatal(err)
	}
	if last != p.last+event.Seq(len(recs)) {
		p.t.Fatalf("append of %d records behind %d: last is %d", len(recs), p.last, last)
	}
	p.last = last
}

func (p *pen) sync() {
	p.t.Helper()
	acked, err := p.w.Sync(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if acked != p.last {
		p.t.Fatalf("sync: acknowledged %d of %d", acked, p.last)
	}
}

func (p *pen) close() {
	p.t.Helper()
	if err := p.w.Close(); err != nil {
		p.t.Fatal(err)
	}
}

// reading is what a read gave.
type reading struct {
	recs []event.Record
	errs []error
}

func read(t testing.TB, s journal.Store, id event.SessionID, from event.Seq) (got reading) {
	t.Helper()
	for r, err := range s.Read(t.Context(), id, from) {
		if err != nil {
			got.errs = append(got.errs, err)
			continue
		}
		got.recs = append(got.recs, r)
	}
	return got
}

// whole reads a journal that must be without damage.
func whole(t testing.TB, s journal.Store, id event.SessionID) []event.Record {
	t.Helper()
	got := read(t, s, id, 0)
	if len(got.errs) > 0 {
		t.Fatal(got.errs)
	}
	for i, r := range got.recs {
		if r.Seq != event.Seq(i) {
			t.Fatalf("record %d has seq %d", i, r.Seq)
		}
	}
	return got.recs
}

// wantErr fails unless err matches target.
func wantErr(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want %v", err, target)
	}
}

// wantAs fails unless err is an E, and returns it.
func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, want %T", err, err, e)
	}
	return e
}

// sample is a journal of four turns of one batch each, behind a first batch of
// the opening, and where its lines and batches begin.
type sample struct {
	bytes   []byte
	starts  []int // of line i; the last is the end
	batches []int // of batch i
}

// newSample writes the sample journal through the store itself.
func newSample(t *testing.T, d Driver) sample {
	t.Helper()
	s := d.Open(t, nil)
	p := create(t, s, ID)
	x := sample{batches: []int{0}}
	p.append(Open(t))
	p.sync()
	for n := 1; n <= 4; n++ {
		x.batches = append(x.batches, len(d.Bytes(t, s, ID)))
		recs := Turn(t, n)
		p.append(recs[:3]...)
		p.append(recs[3:]...)
		p.sync()
	}
	p.close()
	x.bytes = d.Bytes(t, s, ID)
	for at := 0; at < len(x.bytes); {
		x.starts = append(x.starts, at)
		at += bytes.IndexByte(x.bytes[at:], '\n') + 1
	}
	x.starts = append(x.starts, len(x.bytes))
	return x
}

func (x *sample) lines() int { return len(x.starts) - 1 }

// line returns line i, newline included.
func (x *sample) line(i int) []byte { return x.bytes[x.starts[i]:x.starts[i+1]] }

// lastBatch is where the last batch begins.
func (x *sample) lastBatch() int { return x.batches[len(x.batches)-1] }

// splice returns the sample with bytes [from, to) replaced.
func (x *sample) splice(from, to int, by ...[]byte) []byte {
	out := bytes.Clone(x.bytes[:from])
	for _, b := range by {
		out = append(out, b...)
	}
	return append(out, x.bytes[to:]...)
}

// prefixOf fails unless every record that could be read is the sample's, byte
// for byte.
func (x *sample) prefixOf(t testing.TB, recs []event.Record) {
	t.Helper()
	var prev event.Sum
	for _, r := range recs {
		if r.Seq < 0 || int(r.Seq) >= x.lines() {
			t.Fatalf("record %d was never written", r.Seq)
		}
		want := bytes.TrimSuffix(x.line(int(r.Seq)), []byte{'\n'})
		if r.Seq > 0 {
			prev, _ = event.LineSum(x.line(int(r.Seq) - 1))
		}
		got, _, err := event.Encode(nil, prev, &r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("record %d was read as other than it was written:\n got %s\nwant %s", r.Seq, got, want)
		}
	}
}

// within returns a context that ends when the test would be stuck.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
