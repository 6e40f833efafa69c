// Package gate says whether a call may run, before it runs.
//
// A [Gate] judges a call and its spec: [Allow], [Block] or [Ask]. [Rules] is the
// gate of settings: what asks for nothing runs, what matches a rule is decided
// by it, and [Policy] says what becomes of the rest.
//
//	call ─▶ asks? ──no──▶ Allow (rule:read-only, rule:no-approval-needed)
//	          │yes
//	          ▼
//	     a rule matches? ──▶ Allow or Block (rule:…)
//	          │no
//	          ▼
//	     policy: AskPerson ▶ Ask · DenyAll ▶ Block · YesAll ▶ Allow
//
// [Closed] makes any gate fail closed: an error, a panic, a verdict that is
// none, or a wait cut by an interrupt is a block, whatever the gate's own rules
// say about failures. A verdict that had arrived is kept even if the interrupt
// came at the same time.
//
// # Who owns which goroutine
//
// Closed starts one goroutine a judgement and waits for it; after an interrupt
// for 100 ms at most, then the goroutine is left to its gate, its verdict goes
// nowhere, and the call is blocked.
//
// # What it never does
//
// It runs no call, asks no person (the session does, on Ask), records nothing
// and keeps no state between calls.
package gate
