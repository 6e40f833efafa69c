package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ripcord-go/ripcord"
	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/model"
)

const (
	herd      = 10_000 // live sessions in one process
	asleep    = 2_000  // sessions that were live and are on disk only
	soakFor   = 90 * time.Second
	soakBatch = 500
)

// brief is a model that answers with a sentence.
type brief struct{}

func (brief) Info() model.Info { return model.Info{Provider: "bench", Model: "brief"} }

func (brief) Stream(context.Context, model.Request) iter.Seq2[event.Delta, error] {
	return func(yield func(event.Delta, error) bool) {
		_ = yield(event.TextDelta{Text: "That is done; ask for more."}, nil) && yield(event.Finish{Reason: event.FinishStop}, nil)
	}
}

// held is what this process holds.
type held struct {
	heap, stacks, rss uint64 // bytes
	goroutines, files int
}

func holds() held {
	for range 3 { // what finalizers free takes a second round
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := held{heap: m.HeapAlloc, stacks: m.StackInuse, goroutines: runtime.NumGoroutine()}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseUint(f[1], 10, 64)
			h.rss = pages * uint64(os.Getpagesize())
		}
	}
	if names, err := filepath.Glob("/proc/self/fd/*"); err == nil {
		h.files = len(names)
	}
	return h
}

// each is what one of n costs, KB.
func (h held) each(before held, n int) float64 {
	return (float64(h.heap) + float64(h.stacks) - float64(before.heap) - float64(before.stacks)) / float64(n) / 1024
}

// density measures what sessions cost that nobody works with: those that are on
// disk only, and those that are live and idle behind a turn. Then it has the
// live ones work in turn for a while and looks whether that leaves anything.
func (l *lab) density(ctx context.Context) (_ []figure, err error) {
	rt, dir, err := l.over(brief{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shut(ctx, rt, dir)) }()
	if _, err := l.live(ctx, rt, dir, 20, true); err != nil { // what is made once
		return nil, err
	}
	before := holds()
	n := l.rounds(asleep)
	if _, err := l.live(ctx, rt, dir, n, true); err != nil {
		return nil, err
	}
	slept := holds().each(before, n)
	want := l.rounds(herd)
	perSession := 2 // descriptors
	short := ""
	if most := maxFiles(); most < want*perSession+before.files+100 {
		want = (most - before.files - 100) / perSession
		short = fmt.Sprintf(", no more for the limit of %d descriptors", most)
	}
	before = holds()
	began := time.Now()
	ids, err := l.live(ctx, rt, dir, want, false)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	full := holds()
	awake := full.each(before, want)
	rows := []figure{
		{"BEN-08", "hibernated session: on disk only, after a turn", "≤ 4 KB", fmt.Sprintf("%.2f KB of memory (n=%d)", slept, n), "", slept <= 4},
		{"BEN-08", "live idle session after a turn, with its goroutines", "≤ 24 KB, 10,000 in one process",
			fmt.Sprintf("%.1f KB (heap %.1f, stacks %.1f), %.1f goroutines, %.1f descriptors; %d live%s, RSS %d MB, opened and asked in %s", awake,
				float64(full.heap-before.heap)/float64(want)/1024, float64(full.stacks-before.stacks)/float64(want)/1024,
				float64(full.goroutines-before.goroutines)/float64(want), float64(full.files-before.files)/float64(want), want, short, full.rss>>20, took.Round(time.Second)), "",
			awake <= 24 && want >= l.rounds(herd)*99/100},
	}
	soak, err := l.soak(ctx, rt, ids)
	return append(rows, soak), err
}

// live opens n sessions, has each answer once, and gives them up again where
// they are to sleep.
func (l *lab) live(ctx context.Context, rt *ripcord.Runtime, dir string, n int, sleep bool) (ids []event.SessionID, err error) {
	for range n {
		s, err := rt.Open(ctx, api.OpenRequest{Cwd: dir})
		if err != nil {
			return nil, err
		}
		if _, err := rt.Run(ctx, s.ID, "go"); err != nil {
			return nil, err
		}
		if sleep {
			if err := rt.Release(ctx, s.ID); err != nil {
				return nil, err
			}
			continue
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}

// soak has the sessions answer, some after the other, and compares what the
// process holds after a round of them with what it holds at the end. Each turn
// adds its words to a session: that much may grow.
func (l *lab) soak(ctx context.Context, rt *ripcord.Runtime, ids []event.SessionID) (figure, error) {
	some := ids[:min(len(ids), soakBatch)]
	round := func() error {
		for _, id := range some {
			if _, err := rt.Run(ctx, id, "go"); err != nil {
				return err
			}
		}
		return nil
	}
	if err := round(); err != nil {
		return figure{}, err
	}
	before, began, turns := holds(), time.Now(), 0
	for time.Since(began) < time.Duration(float64(soakFor)*max(l.scale, 0.1)) {
		if err := round(); err != nil {
			return figure{}, err
		}
		turns += len(some)
	}
	after := holds()
	grown := (float64(after.heap) - float64(before.heap)) / float64(max(turns, 1))
	flat := after.goroutines == before.goroutines && after.files == before.files && grown <= 4096 && after.stacks < before.stacks*11/10
	return figure{"BEN-08", fmt.Sprintf("soak of %s with %d live sessions (stands for the hour)", time.Since(began).Round(time.Second), len(ids)), "flat: no goroutine, no descriptor, a turn's own words",
		fmt.Sprintf("%d turns; goroutines %+d, descriptors %+d, heap %+.0f bytes a turn, stacks %+d KB, RSS %+d MB", turns, after.goroutines-before.goroutines,
			after.files-before.files, grown, (int64(after.stacks)-int64(before.stacks))>>10, (int64(after.rss)-int64(before.rss))>>20), "", flat}, nil
}

func maxFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return int(r.Cur)
}
