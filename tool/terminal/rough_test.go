//go:build linux

package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// proves TOL-22, PRC-02, PRC-03, PRC-06: no way of a program to treat its
// terminal makes it hang a call or survive its end.
func TestRoughProgramsNeitherHangNorSurvive(t *testing.T) {
	programs := map[string]string{
		"raw mode":            `stty raw -echo; echo up; cat >/dev/null`,
		"hang-up ignored":     `trap '' HUP INT TERM QUIT; echo up; while :; do sleep 300; done`,
		"nohup":               `echo up; nohup sleep 300 >/dev/null 2>&1 & echo up; wait`,
		"another session":     `echo up; setsid sh -c 'trap "" HUP; sleep 300' & sleep 300`,
		"leads a new session": `echo up; exec setsid -w sh -c 'trap "" HUP; sleep 300'`,
		"terminal closed":     `echo up; exec </dev/null >/dev/null 2>&1; trap '' HUP; while :; do sleep 300; done`,
		"stopped":             `echo up; kill -STOP $$; sleep 300`,
		"flood":               `echo up; yes`,
		"binary":              `echo up; cat /dev/urandom`,
		"output stopped":      `stty -icanon; echo up; printf '\023'; stty -echo; yes`,
		"does not read":       `stty raw -echo; echo up; sleep 300`,
	}
	if python, err := exec.LookPath("python3"); err == nil {
		programs["an interpreter"] = `echo up; exec ` + python + ` -q`
	}
	lanes(t, func(t *testing.T, h proc.Host) {
		for name, command := range programs {
			for _, tty := range []bool{true, false} {
				if !tty {
					command = strings.ReplaceAll(command, "stty", ": stty")
				}
				t.Run(fmt.Sprintf("%s, tty %v", name, tty), func(t *testing.T) {
					b := newBench(t, terminal.Options{Host: h, Grace: -1})
					b.open("j_1", command, m{"tty": tty, "quiet_ms": 1, "max_bytes": 256})
					gone := b.tree(0, 1)
					b.ok("terminal_write", m{"id": "j_1", "input": strings.Repeat("x", 1000) + "\x13", "wait_ms": 1})
					e := b.do("terminal_poll", m{"id": "j_1", "wait_ms": 50})
					if text := e.Result.Content.Text(); e.Outcome != event.CallFinished || !utf8.ValidString(text) || len(text) > 33<<10 {
						t.Errorf("%s, %d bytes", e.Outcome, len(text))
					}
					if text := b.ok("terminal_kill", m{"id": "j_1"}); !strings.Contains(text, "terminal j_1 was closed") || strings.Contains(text, "could not be ended") {
						t.Errorf("%q", text)
					}
					gone()
				})
			}
		}
	})
}

// proves B168, TOL-22: a flood is bounded on disk and in a result, the cursor
// goes over all of it, and what is left out is counted.
func TestAFloodIsBoundedAndCounted(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	b.open("j_1", `stty -opost; echo up; head -c 40000000 /dev/zero | tr '\0' x; echo end; read x`, m{"quiet_ms": 1, "max_bytes": 256})
	job := b.jobs.All()[0]
	eventually(t, "all was printed", func() bool { _, n := job.Process.Output(256); return n >= 40000007 })
	e := b.do("terminal_poll", m{"id": "j_1", "wait_ms": 0, "max_bytes": 1000})
	o, text := e.Result.Output, e.Result.Content.Text()
	if o == nil || o.Dropped == 0 || !o.Truncated || !strings.Contains(text, " bytes omitted …") || !strings.Contains(text, fmt.Sprintf("of which %d were not kept", o.Dropped)) || !strings.HasSuffix(text, "xend\n") || len(text) > 1200 {
		t.Errorf("%+v %q", o, text)
	}
	if info, err := os.Stat(job.Spool + ".out"); err != nil || info.Size() > 9<<20 {
		t.Errorf("the spool: %v %v", info.Size(), err)
	}
	if text := b.ok("terminal_poll", m{"id": "j_1", "wait_ms": 0}); !strings.Contains(text, "no new output") {
		t.Errorf("%q", text)
	}
}

