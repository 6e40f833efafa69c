package proc

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
)

// mainCalled is a fact about this process, not about any host of it: whether a
// re-execution of this binary becomes a guardian, and what else it can become,
// or runs the embedder's program a second time. nil before [Main].
var mainCalled atomic.Pointer[[]string]

// roleEnv and the role's name as the one argument mark a re-execution.
const roleEnv = "RIPCORD_ROLE"

// Role is something else that this binary can be started as, beside a
// guardian: a part that must be a process of its own, so that it can be killed.
type Role struct {
	Name string     // in lists of processes
	Run  func() int // the process's whole life; its result is the exit code
}

// Main is the one line that an embedder's main begins with:
//
//	func main() {
//		proc.Main()
//		…
//	}
//
// In a process that was started as a guardian it runs the guardian and never
// returns, and likewise for each of roles; in any other it returns at once, and
// hosts made afterwards use guardians. Tests call it in TestMain. Where it was
// not called nothing is ever re-executed and trees are process groups.
func Main(roles ...Role) {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name
	}
	mainCalled.Store(&names)
	if code, was := guard(); was {
		os.Exit(code)
	}
	for _, r := range roles {
		if len(os.Args) == 2 && os.Args[1] == r.Name && os.Getenv(roleEnv) == r.Name {
			os.Exit(r.Run())
		}
	}
}

// Again returns argv and environment with which this binary is started once
// more, in the role of that name. It refuses where [Main] was called without
// that role: the program would run a second time.
func Again(role string) (argv, env []string, err error) {
	known := mainCalled.Load()
	if known == nil || !slices.Contains(*known, role) {
		return nil, nil, fmt.Errorf("this program cannot be re-executed as %s: let its main begin with proc.Main and that role", role)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("the path of this program is not known: %w", err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // the file that runs now, even if another stands at its path meanwhile
	}
	return []string{self, role}, []string{roleEnv + "=" + role}, nil
}
