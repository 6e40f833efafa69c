package ripcord_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/turn"
)

// fork makes a fork of b's session and returns a look at it.
func (b *bench) fork(turn int) *bench {
	b.Helper()
	id, err := b.rt.Fork(b.ctx, api.ForkRequest{Session: b.id, Turn: turn})
	if err != nil {
		b.Fatal(err)
	}
	return b.of(id)
}

// refusedFork wants an error of that code whose words hold text.
func (b *bench) refusedFork(turn int, code event.FailureCode, text string) {
	b.Helper()
	before, err := b.rt.Sessions(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	_, err = b.rt.Fork(b.ctx, api.ForkRequest{Session: b.id, Turn: turn})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, text) {
		b.Errorf("fork at turn %d: %v, want %s with %q", turn, err, code, text)
	}
	if after, err := b.rt.Sessions(b.ctx); err != nil || len(after) != len(before) {
		b.Errorf("%d sessions, then %d (%v)", len(before), len(after), err)
	}
}

// prefixed checks that f begins with b's records up to last, each in its place.
func (b *bench) prefixed(f *bench, last event.Seq) {
	b.Helper()
	old, got := b.records(), f.records()
	if len(got) <= int(last) {
		b.Fatalf("the fork has %d records, want more than %d", len(got), last)
	}
	for i := 2; i <= int(last); i++ {
		if o, n := &old[i], &got[i]; o.Seq != n.Seq || o.Type != n.Type || o.Turn != n.Turn || o.Step != n.Step ||
			o.Call != n.Call || !o.Time.Equal(n.Time) || string(o.Data) != string(n.Data) {
			b.Errorf("record %d is\n%s\nwant\n%s", i, n.Line, o.Line)
		}
	}
	head, _ := got[0].Body()
	from, _ := got[1].Body()
	if h, ok := head.(event.SessionOpened); !ok || h.ID != f.id || h.Cwd != b.fold().Header.Cwd || h.Parent != "" {
		b.Errorf("it begins with %+v", head)
	}
	if s, ok := from.(event.SessionForked); !ok || s.From != b.id || s.Upto != last {
		b.Errorf("it says that it comes from %+v, want %s up to %d", from, b.id, last)
	}
	if rep, err := b.rt.Verify(b.ctx, f.id); err != nil || !rep.OK || rep.Torn != nil {
		b.Errorf("verify: %+v, %v", rep, err)
	}
}

// A fork has the other session's history and nothing of what is open there: its
// job lives on there, what waits there waits there alone, and both go on.
//
// proves RTY-10, REC-01
func TestAForkHasTheHistoryAndNothingThatIsOpen(t *testing.T) {
	b := newBench(t, answers(
		bash("c1", "sleep 300 >/dev/null 2>&1 & echo $! >pid")+"\nfinish tool", "text started\nfinish stop",
		"text working\nhang", "text on the fork\nfinish stop", "text on the first\nfinish stop"), withBash(t))
	b.run("start a job")
	id := b.submit("hang")
	b.streams(event.ChunkText)
	if _, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: b.id, Input: event.UserInput{Content: event.TextOf("waiting words")}}); err != nil {
		t.Fatal(err)
	}
	b.refusedFork(0, event.FailUsage, "turn 2 of session "+string(b.id)+" is running")
	b.refusedFork(2, event.FailUsage, "is running")
	early := b.fork(1) // a turn that has ended is there to be copied
	b.esc(id)
	b.wait(id)
	before := b.journal()

	f := b.fork(0)
	b.prefixed(f, b.records()[len(b.records())-1].Seq)
	l, el := f.fold(), early.fold()
	if len(l.OpenJobs()) != 0 || len(l.Procs) != 0 || l.Box.Len() != 0 || l.Turn.Number != 2 || el.Turn.Number != 1 || len(el.OpenJobs()) != 0 {
		t.Errorf("open in the fork: jobs %v, processes %v, %d inputs, last turn %d and %d\n%s", l.OpenJobs(), l.Procs, l.Box.Len(), l.Turn.Number, el.Turn.Number, f.types())
	}
	sleeper := b.pids("pid")
	f.open(f.id)
	if res := f.run("and now"); res.Text != "on the fork" {
		t.Errorf("the fork's turn: %+v", res)
	}
	if r := b.lastRequest(); !strings.Contains(r, "it belongs to the session that this one was forked from") || strings.Contains(r, "waiting words") {
		t.Errorf("the fork's request: %s", r)
	}
	if err := b.rt.Release(b.ctx, f.id); err != nil {
		t.Fatal(err)
	}
	if got := alive(sleeper...); !slices.Equal(got, sleeper) {
		t.Errorf("of the first session's job %v there is %v", sleeper, got)
	}
	if b.journal() != before {
		t.Error("the first session's journal has changed")
	}
	s, err := b.rt.Status(b.ctx, b.id)
	if err != nil || !slices.Equal(s.Held, []string{"waiting words"}) {
		t.Errorf("waiting in the first session: %q, %v", s.Held, err)
	}
	if res := b.run("and now"); res.Text != "on the first" || len(res.Jobs) != 1 {
		t.Errorf("the first session's turn: %+v", res)
	}
}

