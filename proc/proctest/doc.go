// Package proctest holds the tests that every process host must pass, and a
// generator of awkward process trees.
//
// What it asks is the world: each process of a test carries a mark in its
// environment, and who is alive is read from the system's process table by
// that mark, never from the code under test. Bystanders that look like the
// tree but are not of it must live through everything.
//
// A test binary that uses it begins with [Main], because some tests run that
// binary again: as a guardian, or as a runtime to be killed.
//
// It never changes the system: what it starts it ends, by pid.
//
// Goroutines are started only by tests, which wait for them.
package proctest
