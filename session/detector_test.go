//go:build race

package session_test

// detected says that the race detector is on: everything is slower by far.
const detected = true
