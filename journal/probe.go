package journal

import (
	"bytes"
	"io"
	"strconv"

	"github.com/ripcord-go/ripcord/event"
)

// proof is what a readable line says about batches: seq start opens a batch
// numbered batch, so everything before start was synced.
type proof struct {
	batch int64
	start event.Seq
}

// proves reports whether the record behind tip was synced.
func (p proof) proves(tip Place) bool { return p.batch > tip.Batch && p.start > tip.Seq+1 }

// probed is what stands behind a bad line.
type probed struct {
	damage bool // else it is a tear
	found  bool // a record to go on with, at off
	fork   bool // which opens a second branch
	off    int64
	seq    event.Seq
	prev   event.Sum // what it chains from
}

// probe looks behind the bad line for the verdict and for the first record
// whose sum can be verified. It stops once it knows both.
func (s *Scanner) probe(bad line) probed {
	tip := s.heads[s.cur]
	p := probed{damage: s.proof.proves(tip)}
	in := newLines(s.in.src, s.size, bad.off)
	var before [2]event.Sum // what the next line may chain from: the line's written and its computed sum
	chained := 0
	for first := true; !p.damage || !p.found; first = false {
		ln, ok := in.next()
		if !ok {
			break
		}
		env, whole := readEnvelope(ln.b)
		sum, hasSum := event.LineSum(ln.b)
		whole = whole && hasSum && !ln.long
		if whole && !p.found && !first {
			s.anchor(&p, ln, &env, sum, before[:chained])
		}
		if whole && env.seq > tip.Seq && !p.damage && !(first && altered(tip, ln.b, "seq", int64(env.seq), int64(tip.Seq)+1)) {
			if _, err := event.Parse(ln.b); err == nil {
				pr := proof{env.batch, env.seq - event.Seq(env.index)}
				if p.damage = pr.proves(tip); p.damage {
					s.proof = pr
				}
			}
		}
		switch {
		case !hasSum:
			chained = 0
		case first:
			before, chained = [2]event.Sum{sum, event.ChainSum(tip.Sum, ln.b)}, 2
		case chained > 0:
			before, chained = [2]event.Sum{sum, event.ChainSum(before[0], ln.b)}, 2
		default:
			before, chained = [2]event.Sum{sum}, 1
		}
	}
	if !p.found {
		p.off = s.size
	}
	return p
}

// anchor takes the line as the record to go on with if its sum is verified
// against the last valid record, the line before it, or, for a second branch,
// an earlier record. A fork proves damage: somebody else's records are not cut.
func (s *Scanner) anchor(p *probed, ln line, env *envelope, sum event.Sum, before []event.Sum) {
	tip := s.heads[s.cur]
	if env.seq <= tip.Seq {
		if prev, ok := s.sums.fork(ln.b, sum, env); ok {
			*p = probed{damage: true, found: true, fork: true, off: ln.off, seq: env.seq, prev: prev.Sum}
		}
		return
	}
	if env.batch < tip.Batch || env.epoch < tip.Epoch {
		return
	}
	for _, prev := range append([]event.Sum{tip.Sum}, before...) {
		if event.ChainSum(prev, ln.b) == sum {
			p.found, p.off, p.seq, p.prev = true, ln.off, env.seq, prev
			return
		}
	}
}

// altered reports whether the line would hold behind tip if the number in
// field key were right instead of wrong: then that number is what was damaged,
// and it proves nothing.
func altered(tip Place, b []byte, key string, wrong, right int64) bool {
	field := []byte(`,"` + key + `":`)
	was, is := strconv.AppendInt(field, wrong, 10), strconv.AppendInt(bytes.Clone(field), right, 10)
	sum, ok := event.LineSum(b)
	return ok && event.ChainSum(tip.Sum, bytes.Replace(b, was, is, 1)) == sum
}

// committed reports whether the group of closers that the line opens has its
// commit. A group that is not the journal's last batch, or that is damaged, is
// for the rules to judge, not to be cut.
func (s *Scanner) committed(ln line) bool {
	sub := &Scanner{in: newLines(s.in.src, s.size, ln.off), size: s.size, heads: []Place{s.heads[0]}, inGroup: true}
	batch := int64(-1)
	for sub.Next() {
		it := sub.Item()
		if it.Kind != ItemRecord {
			return true
		}
		if batch < 0 {
			batch = it.Place.Batch
		}
		if it.Place.Batch != batch || it.Type == event.TypeRepairCommitted {
			s.grouped = it.Place.End
			return true
		}
	}
	return false
}

const ringSize = 1 << 16

// ring keeps the sums of the last records, to tell a record that stands twice
// and a second branch from damage.
type ring struct {
	limit int
	seqs  []event.Seq
	sums  []event.Sum
}

func (r *ring) put(seq event.Seq, sum event.Sum) {
	if r.limit == 0 {
		return
	}
	i := int((seq + 1) % event.Seq(r.limit))
	for len(r.seqs) <= i {
		r.seqs = append(r.seqs, -2)
		r.sums = append(r.sums, 0)
	}
	r.seqs[i], r.sums[i] = seq, sum
}

func (r *ring) get(seq event.Seq) (event.Sum, bool) {
	if r.limit == 0 || seq < -1 {
		return 0, false
	}
	i := int((seq + 1) % event.Seq(r.limit))
	if i >= len(r.seqs) || r.seqs[i] != seq {
		return 0, false
	}
	return r.sums[i], true
}

// fork reports whether the line chains from an earlier record than the last
// and is not that record's known successor, and returns the place it branches
// from.
func (r *ring) fork(b []byte, sum event.Sum, env *envelope) (Place, bool) {
	prev, ok := r.get(env.seq - 1)
	if !ok || event.ChainSum(prev, b) != sum {
		return Place{}, false
	}
	if known, ok := r.get(env.seq); !ok || known == sum {
		return Place{}, false
	}
	return Place{Seq: env.seq - 1, Sum: prev}, true
}

// Anchor returns the place of the first line behind byte from that reads like
// a record. Its sum is not verified; the records behind it can be, by a scan
// that starts there. It serves to look at a tail.
func Anchor(src io.ReaderAt, size, from int64) (Place, bool) {
	in := newLines(src, size, max(from, 0))
	if from > 0 {
		in.next() // from may be anywhere in its line
	}
	for {
		ln, ok := in.next()
		if !ok {
			return Place{}, false
		}
		env, whole := readEnvelope(ln.b)
		sum, hasSum := event.LineSum(ln.b)
		if whole && hasSum && !ln.long && env.v <= event.Version {
			return Place{
				Seq: env.seq, Epoch: env.epoch, Batch: env.batch, Index: env.index,
				Sum: sum, Off: ln.off, End: ln.end, Bare: ln.bare,
			}, true
		}
	}
}
