package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ripcord-go/ripcord/event"
)

func main() {
	ctx := context.Background()
	roles(ctx)
	var o options
	flag.BoolVar(&o.verbose, "v", false, "say what was seen in each cell")
	flag.StringVar(&o.only, "only", "", "run the cells whose name, such as bash/stopped, holds this")
	flag.StringVar(&o.wire, "wire", "anthropic", "openai-chat, openai-responses or anthropic; only the last has a flag for errors")
	flag.IntVar(&o.side, "j", 4, "cells side by side")
	flag.Parse()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	wrong, err := run(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
	}
	if err != nil || wrong > 0 {
		os.Exit(1)
	}
}

// options say which cells are run.
type options struct {
	verbose bool
	only    string
	wire    string
	side    int
	few     bool // a quarter of the cells, which shows each kind and each outcome
	from    int  // which quarter
}

func (o options) wants(name string, i, j int) bool {
	return strings.Contains(name, o.only) && (!o.few || (i+j)%4 == o.from)
}

// run drives the cells, prints the table and returns how many are wrong.
func run(ctx context.Context, w io.Writer, o options) (wrong int, err error) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return 0, fmt.Errorf("it looks at the process table in /proc, and there is none here")
	}
	dir, err := os.MkdirTemp("", "ripcord-matrix-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	seats := make(chan struct{}, max(o.side, 1))
	table := map[string]*cell{}
	failed := map[string]error{}
	var mu sync.Mutex
	for i, k := range kinds() {
		for j, col := range columns {
			c := &cell{ctx: ctx, k: k, column: col, s: setting{Wire: o.wire, Dir: filepath.Join(dir, fmt.Sprintf("%s-%d-%d", filepath.Base(dir), i, j))}}
			if k.cant[col.o] != "" || !o.wants(c.name(), i, j) {
				continue
			}
			table[c.name()] = c
			wg.Go(func() {
				seats <- struct{}{}
				defer func() { <-seats }()
				if err := c.run(); err != nil {
					mu.Lock()
					failed[c.name()] = err
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return report(w, o, table, failed), nil
}

// report prints the table, and below it what is wrong and what can't be.
func report(w io.Writer, o options, table map[string]*cell, failed map[string]error) (wrong int) {
	fmt.Fprintf(w, "%-12s", "")
	for _, col := range columns {
		fmt.Fprintf(w, " %-13s", col)
	}
	fmt.Fprintln(w)
	var below strings.Builder
	right := 0
	for _, k := range kinds() {
		fmt.Fprintf(w, "%-12s", k.name)
		for _, col := range columns {
			c := table[k.name+"/"+col.String()]
			word := "right"
			switch {
			case k.cant[col.o] != "":
				word = "—"
				fmt.Fprintf(&below, "—      %s/%s: %s\n", k.name, col, k.cant[col.o])
			case c == nil:
				word = "not run"
			case failed[c.name()] != nil || len(c.faults) > 0:
				word = "WRONG"
				wrong++
				tell(&below, c, failed[c.name()])
			default:
				right++
				if o.verbose {
					tell(&below, c, nil)
				}
			}
			fmt.Fprintf(w, " %-13s", word)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%s", below.String())
	fmt.Fprintf(w, "compared in each cell: call/ended on disk, the result object, what the chat prints, the next request on a strict %s model, and what was really done\n", o.wire)
	fmt.Fprintf(w, "%d cells right, %d wrong\n", right, wrong)
	return wrong
}

func tell(w io.Writer, c *cell, err error) {
	for _, f := range c.faults {
		fmt.Fprintf(w, "WRONG  %s: %s\n", c.name(), strings.ReplaceAll(strings.TrimSpace(f), "\n", "\n       "))
	}
	switch {
	case err != nil:
		fmt.Fprintf(w, "WRONG  %s could not be driven: %v\n", c.name(), err)
	case len(c.faults) == 0:
		text := ""
		if e := all[event.CallEnded](c.records(), theCall); len(e) > 0 {
			text = e[0].Content.Text()
		}
		fmt.Fprintf(w, "right  %s (%s)\n       model: %s\n       chat:  %s\n", c.name(), rules[c.o].how, strings.ReplaceAll(text, "\n", "\n              "), strings.ReplaceAll(strings.TrimSpace(c.chat), "\n", "\n              "))
	}
}
