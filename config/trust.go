package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Trust is whether a project's word is taken for what opens a door; a closed
// set.
type Trust string

const (
	NoProject Trust = "none"      // the project has no files of settings
	Untrusted Trust = "untrusted" // nobody said so
	Trusted   Trust = "trusted"   // for exactly this content
	Changed   Trust = "changed"   // it was trusted, with another content
)

// Folder is a project's folder with its files of settings.
type Folder struct {
	Dir      string // resolved; empty: there are none
	Settings string // .ripcord/config.toml or .ripcord.toml; empty if there is none
	Servers  string // .mcp.json; empty if there is none
}

// Bounds of what can be trusted.
const (
	mostFiles = 1000
	mostBytes = 16 << 20
)

// FindFolder finds the project's files: in the workspace dir or, within a
// repository, in a folder above it up to the repository's own. The nearest
// folder with a settings file counts, else the nearest with a file of servers.
func FindFolder(dir string) (Folder, error) {
	var nearest, servers Folder
	inRepository := false
	for at := dir; ; at = filepath.Dir(at) {
		f, err := look(at)
		if err != nil {
			return Folder{}, err
		}
		if f.Settings != "" && nearest.Dir == "" {
			nearest = f
		}
		if f.Servers != "" && servers.Dir == "" {
			servers = f
		}
		if inRepository = exists(filepath.Join(at, ".git")); inRepository || at == filepath.Dir(at) {
			break
		}
	}
	if nearest.Dir == "" {
		nearest = servers
	}
	if !inRepository && nearest.Dir != dir {
		if nearest = (Folder{}); servers.Dir == dir {
			nearest = servers
		}
	}
	return nearest, nil
}

// look says which files of settings stand in dir.
func look(dir string) (Folder, error) {
	f := Folder{Dir: dir}
	for _, name := range []string{filepath.Join(".ripcord", "config.toml"), ".ripcord.toml"} {
		if p := filepath.Join(dir, name); exists(p) {
			if f.Settings != "" {
				return f, wrong("keep one of them", "%s and %s are both there", f.Settings, p)
			}
			f.Settings = p
		}
	}
	if p := filepath.Join(dir, ".mcp.json"); exists(p) {
		f.Servers = p
	}
	return f, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Hash is the content that trust is bound to: every file in .ripcord, and the
// two beside it. Links are read where they lead. What was read before is given
// in have, so that the bytes that are believed are the bytes that were hashed.
func (f Folder) Hash(have map[string][]byte) (string, error) {
	files, err := f.files()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	total := 0
	for _, name := range files {
		path := filepath.Join(f.Dir, name)
		data, ok := have[path]
		if !ok {
			if data, err = readAll(path, mostBytes-total); err != nil {
				return "", err
			}
		}
		if total += len(data); total > mostBytes {
			return "", fmt.Errorf("the project's files of settings are over %d bytes: move what is no setting out of .ripcord", mostBytes)
		}
		fmt.Fprintf(h, "%d %s\n%d\n", len(name), filepath.ToSlash(name), len(data))
		h.Write(data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func readAll(path string, most int) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: take it out of the project's settings", path)
	case info.Size() > int64(most):
		return nil, fmt.Errorf("%s makes the project's files of settings more than %d bytes: move it out of .ripcord", path, mostBytes)
	}
	return os.ReadFile(path)
}

// files lists what trust is about, sorted, relative to the folder.
func (f Folder) files() ([]string, error) {
	var names []string
	for _, name := range []string{".ripcord.toml", ".mcp.json"} {
		if exists(filepath.Join(f.Dir, name)) {
			names = append(names, name)
		}
	}
	root := filepath.Join(f.Dir, ".ripcord")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(names) >= mostFiles {
			return fmt.Errorf("%s has over %d files: move what is no setting out of it", root, mostFiles)
		}
		name, err := filepath.Rel(f.Dir, path)
		names = append(names, name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && !exists(root) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// Store keeps which projects were trusted: one file a project, below a folder
// of this user's alone.
type Store struct{ Dir string }

// word is what the store keeps of one project.
type word struct {
	Schema int       `json:"schema"`
	Folder string    `json:"folder"`
	Hash   string    `json:"hash"`
	At     time.Time `json:"at"` // for people
}

func (s Store) path(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:16])+".json")
}

// State says whether the folder's content, by its hash, is trusted. What cannot
// be read is not.
func (s Store) State(f Folder, hash string) Trust {
	if f.Dir == "" {
		return NoProject
	}
	if s.Dir == "" {
		return Untrusted
	}
	data, err := ReadFound(s.path(f.Dir))
	var w word
	switch {
	case err != nil || json.Unmarshal(data, &w) != nil || w.Schema != 1 || w.Folder != f.Dir:
		return Untrusted
	case hash == "" || w.Hash != hash:
		return Changed
	}
	return Trusted
}

// Put notes that the folder is trusted with the content of hash.
func (s Store) Put(f Folder, hash string, now time.Time) error {
	if f.Dir == "" || hash == "" || s.Dir == "" {
		return errors.New("there is nothing to trust, or nowhere to note it")
	}
	data, err := json.Marshal(word{1, f.Dir, hash, now.UTC()})
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err != nil {
		return err
	}
	return replace(s.path(f.Dir), append(data, '\n'))
}

// replace writes data to path so that it is the old content or the new one at
// every instant.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".trust-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Revoke takes a folder's trust away; was is false if it had none.
func (s Store) Revoke(f Folder) (was bool, err error) {
	err = os.Remove(s.path(f.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, syncDir(s.Dir)
}

// sentence says why the project's keys are ignored.
func (p *ProjectState) sentence(ignored []Ignored) string {
	if len(ignored) == 0 {
		return ""
	}
	var keys []string
	for _, i := range ignored {
		at := i.Key
		if i.Origin.Line > 0 {
			at += fmt.Sprintf(" (line %d)", i.Origin.Line)
		}
		keys = append(keys, at)
	}
	why := "is not trusted"
	if p.Trust == Changed {
		why = "has changed since it was trusted"
	}
	if p.Why != "" {
		why = "cannot be trusted (" + p.Why + ")"
	}
	verb := "are"
	if len(keys) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("the project %s %s, so that its %s %s ignored; `ripcord trust --show` says more", p.Folder.Dir, why, strings.Join(keys, ", "), verb)
}
