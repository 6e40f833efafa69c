package builtin

import (
	"fmt"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// The lines that give a patch its shape.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File:"
	patchUpdate = "*** Update File:"
	patchDelete = "*** Delete File:"
	patchMove   = "*** Move to:"
	patchEOF    = "*** End of File"
)

// section is what a patch does to one file.
type section struct {
	verb  verb
	path  string
	move  string // where an updated file goes, "" if it stays
	text  string // the content of an added file
	hunks []hunk
}

type verb int

const (
	verbAdd verb = iota
	verbUpdate
	verbDelete
)

func (v verb) String() string {
	switch v {
	case verbAdd:
		return "add"
	case verbUpdate:
		return "edit"
	case verbDelete:
		return "delete"
	}
	return "edit"
}

// hunk replaces one block of lines.
type hunk struct {
	heads []string // lines that stand above the block, outermost first
	lines []hunkLine
	end   bool // the block ends the file
	at    int  // the line of the patch that it begins at, from 1
}

type hunkLine struct {
	op   byte // ' ', '-' or '+'
	text string
}

// counts returns how many lines s takes away and adds.
func (s section) counts() (minus, plus int) {
	for _, h := range s.hunks {
		for _, l := range h.lines {
			switch l.op {
			case '-':
				minus++
			case '+':
				plus++
			}
		}
	}
	return minus, plus + countLines([]byte(s.text))
}

// patchParser goes through a patch line by line. No line is looked at twice.
//
//	outside ─Begin▶ between ─Add▶ adding ─┐
//	                  ▲  ├─Update▶ hunks ─┤ any "*** " line
//	                  │  └─Delete▶        │
//	                  └───────────────────┘ ─End▶ done
type patchParser struct {
	lines []string
	blank []bool // from this line to the end of its section nothing is said
	n     int    // of the next line, from 0
}

// parsePatch reads the field's patch envelope. What does not fit is a reply
// that names the line.
func parsePatch(text string) ([]section, error) {
	p := newPatchParser(text)
	if len(p.lines) == 0 || p.lines[0] != patchBegin {
		return nil, tool.Replyf("the patch does not begin with %q; send the whole patch again, from that line to %q", patchBegin, patchEnd)
	}
	p.n = 1
	var out []section
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return nil, tool.Replyf("the patch ends without %q: a part of it may be missing, nothing was changed; send the whole patch again", patchEnd)
		case line == patchEnd:
			if rest := p.n; rest < len(p.lines) {
				return nil, p.wrong(rest, "there is something behind the end of the patch")
			}
			if len(out) == 0 {
				return nil, tool.Replyf("the patch names no file; give at least one %q, %q or %q", patchAdd+" …", patchUpdate+" …", patchDelete+" …")
			}
			return out, nil
		case strings.TrimSpace(line) == "":
			continue
		}
		s, err := p.section(line)
		if err != nil {
			return nil, err
		}
		if out = append(out, s); len(out) > mostSections {
			return nil, tool.Replyf("the patch names more than %d files; send it in parts", mostSections)
		}
	}
}

const mostSections = 100 // files of one patch

// patchLines takes off what models put around a patch: white space, a here
// document, "\r" at every end.
func patchLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if strings.HasPrefix(l, "*** ") {
			l = strings.TrimRight(l, " \t")
		}
		lines[i] = l
	}
	if first := lines[0]; len(lines) > 2 && strings.HasPrefix(first, "<<") {
		if word := strings.Trim(first[2:], `'"`); word != "" && lines[len(lines)-1] == word {
			lines = lines[1 : len(lines)-1]
		}
	}
	if lines[0] == "" {
		return nil
	}
	return lines
}

func (p *patchParser) next() (line string, ok bool) {
	if p.n >= len(p.lines) {
		return "", false
	}
	p.n++
	return p.lines[p.n-1], true
}

// peek is the next line; ok is false at the end and before a line of shape.
func (p *patchParser) peek() (line string, ok bool) {
	if p.n >= len(p.lines) || strings.HasPrefix(p.lines[p.n], "*** ") {
		return "", false
	}
	return p.lines[p.n], true
}

func (p *patchParser) wrong(at int, what string) error {
	return tool.Replyf("line %d of the patch, %q: %s; nothing was changed, correct it and send the whole patch again",
		at+1, tool.OneLine(p.lines[at], 100), what)
}

func (p *patchParser) section(line string) (s section, err error) {
	head := p.n - 1
	var ok bool
	if s.path, ok = strings.CutPrefix(line, patchAdd); ok {
		s.verb = verbAdd
		err = p.added(&s)
	} else if s.path, ok = strings.CutPrefix(line, patchDelete); ok {
		s.verb = verbDelete
	} else if s.path, ok = strings.CutPrefix(line, patchUpdate); ok {
		s.verb = verbUpdate
		err = p.updated(&s)
	} else {
		return s, p.wrong(head, `a section begins with "*** Add File: ", "*** Update File: " or "*** Delete File: "`)
	}
	if s.path = strings.TrimSpace(s.path); s.path == "" && err == nil {
		err = p.wrong(head, "the path is missing")
	}
	return s, err
}

