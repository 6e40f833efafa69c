package main

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// pad fills s with spaces to n bytes: behind it, or before it if n is
// negative.
func pad(s string, n int) string {
	left := n < 0
	if left {
		n = -n
	}
	if len(s) >= n {
		return s
	}
	fill := strings.Repeat(" ", n-len(s))
	if left {
		return fill + s
	}
	return s + fill
}
