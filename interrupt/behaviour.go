package interrupt

// Behaviour is what a tool does with a trip (INT-05). The zero value is
// [NonInterruptible], so that a tool written without knowing about any of this
// is correct as it is.
type Behaviour int

const (
	// NonInterruptible work is reached by nothing; the boundary waits for it.
	NonInterruptible Behaviour = iota
	// Cooperative work reads its signal.
	Cooperative
	// ContextInterruptible work reads its signal and has its own context
	// cancelled with an [*InterruptedError] as the cause. On the wire it is
	// called THREAD_INTERRUPT.
	ContextInterruptible
	// ExternallyTerminated work registers terminators that a trip runs.
	ExternallyTerminated
)

// String is the name on the wire and in manifests.
func (b Behaviour) String() string {
	switch b {
	case NonInterruptible:
		return "NON_INTERRUPTIBLE"
	case Cooperative:
		return "COOPERATIVE"
	case ContextInterruptible:
		return "THREAD_INTERRUPT"
	case ExternallyTerminated:
		return "EXTERNALLY_TERMINATED"
	}
	return "NON_INTERRUPTIBLE"
}

// Pooled reports whether work of this kind may run beside others: only kinds
// whose stop mechanism targets no goroutine (INT-08, INT-40).
func (b Behaviour) Pooled() bool { return b == NonInterruptible || b == Cooperative }

// HasRegistrar reports whether the kind is given a [Registrar].
func (b Behaviour) HasRegistrar() bool {
	return b == ContextInterruptible || b == ExternallyTerminated
}

// Behaviourer is the optional declaration of a tool.
type Behaviourer interface{ InterruptBehaviour() Behaviour }

// BehaviourOf returns what v declares, [NonInterruptible] if it declares
// nothing.
func BehaviourOf(v any) Behaviour {
	if b, ok := v.(Behaviourer); ok {
		return b.InterruptBehaviour()
	}
	return NonInterruptible
}
