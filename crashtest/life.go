package crashtest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal/mem"
	"github.com/ripcord-go/ripcord/tool"
)

// Finding is what the oracle says about one wreck.
type Finding struct {
	What       string
	Violations []Violation
}

// GoOn opens the journal, cut behind each of its records, in a second runtime,
// has it do one more turn at the strict server, closes it and judges the
// result. With nth above 1 it does so behind each nth record only, the last
// among them. It returns how many lives there were.
func (r *Recording) GoOn(ctx context.Context, nth int) (lives int, out []Finding, err error) {
	store := mem.New(mem.Options{Check: Check})
	effects := NewEffects()
	rig, err := NewRig(store, RigOptions{Script: second, Effects: effects})
	if err != nil {
		return 0, nil, err
	}
	for i := -1; i < len(r.Ends); i++ {
		if (len(r.Ends)-1-i)%nth != 0 {
			continue
		}
		end := 0
		if i >= 0 {
			end = r.Ends[i]
		}
		lives++
		vs, err := r.live(ctx, rig, store, r.Bytes[:end], i)
		if err != nil {
			vs = append(vs, Violation{8, err.Error()})
		}
		if len(vs) > 0 {
			out = append(out, Finding{fmt.Sprintf("going on behind record %d", i), vs})
		}
	}
	for id, n := range effects.Runs() {
		out = append(out, Finding{"going on", []Violation{{6, fmt.Sprintf("call %s was run %d times again", id, n)}}})
	}
	for _, q := range rig.Server.Requests() {
		if q.Refuse != nil {
			out = append(out, Finding{fmt.Sprintf("request %d", q.N), []Violation{{8, q.Refuse.Error()}}})
		}
	}
	return lives, out, rig.Close(ctx)
}

