package journaltest

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var writeCases = []testCase{
	{"append fills in the place and read gives it back", appendFillsIn},
	{"the batch rises with each sync that had something to sync", batchRises},
	{"a stale position or epoch is fenced and writes nothing", staleIsFenced},
	{"a new writer needs a higher epoch", epochRises},
	{"the first record opens the session", firstOpens},
	{"a record that breaks the rules is refused and forgotten", rulesRefuse},
	{"one id makes one session", createOnce},
	{"a second writer is refused with who holds it", secondIsBusy},
	{"a closed writer writes no more", closedIsClosed},
	{"an id cannot lead out of the store", badIDs},
	{"of two who take a session one gets it", racingAcquire},
	{"eight goroutines at one writer leave no gap and no double", manyAppends},
	{"what waits to be synced is bounded", pendingIsBounded},
	{"a record larger than allowed is refused", hugeRecord},
}

// LOG-01, LOG-10
func appendFillsIn(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	if r := p.w.Recovered(); r.Last != -1 || r.Torn != nil {
		t.Fatalf("a new journal recovered %+v", r)
	}
	recs := append([]event.Record{Open(t)}, Turn(t, 1)...)
	recs[2].Extra = []byte(`,"later":{"a":[1,2]}`)
	p.append(recs...)
	p.sync()
	got := whole(t, s, ID)
	if len(got) != len(recs) {
		t.Fatalf("read %d of %d records", len(got), len(recs))
	}
	for i := range got {
		g, w := &got[i], &recs[i]
		if w.V != event.Version || w.Epoch != p.epoch || w.Seq != event.Seq(i) || w.Batch < 1 {
			t.Errorf("append filled in %+v", w)
		}
		if g.V != w.V || g.Epoch != w.Epoch || g.Seq != w.Seq || g.Batch != w.Batch || g.Type != w.Type ||
			g.Turn != w.Turn || g.Step != w.Step || !g.Time.Equal(w.Time) || string(g.Data) != string(w.Data) {
			t.Errorf("read\n%+v\nwrote\n%+v", g, w)
		}
	}
	if !strings.Contains(string(got[2].Extra), `,"later":{"a":[1,2]}`) {
		t.Errorf("a field this build does not know was lost: %q", got[2].Extra)
	}
	if tail := read(t, s, ID, 5); len(tail.errs) > 0 || len(tail.recs) != 3 || tail.recs[0].Seq != 5 {
		t.Errorf("read from 5 gave %+v", tail)
	}
}

// LOG-01, REC-02
func batchRises(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)[:1]...)
	p.sync()
	p.sync() // nothing to sync
	p.append(Turn(t, 1)[1:2]...)
	p.sync()
	p.append(Turn(t, 1)[2:3]...)
	p.close()
	p = acquire(t, s, ID)
	p.append(Turn(t, 1)[3:4]...)
	p.close()
	var batches []int64
	for _, r := range whole(t, s, ID) {
		batches = append(batches, r.Batch)
	}
	first := batches[0]
	for i, want := range []int64{0, 0, 1, 2, 3} {
		if batches[i]-first != want {
			t.Fatalf("batches are %v", batches)
		}
	}
}

// LOG-10, LOG-11
func staleIsFenced(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.epoch = 5
	p.append(Open(t))
	p.append(Turn(t, 1)[:2]...)
	before := d.Bytes(t, s, ID)
	for _, stale := range []struct {
		expected event.Seq
		epoch    event.Epoch
	}{{1, 5}, {3, 5}, {-1, 5}, {2, 4}, {2, 0}} {
		last, err := p.w.Append(t.Context(), stale.expected, stale.epoch, Turn(t, 1)[2:])
		wantErr(t, err, journal.ErrFenced)
		if last != p.last {
			t.Errorf("a fenced append moved the last record to %d", last)
		}
	}
	if string(d.Bytes(t, s, ID)) != string(before) {
		t.Error("a fenced append wrote something")
	}
	p.append(Turn(t, 1)[2:]...) // the rightful position still works
	p.sync()
}

// LOG-11
func epochRises(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.epoch = 7
	p.append(Open(t))
	p.close()
	p = acquire(t, s, ID)
	if r := p.w.Recovered(); r.Last != 0 || r.Epoch != 7 {
		t.Fatalf("recovered %+v", r)
	}
	_, err := p.w.Append(t.Context(), 0, 7, Turn(t, 1))
	wantErr(t, err, journal.ErrFenced)
	p.append(Turn(t, 1)...) // under 8
	p.sync()
}

func firstOpens(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	_, err := p.w.Append(t.Context(), -1, 1, Turn(t, 1))
	wantErr(t, err, journal.ErrRule)
	p.append(Open(t))
	p.sync()
}

