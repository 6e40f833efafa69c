package workflow

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/ripcord-go/ripcord/proc"
)

// treeMark is in the environment of what runs in a guardian's tree.
const treeMark = "RIPCORD_TREE"

// roleName is the engine's name in lists of processes.
const roleName = "ripcord-script"

// Role is what a program's main must hand to [proc.Main], so that its binary
// can be the engine of a script.
func Role() proc.Role { return proc.Role{Name: roleName, Run: runEngine} }

const (
	mostStack   = 64 << 20              // bytes of the engine's own stack
	mostDepth   = 5000                  // of calls within calls
	watchEvery  = 20 * time.Millisecond // of memory
	orphanBound = 10 * time.Second      // for the guardian to end an engine whose runtime is gone
)

// Exit codes of an engine. A crash of it has code 2, the Go runtime's.
const (
	exitReturned = 0
	exitFailed   = 1
	exitOrphan   = 3
)

// port is the engine's side of the connection. Frames are written by the
// goroutine that runs the script and by the one that watches it.
type port struct {
	mu    sync.Mutex
	out   *os.File
	ended bool
}

func (p *port) send(f frame) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return errors.New("the script has ended")
	}
	p.ended = f.Kind == kindEnd
	return writeFrame(p.out, f)
}

// end prints text, which is what the call's result will show, and says how the
// script ended; only the first end counts.
func (p *port) end(h how, text, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if text != "" {
		_, _ = os.Stderr.WriteString(text + "\n")
	}
	_ = writeFrame(p.out, frame{Kind: kindEnd, How: h, Error: why}) // a runtime that is gone shows by its pipe
}

// runEngine is an engine's life: one script. Its main goroutine only watches,
// because the one that runs the script may never come back.
func runEngine() int {
	named()
	signal.Ignore(brokenPipe...) // a runtime that is gone shows by its end of the pipe
	in, out := os.NewFile(0, "runtime"), &port{out: os.NewFile(1, "runtime")}
	first, err := readFrame(in)
	if err != nil || first.Kind != kindRun || first.Limits == nil {
		return exitOrphan
	}
	if err := restrict(*first.Limits); err != nil {
		fmt.Fprintln(os.Stderr, "the limits could not be set:", err)
		return exitFailed
	}
	debug.SetMemoryLimit(first.Limits.Memory)
	debug.SetMaxStack(mostStack)
	s := newScript(out, first)
	over, lost := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(lost)
		for {
			f, err := readFrame(in)
			if err != nil {
				return
			}
			s.take(f)
		}
	}()
	_ = out.send(frame{Kind: kindReady}) // a runtime that is gone shows by its end of the pipe
	go func() { over <- s.run() }()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for {
		select {
		case code := <-over:
			return code
		case <-watch.C:
			if used := memory(); used > first.Limits.Memory+first.Limits.Memory/4 {
				out.end(howMemory, "", "")
				return exitFailed
			}
		case <-lost:
			return orphaned(s)
		}
	}
}

// orphaned ends an engine whose runtime is gone. It leaves the end to its
// guardian, if there is one: an exit of its own would be taken for the call's
// end by whoever reads the exit record.
func orphaned(s *script) int {
	s.interrupt()
	if os.Getenv(treeMark) != "" {
		<-time.After(orphanBound)
	}
	return exitOrphan
}

// memory is what the Go runtime holds and has not given back, in bytes.
func memory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}
