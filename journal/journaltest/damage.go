package journaltest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var damageCases = []testCase{
	{"a flipped bit in an earlier batch is damage", flipEarlier},
	{"zeros are found wherever they stand", zeroFill},
	{"a doubled record is found", doubled},
	{"swapped records are found", swapped},
	{"a missing record is found", removed},
	{"damage is located and what stands behind it is read", located},
	{"a fork is reported and both branches are read", forkRead},
	{"a newer format is refused and told from damage", futureRefused},
	{"a type this build does not know is kept", unknownKept},
}

// verdict is what a store makes of a journal.
type verdict int

const (
	isTorn verdict = iota
	isDamaged
)

// found checks that a changed journal is found out, that what is read of it is
// only what was written, and that a damaged one is left as it is.
func found(t *testing.T, d Driver, s journal.Store, x *sample, b []byte, want verdict, open bool) (journal.Report, reading) {
	t.Helper()
	d.Put(t, s, ID, b)
	got := read(t, s, ID, 0)
	x.prefixOf(t, got.recs)
	rep := must[journal.Report](t)(s.Verify(t.Context(), ID))
	switch want {
	case isTorn:
		if !rep.OK || rep.Torn == nil || len(got.errs) > 0 {
			t.Fatalf("not judged a tear: %+v, %v", rep, got.errs)
		}
	case isDamaged:
		if rep.OK || len(rep.Damage) == 0 || len(got.errs) == 0 {
			t.Fatalf("not judged damage: %+v (tear %+v), %v", rep, rep.Torn, got.errs)
		}
		for _, err := range got.errs {
			wantAs[*journal.DamagedError](t, err)
		}
	}
	if !open {
		return rep, got
	}
	w, err := s.Acquire(t.Context(), ID)
	if err == nil {
		_ = w.Close()
	}
	if want == isDamaged {
		e := wantAs[*journal.DamagedError](t, err)
		if e.ID != ID || len(e.Ranges) != len(rep.Damage) {
			t.Fatalf("the writer is told %+v, verify %+v", e, rep)
		}
		if !bytes.Equal(d.Bytes(t, s, ID), b) {
			t.Fatal("a damaged journal was changed")
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return rep, got
}

// LOG-02, REC-02
func flipEarlier(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for _, i := range []int{2, x.lines() - 8} { // the last is the last of the batch before the last
		for at := x.starts[i]; at < x.starts[i+1]; at++ {
			for bit := range 8 {
				if !d.flips(8*at + bit) {
					continue
				}
				b := bytes.Clone(x.bytes)
				b[at] ^= 1 << bit
				rep, got := found(t, d, s, &x, b, isDamaged, d.opens(8*at+bit))
				if rep.Damage[0].From != int64(x.starts[i]) {
					t.Fatalf("a flip at %d is located at %+v", at, rep.Damage)
				}
				if len(got.recs) < x.lines()-3 {
					t.Fatalf("a flip at byte %d (bit %d) costs %d records", at, bit, x.lines()-len(got.recs))
				}
			}
		}
	}
}

// PRF-03
func zeroFill(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	lastLine := x.starts[x.lines()-1]
	for _, size := range []int{16, 512} {
		for off := 0; off < len(x.bytes); off += size {
			end := min(off+size, len(x.bytes))
			b := bytes.Clone(x.bytes)
			clear(b[off:end])
			switch {
			case off >= x.lastBatch():
				found(t, d, s, &x, b, isTorn, d.opens(off/size))
			case end < lastLine: // the last record proves the batch before it
				found(t, d, s, &x, b, isDamaged, d.opens(off/size))
			}
		}
	}
}

func doubled(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for i := range x.lines() {
		want := isDamaged
		if x.starts[i+1] >= x.lastBatch() {
			want = isTorn
		}
		rep, got := found(t, d, s, &x, x.splice(x.starts[i+1], x.starts[i+1], x.line(i)), want, true)
		if want == isDamaged && (len(got.recs) != x.lines() || rep.Damage[0].From != int64(x.starts[i+1]) || rep.Damage[0].To != int64(x.starts[i+1]+len(x.line(i)))) {
			t.Errorf("record %d twice: %d records read, %+v", i, len(got.recs), rep.Damage)
		}
	}
}

func swapped(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for i := range x.lines() - 1 {
		b := x.splice(x.starts[i], x.starts[i+2], x.line(i+1), x.line(i))
		want := isDamaged
		if x.starts[i] >= x.lastBatch() {
			want = isTorn
		}
		found(t, d, s, &x, b, want, true)
	}
}

func removed(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for i := range x.lines() - 1 {
		b := x.splice(x.starts[i], x.starts[i+1])
		want := isDamaged
		if x.starts[i] >= x.lastBatch() {
			want = isTorn
		}
		found(t, d, s, &x, b, want, true)
	}
}

// B023, LOG-15
func located(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	hole := append(make([]byte, 300), '\n')
	b := x.splice(x.starts[10], x.starts[11], hole)
	rep, got := found(t, d, s, &x, b, isDamaged, true)
	if len(rep.Damage) != 1 || rep.Damage[0].From != int64(x.starts[10]) || rep.Damage[0].Why != "zero bytes" {
		t.Errorf("verify says %+v", rep.Damage)
	}
	// Behind a record whose sum is gone, one cannot be verified.
	if len(got.recs) != x.lines()-2 || got.recs[10].Seq != 12 {
		t.Errorf("%d records of %d are read", len(got.recs), x.lines()-2)
	}
	if from := read(t, s, ID, 12); len(from.errs) != 0 || from.recs[0].Seq != 12 {
		t.Errorf("a reader from behind the damage is given %v", from.errs)
	}
	if from := read(t, s, ID, 9); len(from.errs) != 1 || from.recs[0].Seq != 9 {
		t.Errorf("a reader from before the damage is given %v", from.errs)
	}
	n, errs := 0, 0
	for _, err := range s.Follow(within(t), ID, 0) {
		if err != nil {
			errs++
			continue
		}
		if n++; n == x.lines()-2 {
			break
		}
	}
	if errs != 1 {
		t.Errorf("follow reports the damage %d times", errs)
	}
}

// forked returns the sample with two more batches by another writer that
// stands behind the third batch.
func forked(t *testing.T, x *sample) []byte {
	at := journal.Origin()
	sc := journal.NewScanner(bytes.NewReader(x.bytes[:x.batches[3]]), int64(x.batches[3]), journal.ScanOptions{})
	for sc.Next() {
		at = sc.Item().Place
	}
	out := bytes.Clone(x.bytes)
	for n := range 2 {
		var err error
		if out, at, err = journal.Frame(out, at, at.Batch+1, 9, Turn(t, 3+n)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// LOG-11
func forkRead(t *testing.T, d Driver) {
	x := newSample(t, d)
	b := forked(t, &x)
	s := d.Open(t, nil)
	d.Put(t, s, ID, b)
	got := read(t, s, ID, 0)
	if len(got.errs) != 1 || !wantAs[*journal.DamagedError](t, got.errs[0]).Forked {
		t.Fatalf("read is told %v", got.errs)
	}
	if len(got.recs) != x.lines()+14 {
		t.Errorf("%d records of %d on both branches", len(got.recs), x.lines()+14)
	}
	x.prefixOf(t, got.recs[:x.lines()])
	if r := got.recs[x.lines()]; r.Seq != 15 || r.Epoch != 9 {
		t.Errorf("the second branch begins with record %d of epoch %d", r.Seq, r.Epoch)
	}
	_, err := s.Acquire(t.Context(), ID)
	if e := wantAs[*journal.DamagedError](t, err); !e.Forked {
		t.Errorf("the writer is told %v", err)
	}
	if !bytes.Equal(d.Bytes(t, s, ID), b) {
		t.Error("a forked journal was changed")
	}
}

// future returns the sample as a newer version might have begun it: not merely
// with a flipped number.
func future(x *sample) []byte {
	b := bytes.Replace(x.bytes, []byte(`"v":1,`), []byte(`"v":2,`), 1)
	return bytes.Replace(b, []byte(`"cwd":`), []byte(`"dir":`), 1)
}

// LOG-05
func futureRefused(t *testing.T, d Driver) {
	x := newSample(t, d)
	opened := Rec(t, event.SessionOpened{ID: ID, Requires: []string{"telepathy"}}, 0, 0)
	requires, _, err := journal.Frame(nil, journal.Origin(), 1, 1, []event.Record{opened})
	if err != nil {
		t.Fatal(err)
	}
	newer := future(&x)
	last := x.line(x.lines() - 1)
	sum, _ := event.LineSum(last)
	later, _, err := event.Encode(nil, sum, &event.Record{V: 2, Batch: 9, Epoch: 1, Seq: event.Seq(x.lines()), Time: clock(), Type: "x/y", Data: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes []byte
		v     int
		read  int
	}{
		"version in the header":       {newer, 2, 0},
		"feature in the header":       {requires, 1, 0},
		"version in a later record":   {append(bytes.Clone(x.bytes), append(later, '\n')...), 2, x.lines()},
		"nothing behind it is judged": {append(bytes.Clone(newer), "garbage\n{}\n"...), 2, 0},
	} {
		s := d.Open(t, nil)
		d.Put(t, s, ID, c.bytes)
		_, err := s.Acquire(t.Context(), ID)
		f := wantAs[*journal.FutureError](t, err)
		if f.ID != ID || f.Version != c.v {
			t.Errorf("%s: %+v", name, f)
		}
		var damaged *journal.DamagedError
		if errors.As(err, &damaged) {
			t.Errorf("%s is taken for damage", name)
		}
		got := read(t, s, ID, 0)
		if len(got.recs) != c.read || len(got.errs) != 1 {
			t.Errorf("%s: read gives %d records and %v", name, len(got.recs), got.errs)
		}
		_, err = s.Verify(t.Context(), ID)
		wantAs[*journal.FutureError](t, err)
		if !bytes.Equal(d.Bytes(t, s, ID), c.bytes) {
			t.Errorf("%s: the journal was changed", name)
		}
	}
}

// LOG-05
func unknownKept(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t), Rec(t, event.Unknown{Name: "brain/wave", Data: []byte(`{"hz":[8,12]}`)}, 0, 0))
	p.close()
	p = acquire(t, s, ID)
	p.append(Turn(t, 1)...)
	p.close()
	recs := whole(t, s, ID)
	body, err := recs[1].Body()
	if u, ok := body.(event.Unknown); err != nil || !ok || u.Name != "brain/wave" || string(u.Data) != `{"hz":[8,12]}` {
		t.Errorf("the unknown record is %v, %v", body, err)
	}
}
