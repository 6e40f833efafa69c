package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ripcord-go/ripcord/tool"
)

// place is a path as a call names it and where it leads.
type place struct {
	named   string // as given
	real    string // absolute; the links of what exists are followed
	show    string // for people and models: relative inside the workspace
	outside bool   // not below the workspace
}

// locate resolves path, which may not exist yet, against the workspace dir.
func locate(dir, path string) (place, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return place{}, tool.Replyf("the path is empty or holds a NUL byte; give the path of a file")
	}
	abs := path
	if !filepath.IsAbs(path) {
		if dir == "" {
			return place{}, tool.Replyf("%s is relative and there is no workspace; give an absolute path", path)
		}
		abs = filepath.Join(dir, path)
	}
	real, err := resolve(filepath.Clean(abs))
	if err != nil {
		return place{}, tool.Replyf("%s can't be resolved; check the path: %w", path, err)
	}
	p := place{named: path, real: real, show: real, outside: true}
	if dir == "" {
		return p, nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return place{}, tool.Replyf("the workspace %s can't be resolved: %w", dir, err)
	}
	if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
		p.show, p.outside = rel, false
	}
	return p, nil
}

const mostLinks = 40

// resolve follows every link of path, dangling ones included, so that what is
// judged is where a file would come to stand.
func resolve(path string) (string, error) {
	missing := "" // what does not exist below path
	for links := 0; links < mostLinks; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		fi, err := os.Lstat(path)
		switch {
		case err == nil && fi.Mode()&fs.ModeSymlink != 0: // dangling
			links++
			if path, err = target(path); err != nil {
				return "", err
			}
		case err == nil:
			links++ // it appeared in between: look again
		default:
			missing = filepath.Join(filepath.Base(path), missing)
			path = filepath.Dir(path)
		}
	}
	return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
}

// target is where the link at path points, absolute.
func target(path string) (string, error) {
	to, err := os.Readlink(path)
	if err != nil || filepath.IsAbs(to) {
		return filepath.Clean(to), err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, to), err
}
