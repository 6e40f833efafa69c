// Package guard judges whether a turn is getting anywhere. Its judges are pure
// functions from what was spent or seen to a verdict; they stop nothing: the
// turn does.
//
//	budget.go            is there room for another step
//	stall.go, place.go   a stream that was cut: a stall, whom does it wake, where before
//	loop.go, texture.go  repetition in one channel of a stream, in one pass
//	calls.go             calls that go round, in an answer and over steps
//	argument.go          how long an argument is that was cut anywhere
//	probe.go             another guard's rule, kept to measure with
//
// It does no input or output, reads no clock, waits for nothing and starts no
// goroutine. A [Loop], a [Calls] and a [Places] belong to one goroutine. Package
// forensics runs the same code over what was saved; package guardtest has the
// streams that the thresholds are held to.
package guard
