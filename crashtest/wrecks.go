package crashtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Cut is the journal as a crash left it: its first n bytes.
func (r *Recording) Cut(n int) Wreck {
	return Wreck{What: fmt.Sprintf("cut at byte %d", n), Bytes: r.Bytes[:n:n], Keep: r.Whole(n)}
}

// Boundary reports whether a cut at n is one between two records.
func (r *Recording) Boundary(n int) bool { return n == 0 || r.at(n) == n }

// at returns the end of the last record that ends at or before byte n, 0 if
// there is none.
func (r *Recording) at(n int) int {
	last := 0
	for _, e := range r.Ends {
		if e <= n {
			last = e
		}
	}
	return last
}

// record returns the record that byte off belongs to.
func (r *Recording) record(off int) int {
	i := 0
	for r.Ends[i] <= off {
		i++
	}
	return i
}

// Start returns where record i begins.
func (r *Recording) Start(i int) int {
	if i == 0 {
		return 0
	}
	return r.Ends[i-1]
}

// wreck is what must become of a journal whose bytes from..to were changed.
func (r *Recording) wreck(what string, b []byte, from, to int) Wreck {
	first, last := r.record(from), r.record(to-1)
	if to == r.Ends[last] && last+1 < len(r.Ends) {
		last++ // its newline is gone: the record behind it begins nowhere
	}
	w := Wreck{What: what, Bytes: b, Keep: first, From: from, Lost: last - first + 2} // nothing vouches for the one behind
	if from == r.Ends[first]-1 && first == len(r.Ends)-1 {
		return w // only the last newline: see Flip
	}
	for _, rec := range r.Records[last+1:] {
		if rec.Batch > r.Records[first].Batch {
			w.Keep = -1
			break
		}
	}
	return w
}

// Flip is the journal with one bit turned.
func (r *Recording) Flip(off int, bit uint) Wreck {
	b := bytes.Clone(r.Bytes)
	b[off] ^= 1 << bit
	return r.wreck(fmt.Sprintf("bit %d of byte %d flipped", bit, off), b, off, off+1)
}

// Zero is the journal with n bytes from off on set to zero.
func (r *Recording) Zero(off, n int) Wreck {
	b := bytes.Clone(r.Bytes)
	to := min(off+n, len(b))
	clear(b[off:to])
	w := r.wreck(fmt.Sprintf("bytes %d to %d zeroed", off, to), b, off, to)
	w.Either = w.Keep >= 0 && to < len(b) && r.Records[r.record(to)].Batch > r.Records[r.record(off)].Batch
	return w
}

// Tail is the journal with bytes behind it that nobody meant to write.
func (r *Recording) Tail(what string, tail []byte) Wreck {
	return Wreck{What: what, Bytes: append(bytes.Clone(r.Bytes), tail...), Keep: len(r.Lines)}
}

// Tails are doubled, swapped and garbage tails.
func (r *Recording) Tails(seed uint64) []Wreck {
	n := len(r.Lines)
	out := []Wreck{
		r.Tail("half a record behind it", []byte(`{"type":"mess`)),
		r.Tail("zero bytes behind it", make([]byte, 512)),
		r.Tail("many zero bytes behind it", make([]byte, 70_000)),
		r.Tail("an empty line behind it", []byte("\n")),
		r.Tail("empty objects behind it", []byte("{}\n{}\n")),
		r.Tail("another JSON behind it", []byte(`{"crc":"00000000","v":1,"b":999,"epoch":9,"seq":999,"time":"","type":"chunk","data":{}}`+"\n")),
	}
	full := `"text":"` + "\U0001F642"
	for i := 1; i <= 4; i++ {
		out = append(out, r.Tail(fmt.Sprintf("%d bytes of a character behind it", i), []byte(full[:len(full)-4+i])))
	}
	rnd := rand.New(rand.NewPCG(seed, 2))
	for range 16 {
		b := make([]byte, 1+rnd.IntN(2000))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		out = append(out, r.Tail(fmt.Sprintf("%d random bytes behind it", len(b)), b))
	}
	for k := 1; k <= min(4, n); k++ {
		out = append(out, r.Tail(fmt.Sprintf("the last %d records twice", k), r.Bytes[r.Start(n-k):]))
	}
	for k := 2; k <= min(4, n); k++ {
		out = append(out, r.swapped(n-k))
	}
	return out
}

// swapped is the journal with record i and its successor in each other's place.
func (r *Recording) swapped(i int) Wreck {
	a, b, c := r.Start(i), r.Ends[i], r.Ends[i+1]
	out := bytes.Clone(r.Bytes[:a])
	out = append(out, r.Bytes[b:c]...)
	out = append(out, r.Bytes[a:b]...)
	out = append(out, r.Bytes[c:]...)
	w := Wreck{What: fmt.Sprintf("records %d and %d swapped", i, i+1), Bytes: out, Keep: i, From: a, Lost: 3}
	if r.Records[len(r.Records)-1].Batch > r.Records[i].Batch {
		w.Keep = -1
	}
	return w
}
