package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ripcord-go/ripcord/proc"
)

// figure is one measured row.
type figure struct {
	id, what, target string
	got, floor       string
	met              bool
}

// lab is where figures are measured.
type lab struct {
	dir   string
	scale float64 // of the usual rounds
}

func (l *lab) rounds(n int) int { return max(5, int(float64(n)*l.scale)) }

func main() {
	proc.Main()
	if how := os.Getenv(asServer); how != "" {
		if how == chunks {
			os.Exit(serveChunks())
		}
		os.Exit(serveTools(how))
	}
	quick := flag.Bool("quick", false, "a tenth of the rounds")
	only := flag.String("only", "", "figures to measure, by id or name (stops, kills, terminals, agents, mcp, wires, eager, durable, calls, stream, density, loop, stall, cold), comma-separated")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the run")
	dir := flag.String("dir", "", "folder on the disk to measure; default: a temporary one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := run(ctx, *dir, *only, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, only string, quick bool) error {
	tmp, err := os.MkdirTemp(dir, "ripcord-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l := &lab{dir: tmp, scale: 1}
	if quick {
		l.scale = 0.1
	}
	runtime.GOMAXPROCS(2)
	fmt.Printf("%s/%s, %d processors (GOMAXPROCS 2), %s, kernel %s, %s\nfsync: every checkpoint is an fdatasync; floors sync the same way\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), kernel(), time.Now().Format("2006-01-02"))
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "id\tfigure\ttarget\tmeasured\tfloor in the same run\t")
	for _, m := range l.measures() {
		family, _, _ := strings.Cut(m.name, "-")
		if chosen := strings.Split(only, ","); only != "" && !slices.Contains(chosen, m.id) && !slices.Contains(chosen, m.name) && !slices.Contains(chosen, family) {
			continue
		}
		rows, err := m.f(ctx)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", m.id, m.name, err)
		}
		for _, r := range rows {
			verdict := "met"
			if !r.met {
				verdict = "MISSED"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.id, r.what, r.target, r.got, r.floor, verdict)
		}
		w.Flush()
	}
	return nil
}

// measure makes the rows of one or more figures.
type measure struct {
	id, name string // either chooses it, and what stands before a dash in the name
	f        func(context.Context) ([]figure, error)
}

func (l *lab) measures() []measure {
	return []measure{
		{"BEN-01", "stops", l.stops}, {"BEN-01", "kills", l.kills}, {"BEN-01", "terminals", l.terminals},
		{"BEN-01", "agents", l.agents}, {"BEN-01", "mcp", l.servers}, {"BEN-02", "wires", l.wires}, {"TOL-09", "eager", l.eager},
		{"BEN-04", "durable", l.durable}, {"BEN-04", "calls", l.calls}, {"BEN-06", "stream-pass", l.pass}, {"BEN-06", "stream-crowd", l.crowd}, {"BEN-08", "density", l.density}, {"BEN-09", "loop", l.loop}, {"BEN-10", "stall", l.stalls}, {"BEN-12", "cold", l.cold},
	}
}

// sample is measured durations.
type sample []time.Duration

// at returns the q-quantile.
func (s sample) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	c := slices.Clone(s)
	slices.Sort(c)
	return c[min(len(c)-1, int(q*float64(len(c))))]
}

func (s sample) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s (n=%d)", short(s.at(0.5)), short(s.at(0.99)), short(s.at(1)), len(s))
}

func short(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	v, _, _ := strings.Cut(strings.TrimSpace(string(b)), "-")
	return v
}

func size(path string) int64 {
	info, err := os.Stat(filepath.Clean(path))
	if err != nil {
		return 0
	}
	return info.Size()
}
