package journaltest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var faultCases = []testCase{
	{"a failed append keeps nothing and the writer works on", appendFails},
	{"a failed sync acknowledges nothing and the next one all", syncFails},
	{"what was acknowledged survives the writer's death", crashKeepsAcked},
	{"a new writer's batch proves what it found", crashThenBatch},
}

var errDisk = errors.New("the disk is not well")

// LOG-13, LOG-14, B031
func appendFails(t *testing.T, d Driver) {
	s := d.Open(t, checker)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)...)
	p.sync()
	p.append(Turn(t, 2)[:3]...)
	d.Fail(t, s, "append", errDisk)
	for range 2 {
		last, err := p.w.Append(t.Context(), p.last, p.epoch, Turn(t, 2)[3:])
		wantErr(t, err, journal.ErrStorage)
		wantErr(t, err, errDisk)
		if last != p.last {
			t.Errorf("a failed append moved the last record to %d", last)
		}
	}
	d.Fail(t, s, "append", nil)
	p.append(Turn(t, 2)[3:]...)
	p.append(Turn(t, 3)...)
	p.sync()
	if n := len(whole(t, s, ID)); n != 22 {
		t.Errorf("%d records of 22", n)
	}
	if rep := must[journal.Report](t)(s.Verify(t.Context(), ID)); !rep.OK || rep.Torn != nil {
		t.Errorf("verify says %+v", rep)
	}
}

// LOG-12, LOG-14
func syncFails(t *testing.T, d Driver) {
	s := d.Open(t, checker)
	p := create(t, s, ID)
	p.append(Open(t))
	p.sync()
	p.append(Turn(t, 1)...)
	d.Fail(t, s, "sync", errDisk)
	for n := range 2 {
		acked, err := p.w.Sync(t.Context())
		wantErr(t, err, journal.ErrStorage)
		wantErr(t, err, errDisk)
		if acked != 0 {
			t.Errorf("a failed sync acknowledged %d", acked)
		}
		p.append(Turn(t, 2+n)...) // still taken in, not acknowledged
	}
	d.Fail(t, s, "sync", nil)
	p.sync()
	recs := whole(t, s, ID)
	if len(recs) != 22 {
		t.Fatalf("%d records of 22", len(recs))
	}
	for _, r := range recs[1:] {
		if r.Batch != recs[1].Batch {
			t.Errorf("record %d is of batch %d though no sync succeeded since batch %d", r.Seq, r.Batch, recs[1].Batch)
		}
	}
	p.append(Turn(t, 4)...)
	p.close()
	if rep := must[journal.Report](t)(s.Verify(t.Context(), ID)); !rep.OK || rep.Torn != nil || rep.Records != 29 {
		t.Errorf("verify says %+v", rep)
	}
}

// LOG-12, REC-06, B107
func crashKeepsAcked(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.append(Turn(t, 1)...)
	p.sync()
	acked := d.Bytes(t, s, ID)
	p.append(Turn(t, 2)[:4]...)
	s = d.Crash(t, s)
	q := acquire(t, s, ID) // at once: nothing of the dead is in the way
	if r := q.w.Recovered(); r.Last < 7 || r.Epoch != 1 {
		t.Errorf("recovered %+v", r)
	}
	if b := d.Bytes(t, s, ID); !bytes.HasPrefix(b, acked) {
		t.Error("acknowledged bytes were changed")
	}
	_, err := p.w.Append(t.Context(), p.last, p.epoch, Turn(t, 2)[4:])
	if err == nil {
		t.Error("the dead writer wrote")
	}
	if _, err = p.w.Sync(t.Context()); err == nil {
		t.Error("the dead writer acknowledged")
	}
	q.append(Rec(t, event.LeaseTaken{}, 0, 0))
	q.sync()
	whole(t, s, ID)
}

// REC-02: a writer that takes over starts a new batch, so what it found must
// be durable by then.
func crashThenBatch(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.sync()
	p.append(Turn(t, 1)...)
	s = d.Crash(t, s)
	q := acquire(t, s, ID)
	found := q.last
	q.append(Rec(t, event.LeaseTaken{}, 0, 0))
	q.sync()
	recs := whole(t, s, ID)
	if a, b := recs[found].Batch, recs[found+1].Batch; b != a+1 {
		t.Errorf("batch %d follows batch %d", b, a)
	}
}
