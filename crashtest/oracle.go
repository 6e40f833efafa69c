package crashtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model/scripted"
	"github.com/ripcord-go/ripcord/turn"
)

// Case is what the oracle judges.
type Case struct {
	// Intended is the journal that would stand there without the crash: its
	// lines without newlines, and their records if the caller has them decoded.
	Intended [][]byte
	Records  []event.Record
	// Floor is the last record that must have survived: it had been
	// acknowledged, or was left whole. -1 is none.
	Floor event.Seq
	// Journal is what stands there now, after recovery.
	Journal []byte
	// Life says that the session lived on after its recovery, and ended well.
	Life bool
	// Kept are the jobs that were observed alive and to be kept.
	Kept []event.JobID
	// Ended are the calls whose end the guardian was observed to have kept.
	Ended []event.CallID
	// Runs is how often each call was seen to have its effect, in all lives;
	// nil if nobody counted.
	Runs map[event.CallID]int
}

// Violation is one broken invariant; the numbers are those of the list in the
// package's picture of what must hold after a crash:
//
//	1 acknowledged records are there      8 the history is valid
//	2 nothing that nobody wrote           9 seq and epoch never go back
//	3 a prefix, then marked closers      10 no process outlives its end
//	4 what started has exactly one end   11 nothing follows a turn's end
//	5 made ends are marked, with cause   12 no result that existed is lost
//	6 unknown is said, nothing re-runs   13 nothing is removed from disk
//	7 twice recovered is once recovered
type Violation struct {
	Invariant int
	Text      string
}

func (v Violation) String() string { return fmt.Sprintf("invariant %d: %s", v.Invariant, v.Text) }

// Judge returns what of the invariants c breaks, nothing if all hold.
func Judge(c Case) []Violation {
	j := &judge{c: c, w: newWalk()}
	j.w.say = j.say
	if j.read() {
		j.prefix()
		j.walk()
		j.history()
		j.plan()
		j.effects()
	}
	return j.out
}

// Same judges two recoveries of the same bytes: what the second one added to
// the first one's journal is who writes now, and no more (invariant 7).
func Same(once, twice []byte) []Violation {
	if !bytes.HasPrefix(twice, once) {
		return []Violation{{7, "recovering again changed what stood there"}, {13, "recovering again removed bytes"}}
	}
	var out []Violation
	for line := range bytes.Lines(twice[len(once):]) {
		r, err := event.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || r.Type != event.TypeLeaseTaken {
			out = append(out, Violation{7, fmt.Sprintf("recovering again added a %s (%v)", r.Type, err)})
		}
	}
	return out
}

type judge struct {
	c    Case
	recs []event.Record
	keep int // records that are those of the intended journal
	w    *walk
	out  []Violation
}

func (j *judge) say(invariant int, format string, args ...any) {
	j.out = append(j.out, Violation{invariant, fmt.Sprintf(format, args...)})
}

// read takes the journal apart by its bytes alone. What stands as intended is
// not decoded again.
func (j *judge) read() bool {
	var prev event.Sum
	same := true
	for line := range bytes.Lines(j.c.Journal) {
		n := len(j.recs)
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			j.say(2, "the journal ends in %d bytes without a newline", len(line))
			return false
		}
		sum, ok := event.LineSum(line)
		if !ok || event.ChainSum(prev, line) != sum {
			j.say(2, "line %d is no record that follows the one before it", n)
			return false
		}
		prev = sum
		if same = same && n < len(j.c.Intended) && bytes.Equal(line, j.c.Intended[n]); same {
			j.keep = n + 1
			if n < len(j.c.Records) {
				j.recs = append(j.recs, j.c.Records[n])
				continue
			}
		}
		r, err := event.Parse(line)
		if err == nil {
			_, err = r.Body()
		}
		if err != nil {
			j.say(2, "line %d: %v", n, err)
			return false
		}
		j.recs = append(j.recs, r)
	}
	return true
}

