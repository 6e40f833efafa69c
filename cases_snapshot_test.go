package ripcord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/session"
)

// wordy answers each turn but one.
func wordy(t *testing.T) *bench {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, " text \"%d words of %x\\n\"\n", i*7919, i*i)
	}
	return newBench(t, "answer if user stay\nhang\n"+"answer always\n"+long.String()+" usage 10 5\n finish stop\n", func(c *ripcord.Config) {
		c.Keepers = append(c.Keepers, ripcord.Keeper{Needs: func(r *event.Record) bool { return r.Type == event.TypeRewound }})
	})
}

// snapshot is the file beside the session's journal.
func (b *bench) snapshot() string {
	return filepath.Join(b.root, "sessions", string(b.id), "snapshot")
}

// goOn takes the session so far that it has a snapshot, with a turn behind it:
// many at once write to one that is busy, and take back what they wrote.
func (b *bench) goOn() {
	b.Helper()
	for range 5 {
		b.run("more")
	}
	busy := b.submit("stay")
	b.until("asked", func() bool { return strings.Contains(b.lastRequest(), "stay") })
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 32 {
				sub, err := b.rt.Submit(b.ctx, api.SubmitRequest{Session: b.id, Input: event.UserInput{Content: event.TextOf("a thought")}})
				if err == nil {
					err = b.rt.RemoveInput(b.ctx, api.RemoveRequest{Session: b.id, ID: sub.Input})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.esc(busy)
	b.wait(busy)
	b.until("a snapshot", func() bool { _, err := os.Stat(b.snapshot()); return err == nil })
	b.run("behind the snapshot")
}

// behind returns what the next writer of the session begins behind.
func (b *bench) behind() *journal.Snapshot {
	b.Helper()
	store, err := file.Open(b.root, file.Options{Check: check, CheckFrom: session.CheckFrom})
	if err != nil {
		b.Fatal(err)
	}
	w, err := store.Acquire(b.ctx, b.id)
	if err != nil {
		b.Fatal(err)
	}
	snap := w.(journal.SnapshotWriter).Snapshot()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return snap
}

// proves LOG-16, B164: a session is opened behind its snapshot with the state,
// what waits and the context of its whole journal: what the model is asked next
// does not depend on which it was
func TestASessionBehindItsSnapshotIsTheSame(t *testing.T) {
	b := wordy(t)
	b.run("words that wait")
	if _, err := b.rt.Rewind(b.ctx, api.RewindRequest{Session: b.id, Restore: true}); err != nil { // held, before the snapshot and behind it
		t.Fatal(err)
	}
	b.goOn()
	b.end()
	if b.behind() == nil {
		t.Fatal("nothing is begun behind")
	}
	look := func() (api.SessionState, []api.Waiting) {
		t.Helper()
		b.start()
		st := b.open(b.id)
		waiting, err := b.rt.Inbox(b.ctx, b.id)
		if err != nil {
			t.Fatal(err)
		}
		return st, waiting
	}
	with, waitsWith := look()
	b.run("what next")
	var asked, again struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(b.lastRequest()), &asked); err != nil {
		t.Fatal(err)
	}
	if _, err := b.rt.Rewind(b.ctx, api.RewindRequest{Session: b.id}); err != nil { // as if it had not been asked
		t.Fatal(err)
	}
	b.end()
	raw, err := os.ReadFile(b.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.snapshot(), int64(len(raw)/2)); err != nil { // lost: nothing but time
		t.Fatal(err)
	}
	if b.behind() != nil {
		t.Fatal("half a snapshot is begun behind")
	}
	without, waitsWithout := look()
	if with.Verified == "" || without.Verified != "full" {
		t.Errorf("verified %q and %q", with.Verified, without.Verified)
	}
	b.run("what next")
	if err := json.Unmarshal([]byte(b.lastRequest()), &again); err != nil {
		t.Fatal(err)
	}
	if len(asked.Messages) < 12 || !reflect.DeepEqual(asked, again) {
		t.Errorf("behind a snapshot %d messages are sent, from the whole journal %d: or they differ", len(asked.Messages), len(again.Messages))
	}
	if len(waitsWith) != 1 || waitsWith[0].Input.Content.Text() != "words that wait" || !waitsWith[0].Held || !reflect.DeepEqual(waitsWith, waitsWithout) {
		t.Errorf("what waits: %+v and %+v", waitsWith, waitsWithout)
	}
	if with.Cwd != without.Cwd || with.Turn != without.Turn-1 || with.Retryable != without.Retryable || with.Model != without.Model || len(with.Held) != len(without.Held) {
		t.Errorf("the state is another:\n%+v\n%+v", with, without)
	}
	b.end()
	b.damagedBehind(raw)
}

// damagedBehind spoils a byte before the snapshot: opening does not see it, the
// pass beside the session does, and tells it to whoever follows.
func (b *bench) damagedBehind(snapshot []byte) {
	b.Helper()
	path := filepath.Join(b.root, "sessions", string(b.id), "journal.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	text[len(text)/100] ^= 1
	if err := errors.Join(os.WriteFile(path, text, 0o600), os.WriteFile(b.snapshot(), snapshot, 0o600)); err != nil {
		b.Fatal(err)
	}
	b.start()
	b.open(b.id)
	told := false
	for f, err := range b.rt.Follow(b.ctx, b.id, 1<<40, true) {
		if err != nil {
			b.Fatal(err)
		}
		if f.Live != nil && f.Live.State == "warning" && strings.Contains(f.Live.Text, "ripcord log verify "+string(b.id)) {
			told = true
			break
		}
	}
	if !told {
		b.Fatal("nobody is told")
	}
	b.until("the state says it", func() bool {
		st, err := b.rt.Status(b.ctx, b.id)
		return err == nil && st.Verified == "damaged"
	})
}

// proves LOG-16, RTY-10: behind its snapshot a fork still knows where its own
// history begins: the sub-agents before that are the other session's
func TestAForkBehindItsSnapshotKnowsThatItIsOne(t *testing.T) {
	b := wordy(t)
	b.run("what both begin with")
	var err error
	if b.id, err = b.rt.Fork(b.ctx, api.ForkRequest{Session: b.id}); err != nil {
		t.Fatal(err)
	}
	b.open(b.id)
	b.goOn()
	b.end()
	needed, err := session.Needed(b.behind().State)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(needed, func(r event.Record) bool { return r.Type == event.TypeSessionForked && r.Seq == 1 }) {
		t.Errorf("of what was copied the snapshot says nothing: %d records", len(needed))
	}
}
