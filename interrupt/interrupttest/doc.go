// Package interrupttest is the suite for whatever a ladder ends: a process
// tree, a goroutine, a child session.
//
//	func TestEnds(t *testing.T) {
//		interrupttest.Run(t, interrupttest.Driver{Start: start})
//	}
//
// The suite never asks the work's own predicates whether it lives. It looks at
// the beat that the driver reports from the world: a file that the processes
// append to, a counter that a goroutine raises. An implementation that counts
// zombies as alive never says gone; one that looks at the leader alone says it
// too early; both turn the suite red.
//
// [Count] wraps a signal and counts its live listeners, for the rule that an
// execution of a thousand calls leaves none behind.
//
// # Concurrency
//
// The suite runs in real time and waits for conditions, each bounded. Its
// goroutines are those of the climbs it starts, and it waits for each of them.
// Do not run it inside a synctest bubble.
//
// # What it never does
//
// It starts no process and knows of none: the driver does.
package interrupttest
