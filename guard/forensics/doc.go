// Package forensics runs the guards over what a session left behind: a journal
// of ours, a transcript of another tool, or the text of one cut artifact. It
// says for each abort what every guard measured against its threshold, so that
// numbers settle whether one was guilty (GRD-08).
//
//	bytes ─▶ detect ─┬─ ripcord ─┐
//	                 ├─ codex ───┤ lines ─▶ thread ─▶ judge ─▶ Report ─▶ text, JSON, script
//	                 ├─ pi ──────┤                      │
//	                 ├─ claude ──┘                      └ guard.Evaluate, Decide, Loop, Probe, Calls, Places
//	                 └─ text ─────▶ artifact ────────────▶
//
// It judges with the functions of package guard and has no rule of its own. It
// reads once, from front to back, holds one line or one message at a time (64
// MiB at most) and a bounded number of findings, writes nothing but to the
// writers that it is given, and starts no goroutine.
//
// What a transcript does not hold is said to be unknown: the silence where
// there are no times, the tokens of a message that was cut, a stream whose
// beginning was not kept. Of a foreign transcript only the moment of a
// message's start or of the record before it is known, so that its silence is
// an upper bound, and is called one.
package forensics
