package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/session"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/turn"
)

// Sight is what recovery gets to see of the processes that a crash left.
type Sight string

const (
	SeesNothing Sight = "nothing" // nobody looked, or nothing is known
	SeesEnded   Sight = "ended"   // the guardian of each call kept its end
	SeesAlive   Sight = "alive"   // everything was found alive and was ended
	SeesKept    Sight = "kept"    // kept jobs were found alive, the rest was not found
	SeesChanges Sight = "changes" // only that a file changed
)

// Sights lists them.
func Sights() []Sight { return []Sight{SeesNothing, SeesEnded, SeesAlive, SeesKept, SeesChanges} }

// observe returns what recovery sees of l, and what of it the oracle must know.
func (s Sight) observe(l *turn.Ledger) (out []event.Evidence, kept []event.JobID, ended []event.CallID) {
	code := 0
	for _, c := range turn.OpenCalls(l) {
		switch s {
		case SeesEnded:
			out = append(out, event.Evidence{Call: c.ID, Ended: true, ExitCode: &code, Output: "it was done\n", Bytes: 12})
			ended = append(ended, c.ID)
		case SeesAlive:
			out = append(out, event.Evidence{Call: c.ID, Alive: []int{noPID}, Output: "half", Bytes: 4})
		case SeesChanges:
			out = append(out, event.Evidence{Call: c.ID, Note: "The file a was changed after the call had started."})
		case SeesNothing, SeesKept:
		}
	}
	for _, j := range l.OpenJobs() {
		switch {
		case s == SeesKept && j.Keep:
			out = append(out, event.Evidence{Call: j.Call, Job: j.ID, Alive: []int{noPID}, Kept: true})
			kept = append(kept, j.ID)
		case s == SeesEnded:
			out = append(out, event.Evidence{Call: j.Call, Job: j.ID, Ended: true, ExitCode: &code})
		case s == SeesAlive:
			out = append(out, event.Evidence{Call: j.Call, Job: j.ID, Alive: []int{noPID}})
		}
	}
	return out, kept, ended
}

// Recovered is what recovery made of a journal.
type Recovered struct {
	Bytes []byte
	Torn  *journal.Torn
	Kept  []event.JobID
	Ended []event.CallID
}

// Recover opens b as a session would be opened after a crash, by package
// session itself, and closes it again.
func Recover(ctx context.Context, id event.SessionID, b []byte, s Sight) (*Recovered, error) {
	store := mem.New(mem.Options{Check: Check})
	store.Put(id, b)
	out, err := Reopen(ctx, store, id, s)
	if err == nil {
		out.Bytes = store.Bytes(id)
	}
	return out, err
}

// Reopen is Recover for a session of any store; it leaves Bytes empty.
func Reopen(ctx context.Context, store journal.Store, id event.SessionID, s Sight) (*Recovered, error) {
	w, err := store.Acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &Recovered{Torn: w.Recovered().Torn}
	set, err := tool.NewSet()
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	l, err := session.Open(ctx, session.Config{ID: id, Header: event.SessionOpened{ID: id}, Writer: w, Records: store.Read(ctx, id, 0), Tools: set,
		Observe: func(_ context.Context, l *turn.Ledger, _ bool) []event.Evidence {
			evidence, kept, ended := s.observe(l)
			out.Kept, out.Ended = kept, ended
			return evidence
		}})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := l.Close(ctx, interrupt.SessionReleased); err != nil {
		return nil, err
	}
	return out, nil
}

// Wreck is a journal that was broken, with what must become of it.
type Wreck struct {
	What  string // for messages
	Bytes []byte
	// Keep is how many records must be kept; -1 says that the journal is
	// damaged before its last batch and must be refused.
	Keep int
	From int // where the damage is, when it must be refused
	Lost int // records at most that are not readable any more, when it must be refused
	// Either says that it may be refused as well: what is left of its last record
	// shows that the batch before it had been synced.
	Either bool
}

// Try recovers w and returns what of the invariants is broken.
func (r *Recording) Try(ctx context.Context, w Wreck, s Sight) []Violation {
	if w.Keep < 0 {
		return r.refused(ctx, w)
	}
	once, err := Recover(ctx, r.ID, w.Bytes, s)
	if err != nil && w.Either {
		return r.refused(ctx, w)
	}
	if err != nil {
		return []Violation{{3, "recovery failed: " + err.Error()}}
	}
	// Calls side by side start in any order: the two are compared as sets.
	looked, open := slices.Sorted(slices.Values(once.Ended)), slices.Sorted(slices.Values(r.open(w.Keep)))
	if s == SeesEnded && !slices.Equal(looked, open) {
		return []Violation{{12, fmt.Sprintf("recovery looked for the ends of calls %v, open are %v", looked, open)}}
	}
	out := Judge(Case{Intended: r.Lines, Records: r.Records, Floor: event.Seq(w.Keep - 1), Journal: once.Bytes, Kept: once.Kept, Ended: once.Ended})
	out = append(out, r.torn(w, once)...)
	twice, err := Recover(ctx, r.ID, once.Bytes, s)
	if err != nil {
		return append(out, Violation{7, "recovering again failed: " + err.Error()})
	}
	if len(once.Kept) == 0 { // a kept job is looked for at each opening
		out = append(out, Same(once.Bytes, twice.Bytes)...)
	}
	return out
}

