package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"unicode"
)

// CallLimits are the numbers of the call loop guard. Zero fields get the
// defaults, a negative one switches its rule off.
type CallLimits struct {
	Same    int // equal calls with equal results in a row; 0 means 10
	Cycle   int // rounds of a cycle of two to five calls, or of one whole step, with equal results; 0 means 5
	Failing int // steps in a row in which every call failed; 0 means 3
	Burst   int // calls of one answer that repeat each other; 0 means 15
	Answer  int // calls in one answer; 0 means 256
}

// Filled returns l with its defaults. They are ours: waiting for something by
// asking again gets the same answer a few times in a row, hardly ever ten
// times, and steps that only fail are rarely more than two.
func (l CallLimits) Filled() CallLimits {
	fill := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	fill(&l.Same, 10)
	fill(&l.Cycle, 5)
	fill(&l.Failing, 3)
	fill(&l.Burst, 15)
	fill(&l.Answer, 256)
	return l
}

// Signature is a call that has ended, as the guard compares it.
type Signature struct {
	Tool   string
	Args   string // JSON; the order of keys and the space between them make no difference up to 64 KiB
	Result string
	Failed bool // the call did not do what it is there for; a command that ran and came to an exit code did
	Waits  bool // the tool declares that it is there to be asked again
}

// CallLoop is what calls fell into.
type CallLoop struct {
	Kind   string `json:"kind"`             // "same", "cycle", "failing", "burst", "flood"; empty: nothing
	Count  int    `json:"count"`            // calls, rounds, steps, calls, calls
	Period int    `json:"period,omitempty"` // different calls that go round: of a cycle, of a burst
	Sample string `json:"sample,omitempty"` // the last call, shortened
}

// Calls watches the calls of one turn (GRD-06). The zero value has the default
// limits. It keeps sums of calls, never their texts, and no more of them than
// an answer may hold. It must not be copied once it is used.
type Calls struct {
	Limits CallLimits

	calls   rounds
	steps   rounds
	failing int
	answer  answer
}

// Step takes the calls of a step that has ended, in order, and says whether
// they go round in circles. Calls of a tool that waits are left out: they count
// for nothing and interrupt nothing. After a loop was found counting begins
// anew. A turn that is being interrupted is not to be asked about: its calls
// fail because they are stopped.
func (c *Calls) Step(step []Signature) CallLoop {
	found := c.step(step, c.Limits.Filled())
	if found.Kind != "" {
		c.calls, c.steps, c.failing = rounds{}, rounds{}, 0
	}
	return found
}

func (c *Calls) step(step []Signature, l CallLimits) CallLoop {
	counted, failed := 0, 0
	var last Signature
	whole := sha256.New()
	for _, s := range step {
		if s.Waits {
			continue
		}
		last = s
		counted++
		if s.Failed {
			failed++
		}
		one := sumOf(s.Tool, canonical(s.Args), s.Result)
		whole.Write(one[:])
		c.calls.add(one)
		if n := c.calls.times(1); l.Same > 0 && n >= l.Same {
			return CallLoop{Kind: "same", Count: n, Sample: sample(s.Tool, s.Args)}
		}
		for period := 2; period <= longestPeriod; period++ {
			if n := c.calls.times(period); l.Cycle > 0 && n >= l.Cycle {
				return CallLoop{Kind: "cycle", Count: n, Period: period, Sample: sample(s.Tool, s.Args)}
			}
		}
	}
	if counted == 0 {
		return CallLoop{}
	}
	c.steps.add(sum(whole.Sum(nil)))
	if n := c.steps.times(1); l.Cycle > 0 && counted > longestPeriod && n >= l.Cycle {
		return CallLoop{Kind: "cycle", Count: n, Period: counted, Sample: sample(last.Tool, last.Args)}
	}
	if failed < counted {
		c.failing = 0
		return CallLoop{}
	}
	if c.failing++; l.Failing > 0 && c.failing >= l.Failing {
		return CallLoop{Kind: "failing", Count: c.failing, Sample: sample(last.Tool, last.Args)}
	}
	return CallLoop{}
}

// Requested takes a call of an answer that still streams. first is true for the
// answer's first call. It knows no results: calls of tools that wait are the
// caller's to leave out.
func (c *Calls) Requested(tool, args string, first bool) CallLoop {
	if first {
		c.answer = answer{}
	}
	l := c.Limits.Filled()
	a := &c.answer
	a.calls++
	if l.Answer > 0 && a.calls > l.Answer {
		n := a.calls
		*a = answer{}
		return CallLoop{Kind: "flood", Count: n, Sample: sample(tool, args)}
	}
	a.add(sumOf(tool, canonical(args)))
	// Three rounds at least, so that a list that is gone through twice is none.
	if n := a.again + a.distinct; l.Burst > 0 && n >= l.Burst && a.again >= 2*a.distinct && a.again > 0 {
		period := a.distinct
		*a = answer{}
		return CallLoop{Kind: "burst", Count: n, Period: period, Sample: sample(tool, args)}
	}
	return CallLoop{}
}

