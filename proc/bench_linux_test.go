package proc_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ripcord-go/ripcord/interrupt"
	"github.com/ripcord-go/ripcord/proc"
)

const deaf = `trap '' TERM; echo up; exec sleep 1000`

// BenchmarkStop ends a command that ignores SIGTERM without a grace, beside
// the floor: fork, kill and wait with nothing around it, in the same loop.
func BenchmarkStop(b *testing.B) {
	for name, o := range map[string]proc.Options{"cgroup": {}, "guardian": {Cgroup: proc.CgroupOff}, "group": {Group: true}} {
		b.Run(name, func(b *testing.B) {
			host, err := proc.NewHost(o)
			if err != nil {
				b.Fatal(err)
			}
			defer host.Close()
			var starts, stops, bareStarts, kills []time.Duration
			for b.Loop() {
				t0 := time.Now()
				tree, err := host.Start(context.Background(), proc.Spec{Owner: "call", ID: "c", Argv: []string{"sh", "-c", deaf}, Dir: "/", Env: os.Environ()})
				starts = append(starts, time.Since(t0))
				if err != nil {
					b.Fatal(err)
				}
				for tree.Output(10).Bytes == 0 {
				}
				<-time.After(30 * time.Millisecond) // until the next guardian is ready
				t0 = time.Now()
				if s := tree.Stop(interrupt.Ladder{Bound: time.Second}); !s.Gone {
					b.Fatalf("%+v", s)
				}
				stops = append(stops, time.Since(t0))
				start, kill := bareKill(b)
				bareStarts, kills = append(bareStarts, start), append(kills, kill)
			}
			report(b, "start", starts, bareStarts)
			report(b, "stop", stops, kills)
		})
	}
}

func bareKill(b *testing.B) (start, kill time.Duration) {
	cmd := exec.Command("sh", "-c", deaf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	t0 := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	start = time.Since(t0)
	if _, err := out.Read(make([]byte, 10)); err != nil {
		b.Fatal(err)
	}
	t0 = time.Now()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	return start, time.Since(t0)
}

func report(b *testing.B, what string, ours, floor []time.Duration) {
	for name, list := range map[string][]time.Duration{what: ours, "bare-" + strings.ToLower(what): floor} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds()), name+"-p99-µs")
	}
}
