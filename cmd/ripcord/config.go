package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Secret is a string that never shows itself.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[set]"
}

// GoString keeps %#v from showing it.
func (s Secret) GoString() string { return s.String() }

// LogValue keeps a log from showing it.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps every encoder from showing it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// layer is what one settings file says. Empty is not set.
type layer struct {
	Provider string `toml:"provider"`
	BaseURL  string `toml:"base_url"`
	APIKey   Secret `toml:"api_key"`
	Model    string `toml:"model"`
	Timeout  string `toml:"timeout"`
}

// settings are the files' layers; flags and environment stand before them.
type settings struct {
	Env     func(string) string // the process's
	User    layer
	Project layer
}

// value is a setting by its environment name: environment, then project file,
// then user file.
func (s settings) value(name string) string {
	if v := s.Env(name); v != "" {
		return v
	}
	for _, l := range []layer{s.Project, s.User} {
		v := ""
		switch name {
		case "RIPCORD_PROVIDER":
			v = l.Provider
		case "RIPCORD_BASE_URL":
			v = l.BaseURL
		case "RIPCORD_API_KEY":
			v = string(l.APIKey)
		case "RIPCORD_MODEL":
			v = l.Model
		}
		if v != "" {
			return v
		}
	}
	return ""
}

// timeout is the files' bound for a turn of run and continue; 0 is none.
func (s settings) timeout() time.Duration {
	for _, l := range []layer{s.Project, s.User} {
		if d, err := time.ParseDuration(l.Timeout); err == nil {
			return d
		}
	}
	return 0
}

// readSettings reads the user's and the project's file.
func readSettings(env func(string) string, cwd string) (settings, error) {
	s := settings{Env: env}
	if env("RIPCORD_STALL_GUARD") != "" {
		return s, configf("unset it", "RIPCORD_STALL_GUARD is set, but the stall guard is not in this version; it comes later")
	}
	path, must := userFile(env)
	if path != "" {
		l, err := readLayer(path, false, must)
		if err != nil {
			return s, err
		}
		s.User = l
	}
	if path := projectFile(cwd); path != "" {
		l, err := readLayer(path, true, false)
		if err != nil {
			return s, err
		}
		s.Project = l
	}
	return s, nil
}

func userFile(env func(string) string) (path string, must bool) {
	if p := env("RIPCORD_CONFIG"); p != "" {
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

// projectFile finds the project's file: in the workspace or, within a
// repository, in a folder above it up to the repository's own. Empty if there
// is none.
func projectFile(cwd string) string {
	nearest := ""
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if p := filepath.Join(dir, ".ripcord.toml"); nearest == "" && exists(p) {
			if nearest = p; dir == cwd {
				return p
			}
		}
		if exists(filepath.Join(dir, ".git")) {
			return nearest
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// known is what each key must be, for the sentence of whoever wrote it wrong.
func known(key string) string {
	switch key {
	case "provider":
		return `a string: "openai-chat" or "scripted"`
	case "base_url":
		return `a string such as "http://127.0.0.1:11434/v1"`
	case "api_key":
		return "a string"
	case "model":
		return "a string, the model's name"
	case "timeout":
		return `a string such as "10m" or "90s"`
	}
	return ""
}

// readLayer reads one file strictly: a key that is not known, of the wrong
// type or in the wrong place is an error with file and line, never ignored.
func readLayer(path string, project, must bool) (layer, error) {
	var l layer
	read := os.ReadFile // a file that was named may be a pipe
	if !must {
		read = readFound
	}
	data, err := read(path)
	if errors.Is(err, os.ErrNotExist) && !must {
		return l, nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors' mark of UTF-8
	if err != nil {
		return l, configf("check RIPCORD_CONFIG and the file's permissions", "the settings file cannot be read: %v", err)
	}
	if project {
		if err := untrusted(path, data); err != nil {
			return l, err
		}
	}
	dec := toml.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return layer{}, describe(path, err)
	}
	if l.Timeout != "" {
		if d, err := time.ParseDuration(l.Timeout); err != nil || d <= 0 {
			return layer{}, configf("correct it", "%s:%d: timeout must be %s", path, lineOf(data, "timeout"), known("timeout"))
		}
	}
	return l, nil
}

// maxFound bounds a file that a folder happens to hold, bytes.
const maxFound = 1 << 20

// readFound reads a file that nobody named: what comes with a folder may be a
// link to a device or a pipe, which would never end. What is over [maxFound] is
// cut off by one byte more, so that the caller sees it.
func readFound(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFound+1))
}

// describe says in one sentence what is wrong in a settings file. It never
// repeats a value: that may be a key.
func describe(path string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		row, _ := e.Position()
		key := strings.Join(e.Key(), ".")
		if top := e.Key(); len(top) > 0 && slices.Contains([]string{"hooks", "approvals"}, top[0]) {
			return configf("take it out", "%s:%d: %s cannot be set in this version; it comes later", path, row, key)
		}
		return configf("the keys are provider, base_url, api_key, model, timeout", "%s:%d: there is no setting %s", path, row, key)
	}
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return configf("correct it", "%s: the file is not TOML", path)
	}
	row, col := d.Position()
	key := strings.Join(d.Key(), ".")
	if strings.Contains(d.Error(), "already") {
		return configf("take one of them out", "%s:%d: %s is set twice", path, row, key)
	}
	if want := known(key); want != "" && !strings.Contains(d.Error(), "expected") {
		return configf("correct it", "%s:%d: %s must be %s", path, row, key, want)
	}
	return configf("correct it", "%s:%d:%d: the file is not TOML from here on", path, row, col)
}

