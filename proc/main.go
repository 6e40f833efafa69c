package proc

import (
	"os"
	"sync/atomic"
)

// mainCalled is a fact about this process, not about any host of it: whether a
// re-execution of this binary becomes a guardian or runs the embedder's
// program a second time.
var mainCalled atomic.Bool

// Main is the one line that an embedder's main begins with:
//
//	func main() {
//		proc.Main()
//		…
//	}
//
// In a process that was started as a guardian it runs the guardian and never
// returns; in any other it returns at once, and hosts made afterwards use
// guardians. Tests call it in TestMain. Where it was not called nothing is
// ever re-executed and trees are process groups.
func Main() {
	mainCalled.Store(true)
	if code, was := guard(); was {
		os.Exit(code)
	}
}