// live is one second life.
func (r *Recording) live(ctx context.Context, rig *Rig, store *mem.Store, b []byte, upto int) ([]Violation, error) {
	id := r.ID
	store.Put(id, b)
	defer func() { _ = rig.Runtime.Release(ctx, id) }() // after a failure too: the next life is of the same session
	var foretold []string
	if upto >= 0 {
		preview, err := rig.Runtime.PreviewRepair(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, line := range preview.Adds {
			foretold = append(foretold, placed(line)...)
		}
		if !bytes.Equal(store.Bytes(id), b) {
			return []Violation{{13, "a preview changed the journal"}}, nil
		}
	}
	state, err := rig.Runtime.Open(ctx, api.OpenRequest{ID: id})
	if err != nil {
		return nil, err
	}
	var out []Violation
	if state.Running || upto < 0 && state.ID != id {
		out = append(out, Violation{6, fmt.Sprintf("session %s is running after recovery: %v", state.ID, state.Running)})
	}
	if came := placed(store.Bytes(id)[len(b):]); upto >= 0 && fmt.Sprint(came) != fmt.Sprint(foretold) {
		out = append(out, Violation{7, fmt.Sprintf("the preview foretold %q and recovery wrote %q", foretold, came)})
	}
	res, err := (&Stage{Service: rig.Runtime, ID: id}).Run(ctx, "what happened?")
	if err != nil {
		return out, err
	}
	if *res.Outcome != event.TurnCompleted || res.Text != "And that was that." || len(res.Calls) != 0 {
		out = append(out, Violation{8, fmt.Sprintf("the next turn ended %s: %q, %v", *res.Outcome, res.Text, res.Error)})
	}
	if err := rig.Runtime.Release(ctx, id); err != nil {
		return out, err
	}
	rep, err := store.Verify(ctx, id)
	if err != nil {
		return out, err
	}
	if !rep.OK || rep.OpenTurn != 0 || rep.Torn != nil || rep.Verified != "full" {
		out = append(out, Violation{3, fmt.Sprintf("the journal does not verify: %+v", rep)})
	}
	got := store.Bytes(id)
	if n := bytes.Count(got[len(b):], []byte(`"type":"turn/start"`)); n != 1 {
		out = append(out, Violation{6, fmt.Sprintf("one turn was asked for and %d were begun", n)})
	}
	if !bytes.HasPrefix(got, b) {
		out = append(out, Violation{13, "going on changed what stood there"})
	}
	return append(out, Judge(Case{Intended: r.Lines, Records: r.Records, Floor: event.Seq(upto), Journal: got, Life: true})...), nil
}

// Durable judges the recording itself: whoever was told of something, a tool of
// its start included, was told after it was durable, and each acknowledgement
// begins a new batch (invariants 1, 6, 9).
func (r *Recording) Durable() []Violation {
	out := Judge(Case{Intended: r.Lines, Records: r.Records, Floor: event.Seq(len(r.Lines) - 1), Journal: r.Bytes, Runs: r.Runs, Life: true, Kept: r.left()})
	say := func(invariant int, format string, args ...any) {
		out = append(out, Violation{invariant, fmt.Sprintf(format, args...)})
	}
	early := func(id event.CallID, start event.Seq) {
		if seen, ran := r.Seen[id]; ran && seen < start {
			say(6, "call %s had its effect when record %d was acknowledged and its start is record %d", id, seen, start)
		}
	}
	type where struct {
		id  event.InputID
		typ event.Type
	}
	at := map[where][]event.Seq{} // where each input was accepted, and each of its turns ended
	turns := map[int][]event.InputID{}
	for i := range r.Records {
		rec := &r.Records[i]
		p, err := rec.Body()
		if err != nil {
			say(2, "%v", err)
			continue
		}
		switch p := p.(type) {
		case event.InboxAccepted:
			at[where{p.ID, rec.Type}] = []event.Seq{rec.Seq}
		case event.InboxClaimed:
			turns[rec.Turn] = append(turns[rec.Turn], p.ID)
		case event.TurnEnded:
			for _, id := range turns[rec.Turn] {
				at[where{id, rec.Type}] = append(at[where{id, rec.Type}], rec.Seq)
			}
		case event.CallStarted:
			early(rec.Call, rec.Seq)
		case event.InnerStarted:
			early(tool.InnerID(rec.Call, p.N), rec.Seq)
		}
	}
	for _, told := range r.Told {
		ends := at[where{told.Input, told.Type}]
		if len(ends) == 0 || told.Acked < ends[0] {
			say(1, "the %s of input %s is record %v and was told when %d was acknowledged", told.Type, told.Input, ends, told.Acked)
			continue
		}
		at[where{told.Input, told.Type}] = ends[1:] // one that is asked again has another end
	}
	for _, a := range r.Acks {
		if next := int(a.Seq) + 1; next < len(r.Records) && r.Records[next].Batch <= r.Records[a.Seq].Batch {
			say(9, "record %d was acknowledged and record %d is of its batch", a.Seq, next)
		}
	}
	return out
}

// left lists the jobs that the recorded run left running, as it was told to.
func (r *Recording) left() (out []event.JobID) {
	for i := range r.Records {
		if p, err := r.Records[i].Body(); err == nil {
			if j, ok := p.(event.JobStarted); ok && j.Keep {
				out = append(out, j.ID)
			}
		}
	}
	return out
}

// Batches returns the offset at which the last n batches begin.
func (r *Recording) Batches(n int) int {
	last := r.Records[len(r.Records)-1].Batch
	for i := range r.Records {
		if r.Records[i].Batch > last-int64(n) {
			return r.Start(i)
		}
	}
	return 0
}

// Last is the last record that w must keep.
func Last(w Wreck) event.Seq { return event.Seq(w.Keep - 1) }

// SameClosers judges two recoveries of one crash, of which the second was made
// after the first had been cut: behind byte from they close the same books,
// whoever wrote them (invariant 7).
func SameClosers(once, again []byte, from int) []Violation {
	a, b := closers(once[from:]), closers(again[from:])
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	if len(a) != len(b) {
		return []Violation{{7, fmt.Sprintf("%d closers, and %d after a crash in recovery", len(a), len(b))}}
	}
	for i := range a {
		if a[i] != b[i] {
			return []Violation{{7, fmt.Sprintf("closer %d is %s, and %s after a crash in recovery", i, a[i], b[i])}}
		}
	}
	return nil
}

// placed returns what the groups in b say and where they stand.
func placed(b []byte) (out []string) {
	for line := range bytes.Lines(b) {
		r, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || r.Type == event.TypeLeaseTaken || r.Type == event.TypeTornSaved {
			continue
		}
		out = append(out, fmt.Sprintf("%d %s", r.Seq, said(&r)))
	}
	return out
}

// closers returns what the groups in b say, but for their place: the opening of
// the group, which names its place, is left out.
func closers(b []byte) (out []string) {
	for line := range bytes.Lines(b) {
		r, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || r.Type == event.TypeLeaseTaken || r.Type == event.TypeTornSaved || r.Type == event.TypeRepairBegun {
			continue
		}
		out = append(out, said(&r))
	}
	return out
}

func said(r *event.Record) string {
	return fmt.Sprintf("%s %s %s %s", r.Type, r.Call, r.Time.Format("15:04:05.000000000"), r.Data)
}

// FoundEnded lists the calls whose end recovery says it found: what it saw
// stands in the record that opens its group.
func FoundEnded(journal []byte) (out []event.CallID) {
	for line := range bytes.Lines(journal) {
		r, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || r.Type != event.TypeRepairBegun {
			continue
		}
		if p, err := r.Body(); err == nil {
			for _, e := range p.(event.RepairBegun).Evidence {
				if e.Ended && e.Call != "" {
					out = append(out, e.Call)
				}
			}
		}
	}
	return out
}
