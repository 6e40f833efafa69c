package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/journal/file"
	"github.com/ripcord-go/ripcord/journal/journaltest"
	"go.uber.org/goleak"
)

// The test binary is also the other process of these tests.
const (
	roleVar = "RIPCORD_FILE_TEST_ROLE"
	dirVar  = "RIPCORD_FILE_TEST_DIR"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := other(role, os.Getenv(dirVar)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// other plays a process: it takes the session, says how that went, and holds
// it until its stdin ends or it is killed.
func other(role, dir string) error {
	ctx := context.Background()
	s, err := file.Open(dir, file.Options{})
	if err != nil {
		return err
	}
	w, err := s.Acquire(ctx, id)
	var busy *journal.BusyError
	if errors.As(err, &busy) {
		fmt.Println("busy", busy.Owner.PID)
		return nil
	}
	if err != nil {
		return err
	}
	r := w.Recovered()
	rec, err := event.New(event.UsageCounted{}, time.Now())
	if err != nil {
		return err
	}
	var last event.Seq
	for range 20 {
		if last, err = w.Append(ctx, r.Last, r.Epoch+1, []event.Record{rec}); err != nil {
			return err
		}
		r.Last = last
	}
	if _, err := w.Sync(ctx); err != nil {
		return err
	}
	child := 0
	if role == "parent" {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			return err
		}
		child = cmd.Process.Pid
	}
	fmt.Println("owns", last, child)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return w.Close()
}

// process is one of the other processes.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func start(t *testing.T, role, dir string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVar+"="+role, dirVar+"="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, stdin, bufio.NewReader(stdout)}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// says returns the words of the process's next line.
func (p *process) says(t *testing.T) []string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process said %q: %v", line, err)
	}
	return strings.Fields(line)
}

func newSession(t *testing.T) (string, *file.Store) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, file.Options{})
	w, err := s.Create(t.Context(), id)
	p := newPen(t, w, err)
	p.append(journaltest.Open(t))
	p.sync()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, s
}

// proves LOG-11, B103
func TestASecondProcessIsRefusedAtOnceAndToldWhoHoldsTheSession(t *testing.T) {
	dir, s := newSession(t)
	p := start(t, "hold", dir)
	p.says(t)
	began := time.Now()
	_, err := s.Acquire(t.Context(), id)
	var busy *journal.BusyError
	if !errors.As(err, &busy) {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 30*time.Second { // the holder holds for good
		t.Errorf("the refusal took %v", d)
	}
	want := file.Self()
	if o := busy.Owner; o.PID != p.cmd.Process.Pid || o.Host != want.Host || o.Boot != want.Boot || (want.Start != 0) != (o.Start != 0) {
		t.Errorf("the owner is said to be %+v", o)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].State != journal.StateRunning || list[0].Owner.PID != p.cmd.Process.Pid {
		t.Errorf("the list says %+v, %v", list, err)
	}
	p.stdin.Close() // the holder was not disturbed: it ends in order
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	w, err := s.Acquire(t.Context(), id)
	if q := newPen(t, w, err); q.last != 20 || q.w.Recovered().Torn != nil {
		t.Errorf("recovered %+v", q.w.Recovered())
	}
}

// proves LOG-11, B107
func TestAKilledOwnerBlocksNobody(t *testing.T) {
	dir, s := newSession(t)
	for round := range 3 {
		p := start(t, "hold", dir)
		said := p.says(t)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()
		w, err := s.Acquire(t.Context(), id) // at +0 s
		q := newPen(t, w, err)
		if want, _ := strconv.Atoi(said[1]); int(q.last) != want {
			t.Errorf("round %d: %d records are left of %d acknowledged", round, q.last, want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// proves B107: the name in the lock file binds nobody, whoever has the pid now.
func TestALockFileThatNamesALivingStrangerBlocksNobody(t *testing.T) {
	dir, s := newSession(t)
	self := file.Self()
	for _, text := range []string{
		fmt.Sprintf(`{"pid":1,"start":1,"boot":%q,"host":%q}`, self.Boot, self.Host),
		fmt.Sprintf(`{"pid":%d,"start":%d,"boot":%q,"host":%q}`, self.PID, self.Start, self.Boot, self.Host),
		"garbage",
	} {
		if err := os.WriteFile(path(dir, "lock"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := s.Acquire(t.Context(), id)
		newPen(t, w, err)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// proves LOG-11: no child inherits the lock or the journal.
func TestAChildThatOutlivesTheOwnerHoldsNothing(t *testing.T) {
	dir, s := newSession(t)
	p := start(t, "parent", dir)
	child, err := strconv.Atoi(p.says(t)[2])
	if err != nil {
		t.Fatal(err)
	}
	sleeper, err := os.FindProcess(child)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Kill() }()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", child))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, _ := os.Readlink(fd); strings.HasPrefix(name, dir) {
			t.Errorf("the child has %s open", name)
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	w, err := s.Acquire(t.Context(), id)
	newPen(t, w, err)
}

// proves LOG-11, B104
func TestOfManyProcessesThatStartAtOnceOneOwnsTheSession(t *testing.T) {
	dir, s := newSession(t)
	var all []*process
	for range 5 {
		all = append(all, start(t, "hold", dir))
	}
	owners := 0
	for _, p := range all {
		if said := p.says(t); said[0] == "owns" {
			owners++
			defer p.stdin.Close()
		} else if said[0] != "busy" {
			t.Errorf("a process says %v", said)
		}
	}
	if owners != 1 {
		t.Errorf("%d processes own the session", owners)
	}
	for i, r := range readAll(t, s) {
		if r.Seq != event.Seq(i) {
			t.Fatalf("record %d stands where %d belongs", r.Seq, i)
		}
	}
}

// proves LOG-10: whoever the writer is.
func TestFollowSeesAnotherProcess(t *testing.T) {
	dir, s := newSession(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := event.Seq(0)
	for r, err := range s.Follow(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq != next {
			t.Fatalf("record %d where %d comes next", r.Seq, next)
		}
		if next++; next == 1 {
			start(t, "hold", dir)
		}
		if next == 21 {
			return
		}
	}
	t.Errorf("follow ended before record %d", next)
}
