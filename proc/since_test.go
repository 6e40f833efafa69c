package proc_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ripcord-go/ripcord/proc"
)

// Whoever reads a spool piece by piece gets every byte once, or the number of
// those that are left out.
//
// proves TOL-22, PRC-06
func TestReadingASpoolFromAPositionLosesNothingUnsaid(t *testing.T) {
	const kept = 4096
	r := rand.New(rand.NewPCG(9, 9))
	for round := range 100 {
		f, err := os.Create(filepath.Join(t.TempDir(), "s.out"))
		if err != nil {
			t.Fatal(err)
		}
		write, _ := proc.NewSpool(f, kept)
		var all strings.Builder
		var at int64
		for range 1 + r.IntN(30) {
			for range r.IntN(3) {
				p := pieceOf(r, all.Len())
				write([]byte(p))
				all.WriteString(p)
			}
			limit := []int{0, 120 + r.IntN(kept)}[r.IntN(2)]
			out, next, err := proc.ReadSince(f, at, limit, r.IntN(2) == 0)
			if err != nil {
				t.Fatal(err)
			}
			checkSince(t, round, out, all.String(), at, next, limit)
			at = next
		}
		f.Close()
	}
}

func pieceOf(r *rand.Rand, at int) string {
	n := r.IntN(900)
	if r.IntN(15) == 0 {
		n = r.IntN(10000)
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString([]string{"a", "ß", "字", "🎈", fmt.Sprint(at + b.Len())}[r.IntN(5)])
	}
	return b.String()
}

func checkSince(t *testing.T, round int, out proc.Output, all string, from, next int64, limit int) {
	t.Helper()
	want := all[from:next]
	switch {
	case out.Bytes != int64(len(all)) || !utf8.ValidString(out.Text):
		t.Fatalf("round %d: %d bytes of %d, text %q", round, out.Bytes, len(all), out.Text)
	case limit > 0 && len(out.Text) > limit:
		t.Fatalf("round %d: %d bytes of text within %d", round, len(out.Text), limit)
	case !out.Truncated && out.Text != want:
		t.Fatalf("round %d: from %d to %d of %d: got %q, want %q", round, from, next, len(all), out.Text, want)
	case !out.Truncated:
		return
	}
	head, rest, _ := strings.Cut(out.Text, "\n… ")
	var n int
	_, err := fmt.Sscanf(rest, "%d bytes omitted …\n", &n)
	_, tail, ok := strings.Cut(rest, " bytes omitted …\n")
	if err != nil || !ok || n != len(want)-len(head)-len(tail) {
		t.Fatalf("round %d: %q does not say what is missing of %d", round, out.Text, len(want))
	}
	// A character that the ring cut at its oldest byte may be mended.
	if !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail) || int64(n) < out.Dropped {
		t.Fatalf("round %d: from %d: %q is not head and tail of %q (%d dropped)", round, from, out.Text, want, out.Dropped)
	}
}
