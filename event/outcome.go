package event

// TurnOutcome says how a turn ended (IFC-02).
type TurnOutcome string

const (
	TurnCompleted   TurnOutcome = "completed"
	TurnAborted     TurnOutcome = "aborted"     // ended in order because somebody asked
	TurnInterrupted TurnOutcome = "interrupted" // closed by recovery after a crash, by nothing else
	TurnFailed      TurnOutcome = "failed"
	TurnBlocked     TurnOutcome = "blocked"
	TurnTruncated   TurnOutcome = "truncated"
	TurnBudget      TurnOutcome = "budget"
	TurnStalled     TurnOutcome = "stalled"
	TurnLooped      TurnOutcome = "looped"
)

// KeepsRetryPoint reports whether a turn that ended so can be retried as if it
// had never been (the table of TRN-05).
func (o TurnOutcome) KeepsRetryPoint() bool {
	switch o {
	case TurnAborted, TurnInterrupted, TurnFailed, TurnBudget, TurnStalled:
		return true
	case TurnCompleted, TurnBlocked, TurnTruncated, TurnLooped:
		return false
	}
	return false
}

// CallOutcome says how a call ended (IFC-02).
type CallOutcome string

const (
	CallFinished     CallOutcome = "finished"
	CallFinishedLate CallOutcome = "finished_late"
	CallStopped      CallOutcome = "stopped"
	CallSkipped      CallOutcome = "skipped"
	CallWasDenied    CallOutcome = "denied"
	CallInvalid      CallOutcome = "invalid"
	CallUnknown      CallOutcome = "unknown"
	CallQuarantined  CallOutcome = "quarantined"
	CallFatal        CallOutcome = "fatal"
)

// Priority is where an input waits (TRN-13).
type Priority string

const (
	PriorityNow   Priority = "now"
	PriorityNext  Priority = "next"
	PriorityLater Priority = "later"
)

// TurnKind is what a turn processes.
type TurnKind string

const (
	TurnInput    TurnKind = "input"
	TurnContinue TurnKind = "continue" // no new input
	TurnWake     TurnKind = "wake"     // on a guard's notice
	TurnCompact  TurnKind = "compact"  // asks for nothing but a summary
)

// Decision is a person's or a rule's answer to "may this call run?".
type Decision string

const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
	Abort Decision = "abort" // deny, and interrupt the turn
)

// JobState is a background process's state (IFC-12).
type JobState string

const (
	JobRunning JobState = "running"
	JobExited  JobState = "exited"
	JobKilled  JobState = "killed"
	JobLost    JobState = "lost"
)
