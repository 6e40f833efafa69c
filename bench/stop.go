package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/proc"
	"github.com/ripcord-go/ripcord/tool"
	"github.com/ripcord-go/ripcord/tool/terminal"
)

// stops measures interrupts of a streaming turn at random phases: from the
// request until its ending is durable, and until the server saw the connection
// go.
func (l *lab) stops(ctx context.Context) ([]figure, error) {
	ends, gone, floor, err := l.streaming(ctx, chat, 2000)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"BEN-01", "interrupt → turn/end durable, streaming", "p50 ≤ 3 ms, p99 ≤ 25 ms", ends.String(), "2 fdatasync: " + floor.String(), ends.at(.5) <= 3*time.Millisecond && ends.at(.99) <= 25*time.Millisecond},
		{"BEN-02", "interrupt → model connection closed", "p99 ≤ 20 ms", gone.String(), "", gone.at(.99) <= 20*time.Millisecond},
	}, nil
}

// wires measures the same on each wire that models speak.
func (l *lab) wires(ctx context.Context) (out []figure, err error) {
	for _, w := range []struct {
		name string
		dial dialling
	}{
		{"chat completions", chat},
		{"responses", responses}, {"messages", messages},
	} {
		ends, gone, _, err := l.streaming(ctx, w.dial, 500)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		out = append(out, figure{"BEN-02", w.name + ": interrupt → the server sees the connection go", "p99 ≤ 20 ms, none over 100 ms",
			fmt.Sprintf("%s, before the request was sent: %d", gone, len(ends)-len(gone)), "turn/end: " + ends.String(),
			len(gone) > 0 && gone.at(.99) <= 20*time.Millisecond && gone.at(1) <= 100*time.Millisecond})
	}
	return out, nil
}

// streaming interrupts turns whose answer streams, n times. Where the interrupt
// came before the request was sent there is no connection to see go.
func (l *lab) streaming(ctx context.Context, dial dialling, n int) (ends, gone, floor sample, err error) {
	r, err := l.rigOn(ctx, dial, "answer always\n  prose 100000 1ms\n  finish stop\n", 0, none)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range l.rounds(n) {
		if i%50 == 49 { // a long history is not what is measured
			if err := r.fresh(ctx); err != nil {
				return nil, nil, nil, err
			}
		}
		input, err := r.submit(ctx, "go")
		if err != nil {
			return nil, nil, nil, err
		}
		pause(ctx, time.Duration(rng.IntN(20_000))*time.Microsecond)
		began, asked := time.Now(), len(r.server.Requests())
		took, err := r.stop(ctx, input, false)
		if err != nil {
			return nil, nil, nil, err
		}
		ends = append(ends, took)
		if reqs := r.server.Requests(); asked > 0 {
			q := reqs[len(reqs)-1]
			if at, ok := q.Gone(); ok && at.After(began) {
				gone = append(gone, at.Sub(began))
			}
		}
		f, err := l.floor(2)
		if err != nil {
			return nil, nil, nil, err
		}
		floor = append(floor, f)
	}
	return ends, gone, floor, nil
}

func none(proc.Host) []tool.Tool { return nil }

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// deaf is a tree of processes that ignore what asks them to end. Its sleeps name
// it, so that what is left of it can be counted.
const (
	deaf     = `trap '' TERM HUP; (trap '' TERM HUP; sleep ` + deafMark + `) & (trap '' TERM HUP; sleep ` + deafMark + ` & sleep ` + deafMark + `) & setsid bash -c "trap '' TERM HUP; sleep ` + deafMark + `" & echo ready; while :; do sleep ` + deafMark + `; done`
	deafMark = "86399.25"
	bareMark = "86399.75" // of the trees that are killed by hand
)

