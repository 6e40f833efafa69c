package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ripcord-go/ripcord/api"
)

// stops measures interrupts of a streaming turn at random phases: from the
// request until its ending is durable, and until the server saw the connection
// go.
func (l *lab) stops(ctx context.Context) (_ []figure, err error) {
	r, err := l.rig(ctx, "answer always\n  repeat 100000 type 1ms word\n  finish stop\n", 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	var ends, gone, floor sample
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range l.rounds(2000) {
		if i%50 == 49 { // a long history is not what is measured
			if err := r.fresh(ctx); err != nil {
				return nil, err
			}
		}
		input, err := r.submit(ctx, "go")
		if err != nil {
			return nil, err
		}
		pause(ctx, time.Duration(rng.IntN(20_000))*time.Microsecond)
		began := time.Now()
		took, err := r.stop(ctx, input, false)
		if err != nil {
			return nil, err
		}
		ends = append(ends, took)
		if reqs := r.server.Requests(); len(reqs) > 0 {
			q := reqs[len(reqs)-1]
			if at, ok := q.Gone(); ok && at.After(began) {
				gone = append(gone, at.Sub(began))
			}
		}
		f, err := l.floor(2)
		if err != nil {
			return nil, err
		}
		floor = append(floor, f)
	}
	return []figure{
		{"BEN-01", "interrupt → turn/end durable, streaming", "p50 ≤ 3 ms, p99 ≤ 25 ms", ends.String(), "2 fdatasync: " + floor.String(), ends.at(.5) <= 3*time.Millisecond && ends.at(.99) <= 25*time.Millisecond},
		{"BEN-02", "interrupt → model connection closed", "p99 ≤ 20 ms", gone.String(), "", gone.at(.99) <= 20*time.Millisecond},
	}, nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

const deaf = `trap '' TERM; (trap '' TERM; sleep 600) & (trap '' TERM; sleep 600 & sleep 600) & setsid bash -c "trap '' TERM; sleep 600" & echo ready; while :; do sleep 600; done`

// kills measures a forced interrupt of a tree of processes that ignore TERM
// against killing the same tree bare and two syncs.
func (l *lab) kills(ctx context.Context) (_ []figure, err error) {
	script := fmt.Sprintf("answer always if not result\n  call bash -\n  args %q\n  end\n  finish tool\nanswer always\n  text ok\n  finish stop\n", fmt.Sprintf(`{"command":%q}`, deaf))
	r, err := l.rig(ctx, script, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	var ours, bare sample
	for range l.rounds(200) {
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
	return []figure{{"BEN-01", "interrupt of a TERM-ignoring tree, zero grace", "≤ 1.5 × floor",
		fmt.Sprintf("%s = %.2f × p50, %.2f × p99", ours, x, y), "bare kill of the same tree + 2 fdatasync: " + bare.String(), x <= 1.5}}, nil
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
		if f.Live != nil && f.Live.Kind == api.LiveTool && f.Live.Text == "ready\n" {
			break
		}
	}
	return r.stop(ctx, input, true)
}

// bareKill starts the same tree in a process group of its own, kills every
// process of it by hand, waits until none is left and syncs twice.
func (l *lab) bareKill(ctx context.Context) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", deaf)
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
