package guardtest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// innocent makes a stream that must not be stopped.
type innocent struct {
	kind string
	text func(w writer) string
}

// perInnocent is how many streams an innocent kind has: there are more kinds.
const perInnocent = 3

// Innocent are the generated streams that must not be stopped. Each stands
// behind varied text in two of three.
func Innocent() []Stream {
	var all []Stream
	for _, k := range innocents() {
		for seed := range perInnocent {
			w := newWriter(k.kind, seed)
			text := w.prose(seed*1500) + k.text(w) + w.prose(200)
			all = append(all, Stream{Kind: k.kind, Name: k.kind + " " + strconv.Itoa(seed), Text: text})
		}
	}
	return all
}

func innocents() []innocent {
	var all []innocent
	for _, some := range [][]innocent{tables, layouts, data, programs, records, texts} {
		all = append(all, some...)
	}
	return all
}

var tables = []innocent{
	{"table of equal cells", func(w writer) string {
		return "| n | a | b | c | d | e |\n|---|---|---|---|---|---|\n" +
			times(60, func(i int) string { return line("| %d | ok | ok | 0 | - | yes |", i+1) }) +
			times(60, func(i int) string { return line("|%d|ok|ok|0|-|yes|", i+1) })
	}},
	{"table of equal rows", func(w writer) string {
		row := "| " + w.word() + " | ok | " + w.words(3) + " | - | yes |\n"
		return strings.Repeat(row, 60)
	}},
	{"table with padding", func(w writer) string {
		return times(80, func(int) string {
			return line("| %-40s | %-12s | %30s |", w.words(3), w.word(), w.digits(4))
		})
	}},
	{"empty table", func(w writer) string { return strings.Repeat("|"+strings.Repeat("          |", 6)+"\n", 90) }},
	{"table of a terminal", func(w writer) string {
		rule := "├" + strings.Repeat("─", 38) + "┼" + strings.Repeat("─", 20) + "┤\n"
		return times(60, func(int) string { return fmt.Sprintf("│ %-36s │ %-18s │\n", w.words(3), w.word()) + rule })
	}},
}

var layouts = []innocent{
	{"rule and padding", func(w writer) string {
		return strings.Repeat("-", 78) + "\n" + strings.Repeat(" ", 120) + "|\n" + strings.Repeat("=", 64) + "\n" + w.prose(1<<16)
	}},
	{"separator lines", func(w writer) string {
		return strings.Repeat("// "+strings.Repeat(w.pick("=", "-", "*"), 60+w.IntN(18))+"\n", 360)
	}},
	{"sections", func(w writer) string {
		rule := "// ==== " + w.words(2) + " " + strings.Repeat("=", 60) + "\n"
		return times(120, func(int) string { return rule + "func " + w.word() + w.word() + "() { " + w.word() + "() }\n\n" })
	}},
	{"white space", func(w writer) string { return strings.Repeat(w.pick(" ", "\n", "\t", " \n"), 9000) }},
	{"leaders", func(w writer) string {
		return times(90, func(i int) string {
			return line("%s %s %d", w.words(3), strings.Repeat(".", 60), i)
		})
	}},
	{"picture", func(w writer) string {
		brick := "|___|___|___|___|___|___|___|\n|_|___|___|___|___|___|___|_|\n"
		return strings.Repeat(brick, 60) + strings.Repeat(strings.Repeat("XX  ", 20)+"\n"+strings.Repeat("  XX", 20)+"\n", 40) + strings.Repeat(strings.Repeat("M", 70)+"\n", 40)
	}},
	{"tree", func(w writer) string {
		return times(200, func(int) string { return strings.Repeat("│   ", w.IntN(5)) + "├── " + w.word() + ".go\n" })
	}},
	{"progress", func(w writer) string {
		return times(100, func(i int) string {
			return line("[%s%s] %3d%%", strings.Repeat("#", i/2), strings.Repeat(" ", 50-i/2), i)
		})
	}},
}