// proves TOL-22: output comes once, in order, whoever asks, also when a
// character is cut.
func TestEachByteIsGivenOnce(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	if err := exec.Command("mkfifo", filepath.Join(b.dir, "go")).Run(); err != nil {
		t.Skip(err)
	}
	first := b.open("j_1", `echo up; printf 'a\303'; read x <go; printf '\274b'; i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "<$i>"; done; echo end; exec cat`, m{"tty": false})
	job := b.jobs.All()[0]
	eventually(t, "half a character was printed", func() bool { _, n := job.Process.Output(256); return n == 5 })
	if first == "up\n" {
		first = b.until("j_1", "a", first)
	}
	if first != "up\na" {
		t.Errorf("first %q was given", first)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	rest := b.until("j_1", "end")
	var want strings.Builder
	want.WriteString("üb")
	for i := range 300 {
		fmt.Fprintf(&want, "<%d>\n", i+1)
	}
	if rest != want.String()+"end\n" {
		t.Errorf("%q", rest)
	}
}

// proves TOL-22: a program that was quiet for a while ends the wait, one that
// says nothing at all does not.
func TestAQuietProgramEndsTheWait(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	b.open("j_1", "echo up; exec cat", m{"wait_ms": 600000}) // a wait for the budget would outlast the test
	if text := b.ok("terminal_poll", m{"id": "j_1", "wait_ms": 30, "quiet_ms": 1}); !strings.Contains(text, "no new output") {
		t.Errorf("%q", text)
	}
	if text := b.ok("terminal_write", m{"id": "j_1", "input": "hello\n", "wait_ms": 600000, "quiet_ms": 1}); !strings.Contains(text, "hello") {
		t.Errorf("%q", text)
	}
}

// proves TOL-22, TOL-03: the number of terminals is bounded, and the refusal
// says what to do.
func TestTheNumberOfTerminalsIsBounded(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{}), Most: 3})
	for i := range 3 {
		b.open(fmt.Sprintf("j_%d", i+1), "echo up; exec cat", nil)
	}
	b.refused("terminal_start", m{"command": "echo x"}, "3 terminals run in this session, which is the most; end one with terminal_kill first (j_1, j_2, j_3)")
	b.session = "s_2"
	b.ok("terminal_start", m{"command": "echo x"}) // another session has its own
	b.refused("terminal_poll", m{"id": "j_1"}, `there is no terminal "j_1"`)
	b.session = "s_1"
	b.ok("terminal_kill", m{"id": "j_2"})
	b.open("j_4", "echo up; exec cat", nil)
	// One that ended by itself takes no place, though its end was not told.
	first := b.jobs.All()[0].Process
	for _, pid := range first.PIDs() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-first.Gone()
	b.open("j_5", "echo up; exec cat", nil)
	if text := b.ok("terminal_list", m{}); !strings.Contains(text, "j_1: ended, ended by signal SIGKILL") || !strings.Contains(text, "j_5: running") {
		t.Errorf("%q", text)
	}
}

// proves PRC-05, TOL-22: what a command leaves behind is not waited for and is a
// terminal of its own right.
func TestWhatACommandLeavesBehindIsAJob(t *testing.T) {
	lanes(t, func(t *testing.T, h proc.Host) {
		b := newBench(t, terminal.Options{Host: h})
		text := b.ok("terminal_start", m{"command": `trap '' HUP; (setsid sh -c 'trap "" HUP; sleep 300' &) ; echo done; exit 4`, "wait_ms": 600000, "quiet_ms": 0})
		if !strings.HasPrefix(text, "exit code 4\n") || !strings.Contains(text, "left running: pids ") || !strings.Contains(text, "as terminal j_1\n") || !strings.Contains(text, "done\n") {
			t.Errorf("%q", text)
		}
		if code, sig := b.jobs.All()[0].Process.Exit(); code != nil || sig != "" {
			t.Error("the job has its command's end")
		}
		b.refused("terminal_write", m{"id": "j_1", "input": "x"}, "nothing was written")
		gone := b.tree(0, 1)
		b.ok("terminal_kill", m{"id": "j_1"})
		gone()
	})
}

// proves TOL-22, PRC-01: a start that nobody records does not run, and a job that
// nobody owns is ended.
func TestWhatCannotBeRecordedDoesNotRun(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{}), Grace: -1})
	b.jobs.Err = errors.New("no place")
	text := b.ok("terminal_start", m{"command": "echo $$; exec cat", "quiet_ms": 1})
	if !strings.Contains(text, "it can't go on and was ended: no place") {
		t.Errorf("%q", text)
	}
	if got := b.kinds(); fmt.Sprint(got) != "[ProcessStarted ended stopped]" {
		t.Errorf("recorded %v", got)
	}
	b.recorder.Err = errors.New("disk full")
	e := b.do("terminal_start", m{"command": "exec cat"})
	if e.Outcome != event.CallFatal || !strings.Contains(e.Err, "it was ended: disk full") {
		t.Errorf("%s %q", e.Outcome, e.Err)
	}
	var pid int
	if _, err := fmt.Sscanf(e.Err[strings.Index(e.Err, "process "):], "process %d", &pid); err != nil || alive(pid) {
		t.Errorf("process %d is alive (%v)", pid, err)
	}
	if n := len(b.jobs.All()); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

