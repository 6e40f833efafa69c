package guard

// CallLimits are the numbers of the call loop guard; zero fields get the
// defaults.
type CallLimits struct {
	Same    int // equal calls with equal results in a row; 0 means 10
	Cycle   int // rounds of a cycle of two to five calls with equal results; 0 means 5
	Failing int // steps in a row in which every call failed; 0 means 3
	Burst   int // calls of one answer that repeat each other; 0 means 15
	Answer  int // calls in one answer; 0 means 256
}

// Signature is a call that has ended, as the guard compares it.
type Signature struct {
	Tool   string
	Args   string // canonical JSON
	Result string
	Failed bool // an error, or a command's exit code that is not 0
	Waits  bool // the tool declares that it is there to be asked again
}

// CallLoop is what calls fell into.
type CallLoop struct {
	Kind   string `json:"kind"` // "same", "cycle", "failing", "burst", "flood"; empty: nothing
	Count  int    `json:"count"`
	Period int    `json:"period,omitempty"`
	Sample string `json:"sample,omitempty"` // the call, shortened
}

// Calls watches the calls of one turn (GRD-06). The zero value has the default
// limits.
type Calls struct{ Limits CallLimits }

// Step takes the calls of a step that has ended, in order, and says whether
// they go round in circles. After a loop was found counting begins anew.
func (c *Calls) Step(step []Signature) CallLoop { return CallLoop{} }

// Requested takes a call of an answer that still streams. first is true for the
// answer's first call.
func (c *Calls) Requested(tool, args string, first bool) CallLoop { return CallLoop{} }
