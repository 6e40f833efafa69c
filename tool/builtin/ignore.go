package builtin

import (
	"bytes"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of what one ignore file may say.
const (
	mostIgnoreFile  = 64 << 10 // bytes
	mostIgnoreRules = 2000
	mostIgnoreRule  = 512 // bytes
)

// ignoreFiles are read in each folder, in this order: what comes later says the
// last word.
func ignoreFiles() []string { return []string{".gitignore", ".ignore"} }

// ignores are the rules that hold in a folder: those of the folders above it
// first, so that the last one that matches decides.
type ignores []ignoreRule

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	base    string // the folder of its file, "" for the top, else with "/" at its end
	pattern string
	keep    bool // "!": what matches is not ignored after all
	folders bool // "/" at the end: folders only
	byName  bool // no "/" before the end: any depth, by the last element
	plain   bool // nothing in it stands for something else
}

// parseIgnore reads the ignore file of the folder base. A line that is not
// understood is left out.
func parseIgnore(base string, content []byte) (rules ignores) {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if len(rules) >= mostIgnoreRules {
			break
		}
		if r, ok := parseIgnoreLine(string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			r.base = base
			rules = append(rules, r)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (r ignoreRule, ok bool) {
	if line == "" || len(line) > mostIgnoreRule || line[0] == '#' {
		return r, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	r.byName = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in it, not the folder itself
	}
	r.plain = !strings.ContainsAny(line, `*?[\`)
	if r.plain {
		r.pattern = line
		return r, true
	}
	// Braces mean themselves here.
	r.pattern = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `{`, `\{`, `}`, `\}`).Replace(line)
	return r, doublestar.ValidatePattern(r.pattern)
}

// ignored reports whether the entry at rel, with slashes from the top, is to be
// left out.
func (g ignores) ignored(rel string, folder bool) bool {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].matches(rel, folder) {
			return !g[i].keep
		}
	}
	return false
}

func (r ignoreRule) matches(rel string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	rel, below := strings.CutPrefix(rel, r.base)
	if !below {
		return false
	}
	if r.byName {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	if r.plain {
		return rel == r.pattern
	}
	return doublestar.MatchUnvalidated(r.pattern, rel)
}
