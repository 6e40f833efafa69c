package guard

import "time"

// Mode says what a guard does about what it sees.
type Mode string

const (
	Act  Mode = "act"  // the zero value means it, too
	Warn Mode = "warn" // say it, go on
	Off  Mode = "off"
)

// StallLimits are the numbers of the stall guard. Zero fields get the default
// that [StallLimits.Filled] names.
type StallLimits struct {
	First    time.Duration // until the first useful event; negative: no limit
	Idle     time.Duration // between two useful events; negative: no limit
	Argument int           // code points of the longest string in a call's arguments
	Silence  time.Duration // before the end
	InRow    int           // wakes without a completed turn or a person between them
	Cooldown time.Duration // between two wakes
}

// Filled returns l with its defaults. Argument, Silence, InRow and Cooldown are
// those of one published incident: three cuts of one model at one provider,
// which is a thin base. First and Idle are ours: providers that think out of
// sight send nothing for minutes before the first event, hardly ever after it.
func (l StallLimits) Filled() StallLimits {
	fill := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	fill(&l.First, 5*time.Minute)
	fill(&l.Idle, 90*time.Second)
	fill(&l.Silence, 15*time.Second)
	fill(&l.Cooldown, 30*time.Second)
	if l.Argument == 0 {
		l.Argument = 16384
	}
	if l.InRow == 0 {
		l.InRow = 3
	}
	return l
}

// Thresholds are the numbers of [StallLimits] that a verdict and a decision
// hang on, as the journal keeps them beside both: with them each can be made
// again from its record alone.
type Thresholds struct {
	Argument int   `json:"argument"`
	Silence  int64 `json:"silence_ms"`
	InRow    int   `json:"in_row"`
	Cooldown int64 `json:"cooldown_ms"`
}

// Thresholds returns the numbers in force: those of l with its defaults.
func (l StallLimits) Thresholds() Thresholds {
	l = l.Filled()
	return Thresholds{Argument: l.Argument, Silence: l.Silence.Milliseconds(), InRow: l.InRow, Cooldown: l.Cooldown.Milliseconds()}
}

// Limits returns limits that judge as those did that t was taken of.
func (t Thresholds) Limits() StallLimits {
	ms := func(n int64) time.Duration { // below a millisecond is none, not the default
		return max(time.Duration(n)*time.Millisecond, 1)
	}
	return StallLimits{Argument: t.Argument, Silence: ms(t.Silence), InRow: t.InRow, Cooldown: ms(t.Cooldown)}
}

// Cut is what is known of a message at its end. It is what [Evaluate] judges,
// and what the journal keeps beside the verdict.
type Cut struct {
	Assistant bool   `json:"assistant"`
	Aborted   bool   `json:"aborted"`           // its stream was cut before its finish: by a timer of ours or the socket's, or by a person. A stop with an error is none: retries own it
	Calls     int    `json:"calls"`             // calls in it, begun or whole
	Tool      string `json:"tool,omitempty"`    // of the call with the longest string
	Argument  int    `json:"argument"`          // that string's length in code points
	Stream    int    `json:"stream"`            // length of that call's raw arguments in code points; of the text where there is no call
	Silence   int64  `json:"silence_ms"`        // from the last useful event to the end
	Prefix    string `json:"prefix,omitempty"`  // sum of the beginning of what was cut, see [Prefix]
	Largest   int    `json:"largest,omitempty"` // longest argument that ever came through whole from this model
}

// StallVerdict is the first thing that speaks against a stall, or "ok".
type StallVerdict string

const (
	NotAssistant StallVerdict = "not-assistant"
	NotAborted   StallVerdict = "not-aborted"
	NoToolCall   StallVerdict = "no-tool-call"
	ArgTooSmall  StallVerdict = "arg-too-small"
	StreamActive StallVerdict = "stream-active"
	Stalled      StallVerdict = "ok"
)

// Evaluate judges a message at its end (GRD-02).
func Evaluate(c Cut, l StallLimits) StallVerdict {
	l = l.Filled()
	switch {
	case !c.Assistant:
		return NotAssistant
	case !c.Aborted:
		return NotAborted
	case c.Calls == 0:
		return NoToolCall
	case c.Argument < l.Argument:
		return ArgTooSmall
	case c.Silence < l.Silence.Milliseconds():
		return StreamActive
	}
	return Stalled
}

// WakeFacts are what the decision about a stall depends on.
type WakeFacts struct {
	Off      bool   `json:"off"`
	ByPerson bool   `json:"by_person"`            // a person's interrupt always wins
	Stopped  string `json:"stopped_by,omitempty"` // why the turn was stopped, where no person did it
	InRow    int    `json:"in_row"`               // wakes since the last completed turn or input of a person
	Since    int64  `json:"since_wake_ms"`        // -1: there was none
}

// WakeDecision says what is done about a stall, or what speaks against it.
type WakeDecision string

const (
	WakeOff      WakeDecision = "off"
	WakeByPerson WakeDecision = "by-person"
	WakeStopped  WakeDecision = "stopped" // by something else: a budget, a shutdown, a caller's end
	WakeLimit    WakeDecision = "wake-limit"
	WakeCooldown WakeDecision = "cooldown"
	Wake         WakeDecision = "wake"
)

// Decide says whether a stall that was found wakes the model.
func Decide(f WakeFacts, l StallLimits) WakeDecision {
	l = l.Filled()
	switch {
	case f.Off:
		return WakeOff
	case f.ByPerson:
		return WakeByPerson
	case f.Stopped != "":
		return WakeStopped
	case f.InRow >= l.InRow:
		return WakeLimit
	case f.Since >= 0 && f.Since < l.Cooldown.Milliseconds():
		return WakeCooldown
	}
	return Wake
}
