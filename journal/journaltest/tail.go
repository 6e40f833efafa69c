package journaltest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var tailCases = []testCase{
	{"a cut at any byte of the last batch keeps the whole records before it", cutAnywhere},
	{"a missing last newline is not damage", bareTail},
	{"an append never fuses with a fragment", noFusion},
	{"garbage behind the last record is set aside", garbageTail},
	{"a flipped bit in the last batch is judged a tear", flipTail},
	{"any part of the last batch may be lost", lostWrites},
	{"a group of closers without its commit is torn as a whole", groups},
	{"opening twice after a tear finds nothing the second time", healOnce},
}

// reopened writes on behind a tail that was healed, and checks that kept
// bytes of what stood there stay as they were.
func reopened(t *testing.T, d Driver, s journal.Store, kept []byte) {
	t.Helper()
	p := acquire(t, s, ID)
	p.append(Rec(t, event.UsageCounted{Attempt: 1}, 0, 0))
	p.close()
	after := d.Bytes(t, s, ID)
	if !bytes.HasPrefix(after, kept) || bytes.Count(after[len(kept):], []byte{'\n'}) != 1+boolInt(!bytes.HasSuffix(kept, []byte{'\n'}) && len(kept) > 0) {
		t.Fatalf("behind the kept bytes stands %q", after[min(len(kept), len(after)):])
	}
	if rep := must[journal.Report](t)(s.Verify(t.Context(), ID)); !rep.OK || rep.Torn != nil {
		t.Fatalf("after healing, verify says %+v", rep)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// opens and flips say which variants of a sweep are tried.
func (d Driver) opens(i int) bool { return i%max(d.Stride, 1) == 0 }
func (d Driver) flips(i int) bool { return d.Stride <= 1 || i%7 == 0 }

// torn checks a journal whose tail from byte offset on is no record.
func torn(t *testing.T, d Driver, s journal.Store, x *sample, b []byte, records, offset int, open bool) {
	t.Helper()
	d.Put(t, s, ID, b)
	recs := whole(t, s, ID)
	x.prefixOf(t, recs)
	rep := must[journal.Report](t)(s.Verify(t.Context(), ID))
	if len(recs) != records || !rep.OK || rep.Records != int64(records) {
		t.Fatalf("read %d records of %d; %+v", len(recs), records, rep)
	}
	lost := int64(len(b) - offset)
	if (rep.Torn != nil) != (lost > 0) || lost > 0 && (rep.Torn.Offset != int64(offset) || rep.Torn.Bytes != lost) {
		t.Fatalf("verify finds the tear %+v, want %d bytes at %d", rep.Torn, lost, offset)
	}
	if !open {
		return
	}
	p := acquire(t, s, ID)
	got := p.w.Recovered()
	p.close()
	if got.Last != event.Seq(records-1) || (got.Torn != nil) != (lost > 0) || lost > 0 && (got.Torn.Offset != int64(offset) || got.Torn.Bytes != lost || got.Torn.File == "") {
		t.Fatalf("recovered %+v with tear %+v", got, got.Torn)
	}
	if records > 0 {
		reopened(t, d, s, b[:offset])
	}
}

// REC-02, B022, B027
func cutAnywhere(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for cut := x.lastBatch(); cut <= len(x.bytes); cut++ {
		records, offset := 0, 0
		for i := range x.lines() {
			if end := x.starts[i+1]; cut >= end-1 {
				records, offset = i+1, min(cut, end)
			}
		}
		torn(t, d, s, &x, x.bytes[:cut], records, offset, d.opens(cut))
	}
	torn(t, d, s, &x, nil, 0, 0, true)
	torn(t, d, s, &x, x.bytes[:x.starts[1]-9], 0, 0, true)
}

// B027
func bareTail(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	bare := x.bytes[:len(x.bytes)-1]
	torn(t, d, s, &x, bare, x.lines(), len(bare), true)
	half := append(bytes.Clone(x.bytes), x.line(2)[:40]...)
	torn(t, d, s, &x, half, x.lines(), len(x.bytes), true)
}

// B022, B024
func noFusion(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	for _, fragment := range []string{`{"type":"mess`, `{"crc":"01234567","v":1,"text":"` + "\xe3\x81", "\xe3\x81", "{", `"`, "\x00"} {
		torn(t, d, s, &x, append(bytes.Clone(x.bytes), fragment...), x.lines(), len(x.bytes), true)
	}
}

// PRF-03
func garbageTail(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	n := x.lines()
	for _, tail := range [][]byte{
		make([]byte, 1), make([]byte, 512), make([]byte, 4096+7),
		append(make([]byte, 300), '\n'),
		[]byte("\n"), []byte("\n\n\n"), []byte("null\n"), []byte("{}\n"), []byte("{\"data\":1}\n"),
		[]byte(strings.Repeat("lorem ipsum\n", 50)),
		bytes.Repeat([]byte{0xff, 0xfe, '\n', 0x80}, 100),
		x.line(n - 1), x.line(n - 2), x.line(0), // doubled
		x.bytes[x.starts[n-3]:], // a doubled block
		x.bytes,                 // the whole of it again
		append(bytes.Clone(x.line(n-1)), x.line(n-2)...),
	} {
		torn(t, d, s, &x, append(bytes.Clone(x.bytes), tail...), n, len(x.bytes), true)
	}
}

// LOG-02, REC-02: that a flip in the last batch can't be told from a tear is
// said openly.
func flipTail(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	first := x.lines() - 4
	if x.starts[first] < x.lastBatch() {
		t.Fatal("the sample's last batch has fewer than four records")
	}
	for i := first; i < x.lines(); i++ {
		for at := x.starts[i]; at < x.starts[i+1]; at++ {
			for bit := range 8 {
				if !d.flips(8*at + bit) {
					continue
				}
				b := bytes.Clone(x.bytes)
				b[at] ^= 1 << bit
				torn(t, d, s, &x, b, i, x.starts[i], d.opens(8*at+bit))
			}
		}
	}
}

// REC-02, PRF-03: whichever lines of the last batch did not get to the disk,
// it is a tear, and never taken for damage of an acknowledged record.
func lostWrites(t *testing.T, d Driver) {
	x, s := newSample(t, d), d.Open(t, nil)
	first := 0
	for x.starts[first] < x.lastBatch() {
		first++
	}
	n := x.lines() - first
	for lost := 1; lost < 1<<n; lost++ {
		b, keep := bytes.Clone(x.bytes), 0
		for i := range n {
			if lost&(1<<i) != 0 {
				clear(b[x.starts[first+i]:x.starts[first+i+1]])
			} else if keep == i {
				keep = i + 1
			}
		}
		torn(t, d, s, &x, b, first+keep, x.starts[first+keep], d.opens(lost))
	}
}

// REC-02, REC-05
func groups(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)[:3]...)
	p.sync()
	kept := d.Bytes(t, s, ID)
	group := []event.Record{
		Rec(t, event.RepairBegun{Why: "test", Upto: p.last}, 0, 0),
		Rec(t, event.StepEnded{}, 1, 1),
		Rec(t, event.TurnEnded{Outcome: event.TurnInterrupted}, 1, 0),
		Rec(t, event.RepairCommitted{Records: 4}, 0, 0),
	}
	p.append(group...)
	p.close()
	all := d.Bytes(t, s, ID)
	commit := bytes.LastIndex(all[:len(all)-1], []byte{'\n'}) + 1
	if n := len(whole(t, s, ID)); n != 8 {
		t.Fatalf("a committed group is read as %d records of 8", n)
	}
	for cut := len(kept) + 1; cut < len(all)-1; cut++ {
		if cut < commit && !d.opens(cut) {
			continue
		}
		s := d.Open(t, nil)
		d.Put(t, s, ID, all[:cut])
		if n := len(whole(t, s, ID)); n != 4 {
			t.Fatalf("a group cut at byte %d is read as %d records of 4", cut, n)
		}
		if !d.opens(cut) {
			continue
		}
		p := acquire(t, s, ID)
		r := p.w.Recovered()
		if r.Last != 3 || r.Torn == nil || r.Torn.Offset != int64(len(kept)) || r.Torn.Bytes != int64(cut-len(kept)) {
			t.Fatalf("a group cut at byte %d recovers %+v, %+v", cut, r, r.Torn)
		}
		p.close()
		reopened(t, d, s, kept)
	}
}

// REC-02
func healOnce(t *testing.T, d Driver) {
	x := newSample(t, d)
	s := d.Open(t, nil)
	for range 2 { // two tears at one place
		d.Put(t, s, ID, x.bytes[:len(x.bytes)-3])
		p := acquire(t, s, ID)
		if p.w.Recovered().Torn == nil {
			t.Fatal("the tear was not found")
		}
		p.close()
		p = acquire(t, s, ID)
		if r := p.w.Recovered(); r.Torn != nil || int(r.Last) != x.lines()-2 {
			t.Fatalf("the second opening recovers %+v", r)
		}
		p.close()
	}
}
