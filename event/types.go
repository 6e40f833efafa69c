package event

import "encoding/json"

// Type names a payload, as in "turn/start".
type Type string

// Scope says where in a journal a type may stand; the ordering rules (LOG-04)
// read it.
type Scope int

const (
	ScopeSession Scope = iota // anywhere: opens no work of a turn
	ScopeTurn                 // within an open turn
	ScopeStep                 // within an open step
)

func (s Scope) String() string {
	switch s {
	case ScopeSession:
		return "session"
	case ScopeTurn:
		return "turn"
	case ScopeStep:
		return "step"
	}
	return "scope?"
}

const (
	TypeSessionOpened     Type = "session/open"
	TypeSessionForked     Type = "session/fork"
	TypeLeaseTaken        Type = "lease/epoch"
	TypeInboxAccepted     Type = "inbox/accepted"
	TypeInboxClaimed      Type = "inbox/claimed"
	TypeInboxEdited       Type = "inbox/edited"
	TypeInboxDropped      Type = "inbox/dropped"
	TypeTurnStarted       Type = "turn/start"
	TypeTurnEnded         Type = "turn/end"
	TypeStepStarted       Type = "step/start"
	TypeStepEnded         Type = "step/end"
	TypeUserMessage       Type = "message/user"
	TypeModelConfig       Type = "model/config"
	TypeModelRequest      Type = "model/request"
	TypeAttemptFailed     Type = "model/failed"
	TypeChunk             Type = "chunk"
	TypeAssistantMessage  Type = "message/assistant"
	TypeUsageCounted      Type = "usage"
	TypeCallRequested     Type = "call/requested"
	TypeCallApproved      Type = "call/approved"
	TypeCallDenied        Type = "call/denied"
	TypeCallStarted       Type = "call/started"
	TypeCallOutput        Type = "call/output"
	TypeCallEnded         Type = "call/ended"
	TypeLateResult        Type = "call/late"
	TypeInnerStarted      Type = "inner/started"
	TypeInnerEnded        Type = "inner/ended"
	TypeApprovalAsked     Type = "approval/asked"
	TypeApprovalDecided   Type = "approval/decided"
	TypeApprovalVoided    Type = "approval/void"
	TypeHookInvoked       Type = "hook/invoked"
	TypeHookVerdict       Type = "hook/verdict"
	TypeProcessStarted    Type = "process/started"
	TypeProcessEnded      Type = "process/ended"
	TypeProcessSurvived   Type = "process/survived"
	TypeTurnMarked        Type = "marker/aborted"
	TypeRewound           Type = "rewind"
	TypeCompactionStarted Type = "compaction/start"
	TypeCompactionSummary Type = "compaction/summary"
	TypeCompactionEnded   Type = "compaction/end"
	TypeGuardVerdict      Type = "guard/verdict"
	TypeGuardWake         Type = "guard/wake"
	TypeJobStarted        Type = "job/started"
	TypeJobEnded          Type = "job/ended"
	TypeJobAdopted        Type = "job/adopted"
	TypeJobKept           Type = "job/keep"
	TypeSubAgentLinked    Type = "subagent/link"
	TypeRepairBegun       Type = "repair/begin"
	TypeRepairCommitted   Type = "repair/commit"
	TypeTornSaved         Type = "repair/torn"
)

func (SessionOpened) Type() Type     { return TypeSessionOpened }
func (SessionForked) Type() Type     { return TypeSessionForked }
func (LeaseTaken) Type() Type        { return TypeLeaseTaken }
func (InboxAccepted) Type() Type     { return TypeInboxAccepted }
func (InboxClaimed) Type() Type      { return TypeInboxClaimed }
func (InboxEdited) Type() Type       { return TypeInboxEdited }
func (InboxDropped) Type() Type      { return TypeInboxDropped }
func (TurnStarted) Type() Type       { return TypeTurnStarted }
func (TurnEnded) Type() Type         { return TypeTurnEnded }
func (StepStarted) Type() Type       { return TypeStepStarted }
func (StepEnded) Type() Type         { return TypeStepEnded }
func (UserMessage) Type() Type       { return TypeUserMessage }
func (ModelConfig) Type() Type       { return TypeModelConfig }
func (ModelRequest) Type() Type      { return TypeModelRequest }
func (AttemptFailed) Type() Type     { return TypeAttemptFailed }
func (Chunk) Type() Type             { return TypeChunk }
func (AssistantMessage) Type() Type  { return TypeAssistantMessage }
func (UsageCounted) Type() Type      { return TypeUsageCounted }
func (CallRequested) Type() Type     { return TypeCallRequested }
func (CallApproved) Type() Type      { return TypeCallApproved }
func (CallDenied) Type() Type        { return TypeCallDenied }
func (CallStarted) Type() Type       { return TypeCallStarted }
func (CallOutput) Type() Type        { return TypeCallOutput }
func (CallEnded) Type() Type         { return TypeCallEnded }
func (LateResult) Type() Type        { return TypeLateResult }
func (InnerStarted) Type() Type      { return TypeInnerStarted }
func (InnerEnded) Type() Type        { return TypeInnerEnded }
func (ApprovalAsked) Type() Type     { return TypeApprovalAsked }
func (ApprovalDecided) Type() Type   { return TypeApprovalDecided }
func (ApprovalVoided) Type() Type    { return TypeApprovalVoided }
func (HookInvoked) Type() Type       { return TypeHookInvoked }
func (HookVerdict) Type() Type       { return TypeHookVerdict }
func (ProcessStarted) Type() Type    { return TypeProcessStarted }
func (ProcessEnded) Type() Type      { return TypeProcessEnded }
func (ProcessSurvived) Type() Type   { return TypeProcessSurvived }
func (TurnMarked) Type() Type        { return TypeTurnMarked }
func (Rewound) Type() Type           { return TypeRewound }
func (CompactionStarted) Type() Type { return TypeCompactionStarted }
func (CompactionSummary) Type() Type { return TypeCompactionSummary }
func (CompactionEnded) Type() Type   { return TypeCompactionEnded }
func (GuardVerdict) Type() Type      { return TypeGuardVerdict }
func (GuardWake) Type() Type         { return TypeGuardWake }
func (JobStarted) Type() Type        { return TypeJobStarted }
func (JobEnded) Type() Type          { return TypeJobEnded }
func (JobAdopted) Type() Type        { return TypeJobAdopted }
func (JobKept) Type() Type           { return TypeJobKept }
func (SubAgentLinked) Type() Type    { return TypeSubAgentLinked }
func (RepairBegun) Type() Type       { return TypeRepairBegun }
func (RepairCommitted) Type() Type   { return TypeRepairCommitted }
func (TornSaved) Type() Type         { return TypeTornSaved }
func (u Unknown) Type() Type         { return u.Name }

