package ripcord_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/turn"
)

// proves LOG-16, B164: a session is opened behind its snapshot, with the same
// state, results and context as from its whole journal; what the model is asked
// next does not depend on which it was
func TestASessionBehindItsSnapshotIsTheSame(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, " text \"%d words of %x\\n\"\n", i*7919, i*i)
	}
	b := newBench(t, "answer always\n"+long.String()+" usage 10 5\n finish stop\n")
	b.end()
	tail := func(use bool) (api.SessionState, []string, *turn.Ledger) {
		t.Helper()
		o := file.Options{Check: check}
		if use {
			o.CheckFrom = session.CheckFrom
		}
		store, err := file.Open(b.root, o)
		if err != nil {
			t.Fatal(err)
		}
		w, err := store.Acquire(b.ctx, b.id)
		if err != nil {
			t.Fatal(err)
		}
		if snap := w.(journal.SnapshotWriter).Snapshot(); (snap != nil) != use {
			t.Fatalf("began behind %v", snap)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		cfg := b.cfg
		cfg.Store = store
		rt, err := ripcord.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b.rt = rt
		st := b.open(b.id)
		waiting, err := rt.Inbox(b.ctx, b.id)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, w := range waiting {
			texts = append(texts, w.Input.Content.Text())
		}
		b.end()
		l := turn.NewLedger()
		for r, err := range store.Read(b.ctx, b.id, 0) {
			if err == nil {
				err = l.Apply(&r)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return st, texts, l
	}
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.cfg
	cfg.Store = store
	if b.rt, err = ripcord.New(cfg); err != nil {
		t.Fatal(err)
	}
	b.open(b.id)
	snapshot := filepath.Join(store.Dir(b.id), "snapshot")
	b.until("a snapshot", func() bool {
		b.run("more")
		_, err := os.Stat(snapshot)
		return err == nil
	})
	b.run("behind the snapshot")
	b.end()

	without, heldA, _ := tail(false)
	with, heldB, _ := tail(true)
	if with.Verified != "tail" && with.Verified != "full" || without.Verified != "full" {
		t.Errorf("verified %q and %q", with.Verified, without.Verified)
	}
	with.Verified, without.Verified, with.Seq, without.Seq = "", "", 0, 0
	if d := cmp.Diff(without, with); d != "" {
		t.Errorf("the state is another behind a snapshot:\n%s", d)
	}
	if fmt.Sprint(heldA) != fmt.Sprint(heldB) {
		t.Errorf("%v waits, and behind a snapshot %v", heldA, heldB)
	}
	raw, err := os.ReadFile(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(snapshot, int64(len(raw)/2)); err != nil { // lost: nothing but time
		t.Fatal(err)
	}
	if st, _, _ := tail(false); st.Turn != with.Turn {
		t.Errorf("without its snapshot the session has %d turns, had %d", st.Turn, with.Turn)
	}
}

// proves LOG-16, RTY-10: behind its snapshot a fork still knows where its own
// history begins: the sub-agents before that are the other session's
func TestAForkBehindItsSnapshotKnowsThatItIsOne(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, " text \"%d words of %x\\n\"\n", i*7919, i*i)
	}
	b := newBench(t, "answer always\n"+long.String()+" usage 10 5\n finish stop\n")
	b.end()
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.cfg
	cfg.Store = store
	if b.rt, err = ripcord.New(cfg); err != nil {
		t.Fatal(err)
	}
	b.open(b.id)
	b.run("what both begin with")
	if b.id, err = b.rt.Fork(b.ctx, api.ForkRequest{Session: b.id}); err != nil {
		t.Fatal(err)
	}
	b.open(b.id)
	b.until("a snapshot", func() bool {
		b.run("more")
		_, err := os.Stat(filepath.Join(store.Dir(b.id), "snapshot"))
		return err == nil
	})
	b.end()
	w, err := store.Acquire(b.ctx, b.id)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	needed, err := session.Needed(w.(journal.SnapshotWriter).Snapshot().State)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range needed {
		if r.Type == event.TypeSessionForked && r.Seq == 1 {
			return
		}
	}
	t.Errorf("of what was copied the snapshot says nothing: %d records", len(needed))
}