// untrusted refuses what a project's file may not say before its project was
// trusted: it comes with the code of strangers.
func untrusted(path string, data []byte) error {
	var keys map[string]any
	if toml.Unmarshal(data, &keys) != nil {
		return nil // the strict reading says where
	}
	for _, key := range []string{"base_url", "api_key", "hooks", "approvals"} {
		if _, set := keys[key]; set {
			return configf("set it in your own file or in the environment; trusting a project comes later",
				"%s:%d: a project's file may not set %s", path, lineOf(data, key), key)
		}
	}
	return nil
}

// lineOf finds the line that sets a top-level key or opens its table, 1-based.
func lineOf(data []byte, key string) int {
	for i, line := range strings.Split(string(data), "\n") {
		s := strings.TrimLeft(strings.TrimSpace(line), `["'`)
		if rest, ok := strings.CutPrefix(s, key); ok && strings.IndexAny(rest, ` =.]"'`+"\t") == 0 {
			return i + 1
		}
	}
	return 1
}

// dataRoot is where sessions live: RIPCORD_HOME, else the XDG state folder. It
// is made if it is not there, and its links are resolved, so that two
// processes name its sockets alike.
func dataRoot(env func(string) string) (string, error) {
	root := env("RIPCORD_HOME")
	if root == "" {
		state := env("XDG_STATE_HOME")
		if state == "" || !filepath.IsAbs(state) {
			home := env("HOME")
			if home == "" {
				return "", configf("set RIPCORD_HOME to a folder", "neither RIPCORD_HOME nor HOME is set, so there is no place for sessions")
			}
			state = filepath.Join(home, ".local", "state")
		}
		root = filepath.Join(state, "ripcord")
	}
	root, err := filepath.Abs(root)
	if err == nil {
		err = os.MkdirAll(root, 0o700)
	}
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", configf("set RIPCORD_HOME to a folder that can be written", "the folder for sessions cannot be used: %v", err)
	}
	return root, nil
}

// runtimeDir is a folder of this user's alone for sockets whose own place has
// too long a name.
func runtimeDir(env func(string) string) (string, error) {
	dir := env("XDG_RUNTIME_DIR")
	if dir != "" && filepath.IsAbs(dir) {
		dir = filepath.Join(dir, "ripcord")
	} else {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("ripcord-%d", os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUs(info) {
		return "", fmt.Errorf("%s is not a folder of yours alone; remove it or set XDG_RUNTIME_DIR", dir)
	}
	return dir, nil
}
