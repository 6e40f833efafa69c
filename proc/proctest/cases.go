package proctest

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

type testCase struct {
	name  string
	needs func(Driver) bool
	test  func(*bench)
}

func cases() []testCase {
	whole, guarded := Driver.whole, Driver.guarded
	return []testCase{
		{"asked, a command may end in its own way", nil, asked},
		{"deaf commands are forced after the grace", nil, deafOnes},
		{"a second stop hastens the first", nil, hastened},
		{"the asking signal can be another", nil, askedOtherwise},
		{"daemons and other sessions end too", whole, daemons},
		{"stopped processes end", nil, frozenOnes},
		{"a racing forker is beaten", whole, racing},
		{"a forker that leaves its session each time is beaten", whole, racingAway},
		{"zombies are not alive", nil, zombies},
		{"a deleted working directory is no shelter", nil, nowhereOnes},
		{"a pid namespace is no shelter", namespaces, namespaced},
		{"a holder of the pipe outside the tree delays nothing", nil, outsideHolder},
		{"leftovers are not waited for", nil, leftovers},
		{"two commands with leftovers are two trees", nil, twoLeftovers},
		{"a time limit ends the whole tree", nil, timeLimit},
		{"a limit is the command's, not its leftovers'", nil, limitOfLeftovers},
		{"exit codes are told, signals are no codes", nil, exits},
		{"what cannot start does not run", nil, unstartable},
		{"a context ends the starting only", nil, startContext},
		{"stdin is closed or given, there is no terminal", nil, stdin},
		{"descriptors can be handed over", nil, handedOver},
		{"a held terminal is read, written and resized to its end", nil, heldTerminal},
		{"a terminal that was closed can be opened again", nil, reopenedTerminal},
		{"a command that does not read holds up no writer", nil, deafReader},
		{"a held pipe is written and ended", nil, heldPipe},
		{"the runtime's death ends a terminal's tree", guarded, terminalRuntimeDeath},
		{"a kept terminal is not hung up, and the next runtime talks to it", guarded, keptTerminal},
		{"output is bounded, counted and kept at both ends", nil, flood},
		{"output that is not text is made text", nil, junk},
		{"live output comes, and a slow reader delays nothing", nil, liveOutput},
		{"no descriptor of ours reaches a command", nil, noLeaks},
		{"a reused pid is nobody's", guarded, reusedPID},
		{"closing the host ends what is not kept", nil, closingHost},
		{"closing the host leaves what is kept, whoever reads it", guarded, closingKept},
		{"the runtime's death ends the tree", guarded, runtimeDeath},
		{"the runtime's death leaves the end of what had ended", guarded, runtimeDeathAfterEnd},
		{"what ended before anybody asked ended by itself", guarded, endedUnasked},
		{"what ended before the runtime's death ended by itself", guarded, endedUnheard},
		{"what ended within its limit did, whenever that is seen", guarded, endedInTime},
		{"a kept tree outlives its runtime and is adopted", guarded, adoption},
		{"a kept tree's guardian holds nothing that its runtime was given", guarded, keptHoldsNothing},
		{"a kept tree that ended meanwhile is adopted with its end", guarded, adoptionAfterEnd},
		{"the guardian's death ends the tree", guarded, guardianDeath},
		{"a stopped guardian is woken", guarded, stoppedGuardian},
		{"a disk that does not answer holds up no kill", guarded, deafDisk},
		{"recovery finds and ends what nobody kept", guarded, recovery},
		{"a group's leader stays unreaped while the group lives", func(d Driver) bool { return !d.guarded() }, unreapedLeader},
		{"many at once", nil, manyAtOnce},
	}
}

func namespaces(d Driver) bool {
	_, err := os.Stat("/usr/bin/unshare")
	return d.whole() && os.Geteuid() == 0 && err == nil
}

