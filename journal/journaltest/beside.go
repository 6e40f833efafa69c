package journaltest

import (
	"bytes"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var besideCases = []testCase{
	{"the list names each session's state", listStates},
	{"the list knows the last turn behind any number of records of no turn", listTurns},
	{"delete is refused while a writer lives", deleteBusy},
	{"a blob is kept by its digest", blobsKept},
	{"a session made of records is there as a whole, with its blobs", seeded},
}

// LOG-15, IFC-12
func listStates(t *testing.T, d Driver) {
	x := newSample(t, d)
	s := d.Open(t, nil)
	d.Put(t, s, "s_idle", x.bytes)
	d.Put(t, s, "s_open", x.bytes[:x.starts[x.lines()-1]])
	d.Put(t, s, "s_torn", x.bytes[:len(x.bytes)-5])
	d.Put(t, s, "s_damaged", x.splice(x.starts[3], x.starts[3]+9, make([]byte, 9)))
	d.Put(t, s, "s_future", future(&x))
	d.Put(t, s, "s_forked", forked(t, &x))
	d.Put(t, s, "s_empty", nil)
	p := create(t, s, "s_running")
	p.append(Open(t))
	p.append(Turn(t, 1)[:2]...)
	want := map[event.SessionID]journal.State{
		"s_idle": journal.StateIdle, "s_open": journal.StateOpenTurn, "s_torn": journal.StateOpenTurn,
		"s_damaged": journal.StateDamaged, "s_future": journal.StateFuture, "s_forked": journal.StateForked,
		"s_running": journal.StateRunning, "s_empty": journal.StateIdle,
	}
	prev := event.SessionID("")
	for _, e := range must[[]journal.Entry](t)(s.List(t.Context())) {
		if e.ID <= prev {
			t.Errorf("%s stands behind %s", e.ID, prev)
		}
		prev = e.ID
		if e.State != want[e.ID] {
			t.Errorf("%s is %s (%v), want %s", e.ID, e.State, e.Err, want[e.ID])
		}
		if (e.Owner != nil) != (e.ID == "s_running") {
			t.Errorf("%s has the owner %v", e.ID, e.Owner)
		}
		bad := e.State == journal.StateDamaged || e.State == journal.StateForked || e.State == journal.StateFuture
		if bad != (e.Err != nil) {
			t.Errorf("%s is %s with the error %v", e.ID, e.State, e.Err)
		}
		if e.State != journal.StateFuture && e.ID != "s_empty" && (e.Head == nil || e.Head.Type != event.TypeSessionOpened || len(e.Tail) == 0) {
			t.Errorf("%s has head %v and tail %v", e.ID, e.Head, e.Tail)
		}
		if want := int64(len(d.Bytes(t, s, e.ID))); e.Bytes != want {
			t.Errorf("%s has %d bytes, listed as %d", e.ID, want, e.Bytes)
		}
		delete(want, e.ID)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// IFC-12, B023
func listTurns(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)...)
	p.append(Turn(t, 2)...)
	for range 20 {
		p.append(Rec(t, event.LeaseTaken{}, 0, 0))
	}
	l := must[[]journal.Entry](t)(s.List(t.Context()))
	if len(l) != 1 || l[0].Turn != 2 {
		t.Errorf("listed %+v, want turn 2", l)
	}
}

func deleteBusy(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	wantAs[*journal.BusyError](t, s.Delete(t.Context(), ID))
	p.close()
	if err := s.Delete(t.Context(), ID); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.Delete(t.Context(), ID), journal.ErrNotFound)
	if l := must[[]journal.Entry](t)(s.List(t.Context())); len(l) > 0 {
		t.Errorf("a deleted session is listed: %v", l)
	}
	create(t, s, ID).close() // its name is free again
}

