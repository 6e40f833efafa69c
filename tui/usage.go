package tui

import (
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
)

// usage adds up what a turn's model calls used. What nobody counted is guessed
// and shown as a guess; what is not even guessed is unknown, never 0.
type usage struct {
	in, out count
	cost    float64
	priced  bool
}

type count struct {
	n       int64
	known   bool // anything is
	guessed bool // part of it is a guess
	unknown bool // part of it is neither
}

func (c *count) add(counted, guess *int64) {
	if counted != nil {
		c.n, c.known = c.n+*counted, true
	}
	if guess != nil {
		c.n, c.known, c.guessed = c.n+*guess, true, true
	}
	c.unknown = c.unknown || counted == nil && guess == nil
}

func (c count) String() string {
	switch {
	case !c.known:
		return "?"
	case c.unknown:
		return fmt.Sprintf("at least %d", c.n)
	case c.guessed:
		return fmt.Sprintf("~%d", c.n)
	}
	return fmt.Sprint(c.n)
}

func (u *usage) add(b event.UsageCounted) {
	var guess event.Tokens
	if b.Estimate != nil {
		guess = *b.Estimate
	}
	u.in.add(b.Tokens.Input, guess.Input)
	u.out.add(b.Tokens.Output, guess.Output)
	if b.Cost != nil {
		u.cost, u.priced = u.cost+*b.Cost, true
	}
}

// resultUsage is what a result object says, for a turn whose records did not
// come.
func resultUsage(r *api.Usage) (u usage) {
	if r == nil {
		return u
	}
	b := event.UsageCounted{Tokens: event.Tokens{Input: r.Input, Output: r.Output}, Cost: r.Cost}
	if e := r.Estimated; e != nil {
		b.Estimate = &event.Tokens{Input: e.Input, Output: e.Output}
	}
	u.add(b)
	return u
}

// String is empty where nothing is known.
func (u usage) String() string {
	var parts []string
	if u.in.known || u.out.known {
		parts = append(parts, u.in.String()+" in", u.out.String()+" out")
	}
	if u.priced {
		parts = append(parts, fmt.Sprintf("$%.4f", u.cost))
	}
	if len(parts) == 0 {
		return ""
	}
	return " · " + strings.Join(parts, " · ")
}
