package web

import (
	"html"
	"strings"
)

// Bounds of the shape that HTML is brought into. What a converter has to do
// grows with the depth of lists and quotes times their length, and with the
// cells of the widest row times the rows.
const (
	mostDeep  = 48      // elements in each other
	mostLists = 6       // lists, quotes and tables in each other
	mostCells = 64      // of one row
	mostValue = 2 << 10 // bytes of one attribute
)

// tidy brings HTML of any kind into well-formed HTML of bounded depth that
// holds only what Markdown can say. It works like a browser's parser only as
// far as that: what is never closed is closed, what closes nothing is dropped,
// scripts and styles are left out.
type tidy struct {
	in    string
	low   string // in, its ASCII letters in lower case
	out   strings.Builder
	stack []string
	open  map[string]int
	lists int
	cells int
	title string
}

// tidied returns the page's title, as text, and its body in good shape.
func tidied(in string) (title, out string) {
	t := &tidy{in: in, low: lower(in), open: map[string]int{}}
	for at := 0; at < len(in); {
		i := strings.IndexByte(in[at:], '<')
		if i < 0 {
			t.out.WriteString(in[at:])
			break
		}
		t.out.WriteString(in[at : at+i])
		at = t.tag(at + i)
	}
	for len(t.stack) > 0 {
		t.pop()
	}
	return t.title, t.out.String()
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// tag takes what begins with the '<' at at and returns where to go on.
func (t *tidy) tag(at int) int {
	rest := t.low[at:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return t.behind(at+4, "-->")
	case strings.HasPrefix(rest, "<!"), strings.HasPrefix(rest, "<?"):
		return t.behind(at+2, ">")
	case strings.HasPrefix(rest, "</"):
		if name := nameOf(rest[2:]); name != "" {
			t.end(name)
		}
		return t.behind(at+2, ">")
	}
	name := nameOf(rest[1:])
	if name == "" {
		t.out.WriteString("&lt;")
		return at + 1
	}
	attrs, next, whole := t.attributes(at + 1 + len(name))
	if !whole {
		return len(t.in)
	}
	if hidden(name) {
		end := t.behind(next, "</"+name)
		if name == "title" && t.title == "" && t.open["body"] == 0 {
			text, _, _ := strings.Cut(t.in[next:end], "<")
			t.title = strings.Join(strings.Fields(html.UnescapeString(text)), " ")
		}
		return t.behind(end, ">")
	}
	t.begin(name, attrs)
	return next
}

// behind is the place behind mark, or the end.
func (t *tidy) behind(at int, mark string) int {
	if at >= len(t.low) {
		return len(t.low)
	}
	i := strings.Index(t.low[at:], mark)
	if i < 0 {
		return len(t.low)
	}
	return at + i + len(mark)
}

func nameOf(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return ""
	}
	i := 1
	for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= '0' && s[i] <= '9' || s[i] == '-' || s[i] == ':') {
		i++
	}
	return s[:i]
}

// hidden names what holds no text for a reader.
func hidden(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "iframe", "object", "svg", "math", "textarea", "select", "xmp", "noembed",
		"noframes", "plaintext", "title", "canvas", "video", "audio", "dialog":
		return true
	}
	return false
}

// attributes reads up to the '>' of a tag that begins before at; whole is
// false if there is none.
func (t *tidy) attributes(at int) (attrs map[string]string, next int, whole bool) {
	for at < len(t.in) {
		switch c := t.in[at]; {
		case c == '>':
			return attrs, at + 1, true
		case c == '/' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			at++
			continue
		}
		from := at
		for at < len(t.in) && !strings.ContainsRune("=> \t\n\r\f/", rune(t.in[at])) || at == from && at < len(t.in) && t.in[at] == '=' {
			at++
		}
		name, value := t.low[from:at], ""
		if at < len(t.in) && t.in[at] == '=' {
			value, at = t.value(at + 1)
		}
		if name == "href" || name == "src" || name == "alt" || name == "start" || name == "class" {
			if attrs == nil {
				attrs = map[string]string{}
			}
			attrs[name] = value
		}
	}
	return attrs, at, false
}

