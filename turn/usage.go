package turn

import "github.com/ripcord-go/ripcord/event"

// Usage adds up tokens; Complete is false once a part is not known. Estimate is
// our guess of the part that no provider counted, nil where there is none.
type Usage struct {
	Tokens   event.Tokens
	Estimate event.Tokens
	Cost     float64 // US dollars, of both
	Complete bool
}

// All is the sum of what is known and what is guessed.
func (u Usage) All() (n int64) {
	for _, t := range []*int64{u.Tokens.Input, u.Tokens.Output, u.Estimate.Input, u.Estimate.Output} {
		if t != nil {
			n += *t
		}
	}
	return n
}

func (u *Usage) add(p event.UsageCounted) {
	sum := func(to **int64, n *int64) {
		if n == nil {
			return
		}
		v := *n
		if *to != nil {
			v += **to
		}
		*to = &v
	}
	sum(&u.Tokens.Input, p.Tokens.Input)
	sum(&u.Tokens.Output, p.Tokens.Output)
	if e := p.Estimate; e != nil {
		sum(&u.Estimate.Input, e.Input)
		sum(&u.Estimate.Output, e.Output)
	}
	if p.Cost != nil {
		u.Cost += *p.Cost
	}
	u.Complete = u.Complete && p.Complete
}

// count records the tokens of the attempt that ended. Unknown stays unknown.
func (s *State) count(whole bool) {
	if s.attempt.counted || (!whole && s.attempt.tokens == (event.Tokens{}) && s.attempt.bytes == 0) {
		return
	}
	s.attempt.counted = true
	s.emit(s.counted(s.open.Attempt, whole), "")
}

// counted is the account of a model call: what the provider counted, and a
// guess at what it did not.
func (s *State) counted(attempt int, whole bool) event.UsageCounted {
	t := s.attempt.tokens
	u := event.UsageCounted{Attempt: attempt, Tokens: t, Complete: whole && t.Input != nil && t.Output != nil}
	in, out := s.guess(s.attempt.asked), s.guess(s.attempt.bytes)
	if t.Input != nil {
		in = *t.Input
		if s.attempt.asked > 0 && *t.Input > 0 {
			s.ratio = min(max(float64(*t.Input)/float64(s.attempt.asked), 0.05), 1)
		}
	}
	if t.Output != nil {
		out = *t.Output
	}
	if !u.Complete {
		u.Estimate = &event.Tokens{}
		if t.Input == nil {
			u.Estimate.Input = &in
		}
		switch {
		case t.Output == nil:
			u.Estimate.Output = &out
		case !whole && s.guess(s.attempt.bytes) > out: // counted before its end
			more := s.guess(s.attempt.bytes) - out
			u.Estimate.Output = &more
			out += more
		}
		if *u.Estimate == (event.Tokens{}) {
			u.Estimate = nil
		}
	}
	if s.opts.Price != (Price{}) {
		cost := (float64(in)*s.opts.Price.Input + float64(out)*s.opts.Price.Output) / 1e6
		u.Cost = &cost
	}
	return u
}
