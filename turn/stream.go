package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/event"
)

// pack gathers consecutive deltas of one block into one record (LOG-08).
type pack struct {
	open  bool
	chunk event.Chunk
	start time.Time
	marks []event.Mark
	text  strings.Builder
}

const packMarks = 64 // deltas in one record at most

// streamed takes one delta. After a trip nothing more of the stream is
// recorded, and a dead attempt's deltas are ignored.
func (s *State) streamed(in Streamed) {
	if !s.Hears(in.Ticket) {
		return
	}
	if s.tooMuch(in.Delta) {
		return
	}
	s.alive(in.Delta)
	switch d := in.Delta.(type) {
	case event.TextDelta:
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkText}, d.Text)
		s.feed(d.Block, "text", d.Text)
	case event.ReasoningDelta:
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkReasoning}, d.Text)
		s.feed(d.Block, "reasoning", d.Text)
		if (d.Signature != "" || d.Data != "") && s.attempt.broke == nil { // it signs words that were trimmed
			s.sign(d)
		}
	case event.CallStart:
		s.flush()
		if s.ahead(d.Block) {
			return
		}
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkArgs, Call: s.callID(d), Name: d.Name}, "")
	case event.ArgsDelta:
		if !s.calls(d.Block) || s.ahead(d.Block) {
			return // of no call that was started, or of one that runs
		}
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkArgs}, d.Text)
		s.feed(d.Block, "args", d.Text)
	case event.CallEnd:
		if !s.calls(d.Block) || s.ahead(d.Block) {
			return
		}
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkArgs}, "")
		s.pack.chunk.Done = true
		s.flush()
		s.another(d.Block)
		s.eager()
	case event.UsageDelta:
		t := d.Usage
		if t.Input != nil {
			s.attempt.tokens.Input = t.Input
		}
		if t.Output != nil {
			s.attempt.tokens.Output = t.Output
		}
	case event.Finish:
		s.attempt.finish = d.Reason
	}
}

// sign ends a block of reasoning with its provider's bytes.
func (s *State) sign(d event.ReasoningDelta) {
	if !s.pack.open {
		s.put(event.Chunk{Block: d.Block, Kind: event.ChunkReasoning}, "")
	}
	c := &s.pack.chunk
	c.Signature, c.Data, c.Provider, c.Done = d.Signature, d.Data, d.Provider, true
	s.flush()
}

// tooMuch ends a turn whose answer has no end: nothing from outside is without
// a bound.
func (s *State) tooMuch(d event.Delta) bool {
	switch d := d.(type) {
	case event.TextDelta:
		s.attempt.bytes += len(d.Text)
		s.change(d.Block)
	case event.ReasoningDelta:
		s.attempt.bytes += len(d.Text) + len(d.Signature) + len(d.Data)
		s.change(d.Block)
	case event.ArgsDelta:
		s.attempt.bytes += len(d.Text)
	case event.CallStart:
		s.attempt.bytes += accountBytes + len(d.Name) + len(d.ID)
	case event.CallEnd, event.UsageDelta, event.Finish:
	}
	if s.attempt.bytes+s.attempt.changes*accountBytes <= s.opts.Answer {
		return false
	}
	f := event.Failure{Code: event.FailRequest, Message: fmt.Sprintf("the model's answer is longer than %d bytes and was cut", s.opts.Answer),
		Hint: "ask for less at once, or for another model"}
	s.flush()
	s.emit(event.AttemptFailed{Attempt: s.open.Attempt, Error: f, RetryIn: -1}, "")
	s.cut(&How{Outcome: event.TurnFailed, Error: &f})
	return true
}

// accountBytes is what a block counts for besides its text: an account is kept
// of each, and a record written at each change between two.
const accountBytes = 256

// change notes of which block the answer goes on. Blocks of a few words each are
// as many as their words let them be.
func (s *State) change(block int) {
	if a := &s.attempt; a.block != block {
		a.block = block
		a.changes++
	}
}

// calls reports whether block is a call that was started.
func (s *State) calls(block int) bool {
	if s.pack.open && s.pack.chunk.Block == block {
		return s.pack.chunk.Kind == event.ChunkArgs
	}
	b := s.open.block(block)
	return b != nil && b.Kind == event.ChunkArgs
}

func (s *State) put(c event.Chunk, text string) {
	p := &s.pack
	if p.open && (p.chunk.Block != c.Block || p.chunk.Kind != c.Kind) {
		s.flush()
	}
	if !p.open {
		c.Attempt = s.open.Attempt
		*p = pack{open: true, chunk: c, start: s.now}
		s.do(SetTimer{TimerPack, s.opts.PackTime})
	}
	if len(text) > 256 { // it comes in large pieces
		p.text.Grow(s.opts.PackBytes + len(text) - p.text.Len())
	}
	p.marks = append(p.marks, event.Mark{Off: p.text.Len(), MS: s.now.Sub(p.start).Milliseconds()})
	p.text.WriteString(text)
	if p.text.Len() >= s.opts.PackBytes || len(p.marks) >= packMarks {
		s.flush()
	}
}

// CallIn returns the call that streams in a block, "" if none does.
func (s *State) CallIn(block int) event.CallID {
	if s.pack.open && s.pack.chunk.Block == block && s.pack.chunk.Call != "" {
		return s.pack.chunk.Call
	}
	if s.open != nil {
		if b := s.open.block(block); b != nil {
			return b.Call
		}
	}
	return ""
}

// flush writes the open pack.
func (s *State) flush() {
	if !s.pack.open {
		return
	}
	c, marks := s.pack.chunk, s.pack.marks
	c.Text = s.pack.text.String()
	s.pack = pack{}
	if c.Text == "" && !c.Done && c.Call == "" && c.Signature == "" && c.Data == "" {
		return
	}
	r, err := event.New(c, s.now)
	if err != nil {
		s.bug(err)
		return
	}
	if len(marks) > 1 {
		r.Span = marks
	}
	s.place(&r)
	s.write(r)
}

// callID keeps a provider's id when it is usable and makes one otherwise: an
// empty or repeated id would tie a result to the wrong call, one that reads as
// an inner call's a process.
func (s *State) callID(d event.CallStart) event.CallID {
	id := event.CallID(d.ID)
	if _, taken := s.seen[id]; id != "" && len(id) <= 128 && !taken && !s.open.streams(id) && !readsAsInner(d.ID) {
		return id
	}
	for n := len(s.open.Blocks); ; n++ {
		made := event.CallID(fmt.Sprintf("call_%d_%d_%d_%d", s.turn, s.step, s.open.Attempt, n))
		if _, taken := s.seen[made]; !taken && !s.open.streams(made) {
			if s.attempt.given == nil {
				s.attempt.given = map[event.CallID]string{}
			}
			s.attempt.given[made] = strings.Clone(strings.ToValidUTF8(d.ID[:min(len(d.ID), 256)], "")) // and nothing of a longer one
			return made
		}
	}
}

// readsAsInner reports whether id has the form of an inner call's: a dot and
// digits at its end.
func readsAsInner(id string) bool {
	i := strings.LastIndexByte(id, '.')
	return i >= 0 && i < len(id)-1 && strings.Trim(id[i+1:], "0123456789") == ""
}

func (s *Step) streams(id event.CallID) bool {
	return slices.ContainsFunc(s.Blocks, func(b *Block) bool { return b.Call == id })
}
