package builtin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/ripcord-go/ripcord/tool"
)

// mostDiff is how big a file may be, in bytes, for its change to be shown.
const mostDiff = 512 << 10

// replacement is a file's new content and what it stands upon.
type replacement struct {
	place   place
	content []byte
	base    *stamp // the state that is replaced; nil: the file must not exist
	mode    fs.FileMode
}

// commit makes the file be the new content or changes nothing. The commit
// point is the rename, behind the call's fence:
//
//	write temp ▶ sync temp ▶ [fence: base unchanged? ▶ rename] ▶ sync folder
func (w replacement) commit(call *tool.Call) (stamp, error) {
	fence := tool.FenceOf(call)
	dir := filepath.Dir(w.place.real)
	upto := firstThere(dir)
	if err := fence.Pass(func() error { return os.MkdirAll(dir, 0o777) }); err != nil {
		return stamp{}, w.failed("its folder can't be made", err)
	}
	temp, err := w.stage(dir)
	if err != nil {
		return stamp{}, w.failed("the new content can't be written beside it", err)
	}
	defer os.Remove(temp) // gone after the rename
	var fi fs.FileInfo
	err = fence.Pass(func() (err error) {
		if err := w.still(); err != nil {
			return err
		}
		if w.base == nil {
			// A link refuses to replace what somebody else made meanwhile.
			if err = os.Link(temp, w.place.real); errors.Is(err, fs.ErrExist) {
				return w.changed()
			}
		}
		if w.base != nil || err != nil { // or this file system has no links
			err = os.Rename(temp, w.place.real)
		}
		if err != nil {
			return err
		}
		fi, err = os.Stat(w.place.real)
		return err
	})
	var reply *tool.Error
	switch {
	case errors.As(err, &reply):
		return stamp{}, err
	case err != nil:
		return stamp{}, w.failed("the new content can't be put in its place", err)
	}
	if err := syncFolders(dir, upto); err != nil {
		return stamp{}, w.failed("it was written, but its folder can't be synced: it may be gone after a power cut", err)
	}
	return stampOf(fi, w.content), nil
}

func (w replacement) failed(what string, err error) error {
	if errors.Is(err, tool.ErrOver) {
		return tool.Replyf("%s is not written: %w", w.place.show, err)
	}
	return tool.Replyf("%s: %s: %w", w.place.show, what, err)
}

// stage writes and syncs the new content under another name in dir.
func (w replacement) stage(dir string) (temp string, err error) {
	temp = filepath.Join(dir, fmt.Sprintf(".%.40s.ripcord-%s", filepath.Base(w.place.real), rand.Text()[:10]))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = f.Write(w.content)
	if err == nil && w.base != nil {
		err = f.Chmod(w.mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(temp)
		return "", err
	}
	return temp, nil
}

// still reports, as a reply, that the file is no longer what it was.
func (w replacement) still() error {
	if w.base == nil {
		if _, err := os.Lstat(w.place.real); !errors.Is(err, fs.ErrNotExist) {
			return w.changed()
		}
		return nil
	}
	same, err := unchanged(w.place.real, *w.base)
	if err == nil && !same {
		return w.changed()
	}
	return err
}

func (w replacement) changed() error {
	return tool.Replyf("%s was changed by somebody else; nothing was written, read it again first", w.place.show)
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

// syncFolders makes the entries of dir durable and those of the folders above
// it that were made for it, up to upto.
func syncFolders(dir, upto string) error {
	for {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil || dir == upto || dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

// diff shows a change to people; empty for contents too big or not text.
func diff(name string, before, after []byte) string {
	if len(before)+len(after) > mostDiff || !isText(before) || !isText(after) {
		return ""
	}
	return udiff.Unified("a/"+name, "b/"+name, string(before), string(after))
}