func asked(b *bench) {
	tree, m := b.run(`trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 0.01; done`, 1)
	Until(b, 20*second, "it said hello", func() bool { return strings.Contains(tree.Output(0).Text, "hello") })
	s := b.stop(tree, m, 5*second)
	if s.Forced {
		b.Error("it was forced although it ended when asked")
	}
	e, ok := tree.Exit()
	if !ok || e.Code == nil || *e.Code != 7 || e.Signal != "" || e.TimedOut || e.Lost != "" || e.Ran <= 0 {
		b.Errorf("exit %+v, %v", e, ok)
	}
	if out := tree.Output(0); !strings.HasPrefix(out.Text, "hello\n") || !strings.HasSuffix(out.Text, "bye\n") || out.Truncated {
		b.Errorf("output %+v", out)
	}
}

func deafOnes(b *bench) {
	tree, m := b.run(`trap '' TERM INT HUP; sh -c 'sleep 1000 & exec sleep 1000' & exec sleep 1000`, 3)
	if pids := tree.PIDs(); len(pids) != 3 || pids[0] != tree.Started().PID {
		b.Errorf("alive %v, leader %d", pids, tree.Started().PID)
	}
	s := b.stop(tree, m, 30*time.Millisecond)
	if !s.Forced || s.Took < 30*time.Millisecond || s.Took > 20*second {
		b.Errorf("stop saw %+v", s)
	}
	if e, ok := tree.Exit(); !ok || e.Code != nil || e.Signal != "SIGKILL" {
		b.Errorf("exit %+v, %v", e, ok)
	}
	if pids := tree.PIDs(); len(pids) > 0 {
		b.Errorf("gone, and alive: %v", pids)
	}
}

func hastened(b *bench) {
	tree, m := b.run(`trap '' TERM; exec sleep 1000`, 1)
	first := make(chan proc.Stopped)
	go func() { first <- tree.Stop(interrupt.Ladder{Grace: time.Minute, Bound: second}) }()
	b.stop(tree, m, 0)
	if s := <-first; !s.Gone || !s.Forced || s.Took > 25*second {
		b.Errorf("the first stop saw %+v", s)
	}
}

func askedOtherwise(b *bench) {
	s, m := b.spec(`trap 'exit 9' INT; echo up; while :; do sleep 0.01; done`)
	s.Ask = proc.Signal(syscall.SIGINT)
	tree := b.start(s)
	Until(b, 20*second, "it is up", func() bool { return tree.Output(0).Bytes > 0 })
	b.stop(tree, m, 5*second)
	if e, _ := tree.Exit(); e.Code == nil || *e.Code != 9 {
		b.Errorf("exit %+v", e)
	}
}

func daemons(b *bench) {
	tree, m := b.run(`setsid sleep 1000 & (setsid sh -c 'trap "" TERM HUP; sleep 1000 & exec sleep 1000' &) ; (sleep 1000 &); exec setsid sleep 1000`, 5)
	b.stop(tree, m, 10*time.Millisecond)
}

func frozenOnes(b *bench) {
	tree, m := b.run(`sh -c 'kill -STOP $$; exec sleep 1000' & sh -c 'trap "exit 0" TERM; kill -STOP $$; while :; do sleep 0.01; done' & wait`, 3)
	b.stop(tree, m, 5*second)
	if e, _ := tree.Exit(); e.Signal != "SIGTERM" {
		b.Errorf("exit %+v", e)
	}
	// The leader waits for the stopped one: it must hear the question.
	tree, m = b.run(`trap 'wait; exit 5' TERM; sh -c 'trap "exit 0" TERM; kill -STOP $$; while :; do sleep 0.01; done' & wait`, 2)
	Until(b, 20*second, "one is stopped", func() bool {
		return slices.ContainsFunc(m.Alive(), func(pid int) bool { return stateOf(pid) == 'T' })
	})
	if s := b.stop(tree, m, 5*second); s.Forced {
		b.Errorf("stop saw %+v", s)
	}
	tree, m = b.run(`trap '' TERM; sh -c 'kill -STOP $$; exec sleep 1000'`, 2)
	b.stop(tree, m, 10*time.Millisecond)
}

