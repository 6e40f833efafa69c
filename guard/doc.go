// Package guard judges whether a turn is getting anywhere. Its judges are pure
// functions from what was spent or seen to a verdict; they stop nothing: the
// turn does.
//
// Here so far: budgets. It does no input or output, waits for nothing and
// starts no goroutine.
package guard
