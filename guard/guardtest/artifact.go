package guardtest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Artifact is a page that a stream was cut in, and what the probe rule must say
// of it.
type Artifact struct {
	Text  string
	Runes int // where it was cut, in code points
	Score int
}

// Artifacts are made like the three of the published incident: pages of about
// thirty thousand characters, cut within one character of each other, whose last
// sixteen stand 2, 18 and 2 times in them.
func Artifacts() []Artifact {
	return []Artifact{page(30807, 2, 1), page(30806, 18, 2), page(30807, 2, 3)}
}

// page is a mock-up of a flat's page that is cut behind the unit of a table's
// row, which stands there for the score-th time.
func page(runes, score, seed int) Artifact {
	const unit = "</td><td>m²</td>"
	w := newWriter("artifact", seed)
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"ko\">\n<head><title>매물 상세</title></head>\n<body>\n")
	last := "<tr><td>" + w.digits(2) + unit
	for room := 1; ; room++ {
		card := fmt.Sprintf("<section class=\"room\" id=\"room-%d\">\n  <h2>%s</h2>\n  <p>%s</p>\n</section>\n", room, w.words(3), w.prose(300))
		if room < score {
			card += "<table><tr><td>" + w.digits(2) + unit + "</tr></table>\n"
		}
		if utf8.RuneCountInString(b.String()+card+last) > runes {
			break
		}
		b.WriteString(card)
	}
	left := runes - utf8.RuneCountInString(b.String()+last)
	b.WriteString(w.exactly(left))
	b.WriteString(last)
	return Artifact{Text: b.String(), Runes: runes, Score: score}
}
