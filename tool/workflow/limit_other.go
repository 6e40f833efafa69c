//go:build !linux

package workflow

import (
	"os"
	"syscall"
)

// restrict has no kernel to ask here: the engine's own watch is the bound.
func restrict(limits) error { return nil }

func named() {}

// brokenPipe is the signal that a write to nobody raises.
var brokenPipe = []os.Signal{syscall.SIGPIPE}
