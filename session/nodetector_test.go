//go:build !race

package session_test

const detected = false