// A fork ends where it was told to, may be forked and rewound, keeps its own
// title, and is the newest session of its folder.
//
// proves RTY-10, IFC-06
func TestAForkEndsWithTheTurnThatIsNamed(t *testing.T) {
	b := newBench(t, answers("text a\nfinish stop", "text b\nfinish stop", "text c\nfinish stop", "text d\nfinish stop", "text e\nfinish stop"))
	b.refusedFork(0, event.FailUsage, "no turn that has ended")
	for _, text := range []string{"one", "two", "three"} {
		b.run(text)
	}
	b.refusedFork(4, event.FailUsage, "no turn 4")
	if _, err := b.rt.Fork(b.ctx, api.ForkRequest{Session: "s_nosuch"}); err == nil {
		t.Error("a session that is not there was forked")
	}
	end := event.Seq(0)
	for _, r := range b.records() {
		if r.Type == event.TypeTurnEnded && r.Turn == 2 {
			end = r.Seq
		}
	}
	f := b.fork(2)
	b.prefixed(f, end)
	g := f.fork(1)
	if l := g.fold(); l.Turn.Number != 1 || l.Header.ID != g.id {
		t.Errorf("a fork of the fork has turn %d", l.Turn.Number)
	}
	if p, _ := g.records()[1].Body(); p.(event.SessionForked).From != f.id {
		t.Errorf("it comes from %+v", p)
	}
	if got, err := b.rt.Open(b.ctx, api.OpenRequest{Latest: true, Cwd: b.cwd}); err != nil || got.ID != g.id {
		t.Errorf("the newest session is %s (%v), want the last fork %s", got.ID, err, g.id)
	}
	// What was hidden since is hidden in a fork of all of it.
	if _, err := b.rt.Rewind(b.ctx, api.RewindRequest{Session: b.id, Turn: 2}); err != nil {
		t.Fatal(err)
	}
	id, err := b.rt.Fork(b.ctx, api.ForkRequest{Session: b.id, Title: "another way"})
	if err != nil {
		t.Fatal(err)
	}
	h := b.of(id)
	if l := h.fold(); l.Header.Title != "another way" || len(l.History) != 2 || l.Hideable(2) {
		t.Errorf("titled %q, %d messages", l.Header.Title, len(l.History))
	}
	h.open(h.id)
	if res := h.run("four"); res.Text != "d" || *res.Turn != 4 {
		t.Errorf("the next turn: %+v", res)
	}
	if r := b.lastRequest(); strings.Contains(r, "three") || strings.Count(r, "one") != 1 {
		t.Errorf("it asked: %s", r)
	}
}

// A turn that a crash left open is closed first if it is the one that is meant,
// and else left as it is; what is before damage can be forked.
//
// proves RTY-10, REC-01
func TestAForkOfWhatACrashOrDamageLeft(t *testing.T) {
	b := newBench(t, answers("text a\nfinish stop", "text b\nfinish stop", "text c\nfinish stop"))
	b.run("one")
	b.run("two")
	b.end()
	path := filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl")
	whole := b.journal()
	cut := whole[:strings.LastIndex(whole, "\n{\"crc\"")+1]
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	f := b.fork(1)
	if l := f.fold(); l.Turn.Number != 1 || b.journal() != cut {
		t.Errorf("turn %d; the other session was changed: %v", l.Turn.Number, b.journal() != cut)
	}
	f = b.fork(0)
	if l := f.fold(); l.Turn.Number != 2 || l.Turn.End.Outcome != event.TurnInterrupted || l.InRepair() {
		t.Errorf("turn %d ended %+v, within a repair: %v", l.Turn.Number, l.Turn.End, l.InRepair())
	}
	f.open(f.id)
	if res := f.run("three"); res.Text != "c" {
		t.Errorf("the fork's turn: %+v", res)
	}
	if l := b.fork(2).fold(); l.InRepair() { // its end stands in the group that closed it
		t.Error("the fork ends within the group that closed its turn")
	}
	b.end()

	bad := []byte(b.journal())
	bad[bytes.LastIndex(bad, []byte(`"two"`))+1] ^= 1
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	f = b.fork(0)
	if l := f.fold(); l.Turn.Number != 1 {
		t.Errorf("of what is before the damage: turn %d", l.Turn.Number)
	}
	b.fork(1)
	b.refusedFork(2, event.FailDamaged, "damaged")
	if got := b.journal(); got != string(bad) {
		t.Error("the damaged session was changed")
	}
}