// Running reports whether a call, a process or a job ran behind the first n
// records: only then does it matter what recovery sees of the processes.
func (r *Recording) Running(n int) bool {
	running := len(r.open(n))
	for i := range r.Records[:n] {
		switch r.Records[i].Type {
		case event.TypeProcessStarted, event.TypeJobStarted:
			running++
		case event.TypeProcessEnded, event.TypeJobEnded:
			running--
		}
	}
	return running > 0
}

// open lists the calls that had started and not ended after n records.
func (r *Recording) open(n int) (out []event.CallID) {
	for i := range r.Records[:n] {
		switch r.Records[i].Type {
		case event.TypeCallStarted:
			out = append(out, r.Records[i].Call)
		case event.TypeCallEnded:
			out = slices.DeleteFunc(out, func(id event.CallID) bool { return id == r.Records[i].Call })
		}
	}
	return out
}

// torn judges what was set aside: exactly what stands behind the records that
// were kept.
func (r *Recording) torn(w Wreck, got *Recovered) []Violation {
	end := 0
	if w.Keep > 0 {
		end = min(r.Ends[w.Keep-1], len(w.Bytes))
	}
	n := 0
	if got.Torn != nil {
		n = int(got.Torn.Bytes)
	}
	if n != len(w.Bytes)-end {
		return []Violation{{13, fmt.Sprintf("%d bytes stand behind the last whole record and %d were set aside", len(w.Bytes)-end, n)}}
	}
	return nil
}

// Glance is a Try that only opens the journal: what recovery does then is a
// function of the records that were kept, which is judged at every record.
func (r *Recording) Glance(ctx context.Context, w Wreck) []Violation {
	if w.Keep < 0 {
		return r.refused(ctx, w)
	}
	store := mem.New(mem.Options{})
	store.Put(r.ID, w.Bytes)
	wr, err := store.Acquire(ctx, r.ID)
	if err != nil && w.Either {
		return r.refused(ctx, w)
	}
	if err != nil {
		return []Violation{{3, "opening failed: " + err.Error()}}
	}
	found := wr.Recovered()
	if err := wr.Close(); err != nil {
		return []Violation{{3, "closing failed: " + err.Error()}}
	}
	out := r.torn(w, &Recovered{Torn: found.Torn})
	if want := event.Seq(w.Keep - 1); found.Last != want {
		out = append(out, Violation{1, fmt.Sprintf("the last record is %d, want %d", found.Last, want)})
	}
	end := 0
	if w.Keep > 0 {
		end = min(r.Ends[w.Keep-1], len(w.Bytes))
	}
	if !bytes.Equal(store.Bytes(r.ID), w.Bytes[:end]) {
		out = append(out, Violation{13, "opening changed what it kept"})
	}
	return out
}

// refused judges a journal that is damaged before its last batch: it is
// refused with offsets, nothing of it is changed, and what is whole stays
// readable.
func (r *Recording) refused(ctx context.Context, w Wreck) (out []Violation) {
	say := func(invariant int, format string, args ...any) {
		out = append(out, Violation{invariant, fmt.Sprintf(format, args...)})
	}
	store := mem.New(mem.Options{Check: Check})
	store.Put(r.ID, w.Bytes)
	wr, err := store.Acquire(ctx, r.ID)
	var damaged *journal.DamagedError
	if !errors.As(err, &damaged) {
		if err == nil {
			err = errors.Join(errors.New("it was opened"), wr.Close())
		}
		say(1, "damage at byte %d is not refused: %v", w.From, err)
		return out
	}
	hit := false
	for _, d := range damaged.Ranges {
		hit = hit || d.From <= int64(w.From) && int64(w.From) < d.To
	}
	if !hit || damaged.ID != r.ID {
		say(1, "damage at byte %d is told as %v", w.From, damaged)
	}
	if !bytes.Equal(store.Bytes(r.ID), w.Bytes) {
		say(13, "a damaged journal was changed")
	}
	readable, next := 0, event.Seq(0)
	for rec, err := range store.Read(ctx, r.ID, 0) {
		if err != nil {
			if !errors.As(err, &damaged) {
				say(1, "reading a damaged journal: %v", err)
			}
			continue
		}
		if rec.Seq < next || int(rec.Seq) >= len(r.Lines) || !bytes.Equal(rec.Line, r.Lines[rec.Seq]) {
			say(2, "a damaged journal gives record %d, which nobody wrote", rec.Seq)
		}
		readable, next = readable+1, rec.Seq+1
	}
	if missing := len(r.Lines) - readable; missing > w.Lost {
		say(1, "of %d records %d are not readable any more, want %d at most", len(r.Lines), missing, w.Lost)
	}
	return out
}
