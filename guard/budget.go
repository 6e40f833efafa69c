package guard

import "time"

// Budget bounds a turn, or a session. A zero field is no bound.
type Budget struct {
	Steps  int
	Calls  int
	Tokens int64 // input and output of all steps together, guesses included
	Wall   time.Duration
	Cost   float64 // US dollars
}

// Within returns b with no more than steps, which may be nil, for its steps.
func (b Budget) Within(steps *int) Budget {
	if steps != nil && *steps > 0 && (b.Steps == 0 || *steps < b.Steps) {
		b.Steps = *steps
	}
	return b
}

// Spent is what a turn or a session has used so far.
type Spent struct {
	Steps  int
	Calls  int
	Tokens int64
	Wall   time.Duration
	Cost   float64
}

// Exceeded returns the name of the first budget that leaves no room for
// another step, in the order steps, calls, tokens, wall, cost; "" if all have
// room.
func (b Budget) Exceeded(s Spent) string {
	switch {
	case b.Steps > 0 && s.Steps >= b.Steps:
		return "steps"
	case b.Calls > 0 && s.Calls >= b.Calls:
		return "calls"
	case b.Tokens > 0 && s.Tokens >= b.Tokens:
		return "tokens"
	case b.Wall > 0 && s.Wall >= b.Wall:
		return "wall"
	case b.Cost > 0 && s.Cost >= b.Cost:
		return "cost"
	}
	return ""
}
