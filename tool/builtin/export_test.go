package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ripcord-go/ripcord/tool"
)

// What the tests of pure parts need.

// StagedMode is the mode that the new content of the file at path has from its
// first instant on.
func StagedMode(path string) (mode fs.FileMode, err error) {
	w := replacement{place: place{real: path, show: filepath.Base(path)}}
	call := &tool.Call{Dir: filepath.Dir(path)}
	if w.was, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		w.was = nil
	} else if err != nil {
		return 0, err
	}
	if w.dir, err = openFolder(call, w.place, false); err != nil {
		return 0, err
	}
	defer w.close()
	f, err := w.create()
	if err != nil {
		return 0, err
	}
	fi, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return fi.Mode(), nil
}

// ParsePatch parses a patch and reports how many sections it has.
func ParsePatch(text string) (int, error) {
	s, err := parsePatch(text)
	return len(s), err
}

// ApplyPatch applies the first section of a patch to content.
func ApplyPatch(content []byte, text string) ([]byte, error) {
	s, err := parsePatch(text)
	if err != nil {
		return nil, err
	}
	b := newBody(content)
	if err := b.apply(s[0]); err != nil {
		return nil, err
	}
	return b.bytes(), nil
}

// PatchWork is ApplyPatch for who asks how much work it was.
func PatchWork(content []byte, text string) (work int, err error) {
	s, err := parsePatch(text)
	if err != nil {
		return 0, err
	}
	b := newBody(content)
	err = b.apply(s[0])
	return b.work, err
}

// SameBody takes content apart and puts it together again.
func SameBody(content []byte) []byte { return newBody(content).bytes() }

// Ignored asks one ignore file at the top.
func Ignored(file, rel string, folder bool) bool {
	return parseIgnore("", []byte(file)).ignored(rel, folder)
}

// CheckGlob says what is wrong about a pattern.
func CheckGlob(pattern string) error { return checkGlob(pattern) }

// MostWork bounds the work that a search for a passage reports.
const MostWork = mostWork

// Spaced says where something stands that differs from old in white space only,
// and how much work that was.
func Spaced(content []byte, old string) (where string, work int) {
	b := newBody(content)
	where = b.spaced(old)
	return where, b.work
}
