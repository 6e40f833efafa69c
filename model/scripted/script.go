package scripted

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Script is a parsed script. It holds no state and may be served by several
// servers at once.
type Script struct {
	blocks  []*block
	split   int
	loop    bool
	lenient bool
}

// block is one answer.
type block struct {
	line  int
	times int // 0: always
	last  bool
	conds []cond
	steps []step
}

type cond struct {
	kind string
	text string
	n    int
	not  bool
}

type op int

const (
	opText op = iota
	opType
	opReasoning
	opSignature
	opRedacted
	opCall
	opArgs
	opEnd
	opUsage
	opFinish
	opPing
	opWait
	opHold
	opHeaders
	opHang
	opDrop
	opClose
	opNoDone
	opHTTP
	opHTML
	opError
	opRaw
	opSplit
	opGroup
	opProse
)

// step is one thing that happens.
type step struct {
	op    op
	line  int
	text  string // words, arguments, bytes, body, finish reason
	name  string // tool, error kind
	id    string
	n     int // status, width, words
	after int // seconds, -1: not given
	in    *int64
	out   *int64
	d     time.Duration
	times int // of a group
	group []step
	plain bool // of a group: brackets, which count nothing
}

// Parse reads a script. The error names the line.
func Parse(text string) (*Script, error) {
	p := parser{script: &Script{}}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		p.line = i + 1
		if err := p.take(line); err != nil {
			return nil, fmt.Errorf("script line %d: %w", p.line, err)
		}
	}
	for _, b := range p.script.blocks {
		if err := b.check(); err != nil {
			return nil, fmt.Errorf("script line %d: %w", b.line, err)
		}
	}
	if len(p.script.blocks) == 0 {
		return nil, fmt.Errorf("the script has no answer: begin one with a line %q", "answer")
	}
	return p.script, nil
}

// check refuses steps where they can have no effect.
func (b *block) check() error {
	for i, s := range b.steps {
		whole := s.op == opHTTP || s.op == opHTML
		if (whole || s.op == opHold) && i > 0 && b.steps[0].op != opHold {
			return fmt.Errorf("http, html and hold stand first in an answer")
		}
		if whole && i < len(b.steps)-1 {
			return fmt.Errorf("nothing can follow http or html in an answer")
		}
	}
	return nil
}

type parser struct {
	script *Script
	open   *block
	line   int
}

func (p *parser) take(line string) error {
	indented := strings.TrimLeft(line, " \t") != line
	line = strings.TrimLeft(line, " \t")
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		return nil
	}
	if isCompact(line) {
		steps, err := parseCompact(line, p.line)
		if err != nil {
			return err
		}
		if !indented || p.open == nil {
			p.begin(&block{times: 1})
			defer func() { p.open = nil }()
		}
		p.open.steps = append(p.open.steps, steps...)
		return nil
	}
	word, rest := cutWord(line)
	switch word {
	case "answer":
		b := &block{times: 1}
		if err := b.header(rest); err != nil {
			return err
		}
		p.begin(b)
		return nil
	case "default":
		p.begin(&block{last: true})
		return nil
	case "loop":
		p.script.loop = true
		return nil
	case "lenient":
		p.script.lenient = true
		return nil
	case "split":
		if p.open == nil {
			return number(rest, &p.script.split)
		}
	}
	s, err := parseStep(word, rest)
	if err != nil {
		return err
	}
	if p.open == nil {
		return fmt.Errorf("%q stands under no answer: begin one with a line %q", word, "answer")
	}
	s.line = p.line
	p.open.steps = append(p.open.steps, s)
	return nil
}

func (p *parser) begin(b *block) {
	b.line = p.line
	p.open = b
	p.script.blocks = append(p.script.blocks, b)
}

func (b *block) header(rest string) error {
	word, after := cutWord(rest)
	switch word {
	case "always":
		b.times, rest = 0, after
	case "x":
		var count string
		count, rest = cutWord(after)
		if err := number(count, &b.times); err != nil || b.times == 0 {
			return fmt.Errorf("after %q stands how many times", "x")
		}
	}
	if strings.TrimSpace(rest) == "" {
		return nil
	}
	word, rest = cutWord(rest)
	if word != "if" {
		return fmt.Errorf("%q is not known here: write answer [x N|always] [if COND]", word)
	}
	for {
		c, after, err := parseCond(rest)
		if err != nil {
			return err
		}
		b.conds = append(b.conds, c)
		if word, rest = cutWord(after); word == "" {
			return nil
		} else if word != "and" {
			return fmt.Errorf("%q is not known here: join conditions with %q", word, "and")
		}
	}
}

func parseCond(s string) (c cond, rest string, err error) {
	word, rest := cutWord(s)
	if word == "not" {
		c.not = true
		word, rest = cutWord(rest)
	}
	c.kind = word
	switch word {
	case "user", "tool":
		c.text, rest, err = value(rest)
		if err == nil && c.text == "" {
			err = fmt.Errorf("after %q stands a text", word)
		}
	case "result", "cut", "last":
		if next, _ := cutWord(rest); next != "and" {
			c.text, rest, err = value(rest)
		}
	case "step", "request":
		var n string
		n, rest = cutWord(rest)
		err = number(n, &c.n)
	default:
		err = fmt.Errorf("%q is no condition: user, result, cut, last, step, request or tool", word)
	}
	return c, rest, err
}

// value reads one word or one quoted text.
func value(s string) (v, rest string, err error) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		v, rest = cutWord(s)
		return v, rest, nil
	}
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("the quoted text has no end, or an escape that is not known")
	}
	v, err = strconv.Unquote(q)
	return v, s[len(q):], err
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimLeft(s[i:], " \t")
	}
	return s, ""
}

func number(s string, n *int) error {
	v, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || v < 0 || v > 1e9 {
		return fmt.Errorf("%q is not a whole number", s)
	}
	*n = v
	return nil
}
