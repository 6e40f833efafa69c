package guardtest

import "strings"

// held are the kinds that were written after the thresholds were frozen.
var held = []looping{
	{"dialogue", func(w writer) string { // a model that plays both sides
		a, b := w.pick("User", "Q", "A", "Customer"), w.pick("Assistant", "Agent", "B")
		return times(1+w.IntN(3), func(int) string {
			return a + ": " + w.sentence() + "\n" + b + ": " + w.sentence() + "\n" + w.pick("", "\n")
		})
	}},
	{"function", func(w writer) string { // a block of code, again and again
		name := w.word()
		switch w.IntN(3) {
		case 0:
			return "func " + name + "(a, b int) (int, error) {\n\tif a < b {\n\t\treturn 0, errors.New(\"" + w.words(4) + "\")\n\t}\n\t// " + w.words(8) + "\n\treturn a - b, nil\n}\n\n"
		case 1:
			return "    def " + name + "(self, value):\n        \"\"\"" + w.sentence() + "\"\"\"\n        if value is None:\n            return self." + w.word() + "\n        self.items.append(value)\n\n"
		}
		return "  it('" + w.words(5) + "', async () => {\n    const " + name + " = await load('" + w.word() + "');\n    expect(" + name + ").toBe(true);\n  });\n\n"
	}},
	{"interjection", func(w writer) string {
		return w.pick("ha ha ", "ha", "no, no, ", "Oh! ", "yes yes yes ", "hm... ", "Sorry. ", "lol ", "OK. ", "stop ", "haha, ", "go go ") + w.pick("", w.pick("really ", "well, "))
	}},
	{"emoji", func(w writer) string {
		return w.pick("😂", "🎉🎉 ", "🙏", "❤️", "👩‍💻", "🔥 ", "✨", "so good 😂 ", "👍🏽", "🚀🚀🚀", "⭐", "😭 why ")
	}},
	{"path", func(w writer) string { // segments of a path or an address
		s := times(1+w.IntN(4), func(int) string { return w.word() + "/" })
		return w.pick(s, "../", "https://"+w.word()+".test/"+s+" ", "node_modules/"+s, strings.ReplaceAll(s, "/", "."), strings.ReplaceAll(s, "/", "_"))
	}},
	{"derivation", func(w writer) string { // lines of a calculation
		return w.pick(
			"Let x = "+w.digits(2)+". Then 2x + 1 = "+w.digits(3)+", so x = "+w.digits(2)+". ",
			"$$\\frac{a}{b} = \\frac{c}{d} \\implies ad = bc$$\n\nSo "+w.words(6)+".\n\n",
			"= (a + b)(a - b)\n= a^2 - b^2\n",
			"Therefore n is even, hence n + 1 is odd. But n + 1 is even, a contradiction. ",
			"+ "+w.digits(3)+" = "+w.digits(4)+"\n")
	}},
}

// HeldOut are the looping streams of those kinds, see the package's page.
func HeldOut() []Stream { return runaways(held) }
