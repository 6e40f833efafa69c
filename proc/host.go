package proc

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a host; the zero value is a good one.
type Options struct {
	// Scratch is the folder for spools that nobody named. Default: the
	// system's temporary folder.
	Scratch string
	// Cgroup says whether trees get cgroups of their own where that is
	// possible.
	Cgroup CgroupUse
	// Prestart is how many guardians are kept ready. 0 means 1; negative
	// means none.
	Prestart int
	// Group asks for the group lane even where guardians are possible.
	Group bool
	// Log gets what went wrong and was mended. Default: nothing.
	Log *slog.Logger
}

// CgroupUse says whether to use cgroups.
type CgroupUse int

const (
	CgroupAuto CgroupUse = iota // where the system lets us
	CgroupOff                   // never
)

// Info is what a person who asks for a diagnosis is told of a host.
type Info struct {
	Lane   Lane
	Why    string // one sentence: why this lane and no better one; what it cannot do
	Cgroup string // the folder below which trees get cgroups, or which was tried
}

// Describe tells of a host made by [NewHost].
func Describe(h Host) Info {
	if d, ok := h.(interface{ describe() Info }); ok {
		return d.describe()
	}
	return Info{Lane: h.Lane(), Why: "this host was not made by NewHost"}
}

func (o *Options) fill() error {
	if o.Scratch == "" {
		o.Scratch = os.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.Scratch, 0o700); err != nil {
		return fmt.Errorf("folder for temporary spools: %w", err)
	}
	return nil
}

// NewHost returns a host for this process's process trees: with guardians if
// [Main] was called and the system is Linux, else with process groups. The
// caller closes it.
func NewHost(o Options) (Host, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	return newHost(o)
}

// ErrUncertain is matched by the error of a Start that cannot tell whether the
// command ran: its guardian was killed at that moment. What there was of the
// tree is ended.
var ErrUncertain = errors.New("it is not known whether the command ran")

// errClosed is what a closed host says.
var errClosed = errors.New("process host is closed: nothing is started any more")

// program finds what argv[0] names for a command that runs in dir with env:
// in the folders of its own PATH, not of ours.
func program(s Spec) (string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errors.New("no command given")
	}
	name := s.Argv[0]
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Dir, name)
		}
		if err := executable(name); err != nil {
			return "", fmt.Errorf("%s cannot be run: %w", s.Argv[0], err)
		}
		return name, nil
	}
	for _, kv := range s.Env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not in the PATH that the command gets: give its full path", name)
}

func executable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&0o111 == 0:
		return os.ErrPermission
	}
	return nil
}

// check refuses what cannot start, before anything is made.
func check(s *Spec) (path string, err error) {
	if s.Dir == "" {
		return "", errors.New("no working directory given")
	}
	if info, err := os.Stat(s.Dir); err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("working directory %s is not a folder", s.Dir)
	}
	if s.Spool != "" {
		if s.Spool, err = filepath.Abs(s.Spool); err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(s.Spool), 0o700); err != nil {
			return "", fmt.Errorf("folder for the spool: %w", err)
		}
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return "", err
	}
	return program(*s)
}

// withPWD makes PWD say where the command runs.
func withPWD(env []string, dir string) []string {
	out := make([]string, 0, len(env)+2)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PWD=") {
			out = append(out, kv)
		}
	}
	return append(out, "PWD="+dir)
}

// temporarySpool makes a spool file without a lasting name.
func temporarySpool(scratch string) (base string, f *os.File, err error) {
	t, err := os.CreateTemp(scratch, "ripcord-spool-*.out")
	if err != nil {
		return "", nil, err
	}
	return strings.TrimSuffix(t.Name(), ".out"), t, nil
}

// feedPause is how long one Write of a live reader may take before it holds up
// the tree's end no longer, and up to twice that; feedBound is it for a feed
// that merely has not been given the processor, or that has much to hand on to
// a reader who takes it.
const (
	feedPause = 5 * time.Millisecond
	feedBound = 2 * time.Second
)

// writes counts the Writes of a live reader, each twice: odd while one is under
// way.
type writes struct{ n atomic.Int64 }

func (c *writes) write(w io.Writer, b []byte) error {
	c.n.Add(1)
	defer c.n.Add(1)
	_, err := w.Write(b)
	return err
}

// awaitFeed waits for a feed that is not held up by its reader: one that is
// still in the Write that it was in a look ago.
func awaitFeed(fed <-chan struct{}, c *writes) {
	bound := time.NewTimer(feedBound)
	defer bound.Stop()
	look := time.NewTicker(feedPause)
	defer look.Stop()
	for had := int64(0); ; {
		select {
		case <-fed:
			return
		case <-bound.C:
			return
		case <-look.C:
			now := c.n.Load()
			if now == had && now%2 == 1 {
				return
			}
			had = now
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeBound is how long a closing host waits for its trees. It is more than a
// guardian needs for whatever can be ended.
const closeBound = 10 * time.Second

// waitAll waits for a host's goroutines. What cannot be ended (a process in
// uninterruptible sleep, a live writer that never returns) does not hold it for
// ever: then the goroutines end when that does.
func waitAll(wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	limit := time.NewTimer(closeBound)
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case <-limit.C:
		return errors.New("close: a process tree or a reader of its output did not end; see what is alive with ps")
	}
}
