package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// nowhere is a file's name in a diff where it is not there.
const nowhere = "/dev/null"

// fileDiff is one file's part of a unified diff.
type fileDiff struct {
	from, to string // without their a/ and b/; the file's own name where it is nowhere
	made     bool   // it was nowhere before
	gone     bool   // it is nowhere after
	hunks    []hunk
}

// hunk is a run of lines with what is around it; lines keep their ending.
type hunk struct {
	at       int // first line of the new side, from 0
	old, new []string
}

func (d fileDiff) creates() bool { return d.made }
func (d fileDiff) deletes() bool { return d.gone }

// parseDiff reads the diffs that our own tools record.
func parseDiff(text string) (out []fileDiff, err error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 {
		var d fileDiff
		if d, lines, err = parseFile(lines); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func parseFile(lines []string) (d fileDiff, rest []string, err error) {
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return d, nil, errors.New("it does not begin with the names of a file")
	}
	from, to := strings.TrimSuffix(lines[0][4:], "\n"), strings.TrimSuffix(lines[1][4:], "\n")
	d.made, d.gone = from == nowhere, to == nowhere
	d.from, d.to = strings.TrimPrefix(from, "a/"), strings.TrimPrefix(to, "b/")
	switch {
	case d.made && d.gone:
		return d, nil, errors.New("it names no file")
	case d.made:
		d.from = d.to
	case d.gone:
		d.to = d.from
	}
	lines = lines[2:]
	for len(lines) > 0 && strings.HasPrefix(lines[0], "@@ ") {
		var h hunk
		if h, lines, err = parseHunk(lines); err != nil {
			return d, nil, err
		}
		if len(h.old) == 0 && h.at == 0 && !d.made {
			return d, nil, errors.New("it does not say whether the file was there before")
		}
		d.hunks = append(d.hunks, h)
	}
	return d, lines, nil
}

// parseHunk reads a hunk by its counts: a line of it may look like a header.
func parseHunk(lines []string) (h hunk, rest []string, err error) {
	fields := strings.Fields(lines[0])
	if len(fields) < 4 {
		return h, nil, errors.New("a hunk without its counts")
	}
	_, olds, err1 := span(fields[1], "-")
	at, news, err2 := span(fields[2], "+")
	if err1 != nil || err2 != nil {
		return h, nil, errors.Join(err1, err2)
	}
	if h.at = at - 1; news == 0 {
		h.at = at // behind that line
	}
	lines = lines[1:]
	for olds > 0 || news > 0 {
		if len(lines) == 0 {
			return h, nil, errors.New("a hunk is cut off")
		}
		l := lines[0]
		body := l[1:]
		lines = lines[1:]
		if len(lines) > 0 && strings.HasPrefix(lines[0], `\`) {
			body, lines = strings.TrimSuffix(body, "\n"), lines[1:]
		}
		switch l[0] {
		case ' ':
			h.old, h.new = append(h.old, body), append(h.new, body)
			olds, news = olds-1, news-1
		case '-':
			h.old = append(h.old, body)
			olds--
		case '+':
			h.new = append(h.new, body)
			news--
		default:
			return h, nil, fmt.Errorf("a hunk has the line %q", l)
		}
	}
	return h, lines, nil
}

// span reads "-3,4" or "-3".
func span(s, sign string) (at, n int, err error) {
	s, ok := strings.CutPrefix(s, sign)
	if !ok {
		return 0, 0, fmt.Errorf("a hunk has the counts %q", s)
	}
	first, count, two := strings.Cut(s, ",")
	n = 1
	if two {
		if n, err = strconv.Atoi(count); err != nil {
			return 0, 0, err
		}
	}
	at, err = strconv.Atoi(first)
	return at, n, err
}

// revert returns what content was before the change. Every line that the change
// shows must stand exactly where the change left it.
func (d fileDiff) revert(content []byte) ([]byte, error) {
	var lines []string
	if len(content) > 0 {
		lines = strings.SplitAfter(string(content), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
	}
	var out []string
	next := 0
	for _, h := range d.hunks {
		if h.at < next || h.at > len(lines)-len(h.new) {
			return nil, fmt.Errorf("line %d is not there", h.at+1)
		}
		out = append(out, lines[next:h.at]...)
		for i, want := range h.new {
			if lines[h.at+i] != want {
				return nil, fmt.Errorf("line %d was changed since", h.at+i+1)
			}
		}
		out = append(out, h.old...)
		next = h.at + len(h.new)
	}
	out = append(out, lines[next:]...)
	return []byte(strings.Join(out, "")), nil
}