func (t *tidy) value(at int) (value string, next int) {
	for at < len(t.in) && strings.IndexByte(" \t\n\r\f", t.in[at]) >= 0 {
		at++
	}
	if at == len(t.in) {
		return "", at
	}
	if q := t.in[at]; q == '"' || q == '\'' {
		end := strings.IndexByte(t.in[at+1:], q)
		if end < 0 {
			return "", len(t.in)
		}
		return t.in[at+1 : at+1+end], at + end + 2
	}
	end := strings.IndexAny(t.in[at:], "> \t\n\r\f")
	if end < 0 {
		end = len(t.in) - at
	}
	return t.in[at : at+end], at + end
}

// sort is what an element is for the shape.
type sort int

const (
	dropped sort = iota // the element says nothing in Markdown, its text does
	void
	inline
	block
	nested // a block whose depth costs
)

func sortOf(name string) sort {
	switch name {
	case "br", "hr", "img":
		return void
	case "a", "b", "strong", "i", "em", "code", "kbd", "samp", "tt", "del", "s", "strike":
		return inline
	case "p", "div", "section", "article", "main", "header", "footer", "aside", "nav", "pre", "h1", "h2", "h3", "h4", "h5", "h6",
		"li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "caption", "figure", "figcaption", "address", "details", "summary":
		return block
	case "ul", "ol", "dl", "blockquote", "table":
		return nested
	}
	return dropped
}

func (t *tidy) begin(name string, attrs map[string]string) {
	kind := sortOf(name)
	switch kind {
	case dropped:
		return
	case inline:
		if t.open[name] > 0 { // one in itself says nothing more
			return
		}
	case block, nested:
		t.imply(name)
	case void:
	}
	if kind != void {
		if len(t.stack) >= mostDeep || kind == nested && t.lists >= mostLists || !t.fits(name) {
			t.out.WriteByte(' ')
			return
		}
		t.stack = append(t.stack, name)
		t.open[name]++
		if kind == nested {
			t.lists++
		}
	}
	t.out.WriteString("<" + name)
	for _, a := range kept(name) {
		if v, ok := attrs[a]; ok && len(v) <= mostValue && !strings.HasPrefix(strings.TrimSpace(v), "data:") {
			t.out.WriteString(" " + a + `="` + strings.NewReplacer(`"`, "&quot;", "<", "&lt;").Replace(v) + `"`)
		}
	}
	t.out.WriteByte('>')
}

// fits counts the cells of a row and wants cells, rows and items in what holds
// them: elsewhere a parser would move or close them, and the shape with them.
func (t *tidy) fits(name string) bool {
	switch name {
	case "tr":
		t.cells = 0
		return t.open["table"] > 0
	case "td", "th":
		t.cells++
		return t.cells <= mostCells && t.open["tr"] > 0
	case "li":
		return t.open["ul"]+t.open["ol"] > 0
	case "thead", "tbody", "tfoot", "caption":
		return t.open["table"] > 0
	}
	return true
}

func kept(name string) []string {
	switch name {
	case "a":
		return []string{"href"}
	case "img":
		return []string{"src", "alt"}
	case "ol":
		return []string{"start"}
	case "code", "pre":
		return []string{"class"}
	}
	return nil
}

// imply closes what the beginning of name closes by itself.
func (t *tidy) imply(name string) {
	switch name {
	case "li":
		t.until([]string{"li"}, "ul", "ol", "table")
	case "dt", "dd":
		t.until([]string{"dt", "dd"}, "dl", "table")
	case "td", "th":
		t.until([]string{"td", "th"}, "tr", "table")
	case "tr":
		t.until([]string{"tr"}, "table")
	case "thead", "tbody", "tfoot":
		t.until([]string{"thead", "tbody", "tfoot"}, "table")
	default:
		t.until([]string{"p"}, "li", "dd", "dt", "td", "th", "table", "blockquote", "div")
	}
}

// until closes the nearest element of names, if no stop stands above it.
func (t *tidy) until(names []string, stops ...string) {
	for i := len(t.stack) - 1; i >= 0; i-- {
		for _, n := range names {
			if t.stack[i] == n {
				for len(t.stack) > i {
					t.pop()
				}
				return
			}
		}
		for _, s := range stops {
			if t.stack[i] == s {
				return
			}
		}
	}
}

func (t *tidy) end(name string) {
	if t.open[name] == 0 {
		return
	}
	for last := ""; last != name; {
		last = t.pop()
	}
}

func (t *tidy) pop() string {
	name := t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
	t.open[name]--
	if sortOf(name) == nested {
		t.lists--
	}
	t.out.WriteString("</" + name + ">")
	return name
}
