package builtin

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ripcord-go/ripcord/tool"
)

// folder is a handle on the folder that a file stands in. What is done through
// it stays there, whatever a path leads to meanwhile.
type folder struct {
	*os.Root
	anchor *os.Root // the workspace, or the nearest folder that existed
	rel    string   // the way from anchor, with slashes
	made   []string // from anchor, in order: what was made on the way
}

// openFolder opens the folder of the file at p, which is below dir unless it is
// outside; what is missing is made behind the call's fence if mk is true.
func openFolder(call *tool.Call, p place, mk bool) (_ *folder, err error) {
	at, rel := call.Dir, path.Dir(filepath.ToSlash(p.show))
	if p.outside {
		parent := filepath.Dir(p.real)
		at = firstThere(parent)
		if rel, err = filepath.Rel(at, parent); err != nil {
			return nil, err
		}
		rel = filepath.ToSlash(rel)
	}
	anchor, err := os.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	d := &folder{anchor: anchor, rel: rel}
	if mk {
		err = tool.FenceOf(call).Pass(d.make)
	}
	if err == nil {
		d.Root, err = anchor.OpenRoot(rel)
	}
	if err != nil {
		d.close(false)
		return nil, err
	}
	return d, nil
}

func (d *folder) make() error {
	at := ""
	for name := range strings.SplitSeq(d.rel, "/") {
		at = path.Join(at, name)
		err := d.anchor.Mkdir(at, 0o777)
		if err == nil {
			d.made = append(d.made, at)
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// sync makes the folder's entries durable, and those of the folders above it
// that were made for it.
func (d *folder) sync() error {
	if err := syncRoot(d.Root, "."); err != nil {
		return err
	}
	for _, at := range d.made {
		if err := syncRoot(d.anchor, path.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

func syncRoot(r *os.Root, name string) error {
	f, err := r.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// close gives the handles back. Without a file in them the folders that were
// made are taken away again, where they are still empty.
func (d *folder) close(used bool) {
	if d.Root != nil {
		d.Root.Close()
	}
	for i := len(d.made) - 1; i >= 0 && !used; i-- {
		if d.anchor.Remove(d.made[i]) != nil {
			break
		}
	}
	d.anchor.Close()
}

// firstThere is dir or the nearest folder above it that exists.
func firstThere(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// peek opens what must be a regular file; nothing else is waited for.
const peek = os.O_RDONLY | syscall.O_NONBLOCK

// still reports whether name is a regular file in state s. A new time on the
// same bytes is no change.
func (d *folder) still(name string, s stamp) (bool, error) {
	fi, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != s.size {
		return false, err
	}
	if s.sum == ([sha256.Size]byte{}) {
		return fi.ModTime().Equal(s.mod), nil
	}
	f, err := d.OpenFile(name, peek, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, s.size+1))
	return err == nil && n == s.size && [sha256.Size]byte(h.Sum(nil)) == s.sum, err
}

// content reads at most limit bytes of a regular file.
func (d *folder) content(name string, limit int64) ([]byte, error) {
	f, err := d.OpenFile(name, peek, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
