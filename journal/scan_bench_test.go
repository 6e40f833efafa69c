package journal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/journaltest"
)

// generated returns a journal of n records of about 1 KB.
func generated(t testing.TB, n int) []byte {
	recs := []event.Record{journaltest.Open(t)}
	chunk := journaltest.Rec(t, event.Chunk{Attempt: 1, Kind: event.ChunkText, Text: strings.Repeat("ten letters and more, ", 40)}, 1, 1)
	chunk.Span = []event.Mark{{Off: 0, MS: 0}, {Off: 440, MS: 7}}
	var out []byte
	at := journal.Origin()
	var err error
	for batch := int64(1); int(at.Seq) < n; batch++ {
		if out, at, err = journal.Frame(out, at, batch, 1, recs); err != nil {
			t.Fatal(err)
		}
		recs = recs[:0]
		for range 10 {
			recs = append(recs, chunk)
		}
	}
	return out
}

// The scan of a long journal, by its bytes alone: sums, order, batches.
// It is what BEN-07 stands on.
func BenchmarkScan(b *testing.B) {
	data := generated(b, 120_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		sc := journal.NewScanner(bytes.NewReader(data), int64(len(data)), journal.ScanOptions{})
		for sc.Next() {
		}
		if f := sc.Found(); len(f.Damage) > 0 || f.Torn != nil || f.Records < 120_000 {
			b.Fatalf("%+v", f)
		}
	}
}
