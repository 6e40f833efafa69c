package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Version is the format this build writes. A reader refuses a journal whose
// header declares a newer one.
const Version = 1

// Record is one fact in its envelope. Time is the wall clock: it may go
// backwards and orders nothing.
type Record struct {
	V     int
	Batch int64 // rises by one after each successful sync
	Epoch Epoch
	Seq   Seq
	Span  []Mark // of packed deltas, see [Chunk]
	Time  time.Time
	Type  Type
	Turn  int // 0: none
	Step  int
	Call  CallID
	Data  json.RawMessage

	// Extra holds envelope fields this build does not know, verbatim, as they
	// will be written again: each with its leading comma.
	Extra []byte

	// Line is the record's canonical bytes once it was read or written, nil
	// before. It is never encoded again.
	Line []byte

	body Payload // decoded Data, when known
}

// Mark is where one delta of a packed chunk began: byte offset in its text and
// milliseconds after the record's time.
type Mark struct {
	Off int
	MS  int64
}

// MarshalJSON writes a mark as [offset, milliseconds].
func (m Mark) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", m.Off, m.MS), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Mark) UnmarshalJSON(b []byte) error {
	var v [2]int64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	m.Off, m.MS = int(v[0]), v[1]
	return nil
}

// New returns a record of p with the envelope's place still empty: the writer
// fills V, Batch, Epoch, Seq. It fails only if p does not encode.
func New(p Payload, at time.Time) (Record, error) {
	data, err := marshal(p)
	if u, ok := p.(Unknown); ok {
		data, err = u.Data, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("encode %s: %w", p.Type(), err)
	}
	return Record{V: Version, Time: at.UTC(), Type: p.Type(), Data: oneLine(data), body: p}, nil
}

// Body returns the record's payload. A type this build does not know gives
// [Unknown]; data that does not fit its type gives an error.
func (r *Record) Body() (Payload, error) {
	if r.body != nil {
		return r.body, nil
	}
	k, ok := byType[r.Type]
	if !ok {
		r.body = Unknown{r.Type, r.Data}
		return r.body, nil
	}
	p, err := k.decode(r.Data)
	if err != nil {
		return nil, fmt.Errorf("record %d (%s): %w", r.Seq, r.Type, err)
	}
	r.body = p
	return p, nil
}
