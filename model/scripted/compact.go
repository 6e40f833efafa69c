package scripted

import (
	"fmt"
	"strconv"
	"strings"
)

// isCompact tells a line in compact notation: it begins with a capital letter
// or a group.
func isCompact(line string) bool {
	return line[0] >= 'A' && line[0] <= 'Z' || line[0] == '('
}

// compact reads the one-line notation.
type compact struct {
	s    string
	i    int
	line int
}

func parseCompact(s string, line int) ([]step, error) {
	c := compact{s: s, line: line}
	steps, err := c.sequence()
	if err == nil && c.i < len(c.s) {
		err = fmt.Errorf("%q closes no group", c.s[c.i:])
	}
	return steps, err
}

// sequence reads steps up to the end of the line or of the group.
func (c *compact) sequence() ([]step, error) {
	var out []step
	for {
		c.spaces()
		if c.i >= len(c.s) || c.s[c.i] == ')' {
			return out, nil
		}
		if n, ok, err := c.times(); err != nil {
			return nil, err
		} else if ok {
			if len(out) == 0 {
				return nil, fmt.Errorf("nothing stands before %q", "x")
			}
			out[len(out)-1] = step{op: opGroup, line: c.line, times: n, group: []step{out[len(out)-1]}}
			continue
		}
		s, err := c.step()
		if err != nil {
			return nil, err
		}
		s.line = c.line
		out = append(out, s)
	}
}

func (c *compact) spaces() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\t') {
		c.i++
	}
}

// times reads "x N".
func (c *compact) times() (n int, ok bool, err error) {
	if c.s[c.i] != 'x' {
		return 0, false, nil
	}
	c.i++
	c.spaces()
	from := c.i
	for c.i < len(c.s) && c.s[c.i] >= '0' && c.s[c.i] <= '9' {
		c.i++
	}
	return n, true, number(c.s[from:c.i], &n)
}

func (c *compact) step() (s step, err error) {
	rest := c.s[c.i:]
	for _, w := range []struct {
		word string
		op   op
	}{{"HANG", opHang}, {"DROP", opDrop}} {
		if strings.HasPrefix(rest, w.word) {
			c.i += len(w.word)
			return step{op: w.op}, nil
		}
	}
	switch c.i++; rest[0] {
	case '(':
		s.op, s.times, s.plain = opGroup, 1, true
		if s.group, err = c.sequence(); err == nil && !c.eat(')') {
			err = fmt.Errorf("a group has no end")
		}
	case 'T', 'R', 'S', 'A':
		s.op = map[byte]op{'T': opText, 'R': opReasoning, 'S': opSignature, 'A': opArgs}[rest[0]]
		s.text, err = c.quoted(rest[0] != 'A')
	case 'E':
		s.op = opEnd
	case 'P':
		s.op = opPing
	case 'C', 'U', 'F', 'W', 'H':
		args, aerr := c.args()
		if aerr != nil {
			return s, aerr
		}
		return withArgs(rest[0], args)
	default:
		err = fmt.Errorf("%q is not known in the compact notation", rest)
	}
	return s, err
}

func withArgs(letter byte, args []string) (s step, err error) {
	arg := func(i int) string {
		if i < len(args) {
			return strings.TrimSpace(args[i])
		}
		return ""
	}
	switch letter {
	case 'C':
		s = step{op: opCall, id: arg(0), name: arg(1)}
		if s.name == "" {
			err = fmt.Errorf("write C(id,tool); the id may be empty")
		}
	case 'U':
		s.op = opUsage
		if s.in, err = tokens(arg(0)); err == nil {
			s.out, err = tokens(arg(1))
		}
	case 'F':
		s.op = opFinish
		s.text, err = finishReason(arg(0))
	case 'W':
		s.op = opWait
		s.d, err = duration(arg(0))
	case 'H':
		if arg(0) == "200" {
			return step{op: opHeaders}, nil
		}
		line := arg(0)
		if arg(1) != "" {
			line += " retry-after " + arg(1)
		}
		s, err = httpStep(line)
	}
	return s, err
}

func (c *compact) eat(b byte) bool {
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *compact) args() ([]string, error) {
	n := strings.IndexByte(c.s[c.i:], ')')
	if !c.eat('(') || n < 0 {
		return nil, fmt.Errorf("%q needs its values in ( )", c.s[c.i-1:])
	}
	inner := c.s[c.i : c.i+n-1]
	c.i += n
	return strings.Split(inner, ","), nil
}

// quoted reads '..'. Without escapes a backslash is itself, save before a
// quote, so that JSON can be written as it is.
func (c *compact) quoted(escapes bool) (string, error) {
	if !c.eat('\'') {
		return "", fmt.Errorf("%q needs its text in ' '", c.s[c.i-1:])
	}
	var out strings.Builder
	for c.i < len(c.s) {
		switch b := c.s[c.i]; {
		case b == '\'':
			c.i++
			return out.String(), nil
		case b == '\\' && strings.HasPrefix(c.s[c.i:], `\'`):
			out.WriteByte('\'')
			c.i += 2
		case b == '\\' && escapes:
			r, multi, tail, err := strconv.UnquoteChar(c.s[c.i:], '\'')
			if err != nil {
				return "", fmt.Errorf("%q is no escape", c.s[c.i:min(len(c.s), c.i+4)])
			}
			if multi {
				out.WriteRune(r)
			} else {
				out.WriteByte(byte(r))
			}
			c.i = len(c.s) - len(tail)
		default:
			out.WriteByte(b)
			c.i++
		}
	}
	return "", fmt.Errorf("a quoted text has no end")
}