// proves TOL-03, TOL-22: what cannot be started is answered with a sentence.
func TestWhatCannotStartIsAReply(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	out := t.TempDir()
	if err := os.Symlink(out, filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for part, args := range map[string]m{
		"the command is empty":     {"command": " "},
		"is outside the workspace": {"command": "pwd", "cwd": ".."},
		"cwd link is outside":      {"command": "pwd", "cwd": "link"},
		"no such file":             {"command": "pwd", "cwd": "none"},
		"did not start":            {"command": "pwd", "cwd": "file"},
	} {
		if part == "did not start" {
			if err := os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.refused("terminal_start", args, part)
	}
	if text := b.ok("terminal_start", m{"command": "pwd -P; [ -t 1 ] && echo tty", "cwd": "sub"}); !strings.HasSuffix(text, "/sub\ntty\n") {
		t.Errorf("%q", text)
	}
	group := newBench(t, terminal.Options{Host: host(t, proc.Options{Group: true})})
	group.refused("terminal_start", m{"command": "pwd", "keep": true}, "nothing can be kept here")
	group.refused("terminal_write", m{"id": "j_1", "rows": 5}, "rows and cols are given together")
}

// proves TOL-22: kept is kept at the guardian before it is recorded so, and the
// owner's close leaves it alone.
func TestCloseEndsWhatIsNotKept(t *testing.T) {
	h := host(t, proc.Options{})
	b := newBench(t, terminal.Options{Host: h, Grace: -1})
	b.open("j_1", "echo up; exec cat", nil)
	b.open("j_2", "echo up; exec cat", m{"keep": true})
	jobs := b.jobs.All()
	if jobs[0].Keep || !jobs[1].Keep {
		t.Errorf("%v %v", jobs[0].Keep, jobs[1].Keep)
	}
	// A session that is closed and opened again adopts what runs here.
	started := b.recorder.Payloads()[1].(event.ProcessStarted)
	tree, err := h.Adopt(t.Context(), started, jobs[1].Spool)
	if err != nil {
		t.Fatal(err)
	}
	if !tree.Started().Keep {
		t.Error("its guardian does not keep it")
	}
	b.terms.Readopt("s_1", "j_2", tree)
	if text := b.ok("terminal_poll", m{"id": "j_2", "wait_ms": 0}); !strings.Contains(text, "terminal j_2 runs\nno new output") {
		t.Errorf("%q", text)
	}
	if err := b.terms.Close(); err != nil {
		t.Error(err)
	}
	<-jobs[0].Process.Gone()
	if len(jobs[1].Process.PIDs()) == 0 {
		t.Error("a kept terminal was ended")
	}
	b.refused("terminal_start", m{"command": "echo x"}, "the runtime ends")
}

// proves TOL-22: sessions and calls beside each other do not mix.
func TestManyAtOnce(t *testing.T) {
	h := host(t, proc.Options{})
	terms := terminal.New(terminal.Options{Host: h})
	defer func() {
		if err := terms.Close(); err != nil {
			t.Error(err)
		}
	}()
	start := terms.Tools()[0]
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			call := &tool.Call{ID: event.CallID(fmt.Sprintf("c_%d", i)), Session: event.SessionID(fmt.Sprintf("s_%d", i%3)), Turn: 1, Dir: t.TempDir(),
				Args: []byte(fmt.Sprintf(`{"command":"echo %d-%d","wait_ms":600000,"quiet_ms":0}`, i, i))}
			res, err := start.Execute(context.Background(), call)
			if err != nil || !strings.HasSuffix(res.Content.Text(), fmt.Sprintf("output:\n%d-%d\n", i, i)) {
				t.Errorf("%v %q", err, res.Content.Text())
			}
		})
	}
	wg.Wait()
}

// slow is a host whose starts return when the command has ended already.
type slow struct{ proc.Host }

func (s slow) Start(ctx context.Context, spec proc.Spec) (proc.Tree, error) {
	tree, err := s.Host.Start(ctx, spec)
	if err == nil {
		<-tree.Exited()
	}
	return tree, err
}

// proves TOL-22, PRC-01: a command that ended before anybody waited for it is
// not waited for through what it left behind.
func TestACommandThatEndsBeforeItsWaitIsNotWaitedFor(t *testing.T) {
	b := newBench(t, terminal.Options{Host: slow{host(t, proc.Options{})}})
	text := b.ok("terminal_start", m{"command": `trap '' HUP; (setsid sh -c 'trap "" HUP; sleep 60' &) ; exit 4`, "wait_ms": 600000, "quiet_ms": 0})
	if !strings.HasPrefix(text, "exit code 4\n") || !strings.Contains(text, "left running: pids ") {
		t.Errorf("%q", text)
	}
}