func racing(b *bench) {
	s, m := b.spec(`sh -c "$H" & (sh -c "$H" &) ; f() { f & }; f; exec sleep 1000`)
	s.Env = append(s.Env, `H=sh -c "$H" & exit 0`)
	tree := b.start(s)
	Until(b, 20*second, "they race", func() bool { return len(m.Alive()) >= 2 })
	b.stop(tree, m, 0)
}

func racingAway(b *bench) {
	s, m := b.spec(`setsid sh -c "$H" & setsid sh -c "$H" & exit 0`)
	s.Env = append(s.Env, `H=setsid sh -c "$H" & exit 0`)
	tree := b.start(s)
	Within(b, 20*second, "the leader's end", tree.Exited())
	b.stop(tree, m, 0)
}

func zombies(b *bench) {
	tree, m := b.run(`sleep 0 & exec sleep 1000`, 1)
	Until(b, 20*second, "one is left", func() bool { return len(tree.PIDs()) == 1 && len(m.Alive()) == 1 })
	b.stop(tree, m, second)
}

func nowhereOnes(b *bench) {
	tree, m := b.run(`d=$(mktemp -d); cd "$d"; rmdir "$d"; sleep 1000 & exec sleep 1000`, 2)
	b.stop(tree, m, second)
}

func namespaced(b *bench) {
	tree, m := b.run(`unshare -pf sh -c 'trap "" TERM; sleep 1000 & setsid sleep 1000 & while :; do sleep 1000; done' & unshare -Upf --kill-child sleep 1000 & wait`, 6)
	b.stop(tree, m, 10*time.Millisecond)
}

