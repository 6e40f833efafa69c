package guardtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer makes text from a seed.
type writer struct{ *rand.Rand }

func newWriter(kind string, seed int) writer {
	var sum uint64 = 14695981039346656037
	for _, c := range []byte(kind) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return writer{rand.New(rand.NewPCG(sum, uint64(seed)))}
}

var vocabulary = strings.Fields(`a about above after again all almost along also always am an and another any are around as ask at away
back be because been before began begin being below best better between big book both boat bridge bring but by call came can change
city clear close cold come could country cut day did do does done door down draw dry each early earth end enough even ever every eye
face fact family far mill feel few field find fire first five follow food for form found four from full gave get give go good great
green ground group grow had half hand hard harbour has have he head hear help here high hold home horse hour house how idea if in into
island it its just keep kind king know land large last late later learn leave left letter life light like line list little live long
look lost low made make man many map may measure men might mile mind miss money more morning most mother mountain move much music must
name near need never new next night no north not note nothing notice now number of off often old on once one only open or order other
our out over own page paper part pass pattern people picture piece place plain plan plant play point port problem pull question quick
rain ran reach read ready real record red remember rest right river road rock room round rule run said sail same saw say school sea
second see seem sentence set several ship short should show side simple since sing sit slow small snow so some song soon sound south
stand star start state stay still stone stood stop story street strong study such sun sure table take talk teach tell ten than that the
their them then there these they thing think this those though thought three through time to together told too took top toward town
travel tree true try turn two under until up upon us use usual very voice vowel walk wall want war warm was watch water way we week
weight well went were west what wheel when where which while white who whole why wind winter with wood word work world would write year
you young your`)

func (w writer) word() string { return vocabulary[w.IntN(len(vocabulary))] }

func (w writer) words(n int) string {
	b := make([]string, n)
	for i := range b {
		b[i] = w.word()
	}
	return strings.Join(b, " ")
}

func (w writer) sentence() string {
	s := w.words(5 + w.IntN(14))
	if w.IntN(3) == 0 {
		s += ", " + w.words(3+w.IntN(6))
	}
	return strings.ToUpper(s[:1]) + s[1:] + w.pick(".", ".", ".", ".", "?", "!", ":")
}

// prose is varied text of at least n bytes, in paragraphs.
func (w writer) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		for range 3 + w.IntN(5) {
			b.WriteString(w.sentence())
			b.WriteString(w.pick(" ", " ", " ", "\n"))
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// exactly is varied text of n bytes on one line.
func (w writer) exactly(n int) string {
	s := strings.ReplaceAll(w.prose(n+1), "\n", " ")
	return strings.Trim(s[:n-1], " ") + strings.Repeat(".", n-len(strings.Trim(s[:n-1], " ")))
}

func (w writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w writer) digits(n int) string { return w.from("0123456789", n) }

func (w writer) from(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[w.IntN(len(set))]
	}
	return string(b)
}

// times joins what f says for 0 to n-1.
func times(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

func line(format string, a ...any) string { return fmt.Sprintf(format, a...) + "\n" }
