package interrupt

import "time"

// Ladder is how work is made to end: ask, wait, force, wait, and say what was
// seen. The zero value forces at once and waits for nothing.
type Ladder struct {
	Grace time.Duration // between asking and forcing
	Bound time.Duration // between forcing and giving up
}

// Rungs is the work as the ladder sees it. Ask and Force must not block.
type Rungs struct {
	Ask   func()
	Force func()
	Gone  <-chan struct{} // closed once nothing of it is left
}

// Climbed is what a climb saw; each field is a fact of its own.
type Climbed struct {
	Forced bool // Force was called
	Gone   bool // the work is proved to be gone
	Took   time.Duration
}

// Climb ends the work. hurry, which may be nil, ends the grace early. It
// returns once the work is gone or Bound has passed since it was forced.
func (l Ladder) Climb(w Rungs, hurry <-chan struct{}) (c Climbed) {
	start := time.Now()
	defer func() { c.Took = time.Since(start) }()
	if closed(w.Gone) {
		return Climbed{Gone: true}
	}
	w.Ask()
	grace := time.NewTimer(l.Grace)
	defer grace.Stop()
	select {
	case <-w.Gone:
		return Climbed{Gone: true}
	case <-grace.C:
	case <-hurry:
	}
	if closed(w.Gone) {
		return Climbed{Gone: true}
	}
	w.Force()
	bound := time.NewTimer(l.Bound)
	defer bound.Stop()
	select {
	case <-w.Gone:
		return Climbed{Forced: true, Gone: true}
	case <-bound.C:
		return Climbed{Forced: true, Gone: closed(w.Gone)}
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
