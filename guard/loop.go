package guard

// LoopLimits are the numbers of the stream loop guard; zero fields get the
// defaults.
type LoopLimits struct {
	Window int // bytes of the tail that is looked at; 0 means 64 KiB
}

// Repeat is what a stream fell into.
type Repeat struct {
	Period int    `json:"period"` // code points
	Count  int    `json:"count"`  // times that it stands in a row
	Sample string `json:"sample"` // one period, shortened
	At     int64  `json:"at"`     // bytes of the stream when it was found
}

// Loop watches one channel of a stream for degenerate repetition (GRD-05).
type Loop struct{}

// NewLoop returns a guard for one channel.
func NewLoop(l LoopLimits) *Loop { return &Loop{} }

// Feed takes the next piece of the stream. It returns true once, when
// repetition is found; after that nothing more is looked at.
func (l *Loop) Feed(text string) (Repeat, bool) { return Repeat{}, false }
