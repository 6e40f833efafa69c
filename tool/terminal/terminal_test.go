//go:build linux

package terminal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
	"github.com/ripcord-go/ripcord/tool/tooltest"
)

// proves TOL-22, INT-07, TOL-01
func TestTheTerminalToolsDeclareWhatTheyAre(t *testing.T) {
	want := map[string]struct {
		b      interrupt.Behaviour
		effect tool.Effect
		asks   bool
	}{
		"terminal_start": {interrupt.ExternallyTerminated, tool.Unsafe, true},
		"terminal_write": {interrupt.ExternallyTerminated, tool.Unsafe, true},
		"terminal_poll":  {interrupt.ExternallyTerminated, tool.Pure, false},
		"terminal_kill":  {interrupt.Cooperative, tool.Unsafe, false},
		"terminal_list":  {interrupt.NonInterruptible, tool.Pure, false},
	}
	tools := terminal.New(terminal.Options{Host: host(t, proc.Options{})}).Tools()
	if len(tools) != len(want) {
		t.Errorf("%d tools", len(tools))
	}
	for _, tl := range tools {
		s := tl.Spec()
		w := want[s.Name]
		prompt, asks := s.Asking(&tool.Call{Args: []byte(`{"id":"j1","command":"rm -r x\u001b[2J","input":"rm -r x\u001b[2J","keep":true}`)})
		if interrupt.BehaviourOf(tl) != w.b || s.Effect != w.effect || asks != w.asks {
			t.Errorf("%s declares %v, %v, asks %v", s.Name, interrupt.BehaviourOf(tl), s.Effect, asks)
		}
		if asks && (!strings.Contains(prompt, `rm -r x\x1b[2J`) || strings.ContainsRune(prompt, '\x1b')) {
			t.Errorf("%s asks %q", s.Name, prompt)
		}
	}
}

// proves TOL-22, PRC-02, INT-02, TOL-03: each tool keeps its word on real
// processes.
func TestTheTerminalToolsKeepTheirWord(t *testing.T) {
	lanes(t, func(t *testing.T, h proc.Host) {
		// with has a tool of terminals in which j_1 runs, opened by the suite's turn.
		with := func(name, command string) func(t *testing.T) (tool.Tool, string) {
			return func(t *testing.T) (tool.Tool, string) {
				b := newBench(t, terminal.Options{Host: h})
				b.session = "s_test"
				if command != "" {
					b.open("j_1", command, nil)
				}
				return b.tools[name], b.dir
			}
		}
		long := `{"id":"j_1","wait_ms":600000,"quiet_ms":0}`
		for name, d := range map[string]tooltest.Driver{
			"terminal_start": {New: with("terminal_start", ""),
				Args: func(string, int) string { return `{"command":"echo hello >made; cat made; printf '\\377'; exit 3"}` },
				Long: func(string) string {
					return `{"command":"trap '' HUP TERM; (setsid sleep 300 &) ; echo going; sleep 300","wait_ms":600000,"quiet_ms":0}`
				},
				Underway: "going",
				Check: func(t *testing.T, _ string, e tool.Ended) {
					if text := e.Result.Content.Text(); e.Result.ExitCode == nil || *e.Result.ExitCode != 3 || !strings.Contains(text, "exit code 3") || !strings.Contains(text, "hello\n\uFFFD") {
						t.Errorf("%q", text)
					}
				}},
			"terminal_write": {New: with("terminal_write", "echo up; exec cat"), Long: func(string) string { return long },
				Args: func(string, int) string { return `{"id":"j_1","input":"hello\n","quiet_ms":20}` }},
			"terminal_poll": {New: with("terminal_poll", "echo up; exec cat"), Long: func(string) string { return long },
				Args: func(string, int) string { return `{"id":"j_1","wait_ms":10}` }},
			"terminal_kill": {New: with("terminal_kill", "echo up; exec cat"), Args: func(string, int) string { return `{"id":"j_1"}` }},
			"terminal_list": {New: with("terminal_list", "echo up; exec cat"), Args: func(string, int) string { return `{}` }},
		} {
			t.Run(name, func(t *testing.T) { d.Bound = patience; tooltest.Run(t, d) })
		}
	})
}