// longestPeriod is how many calls a cycle over the calls of several steps may
// have.
const longestPeriod = 5

type sum [16]byte

// rounds counts how often the newest items stand in a row, for each period: a
// stretch has period p as long as each item equals the one p before it.
type rounds struct {
	last [longestPeriod]sum // newest first
	n    int                // of last that are set
	run  [longestPeriod + 1]int
}

func (r *rounds) add(s sum) {
	for p := 1; p <= longestPeriod; p++ {
		if p <= r.n && r.last[p-1] == s {
			r.run[p]++
		} else {
			r.run[p] = 0
		}
	}
	copy(r.last[1:], r.last[:])
	r.last[0] = s
	r.n = min(r.n+1, longestPeriod)
}

// times is how many whole rounds of period stand at the end. What goes round
// with a part of that period is not counted for it.
func (r *rounds) times(period int) int {
	for p := 1; p < period; p++ {
		if period%p == 0 && r.run[p] >= period-p {
			return 0
		}
	}
	if r.n < period {
		return 0
	}
	return r.run[period]/period + 1
}

// answer is what was asked for in one answer.
type answer struct {
	calls    int
	seen     []asked
	again    int // calls in a row that had all been made before
	distinct int // different ones among them
	stretch  int // number of that row
}

type asked struct {
	sum     sum
	stretch int // the row in which it was counted last
}

// rememberedCalls bounds what is kept of an answer that has no limit of its own.
const rememberedCalls = 1024

func (a *answer) add(s sum) {
	for i := range a.seen {
		if a.seen[i].sum != s {
			continue
		}
		if a.again == 0 {
			a.stretch++
		}
		a.again++
		if a.seen[i].stretch != a.stretch {
			a.seen[i].stretch = a.stretch
			a.distinct++
		}
		return
	}
	a.again, a.distinct = 0, 0
	if len(a.seen) == rememberedCalls {
		a.seen = a.seen[:0]
	}
	a.seen = append(a.seen, asked{sum: s})
}

// sumOf tells parts apart even where they hold each other's beginning.
func sumOf(parts ...string) sum {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		_, _ = io.WriteString(h, p) // a hash takes everything
	}
	return sum(h.Sum(nil))
}

const (
	canonicalBytes = 64 << 10
	sampleRunes    = 160
)

// canonical gives equal arguments equal bytes. What is no JSON, or so large
// that reading it would cost more than it tells, stays as it is.
func canonical(args string) string {
	if len(args) > canonicalBytes {
		return args
	}
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	if _, err := dec.Token(); err != io.EOF {
		return args
	}
	var out bytes.Buffer
	if json.NewEncoder(&out).Encode(v) != nil {
		return args
	}
	return out.String()
}

// sample is one line for people and for the model.
func sample(tool, args string) string {
	var out strings.Builder
	n := 0
	for _, r := range tool + " " + args {
		if n == sampleRunes {
			out.WriteRune('…')
			break
		}
		if unicode.IsControl(r) {
			r = ' '
		}
		out.WriteRune(r)
		n++
	}
	return strings.TrimSpace(out.String())
}

// Standing is how far calls have come towards each limit.
type Standing struct {
	Same    int `json:"same"`    // equal calls with equal results at the end
	Cycle   int `json:"cycle"`   // rounds of the cycle with most rounds at the end, 0 below two
	Period  int `json:"period"`  // its length
	Failing int `json:"failing"` // steps in a row in which every call failed
	Answer  int `json:"answer"`  // calls in the answer that streams, or streamed last
	Burst   int `json:"burst"`   // of them, those at its end that repeat each other
}

// Standing returns where the calls stand. It changes nothing.
func (c *Calls) Standing() Standing {
	s := Standing{Same: c.calls.times(1), Failing: c.failing, Answer: c.answer.calls}
	for p := 2; p <= longestPeriod; p++ {
		if n := c.calls.times(p); n > max(s.Cycle, 1) {
			s.Cycle, s.Period = n, p
		}
	}
	if c.answer.again > 0 {
		s.Burst = c.answer.again + c.answer.distinct
	}
	return s
}