// LOG-07
func blobsKept(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	create(t, s, ID)
	b := s.Blobs(ID)
	for _, data := range [][]byte{nil, []byte("one"), bytes.Repeat([]byte("two"), 1<<16), []byte("one")} {
		ref := must[event.BlobRef](t)(b.Put(t.Context(), data))
		if ref.Size != int64(len(data)) || len(ref.Digest) != len("sha256:")+64 {
			t.Errorf("the name is %+v", ref)
		}
		if got := must[[]byte](t)(b.Get(t.Context(), ref)); !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back as %d", len(data), len(got))
		}
	}
	for _, digest := range []string{"", "sha256:", "sha256:../../lock", "sha256:" + string(bytes.Repeat([]byte("0"), 64))} {
		_, err := b.Get(t.Context(), event.BlobRef{Digest: digest})
		wantErr(t, err, journal.ErrNoBlob)
	}
	_, err := s.Blobs("s_other").Put(t.Context(), []byte("x"))
	wantErr(t, err, journal.ErrNotFound)
}

// RTY-10, LOG-04
func seeded(t *testing.T, d Driver) {
	s := d.Open(t, checker)
	create(t, s, "s_from")
	data := []byte("large")
	ref := must[event.BlobRef](t)(s.Blobs("s_from").Put(t.Context(), data))
	other := must[event.BlobRef](t)(s.Blobs("s_from").Put(t.Context(), []byte("not named")))
	gone := event.BlobRef{Digest: "sha256:" + string(bytes.Repeat([]byte("0"), 64))}
	recs := append([]event.Record{Open(t)}, Turn(t, 1)...)
	for i := range recs {
		recs[i].Epoch = 3
	}
	last := Rec(t, event.LeaseTaken{}, 0, 0)
	last.Epoch = 7
	recs = append(recs, last)

	bad := append(append([]event.Record(nil), recs...), Turn(t, 3)...)
	for i := range bad {
		bad[i].Epoch = max(bad[i].Epoch, 7)
	}
	wantErr(t, s.Seed(t.Context(), "s_bad", bad, "s_from", nil), journal.ErrRule)
	wantErr(t, s.Seed(t.Context(), "s_bad", recs[1:], "s_from", nil), journal.ErrRule)
	if _, err := s.Acquire(t.Context(), "s_bad"); err == nil {
		t.Error("a session that was refused can be taken")
	}
	if err := s.Seed(t.Context(), ID, recs, "s_from", []event.BlobRef{ref, gone}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.Seed(t.Context(), ID, recs, "s_from", nil), journal.ErrExists)
	wantErr(t, s.Seed(t.Context(), "s_from", recs, "s_from", nil), journal.ErrExists)
	s = d.Crash(t, s)
	for _, e := range must[[]journal.Entry](t)(s.List(t.Context())) {
		if e.ID != ID && e.ID != "s_from" || e.ID == ID && (e.State != journal.StateIdle || e.Turn != 1) {
			t.Errorf("listed: %+v", e)
		}
	}
	got := whole(t, s, ID)
	if len(got) != len(recs) || got[1].Epoch != 3 || got[len(got)-1].Epoch != 7 || string(got[2].Data) != string(recs[2].Data) {
		t.Errorf("%d of %d records came back, the last %+v", len(got), len(recs), got[len(got)-1])
	}
	if rep := must[journal.Report](t)(s.Verify(t.Context(), ID)); !rep.OK {
		t.Errorf("it is not as it was written: %+v", rep)
	}
	if err := s.Delete(t.Context(), "s_from"); err != nil {
		t.Fatal(err)
	}
	if b := must[[]byte](t)(s.Blobs(ID).Get(t.Context(), ref)); !bytes.Equal(b, data) {
		t.Errorf("its blob is %q once the other session is gone", b)
	}
	_, err := s.Blobs(ID).Get(t.Context(), other)
	wantErr(t, err, journal.ErrNoBlob)
	p := acquire(t, s, ID)
	if r := p.w.Recovered(); r.Last != event.Seq(len(recs)-1) || r.Epoch != 7 {
		t.Errorf("taken, it recovered %+v", r)
	}
	p.append(Turn(t, 2)...)
	p.sync()
}