// proves TOL-22, PRC-01: what goes on is a job, is talked to, resized, and ends.
func TestATerminalIsTalkedToAndIsAJob(t *testing.T) {
	lanes(t, func(t *testing.T, h proc.Host) {
		b := newBench(t, terminal.Options{Host: h})
		text := b.open("j_1", `stty size; echo up; read x; echo "got $x"; trap 'echo INT' INT; stty size; sh -c 'echo on; exec cat'; echo after; read y; exit 5`, m{"rows": 33, "cols": 99})
		if !strings.Contains(text, "33 99\nup\n") {
			t.Errorf("%q", text)
		}
		job := b.jobs.All()[0]
		if job.Keep || job.Call != "c_1" || job.Spool == "" || len(job.Process.PIDs()) == 0 || !strings.HasPrefix(job.Command, "stty size") {
			t.Errorf("job %+v", job)
		}
		b.nextTurn()
		if out := b.say("j_1", m{"input": "zwölf\n", "rows": 20, "cols": 70}, "on\n"); !strings.Contains(out, "got zwölf\n20 70\non\n") {
			t.Errorf("%q", out)
		}
		b.say("j_1", m{"input": "\x03"}, "INT\nafter\n")
		text = b.ok("terminal_write", m{"id": "j_1", "input": "\n", "wait_ms": patience.Milliseconds(), "quiet_ms": 0})
		if !strings.Contains(text, "terminal j_1 has ended: exit code 5") {
			t.Errorf("%q", text)
		}
		b.refused("terminal_poll", m{"id": "j_1"}, "terminal j_1 has ended (exit code 5) and is closed")
		b.refused("terminal_kill", m{"id": "j_7"}, `there is no terminal "j_7", and no other; start one with terminal_start; what a bash command left running is a job and no terminal: end it with kill and its pids`)
		if code, _ := job.Process.Exit(); code == nil || *code != 5 {
			t.Errorf("the job's end: %v", code)
		}
		if got := b.kinds(); fmt.Sprint(got) != "[ProcessStarted]" {
			t.Errorf("recorded %v", got)
		}
	})
}

// proves TOL-22, PRC-07: without a terminal there is a pipe, whose end is the
// model's to give.
func TestWithPipesTheInputHasAnEnd(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	b.open("j_1", `[ -t 0 ] || echo up; cat; echo end >&2; exit 6`, m{"tty": false})
	text := b.ok("terminal_write", m{"id": "j_1", "input": "one\x00two\n", "eof": true, "wait_ms": patience.Milliseconds(), "quiet_ms": 0})
	if !strings.Contains(text, "has ended: exit code 6") || !strings.Contains(text, "one\uFFFDtwo\nend\n") {
		t.Errorf("%q", text)
	}
	b.refused("terminal_write", m{"id": "j_1", "input": "x"}, "is closed")
}

