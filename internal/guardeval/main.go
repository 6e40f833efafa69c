package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/guard"
	"github.com/ripcord-go/ripcord/guard/guardtest"
)

func main() {
	tree := flag.String("tree", "", "folder whose text files are judged as innocent, too; they do not count")
	only := flag.String("only", "", "score this part alone: loops, held, innocent, files")
	flag.Parse()
	if err := run(os.Stdout, *tree, *only); err != nil {
		fmt.Fprintln(os.Stderr, "guardeval:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, tree, only string) error {
	files, err := guardtest.Files()
	if err != nil {
		return err
	}
	parts := []struct {
		name    string
		streams []guardtest.Stream
	}{
		{"loops", guardtest.Loops()}, {"held", guardtest.HeldOut()},
		{"innocent", guardtest.Innocent()}, {"files", files},
	}
	var loops, caught, quiet, alarms, uneven int
	var all []guardtest.Stream
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "part\tkind\tstreams\tstopped\tbytes from the second copy until stopped: median, most\t")
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		all = append(all, p.streams...)
		for _, t := range guardtest.Score(p.streams) {
			delay := ""
			if n := len(t.Delay); n > 0 && t.Loop {
				slices.Sort(t.Delay)
				delay = fmt.Sprintf("%d, %d", t.Delay[n/2], t.Delay[n-1])
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t\n", p.name, t.Kind, t.Streams, t.Stopped, delay)
			if t.Loop {
				loops, caught = loops+t.Streams, caught+t.Stopped
			} else {
				quiet, alarms = quiet+t.Streams, alarms+t.Stopped
			}
			uneven += len(t.Uneven)
			for _, name := range append(t.Wrong, t.Uneven...) {
				fmt.Fprintf(table, "\tWRONG: %s\t\t\t\t\n", strings.ReplaceAll(name, "\n", "⏎"))
			}
		}
	}
	table.Flush()
	fmt.Fprintf(w, "\n%d loops, recall %.4f; %d innocent streams, %d false alarms; %d verdicts depend on the chunking\n",
		loops, ratio(caught, loops), quiet, alarms, uneven)
	speed(w, all)
	if tree != "" {
		if err := sweep(w, tree); err != nil {
			return err
		}
	}
	if loops > 0 && ratio(caught, loops) < 0.98 || alarms > 0 || uneven > 0 {
		return errors.New("the guard is not what is promised: see the lines marked WRONG")
	}
	return nil
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// speed feeds every stream once, those that are stopped up to there.
func speed(w io.Writer, all []guardtest.Stream) {
	whole := guardtest.Chunkings()[0]
	bytes, begin := int64(0), time.Now()
	for _, s := range all {
		if r, ok := guardtest.Judge(s.Text, whole); ok {
			bytes += r.At
		} else {
			bytes += int64(len(s.Text))
		}
	}
	took := time.Since(begin)
	fmt.Fprintf(w, "%.1f MB in %s, a new guard for each stream: %.0f MB/s on one core\n",
		float64(bytes)/1e6, took.Round(time.Millisecond), float64(bytes)/1e6/took.Seconds())
}

// sweep judges every text file below a folder.
func sweep(w io.Writer, dir string) error {
	files, stopped := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(b) || slices.Contains(b, 0) {
			return err
		}
		files++
		if r, ok := guard.NewLoop(guard.LoopLimits{}).Feed(string(b)); ok {
			stopped++
			fmt.Fprintf(w, "%s: %d times %q at byte %d\n", path, r.Count, r.Sample, r.At)
		}
		return nil
	})
	fmt.Fprintf(w, "%s: %d text files, %d stopped\n", dir, files, stopped)
	return err
}