func outsideHolder(b *bench) {
	tree, m := b.run(`echo one; exec sleep 1000`, 1)
	Until(b, 20*second, "it printed", func() bool { return tree.Output(0).Bytes == 4 })
	holder, err := os.OpenFile("/proc/"+strconv.Itoa(tree.Started().PID)+"/fd/1", os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer holder.Close()
	b.stop(tree, m, second)
	if out := tree.Output(0); out.Text != "one\n" {
		b.Errorf("output %q", out.Text)
	}
}

func leftovers(b *bench) {
	s, m := b.spec(`(tail -f /dev/null &); printf done`)
	began := time.Now()
	tree := b.start(s)
	Within(b, 20*second, "the leader's end", tree.Exited())
	if took := time.Since(began); took > 30*time.Second {
		b.Errorf("told after %v", took)
	}
	if out := tree.Output(0); out.Text != "done" {
		b.Errorf("output %q", out.Text)
	}
	if closed(tree.Gone()) {
		b.Error("gone, but tail lives")
	}
	if e, ok := tree.Exit(); !ok || e.Code == nil || *e.Code != 0 {
		b.Errorf("exit %+v", e)
	}
	Until(b, 20*second, "one leftover is listed", func() bool {
		return len(m.Alive()) == 1 && len(tree.PIDs()) == 1 && tree.PIDs()[0] == m.Alive()[0]
	})
	if r, err := proc.ReadExit(s.Spool); err != nil || r.Gone || r.Code == nil {
		b.Errorf("record of the leader's end: %+v, %v", r, err)
	}
	b.stop(tree, m, 5*second)
	if e, _ := tree.Exit(); e.Code == nil || *e.Code != 0 {
		b.Errorf("the leader's end became %+v", e)
	}
	// What leftovers print is caught.
	tree, m = b.run(`(while :; do echo more; sleep 0.01; done) & echo first`, 1)
	Within(b, 20*second, "the leader's end", tree.Exited())
	Until(b, 20*second, "their output is caught", func() bool { return strings.Contains(tree.Output(0).Text, "more") })
	b.stop(tree, m, 0)
}

func unreapedLeader(b *bench) {
	tree, m := b.run(`sleep 1000 & exit 0`, 1)
	Within(b, 20*second, "the leader's end", tree.Exited())
	if state := stateOf(tree.Started().PID); state != 'Z' {
		b.Errorf("the leader's state is %q: its number may be anybody's", state)
	}
	b.stop(tree, m, 0)
	if state := stateOf(tree.Started().PID); state != 0 {
		b.Errorf("the leader's state is %q: it was not reaped", state)
	}
}

func twoLeftovers(b *bench) {
	one, m1 := b.run(`tail -f /dev/null & kill %1 2>/dev/null; true`, 0)
	two, m2 := b.run(`sh -c 'tail -f /dev/null & wait' & true`, 1)
	Within(b, 20*second, "the first leader's end", one.Exited())
	Within(b, 20*second, "the second leader's end", two.Exited())
	Until(b, 20*second, "the second's leftovers stand", func() bool { return len(m2.Alive()) == 2 })
	for _, p := range two.PIDs() {
		for _, q := range one.PIDs() {
			if p == q {
				b.Errorf("pid %d belongs to two trees", p)
			}
		}
	}
	b.stop(one, m1, 0)
	if len(m2.Alive()) != 2 {
		b.Error("stopping one tree touched the other")
	}
	b.stop(two, m2, 0)
}

func timeLimit(b *bench) {
	const limit = 500 * time.Millisecond // enough for a shell to begin on a busy machine
	s, m := b.spec(`echo tick; mkfifo f; (trap '' TERM; while :; do echo tick; sleep 0.02; done >f) & tee /dev/null <f`)
	s.Timeout, s.Ladder = limit, interrupt.Ladder{Grace: 50 * time.Millisecond, Bound: second}
	tree := b.start(s)
	Within(b, 20*second, "the end", tree.Gone())
	if !m.None() {
		b.Errorf("alive: %v", m.Alive())
	}
	e, _ := tree.Exit()
	if !e.TimedOut || e.Code != nil || e.Ran < limit || e.Ran > 20*second {
		b.Errorf("exit %+v", e)
	}
	if out := tree.Output(0); !strings.Contains(out.Text, "tick") {
		b.Errorf("output so far: %q", out.Text)
	}
	next := b.start(first(b.spec(`echo next`)))
	Within(b, 20*second, "the next one's end", next.Gone())
}

func first[A, B any](a A, _ B) A { return a }

func limitOfLeftovers(b *bench) {
	for limit := 500 * time.Millisecond; ; limit *= 5 {
		s, m := b.spec(`sleep 1000 & exit 0`)
		s.Timeout = limit
		tree := b.start(s)
		Within(b, time.Minute, "the leader's end", tree.Exited())
		if e, _ := tree.Exit(); e.TimedOut && limit < 10*second { // too busy a machine to begin a shell meanwhile
			b.stop(tree, m, 0)
			continue
		}
		timer := time.NewTimer(limit + limit/5) // it cannot be seen that nothing will happen
		defer timer.Stop()
		select {
		case <-tree.Gone():
			b.Error("the leftover was ended by the command's limit")
		case <-timer.C:
		}
		b.stop(tree, m, 0)
		if e, _ := tree.Exit(); e.TimedOut {
			b.Errorf("exit %+v", e)
		}
		return
	}
}

func exits(b *bench) {
	for script, want := range map[string]proc.Exit{
		"exit 0": {Code: new(int)}, "exit 3": {Code: ptr(3)}, "exit 255": {Code: ptr(255)},
		"kill -9 $$": {Signal: "SIGKILL"}, "kill -TERM $$": {Signal: "SIGTERM"}, "kill -SEGV $$": {Signal: "SIGSEGV"},
	} {
		s, _ := b.spec(script)
		tree := b.start(s)
		Within(b, 20*second, "the end of "+script, tree.Gone())
		e, ok := tree.Exit()
		if !ok || e.Signal != want.Signal || (e.Code == nil) != (want.Code == nil) || e.Code != nil && *e.Code != *want.Code {
			b.Errorf("%s: %+v", script, e)
		}
		r, err := proc.ReadExit(s.Spool)
		if err != nil || !r.Gone || r.Signal != want.Signal || (r.Code == nil) != (want.Code == nil) || r.PID != tree.Started().PID || r.How != proc.HowExited {
			b.Errorf("%s: record %+v, %v", script, r, err)
		}
	}
	// Killed from outside: a signal, never a code.
	tree, _ := b.run(`exec sleep 1000`, 1)
	_ = syscall.Kill(tree.Started().PID, syscall.SIGKILL)
	Within(b, 20*second, "the end", tree.Gone())
	if e, _ := tree.Exit(); e.Code != nil || e.Signal != "SIGKILL" {
		b.Errorf("killed from outside: %+v", e)
	}
}

func ptr(n int) *int { return &n }

func unstartable(b *bench) {
	for what, change := range map[string]func(*proc.Spec){
		"no such program":    func(s *proc.Spec) { s.Argv = []string{"no-such-program-anywhere"} },
		"no such path":       func(s *proc.Spec) { s.Argv = []string{"./nothing"} },
		"no program":         func(s *proc.Spec) { s.Argv = nil },
		"no folder":          func(s *proc.Spec) { s.Dir = b.dir + "/none" },
		"folder not given":   func(s *proc.Spec) { s.Dir = "" },
		"not executable":     func(s *proc.Spec) { s.Argv = []string{"/etc/passwd"} },
		"not a program":      func(s *proc.Spec) { s.Argv = []string{textFile(b)} },
		"no PATH":            func(s *proc.Spec) { s.Env = nil },
		"spool in a file":    func(s *proc.Spec) { s.Spool = textFile(b) + "/x" },
		"terminal is no tty": func(s *proc.Spec) { s.TTY = true },
	} {
		s, m := b.spec("true")
		change(&s)
		tree, err := b.host.Start(context.Background(), s)
		if err == nil {
			b.Errorf("%s: it started", what)
			tree.Stop(interrupt.Ladder{Bound: second})
			continue
		}
		if !m.None() {
			b.Errorf("%s: alive: %v", what, m.Alive())
		}
		if text := err.Error(); !strings.Contains(text, s.ID) {
			b.Errorf("%s: the error does not say which: %s", what, text)
		}
	}
}

func textFile(b *bench) string {
	name := b.TempDir() + "/text"
	if err := os.WriteFile(name, []byte("words\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	return name
}

func startContext(b *bench) {
	ctx, cancel := context.WithCancel(context.Background())
	s, m := b.spec(`exec sleep 1000`)
	tree, err := b.host.Start(ctx, s)
	if err != nil {
		b.Fatal(err)
	}
	cancel()
	Until(b, 20*second, "it runs", func() bool { return len(m.Alive()) == 1 })
	b.stop(tree, m, second)
	s, m = b.spec(`exec sleep 1000`)
	if tree, err := b.host.Start(ctx, s); err == nil {
		tree.Stop(interrupt.Ladder{})
		b.Error("started on a context that had ended")
	}
	if !m.None() {
		b.Errorf("alive: %v", m.Alive())
	}
	// Whenever it ends: a command that was not given back has not run, one that
	// ran is in hand with what it printed.
	for i := range 40 {
		ctx, cancel := context.WithCancel(context.Background())
		s, m := b.spec(`echo up; echo >ran; exec sleep 1000`)
		s.Dir = b.TempDir()
		time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
		tree, err := b.host.Start(ctx, s)
		if err == nil {
			b.stop(tree, m, 0)
		}
		_, none := os.Stat(s.Dir + "/ran")
		if none == nil && (err != nil || tree.Output(0).Text != "up\n") {
			b.Errorf("round %d: it ran: %v", i, err)
		}
		cancel()
	}
}
