// Package mem keeps journals in memory, by the same rules and in the same bytes
// as a store on disk: for tests, simulations and embedders that want nothing
// kept.
//
// What was appended and what was synced are told apart, so that a crash can be
// played: [Store.Crash] drops every writer and what was not synced, or keeps
// it; [Store.Put] sets a journal's bytes, cut or damaged as the test likes.
//
// # Goroutines
//
// None is started here. A store may be used from any goroutine, also inside a
// synctest bubble: it waits on channels and timers alone.
//
// # What it never does
//
// It keeps nothing beyond the process, and touches no file.
package mem
