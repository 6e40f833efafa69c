package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// bug is one seeded bug: an edit and the tests that must see it.
type bug struct {
	id      string
	file    string // from the module's root, slash-separated
	why     string
	find    string
	replace string
	tests   []target
}

// target names tests: a package path as go test takes it, and a regular
// expression of names.
type target struct{ pkg, pattern string }

var idPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parseBug reads the text of one file of bugs/.
func parseBug(id, text string) (b bug, err error) {
	b.id = id
	if !idPattern.MatchString(id) {
		return b, fmt.Errorf("bug %q: an id is lower-case words joined by hyphens", id)
	}
	head, rest, ok := strings.Cut(text, "--- find\n")
	find, replace, ok2 := strings.Cut(rest, "--- replace\n")
	if !ok || !ok2 {
		return b, fmt.Errorf("bug %s: no \"--- find\" followed by \"--- replace\"", id)
	}
	b.find, b.replace = strings.TrimSuffix(find, "\n"), strings.TrimSuffix(replace, "\n")
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, val, _ := strings.Cut(line, ":")
		val = strings.TrimSpace(val)
		switch key {
		case "file":
			b.file = val
		case "why":
			b.why = val
		case "test":
			pkg, pattern, ok := strings.Cut(val, " ")
			if !ok || !strings.HasPrefix(pkg, ".") {
				return b, fmt.Errorf("bug %s: write \"test: ./package Pattern\", not %q", id, val)
			}
			if _, err := regexp.Compile(pattern); err != nil {
				return b, fmt.Errorf("bug %s: %w", id, err)
			}
			b.tests = append(b.tests, target{pkg, strings.TrimSpace(pattern)})
		default:
			return b, fmt.Errorf("bug %s: unknown field %q", id, key)
		}
	}
	switch {
	case b.file == "" || b.why == "" || len(b.tests) == 0:
		return b, fmt.Errorf("bug %s: file, why and test must be given", id)
	case b.find == "" || b.find == b.replace:
		return b, fmt.Errorf("bug %s: nothing to find, or nothing changes", id)
	}
	return b, nil
}

// load reads all bugs below root, ordered by id.
func load(root string) ([]bug, error) {
	names, err := filepath.Glob(filepath.Join(root, "internal", "mutate", "bugs", "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no seeded bugs found: run it from the module's root")
	}
	slices.Sort(names)
	var bugs []bug
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b, err := parseBug(strings.TrimSuffix(filepath.Base(name), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

// apply returns the source of the bug's file with the bug in it.
func (b bug) apply(root string) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(src), b.find); n != 1 {
		return nil, fmt.Errorf("bug %s: its anchor stands %d times in %s, must be once: move it with the code", b.id, n, b.file)
	}
	return []byte(strings.Replace(string(src), b.find, b.replace, 1)), nil
}

// choose returns the bugs with the given ids, or n spread evenly over all.
func choose(bugs []bug, ids string, n int) ([]bug, error) {
	switch {
	case ids != "":
		var out []bug
		for id := range strings.SplitSeq(ids, ",") {
			i := slices.IndexFunc(bugs, func(b bug) bool { return b.id == id })
			if i < 0 {
				return nil, fmt.Errorf("no bug called %q; -list shows them", id)
			}
			out = append(out, bugs[i])
		}
		return out, nil
	case n <= 0 || n >= len(bugs):
		return bugs, nil
	}
	var out []bug
	for i := range n {
		out = append(out, bugs[i*len(bugs)/n])
	}
	return out, nil
}
