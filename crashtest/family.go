package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/mem"
)

// crash is what is left of a family: for each session how many of its records,
// -1 for one that has no journal.
type crash struct {
	what string
	left map[event.SessionID]int
}

// crashes lists the ways in which a family is broken: the eldest behind each of
// its records while the others are whole, and each of the others behind each of
// its records while those above it wait for it.
func (r *Recording) crashes() (out []crash) {
	family := r.Family()
	whole := map[event.SessionID]int{}
	for _, c := range family {
		whole[c.ID] = len(c.Ends)
	}
	with := func(what string, left ...map[event.SessionID]int) {
		all := map[event.SessionID]int{r.ID: len(r.Ends)}
		for _, m := range append([]map[event.SessionID]int{whole}, left...) {
			for id, n := range m {
				all[id] = n
			}
		}
		out = append(out, crash{what, all})
	}
	for n := range len(r.Ends) + 1 {
		with(fmt.Sprintf("%d records of the eldest", n), map[event.SessionID]int{r.ID: n})
	}
	for _, line := range r.lines(map[event.SessionID]int{}) {
		for n := -1; n <= len(line.of.Ends); n++ {
			with(fmt.Sprintf("%d records of %s", n, line.of.Scenario.Name), line.above, map[event.SessionID]int{line.of.ID: n})
		}
	}
	return out
}

// line is one descendant, and how many records those above it have while they
// wait for it.
type line struct {
	of    *Recording
	above map[event.SessionID]int
}

func (r *Recording) lines(above map[event.SessionID]int) (out []line) {
	for i, c := range r.Children {
		here := map[event.SessionID]int{r.ID: r.waits(links(r.Records)[i])}
		for id, n := range above {
			here[id] = n
		}
		out = append(append(out, line{c, here}), c.lines(here)...)
	}
	return out
}

// waits is how many records r has just before the call that started l ends, or
// before its turn does if the call does not wait.
func (r *Recording) waits(l event.SubAgentLinked) int {
	var call event.CallID
	for i := range r.Records {
		rec := &r.Records[i]
		if p, err := rec.Body(); err == nil {
			if got, ok := p.(event.SubAgentLinked); ok && got.Child == l.Child {
				call = rec.Call
			}
		}
		switch {
		case call == "":
		case rec.Type == event.TypeCallEnded && rec.Call == call && !l.Background, rec.Type == event.TypeTurnEnded:
			return i
		}
	}
	return len(r.Records)
}

// Kin opens the family of a recorded session, broken in each of those ways, by
// its eldest, and judges what stands in every journal then: by itself, and the
// word of each call that waited against the journal of whom it waited for. With
// nth above 1 it does so in each nth of the ways only.
func (r *Recording) Kin(ctx context.Context, nth int) (lives int, out []Finding, err error) {
	store := mem.New(mem.Options{Check: Check})
	rig, err := NewRig(store, RigOptions{Script: second, Effects: NewEffects()})
	if err != nil {
		return 0, nil, err
	}
	for i, c := range r.crashes() {
		if i%nth != 0 {
			continue
		}
		lives++
		vs, err := r.reunite(ctx, rig, store, c)
		if err != nil {
			vs = append(vs, Violation{8, err.Error()})
		}
		if len(vs) > 0 {
			out = append(out, Finding{c.what, vs})
		}
	}
	return lives, out, rig.Close(ctx)
}

// first returns the first n records of r as bytes.
func (r *Recording) first(n int) []byte {
	if n <= 0 {
		return nil
	}
	return r.Bytes[:r.Ends[n-1]:r.Ends[n-1]]
}

func (r *Recording) reunite(ctx context.Context, rig *Rig, store *mem.Store, c crash) ([]Violation, error) {
	all := append(r.Family(), r)
	for _, m := range all {
		store.Put(m.ID, m.first(c.left[m.ID]))
		if c.left[m.ID] < 0 {
			if err := store.Delete(ctx, m.ID); err != nil && !errors.Is(err, journal.ErrNotFound) {
				return nil, err
			}
		}
	}
	defer func() { _ = rig.Runtime.Release(ctx, r.ID) }() // after a failure too
	foretold, err := r.foretold(ctx, rig, c)
	if err != nil {
		return nil, err
	}
	var out []Violation
	for _, m := range all {
		if !bytes.Equal(store.Bytes(m.ID), m.first(c.left[m.ID])) {
			out = append(out, Violation{13, "a preview changed the journal of " + m.Scenario.Name})
		}
	}
	if _, err := rig.Runtime.Open(ctx, api.OpenRequest{ID: r.ID}); err != nil {
		return out, err
	}
	if came := placed(store.Bytes(r.ID)[len(r.first(c.left[r.ID])):]); c.left[r.ID] > 0 && fmt.Sprint(came) != fmt.Sprint(foretold) {
		out = append(out, Violation{7, fmt.Sprintf("the preview foretold %q and recovery wrote %q", foretold, came)})
	}
	if err := rig.Runtime.Release(ctx, r.ID); err != nil {
		return out, err
	}
	once := map[event.SessionID][]byte{}
	for _, m := range all {
		got := store.Bytes(m.ID)
		if once[m.ID] = got; len(got) == 0 {
			continue
		}
		// Whom nobody looked for is as the crash left it: see agree.
		if m != r && bytes.Equal(got, m.first(c.left[m.ID])) && !r.looked(m, c) {
			continue
		}
		out = append(out, Judge(Case{Intended: m.Lines, Records: m.Records, Floor: event.Seq(c.left[m.ID] - 1), Journal: got, Ended: FoundEnded(got), Kept: m.left()})...)
	}
	for _, m := range all {
		out = append(out, agree(m, once)...)
	}
	return append(out, r.again(ctx, rig, store, once)...), nil
}

