// Package guardtest is the labelled corpus of the stream loop guard: streams
// that fell into repetition and streams that only look so, generated from fixed
// seeds and read from the Go distribution of the machine.
//
// A generator makes a kind; every kind has [PerKind] streams, so a kind cannot
// win by numbers. Innocent streams are as many as looping ones, of which more
// than a hundred are files. A loop goes on for [Runaway] bytes, which is what a
// model writes before a usual output limit stops it, and less than the
// thresholds that structure has to pass would like.
//
// # Held-out kinds
//
// Thresholds that are chosen while looking at the streams that they are scored
// on prove little. The kinds in [HeldOut] are therefore written after the
// thresholds were frozen, and their first score stays on record here, whatever
// is done afterwards.
//
// They are named before they are written: dialogue, function, interjection,
// emoji, path, derivation. First score: not yet taken.
//
// The package reads files of the Go distribution and nothing else, and starts
// no goroutine.
package guardtest