var data = []innocent{
	{"base64", func(w writer) string {
		return base64.StdEncoding.EncodeToString([]byte(w.from("\x00\x01abc\xfe\xff", 24<<10)))
	}},
	{"base64 of zeros", func(w writer) string {
		s := base64.StdEncoding.EncodeToString([]byte(w.from("\x00\x01abc\xfe\xff", 3<<10) + strings.Repeat("\x00", 10<<10)))
		if w.IntN(2) == 0 {
			return s
		}
		return times(len(s)/76, func(i int) string { return s[i*76:(i+1)*76] + "\n" })
	}},
	{"base64 of a pattern", func(w writer) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(w.from("abc\xfe\xff", 3+w.IntN(9)), 2<<10)))
	}},
	{"hex", func(w writer) string {
		return hex.EncodeToString([]byte(w.prose(8<<10))) + "\n" + strings.Repeat(w.pick("deadbeef", "00", "ff00", "cafe"), 1500)
	}},
	{"hex dump of zeros", func(w writer) string {
		return times(600, func(i int) string {
			return line("%08x  %s |%s|", i*16, strings.Repeat("00 ", 16), strings.Repeat(".", 16))
		})
	}},
	{"array of zeros", func(w writer) string {
		if w.IntN(2) == 0 {
			return "[" + strings.Repeat("0, ", 8000) + "0]\n"
		}
		return "var zeros = []byte{\n" + strings.Repeat("\t"+strings.Repeat(w.pick("0x00, ", "0, "), 16)+"\n", 250) + "}\n"
	}},
	{"array of booleans", func(w writer) string {
		return "[" + strings.Repeat(w.pick("false, ", "true,", "null,", "nil, "), 3000) + "true]\n"
	}},
	{"array of digits", func(w writer) string {
		return "[" + times(5000, func(int) string { return w.digits(1) + "," }) + "0]\n"
	}},
	{"objects of equal keys", func(w writer) string {
		return "[" + times(400, func(i int) string {
			return fmt.Sprintf("{\"id\": %d, \"name\": %q, \"state\": \"active\", \"score\": %d},\n", i, w.word(), w.IntN(10))
		}) + "{}]\n"
	}},
	{"equal objects", func(w writer) string {
		return "[" + strings.Repeat("{\"state\": \"active\", \"owner\": \""+w.word()+"\", \"tags\": []},\n", 150) + "{}]\n"
	}},
	{"rows", func(w writer) string {
		return times(500, func(i int) string {
			return line("%d,%s,%s,active,0,0,%s", i, w.pick("north", "south"), w.word(), w.pick("yes", "no"))
		})
	}},
	{"equal rows", func(w writer) string { return strings.Repeat(w.word()+","+w.word()+",active,0,0,yes\n", 250) }},
	{"column", func(w writer) string { return strings.Repeat(w.pick("yes\n", "active\n", "north\nsouth\n"), 1200) }},
	{"sequence", func(w writer) string {
		return ">seq\n" + strings.Repeat(w.from("ACGT", 60)+"\n", 200) + strings.Repeat("ACGT", 1200) + "\n"
	}},
	{"records of lines", func(w writer) string {
		return times(500, func(i int) string {
			return line("{\"t\":%d,\"level\":\"info\",\"msg\":\"%s\",\"ok\":true}", 1700000000+i, w.pick("request done", "cache hit"))
		})
	}},
	{"path of a picture", func(w writer) string {
		return "<path d=\"M0 0" + times(900, func(int) string { return "l" + w.digits(2) + " 0v" + w.digits(1) }) + "\"/>"
	}},
}

