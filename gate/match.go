package gate

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ripcord-go/ripcord/tool"
)

// touch is which files a call names.
type touch struct {
	files bool     // the tool is about files
	known bool     // it says which
	paths []string // absolute, links followed
}

func touchOf(call *tool.Call, spec tool.Spec) touch {
	if spec.Touches == nil {
		return touch{}
	}
	paths, ok := spec.Touches(call)
	return touch{files: true, known: ok && len(paths) > 0, paths: paths}
}

func (rule Rule) matches(call *tool.Call, t touch) bool {
	narrows := rule.Deny || rule.Ask
	if ok, err := path.Match(rule.Tool, call.Name); err != nil && !narrows || err == nil && !ok {
		return false // a pattern that can't be read forbids, and allows nothing
	}
	return (rule.Path == "" || rule.covers(call.Dir, t, narrows)) &&
		(rule.Host == "" || rule.asks(call, narrows)) &&
		(rule.Command == "" || rule.runs(call, narrows))
}

// runs reports whether the call's command begins with the rule's words. What
// can't be read is forbidden, never allowed.
func (rule Rule) runs(call *tool.Call, narrows bool) bool {
	command, sure := argument(call, "command")
	if !sure {
		return narrows
	}
	return hasWords(command, rule.Command) && (narrows || onlyWords(command))
}

// argument returns the string that a call gives under name, "" for none. sure is
// false where it can't be read, and where whoever gets the arguments could read
// another: readers differ in whether the case of a name counts, and in which of
// two values under one name does.
func argument(call *tool.Call, name string) (value string, sure bool) {
	dec := json.NewDecoder(bytes.NewReader(call.Args))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') || !json.Valid(call.Args) {
		return "", false
	}
	for found := false; dec.More(); {
		key, err := dec.Token()
		var raw json.RawMessage
		if err != nil || dec.Decode(&raw) != nil {
			return "", false
		}
		k, _ := key.(string)
		if !strings.EqualFold(k, name) {
			continue
		}
		if found || k != name || json.Unmarshal(raw, &value) != nil {
			return "", false
		}
		found = true
	}
	return value, true
}

// covers reports whether all that the call touches is below the rule's path. A
// narrowing rule is content with one file, with a folder that holds its path (a
// search goes through all of it), or with not knowing; it also looks where its
// own path leads, which an allowing one never follows.
func (rule Rule) covers(dir string, t touch, narrows bool) bool {
	if !t.files {
		return false
	}
	if !t.known {
		return narrows
	}
	root := rule.root(dir)
	if !narrows {
		return !slices.ContainsFunc(t.paths, func(p string) bool { return !below(root, p) })
	}
	roots := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		roots = append(roots, real)
	}
	return slices.ContainsFunc(t.paths, func(p string) bool {
		return slices.ContainsFunc(roots, func(r string) bool { return below(r, p) || below(p, r) })
	})
}

// root is the rule's path, absolute if that can be known.
func (rule Rule) root(dir string) string {
	if filepath.IsAbs(rule.Path) {
		return filepath.Clean(rule.Path)
	}
	return filepath.Join(dir, rule.Path)
}

// asks reports whether the call's url is at the rule's host.
func (rule Rule) asks(call *tool.Call, narrows bool) bool {
	at, sure := argument(call, "url")
	if !sure {
		return narrows
	}
	u, err := url.Parse(strings.TrimSpace(at))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return narrows
	}
	own, err := url.Parse("http://" + strings.ToLower(rule.Host))
	if err != nil || own.Host == "" {
		return narrows
	}
	want := own.Hostname()
	if p := own.Port(); p != "" && p != portOf(u) {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if tail, ok := strings.CutPrefix(want, "*."); ok {
		return strings.HasSuffix(host, "."+tail) && len(host) > len(tail)+1
	}
	return host == want
}

// Fetches says what the rules make of a request of the tool to place, a host
// with its port: open, that it needs no question; named, that an allowing rule
// says the host itself and not a pattern. A rule that denies it or has it asked
// about takes both away. It is for what no call names, such as where a redirect
// leads.
func (r Rules) Fetches(name, place string) (open, named bool) {
	args, err := json.Marshal(map[string]string{"url": "http://" + place})
	if err != nil {
		return false, false
	}
	call := &tool.Call{Name: name, Args: args}
	for _, rule := range r.List {
		switch {
		case rule.Host == "" && !rule.Deny && !rule.Ask, !rule.matches(call, touch{}):
		case rule.Deny || rule.Ask:
			return false, false
		default:
			open = true
			named = named || !strings.Contains(rule.Host, "*")
		}
	}
	return open, named
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// below reports whether path is root or under it; both must be absolute.
func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsAbs(root) && filepath.IsAbs(path) && filepath.IsLocal(rel)
}

// holds reports whether path is the protected place or below it. A name counts
// at any depth below the workspace dir, and anywhere outside it; the folders
// that lead to the workspace say nothing about what is in it.
func (p Protected) holds(path, dir string) bool {
	if filepath.IsAbs(p.Path) {
		within := func(root string) bool { return foldBelow(root, path) || p.Reads && foldBelow(path, root) }
		if within(p.Path) {
			return true
		}
		real, err := filepath.EvalSymlinks(p.Path)
		return err == nil && within(real)
	}
	if strings.ContainsRune(p.Path, filepath.Separator) {
		return dir != "" && foldBelow(filepath.Join(dir, p.Path), path)
	}
	if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if strings.EqualFold(part, p.Path) {
			return true
		}
	}
	return false
}

func foldBelow(root, path string) bool { return below(strings.ToLower(root), strings.ToLower(path)) }

// inWords reports whether a word of a simple command names the place.
func (p Protected) inWords(command, dir string) bool {
	return slices.ContainsFunc(strings.Fields(command), func(w string) bool {
		if !filepath.IsAbs(w) {
			w = filepath.Join(dir, w)
		}
		return p.holds(filepath.Clean(w), dir)
	})
}

// hasWords reports whether command begins with the words of prefix.
func hasWords(command, prefix string) bool {
	have, want := strings.Fields(command), strings.Fields(prefix)
	if len(have) < len(want) || len(want) == 0 {
		return false
	}
	for i, w := range want {
		if have[i] != w {
			return false
		}
	}
	return true
}

// onlyWords reports whether a shell would read command as one simple command:
// it holds no character that a shell gives a meaning to.
func onlyWords(command string) bool {
	for _, r := range command {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune(" _-./:@%+,", r): // '=' would set a variable
		default:
			return false
		}
	}
	return true
}

// Hides reports whether path, in a workspace dir, is protected against being
// read: a search leaves it out.
func (r Rules) Hides(path, dir string) bool {
	return slices.ContainsFunc(r.Protected, func(p Protected) bool { return p.Reads && p.holds(path, dir) })
}
