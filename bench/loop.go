package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/ripcord-go/ripcord/guard"
)

// loopTarget is what the stream loop guard must do on its worst input, in MB/s
// on one core.
const loopTarget = 100

// loop measures the stream loop guard: on inputs that cost it most, over periods
// and over windows. The limits are out of reach, so that nothing ends it.
func (l *lab) loop(ctx context.Context) ([]figure, error) {
	never := guard.LoopLimits{Words: 1 << 40, Code: 1 << 40, Markup: 1 << 40, Layout: 1 << 40}
	n := max(1<<20, int(16<<20*l.scale))
	worst := []input{
		{"two letters", noise("ab", n), never}, {"bytes", noise("", n), never}, {"words", noise("ab cde fgh ", n), never},
		{"runs that are judged and break", broken(n), guard.LoopLimits{Layout: 1 << 40}},
	}
	var periods, windows []input
	for _, p := range []int{1, 8, 77, 320, 2000, 16000} {
		periods = append(periods, input{fmt.Sprintf("period %d", p), strings.Repeat(noise("abcdef ", p), n/p), never})
	}
	for _, w := range []int{16 << 10, 64 << 10, 256 << 10} {
		limits := never
		limits.Window = w
		windows = append(windows, input{fmt.Sprintf("window %d KiB", w>>10), noise("abcdef ", n), limits})
	}
	return []figure{
		l.pace(ctx, "worst input", worst), l.pace(ctx, "periods", periods), l.pace(ctx, "windows", windows),
	}, ctx.Err()
}

// input is a text that a guard with these limits is fed.
type input struct {
	name, text string
	limits     guard.LoopLimits
}

// pace feeds each input in deltas of 13 bytes, several times, and keeps its
// fastest time: what else the machine does only makes it slower. The floor is
// one multiplication a byte, a plain hash.
func (l *lab) pace(ctx context.Context, what string, of []input) figure {
	const delta = 13
	f := figure{id: "BEN-09", what: "loop guard, " + what, target: fmt.Sprintf(">= %d MB/s a core", loopTarget), met: true}
	best := make([]time.Duration, len(of))
	floor := time.Duration(1 << 62)
	for range max(3, l.rounds(7)) {
		for i, in := range of {
			if ctx.Err() != nil {
				return f
			}
			g := guard.NewLoop(in.limits)
			g.Feed(" ")
			begin := time.Now()
			for t := in.text; t != ""; t = t[min(delta, len(t)):] {
				g.Feed(t[:min(delta, len(t))])
			}
			if d := time.Since(begin); best[i] == 0 || d < best[i] {
				best[i] = d
			}
		}
		h := fnv.New64a()
		begin := time.Now()
		h.Write([]byte(of[0].text))
		floor = min(floor, time.Since(begin))
		runtime.KeepAlive(h.Sum64())
	}
	var parts []string
	for i, in := range of {
		mbs := float64(len(in.text)) / 1e6 / best[i].Seconds()
		parts = append(parts, fmt.Sprintf("%s %.0f", in.name, mbs))
		f.met = f.met && mbs >= loopTarget
	}
	f.got = strings.Join(parts, ", ") + " MB/s"
	f.floor = fmt.Sprintf("plain hash %.0f MB/s", float64(len(of[0].text))/1e6/floor.Seconds())
	return f
}

// noise is n seeded bytes out of a set, or out of all.
func noise(set string, n int) string {
	r := rand.New(rand.NewPCG(9, uint64(len(set))))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if set != "" {
			b[i] = set[int(b[i])%len(set)]
		}
	}
	return string(b)
}

// broken is runs that are just long enough to be judged, of ever other units
// that are judged innocent.
func broken(n int) string {
	r := rand.New(rand.NewPCG(9, 1))
	var b strings.Builder
	for b.Len() < n {
		unit := make([]byte, 500+r.IntN(4000))
		for i := range unit {
			unit[i] = "0123456789;,.=|/ "[r.IntN(17)]
		}
		copies := max(2048, 4*len(unit), min(7*len(unit), 8192))/len(unit) + 1
		b.WriteString(strings.Repeat(string(unit), copies))
	}
	return b.String()
}
