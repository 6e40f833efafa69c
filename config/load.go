package config

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options of [Load].
type Options struct {
	Env func(string) string // the process's environment
	// Flags are those of the command line, by the key they set ("model");
	// empty ones are not set.
	Flags map[string]string
	Dir   string // the workspace, absolute and resolved
	Root  string // the data root; empty: no project is trusted
	// Hidden is what [Settings.Hidden] begins with, its patterns in the same form.
	Hidden []string
}

// StoreOf is where trust is kept below a data root.
func StoreOf(root string) Store {
	if root == "" {
		return Store{}
	}
	return Store{filepath.Join(root, "trust")}
}

// Load reads all layers and says what is in force. The error, an [*Error], is
// one sentence.
func Load(o Options) (*Settings, error) {
	s := &Settings{env: o.Env, Tools: map[string]bool{}}
	var must bool
	s.UserFile, must = userFile(o.Env)
	if real, err := filepath.EvalSymlinks(s.UserFile); err == nil && s.UserFile != "" && !must {
		s.UserFile = real
	}
	user, _, err := readLayer(s.UserFile, must)
	if err != nil {
		return nil, err
	}
	project, foreign, err := s.findProject(o)
	if err != nil {
		return nil, err
	}
	m := &merge{Settings: s, o: o, values: map[string]Entry{}}
	m.defaults()
	if err := m.layer(user, User, true); err != nil {
		return nil, err
	}
	if err := m.layer(project, Project, s.Project.Trust == Trusted); err != nil {
		return nil, err
	}
	m.foreign(foreign, Origin{Project, s.Project.Folder.Servers, 0}, s.Project.Trust == Trusted)
	if err := m.outside(); err != nil {
		return nil, err
	}
	if err := m.checkGuards(); err != nil {
		return nil, err
	}
	m.finish()
	return s, nil
}

// userFile is where the user's settings are; must says that it was named.
func userFile(env func(string) string) (path string, must bool) {
	if p := env("RIPCORD_CONFIG"); p != "" {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		return p, true
	}
	dir := env("XDG_CONFIG_HOME")
	if dir == "" || !filepath.IsAbs(dir) {
		home := env("HOME")
		if home == "" {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "ripcord", "config.toml"), false
}

// readLayer reads one file; nil without one.
func readLayer(path string, must bool) (*read, []byte, error) {
	if path == "" {
		return nil, nil, nil
	}
	data, err := open(path, must)
	if err != nil || data == nil {
		return nil, nil, err
	}
	r, err := decode(path, data)
	return r, data, err
}

// findProject reads the project's files and finds out whether they are trusted.
// A file that is the user's own, named by RIPCORD_CONFIG, is no project's.
func (s *Settings) findProject(o Options) (settings *read, foreign []byte, err error) {
	f, err := FindFolder(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	s.Project = ProjectState{Folder: f, Trust: NoProject}
	if f.Dir == "" {
		return nil, nil, nil
	}
	have := map[string][]byte{}
	if f.Settings != "" && !same(f.Settings, s.UserFile) {
		r, data, err := readLayer(f.Settings, false)
		if err != nil {
			return nil, nil, err
		}
		if data != nil {
			settings, have[f.Settings] = r, data
		}
	}
	if f.Servers != "" {
		if foreign, err = open(f.Servers, false); err != nil {
			return nil, nil, err
		}
		have[f.Servers] = foreign
	}
	hash, err := f.Hash(have)
	if err != nil {
		s.Project.Why = err.Error()
	}
	s.Project.Hash = hash
	s.Project.Trust = StoreOf(o.Root).State(f, hash)
	return settings, foreign, nil
}

// same reports whether two names are one file.
func same(a, b string) bool {
	ai, err := os.Stat(a)
	if err != nil || b == "" {
		return false
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}

// home puts the home folder in place of a leading "~/".
func home(p string, env func(string) string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && env("HOME") != "" {
		return filepath.Join(env("HOME"), rest)
	}
	return p
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