// Two processes: the one that holds a session keeps others from forking at the
// turn that it runs, and from nothing else.
//
// proves RTY-10, REC-01
func TestAnotherProcessForksAroundTheTurnThatRuns(t *testing.T) {
	b := newBench(t, answers("text a\nfinish stop", "text working\nhang"))
	b.run("one")
	id := b.submit("hang")
	b.streams(event.ChunkText)
	store, err := file.Open(b.root, file.Options{Check: check})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := ripcord.New(ripcord.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	// What is shown may not be on disk yet, and the other process reads the disk.
	b.until("the turn is on disk", func() bool {
		l := turn.NewLedger()
		for rec, err := range store.Read(b.ctx, b.id, 0) {
			if err != nil || l.Apply(&rec) != nil {
				return false
			}
		}
		return l.OpenTurn() == 2
	})
	other := *b
	other.rt = rt
	other.refusedFork(0, event.FailBusy, "")
	if l := other.fork(1).fold(); l.Turn.Number != 1 {
		t.Errorf("turn %d", l.Turn.Number)
	}
	b.esc(id)
	b.wait(id)
	if l := other.fork(0).fold(); l.Turn.Number != 2 {
		t.Errorf("turn %d, of a session that is held and idle", l.Turn.Number)
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// notes keeps what a log was told.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) { n.mu.Lock(); defer n.mu.Unlock(); return n.b.Write(p) }
func (n *notes) String() string              { n.mu.Lock(); defer n.mu.Unlock(); return n.b.String() }

// proves RTY-10: sub-agents stay the other session's: the fork neither looks
// after them nor ends them.
func TestAForkHasNoneOfTheSubAgents(t *testing.T) {
	var log notes
	b := newBench(t, said("delegate", callOf("task", "c1", map[string]any{"prompt": "hello child", "background": true})+"finish tool")+
		"answer if user hello\ntext hi\nfinish stop\n"+done("delegate", "delegated"), withAgents,
		func(c *ripcord.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	b.run("delegate")
	if len(b.kids()) != 1 {
		t.Fatalf("%d sub-agents\n%s", len(b.kids()), b.types())
	}
	f := b.fork(0)
	f.open(f.id)
	if err := b.rt.Release(b.ctx, f.id); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "sub-agent") {
		t.Errorf("opening the fork: %s", log.String())
	}
}

// proves RTY-10: what is kept beside a journal is the fork's too, and outlives
// the other session.
func TestAForkSharesWhatIsKeptBesideTheJournal(t *testing.T) {
	b := newBench(t, answers("text seen\nfinish stop", "text again\nfinish stop"))
	pic := append([]byte("GIF89a"), bytes.Repeat([]byte{7}, 256<<10)...)
	sub, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: b.id, Input: event.UserInput{Content: event.Content{
		event.Text{Text: "look"}, event.Image{MediaType: "image/gif", Data: pic}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(sub.Input)
	if !strings.Contains(b.journal(), "sha256:") {
		t.Fatal("the picture is in the journal itself: this test sees nothing")
	}
	f := b.fork(0)
	if err := b.rt.Release(b.ctx, b.id); err != nil {
		t.Fatal(err)
	}
	asked := b.lastRequest()
	if err := b.rt.Delete(b.ctx, b.id); err != nil {
		t.Fatal(err)
	}
	f.open(f.id)
	f.run("and again")
	at := strings.Index(asked, "data:image/gif")
	if at < 0 || !strings.Contains(b.lastRequest(), asked[at:at+1000]) {
		t.Error("the fork's request is without the picture")
	}
}
