package gate

import (
	"context"

	"github.com/ripcord-go/ripcord/tool"
)

// Gate says whether a call may run. No verdict is no permission: an error, a
// panic or an interrupted wait is a block, whoever asks.
type Gate interface {
	Judge(ctx context.Context, call *tool.Call, spec tool.Spec) (Verdict, error)
}

// Verdict is a gate's answer.
type Verdict struct {
	Decision Decision
	By       string // "rule:read-only", "yes", "policy:headless"
	Why      string
	Prompt   string // when a person must be asked
	Final    bool   // with Block: nobody is there to decide, so the turn ends blocked (IFC-11)
}

// Decision is a closed set; the zero value blocks.
type Decision int

const (
	Block Decision = iota // the call is denied, the turn goes on
	Allow
	Ask // a person decides
)

// Policy is what happens to a call that asks.
type Policy int

const (
	AskPerson Policy = iota // the zero value
	DenyAll                 // nobody can answer: the call is denied and the turn is blocked (IFC-11)
	YesAll                  // dangerous: everything runs
)
