package scripted

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// prose makes words that vary and are the same in each answer: a long stream
// out of one word is degenerate repetition, and is cut as that.
type prose struct {
	rng   *rand.Rand
	words []string
	left  int // words of the sentence that is being written
}

func newProse() *prose { return &prose{rng: rand.New(rand.NewPCG(5, 8)), words: vocabulary()} }

// word is the next one, with what stands behind it.
func (p *prose) word() string {
	w := p.words[p.rng.IntN(len(p.words))]
	if p.left == 0 {
		p.left = 4 + p.rng.IntN(12)
		w = strings.ToUpper(w[:1]) + w[1:]
	}
	if p.left--; p.left == 0 {
		return w + ". "
	}
	if p.rng.IntN(9) == 0 {
		return w + ", "
	}
	return w + " "
}

// characters is a text of exactly n of them.
func (p *prose) characters(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(p.word())
	}
	return b.String()[:n]
}

var proseIn = regexp.MustCompile(`\$\{prose [0-9]{1,7}\}`)

// fillProse puts n characters in place of each ${prose n}. They need no escape.
func fillProse(s string) string {
	return proseIn.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.Atoi(m[len("${prose ") : len(m)-1])
		if err != nil {
			return m // never: the pattern has digits only
		}
		return newProse().characters(n)
	})
}

func vocabulary() []string {
	return strings.Fields(`a able about above across after again all almost along already also always among an and another
		any arrive at away back bank basket because before begin below beside between bird board boat both bread bridge bring
		build but by candle carry chair cloud coast cold colour come cook corner count cover cross cup day deep door down draw
		early east edge either empty end engine enough even evening every far mill field find fire fish floor fold follow for
		forest found from full garden gate give glass go grain grass green ground hand harbour hard have heavy hill hold house
		if in inside into iron island it join journey keep kettle know lake lamp land late lead leaf leave less letter lift
		light line listen little long lower make many map market meadow measure meet metal mill mind mirror moon more morning
		most mountain move much narrow near never new next night north not nothing now oak of often oil old on once one open or
		orchard other our out over own page paint paper part path people piece place plain plant pond press pull quiet rain
		read red rest river road roof room root rope round sail salt sand sea season second seed sell send several shade shape
		share shed ship shore short side silver simple since sit sky slow small smoke snow soft some song south spring square
		stair stand station stay steady steam step still stone storm story straight street strong such summer sun table take
		tall tell than that their then there they thin this thread through tide timber to together too tower town track trade
		train travel tree turn under until up upper use valley very village visit wait walk wall warm watch water way weather
		week west wheat wheel when where while white wide wind window winter with within wood wool word work world write year
		yellow yet young`)
}
