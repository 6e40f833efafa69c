package ripcord_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
)

// doors is a store that says, once each, when a session's journal was read to
// its end, and when one is about to be taken.
type doors struct {
	journal.Store
	id       event.SessionID // the one that is watched
	read     func()
	acquired func()
	once     [2]atomic.Bool
}

func (d *doors) Read(ctx context.Context, id event.SessionID, from event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for rec, err := range d.Store.Read(ctx, id, from) {
			if !yield(rec, err) {
				return
			}
		}
		if id == d.id && d.read != nil && !d.once[0].Swap(true) {
			d.read()
		}
	}
}

func (d *doors) Acquire(ctx context.Context, id event.SessionID) (journal.Writer, error) {
	if id == d.id && d.acquired != nil && !d.once[1].Swap(true) {
		d.acquired()
	}
	return d.Store.Acquire(ctx, id)
}

// through gives b a runtime whose store has such doors.
func (b *bench) through(d *doors) {
	b.Helper()
	b.end()
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		b.Fatal(err)
	}
	d.Store = store
	cfg := b.cfg
	cfg.Store = d
	if b.rt, err = ripcord.New(cfg); err != nil {
		b.Fatal(err)
	}
}

// What takes a session for a moment lets go of what it took, and of nothing that
// a person has opened meanwhile.
//
// proves REC-01, RTY-10
func TestASessionThatWasOpenedMeanwhileStaysOpen(t *testing.T) {
	b := newBench(t, answers("text a\nfinish stop", "text b\nfinish stop", "text working\nhang", "text c\nfinish stop"))
	b.run("one")
	b.run("two")
	b.end()
	path := filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl")
	whole := b.journal()
	cut := whole[:strings.LastIndex(whole, "\n{\"crc\"")+1] // turn 2 has no end
	crash := func() {
		t.Helper()
		if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("before it is taken", func(t *testing.T) {
		crash()
		d := &doors{id: b.id}
		b.through(d)
		var id event.InputID
		d.read = func() { b.open(b.id); id = b.submit("three"); b.streams(event.ChunkText) }
		if l := b.fork(2).fold(); l.Turn.Number != 2 || l.Turn.End.Outcome != event.TurnInterrupted {
			t.Errorf("the fork has turn %d, ended %+v", l.Turn.Number, l.Turn.End)
		}
		if s, err := b.rt.Status(b.ctx, b.id); err != nil || !s.Running || s.Turn != 3 {
			t.Fatalf("the person's session: %+v, %v\n%s", s, err, b.types())
		}
		b.esc(id)
		b.wait(id)
	})
	t.Run("while it is taken", func(t *testing.T) {
		b.end()
		crash()
		d := &doors{id: b.id}
		b.through(d)
		opened := make(chan error, 1)
		d.acquired = func() {
			go func() {
				_, err := b.rt.Open(b.ctx, api.OpenRequest{ID: b.id, Cwd: b.cwd})
				opened <- err
			}()
		}
		b.fork(2)
		if err := <-opened; err != nil {
			t.Fatalf("the person's opening: %v", err)
		}
		if res := b.run("three"); res.Text != "c" {
			t.Errorf("%+v", res)
		}
	})
}

// A runtime that closes while a session is recovered keeps nothing from the
// account of its sub-agents: no later opening asks for it again.
//
// proves TOL-23, REC-01, REC-04
func TestAClosingRuntimeStillHearsTheSubAgentsOfWhatItRecovers(t *testing.T) {
	mark := deed("mark", interrupt.NonInterruptible, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("marked"), nil })
	b := newBench(t, said("please go", callOf("task", "t1", map[string]any{"prompt": "work"})+"finish tool")+
		said("work", "text I begin.\ncall mark m1 {}\nfinish tool")+done("work", "All is marked.")+done("please go", "Fine."), with(mark), withAgents)
	b.run("please go")
	kid := b.kids()[0]
	upto := func(b *bench, typ event.Type) []string {
		for i, rec := range b.records() {
			if rec.Type == typ {
				return strings.SplitAfter(b.journal(), "\n")[:i+1]
			}
		}
		t.Fatalf("no %s\n%s", typ, b.types())
		return nil
	}
	b.lay(map[event.SessionID][]string{b.id: upto(b, event.TypeSubAgentLinked), kid.id: upto(kid, event.TypeCallEnded)})
	d := &doors{id: kid.id}
	b.through(d)
	closed := make(chan error, 1)
	d.read = func() {
		go func() { closed <- b.rt.Close(b.ctx) }()
		b.until("the runtime closes", func() bool {
			_, err := b.rt.Open(b.ctx, api.OpenRequest{ID: "s_nosuch", Cwd: b.cwd})
			return strings.Contains(err.Error(), "closing")
		})
	}
	_, _ = b.rt.Open(b.ctx, api.OpenRequest{ID: b.id, Cwd: b.cwd}) // opened, and closed right behind it
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	b.start()
	b.open(b.id)
	kid = b.of(kid.id)
	if e := b.results()["t1"]; e.Outcome != event.CallUnknown || !strings.Contains(e.Content.Text(), "calls that finished: 1") {
		t.Errorf("the parent's call: %s, %q", e.Outcome, e.Content.Text())
	}
	if l := kid.fold(); l.OpenTurn() != 0 || l.Turn.End == nil || l.Turn.End.Outcome != event.TurnInterrupted {
		t.Errorf("the sub-agent's turn %d is open\n%s", l.OpenTurn(), kid.types())
	}
}
