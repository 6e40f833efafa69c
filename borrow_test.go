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
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/session"
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
