package guardtest

import (
	"math/rand/v2"

	"github.com/ripcord-go/ripcord/guard"
)

// Stream is one labelled stream.
type Stream struct {
	Kind   string
	Name   string // kind and seed, or a file's path
	Text   string
	Loop   bool
	Begins int // byte at which the second copy begins; loops only
}

const (
	PerKind = 18       // streams of a looping kind
	Runaway = 64 << 10 // bytes that a loop goes on for
)

// Chunking cuts a stream into deltas.
type Chunking struct {
	Name string
	next func() int
}

// Chunkings are the ways in which every stream is judged. All must give the
// same verdict at the same byte.
func Chunkings() []Chunking {
	fixed := func(n int) func() int { return func() int { return n } }
	r := rand.New(rand.NewPCG(1, 7))
	return []Chunking{
		{"whole", fixed(1 << 30)},
		{"4096 bytes", fixed(4096)},
		{"13 bytes", fixed(13)},
		{"1 to 7 bytes", func() int { return 1 + r.IntN(7) }},
	}
}

// Judge feeds a text to a fresh guard, cut as told, until it is stopped.
func Judge(text string, c Chunking) (guard.Repeat, bool) {
	l := guard.NewLoop(guard.LoopLimits{})
	for len(text) > 0 {
		n := min(c.next(), len(text))
		if r, ok := l.Feed(text[:n]); ok {
			return r, true
		}
		text = text[n:]
	}
	return guard.Repeat{}, false
}

// Tally is how one kind came out.
type Tally struct {
	Kind    string
	Loop    bool
	Streams int
	Stopped int
	Delay   []int    // bytes from the second copy until it was stopped
	Wrong   []string // names of the streams that came out wrong, with what was found
	Uneven  []string // names of those whose verdict depends on the chunking
}

// Score judges every stream at every chunking, in the order of their kinds.
func Score(streams []Stream) []Tally {
	var all []Tally
	at := map[string]int{}
	for _, s := range streams {
		i, ok := at[s.Kind]
		if !ok {
			i = len(all)
			at[s.Kind] = i
			all = append(all, Tally{Kind: s.Kind, Loop: s.Loop})
		}
		all[i].add(s)
	}
	return all
}

func (t *Tally) add(s Stream) {
	t.Streams++
	var first guard.Repeat
	var stopped bool
	for i, c := range Chunkings() {
		r, ok := Judge(s.Text, c)
		if i == 0 {
			first, stopped = r, ok
		} else if r != first || ok != stopped {
			t.Uneven = append(t.Uneven, s.Name+", "+c.Name)
		}
	}
	if stopped {
		t.Stopped++
		t.Delay = append(t.Delay, int(first.At)-s.Begins)
	}
	if stopped != s.Loop {
		t.Wrong = append(t.Wrong, s.Name+" "+first.Sample)
	}
}