func (r *Recording) foretold(ctx context.Context, rig *Rig, c crash) (out []string, err error) {
	if c.left[r.ID] <= 0 {
		return nil, nil
	}
	preview, err := rig.Runtime.PreviewRepair(ctx, r.ID)
	for _, add := range preview.Adds {
		out = append(out, placed(add)...)
	}
	return out, err
}

// looked reports whether opening the eldest must look for m: each of those
// above it names it, and its call waits or it was to live on while the turn
// does.
func (r *Recording) looked(m *Recording, c crash) bool {
	for _, l := range r.lines(map[event.SessionID]int{}) {
		if l.of != m {
			continue
		}
		for id, n := range l.above {
			if c.left[id] != n {
				return false
			}
		}
		return true
	}
	return false
}

// again opens the family once more: nothing is added but who writes now.
func (r *Recording) again(ctx context.Context, rig *Rig, store *mem.Store, once map[event.SessionID][]byte) (out []Violation) {
	if _, err := rig.Runtime.Open(ctx, api.OpenRequest{ID: r.ID}); err != nil {
		return []Violation{{7, "recovering again failed: " + err.Error()}}
	}
	if err := rig.Runtime.Release(ctx, r.ID); err != nil {
		return []Violation{{7, "closing again failed: " + err.Error()}}
	}
	for id, was := range once {
		out = append(out, Same(was, store.Bytes(id))...)
	}
	return out
}

// ending is how a journal's last turn stands.
type ending struct {
	begun bool
	end   *event.TurnEnded
	born  event.SessionOpened
}

func endingOf(b []byte) (out ending) {
	for line := range bytes.Lines(b) {
		rec, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			continue
		}
		p, err := rec.Body()
		if err != nil {
			continue
		}
		switch p := p.(type) {
		case event.SessionOpened:
			out.born = p
		case event.TurnStarted:
			out.begun, out.end = true, nil
		case event.TurnEnded:
			out.end = &p
		}
	}
	return out
}

// agree judges what a journal says of its sub-agents by what theirs say.
func agree(m *Recording, journals map[event.SessionID][]byte) (out []Violation) {
	say := func(invariant int, format string, args ...any) {
		out = append(out, Violation{invariant, m.Scenario.Name + ": " + fmt.Sprintf(format, args...)})
	}
	waits := map[event.CallID]event.SubAgentLinked{}
	for line := range bytes.Lines(journals[m.ID]) {
		rec, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			continue
		}
		p, err := rec.Body()
		if err != nil {
			continue
		}
		switch p := p.(type) {
		case event.SubAgentLinked:
			waits[rec.Call] = p
			if e := endingOf(journals[p.Child]); len(journals[p.Child]) > 0 && e.born.Parent != m.ID {
				say(4, "sub-agent %s says that %q started it", p.Child, e.born.Parent)
			}
		case event.CallEnded:
			if l, ok := waits[rec.Call]; ok && !l.Background {
				out = append(out, word(m, rec.Call, p, l.Child, endingOf(journals[l.Child]))...)
			}
		}
	}
	return out
}

// word judges the end of a call that waited for a sub-agent: the leaf's books are
// closed, and what they say is what is told.
func word(m *Recording, call event.CallID, p event.CallEnded, child event.SessionID, e ending) (out []Violation) {
	say := func(invariant int, format string, args ...any) {
		out = append(out, Violation{invariant, m.Scenario.Name + ": " + fmt.Sprintf(format, args...)})
	}
	text := p.Content.Text()
	made := p.Synthetic && strings.HasPrefix(p.Cause, "crash")
	well := []event.TurnOutcome{event.TurnCompleted, event.TurnTruncated, event.TurnBudget, event.TurnLooped}
	switch {
	case e.begun && e.end == nil:
		say(4, "call %s has its end and the turn of its sub-agent %s has none", call, child)
	case !made:
	case e.end == nil && (p.Outcome != event.CallUnknown || !strings.Contains(text, string(child))):
		say(6, "sub-agent %s of call %s had not begun, which is told as %s: %q", child, call, p.Outcome, text)
	case e.end == nil:
	case slices.Contains(well, e.end.Outcome):
		if p.Outcome != event.CallFinished || !strings.Contains(text, e.end.Text) {
			say(12, "sub-agent %s of call %s had its answer %q, which is told as %s: %q", child, call, e.end.Text, p.Outcome, text)
		}
	case p.Outcome != event.CallUnknown || !strings.Contains(text, ": "+string(e.end.Outcome)):
		say(6, "sub-agent %s of call %s ended %s, which is told as %s: %q", child, call, e.end.Outcome, p.Outcome, text)
	}
	return out
}
