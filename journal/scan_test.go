package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// sample is a journal of an opening and n turns, a batch each.
func sample(t testing.TB, n int) []byte {
	out, at, err := journal.Frame(nil, journal.Origin(), 1, 1, []event.Record{journaltest.Open(t)})
	for i := 1; i <= n && err == nil; i++ {
		out, at, err = journal.Frame(out, at, int64(i+1), 1, journaltest.Turn(t, i))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func scan(b []byte, o journal.ScanOptions) (items []journal.Item, found *journal.Found) {
	sc := journal.NewScanner(bytes.NewReader(b), int64(len(b)), o)
	for sc.Next() {
		it := *sc.Item()
		it.Line = bytes.Clone(it.Line)
		items = append(items, it)
	}
	return items, sc.Found()
}

// proves LOG-02: from any trusted place, as from the beginning.
func TestAScanMayBeginBehindAnyRecord(t *testing.T) {
	b := sample(t, 3)
	all, _ := scan(b, journal.ScanOptions{})
	if len(all) != 22 {
		t.Fatalf("%d records of 22", len(all))
	}
	for i, it := range all {
		rest, found := scan(b, journal.ScanOptions{Start: &it.Place})
		if len(rest) != len(all)-i-1 || found.Tip != all[len(all)-1].Place || found.Torn != nil || len(found.Damage) > 0 {
			t.Errorf("behind record %d stand %d records: %+v", i, len(rest), found)
		}
	}
	for from := int64(1); from < int64(len(b)); from += 97 {
		at, ok := journal.Anchor(bytes.NewReader(b), int64(len(b)), from)
		if !ok {
			if from < all[len(all)-1].Place.Off {
				t.Errorf("no anchor behind byte %d", from)
			}
			continue
		}
		if want := all[at.Seq].Place; at.Off != want.Off || at.End != want.End || at.Sum != want.Sum || at.Index != want.Index || at.Off < from {
			t.Errorf("behind byte %d the anchor is %+v", from, at)
		}
	}
}

// proves LOG-10: however the file grows between looks.
func TestAScanGoesOnWhereItEnded(t *testing.T) {
	b := sample(t, 2)
	for step := 1; step < 900; step += 41 {
		sc := journal.NewScanner(bytes.NewReader(b), 0, journal.ScanOptions{})
		next := event.Seq(0)
		for size := 0; size <= len(b); size = min(size+step, len(b)) {
			sc.Resume(int64(size))
			for sc.Next() {
				it := sc.Item()
				if it.Kind != journal.ItemRecord || it.Place.Seq != next {
					t.Fatalf("in steps of %d, at %d: %+v where record %d comes next", step, size, it, next)
				}
				next++
			}
			if size == len(b) {
				break
			}
		}
		if f := sc.Found(); next != 15 || f.Records != 15 || f.Torn != nil || len(f.Damage) > 0 {
			t.Errorf("in steps of %d: %+v", step, f)
		}
	}
}

type rule struct{ seen []event.Seq }

func (r *rule) Next(rec *event.Record) error {
	r.seen = append(r.seen, rec.Seq)
	if rec.Seq == 5 {
		return errors.New("five is not allowed")
	}
	return nil
}
func (r *rule) OpenTurn() int { return 3 }

// proves LOG-04: the reader reports what breaks the rules, and cuts nothing.
func TestARecordThatBreaksTheRulesIsDamageWhereverItStands(t *testing.T) {
	b := sample(t, 1)
	check := &rule{}
	items, found := scan(b, journal.ScanOptions{Check: check})
	if len(items) != 8 || items[5].Kind != journal.ItemDamage || !strings.Contains(items[5].Damage.Why, "five") {
		t.Errorf("items are %+v", items)
	}
	if found.Torn != nil || len(found.Damage) != 1 || len(check.seen) != 6 || found.Open != 3 {
		t.Errorf("found %+v, judged %v", found, check.seen)
	}
}

// proves LOG-01, LOG-02: a sum that holds does not excuse the place.
func TestAWrongPlaceUnderARightSumIsDamage(t *testing.T) {
	for name, change := range map[string]func(r *event.Record){
		"seq":   func(r *event.Record) { r.Seq++ },
		"epoch": func(r *event.Record) { r.Epoch-- },
		"batch": func(r *event.Record) { r.Batch-- },
	} {
		out, at, err := journal.Frame(nil, journal.Origin(), 4, 4, []event.Record{journaltest.Open(t)})
		if err != nil {
			t.Fatal(err)
		}
		r := journaltest.Turn(t, 1)[0]
		r.V, r.Batch, r.Epoch, r.Seq = 1, 4, 4, 1
		change(&r)
		if out, _, err = event.Encode(out, at.Sum, &r); err != nil {
			t.Fatal(err)
		}
		items, found := scan(append(out, '\n'), journal.ScanOptions{})
		if len(items) != 2 || items[1].Kind != journal.ItemDamage || found.Torn != nil || !strings.Contains(items[1].Damage.Why, fmt.Sprint(r.Seq)) {
			t.Errorf("%s: %+v, %+v", name, items, found)
		}
	}
}

// endless is a source that holds head, then n bytes of one letter, then tail.
type endless struct {
	head, tail []byte
	n          int64
}

func (e endless) ReadAt(p []byte, off int64) (n int, err error) {
	letters := bytes.Repeat([]byte{'x'}, 1<<16)
	for n < len(p) {
		at := off + int64(n)
		behind := at - int64(len(e.head)) - e.n
		switch {
		case at < int64(len(e.head)):
			n += copy(p[n:], e.head[at:])
		case behind < 0:
			n += copy(p[n:], letters[:min(int64(len(letters)), -behind)])
		case behind < int64(len(e.tail)):
			n += copy(p[n:], e.tail[behind:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

// proves LOG-15: pitfall 10, no length makes a reader take everything in.
func TestALineOfAnyLengthIsPassedWithBoundedMemory(t *testing.T) {
	b := sample(t, 3)
	cut := bytes.Index(b, []byte(`"turn/start"`))
	cut += bytes.IndexByte(b[cut:], '\n') + 1
	src := endless{head: b[:cut], tail: append([]byte("\n"), b[cut:]...), n: journal.MaxRecord + 5_000_000}
	size := int64(len(b)) + src.n + 1
	sc := journal.NewScanner(src, size, journal.ScanOptions{})
	records, damages := 0, 0
	for sc.Next() {
		switch it := sc.Item(); it.Kind {
		case journal.ItemRecord:
			records++
		case journal.ItemDamage:
			if damages++; it.Damage.From != int64(cut) || it.Damage.To != int64(cut)+src.n+1 || !strings.Contains(it.Damage.Why, "67108864") {
				t.Errorf("damage is %+v", it.Damage)
			}
		}
	}
	if records != 22 || damages != 1 {
		t.Errorf("%d records, %d damages: %+v", records, damages, sc.Found())
	}
}

type failing struct{ io.ReaderAt }

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > 1000 {
		n, _ := f.ReaderAt.ReadAt(p[:max(0, 1000-off)], off)
		return n, errors.New("bad sector")
	}
	return f.ReaderAt.ReadAt(p, off)
}

// proves LOG-15: what cannot be read is not taken for a tear.
func TestAReadErrorIsNotTheEnd(t *testing.T) {
	b := sample(t, 3)
	sc := journal.NewScanner(failing{bytes.NewReader(b)}, int64(len(b)), journal.ScanOptions{})
	for sc.Next() {
	}
	if sc.Err() == nil || sc.Found().Records < 3 {
		t.Errorf("%v after %d records", sc.Err(), sc.Found().Records)
	}
}

// proves LOG-01: what a writer adds to the envelope it replaces, not repeats.
func TestFramingAForeignRecordKeepsItsOtherFields(t *testing.T) {
	recs := journaltest.Turn(t, 1)
	recs[1].Extra = []byte(`,"i":99,"later":"i,\"i\":5"`)
	if _, _, err := journal.Frame(nil, journal.Origin(), 1, 1, recs); err != nil {
		t.Fatal(err)
	}
	if got := string(recs[1].Extra); got != `,"later":"i,\"i\":5","i":1` {
		t.Errorf("extra is %s", got)
	}
	if recs[0].Extra != nil || !bytes.Contains(recs[2].Line, []byte(`,"i":2,"data"`)) {
		t.Errorf("extra is %q, the third line %s", recs[0].Extra, recs[2].Line)
	}
}

// proves PRF-06: whatever the bytes, a scan ends, gives only what holds, and
// cutting at a tear leaves exactly what was given.
func FuzzScan(f *testing.F) {
	b := sample(f, 2)
	f.Add(b, uint16(0), byte(0))
	f.Add(b[:len(b)-7], uint16(300), byte(8))
	f.Add(append(bytes.Clone(b), b[200:]...), uint16(0), byte(0))
	f.Add(append(bytes.Clone(b), make([]byte, 600)...), uint16(1200), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, flip byte) {
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= flip
		}
		items, found := scan(b, journal.ScanOptions{})
		end := int64(0)
		records := int64(0)
		for _, it := range items {
			if it.Kind == journal.ItemDamage && it.Fork {
				continue // it names the line that is given next
			}
			if it.Place.Off < end || it.Place.End < it.Place.Off || it.Place.End > int64(len(b)) {
				t.Fatalf("item %+v behind byte %d", it, end)
			}
			end = it.Place.End
			if it.Kind != journal.ItemRecord {
				continue
			}
			records++
			if sum, ok := event.LineSum(it.Line); !ok || event.ChainSum(it.Place.Prev, it.Line) != sum || !bytes.Equal(b[it.Place.Off:][:len(it.Line)], it.Line) {
				t.Fatalf("a record that does not hold was given: %q", it.Line)
			}
		}
		if records != found.Records {
			t.Fatalf("%d records given, %d counted", records, found.Records)
		}
		if found.Torn == nil || len(found.Damage) > 0 { // what is damaged is never cut
			return
		}
		if found.Torn.Offset < end || found.Torn.Offset+found.Torn.Bytes != int64(len(b)) || found.Future != nil {
			t.Fatalf("tear %+v behind byte %d of %d", found.Torn, end, len(b))
		}
		again, healed := scan(b[:found.Torn.Offset], journal.ScanOptions{})
		if healed.Torn != nil || len(again) != len(items) || healed.Tip.Seq != found.Tip.Seq || healed.Tip.Sum != found.Tip.Sum {
			t.Fatalf("after the cut: %+v", healed)
		}
	})
}

// proves LOG-05: a newer journal is refused with what it needs, and no word about
// what it does not
func TestAJournalOfANewerVersionIsRefusedInPlainWords(t *testing.T) {
	plain := (&journal.FutureError{ID: "s_1", Version: 2, Path: "p"}).Error()
	needs := (&journal.FutureError{ID: "s_1", Version: 2, Path: "p", Requires: []string{"a", "b"}}).Error()
	if !strings.Contains(plain, "(format 2):") || !strings.Contains(needs, "(format 2, requires a b):") {
		t.Errorf("%q\n%q", plain, needs)
	}
}
