package scripted

import (
	"encoding/json"
	"strconv"
	"strings"
)

// view is what conditions and words know of a request.
type view struct {
	request int
	user    string // the last user message
	said    string // its last part
	result  string // the last tool result
	ends    string // "result", "cut" or neither
	step    int
	calls   int
	n       int // of the repetition that is being played, from 1; 0: none is
	tools   map[string]bool
}

func newView(req *Request) view {
	v := view{request: req.N, step: 1, tools: map[string]bool{}}
	before := ""
	for _, m := range req.Chat.Messages {
		v.calls += len(m.ToolCalls)
		v.ends = ""
		switch m.Role {
		case "user":
			v.user, v.said, v.step = m.Text(), "", 1
			for _, p := range m.Parts() {
				if p.Type == "text" && !strings.HasPrefix(p.Text, "<") {
					v.said = p.Text
				}
			}
			if before == "tool" {
				v.ends = "cut"
			}
		case "assistant":
			v.step++
		case "tool":
			v.result, v.ends = m.Text(), "result"
		}
		before = m.Role
	}
	for _, t := range req.Chat.Tools {
		v.tools[t.Function.Name] = true
	}
	return v
}

func (v view) fits(b *block) bool {
	for _, c := range b.conds {
		if v.holds(c) == c.not {
			return false
		}
	}
	return true
}

func (v view) holds(c cond) bool {
	switch c.kind {
	case "user":
		return strings.Contains(v.user, c.text)
	case "result", "cut":
		return v.ends == c.kind && strings.Contains(v.result, c.text)
	case "last":
		return strings.Contains(v.result, c.text)
	case "step":
		return v.step == c.n
	case "request":
		return v.request == c.n
	case "tool":
		return v.tools[c.text]
	}
	return false
}

// fill puts the request's own words into s. Inside JSON they are escaped.
func (v view) fill(s string, inJSON bool) string {
	if !strings.Contains(s, "${") {
		return s
	}
	esc := func(t string) string {
		if !inJSON {
			return t
		}
		b, err := json.Marshal(t)
		if err != nil {
			return ""
		}
		return string(b[1 : len(b)-1])
	}
	lines := strings.Split(strings.TrimSpace(v.result), "\n")
	if v.n > 0 { // else it may be a shell's
		s = strings.ReplaceAll(s, "${n}", strconv.Itoa(v.n))
	}
	s = fillProse(s)
	return strings.NewReplacer(
		"${user}", esc(clip(v.said)),
		"${result}", esc(clip(lines[len(lines)-1])),
		"${calls}", strconv.Itoa(v.calls),
		"${step}", strconv.Itoa(v.step),
	).Replace(s)
}

// clip keeps what is quoted to a line of bearable length.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}