// left lists the processes whose command line has text.
func left(text string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		b, err := os.ReadFile(name)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && bad == nil && bytes.Contains(b, []byte(text)) && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kills measures a forced interrupt of a tree of processes that ignore TERM
// against killing the same tree bare and two syncs.
func (l *lab) kills(ctx context.Context) ([]figure, error) {
	return l.deafTree(ctx, "a TERM-ignoring tree", "bash", fmt.Sprintf(`{"command":%q}`, deaf), 200, none)
}

// terminals measures the same for a call that waits on a terminal.
func (l *lab) terminals(ctx context.Context) ([]figure, error) {
	var terms *terminal.Terminals
	rows, err := l.deafTree(ctx, "a wait on the terminal of a HUP- and TERM-ignoring tree", "terminal_start",
		fmt.Sprintf(`{"command":%q,"wait_ms":600000,"quiet_ms":0}`, deaf), 200, func(h proc.Host) []tool.Tool {
			terms = terminal.New(terminal.Options{Host: h})
			return terms.Tools()
		})
	if terms != nil {
		err = errors.Join(err, terms.Close())
	}
	return rows, err
}

// deafTree interrupts, by force, calls that started such a tree.
func (l *lab) deafTree(ctx context.Context, what, name, args string, n int, extra func(proc.Host) []tool.Tool) (_ []figure, err error) {
	script := fmt.Sprintf("answer always if not result\n  call %s -\n  args %q\n  end\n  finish tool\nanswer always\n  text ok\n  finish stop\n", name, args)
	r, err := l.rigOn(ctx, chat, script, 0, extra)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	var ours, bare sample
	for range l.rounds(n) {
		a, err := l.bareKill(ctx)
		if err != nil {
			return nil, err
		}
		bare = append(bare, a)
		b, err := r.killTurn(ctx)
		if err != nil {
			return nil, err
		}
		ours = append(ours, b)
	}
	x, y := ratio(ours.at(.5), bare.at(.5)), ratio(ours.at(.99), bare.at(.99))
	return []figure{{"BEN-01", "interrupt of " + what + ", zero grace", "≤ 1.5 × floor",
		fmt.Sprintf("%s = %.2f × p50, %.2f × p99", ours, x, y), "bare kill of the same tree + 2 fdatasync: " + bare.String(), x <= 1.5}, survivors(what, len(ours))}, nil
}

// survivors is the row about what n stops of such trees have left.
func survivors(what string, n int) figure {
	alive := len(left(deafMark))
	return figure{"BEN-03", "survivors after the interrupts of " + what, "0", fmt.Sprintf("%d of %d trees", alive, n), "", alive == 0}
}

func (r *rig) killTurn(ctx context.Context) (time.Duration, error) {
	input, err := r.submit(ctx, "go")
	if err != nil {
		return 0, err
	}
	watch, done := context.WithCancel(ctx)
	defer done()
	st, err := r.rt.Status(ctx, r.id)
	if err != nil {
		return 0, err
	}
	for f, err := range r.rt.Follow(watch, r.id, st.Seq+1, true) {
		if err != nil {
			return 0, err
		}
		if f.Live != nil && f.Live.Kind == api.LiveTool && strings.HasPrefix(f.Live.Text, "ready") {
			break
		}
	}
	return r.stop(ctx, input, true)
}

// bareKill starts the same tree in a process group of its own, kills every
// process of it by hand, waits until none is left and syncs twice.
func (l *lab) bareKill(ctx context.Context) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(deaf, deafMark, bareMark))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		return 0, err
	}
	began := time.Now()
	pids := family(cmd.Process.Pid)
	for _, p := range pids {
		_ = unix.Kill(p, unix.SIGKILL)
	}
	for _, p := range pids {
		for unix.Kill(p, 0) == nil && !zombie(p) {
			pause(ctx, 200*time.Microsecond)
		}
	}
	_ = cmd.Wait() // it was killed
	took := time.Since(began)
	for _, p := range left(bareMark) { // who was forked meanwhile is not seen by a bare kill
		_ = unix.Kill(p, unix.SIGKILL)
	}
	f, err := l.floor(2)
	return took + f, err
}

// family lists pid and its descendants.
func family(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", out[i]))
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				continue
			}
			var kid int
			for s := string(b); ; {
				var rest string
				if n, _ := fmt.Sscanf(s, "%d %s", &kid, &rest); n < 1 {
					break
				}
				out = append(out, kid)
				cut := len(fmt.Sprint(kid)) + 1
				if cut >= len(s) {
					break
				}
				s = s[cut:]
			}
		}
	}
	return out
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	for i := len(b) - 1; i > 0; i-- {
		if b[i] == ')' {
			return i+2 < len(b) && (b[i+2] == 'Z' || b[i+2] == 'X')
		}
	}
	return false
}