// proves TOL-22, INT-09, B001, B002, PRC-02, PRC-03: a call that waits on a
// terminal of its own turn owns it.
func TestATripDuringAWaitEndsTheTreeOfThisTurnsTerminal(t *testing.T) {
	// deaf ignores what a closed window says, and has a daemon.
	const deaf = `trap '' HUP TERM INT; (setsid sh -c 'trap "" HUP TERM; sleep 300' &) ; echo up; while :; do sleep 300; done`
	lanes(t, func(t *testing.T, h proc.Host) {
		for name, wait := range map[string]func(b *bench) tool.Ended{
			"poll": func(b *bench) tool.Ended {
				return b.do("terminal_poll", m{"id": "j_1", "wait_ms": 600000, "quiet_ms": 0})
			},
			"write": func(b *bench) tool.Ended {
				return b.do("terminal_write", m{"id": "j_1", "input": "x\n", "wait_ms": 600000, "quiet_ms": 0})
			},
		} {
			t.Run(name, func(t *testing.T) {
				b := newBench(t, terminal.Options{Host: h, Grace: -1})
				b.open("j_1", deaf, nil)
				b.ok("terminal_poll", m{"id": "j_1", "wait_ms": 1}) // the first poll; the trip meets the second
				gone := b.tree(0, 4)
				go b.trip()
				e := wait(b)
				if e.Outcome != event.CallStopped || len(e.Result.Survivors) > 0 || !strings.Contains(e.Result.Content.Text(), "terminal j_1 was closed") {
					t.Fatalf("%s %q %s", e.Outcome, e.Result.Content.Text(), e.Err)
				}
				gone()
				b.nextTurn()
				b.refused("terminal_poll", m{"id": "j_1"}, "terminal j_1 has ended (ended by signal SIGKILL) and is closed")
				if p, ok := b.jobs.All()[0].Process.(interface{ EndedBy() string }); !ok || p.EndedBy() != "interrupt" {
					t.Error("nobody says who ended the job")
				}
			})
		}
		t.Run("start", func(t *testing.T) {
			b := newBench(t, terminal.Options{Host: h, Grace: -1})
			over := b.tripAt("up")
			e := b.do("terminal_start", m{"command": "echo $$; " + deaf, "wait_ms": 600000, "quiet_ms": 0})
			<-over
			text := e.Result.Content.Text()
			if e.Outcome != event.CallStopped || !strings.Contains(text, "up\n") || len(e.Result.Survivors) > 0 || len(b.jobs.All()) != 0 {
				t.Errorf("%s %q %s", e.Outcome, text, e.Err)
			}
			var pid int
			_, out, _ := strings.Cut(text, "output:\n")
			if _, err := fmt.Sscan(out, &pid); err != nil || alive(pid) {
				t.Errorf("process %d of %q is alive (%v)", pid, out, err)
			}
			if got := b.kinds(); fmt.Sprint(got) != "[ProcessStarted ended stopped]" {
				t.Errorf("recorded %v", got)
			}
		})
	})
}

// proves PRC-03, TOL-22: the second request does not wait for the grace.
func TestTheSecondRequestKillsAtOnce(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{}), Grace: time.Hour})
	go func() {
		<-b.tripAt("up")
		b.c.Force()
	}()
	if e := b.do("terminal_start", m{"command": "trap '' HUP TERM; echo up; while :; do sleep 300; done", "wait_ms": 600000, "quiet_ms": 0}); e.Outcome != event.CallStopped || e.Result.Signal != "SIGKILL" {
		t.Errorf("%s, signal %q", e.Outcome, e.Result.Signal)
	}
}

// proves TOL-22, 00 decisions 3 and 17: what nobody waits for, and what an
// earlier turn opened, lives on.
func TestATripLeavesBackgroundTerminalsAlive(t *testing.T) {
	b := newBench(t, terminal.Options{Host: host(t, proc.Options{})})
	b.open("j_1", "echo up; exec cat", nil)
	b.trip() // nobody waits
	b.nextTurn()
	b.say("j_1", m{"input": "one\n"}, "one\none\n")
	go b.trip()
	e := b.do("terminal_poll", m{"id": "j_1", "wait_ms": 600000, "quiet_ms": 0})
	if text := e.Result.Content.Text(); e.Outcome != event.CallStopped || !strings.Contains(text, "only the waiting was ended: terminal j_1 runs on") {
		t.Errorf("%s %q", e.Outcome, text)
	}
	// A tripped turn writes nothing to it either.
	if e := b.do("terminal_write", m{"id": "j_1", "input": "two\n"}); e.Outcome != event.CallStopped {
		t.Errorf("%s %q", e.Outcome, e.Err)
	}
	b.nextTurn()
	if all := b.say("j_1", m{"input": "three\n"}, "three\nthree\n"); strings.Contains(all, "two") {
		t.Errorf("%q", all)
	}
	gone := b.tree(0, 1)
	if text := b.ok("terminal_kill", m{"id": "j_1"}); !strings.Contains(text, "terminal j_1 was closed: ended by signal SIGHUP") {
		t.Errorf("%q", text)
	}
	gone()
}