// prefix judges what is left of the intended journal and what opening put
// behind it.
func (j *judge) prefix() {
	if event.Seq(j.keep) <= j.c.Floor {
		j.say(1, "record %d had been acknowledged; only the first %d are as they were written", j.c.Floor, j.keep)
	}
	added := j.recs[j.keep:]
	if len(added) == 0 {
		return
	}
	if j.keep == 0 && added[0].Type == event.TypeSessionOpened {
		added = added[1:]
	}
	for len(added) > 0 && added[0].Type == event.TypeLeaseTaken {
		added = added[1:]
		if len(added) > 0 && added[0].Type == event.TypeTornSaved {
			added = added[1:]
		}
		if len(added) > 0 && added[0].Type == event.TypeRepairBegun {
			n := 0
			for n < len(added) && added[n].Type != event.TypeRepairCommitted {
				n++
			}
			added = added[min(n+1, len(added)):]
		}
	}
	if len(added) > 0 && !j.c.Life {
		j.say(3, "recovery added record %d, a %s that is no part of a marked group", added[0].Seq, added[0].Type)
	}
}

func (j *judge) walk() {
	for i := range j.recs {
		p, err := j.recs[i].Body()
		if err != nil {
			j.say(2, "record %d: %v", i, err)
			continue
		}
		j.w.next(&j.recs[i], p)
	}
	j.w.end(j.c.Kept)
}

// history judges what the next request would say, and that every result that
// exists is in it.
func (j *judge) history() {
	l, err := turn.Fold(j.recs)
	if err != nil {
		j.say(8, "the journal does not fold: %v", err)
		return
	}
	next := append(l.History[:len(l.History):len(l.History)], event.Message{Role: event.RoleUser, Content: event.TextOf("go on")})
	if err := scripted.Validate(next); err != nil {
		j.say(8, "the next request would be refused: %v", err)
	}
	answers := map[event.CallID][]string{}
	for _, m := range l.History {
		if m.Role == event.RoleTool {
			answers[m.Call] = append(answers[m.Call], m.Content.Text())
		}
	}
	for id, c := range j.w.calls {
		if c.ended == nil {
			continue
		}
		got := answers[id]
		if j.w.hidden[c.turn] {
			if len(got) > 0 {
				j.say(8, "turn %d is hidden and the model reads the result of its call %s: %q", c.turn, id, got)
			}
			continue
		}
		if len(got) == 0 && c.at < j.w.summaryAt {
			continue // the summary stands for it
		}
		if len(got) != 1 || got[0] != c.ended.Content.Text() {
			j.say(12, "the result of call %s is not what the model reads: %q", id, got)
		}
	}
	waiting := map[event.InputID]bool{}
	for _, e := range l.Box.Waiting() {
		waiting[e.ID] = true
	}
	for id, st := range j.w.inputs {
		if st.state == inputWaits != waiting[id] {
			j.say(1, "input %s was accepted and is neither waiting nor taken", id)
		}
	}
	j.said(l.History)
}

// effects judges what tools were seen to have done against what the journal
// says about it.
func (j *judge) effects() {
	for id, c := range j.w.calls {
		if c.ended == nil {
			continue
		}
		found := false
		for _, e := range j.c.Ended {
			found = found || e == id
		}
		j.ends(id, c, found)
	}
	for id, n := range j.c.Runs {
		c := j.w.calls[id]
		switch {
		case n > 1:
			j.say(6, "call %s was run %d times", id, n)
		case j.w.began(id):
		case c == nil || !c.started:
			if event.Seq(j.keep) == event.Seq(len(j.c.Intended)) {
				j.say(6, "call %s had its effect and no start stands in the journal", id)
			}
		}
	}
}

// ends judges one call's end against how far the call had come.
func (j *judge) ends(id event.CallID, c *call, found bool) {
	e := c.ended
	text := e.Content.Text()
	if !c.inGroup {
		return
	}
	switch {
	case c.started && found && len(c.inner) == 0: // a process of a call that makes calls is not the call
		if e.Outcome != event.CallFinished || !strings.Contains(e.Cause, "exit record") && !strings.Contains(e.Cause, "sub-agent's journal") {
			j.say(12, "the end of call %s was kept by its guardian and is told as %s (%s)", id, e.Outcome, e.Cause)
		}
	case c.started:
		if e.Outcome != event.CallUnknown || !strings.Contains(text, "Do not retry blindly.") {
			j.say(6, "call %s had started and is told as %s: %q", id, e.Outcome, text)
		}
	case c.asked:
		if e.Outcome != event.CallSkipped || !strings.Contains(text, "waiting for approval") || strings.Contains(text, "denied") {
			j.say(6, "call %s was waiting for approval and is told as %s: %q", id, e.Outcome, text)
		}
	default:
		if e.Outcome != event.CallSkipped || !strings.Contains(text, "Retry it if it is still needed.") {
			j.say(6, "call %s never started and is told as %s: %q", id, e.Outcome, text)
		}
	}
}