var programs = []innocent{
	{"minified", func(w writer) string {
		return times(900, func(int) string {
			return w.pick("function(e){return e}", "var a=t(n),", "if(!e)return;", "a.push(1),", "void 0,", "e.exports=n(7);") + w.from("abcdefgh", 1)
		})
	}},
	{"unrolled", func(w writer) string {
		return strings.Repeat("\tx = step(x)\n", 64) + strings.Repeat("\tADDQ AX, BX\n", 256)
	}},
	{"cards", func(w writer) string {
		return times(60, func(i int) string {
			return fmt.Sprintf("<div class=\"card\">\n  <h3>%s %d</h3>\n  <p class=\"price\">%s</p>\n  <button>Buy now</button>\n</div>\n", w.word(), i, w.digits(3))
		})
	}},
	{"equal cards", func(w writer) string {
		return strings.Repeat("<div class=\"card\"><h3>Product</h3><p>Short text of the product.</p><a href=\"#\">More</a></div>\n", 200)
	}},
	{"empty elements", func(w writer) string {
		return strings.Repeat("<div class=\"card\"></div>\n", 200) + strings.Repeat("<td></td>", 900)
	}},
	{"cards of lorem", func(w writer) string {
		return strings.Repeat("<div class=\"card\">\n  <h3>Lorem ipsum</h3>\n  <p>"+lorem+"</p>\n</div>\n", 12)
	}},
	{"licences of files", func(w writer) string {
		return times(20, func(i int) string {
			return licence + line("package %s%d", w.word(), i) + "\n"
		})
	}},
	{"licence twice", func(w writer) string { return licence + licence + "package main\n" }},
	{"statements", func(w writer) string {
		return times(400, func(i int) string {
			return line("INSERT INTO items (id, name, state) VALUES (%d, '%s', 'active');", i, w.word())
		})
	}},
	{"boilerplate", func(w writer) string {
		return times(120, func(i int) string {
			return fmt.Sprintf("\tv%d, err := read%s(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n", i, w.word())
		})
	}},
	{"difference", func(w writer) string {
		return times(60, func(i int) string {
			return line("@@ -%d,3 +%d,3 @@", i*9, i*9) + " \treturn nil\n-\tfoo(a, b)\n+\tbar(a, b)\n \t}\n"
		})
	}},
	{"test text", func(w writer) string {
		return "input := \"" + strings.Repeat("the quick brown fox ", 50) + "\"\nlong := \"" + strings.Repeat("a", 1000) + "\"\n"
	}},
}

var records = []innocent{
	{"log", func(w writer) string {
		return times(600, func(i int) string {
			return line("2026-01-02T10:%02d:%02d.%03dZ INFO  heartbeat ok, queue is empty", i/60%60, i%60, w.IntN(1000))
		})
	}},
	{"log without times", func(w writer) string {
		return strings.Repeat("[WARN] connection refused, retrying in 5s\n", 200) + strings.Repeat("npm WARN deprecated\n", 80)
	}},
	{"output of tests", func(w writer) string {
		return times(300, func(i int) string {
			return fmt.Sprintf("=== RUN   TestThing/case_%d\n--- PASS: TestThing/case_%d (0.00s)\n", i, i)
		}) + strings.Repeat("PASS\n", 400) + strings.Repeat("ok\n", 300)
	}},
	{"packages", func(w writer) string {
		return times(200, func(i int) string { return line("?   \texample.test/%s/%s\t[no test files]", w.word(), w.word()) })
	}},
	{"benchmarks", func(w writer) string {
		return times(200, func(int) string {
			return line("BenchmarkFeed-8   \t 1000000\t      %s ns/op\t       0 B/op", w.digits(3))
		})
	}},
	{"dots", func(w writer) string { return strings.Repeat(".", 1500) + "F" + strings.Repeat(".", 3000) + "\n" }},
	{"settings", func(w writer) string {
		return times(150, func(i int) string { return line("- name: %s\n  enabled: true\n  retries: 3\n  level: info", w.word()) })
	}},
}

var texts = []innocent{
	{"lorem", func(w writer) string { return strings.Repeat(lorem+"\n\n", 5) }},
	{"prose", func(w writer) string { return w.prose(100 << 10) }},
	{"refrain", func(w writer) string {
		refrain := strings.Repeat("Row on, row on, the harbour is near, row on.\n", 4)
		return times(12, func(int) string { return w.sentence() + "\n" + w.sentence() + "\n\n" + refrain + "\n" })
	}},
	{"counter", func(w writer) string {
		s := w.exactly(200)
		return times(60, func(i int) string { return line("Step %d. %s", i+1, s) })
	}},
	{"checklist", func(w writer) string {
		return times(200, func(i int) string { return line("- [ ] check the %s of the %s", w.word(), w.word()) })
	}},
	{"chant", func(w writer) string { return strings.Repeat("no ", 120) + strings.Repeat("Let it snow! ", 30) }},
	{"few words", func(w writer) string { // the vocabulary of a debate, shuffled
		return times(2500, func(int) string { return w.pick("yes ", "no ", "maybe ", "but ", "then ", "why ") })
	}},
}

const lorem = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. " +
	"Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. " +
	"Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur."

const licence = `// This file belongs to the example project and may be used, copied, changed
// and passed on by anybody under the terms of the licence that comes with it.
// There is no warranty of any kind; whoever uses it does so at their own risk
// and keeps this notice in every copy that they make or hand to others.

`
