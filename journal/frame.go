package journal

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ripcord-go/ripcord/event"
)

// MaxRecord is the longest record in bytes, newline not counted, that may be
// written and that a reader takes into memory. Larger values belong into blobs.
const MaxRecord = 64 << 20

// indexKey is the envelope field that holds a record's index in its batch.
const indexKey = "i"

// Place is where a journal stands behind one of its records.
type Place struct {
	Seq   event.Seq // -1 before the first record
	Epoch event.Epoch
	Batch int64
	Index int       // of the record in its batch
	Prev  event.Sum // of the record before it
	Sum   event.Sum
	Off   int64 // where the record begins
	End   int64 // behind it and its newline
	Bare  bool  // the record ends the file and lacks its newline
}

// Origin is the place before the first record.
func Origin() Place { return Place{Seq: -1} }

// Frame appends the lines of recs, standing behind p, to dst and fills in each
// record's V, Batch, Epoch, Seq, Extra and Line. It returns the place behind them.
// On an error dst is returned as it was; the records' places then mean nothing.
func Frame(dst []byte, p Place, batch int64, epoch event.Epoch, recs []event.Record) ([]byte, Place, error) {
	keep := len(dst)
	if p.Bare {
		dst, p.End, p.Bare = append(dst, '\n'), p.End+1, false
	}
	for i := range recs {
		r := &recs[i]
		index := 0
		if p.Seq >= 0 && p.Batch == batch {
			index = p.Index + 1
		}
		r.V, r.Batch, r.Epoch, r.Seq = event.Version, batch, epoch, p.Seq+1
		r.Extra = withIndex(r.Extra, index)
		from := len(dst)
		var sum event.Sum
		var err error
		if dst, sum, err = event.Encode(dst, p.Sum, r); err != nil {
			return dst[:keep], p, err
		}
		n := len(dst) - from
		if n > MaxRecord {
			return dst[:keep], p, fmt.Errorf("record %d (%s) has %d bytes and %d are allowed: keep large values as blobs", r.Seq, r.Type, n, MaxRecord)
		}
		r.Line = dst[from:len(dst):len(dst)]
		r.Line = dst[from:len(dst):len(dst)]
		dst = append(dst, '\n')
		p = Place{
			Seq: r.Seq, Epoch: epoch, Batch: batch, Index: index,
			Prev: p.Sum, Sum: sum, Off: p.End, End: p.End + int64(n) + 1,
		}
	}
	return dst, p, nil
}

// withIndex returns extra with its index field replaced; index 0 has none.
func withIndex(extra []byte, index int) []byte {
	if index == 0 && len(extra) == 0 {
		return nil
	}
	var out []byte
	w := walker{b: extra}
	for w.eat(',') {
		from := w.i - 1
		key, ok := w.str()
		if !ok || !w.eat(':') {
			break
		}
		if _, ok := w.value(); !ok {
			break
		}
		if string(key) != indexKey {
			out = append(out, extra[from:w.i]...)
		}
	}
	if w.i < len(extra) { // not fields: leave it to the encoder's caller
		out = slices.Clone(extra)
	}
	if index > 0 {
		out = strconv.AppendInt(append(out, `,"`+indexKey+`":`...), int64(index), 10)
	}
	return out
}
