package guard_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ripcord-go/ripcord/guard"
)

func place(content string, stream int) guard.Place {
	return guard.Place{Provider: "openai-chat", Model: "m", Tool: "write", Prefix: guard.Prefix(content), Sums: guard.Sums(content), Stream: stream, Argument: stream - 1163}
}

// proves GRD-04
func TestOnlyEqualContentAtANearlyEqualPositionIsTheSamePlace(t *testing.T) {
	page := strings.Repeat("<section>a page of its own</section>\n", 1000)
	other := "<nav>" + page
	base := place(page, 31_970)
	change := func(f func(*guard.Place)) guard.Place { p := base; f(&p); return p }
	for _, c := range []struct {
		name string
		at   guard.Place
		same bool
	}{
		{"the same cut", base, true},
		{"one code point off, as the incident was", change(func(p *guard.Place) { p.Stream++; p.Argument++ }), true},
		{"at the tolerance", change(func(p *guard.Place) { p.Stream += 63 }), true},
		{"over the tolerance", change(func(p *guard.Place) { p.Stream += 65 }), false},
		{"far behind it", change(func(p *guard.Place) { p.Stream += 5000 }), false},
		{"equal size, other content", place(other, 31_970), false},
		{"another tool", change(func(p *guard.Place) { p.Tool = "edit" }), false},
		{"another model", change(func(p *guard.Place) { p.Model = "n" }), false},
		{"another provider", change(func(p *guard.Place) { p.Provider = "anthropic" }), false},
		{"in text, not in a call", change(func(p *guard.Place) { p.Tool = "" }), false},
	} {
		if c.at.Same(base) != c.same || base.Same(c.at) != c.same {
			t.Errorf("%s: %v, want %v both ways", c.name, c.at.Same(base), c.same)
		}
	}
	for _, c := range []struct {
		a, b int
		same bool
	}{{0, 8, true}, {0, 9, false}, {100, 108, true}, {100, 109, false}, {30_806, 30_807, true}} {
		if got := place(page, c.a).Same(place(page, c.b)); got != c.same {
			t.Errorf("%d and %d: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

// proves GRD-04
func TestAContentIsKnownByItsFirst4096CodePoints(t *testing.T) {
	head := strings.Repeat("é", 4096)
	if guard.Prefix(head+"one") != guard.Prefix(head+"two") {
		t.Error("what stands behind the prefix makes a difference")
	}
	if guard.Prefix(head[:len(head)-2]+"x") == guard.Prefix(head) {
		t.Error("the prefix's last code point makes none")
	}
	if guard.Prefix("a") == guard.Prefix("b") || guard.Prefix("") == guard.Prefix("a") {
		t.Error("short contents are all one")
	}
}

// proves GRD-04: a content that is shorter than what a long one is known by is
// known as far as both cuts of it go
func TestAShortContentIsKnownAgainALittleFurtherOn(t *testing.T) {
	text := []rune(strings.Repeat("<p>größe, harbour, quiet street</p>", 200))
	for i := range text { // no two parts of it are alike
		if i%7 == 0 {
			text[i] = rune('a' + i*i%25)
		}
	}
	cut := func(n int) guard.Place { return place(string(text[:n]), n) }
	for n := 80; n <= 4200; n += 1 + n/60 {
		for _, more := range []int{0, 1, 2, 8} {
			if a, b := cut(n), cut(n+more); !a.Same(b) || !b.Same(a) {
				t.Errorf("%d and %d of one text are two places: %s, %s", n, n+more, a.Sums, b.Sums)
			}
			other := slices.Clone(text[:n+more])
			other[n-16]++ // both go beyond it
			if a, b := cut(n), place(string(other), n+more); n < 4096 && (a.Same(b) || b.Same(a)) {
				t.Errorf("%d and %d of two texts are one place", n, n+more)
			}
		}
	}
	old := cut(1187)
	old.Sums = ""
	if old.Same(cut(1185)) || cut(1185).Same(old) || !old.Same(cut(1187)) {
		t.Error("an older record's one sum is not compared as a whole")
	}
	if place("I will", 6).Same(place("I wish", 6)) || place("Let me look at the file", 23).Same(place("Let me look at the page", 23)) || cut(60).Same(cut(62)) {
		t.Error("a few words are a place")
	}
	if a := place(strings.Repeat("é", 4096)+"one", 4099); a.Sums != place(strings.Repeat("é", 4096)+"two", 4099).Sums || len(a.Sums) > 150 {
		t.Errorf("of a long content: %s", a.Sums)
	}
	if n := len(strings.Split(guard.Sums(""), ",")); n != 1 {
		t.Errorf("%d sums of nothing", n)
	}
}

// proves GRD-04
func TestASessionRemembersItsLast64Cuts(t *testing.T) {
	var p guard.Places
	if _, seen := p.Seen(place("x", 10)); seen {
		t.Error("no cut was noted, one is known")
	}
	for i := range 65 {
		p.Note(place("x", i*1000))
	}
	if _, seen := p.Seen(place("x", 0)); seen {
		t.Error("the first of 65 is still known")
	}
	if at, seen := p.Seen(place("x", 1001)); !seen || at.Stream != 1000 {
		t.Errorf("the second is %+v, %v", at, seen)
	}
	p.Note(place("x", 1002))
	if at, _ := p.Seen(place("x", 1001)); at.Stream != 1002 {
		t.Errorf("the older of two was given: %+v", at)
	}
}

// proves GRD-04
func TestAPlaceIsTheSameBothWaysAndAsItself(t *testing.T) {
	draw := func(t *rapid.T, name string) guard.Place {
		return guard.Place{
			Provider: rapid.SampledFrom([]string{"a", "b"}).Draw(t, name), Model: "m", Tool: rapid.SampledFrom([]string{"", "write"}).Draw(t, name),
			Prefix: rapid.SampledFrom([]string{"p", "q"}).Draw(t, name), Stream: rapid.IntRange(0, 40_000).Draw(t, name),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if !a.Same(a) || a.Same(b) != b.Same(a) {
			t.Fatalf("%+v and %+v", a, b)
		}
		if a.Same(b) && a.Prefix != b.Prefix {
			t.Fatal("size alone was enough")
		}
	})
}
