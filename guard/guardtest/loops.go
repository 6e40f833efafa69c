package guardtest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// looping makes one unit that a stream falls into repeating.
type looping struct {
	kind string
	unit func(w writer) string
}

// kinds are those that the thresholds were chosen with.
var kinds = []looping{
	{"word", func(w writer) string { return w.pick("harbour ", "the ", "again ", w.word()+"s ", w.word()+", ") }},
	{"phrase", func(w writer) string { return w.words(2+w.IntN(7)) + w.pick(" ", ". ", ", ", "\n") }},
	{"sentence", func(w writer) string { return w.sentence() + w.pick(" ", "\n", "\n\n") }},
	{"paragraph", func(w writer) string { return w.exactly(200+w.IntN(500)) + w.pick(" ", "\n\n") }},
	{"page", func(w writer) string { return strings.TrimSpace(w.prose(1000+w.IntN(2500))) + "\n\n" }},
	{"character", func(w writer) string { return w.pick("a", "n", "!", "?", "e", "가", "ー") }},
	{"list", func(w writer) string {
		bullet := w.pick("- ", "* ", "• ")
		return times(3+w.IntN(9), func(int) string { return bullet + w.words(1+w.IntN(6)) + "\n" })
	}},
	{"statement", func(w writer) string {
		return w.pick(
			"\tif err != nil {\n\t\treturn err\n\t}\n",
			"import os\nimport sys\n",
			"x = normalize(x)\n",
			"        self.assertEqual(result, expected)\n",
			".card { display: flex; padding: 4px; }\n") + w.pick("", "\n")
	}},
	{"thought", func(w writer) string {
		name := "`" + w.word() + "/" + w.word() + ".go`"
		return "Wait, let me check " + name + " again. " + w.sentence() + " Actually, that is not right. "
	}},
	{"asian", func(w writer) string {
		s := w.pick("같은 문장을 계속해서 출력하고 있습니다. ", "同じ文章を何度も繰り返しています。", "我需要再检查一下这个文件。", "나는 다시 확인해야 한다 ")
		return strings.Repeat(s, 1) + w.pick("", "그리고 ", "もう一度、", "\n")
	}},
	{"argument", func(w writer) string { // a string in a call's arguments
		b, _ := json.Marshal(strings.TrimSpace(w.prose(150+w.IntN(700))) + "\n\"" + w.words(3) + "\"\n\n")
		return string(b[1 : len(b)-1])
	}},
	{"markup", func(w writer) string {
		return times(1+w.IntN(3), func(int) string {
			return "<li class=\"" + w.word() + "\"><a href=\"#\">" + w.words(2+w.IntN(6)) + "</a></li>\n"
		})
	}},
}

// Loops are the looping streams of the kinds that the thresholds were chosen
// with.
func Loops() []Stream { return runaways(kinds) }

func runaways(of []looping) []Stream {
	var all []Stream
	for _, k := range of {
		for seed := range PerKind {
			w := newWriter(k.kind, seed)
			lead := ""
			switch {
			case seed%3 == 1 || k.kind == "character":
				lead = w.prose(300 + w.IntN(3000))
			case seed%3 == 2:
				lead = w.prose(4 << 10)
			}
			unit := k.unit(w)
			text := lead + strings.Repeat(unit, Runaway/len(unit)+2)
			all = append(all, Stream{Kind: k.kind, Name: k.kind + " " + strconv.Itoa(seed), Text: text, Loop: true, Begins: len(lead) + len(unit)})
		}
	}
	return all
}
