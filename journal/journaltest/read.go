package journaltest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
)

var readCases = []testCase{
	{"a session that is not there is not found", notFound},
	{"read stops when the reader or its context does", readStops},
	{"readers see whole records while a writer writes", readWhileWriting},
	{"follow gives each record once whoever writes", followEach},
	{"follow ends with its context without an error", followEnds},
	{"follow ends when the session is deleted", followDeleted},
	{"follow goes on behind a tear that was cut", followTear},
}

func notFound(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	for _, seq := range []func(context.Context, event.SessionID, event.Seq) iter.Seq2[event.Record, error]{s.Read, s.Follow} {
		n := 0
		for _, err := range seq(within(t), ID, 0) {
			wantErr(t, err, journal.ErrNotFound)
			n++
		}
		if n != 1 {
			t.Errorf("%d errors", n)
		}
	}
	_, err := s.Verify(t.Context(), ID)
	wantErr(t, err, journal.ErrNotFound)
	wantErr(t, s.Delete(t.Context(), ID), journal.ErrNotFound)
	list := must[[]journal.Entry](t)(s.List(t.Context()))
	if len(list) != 0 {
		t.Errorf("an empty store lists %v", list)
	}
}

func readStops(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	for n := 1; n <= 100; n++ {
		p.append(Turn(t, n)...)
	}
	n := 0
	for range s.Read(t.Context(), ID, 0) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("read went on to %d", n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	gone := errors.New("gone")
	n = 0
	var last error
	for _, err := range s.Read(ctx, ID, 0) {
		n++
		cancel(gone)
		last = err
	}
	wantErr(t, last, gone)
	if n > 600 {
		t.Errorf("read %d records behind the end of its context", n)
	}
}

// LOG-10
func readWhileWriting(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for most := 0; ; {
				n := len(whole(t, s, ID))
				if n < most {
					t.Errorf("a reader saw %d records and later %d", most, n)
				}
				most = n
				if rep, err := s.Verify(t.Context(), ID); err != nil || !rep.OK {
					t.Errorf("verify while writing: %+v, %v", rep, err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := 1; n <= 60; n++ {
		p.append(Turn(t, n)...)
		if n%10 == 0 {
			p.sync()
		}
	}
	close(done)
	wg.Wait()
	if n := len(whole(t, s, ID)); n != 421 {
		t.Errorf("%d records of 421", n)
	}
}

// LOG-10
func followEach(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	const last = 210
	ctx := within(t)
	var wg sync.WaitGroup
	for _, from := range []event.Seq{0, 0, 100} {
		wg.Go(func() {
			next := from
			for r, err := range s.Follow(ctx, ID, from) {
				if err != nil {
					t.Errorf("follow from %d: %v", from, err)
					return
				}
				if r.Seq != next {
					t.Errorf("follow from %d: record %d where %d comes next", from, r.Seq, next)
				}
				if next = r.Seq + 1; r.Seq == last {
					return
				}
			}
			t.Errorf("follow from %d ended before record %d", from, next)
		})
	}
	for n := 1; n <= 30; n++ {
		p.append(Turn(t, n)...)
		if n%10 == 0 { // another writer takes over
			p.close()
			p = acquire(t, s, ID)
		}
	}
	p.sync()
	wg.Wait()
}

func followEnds(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	n := 0
	for _, err := range s.Follow(ctx, ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d records of 1", n)
	}
}

func followDeleted(t *testing.T, d Driver) {
	s := d.Open(t, nil)
	p := create(t, s, ID)
	p.append(Open(t))
	p.close()
	var last error
	for _, err := range s.Follow(within(t), ID, 0) {
		if last = err; err == nil {
			if err := s.Delete(t.Context(), ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantErr(t, last, journal.ErrNotFound)
}

// LOG-10, REC-02
func followTear(t *testing.T, d Driver) {
	x := newSample(t, d)
	s := d.Open(t, nil)
	d.Put(t, s, ID, append(x.bytes[:x.starts[x.lines()-1]:x.starts[x.lines()-1]], `{"crc":"00000000","v":1,"b`...))
	var p *pen
	next := event.Seq(0)
	for r, err := range s.Follow(within(t), ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq != next {
			t.Fatalf("record %d where %d comes next", r.Seq, next)
		}
		next++
		if int(next) == x.lines()-1 { // the reader stands before the tear
			p = acquire(t, s, ID)
			p.append(Turn(t, 5)...)
		}
		if p != nil && r.Seq == p.last {
			break
		}
	}
}
