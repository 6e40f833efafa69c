package guard_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ripcord-go/ripcord/guard"
)

// BenchmarkLoop is the stream loop guard on what costs it most and on what is
// usual; go run ./bench has the figure.
func BenchmarkLoop(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 9))
	noise := func(set string) string {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"prose": prose(1 << 20), "two letters": noise("ab"), "digits": noise("0123456789,"),
		"rows": strings.Repeat("|ok|0|\n", 1<<20/7), "zeros": strings.Repeat("0", 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			l := guard.NewLoop(guard.LoopLimits{Words: 1 << 40, Code: 1 << 40, Markup: 1 << 40, Layout: 1 << 40})
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				l.Feed(text)
			}
		})
	}
}
