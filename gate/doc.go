// Package gate says whether a call may run, before it runs.
//
// A [Gate] judges a call and its spec: [Allow], [Block] or [Ask]. [Rules] is the
// gate of settings: deny before ask before allow, and [Policy] says what becomes
// of what asks. An answer is for its call only; nothing is remembered.
//
//	call ─▶ a denying rule matches? ──▶ Block (rule:…)
//	          │no
//	          ▼
//	     an asking rule matches? ─────────────────────────┐
//	          │no                                         │
//	          ▼                                           │
//	     asks, or goes where it must ask? ──no──▶ Allow   │
//	          │yes       (protected, out of the workspace)│
//	          ▼                                           │
//	     an allowing rule matches and reaches? ──▶ Allow  │
//	          │no                                         │
//	          ▼                                           ▼
//	     policy: AskPerson ▶ Ask · DenyAll ▶ Block · YesAll ▶ Allow
//
// [Hooks] are what a person set up to run at a [Point]; [WithHooks] puts those
// of a call around a gate. A hook's allow at pre_tool is no approval; at
// permission_request it stands in for a person's.
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
// and keeps no state between calls; [Plans], which plan mode asks, is handed to
// it. Of the file system it only follows the links
// of paths that rules name.
package gate
