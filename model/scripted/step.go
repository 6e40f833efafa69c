package scripted

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bare are the steps of one word.
func bare(word string) (op, bool) {
	switch word {
	case "end":
		return opEnd, true
	case "ping":
		return opPing, true
	case "headers":
		return opHeaders, true
	case "hang":
		return opHang, true
	case "drop":
		return opDrop, true
	case "close":
		return opClose, true
	case "nodone":
		return opNoDone, true
	case "html":
		return opHTML, true
	}
	return 0, false
}

func parseStep(word, rest string) (s step, err error) {
	if op, ok := bare(word); ok {
		if strings.TrimSpace(rest) != "" {
			return s, fmt.Errorf("%s takes nothing after it", word)
		}
		return step{op: op}, nil
	}
	switch word {
	case "text", "reasoning", "args", "raw":
		s.op = map[string]op{"text": opText, "reasoning": opReasoning, "args": opArgs, "raw": opRaw}[word]
		s.text, err = words(rest)
	case "signature", "redacted":
		s.op = map[string]op{"signature": opSignature, "redacted": opRedacted}[word]
		s.text, err = words(rest)
	case "type":
		s.op = opType
		d, after := cutWord(rest)
		if s.d, err = duration(d); err == nil {
			s.text, err = words(after)
		}
	case "prose":
		s.op = opProse
		count, after := cutWord(rest)
		err = number(count, &s.n)
		if after != "" && err == nil {
			s.d, err = duration(strings.TrimSpace(after))
		}
	case "call":
		s.op = opCall
		s.name, rest = cutWord(rest)
		s.id, rest = cutWord(rest)
		if s.name == "" || s.id == "" {
			return s, fmt.Errorf("write call NAME ID [ARGS]; ID - is no id")
		}
		if s.id == "-" {
			s.id = ""
		}
		s.text = rest
	case "usage":
		s.op = opUsage
		in, after := cutWord(rest)
		out, _ := cutWord(after)
		if s.in, err = tokens(in); err == nil {
			s.out, err = tokens(out)
		}
	case "finish":
		s.op = opFinish
		s.text, err = finishReason(strings.TrimSpace(rest))
	case "wait", "hold":
		s.op = map[string]op{"wait": opWait, "hold": opHold}[word]
		s.d, err = duration(strings.TrimSpace(rest))
	case "http":
		return httpStep(rest)
	case "error":
		s.op = opError
		s.name, rest = cutWord(rest)
		s.text, err = words(rest)
	case "split":
		s.op = opSplit
		err = number(rest, &s.n)
	case "repeat":
		return repeatStep(rest)
	default:
		err = fmt.Errorf("%q is no step; ripcord model serve --help lists them", word)
	}
	return s, err
}

func repeatStep(rest string) (s step, err error) {
	n, rest := cutWord(rest)
	s = step{op: opGroup}
	if err := number(n, &s.times); err != nil {
		return s, err
	}
	word, rest := cutWord(rest)
	inner, err := parseStep(word, rest)
	s.group = []step{inner}
	return s, err
}

func httpStep(rest string) (s step, err error) {
	s = step{op: opHTTP, after: -1}
	status, rest := cutWord(rest)
	if err := number(status, &s.n); err != nil || s.n < 200 || s.n > 599 {
		return s, fmt.Errorf("%q is no HTTP status from 200 to 599", status)
	}
	for rest != "" {
		var word string
		word, rest = cutWord(rest)
		switch word {
		case "retry-after":
			var n string
			n, rest = cutWord(rest)
			if err := number(n, &s.after); err != nil {
				return s, err
			}
		case "body":
			s.text, err = words(rest)
			return s, err
		default:
			return s, fmt.Errorf("%q is not known here: http STATUS [retry-after N] [body TEXT]", word)
		}
	}
	return s, nil
}

// words takes the rest of a line as it stands, or one quoted text.
func words(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	v, rest, err := value(s)
	if err != nil || strings.TrimSpace(rest) != "" {
		return "", fmt.Errorf("the quoted text does not end at the line's end")
	}
	return v, nil
}

func tokens(s string) (*int64, error) {
	if s == "-" {
		return nil, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is no token count; - is one that is not given", s)
	}
	return &n, nil
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration, such as 250ms or 1.5s", s)
	}
	return d, nil
}

func finishReason(s string) (string, error) {
	switch s {
	case "stop", "length":
		return s, nil
	case "tool", "tools":
		return "tool_calls", nil
	case "filter":
		return "content_filter", nil
	}
	return "", fmt.Errorf("%q is no finish: stop, tool, length or filter", s)
}