// LOG-04
func rulesRefuse(t *testing.T, d Driver) {
	s := d.Open(t, checker)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)...)
	p.sync()
	p.append(Turn(t, 2)[:3]...) // waits to be synced while a later one is refused
	before := d.Bytes(t, s, ID)
	bad := append(Turn(t, 2)[3:], Turn(t, 7)...) // ends turn 2 rightly, then jumps
	_, err := p.w.Append(t.Context(), p.last, p.epoch, bad)
	wantErr(t, err, journal.ErrRule)
	if string(d.Bytes(t, s, ID)) != string(before) {
		t.Error("a refused append wrote something")
	}
	p.append(Turn(t, 2)[3:]...) // the judge has forgotten the refused records
	p.append(Turn(t, 3)[:2]...)
	p.close()
	rep := must[journal.Report](t)(s.Verify(t.Context(), ID))
	if !rep.OK || rep.OpenTurn != 3 || rep.Verified != "full" || rep.Records != 17 {
		t.Errorf("verify says %+v", rep)
	}
	p = acquire(t, s, ID)
	_, err = p.w.Append(t.Context(), p.last, p.epoch, Turn(t, 4))
	wantErr(t, err, journal.ErrRule) // turn 3 is open still
}

func createOnce(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	_, err := s.Create(t.Context(), ID)
	wantErr(t, err, journal.ErrExists)
	p.close()
	_, err = s.Create(t.Context(), ID)
	wantErr(t, err, journal.ErrExists)
	_, err = s.Acquire(t.Context(), "s_other")
	wantErr(t, err, journal.ErrNotFound)
}

// LOG-11, B103
func secondIsBusy(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	_, err := s.Acquire(t.Context(), ID)
	busy := wantAs[*journal.BusyError](t, err)
	if busy.ID != ID || busy.Owner.PID != os.Getpid() {
		t.Errorf("busy says %+v", busy)
	}
	p.append(Turn(t, 1)...) // the first is not disturbed
	p.close()
	acquire(t, s, ID).close()
}

func closedIsClosed(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.close()
	p.close()
	_, err := p.w.Append(t.Context(), 0, 1, Turn(t, 1))
	wantErr(t, err, fs.ErrClosed)
	_, err = p.w.Sync(t.Context())
	wantErr(t, err, fs.ErrClosed)
	if n := len(whole(t, s, ID)); n != 1 {
		t.Errorf("close kept %d records of 1", n)
	}
}

func badIDs(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	for _, id := range []event.SessionID{"", ".", "..", "../x", "a/b", "a\\b", "a\x00b", ".hidden", "-rf", "s_ü", event.SessionID(strings.Repeat("a", 200))} {
		_, err := s.Create(t.Context(), id)
		wantErr(t, err, journal.ErrBadID)
		_, err = s.Acquire(t.Context(), id)
		wantErr(t, err, journal.ErrBadID)
		wantErr(t, s.Delete(t.Context(), id), journal.ErrBadID)
		_, err = s.Verify(t.Context(), id)
		wantErr(t, err, journal.ErrBadID)
		if got := read(t, s, id, 0); len(got.errs) != 1 || !errors.Is(got.errs[0], journal.ErrBadID) {
			t.Errorf("read of %q gave %v", id, got.errs)
		}
		_, err = s.Blobs(id).Put(t.Context(), []byte("x"))
		wantErr(t, err, journal.ErrBadID)
		if s.Dir(id) != "" {
			t.Errorf("%q has the folder %s", id, s.Dir(id))
		}
	}
}

// LOG-11, B104
func racingAcquire(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	create(t, s, ID).close()
	for range 5 {
		var mu sync.Mutex
		var won []journal.Writer
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				w, err := s.Acquire(t.Context(), ID)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, w)
					return
				}
				var busy *journal.BusyError
				if !errors.As(err, &busy) {
					t.Errorf("the loser is told %v", err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d took the session", len(won))
		}
		if err := won[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// B104
func manyAppends(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	const each = 1250
	var mu sync.Mutex // a writer has one user at a time
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range each {
				mu.Lock()
				last, err := p.w.Append(t.Context(), p.last, p.epoch, []event.Record{Rec(t, event.UsageCounted{Attempt: i}, 0, 0)})
				p.last = last
				if err == nil && last%500 == 0 {
					_, err = p.w.Sync(t.Context())
				}
				mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	p.close()
	if n := len(whole(t, s, ID)); n != 8*each+1 {
		t.Errorf("%d records of %d", n, 8*each+1)
	}
}

// LOG-14
func pendingIsBounded(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	big := Rec(t, event.UserMessage{Content: event.TextOf(strings.Repeat("x", 1<<20))}, 0, 0)
	for range 7 {
		p.append(big)
	}
	_, err := p.w.Append(t.Context(), p.last, p.epoch, []event.Record{big})
	wantErr(t, err, journal.ErrStorage)
	p.sync()
	p.append(big)
	p.sync()
	if n := len(whole(t, s, ID)); n != 9 {
		t.Errorf("%d records of 9", n)
	}
}

func hugeRecord(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	huge := event.Record{Time: clock(), Type: event.TypeUserMessage, Data: []byte(`"` + strings.Repeat("x", journal.MaxRecord) + `"`)}
	if _, err := p.w.Append(t.Context(), p.last, p.epoch, []event.Record{huge}); err == nil {
		t.Fatal("a record that no reader would take was written")
	}
	p.append(Turn(t, 1)...)
	p.sync()
}