// A Kind is one row of the table of types.
type Kind struct {
	Type   Type
	Scope  Scope
	decode func(json.RawMessage) (Payload, error)
}

func kind[P Payload](scope Scope) Kind {
	var zero P
	return Kind{zero.Type(), scope, func(b json.RawMessage) (Payload, error) {
		var p P
		err := json.Unmarshal(b, &p)
		return p, err
	}}
}

// kinds is the one table of what a journal may hold and where.
var kinds = []Kind{
	kind[SessionOpened](ScopeSession),
	kind[SessionForked](ScopeSession),
	kind[LeaseTaken](ScopeSession),
	kind[InboxAccepted](ScopeSession),
	kind[InboxClaimed](ScopeStep),
	kind[InboxEdited](ScopeSession),
	kind[InboxDropped](ScopeSession),
	kind[TurnStarted](ScopeTurn),
	kind[TurnEnded](ScopeTurn),
	kind[StepStarted](ScopeStep),
	kind[StepEnded](ScopeStep),
	kind[UserMessage](ScopeStep),
	kind[ModelConfig](ScopeStep),
	kind[ModelRequest](ScopeStep),
	kind[AttemptFailed](ScopeStep),
	kind[Chunk](ScopeStep),
	kind[AssistantMessage](ScopeStep),
	kind[UsageCounted](ScopeSession),
	kind[CallRequested](ScopeStep),
	kind[CallApproved](ScopeStep),
	kind[CallDenied](ScopeStep),
	kind[CallStarted](ScopeStep),
	kind[CallOutput](ScopeStep),
	kind[CallEnded](ScopeStep),
	kind[LateResult](ScopeSession),
	kind[InnerStarted](ScopeStep),
	kind[InnerEnded](ScopeStep),
	kind[ApprovalAsked](ScopeStep),
	kind[ApprovalDecided](ScopeStep),
	kind[ApprovalVoided](ScopeSession),
	kind[HookInvoked](ScopeSession),
	kind[HookVerdict](ScopeSession),
	kind[ProcessStarted](ScopeSession),
	kind[ProcessEnded](ScopeSession),
	kind[ProcessSurvived](ScopeSession),
	kind[TurnMarked](ScopeTurn),
	kind[Rewound](ScopeSession),
	kind[CompactionStarted](ScopeSession),
	kind[CompactionSummary](ScopeSession),
	kind[CompactionEnded](ScopeSession),
	kind[GuardVerdict](ScopeSession),
	kind[GuardWake](ScopeSession),
	kind[JobStarted](ScopeSession),
	kind[JobEnded](ScopeSession),
	kind[JobAdopted](ScopeSession),
	kind[JobKept](ScopeSession),
	kind[SubAgentLinked](ScopeSession),
	kind[RepairBegun](ScopeSession),
	kind[RepairCommitted](ScopeSession),
	kind[TornSaved](ScopeSession),
}

var byType = func() map[Type]Kind {
	m := make(map[Type]Kind, len(kinds))
	for _, k := range kinds {
		m[k.Type] = k
	}
	return m
}()

// Types returns the closed set of types with their scopes.
func Types() []Kind { return append([]Kind(nil), kinds...) }

// KindOf returns the row of t; ok is false for a type this build does not know.
func KindOf(t Type) (k Kind, ok bool) {
	k, ok = byType[t]
	return k, ok
}
