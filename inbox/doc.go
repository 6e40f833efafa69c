// Package inbox is the queue of a session's waiting input as a fold over its
// journal: there is no store of its own, so that an input is in the inbox or in
// the history and never in neither.
//
//	accepted ──claimed──▶ in the history
//	 │ ▲ ▲  ▲                  │
//	 │ │ │  └────returned──────┘ its turn was hidden
//	 │ │ └─edited
//	 │ └── the one in its place was refused ──┐
//	 ├─────accepted in its place──▶ replaced ──┘
//	 └─────dropped──▶ only its record tells of it
//
// Each arrow is one record, also where it moves several inputs: no cut of the
// journal leaves one of them in two places or in none.
//
// The order is by priority (NOW, NEXT, LATER) and within one priority by
// acceptance.
//
// # What it never does
//
// It starts no turn, waits for nothing and starts no goroutine. A [Box] belongs
// to one goroutine.
package inbox
