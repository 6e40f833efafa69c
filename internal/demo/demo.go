package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what to show and how.
type Options struct {
	Out   io.Writer // captions and claims
	Only  string    // "esc", "kill9", "cut"; empty shows all
	Check bool      // claims alone, as fast as the machine goes
	Exe   string    // the ripcord program, for the child that is killed
	Env   []string  // its environment, besides what the demo sets
}

// Scenarios lists what Only may name.
func Scenarios() []string { return []string{"esc", "kill9", "cut"} }

// bound is how long any single wait may take.
const bound = time.Minute

// stage is one run of the demo.
type stage struct {
	Options
	dir    string // everything of it is below
	mark   string // carried in the environment of everything that it starts
	failed []string
	held   int
}

// Run shows the scenarios and returns the claims that did not hold. The error
// says that the demo itself could not go on.
func Run(ctx context.Context, o Options) (failed []string, err error) {
	dir, err := os.MkdirTemp("", "ripcord-demo-")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(dir)
	s := &stage{Options: o, dir: dir, mark: "RIPCORD_DEMO_MARK=" + filepath.Base(dir)}
	if alive(s.mark) == nil {
		return nil, fmt.Errorf("demo: it looks at the process table in /proc, and there is none here; on this system read docs/guarantees.md instead")
	}
	if o.Only == "" || o.Only == "esc" {
		s.title("A. Esc, in the middle of a tool that runs a tree of six processes")
		if err := s.esc(ctx); err != nil {
			return s.failed, fmt.Errorf("demo esc: %w", err)
		}
	}
	if o.Only != "esc" {
		s.title("B. kill -9 of the runtime, in the same place, and a restart")
		crash, err := s.crash(ctx)
		if err != nil {
			return s.failed, fmt.Errorf("demo kill9: %w", err)
		}
		kept, err := s.recover(ctx, crash)
		if err != nil {
			return s.failed, fmt.Errorf("demo kill9: %w", err)
		}
		if o.Only == "" || o.Only == "cut" {
			s.title("C. the same crash, \"recovered\" by cutting the turn off (on a copy)")
			if err := s.cut(ctx, crash, kept); err != nil {
				return s.failed, fmt.Errorf("demo cut: %w", err)
			}
		}
	}
	fmt.Fprintf(o.Out, "\n%d claims held, %d did not.\n", s.held, len(s.failed))
	return s.failed, nil
}

func (s *stage) title(text string) { fmt.Fprintf(s.Out, "\n%s\n", text) }

// caption tells a person what happens; a check has no audience.
func (s *stage) caption(format string, args ...any) {
	if !s.Check {
		fmt.Fprintf(s.Out, "  · %s\n", fmt.Sprintf(format, args...))
	}
}

// claim reports one promise. detail says what was seen.
func (s *stage) claim(name string, holds bool, detail string, args ...any) {
	seen := fmt.Sprintf(detail, args...)
	if holds {
		s.held++
		fmt.Fprintf(s.Out, "  PASS  %s (%s)\n", name, seen)
		return
	}
	s.failed = append(s.failed, name)
	fmt.Fprintf(s.Out, "  FAIL  %s: %s\n", name, seen)
}

// until polls cond until it holds or the bound has passed.
func until(ctx context.Context, limit time.Duration, cond func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cond()
		}
	}
}

// tree is the command that the scripted model asks for: six processes that
// live long, one of them deaf to SIGTERM, one in a session of its own, one a
// daemon that nobody is the parent of. It adds one line to the ledger.
func (s *stage) tree() string {
	ledger := filepath.Join(s.dir, "ledger")
	return fmt.Sprintf(`echo ran >> '%s'; sleep 600 & bash -c 'trap "" TERM; while :; do sleep 1; done' & setsid sleep 600 & (setsid sh -c 'sleep 600 & exit 0' &); n=0; while :; do n=$((n+1)); echo "tick $n"; sleep 0.1; done`, ledger)
}

// runs counts how often the tool really ran.
func (s *stage) runs() int {
	b, err := os.ReadFile(filepath.Join(s.dir, "ledger"))
	if err != nil {
		return 0
	}
	return strings.Count(string(b), "ran")
}