func (p *patchParser) added(s *section) error {
	var b strings.Builder
	for {
		line, ok := p.peek()
		if !ok {
			s.text = b.String()
			return nil
		}
		p.n++
		text, plus := strings.CutPrefix(line, "+")
		if !plus {
			if strings.TrimSpace(line) == "" && p.lastOfSection() {
				continue
			}
			return p.wrong(p.n-1, `each line of a new file begins with "+"`)
		}
		b.WriteString(text + "\n")
	}
}

// lastOfSection reports whether only empty lines follow in the section.
func (p *patchParser) lastOfSection() bool { return p.n >= len(p.lines) || p.blank[p.n] }

// newPatchParser looks at the lines once, from the end, for what is blank.
func newPatchParser(text string) *patchParser {
	p := &patchParser{lines: patchLines(text)}
	p.blank = make([]bool, len(p.lines))
	quiet := true
	for i := len(p.lines) - 1; i >= 0; i-- {
		shape := strings.HasPrefix(p.lines[i], "*** ")
		quiet = shape || quiet && strings.TrimSpace(p.lines[i]) == ""
		p.blank[i] = quiet
	}
	return p
}

func (p *patchParser) updated(s *section) error {
	head := p.n - 1
	if p.n < len(p.lines) {
		if to, ok := strings.CutPrefix(p.lines[p.n], patchMove); ok {
			p.n++
			if s.move = strings.TrimSpace(to); s.move == "" {
				return p.wrong(p.n-1, "the new path is missing")
			}
		}
	}
	for {
		line, ok := p.peek()
		if !ok {
			break
		}
		if strings.TrimSpace(line) == "" && p.lastOfSection() {
			p.n++
			continue
		}
		h, err := p.hunk(len(s.hunks) == 0)
		if err != nil {
			return err
		}
		s.hunks = append(s.hunks, h)
	}
	if len(s.hunks) == 0 && s.move == "" {
		return p.wrong(head, "there is no hunk and no move; say what is to change")
	}
	return nil
}

// hunk reads the "@@" lines, which the first hunk may lack, and the block.
func (p *patchParser) hunk(first bool) (h hunk, err error) {
	h.at = p.n + 1
	for {
		line, ok := p.peek()
		if !ok || !strings.HasPrefix(line, "@@") {
			break
		}
		p.n++
		if head := hunkHead(line); head != "" {
			h.heads = append(h.heads, head)
		}
	}
	if p.n+1 == h.at && !first {
		return h, p.wrong(p.n, `a line of a hunk begins with " ", "-" or "+"; a hunk begins with "@@"`)
	}
	changes := false
	for {
		line, ok := p.peek()
		if !ok || strings.HasPrefix(line, "@@") {
			break
		}
		if line == "" {
			if p.n++; !p.lastOfSection() {
				h.lines = append(h.lines, hunkLine{op: ' '}) // an empty line whose space was lost
			}
			continue
		}
		op := line[0]
		if op != ' ' && op != '-' && op != '+' {
			return h, p.wrong(p.n, `a line of a hunk begins with " ", "-" or "+"`)
		}
		p.n++
		changes = changes || op != ' '
		h.lines = append(h.lines, hunkLine{op, line[1:]})
	}
	if p.n < len(p.lines) && p.lines[p.n] == patchEOF {
		p.n++
		h.end = true
	}
	if !changes {
		return h, p.wrong(h.at-1, "this hunk changes nothing")
	}
	return h, nil
}

// hunkHead is what an "@@" line says about the place: line numbers, as other
// patches have them, say nothing here.
func hunkHead(line string) string {
	head := strings.TrimSpace(strings.TrimPrefix(line, "@@"))
	if numbers, rest, ok := strings.Cut(head, "@@"); ok && strings.HasPrefix(numbers, "-") && strings.Trim(numbers, "0123456789,+- ") == "" {
		return strings.TrimSpace(rest)
	}
	return head
}

// describe tells a person what the patch does, in one line.
func describe(sections []section, show func(path string) string) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == mostNamed {
			fmt.Fprintf(&b, "and %s more", plural(len(sections)-i, "file"))
			break
		}
		fmt.Fprintf(&b, "%s %s", s.verb, show(s.path))
		if s.move != "" {
			b.WriteString(" → " + show(s.move))
		}
		if minus, plus := s.counts(); s.verb != verbDelete {
			fmt.Fprintf(&b, " (-%d +%d)", minus, plus)
		}
	}
	return b.String()
}
